/*
 * slot.h - the keys that have work under way: for each its ops in order, those that wait for it to become free, and the
 * connections that its claim is bound to.
 *
 * A hash table of slots. A slot goes when nothing is left in it, so the table is as large as the work at hand.
 */
#ifndef CLAIMD_SERVER_SLOT_H
#define CLAIMD_SERVER_SLOT_H

#include "alarm.h"
#include "hash.h"
#include "op.h"

/* Linked by op->next. */
struct op_queue {
	struct op *first, *last;
};

struct slot {
	struct slot *chain; /* next in the bucket */
	uint64_t hash;
	struct op_queue work;    /* in order; the store has the first, or it is a settlement that is kept */
	struct op_queue waiters; /* answered HELD, and willing to wait; first come first */
	bool answering;          /* an answer is being handled: nothing is sent before that is through */
	struct alarm poll;       /* the first waiter asks again by itself */
	int64_t distance_ms;     /* between the last two times it did */
	struct bond *bonds;      /* linked by bond->beside */
};

struct slots {
	struct hash_seed seed;
	struct slot **bucket; /* a power of two of them, at least as many as slots */
	size_t bucket_count, count;
	struct slot *spare; /* to be used again, linked by chain */
};

bool slots_init(struct slots *slots, const struct hash_seed *seed); /* false: no memory */
void slots_release(struct slots *slots);
/* NULL: the key has no slot. */
struct slot *slots_find(struct slots *slots, struct slice key);
/* Its slot, or an empty one, which some op or bond in it must have before the next call. NULL: no memory. */
struct slot *slots_get(struct slots *slots, struct slice key);
/* Takes away a slot that is empty. */
void slots_remove(struct slots *slots, struct slot *slot);
bool slot_empty(const struct slot *slot);

void queue_append(struct op_queue *queue, struct op *op);
void queue_prepend(struct op_queue *queue, struct op *op);
/* Behind `before`, which is in the queue. */
void queue_insert(struct op_queue *queue, struct op *before, struct op *op);
struct op *queue_take(struct op_queue *queue); /* the first; NULL: there is none */
void queue_unlink(struct op_queue *queue, struct op *op);

#endif
