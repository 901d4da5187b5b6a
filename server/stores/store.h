/*
 * store.h - the port to a database: what the engine calls, and the three calls that come back.
 *
 * A driver is one table of functions. store.c stands in front of it and holds what every driver would repeat: finding it by
 * the URL's scheme, the limit of ops in flight, statistics, the driver that always refuses for what was not compiled in.
 *
 * The life of an op here: store_submit queues it, store_flush (once per turn of the loop) sends what was gathered,
 * and later (never from inside store_submit) op_done is called exactly once. From inside store_flush it may be
 * called: the engine then submits the next op of that key, and the same flush goes on with it.
 */
#ifndef CLAIMD_STORE_H
#define CLAIMD_STORE_H

#include <uv.h>

#include "../faults.h"
#include "../op.h"

struct store;

/* What comes back up. All on the loop's thread. */
struct store_events {
	void (*op_done)(void *arg, struct op *op);
	/* There was no store, so a new and empty one has been made: what had been done is not known there. */
	void (*made)(void *arg, const char *where);
	/* When it changes; why is for people, no passwords in it. */
	void (*health)(void *arg, bool up, const char *why);
	void *arg;
};

struct store_options {
	int64_t timeout_ms;   /* a store gives up on an op by itself after this: shorter than the engine's */
	size_t max_in_flight; /* ops; above it OP_REFUSED with ERR_BUSY */
	bool make_folders;    /* those that are missing above a file; else the last one only */
};

typedef void (*store_closed_cb)(void *arg);

struct store_driver {
	const char *scheme; /* of the URL, without ":" */
	/* Whether it could be opened, as far as looking can tell. Makes and changes nothing. */
	enum fit (*check)(const char *url, bool make_folders, struct errbuf *err);
	/* Validates the URL, starts whatever must be started, returns at once. The store lives until close has called back. On
	 * false *out is untouched and *err says what to do. What can heal by itself (a full disk, a server that is down) is
	 * no reason to fail: ops are refused until it has healed. */
	bool (*open)(void **out, struct store *front, const char *url, const struct store_options *options,
		     uv_loop_t *loop, struct errbuf *err);
	/* Queues. Never fails, never answers at once. */
	void (*submit)(void *impl, struct op *op);
	/* Sends what was queued. May answer ops. */
	void (*flush)(void *impl);
	/* Answers every op it has, then calls store_closed once, not from inside close. */
	void (*close)(void *impl);
	/* One line for STATUS and the log: "sqlite 3.40.1 journal=wal synchronous=full". */
	void (*describe)(void *impl, struct errbuf *text);
};

/* ---- for the server ---- */

/* url: "memory:", "sqlite:PATH" ... False: *err says why, and it is not retried (a wrong URL, a refused file system). */
bool store_open(struct store **out, const char *url, const struct store_options *options, uv_loop_t *loop,
		const struct store_events *events, struct errbuf *err);
/* Would that do? FIT_LATER: the store opens, and refuses all ops until that has healed. Looks only, while no store is open. */
enum fit store_check(const char *url, bool make_folders, struct errbuf *err);
void store_submit(struct store *store, struct op *op);
void store_flush(struct store *store);
/* Answers everything outstanding, frees the store, then calls back. */
void store_close(struct store *store, store_closed_cb cb, void *arg);
void store_describe(struct store *store, struct errbuf *text);
bool store_up(const struct store *store);

struct store_stats {
	uint64_t applied, lost, refused, uncertain;
	uint64_t errors[ERR__COUNT]; /* why refused or uncertain */
	size_t in_flight;
};
const struct store_stats *store_stats(const struct store *store);

/* ---- for drivers ---- */

void store_done(struct store *front, struct op *op);              /* op is answered: counts it and tells the engine */
void store_health(struct store *front, bool up, const char *why); /* told up only on a change */
void store_made(struct store *front, const char *where);
void store_closed(struct store *front);

/* One per driver, in its own file. */
extern const struct store_driver store_memory, store_sqlite;

#endif
