/* hash.c - see hash.h. SipHash with one round a word and three at the end, the variant hash tables use. */
#include "hash.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define ROTATE(x, b) (((x) << (b)) | ((x) >> (64 - (b))))

/* Four words by value, so that they stay in registers. */
struct sip {
	uint64_t a, b, c, d;
};

static inline struct sip sip_round(struct sip v)
{
	v.a += v.b;
	v.c += v.d;
	v.b = ROTATE(v.b, 13) ^ v.a;
	v.d = ROTATE(v.d, 16) ^ v.c;
	v.a = ROTATE(v.a, 32);
	v.c += v.b;
	v.a += v.d;
	v.b = ROTATE(v.b, 17) ^ v.c;
	v.d = ROTATE(v.d, 21) ^ v.a;
	v.c = ROTATE(v.c, 32);
	return v;
}

/* A word of the text. */
static inline struct sip sip_word(struct sip v, uint64_t word)
{
	v.d ^= word;
	v = sip_round(v);
	v.a ^= word;
	return v;
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
	struct sip v = {seed->k0 ^ UINT64_C(0x736f6d6570736575), seed->k1 ^ UINT64_C(0x646f72616e646f6d),
			seed->k0 ^ UINT64_C(0x6c7967656e657261), seed->k1 ^ UINT64_C(0x7465646279746573)};
	uint64_t word, last = (uint64_t)text.len << 56;
	size_t at;

	for (at = 0; at + 8 <= text.len; at += 8) {
		memcpy(&word, text.data + at, 8);
		v = sip_word(v, word);
	}
	for (size_t i = at; i < text.len; i++)
		last |= (uint64_t)(unsigned char)text.data[i] << (8 * (i - at));
	v = sip_word(v, last);
	v.c ^= 0xff;
	v = sip_round(sip_round(sip_round(v)));
	return v.a ^ v.b ^ v.c ^ v.d;
}
