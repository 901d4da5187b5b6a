/*
 * grants.h - the claims that this daemon granted and that are not over: for draining, STATUS and the metrics.
 *
 * It decides nothing: the store knows who holds what. An entry is a 64-bit mark of (key, fence) and three times, and goes with
 * the settlement, or when its lease is over. Without memory claims go uncounted.
 */
#ifndef CLAIMD_SERVER_GRANTS_H
#define CLAIMD_SERVER_GRANTS_H

#include "hash.h"

#define GRANTS_SHARDS 256

struct grant {
	uint64_t mark;              /* 0: an empty place */
	int64_t won_ms;             /* monotonic, as the next two */
	int64_t since_ms, until_ms; /* the present lease */
};

/* A small hash table. There are many, so that one that grows keeps nobody waiting. */
struct grants_shard {
	struct grant *place; /* a power of two of them, at most 3/4 taken */
	size_t places, count;
	int64_t next_ms; /* no lease in it is over before; may be too early */
};

struct grants {
	struct hash_seed seed;
	struct grants_shard shard[GRANTS_SHARDS];
};

void grants_init(struct grants *grants, const struct hash_seed *seed);
void grants_release(struct grants *grants);

/* A win, new or re-affirmed, or a renewal: held until `until_ms`. */
void grants_hold(struct grants *grants, struct slice key, int64_t fence, int64_t now_ms, int64_t until_ms);
/* True: it is one of ours, and *out is what is known of it. */
bool grants_find(struct grants *grants, struct slice key, int64_t fence, struct grant *out);
/* It was settled: as grants_find, and it is forgotten. */
bool grants_settle(struct grants *grants, struct slice key, int64_t fence, struct grant *out);
/* How many are live; forgets those whose lease is over. Walks over those shards only in which one may be. */
size_t grants_live(struct grants *grants, int64_t now_ms);

#endif
