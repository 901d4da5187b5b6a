/*
 * done_cache.c - see done_cache.h. A hash table of entries that stand in a queue as well. The oldest goes first; one that was used
 * since goes to the end of the queue instead, so that using one touches no other.
 */
#include "done_cache.h"

#include "../proto/mem.h"

#define BUCKETS_MIN 64
#define SHARE_MAX 16 /* one entry takes this part of the cache at most */

struct done_entry {
	struct done_entry *chain; /* next in the bucket */
	struct done_entry *newer, *older;
	uint64_t hash;
	size_t octets; /* all of this entry */
	bool used;     /* since it came to its place in the queue */
	struct slice key;
	struct record record;
	int64_t now;     /* the store's, when it answered */
	int64_t sent_ms; /* monotonic, when it was asked */
	char text[];     /* of key and record */
};

void done_cache_init(struct done_cache *cache, size_t max_octets, const struct hash_seed *seed)
{
	*cache = (struct done_cache){.seed = *seed, .max_octets = max_octets};
}

static struct done_entry **bucket_of(const struct done_cache *cache, uint64_t hash)
{
	return &cache->bucket[hash & (cache->bucket_count - 1)];
}

static void queue_join(struct done_cache *cache, struct done_entry *entry)
{
	entry->newer = NULL;
	entry->older = cache->newest;
	if (cache->newest != NULL)
		cache->newest->newer = entry;
	else
		cache->oldest = entry;
	cache->newest = entry;
}

static void queue_leave(struct done_cache *cache, struct done_entry *entry)
{
	if (entry->newer != NULL)
		entry->newer->older = entry->older;
	else
		cache->newest = entry->older;
	if (entry->older != NULL)
		entry->older->newer = entry->newer;
	else
		cache->oldest = entry->newer;
}

static void entry_remove(struct done_cache *cache, struct done_entry *entry)
{
	struct done_entry **link = bucket_of(cache, entry->hash);

	while (*link != entry)
		link = &(*link)->chain;
	*link = entry->chain;
	queue_leave(cache, entry);
	cache->count--;
	cache->octets -= entry->octets;
	mem_free(entry);
}

void done_cache_release(struct done_cache *cache)
{
	while (cache->oldest != NULL)
		entry_remove(cache, cache->oldest);
	mem_free(cache->bucket);
	cache->bucket = NULL;
}

/* NULL: it is not remembered. */
static struct done_entry *entry_find(const struct done_cache *cache, struct slice key)
{
	uint64_t hash;
	struct done_entry *entry;

	if (cache->count == 0)
		return NULL;
	hash = hash_slice(&cache->seed, key);
	entry = *bucket_of(cache, hash);
	while (entry != NULL && !(entry->hash == hash && slice_equal(entry->key, key)))
		entry = entry->chain;
	return entry;
}

/* Twice the buckets, or the first ones. False: there are none. */
static bool buckets_grow(struct done_cache *cache)
{
	size_t old_count = cache->bucket_count;
	struct done_entry **old = cache->bucket;
	size_t count = old_count == 0 ? BUCKETS_MIN : 2 * old_count;
	struct done_entry **fresh = mem_zero(count * sizeof *fresh);

	if (fresh == NULL)
		return old != NULL;
	cache->bucket = fresh;
	cache->bucket_count = count;
	for (struct done_entry *entry = cache->oldest; entry != NULL; entry = entry->newer) {
		struct done_entry **bucket = bucket_of(cache, entry->hash);

		entry->chain = *bucket;
		*bucket = entry;
	}
	mem_free(old);
	return true;
}

static void make_room(struct done_cache *cache, size_t octets)
{
	while (cache->octets + octets > cache->max_octets) {
		struct done_entry *entry = cache->oldest;

		if (!entry->used) {
			entry_remove(cache, entry);
			continue;
		}
		entry->used = false;
		queue_leave(cache, entry);
		queue_join(cache, entry);
	}
}

void done_cache_put(struct done_cache *cache, const struct op *op)
{
	const struct record *rec = &op->record;
	struct done_entry *entry = entry_find(cache, op->key);
	size_t octets;
	char *at;

	if (entry != NULL)
		entry_remove(cache, entry);
	octets = sizeof *entry + op->key.len + rec->fp.len + rec->result.len;
	if (octets > cache->max_octets / SHARE_MAX)
		return;
	if (cache->count == cache->bucket_count && !buckets_grow(cache))
		return;
	entry = mem_alloc(octets);
	if (entry == NULL)
		return;
	make_room(cache, octets);
	/* Of owner and token the table says nothing once a record is settled. */
	*entry = (struct done_entry){.hash = hash_slice(&cache->seed, op->key),
				     .octets = octets,
				     .key = op->key,
				     .record = *rec,
				     .now = op->now,
				     .sent_ms = op->sent_ms};
	at = entry->text;
	entry->key = slice_copy(&at, entry->key);
	entry->record.fp = slice_copy(&at, entry->record.fp);
	entry->record.result = slice_copy(&at, entry->record.result);
	entry->record.owner = entry->record.token = SLICE_ABSENT;
	entry->chain = *bucket_of(cache, entry->hash);
	*bucket_of(cache, entry->hash) = entry;
	queue_join(cache, entry);
	cache->count++;
	cache->octets += octets;
}

bool done_cache_answers(struct done_cache *cache, struct op *op, int64_t now_ms)
{
	struct done_entry *entry = entry_find(cache, op->key);
	struct record record;
	char *text = NULL;
	int64_t now;

	if (entry == NULL)
		return false;
	now = op_clock(entry->now, entry->sent_ms, now_ms);
	if (now_ms - entry->sent_ms >= DONE_CACHE_MAX_MS || record_gone(&entry->record, now)) {
		entry_remove(cache, entry);
		return false;
	}
	record = entry->record;
	if (record.result.data != NULL && (text = mem_alloc(record.result.len + 1)) == NULL)
		return false;
	op_decide(op, &record, now);
	/* The op may outlive the entry. */
	op->record.fp = SLICE_ABSENT;
	op->store_mem = text;
	op->record.result = slice_copy(&text, op->record.result);
	entry->used = true;
	cache->hits++;
	return true;
}

void done_cache_drop(struct done_cache *cache, struct slice key)
{
	struct done_entry *entry = entry_find(cache, key);

	if (entry != NULL)
		entry_remove(cache, entry);
}
