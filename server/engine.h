/*
 * engine.h - decides everything that is not the store's: order per key, deadlines, waiting, what is bound to a connection (hold,
 * drop, notify), taking back a win that nobody heard of.
 *
 * Dispatch submits ops. The engine lets at most one op per key be with the store at a time and hands each answer up
 * exactly once, in the order in which the ops of that key came. It has no sockets, no libuv and no clock:
 * the server calls it with the monotonic time, so that a test drives it with plain numbers.
 *
 * An op that is not about one record (LIST, SWEEP, COUNT) has no order to keep and goes straight to the store.
 */
#ifndef CLAIMD_SERVER_ENGINE_H
#define CLAIMD_SERVER_ENGINE_H

#include "hash.h"
#include "kept.h"
#include "op.h"

struct engine;

enum lost_cause {
	LOST_REFUSED, /* a renewal was told that it is not ours any more */
	LOST_TAKEN,   /* an answer to somebody else shows it */
	LOST_DOUBT,   /* two thirds of the lease are over, and no renewal was confirmed */
	LOST__COUNT
};

struct notice {
	enum { NOTICE_RENEWED, NOTICE_LOST } kind;
	struct slice key;
	int64_t fence;
	int64_t left_ms;       /* RENEWED */
	enum lost_cause cause; /* LOST */
	bool wanted;           /* the connection asked to be told */
};

struct engine_hooks {
	/* Give the op to the store, which answers by engine_done later, never from inside. */
	void (*to_store)(void *arg, struct op *op);
	/* Tell its maker ERR timeout now, and read no answer from it: its deadline passed while the store has it (which may be
	 * writing there), or it is kept. `answer` follows when it is over; op->late is set then. */
	void (*late)(void *arg, struct op *op);
	/* Answered; the op is its maker's again. */
	void (*answer)(void *arg, struct op *op);
	/* An op, perhaps one of the engine's own, has changed its record. Before `answer`; only to be read. */
	void (*changed)(void *arg, const struct op *op);
	/* Something happened to a claim that is bound to this connection. */
	void (*told)(void *arg, struct holder *holder, const struct notice *notice);
	/* The client of this call that waits is gone; engine_leave will follow. Asked before the store is, on its behalf. */
	bool (*gone)(void *arg, const struct op *op);
	void *arg;
};

struct engine_limits {
	int64_t timeout_ms;       /* from submit to the answer; longer than the store's own */
	int64_t lease_ms, ttl_ms; /* a kept settlement is given up after lease + ttl (its own ttl, or this one) */
	size_t done_cache;        /* octets for outcomes that are remembered; 0: none is */
};

/* NULL: no memory. */
struct engine *engine_new(const struct engine_hooks *hooks, const struct engine_limits *limits,
			  const struct hash_seed *seed);
/* Everything must have been answered. */
void engine_free(struct engine *engine);

/* Takes the op until it is answered. False: no memory, nothing happened, the op is still the caller's. */
bool engine_submit(struct engine *engine, struct op *op, int64_t now_ms);
/* True: the outcome of this CLAIM is remembered, and nothing is under way for its key; the op is answered and was never the
 * engine's. */
bool engine_recall(struct engine *engine, struct op *op, int64_t now_ms);
/* The store has answered this op. */
void engine_done(struct engine *engine, struct op *op, int64_t now_ms);
/* Gives back a win (key and token as asked, the fence from its record), in front of whatever waits for that key. `won` is
 * only read. Without memory it does nothing: the lease heals it. */
void engine_undo(struct engine *engine, const struct op *won, int64_t now_ms);
/* This connection has ended: what was bound to it is over, and `drop` is done. It must be empty to be freed. */
void engine_part(struct engine *engine, struct holder *holder, int64_t now_ms);
/* Gives up the settlements that are kept, and those who wait are told ERR draining: the daemon leaves. */
void engine_abandon(struct engine *engine, int64_t now_ms);
/* The client of this op is gone: a call that waits, or a CLAIM that the store does not have yet, is given back by `answer`, from
 * inside. Anything else goes on: a settlement that was received is done. */
void engine_leave(struct engine *engine, struct op *op);
/* Ends what is over its deadline, sends again what is kept. Returns when it wants to be called next, INT64_MAX: when
 * there is something. */
int64_t engine_tick(struct engine *engine, int64_t now_ms);
/* Ops that were submitted and are not answered, or that the store has not let go of. */
size_t engine_pending(const struct engine *engine);
/* The settlements that the store could not take yet. */
const struct kept *engine_kept(const struct engine *engine);
/* Calls that are parked until a key is free. */
size_t engine_waiting(const struct engine *engine);
/* CLAIMs that were answered without asking the store, since the start: behind another of the same key, and from memory. */
uint64_t engine_collapsed(const struct engine *engine);
uint64_t engine_recalled(const struct engine *engine);
/* Wins given back since the start. */
uint64_t engine_undone(const struct engine *engine);

#endif
