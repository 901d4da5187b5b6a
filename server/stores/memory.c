/*
 * memory.c - the store "memory:": everything in one hash table of this process, nothing outlives it.
 *
 * store.c calls it. Ops are queued by submit and answered by flush, in their order, each from the table of transitions;
 * an answer's slices point into the store and hold until op_done returns. LIST, COUNT and SWEEP walk the table, a slice per
 * flush, in turn. While there is something left to do an idle handle keeps the loop from waiting.
 *
 * The clock is the wall clock at the start plus the time since on the clock that neither steps nor stops in sleep:
 * nothing that is done to the wall clock ends a lease, and fences rise over a restart too. It is read once per
 * flush.
 *
 * What has ended by itself is seen when it is read. Deleting it goes on beside: a few buckets per flush, and two for
 * each change, so that new records cannot come faster than old ones go.
 *
 * No memory refuses the call with ERR busy and changes nothing; nothing is ever evicted.
 */
#include "store.h"

#include <string.h>

#include "../../proto/mem.h"
#include "../clock.h"
#include "memory_scan.h"
#include "memory_table.h"
#include "op_list.h"

#define OPS_PER_FLUSH 4096
#define SWEEP_PER_FLUSH 4
#define SWEEP_PER_CHANGE 2

struct memory {
	struct store *front;
	struct table *table;
	uv_idle_t more;         /* active: there is something to do without any news */
	struct op_list queue;   /* to be answered */
	struct op_list walking; /* LIST, COUNT, SWEEP: store_mem is not for slices but for its struct scan_walk */
	int64_t wall_offset_us; /* store time - monotonic time */
	uint64_t sweep_at;      /* the bucket that is next */
	bool closing;
};

/* ---- open ---- */

static enum fit memory_check(const char *url, bool make_folders, struct errbuf *err)
{
	(void)make_folders;
	if (strcmp(url, "memory:") == 0)
		return FIT_GOOD;
	err_set(err, "the URL of the memory store is \"memory:\" and nothing behind it");
	return FIT_NEVER;
}

static bool memory_open(void **out, struct store *front, const char *url, const struct store_options *options,
			uv_loop_t *loop, struct errbuf *err)
{
	struct memory *m;

	if (memory_check(url, options->make_folders, err) != FIT_GOOD)
		return false;
	m = mem_zero(sizeof(*m));
	if (!m)
		goto fail;
	m->table = table_new();
	if (!m->table)
		goto fail_memory;
	m->front = front;
	m->wall_offset_us = clock_wall_us() - clock_mono_us();
	op_list_init(&m->queue);
	op_list_init(&m->walking);
	uv_idle_init(loop, &m->more);
	m->more.data = m;
	store_health(front, true, "");
	*out = m;
	return true;

fail_memory:
	mem_free(m);
fail:
	err_set(err, "out of memory");
	return false;
}

/* ---- one op ---- */

static void sweep_some(struct memory *m, int buckets, int64_t now)
{
	while (buckets-- > 0) {
		struct entry **at = table_bucket(m->table, m->sweep_at, &m->sweep_at);

		while (*at) {
			struct record rec;

			entry_read(*at, &rec);
			if (record_sweepable(&rec, now))
				table_remove(m->table, at);
			else
				at = entry_next(at);
		}
	}
}

/* True: something changed. */
static bool apply(struct memory *m, struct op *op, int64_t now)
{
	enum effect effect;
	struct entry **at = table_at(m->table, op->key);
	struct entry *entry = *at;
	struct record rec = {.state = STATE_ABSENT};

	if (entry)
		entry_read(entry, &rec);
	op_decide(op, &rec, now);
	effect = op->verdict.effect;
	if (effect == EFFECT_WRITE) {
		entry = table_put(m->table, at, op->key, &rec);
		if (entry)
			entry_read(entry, &op->record);
		else
			op_refuse(op, ERR_BUSY, "out of memory: the store takes nothing new");
	} else if (effect == EFFECT_DELETE) {
		table_remove(m->table, at);
	}
	store_done(m->front, op);
	return effect != EFFECT_NONE;
}

static void walk_begin(struct memory *m, struct op *op)
{
	op->store_mem = walk_new(m->table, op);
	if (op->store_mem) {
		op_list_push(&m->walking, op);
	} else {
		op_refuse(op, ERR_BUSY, "out of memory: the store cannot be walked");
		store_done(m->front, op);
	}
}

static void walk_end(struct memory *m, struct op *op)
{
	walk_free(op->store_mem);
	op->store_mem = NULL;
	store_done(m->front, op);
}

/* ---- submit and flush ---- */

static void memory_submit(void *impl, struct op *op)
{
	struct memory *m = impl;

	op_list_push(&m->queue, op);
}

static void walk_some(struct memory *m, int64_t now)
{
	struct op *op = op_list_pop(&m->walking);

	if (!op)
		return;
	if (walk_slice(op->store_mem, now))
		walk_end(m, op);
	else
		op_list_push(&m->walking, op);
}

/* The next turn of the loop comes at once, and with it a flush. */
static void on_more(uv_idle_t *more)
{
	(void)more;
}

static void memory_flush(void *impl)
{
	struct memory *m = impl;
	int64_t now = clock_mono_us() + m->wall_offset_us;
	int left;

	if (m->closing)
		return;
	walk_some(m, now);
	for (left = OPS_PER_FLUSH; left > 0 && m->queue.first; left--) {
		struct op *op = op_list_pop(&m->queue);

		if (op->kind != OP_RECORD)
			walk_begin(m, op);
		else if (apply(m, op, now))
			sweep_some(m, SWEEP_PER_CHANGE, now);
	}
	sweep_some(m, SWEEP_PER_FLUSH, now);
	if (m->queue.first || m->walking.first)
		uv_idle_start(&m->more, on_more);
	else
		uv_idle_stop(&m->more);
}

static void memory_describe(void *impl, struct errbuf *text)
{
	(void)impl;
	err_set(text, "memory, nothing outlives the daemon");
}

/* ---- close ---- */

static void on_closed(uv_handle_t *handle)
{
	struct memory *m = handle->data;
	struct store *front = m->front;
	struct op *op;

	while ((op = op_list_pop(&m->walking)) != NULL) {
		if (op->kind == OP_SWEEP) { /* what it has deleted is deleted */
			op->result = OP_APPLIED;
			op->more = true;
		} else {
			op_refuse(op, ERR_STORE, "the store is being closed");
		}
		walk_end(m, op);
	}
	while ((op = op_list_pop(&m->queue)) != NULL) {
		op_refuse(op, ERR_STORE, "the store is being closed");
		store_done(front, op);
	}
	table_free(m->table);
	mem_free(m);
	store_closed(front);
}

static void memory_close(void *impl)
{
	struct memory *m = impl;

	m->closing = true;
	uv_close((uv_handle_t *)&m->more, on_closed);
}

const struct store_driver store_memory = {
    .scheme = "memory",
    .check = memory_check,
    .open = memory_open,
    .submit = memory_submit,
    .flush = memory_flush,
    .close = memory_close,
    .describe = memory_describe,
};
