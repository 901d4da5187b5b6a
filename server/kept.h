/*
 * kept.h - settlements that the store could not take, kept until it can.
 *
 * After the effect there is no way back: a COMPLETE or FAIL that cannot be stored must not become a second run. Its client is told
 * ERR timeout; the op stays at the head of its key's queue, so that nothing overtakes it, and is sent again until the record
 * says yes or no, or until it could not matter any more. The engine calls this; nothing here allocates.
 */
#ifndef CLAIMD_SERVER_KEPT_H
#define CLAIMD_SERVER_KEPT_H

#include "op.h"

#define KEPT_MAX_OCTETS ((size_t)16 * 1024 * 1024) /* of keys, results and bookkeeping; above it nothing is kept */

/* Zero is empty. All are sent again together, at growing distances: what keeps one of them waiting is the store. */
struct kept {
	struct op *first, *last; /* linked by due_next: they are over their deadline */
	size_t count, octets;
	uint64_t dropped;    /* given up, since the start */
	int64_t distance_ms; /* to the next attempt; 0: the store has been well */
	int64_t retry_at_ms;
};

/* A settlement (or what the engine does in a holder's place) that the store did not decide: it may succeed later. */
bool kept_worth(const struct op *op);
/* Takes the op, until now + keep_ms (INT64_MAX: for ever). False: the bound is reached. */
bool kept_add(struct kept *kept, struct op *op, int64_t now_ms, int64_t keep_ms);
/* It has been tried again in vain: wait longer before the next attempt. */
void kept_put_off(struct kept *kept, int64_t now_ms);
/* The store is well: the others may be sent at once. */
void kept_hurry(struct kept *kept, int64_t now_ms);
void kept_remove(struct kept *kept, struct op *op);

#endif
