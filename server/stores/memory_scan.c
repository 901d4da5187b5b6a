/*
 * memory_scan.c - see memory_scan.h. Called by memory.c: one slice of one walk per turn of the loop, so that a walk over a
 * million records holds nobody up.
 *
 * A walk follows the table's own order, which growing does not change: by hash, then by key. A page ends at a key, and that key
 * is the cursor; the next page starts behind its place, whether it is still there or not. Within a page
 * the records stand by key.
 *
 * state=unknown is different: the oldest of the whole store, in one page.
 *
 * No memory refuses the op. What a SWEEP had deleted by then stays deleted, and it needs none.
 */
#include "memory_scan.h"

#include <stdlib.h>

#include "../../proto/mem.h"
#include "scan.h"

#define BUCKETS_PER_SLICE 4096

/* A copy of an entry, since the entry may be gone before the page is full. */
struct found {
	uint64_t hash;
	int64_t updated;
	struct entry *entry;
};

struct scan_walk {
	struct table *table;
	struct op *op;
	uint64_t at;          /* where the next bucket begins */
	uint64_t cursor_hash; /* of op->scan.cursor, where there is one */
	struct found *found;
	size_t count, cap;
	bool no_memory;
};

/* ---- one record ---- */

static bool oldest_first(const struct scan *scan)
{
	return scan->state == CHOICE_STATE_UNKNOWN;
}

static bool matches(const struct scan *scan, const struct entry *entry, int64_t now)
{
	struct record rec;

	entry_read(entry, &rec);
	return scan_matches(scan, entry_key(entry), &rec, now);
}

/* ---- orders ---- */

static int by_place(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return slice_compare(entry_key(x->entry), entry_key(y->entry));
}

static int by_key(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return slice_compare(entry_key(x->entry), entry_key(y->entry));
}

static int by_age(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->updated != y->updated)
		return x->updated < y->updated ? -1 : 1;
	return by_key(a, b);
}

static void found_sort(struct scan_walk *walk, int (*order)(const void *, const void *))
{
	if (walk->count > 1)
		qsort(walk->found, walk->count, sizeof(*walk->found), order);
}

/* Lets go of all behind the first `count`. */
static void found_cut(struct scan_walk *walk, size_t count)
{
	while (walk->count > count)
		mem_free(walk->found[--walk->count].entry);
}

/* ---- LIST ---- */

static bool found_add(struct scan_walk *walk, struct found found)
{
	if (walk->count == walk->cap) {
		size_t cap = walk->cap ? 2 * walk->cap : 64;
		struct found *more = mem_resize(walk->found, cap * sizeof(*more));

		if (!more)
			return false;
		walk->found = more;
		walk->cap = cap;
	}
	found.entry = entry_copy(found.entry);
	if (!found.entry)
		return false;
	walk->found[walk->count++] = found;
	return true;
}

static bool behind_cursor(const struct scan_walk *walk, uint64_t hash, struct slice key)
{
	if (!walk->op->scan.cursor.data || hash > walk->cursor_hash)
		return true;
	return hash == walk->cursor_hash && slice_compare(key, walk->op->scan.cursor) > 0;
}

static void list_visit(struct scan_walk *walk, struct entry *entry, int64_t now)
{
	const struct scan *scan = &walk->op->scan;
	struct found found = {.entry = entry};
	struct record rec;

	if (!matches(scan, entry, now))
		return;
	entry_read(entry, &rec);
	found.updated = rec.updated;
	found.hash = table_hash(walk->table, entry_key(entry));
	if (!oldest_first(scan) && !behind_cursor(walk, found.hash, entry_key(entry)))
		return;
	if (!found_add(walk, found))
		walk->no_memory = true;
	if (oldest_first(scan) && walk->count >= 2 * scan->limit) { /* the young half cannot be on the page */
		found_sort(walk, by_age);
		found_cut(walk, scan->limit);
	}
}

/* One more than fits on the page tells that this is not the last one. */
static bool list_full(const struct scan_walk *walk)
{
	return !oldest_first(&walk->op->scan) && walk->count > walk->op->scan.limit;
}

static size_t page_size(const struct scan_walk *walk, struct slice cursor)
{
	size_t size = sizeof(struct page) + walk->count * sizeof(struct page_item) + cursor.len, i;

	for (i = 0; i < walk->count; i++) {
		struct record rec;

		entry_read(walk->found[i].entry, &rec);
		size += entry_key(walk->found[i].entry).len + rec.token.len + rec.fp.len + rec.owner.len;
	}
	return size;
}

static struct page *page_new(const struct scan_walk *walk, struct slice cursor)
{
	struct page *page = mem_alloc(page_size(walk, cursor));
	char *to;
	size_t i;

	if (!page)
		return NULL;
	page->count = walk->count;
	to = (char *)&page->item[walk->count];
	for (i = 0; i < walk->count; i++) {
		struct page_item *item = &page->item[i];

		entry_read(walk->found[i].entry, &item->record);
		item->key = scan_copy(&to, entry_key(walk->found[i].entry));
		item->record.token = scan_copy(&to, item->record.token);
		item->record.fp = scan_copy(&to, item->record.fp);
		item->record.owner = scan_copy(&to, item->record.owner);
	}
	page->cursor = scan_copy(&to, cursor);
	return page;
}

/* What no longer fits the question since its bucket was looked at; the order stays. */
static void found_recheck(struct scan_walk *walk, int64_t now)
{
	size_t i, kept = 0;

	for (i = 0; i < walk->count; i++) {
		if (matches(&walk->op->scan, walk->found[i].entry, now))
			walk->found[kept++] = walk->found[i];
		else
			mem_free(walk->found[i].entry);
	}
	walk->count = kept;
}

static void list_answer(struct scan_walk *walk, int64_t now)
{
	struct op *op = walk->op;
	size_t limit = op->scan.limit;
	struct slice cursor = SLICE_ABSENT;
	char *cursor_copy = NULL;

	if (walk->no_memory)
		goto fail_memory;
	found_sort(walk, oldest_first(&op->scan) ? by_age : by_place);
	if (list_full(walk)) {
		cursor = entry_key(walk->found[limit - 1].entry);
		cursor_copy = mem_copy(cursor.data, cursor.len);
		if (!cursor_copy)
			goto fail_memory;
		cursor.data = cursor_copy;
	}
	found_cut(walk, limit);
	found_recheck(walk, now);
	if (!oldest_first(&op->scan))
		found_sort(walk, by_key);
	op->page = page_new(walk, cursor);
	mem_free(cursor_copy);
	if (!op->page)
		goto fail_memory;
	op->result = OP_APPLIED;
	return;

fail_memory:
	op_refuse(op, ERR_BUSY, "out of memory for a page of %zu records", limit);
}

/* ---- COUNT ---- */

static void count_visit(struct scan_walk *walk, const struct entry *entry, int64_t now)
{
	struct record rec;

	if (!slice_starts(entry_key(entry), walk->op->scan.prefix))
		return;
	entry_read(entry, &rec);
	scan_count(&walk->op->counts, &rec, now);
}

/* ---- SWEEP ---- */

/* True: the entry at *at has been deleted. */
static bool sweep_visit(struct scan_walk *walk, struct entry **at, int64_t now)
{
	struct op *op = walk->op;
	struct record rec;

	entry_read(*at, &rec);
	if (op->more || !record_sweepable(&rec, now) || !slice_starts(entry_key(*at), op->scan.prefix))
		return false;
	if (op->deleted == (int64_t)op->scan.limit) {
		op->more = true;
		return false;
	}
	op->deleted++;
	if (op->scan.dry)
		return false;
	table_remove(walk->table, at);
	return true;
}

/* ---- the walk ---- */

struct scan_walk *walk_new(struct table *table, struct op *op)
{
	struct scan_walk *walk = mem_zero(sizeof(*walk));

	if (!walk)
		return NULL;
	walk->table = table;
	walk->op = op;
	if (op->kind == OP_LIST && op->scan.cursor.data && !oldest_first(&op->scan))
		walk->at = walk->cursor_hash = table_hash(table, op->scan.cursor);
	return walk;
}

void walk_free(struct scan_walk *walk)
{
	found_cut(walk, 0);
	mem_free(walk->found);
	mem_free(walk);
}

static void visit_bucket(struct scan_walk *walk, struct entry **at, int64_t now)
{
	while (*at) {
		if (walk->op->kind == OP_LIST)
			list_visit(walk, *at, now);
		else if (walk->op->kind == OP_COUNT)
			count_visit(walk, *at, now);
		else if (sweep_visit(walk, at, now))
			continue;
		at = entry_next(at);
	}
}

bool walk_slice(struct scan_walk *walk, int64_t now)
{
	bool ended = false;
	int i;

	for (i = 0; i < BUCKETS_PER_SLICE && !ended; i++) {
		struct entry **at = table_bucket(walk->table, walk->at, &walk->at);

		visit_bucket(walk, at, now);
		ended = !walk->at || walk->no_memory || walk->op->more || list_full(walk);
	}
	if (!ended)
		return false;
	walk->op->now = now;
	if (walk->op->kind == OP_LIST)
		list_answer(walk, now);
	else
		walk->op->result = OP_APPLIED;
	return true;
}
