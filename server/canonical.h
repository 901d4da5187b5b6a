/*
 * canonical.h - a JSON tree in the canonical form of RFC 8785: names sorted, numbers as ECMAScript prints them, no spaces.
 *
 * Strings hold no NUL, and numbers are finite: json_strict has seen to that.
 */
#ifndef CLAIMD_SERVER_CANONICAL_H
#define CLAIMD_SERVER_CANONICAL_H

#include <cjson/cJSON.h>

#include "../proto/proto.h"

/* Bits of cJSON's `type` that cJSON itself has no use for. */
#define CANONICAL_SKIP (1 << 20) /* this member is left out */
#define CANONICAL_KEEP (1 << 21) /* it goes in, and all that is in it */
#define CANONICAL_PART (1 << 22) /* of it only what is marked goes in */

/* Text that grows; zero is empty. */
struct canonical {
	char *text; /* from mem_alloc */
	size_t len, cap;
};

/* Sorts the members of all objects in the tree. ERR_NONE, ERR_BADKEY (a name stands twice), ERR_BUSY (no memory). */
enum err canonical_sort(cJSON *tree, struct errbuf *err);
/* Writes it; under CANONICAL_PART only what is marked, in objects. False: no memory. */
bool canonical_write(struct canonical *out, const cJSON *tree);
void canonical_release(struct canonical *out);
/* A number as ECMAScript prints it. */
#define CANONICAL_NUMBER 64 /* octets that it may need, with the NUL */
void canonical_number(double value, char out[CANONICAL_NUMBER]);

#endif
