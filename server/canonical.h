/*
 * canonical.h - a JSON tree in the canonical form of RFC 8785: names sorted, numbers as ECMAScript prints them, no
 * spaces.
 *
 * content_key calls it, with trees that json_strict has let through: strings are UTF-8 without NUL.
 */
#ifndef CLAIMD_SERVER_CANONICAL_H
#define CLAIMD_SERVER_CANONICAL_H

#include <cjson/cJSON.h>

#include "../proto/proto.h"

/* The text is never longer than the JSON it was made of by more than this factor: strings and words do not grow, and
 * of the numbers `1e20,` does most, from 5 octets to 22. */
#define CANONICAL_GROWTH 5

/* How many octets of a name to show in an error: whole characters of UTF-8, about 60 octets. */
int canonical_shown(const char *name);
/* The order of RFC 8785, by UTF-16 code units; both in UTF-8. 0: the same octets. */
int canonical_compare(struct slice a, struct slice b);
/* Brings the members of all objects into that order. ERR_NONE; ERR_BADKEY (a name stands twice in one object) or
 * ERR_BUSY (no memory), with the reason in *err. */
enum err canonical_sort(cJSON *tree, struct errbuf *err);
/* Writes a sorted tree. False: *err names a number that is infinite, and what was written is of no use. */
bool canonical_write(struct writer *w, const cJSON *tree, struct errbuf *err);
/* A finite number. */
void canonical_number(struct writer *w, double value);

#endif
