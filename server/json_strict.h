/*
 * json_strict.h - JSON without the liberties that cJSON takes: one walk over the octets, before cJSON builds the tree.
 *
 * What is refused here is what other readers refuse, or would read in another way. So whatever passes is a tree for
 * cJSON, unless there is no memory.
 */
#ifndef CLAIMD_SERVER_JSON_STRICT_H
#define CLAIMD_SERVER_JSON_STRICT_H

#include "../proto/text.h"

#define JSON_MAX_LEVELS 64
#define JSON_MAX_NUMBER 63 /* octets of a number; more not every version of cJSON reads */

/*
 * One JSON object (RFC 8259) with at most JSON_MAX_LEVELS of objects and arrays, in UTF-8, without U+0000 and without
 * halves of surrogate pairs. False: *err says which octet (from 1) is wrong, and why.
 *
 * An integer beyond 2^53 looks like its neighbour once it is a double. It is overwritten with one that reads as
 * infinite, so that it can be told apart when it is used and does no harm where it is left out.
 */
bool json_strict(char *text, size_t len, struct errbuf *err);

#endif
