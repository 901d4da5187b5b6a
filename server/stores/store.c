/*
 * store.c - what stands in front of every driver: choosing it, the limit of ops in flight, counting, and the end.
 *
 * The server opens one store and the engine submits to it. An op goes to the driver, the driver answers through
 * store_done, and that goes up as op_done. An op that may not go to the driver (too many are in flight, the store is
 * closing) is refused here; its answer waits for the next flush, because nothing is answered from inside store_submit.
 *
 * Opening fails for a URL that no driver takes; what a driver can get over by itself is told as health.
 */
#include "store.h"

#include <string.h>

#include "../../proto/mem.h"
#include "op_list.h"

struct store {
	const struct store_driver *driver;
	void *impl;
	struct store_options options;
	struct store_events events;
	struct store_stats stats;
	bool opened; /* events may go up */
	bool known;  /* whether it is up */
	bool up;
	bool closing;
	struct op_list refused; /* answered here, not told yet */
	store_closed_cb closed_cb;
	void *closed_arg;
};

static const struct store_driver *const drivers[] = {&store_memory, &store_sqlite};

/* NULL: *err says so. The URL is not shown: there may be a password in it. */
static const struct store_driver *driver_find(const char *url, struct errbuf *err)
{
	const char *colon = strchr(url, ':');
	size_t i;

	for (i = 0; colon && i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		size_t len = strlen(drivers[i]->scheme);

		if (len == (size_t)(colon - url) && memcmp(url, drivers[i]->scheme, len) == 0)
			return drivers[i];
	}
	err_set(err, "no store has this URL; there are memory: and sqlite:PATH");
	return NULL;
}

enum fit store_check(const char *url, bool make_folders, struct errbuf *err)
{
	const struct store_driver *driver = driver_find(url, err);

	return driver ? driver->check(url, make_folders, err) : FIT_NEVER;
}

bool store_open(struct store **out, const char *url, const struct store_options *options, uv_loop_t *loop,
		const struct store_events *events, struct errbuf *err)
{
	const struct store_driver *driver = driver_find(url, err);
	struct store *store;

	if (!driver)
		return false;
	store = mem_zero(sizeof(*store));
	if (!store) {
		err_set(err, "out of memory");
		return false;
	}
	store->driver = driver;
	store->options = *options;
	store->events = *events;
	op_list_init(&store->refused);
	if (!driver->open(&store->impl, store, url, options, loop, err))
		goto fail_store;
	store->opened = true;
	*out = store;
	return true;

fail_store:
	mem_free(store);
	return false;
}

/* ---- ops ---- */

static void count(struct store_stats *stats, const struct op *op)
{
	if (op->result != OP_APPLIED && op->result != OP_LOST)
		stats->errors[op->err]++;
	switch (op->result) {
	case OP_APPLIED:
		stats->applied++;
		break;
	case OP_LOST:
		stats->lost++;
		break;
	case OP_REFUSED:
		stats->refused++;
		break;
	case OP_PENDING: /* an answer that is none: nobody can rely on it */
	case OP_UNCERTAIN:
		stats->uncertain++;
		break;
	}
}

/* Ends: each answer may bring the next op of its key, and of those there are no more than clients have sent. */
static void refused_tell(struct store *store)
{
	struct op *op;

	while ((op = op_list_pop(&store->refused))) {
		count(&store->stats, op);
		store->events.op_done(store->events.arg, op);
	}
}

static int64_t now_us(void)
{
	return (int64_t)(uv_hrtime() / 1000);
}

void store_submit(struct store *store, struct op *op)
{
	if (store->closing) {
		op_refuse(op, ERR_STORE, "the store is being closed");
		op_list_push(&store->refused, op);
	} else if (store->options.max_in_flight && store->stats.in_flight >= store->options.max_in_flight) {
		op_refuse(op, ERR_BUSY, "the store has %zu operations to do already", store->stats.in_flight);
		op_list_push(&store->refused, op);
	} else {
		store->stats.in_flight++;
		op->store_us = now_us();
		store->driver->submit(store->impl, op);
	}
}

void store_flush(struct store *store)
{
	do { /* again where an answer brought an op that was refused: what follows that one must not wait for a turn */
		refused_tell(store);
		store->driver->flush(store->impl);
	} while (store->refused.first);
}

void store_done(struct store *front, struct op *op)
{
	front->stats.in_flight--;
	op->store_us = now_us() - op->store_us;
	count(&front->stats, op);
	front->events.op_done(front->events.arg, op);
}

/* ---- what else there is to know ---- */

void store_made(struct store *front, const char *where)
{
	if (front->events.made)
		front->events.made(front->events.arg, where);
}

void store_health(struct store *front, bool up, const char *why)
{
	if (front->known && front->up == up)
		return;
	front->known = true;
	front->up = up;
	if (front->opened && front->events.health)
		front->events.health(front->events.arg, up, why);
}

void store_describe(struct store *store, struct errbuf *text)
{
	store->driver->describe(store->impl, text);
}

bool store_up(const struct store *store)
{
	return store->up;
}

const struct store_stats *store_stats(const struct store *store)
{
	return &store->stats;
}

/* ---- the end ---- */

void store_close(struct store *store, store_closed_cb cb, void *arg)
{
	store->closing = true;
	store->closed_cb = cb;
	store->closed_arg = arg;
	store->driver->close(store->impl);
}

void store_closed(struct store *front)
{
	store_closed_cb cb = front->closed_cb;
	void *arg = front->closed_arg;

	refused_tell(front);
	mem_free(front);
	cb(arg);
}
