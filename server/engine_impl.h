/*
 * engine_impl.h - the inside of the engine, for engine.c (order, deadlines, the way through), waiters.c (parked calls) and
 * bonds.c (claims bound to a connection).
 */
#ifndef CLAIMD_SERVER_ENGINE_IMPL_H
#define CLAIMD_SERVER_ENGINE_IMPL_H

#include "done_cache.h"
#include "engine.h"
#include "slot.h"

struct engine {
	struct engine_hooks hooks;
	struct engine_limits limits;
	struct slots slots;
	struct op *due_first, *due_last; /* ops on their way, by deadline: all have the same time */
	struct kept kept;
	struct done_cache done; /* outcomes that are answered without the store */
	struct alarms polls;    /* of slots */
	struct alarms waits;    /* of waiters: when their wait is over */
	struct alarms renewals; /* of bonds */
	uint64_t tickets;       /* given to calls, in the order in which they came */
	uint64_t random;        /* for jitter */
	size_t waiting;
	bool abandoning; /* nothing more is kept, nobody waits any more */
	size_t pending;
	uint64_t undone, collapsed;
};

/* engine.c */

/* Gives the op its place in the work of its slot: behind the others, or in front of all that the store does not have yet. */
void engine_work(struct engine *engine, struct slot *slot, struct op *op, bool in_front, int64_t now_ms);
void engine_answer(struct engine *engine, struct op *op);
/* Puts an op of the engine's own to work, in front of what waits for that key; key and token are copied. False: no memory. */
bool engine_ask_own(struct engine *engine, struct slice key, const struct ask *ask, int64_t now_ms);
/* Takes the slot away when nothing is left in it. */
void engine_tidy(struct engine *engine, struct slot *slot);

/* waiters.c */

/* An op has come back from the store. True: it goes on waiting. */
bool waiters_park(struct engine *engine, struct slot *slot, struct op *op, int64_t now_ms);
/* The answer to an op of this key says how the record is now: those whom that lets go on are put to work. */
void waiters_wake(struct engine *engine, struct slot *slot, const struct op *answered, int64_t now_ms);
/* The first waiter asks again, now. */
void waiters_poll(struct engine *engine, struct slot *slot, int64_t now_ms);
/* Takes a parked op out of its slot, which may be empty then. */
void waiters_unpark(struct engine *engine, struct op *op);
void waiters_tick(struct engine *engine, int64_t now_ms);
int64_t waiters_next(const struct engine *engine);
/* All are told that the daemon leaves. */
void waiters_abandon(struct engine *engine);

#endif
