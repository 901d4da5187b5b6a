/*
 * done_cache.h - redeliveries at the speed of memory: what a CLAIM was told DONE or FAILED, for the next ones of its key.
 *
 * Such an outcome stands until keep_until, unless an operator changes it. So an entry is filled from a CLAIM's own answer only, ends
 * with keep_until and after DONE_CACHE_MAX_MS at the latest, and the engine takes it out when RESOLVE or FORGET of its key goes
 * through this daemon. One that goes through another daemon is not seen before the entry ends.
 *
 * Answers come from record_apply, as a store's do: another fingerprint is a MISMATCH here as well. The engine calls this.
 * Without memory nothing is remembered, and the store is asked.
 */
#ifndef CLAIMD_SERVER_DONE_CACHE_H
#define CLAIMD_SERVER_DONE_CACHE_H

#include "hash.h"
#include "op.h"

#define DONE_CACHE_MAX_MS 60000

struct done_entry;

struct done_cache {
	struct hash_seed seed;
	size_t max_octets; /* keys, results and bookkeeping; 0: it is off */
	size_t octets, count;
	struct done_entry **bucket; /* a power of two of them; NULL before the first entry */
	size_t bucket_count;
	struct done_entry *newest, *oldest; /* of the queue */
	uint64_t hits;
};

void done_cache_init(struct done_cache *cache, size_t max_octets, const struct hash_seed *seed);
void done_cache_release(struct done_cache *cache);
/* Remembers what this op was told, if that can be; it has just been answered. */
void done_cache_put(struct done_cache *cache, const struct op *op);
/* True: it has answered this CLAIM. */
bool done_cache_answers(struct done_cache *cache, struct op *op, int64_t now_ms);
void done_cache_drop(struct done_cache *cache, struct slice key);

#endif
