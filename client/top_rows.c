/*
 * top_rows.c - what `claim top` has collected. See top_rows.h. Called by cli_top.c.
 *
 * A record does not say how long its lease is, only what is left of it. So the longest that was seen left of a claim, known by its
 * fence, is taken for it. Failure modes: no memory.
 */
#include "top_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../proto/mem.h"

const char *top_kind_name(enum top_kind kind)
{
	static const char *const names[TOP__KINDS] = {"unknown", "lapsed", "live"};
	return names[kind];
}

static void read_text(char *to, size_t size, const struct reply *status, const char *name)
{
	struct slice value = reply_field(status, name);
	snprintf(to, size, "%.*s", (int)value.len, value.data ? value.data : "");
}

void top_daemon_read(struct top_daemon *daemon, const struct reply *status, int64_t now_ms)
{
	read_text(daemon->version, sizeof(daemon->version), status, "version");
	read_text(daemon->phase, sizeof(daemon->phase), status, "phase");
	read_text(daemon->store, sizeof(daemon->store), status, "store");
	daemon->store_up = slice_equal(reply_field(status, "store_up"), SLICE_OF("yes"));
	daemon->up_ms = reply_integer(status, "up_ms", -1);
	daemon->connections = reply_integer(status, "connections", -1);
	daemon->waiting = reply_integer(status, "waiting", -1);
	daemon->kept = reply_integer(status, "kept", -1);
	daemon->counts_age_ms = reply_integer(status, "counts_age_ms", -1);
	daemon->done = reply_integer(status, "done", -1);
	daemon->failed = reply_integer(status, "failed", -1);
	daemon->free = reply_integer(status, "free", -1);
	daemon->seen_ms = now_ms;
}

bool top_rows_add(struct top_rows *rows, enum top_kind kind, const struct reply *item, int64_t now_ms)
{
	struct slice owner = reply_field(item, "owner"), key = reply_field(item, "key");
	if (rows->count == rows->cap) {
		size_t cap = rows->cap ? 2 * rows->cap : 64;
		struct top_row *more = mem_resize(rows->row, cap * sizeof(*more));
		if (!more)
			return false;
		rows->row = more;
		rows->cap = cap;
	}
	char *octets = mem_alloc(owner.len + key.len + 1);
	if (!octets)
		return false;
	struct top_row row = {.kind = kind,
			      .fence = reply_integer(item, "fence", 0),
			      .attempts = reply_integer(item, "attempts", 0),
			      .age_ms = reply_integer(item, "age_ms", 0),
			      .left_ms = reply_integer(item, "left_ms", 0),
			      .seen_ms = now_ms,
			      .octets = octets};
	if (key.data)
		memcpy(octets, key.data, key.len);
	if (owner.data)
		memcpy(octets + key.len, owner.data, owner.len);
	row.key = (struct slice){octets, key.len};
	row.owner = owner.data ? (struct slice){octets + key.len, owner.len} : SLICE_ABSENT;
	row.lease_ms = row.left_ms;
	rows->row[rows->count++] = row;
	rows->of_kind[kind]++;
	return true;
}

static int by_fence(const void *a, const void *b)
{
	int64_t x = ((const struct top_row *)a)->fence, y = ((const struct top_row *)b)->fence;
	return (x > y) - (x < y);
}

static int by_age(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;
	int64_t since_x = x->seen_ms - x->age_ms, since_y = y->seen_ms - y->age_ms;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (since_x != since_y)
		return since_x < since_y ? -1 : 1;
	return slice_compare(x->key, y->key);
}

/* Both sorted by fence. */
static void leases_take(struct top_rows *rows, const struct top_row *before, size_t count)
{
	size_t j = 0;
	for (size_t i = 0; i < rows->count; i++) {
		while (j < count && before[j].fence < rows->row[i].fence)
			j++;
		if (j < count && before[j].fence == rows->row[i].fence && before[j].lease_ms > rows->row[i].lease_ms)
			rows->row[i].lease_ms = before[j].lease_ms;
	}
}

void top_rows_finish(struct top_rows *rows, const struct top_rows *before)
{
	if (rows->count == 0)
		return;
	struct top_row *old = before->count ? mem_alloc(before->count * sizeof(*old)) : NULL;
	qsort(rows->row, rows->count, sizeof(*rows->row), by_fence);
	if (old) {
		memcpy(old, before->row, before->count * sizeof(*old));
		qsort(old, before->count, sizeof(*old), by_fence);
		leases_take(rows, old, before->count);
		mem_free(old);
	}
	qsort(rows->row, rows->count, sizeof(*rows->row), by_age);
}

bool top_rows_more(const struct top_rows *rows)
{
	return rows->more[TOP_UNKNOWN] || rows->more[TOP_LAPSED] || rows->more[TOP_LIVE];
}

void top_rows_release(struct top_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		mem_free(rows->row[i].octets);
	mem_free(rows->row);
	*rows = (struct top_rows){0};
}
