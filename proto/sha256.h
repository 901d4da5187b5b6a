/*
 * sha256.h - SHA-256 of octets that are all there (FIPS 180-4).
 *
 * For names, not for secrets: the log hashes keys with it, and the command makes an IDEMPOTENCY_KEY of a
 * key that is too long to be one. It allocates nothing and cannot fail.
 */
#ifndef CLAIMD_PROTO_SHA256_H
#define CLAIMD_PROTO_SHA256_H

#include "text.h"

void sha256(const void *data, size_t len, unsigned char out[32]);
/* The same as 64 lower-case hex digits and a NUL. */
void sha256_hex(struct slice text, char out[65]);

#endif
