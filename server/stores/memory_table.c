/*
 * memory_table.c - see memory_table.h. Called by the memory store and its walks only.
 *
 * Chains of entries, as many buckets as entries. A bucket is the top bits of the hash, so its number is also its place
 * in the order, and when the table doubles, bucket i becomes 2i and 2i+1 and the order stays. Doubling is done a few
 * buckets with each new entry: no call ever waits for a million of them. Until it is through, buckets below `moved` are in
 * the bigger array and the others in the old one, so each key is in exactly one place.
 *
 * The hash is seeded: whoever chooses keys cannot fill one bucket. It is not kept in the entry; a longer
 * entry would cost more than hashing 24 octets again.
 *
 * A record is one block: fixed fields, then key, token, fp, owner and result. Changing it makes a new block first,
 * so no memory means no change.
 */
#include "memory_table.h"

#include <string.h>

#include "../../proto/mem.h"

#define FIRST_BITS 6
#define MOVE_PER_ENTRY 4 /* more than 1, so that one doubling ends long before the next */

struct entry {
	struct entry *next;
	int64_t fence;
	int64_t until; /* lease_until or keep_until: no state has both */
	int64_t ttl;
	int64_t earliest;
	int64_t created;
	int64_t updated;
	int32_t attempts;
	uint32_t result_len;
	uint16_t key_len;
	uint8_t token_len, fp_len, owner_len;
	unsigned state : 3;
	unsigned lapse : 1;
	unsigned has_token : 1;
	unsigned has_fp : 1;
	unsigned has_owner : 1;
	unsigned has_result : 1;
	char data[]; /* key, token, fp, owner, result */
};

struct table {
	struct hash_seed seed;
	size_t count;
	unsigned bits;
	struct entry **bucket; /* 1 << bits; while growing, those below moved are empty */
	struct entry **bigger; /* 1 << (bits + 1); NULL: not growing */
	size_t moved;
};

/* ---- entries ---- */

/* Of a block with so many octets of text. */
static size_t block_size(size_t text_len)
{
	size_t size = offsetof(struct entry, data) + text_len;

	return size > sizeof(struct entry) ? size : sizeof(struct entry);
}

static char *put(char *to, struct slice text)
{
	if (text.len)
		memcpy(to, text.data, text.len);
	return to + text.len;
}

static bool fits(struct slice key, const struct record *rec)
{
	return key.len <= UINT16_MAX && rec->token.len <= UINT8_MAX && rec->fp.len <= UINT8_MAX &&
	       rec->owner.len <= UINT8_MAX && rec->result.len < UINT32_MAX;
}

static struct entry *entry_new(struct slice key, const struct record *rec)
{
	struct entry *entry;
	char *to;

	if (!fits(key, rec))
		return NULL;
	entry = mem_alloc(block_size(key.len + rec->token.len + rec->fp.len + rec->owner.len + rec->result.len));
	if (!entry)
		return NULL;
	entry->fence = rec->fence;
	entry->until = rec->state == STATE_CLAIMED ? rec->lease_until : rec->keep_until;
	entry->ttl = rec->ttl;
	entry->earliest = rec->earliest;
	entry->created = rec->created;
	entry->updated = rec->updated;
	entry->attempts = rec->attempts;
	entry->result_len = (uint32_t)rec->result.len;
	entry->key_len = (uint16_t)key.len;
	entry->token_len = (uint8_t)rec->token.len;
	entry->fp_len = (uint8_t)rec->fp.len;
	entry->owner_len = (uint8_t)rec->owner.len;
	entry->state = rec->state & 7;
	entry->lapse = rec->lapse & 1;
	entry->has_token = rec->token.data != NULL;
	entry->has_fp = rec->fp.data != NULL;
	entry->has_owner = rec->owner.data != NULL;
	entry->has_result = rec->result.data != NULL;
	to = put(put(put(entry->data, key), rec->token), rec->fp);
	put(put(to, rec->owner), rec->result);
	return entry;
}

/* Takes the next piece at *from. */
static struct slice take(const char **from, size_t len, bool has)
{
	struct slice text = has ? (struct slice){*from, len} : SLICE_ABSENT;

	*from += len;
	return text;
}

void entry_read(const struct entry *entry, struct record *rec)
{
	const char *from = entry->data + entry->key_len;

	*rec = (struct record){
	    .state = (enum state)entry->state,
	    .lapse = (enum lapse)entry->lapse,
	    .attempts = entry->attempts,
	    .fence = entry->fence,
	    .lease_until = entry->state == STATE_CLAIMED ? entry->until : 0,
	    .ttl = entry->ttl,
	    .keep_until = entry->state == STATE_CLAIMED ? 0 : entry->until,
	    .earliest = entry->earliest,
	    .created = entry->created,
	    .updated = entry->updated,
	};
	rec->token = take(&from, entry->token_len, entry->has_token);
	rec->fp = take(&from, entry->fp_len, entry->has_fp);
	rec->owner = take(&from, entry->owner_len, entry->has_owner);
	rec->result = take(&from, entry->result_len, entry->has_result);
}

struct slice entry_key(const struct entry *entry)
{
	return (struct slice){entry->data, entry->key_len};
}

struct entry *entry_copy(const struct entry *entry)
{
	size_t text_len = (size_t)entry->key_len + entry->token_len + entry->fp_len + entry->owner_len;
	struct entry *copy = mem_alloc(block_size(text_len));

	if (!copy)
		return NULL;
	memcpy(copy, entry, offsetof(struct entry, data) + text_len);
	copy->next = NULL;
	copy->result_len = 0;
	copy->has_result = 0;
	return copy;
}

struct entry **entry_next(struct entry **at)
{
	return &(*at)->next;
}

/* ---- the table ---- */

struct table *table_new(void)
{
	struct table *table = mem_zero(sizeof(*table));

	if (!table)
		return NULL;
	hash_seed_random(&table->seed);
	table->bits = FIRST_BITS;
	table->bucket = mem_zero(sizeof(*table->bucket) << table->bits);
	if (!table->bucket)
		goto fail_table;
	return table;

fail_table:
	mem_free(table);
	return NULL;
}

static void buckets_free(struct entry **bucket, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		while (bucket[i]) {
			struct entry *entry = bucket[i];

			bucket[i] = entry->next;
			mem_free(entry);
		}
	}
	mem_free(bucket);
}

void table_free(struct table *table)
{
	if (table->bigger)
		buckets_free(table->bigger, (size_t)2 << table->bits);
	buckets_free(table->bucket, (size_t)1 << table->bits);
	mem_free(table);
}

size_t table_count(const struct table *table)
{
	return table->count;
}

uint64_t table_hash(const struct table *table, struct slice key)
{
	return hash_slice(&table->seed, key);
}

struct entry **table_bucket(struct table *table, uint64_t hash, uint64_t *next)
{
	size_t at = (size_t)(hash >> (64 - table->bits));
	unsigned bits = table->bits;
	struct entry **bucket = table->bucket;

	if (table->bigger && at < table->moved) {
		bits++;
		bucket = table->bigger;
		at = (size_t)(hash >> (64 - bits));
	}
	*next = ((uint64_t)at + 1) << (64 - bits); /* behind the last one this comes to 0 */
	return &bucket[at];
}

struct entry **table_at(struct table *table, struct slice key)
{
	uint64_t next;
	struct entry **at = table_bucket(table, table_hash(table, key), &next);

	while (*at && !slice_equal(entry_key(*at), key))
		at = &(*at)->next;
	return at;
}

/* ---- growing ---- */

static void grow_begin(struct table *table)
{
	/* Without memory for it the chains get longer, and the next new entry tries again. */
	table->bigger = mem_zero(sizeof(*table->bigger) << (table->bits + 1));
	table->moved = 0;
}

static void grow_end(struct table *table)
{
	mem_free(table->bucket);
	table->bucket = table->bigger;
	table->bigger = NULL;
	table->bits++;
}

static void move_bucket(struct table *table)
{
	struct entry *entry = table->bucket[table->moved];

	while (entry) {
		struct entry *next = entry->next;
		struct entry **to = &table->bigger[table_hash(table, entry_key(entry)) >> (64 - table->bits - 1)];

		entry->next = *to;
		*to = entry;
		entry = next;
	}
	table->bucket[table->moved++] = NULL;
}

static void grow_step(struct table *table)
{
	size_t buckets = (size_t)1 << table->bits;
	int i;

	if (!table->bigger && table->count > buckets)
		grow_begin(table);
	for (i = 0; table->bigger && i < MOVE_PER_ENTRY; i++) {
		move_bucket(table);
		if (table->moved == buckets)
			grow_end(table);
	}
}

/* ---- changing ---- */

struct entry *table_put(struct table *table, struct entry **at, struct slice key, const struct record *rec)
{
	struct entry *entry = entry_new(key, rec), *old = *at;

	if (!entry)
		return NULL;
	entry->next = old ? old->next : NULL;
	*at = entry;
	if (old) {
		mem_free(old);
	} else {
		table->count++;
		grow_step(table);
	}
	return entry;
}

void table_remove(struct table *table, struct entry **at)
{
	struct entry *old = *at;

	*at = old->next;
	mem_free(old);
	table->count--;
}
