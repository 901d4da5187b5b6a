/*
 * json_strict.h - JSON without the liberties that cJSON takes: what it would read wrongly or differently from other readers
 * is refused before it sees the text. cJSON then judges the structure.
 */
#ifndef CLAIMD_SERVER_JSON_STRICT_H
#define CLAIMD_SERVER_JSON_STRICT_H

#include "../proto/text.h"

#define JSON_MAX_DEPTH 64

/* Numbers follow the grammar, are finite, and no integer is beyond 2^53; strings are UTF-8 without controls and without NUL; nothing
 * is nested deeper than JSON_MAX_DEPTH; only spaces, tabs and line ends stand between. False: *err says what and where. */
bool json_strict(struct slice text, struct errbuf *err);

#endif
