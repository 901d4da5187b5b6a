/* slot.c - see slot.h. */
#include "slot.h"

#include "../proto/mem.h"
#include "bonds.h"

#define BUCKETS_MIN 64

bool slots_init(struct slots *slots, const struct hash_seed *seed)
{
	*slots = (struct slots){.seed = *seed, .bucket_count = BUCKETS_MIN};
	slots->bucket = mem_zero(BUCKETS_MIN * sizeof(struct slot *));
	return slots->bucket != NULL;
}

void slots_release(struct slots *slots)
{
	struct slot *slot;

	while ((slot = slots->spare) != NULL) {
		slots->spare = slot->chain;
		mem_free(slot);
	}
	mem_free(slots->bucket);
	slots->bucket = NULL;
}

static struct slot **bucket_of(struct slots *slots, uint64_t hash)
{
	return &slots->bucket[hash & (slots->bucket_count - 1)];
}

/* Twice the buckets. Without memory the chains grow longer, which is slower and nothing worse. */
static void buckets_grow(struct slots *slots)
{
	size_t old_count = slots->bucket_count;
	struct slot **old = slots->bucket;
	struct slot **fresh = mem_zero(2 * old_count * sizeof(struct slot *));

	if (fresh == NULL)
		return;
	slots->bucket = fresh;
	slots->bucket_count = 2 * old_count;
	for (size_t i = 0; i < old_count; i++) {
		struct slot *slot = old[i];

		while (slot != NULL) {
			struct slot *next = slot->chain;
			struct slot **bucket = bucket_of(slots, slot->hash);

			slot->chain = *bucket;
			*bucket = slot;
			slot = next;
		}
	}
	mem_free(old);
}

static struct slice key_of(const struct slot *slot)
{
	if (slot->work.first != NULL)
		return slot->work.first->key;
	return slot->waiters.first != NULL ? slot->waiters.first->key : slot->bonds->key;
}

static struct slot *find(struct slots *slots, struct slice key, uint64_t hash)
{
	struct slot *slot = *bucket_of(slots, hash);

	while (slot != NULL && !(slot->hash == hash && slice_equal(key_of(slot), key)))
		slot = slot->chain;
	return slot;
}

struct slot *slots_find(struct slots *slots, struct slice key)
{
	return slots->count == 0 ? NULL : find(slots, key, hash_slice(&slots->seed, key));
}

struct slot *slots_get(struct slots *slots, struct slice key)
{
	uint64_t hash = hash_slice(&slots->seed, key);
	struct slot *slot = find(slots, key, hash);
	struct slot **bucket;

	if (slot != NULL)
		return slot;
	slot = slots->spare;
	if (slot != NULL)
		slots->spare = slot->chain;
	else if ((slot = mem_alloc(sizeof *slot)) == NULL)
		return NULL;
	if (slots->count == slots->bucket_count)
		buckets_grow(slots);
	bucket = bucket_of(slots, hash);
	*slot = (struct slot){.chain = *bucket, .hash = hash};
	alarm_init(&slot->poll, slot);
	*bucket = slot;
	slots->count++;
	return slot;
}

void slots_remove(struct slots *slots, struct slot *slot)
{
	struct slot **link = bucket_of(slots, slot->hash);

	while (*link != slot)
		link = &(*link)->chain;
	*link = slot->chain;
	slot->chain = slots->spare;
	slots->spare = slot;
	slots->count--;
}

bool slot_empty(const struct slot *slot)
{
	return slot->work.first == NULL && slot->waiters.first == NULL && slot->bonds == NULL;
}

/* ---- queues ---- */

void queue_append(struct op_queue *queue, struct op *op)
{
	op->next = NULL;
	if (queue->last != NULL)
		queue->last->next = op;
	else
		queue->first = op;
	queue->last = op;
}

void queue_prepend(struct op_queue *queue, struct op *op)
{
	op->next = queue->first;
	queue->first = op;
	if (queue->last == NULL)
		queue->last = op;
}

void queue_insert(struct op_queue *queue, struct op *before, struct op *op)
{
	op->next = before->next;
	before->next = op;
	if (queue->last == before)
		queue->last = op;
}

struct op *queue_take(struct op_queue *queue)
{
	struct op *op = queue->first;

	if (op == NULL)
		return NULL;
	queue->first = op->next;
	if (queue->first == NULL)
		queue->last = NULL;
	return op;
}

void queue_unlink(struct op_queue *queue, struct op *op)
{
	struct op *before = queue->first;

	if (before == op) {
		queue_take(queue);
		return;
	}
	while (before->next != op)
		before = before->next;
	before->next = op->next;
	if (queue->last == op)
		queue->last = before;
}
