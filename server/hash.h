/*
 * hash.h - SipHash-1-3 of octets with a secret seed: keys come from strangers, who must not be able to choose
 * a thousand that fall into one bucket.
 */
#ifndef CLAIMD_SERVER_HASH_H
#define CLAIMD_SERVER_HASH_H

#include "../proto/text.h"

struct hash_seed {
	uint64_t k0, k1;
};

/* From the kernel; from the clock and the process id where that fails. */
void hash_seed_random(struct hash_seed *seed);
uint64_t hash_slice(const struct hash_seed *seed, struct slice text);

#endif
