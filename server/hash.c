/* hash.c - see hash.h. SipHash with one round a word and three at the end, the variant hash tables use. */
#include "hash.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define ROTATE(x, b) (((x) << (b)) | ((x) >> (64 - (b))))

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = ROTATE(v[1], 13) ^ v[0];
	v[3] = ROTATE(v[3], 16) ^ v[2];
	v[0] = ROTATE(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = ROTATE(v[1], 17) ^ v[2];
	v[3] = ROTATE(v[3], 21) ^ v[0];
	v[2] = ROTATE(v[2], 32);
}

void hash_seed_random(struct hash_seed *seed)
{
	struct timespec now;

	if (getrandom(seed, sizeof *seed, GRND_NONBLOCK) == (ssize_t)sizeof *seed)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	seed->k0 = (uint64_t)now.tv_nsec * UINT64_C(0x9e3779b97f4a7c15);
	seed->k1 = (uint64_t)now.tv_sec ^ ((uint64_t)getpid() << 32);
}

uint64_t hash_slice(const struct hash_seed *seed, struct slice text)
{
	uint64_t v[4] = {seed->k0 ^ UINT64_C(0x736f6d6570736575), seed->k1 ^ UINT64_C(0x646f72616e646f6d),
			 seed->k0 ^ UINT64_C(0x6c7967656e657261), seed->k1 ^ UINT64_C(0x7465646279746573)};
	uint64_t word, last = (uint64_t)text.len << 56;
	size_t at;

	for (at = 0; at + 8 <= text.len; at += 8) {
		memcpy(&word, text.data + at, 8);
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	for (size_t i = at; i < text.len; i++)
		last |= (uint64_t)(unsigned char)text.data[i] << (8 * (i - at));
	v[3] ^= last;
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	sip_round(v);
	sip_round(v);
	sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
