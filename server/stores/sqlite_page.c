/*
 * sqlite_page.c - one page of records; see sqlite_page.h.
 *
 * The reader calls it. Pages come in the order of the keys from the index on them, and the cursor is the last key
 * that was looked at, so the next page goes on behind it whatever has happened since. A page that finds little ends
 * after ROWS_MAX rows with what it has (nothing, it may be) and a cursor: other readers wait for the thread.
 * state=unknown has an index of its own, oldest first, and is one page without a cursor.
 *
 * Rows that cannot be read are left out: there is nothing to show of them, and their keys' own verbs say so. Results are
 * not part of a page.
 */
#include "sqlite_page.h"

#include <string.h>

#include "../../proto/mem.h"
#include "scan.h"
#include "sqlite_record.h"

#define ROWS_MAX 20000
#define PAGE_MAX 1000

struct kept {
	struct page_item item;
	void *mem; /* what its slices point to */
};

struct maker {
	const struct scan *scan;
	int64_t now;
	size_t limit;
	size_t rows_left; /* to be looked at */
	bool more;        /* there may be more behind the page */
	struct kept *kept;
	size_t count, cap;
	char last[PROTO_MAX_KEY]; /* the key that was looked at last, and does not begin the next page */
	size_t last_len;
};

/* ---- what is kept ---- */

static bool kept_add(struct maker *m, struct slice key, const struct record *rec)
{
	struct kept *kept;
	struct record copy = *rec;

	if (m->count == m->cap) {
		size_t cap = m->cap ? 2 * m->cap : 64;
		struct kept *more = mem_resize(m->kept, cap * sizeof(*more));

		if (!more)
			return false;
		m->kept = more;
		m->cap = cap;
	}
	kept = &m->kept[m->count];
	copy.result = key; /* a place for the key in the same block */
	if (!sqlite_record_keep(&copy, &kept->mem))
		return false;
	kept->item.key = copy.result;
	copy.result = SLICE_ABSENT;
	kept->item.record = copy;
	m->count++;
	return true;
}

static void kept_free(struct maker *m)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		mem_free(m->kept[i].mem);
	mem_free(m->kept);
}

/* ---- the page ---- */

static size_t item_len(const struct page_item *item)
{
	return item->key.len + item->record.token.len + item->record.fp.len + item->record.owner.len;
}

static struct page *page_new(const struct maker *m)
{
	size_t size = sizeof(struct page) + m->count * sizeof(struct page_item) + m->last_len, i;
	struct page *page;
	char *to;

	for (i = 0; i < m->count; i++)
		size += item_len(&m->kept[i].item);
	page = mem_alloc(size);
	if (!page)
		return NULL;
	page->count = m->count;
	to = (char *)&page->item[m->count];
	for (i = 0; i < m->count; i++) {
		struct page_item *item = &page->item[i];

		*item = m->kept[i].item;
		item->key = scan_copy(&to, item->key);
		item->record.token = scan_copy(&to, item->record.token);
		item->record.fp = scan_copy(&to, item->record.fp);
		item->record.owner = scan_copy(&to, item->record.owner);
	}
	page->cursor = m->more ? scan_copy(&to, (struct slice){m->last, m->last_len}) : SLICE_ABSENT;
	return page;
}

/* ---- rows ---- */

enum row { ROW_ON, ROW_LAST, ROW_NO_MEMORY };

/* Looks at one row. A match more than fits tells that there is another page, which begins with it. */
static enum row row_look(struct maker *m, sqlite3_stmt *row)
{
	struct record rec;
	struct slice key;
	bool good = sqlite_record_read(row, &key, &rec) && key.len <= sizeof(m->last);
	bool matches = good && scan_matches(m->scan, key, &rec, m->now);

	if (matches && m->count == m->limit) {
		m->more = true;
		return ROW_LAST;
	}
	if (matches && !kept_add(m, key, &rec))
		return ROW_NO_MEMORY;
	if (good) {
		memcpy(m->last, key.data, key.len);
		m->last_len = key.len;
	}
	m->more = good && --m->rows_left == 0;
	return m->more ? ROW_LAST : ROW_ON;
}

/* The smallest key that is above all that start with the prefix; where there is none, something above all keys. */
static struct slice prefix_end(struct slice prefix, char end[PROTO_MAX_KEY + 1])
{
	size_t len = prefix.len;

	while (len > 0 && (unsigned char)prefix.data[len - 1] == 0xff)
		len--;
	if (len == 0 || len > PROTO_MAX_KEY) {
		memset(end, 0xff, PROTO_MAX_KEY + 1);
		return (struct slice){end, PROTO_MAX_KEY + 1};
	}
	memcpy(end, prefix.data, len);
	end[len - 1]++;
	return (struct slice){end, len};
}

/* Where the page begins: behind the cursor (where it is in front of the prefix nothing is shown for that), or with
 * the prefix. The key behind a key is that with a NUL at its end. */
static struct slice page_start(const struct scan *scan, char start[PROTO_MAX_KEY + 1])
{
	static const char empty[] = "";
	struct slice cursor = scan->cursor;

	if (!cursor.data || cursor.len > PROTO_MAX_KEY)
		return scan->prefix.data ? scan->prefix : (struct slice){empty, 0};
	memcpy(start, cursor.data, cursor.len);
	start[cursor.len] = '\0';
	return (struct slice){start, cursor.len + 1};
}

static int rows_look(struct maker *m, sqlite3_stmt *rows, bool *no_memory)
{
	enum row row = ROW_ON;
	int rc = SQLITE_ROW;

	while (row == ROW_ON && (rc = sqlite3_step(rows)) == SQLITE_ROW)
		row = row_look(m, rows);
	*no_memory = row == ROW_NO_MEMORY;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int by_key(struct sqlite_db *db, struct maker *m, bool *no_memory)
{
	sqlite3_stmt *rows = db->sql[SQL_PAGE];
	char start[PROTO_MAX_KEY + 1], end[PROTO_MAX_KEY + 1];
	int rc = sqlite_bind_slice(rows, 1, page_start(m->scan, start));

	m->rows_left = ROWS_MAX;
	if (rc == SQLITE_OK)
		rc = sqlite_bind_slice(rows, 2, prefix_end(m->scan->prefix, end));
	if (rc == SQLITE_OK)
		rc = rows_look(m, rows, no_memory);
	sqlite3_reset(rows);
	return rc;
}

static int by_age(struct sqlite_db *db, struct maker *m, bool *no_memory)
{
	int rc;

	m->rows_left = SIZE_MAX; /* there is no second page: this one must have all */
	rc = rows_look(m, db->sql[SQL_UNKNOWN], no_memory);
	sqlite3_reset(db->sql[SQL_UNKNOWN]);
	m->more = false;
	return rc;
}

int sqlite_page_make(struct sqlite_db *db, struct op *op, int64_t now)
{
	struct maker m = {
	    .scan = &op->scan, .now = now, .limit = op->scan.limit < PAGE_MAX ? op->scan.limit : PAGE_MAX};
	bool no_memory = false;
	int rc = op->scan.state == CHOICE_STATE_UNKNOWN ? by_age(db, &m, &no_memory) : by_key(db, &m, &no_memory);

	if (rc == SQLITE_OK) {
		op->page = no_memory ? NULL : page_new(&m);
		op->now = now;
		op->result = OP_APPLIED;
		if (!op->page)
			op_refuse(op, ERR_BUSY, "out of memory for a page of %zu records", m.limit);
	}
	kept_free(&m);
	return rc;
}
