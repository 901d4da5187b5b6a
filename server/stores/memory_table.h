/*
 * memory_table.h - the hash table of the memory store: keys and packed records.
 *
 * A table has a fixed order, by hash and then by key, in which it can be walked in steps of a few buckets while it changes and
 * grows: what is there throughout is met exactly once.
 */
#ifndef CLAIMD_STORE_MEMORY_TABLE_H
#define CLAIMD_STORE_MEMORY_TABLE_H

#include "../hash.h"
#include "../record.h"

struct table;
struct entry; /* a key and its record, in one block */

/* NULL: no memory. */
struct table *table_new(void);
void table_free(struct table *table);
size_t table_count(const struct table *table);
/* The place of a key in the order. */
uint64_t table_hash(const struct table *table, struct slice key);

/* Where the entry of this key hangs, or, with NULL in it, where it would. Valid until the next change of the table. */
struct entry **table_at(struct table *table, struct slice key);
/* Puts the record there, new or in place of the old one. Its slices may point into the old one, which is freed. Returns the
 * entry; NULL: no memory (or too long to be packed), nothing has changed. */
struct entry *table_put(struct table *table, struct entry **at, struct slice key, const struct record *rec);
void table_remove(struct table *table, struct entry **at);

/* The slices point into the entry. */
void entry_read(const struct entry *entry, struct record *rec);
struct slice entry_key(const struct entry *entry);
/* A copy on its own, without the result; freed by mem_free. NULL: no memory. */
struct entry *entry_copy(const struct entry *entry);

/* The first entry of the bucket in which `hash` falls; *next: where the one behind it begins, 0 behind the last. */
struct entry **table_bucket(struct table *table, uint64_t hash, uint64_t *next);
/* The one behind in its bucket. */
struct entry **entry_next(struct entry **at);

#endif
