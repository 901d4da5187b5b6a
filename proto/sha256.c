/*
 * sha256.c - see sha256.h.
 *
 * Whole blocks are taken from the caller's memory; the rest is copied once, with the padding behind it. There
 * is no failure mode: any octets have a hash.
 */
#include "sha256.h"

#include <string.h>

#define BLOCK 64

static const uint32_t round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned by)
{
	return x >> by | x << (32 - by);
}

/* The 64 words of a block's schedule. */
static void expand(uint32_t w[64], const unsigned char *block)
{
	for (size_t i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | (uint32_t)block[4 * i + 3];
	for (size_t i = 16; i < 64; i++) {
		uint32_t near = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
		uint32_t far = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;

		w[i] = near + w[i - 7] + far + w[i - 16];
	}
}

static void take_block(uint32_t hash[8], const unsigned char *block)
{
	uint32_t w[64], s[8]; /* s: the working variables a .. h */

	expand(w, block);
	memcpy(s, hash, sizeof(s));
	for (size_t i = 0; i < 64; i++) {
		uint32_t choose = (s[4] & s[5]) ^ (~s[4] & s[6]);
		uint32_t major = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
		uint32_t one =
		    s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) + choose + round_constant[i] + w[i];
		uint32_t two = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) + major;

		memmove(s + 1, s, 7 * sizeof(s[0]));
		s[4] += one;
		s[0] = one + two;
	}
	for (size_t i = 0; i < 8; i++)
		hash[i] += s[i];
}

void sha256(const void *data, size_t len, unsigned char out[32])
{
	uint32_t hash[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	const unsigned char *from = data;
	unsigned char tail[2 * BLOCK] = {0};
	size_t rest = len % BLOCK;
	size_t tail_len = rest < BLOCK - 8 ? BLOCK : 2 * BLOCK;

	for (size_t at = 0; at + BLOCK <= len; at += BLOCK)
		take_block(hash, from + at);
	if (rest > 0)
		memcpy(tail, from + len - rest, rest);
	tail[rest] = 0x80;
	for (unsigned i = 0; i < 8; i++)
		tail[tail_len - 1 - i] = (unsigned char)((uint64_t)len * 8 >> 8 * i);
	for (size_t at = 0; at < tail_len; at += BLOCK)
		take_block(hash, tail + at);
	for (size_t i = 0; i < 32; i++)
		out[i] = (unsigned char)(hash[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_hex(struct slice text, char out[65])
{
	static const char digit[] = "0123456789abcdef";
	unsigned char raw[32];

	sha256(text.data, text.len, raw);
	for (size_t i = 0; i < 32; i++) {
		out[2 * i] = digit[raw[i] >> 4];
		out[2 * i + 1] = digit[raw[i] & 15];
	}
	out[64] = 0;
}
