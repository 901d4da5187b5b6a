/*
 * engine.c - order per key and deadlines; see engine.h.
 *
 * A key that has an op under way has a slot in a hash table, with the ops in their order; the head of the queue is the one the
 * store has (or a settlement that is kept). The slot goes when its queue is empty, so the table is as large as the work at hand.
 *
 *     submit: no slot -> new slot, to the store.  slot -> behind the others.
 *     done:   answer it, the next one goes to the store.
 *     tick:   waiting too long -> refused, surely not done.  with the store too long -> late; the place stays taken
 *             until the store lets go, since what it does to the key is not known before.
 *
 * A settlement that the store could not take stays at the head of its queue, with all others of its key behind it, and goes to the
 * store again and again; see kept.h.
 *
 * Every op has the same time limit, so the list by deadline is the list by submission. An undo has none: it waits until
 * the store has had it.
 */
#include "engine.h"

#include "../proto/mem.h"

#include <assert.h>
#include <string.h>

#define BUCKETS_MIN 64

/* One key with work under way. */
struct slot {
	struct slot *chain; /* next in the bucket */
	uint64_t hash;
	struct op *head, *tail; /* in order; the store has the head */
};

struct engine {
	struct engine_hooks hooks;
	struct engine_limits limits;
	struct hash_seed seed;
	struct slot **bucket; /* bucket_count is a power of two, at least as many as slots */
	size_t bucket_count, slot_count;
	struct slot *spare; /* slots to use again, linked by chain */
	struct op *due_first, *due_last;
	struct kept kept;
	bool abandoning; /* nothing more is kept */
	size_t pending;
	uint64_t undone;
};

struct engine *engine_new(const struct engine_hooks *hooks, const struct engine_limits *limits,
			  const struct hash_seed *seed)
{
	struct engine *engine = mem_zero(sizeof *engine);

	if (engine == NULL)
		return NULL;
	engine->hooks = *hooks;
	engine->limits = *limits;
	engine->seed = *seed;
	engine->bucket_count = BUCKETS_MIN;
	engine->bucket = mem_zero(BUCKETS_MIN * sizeof(struct slot *));
	if (engine->bucket == NULL) {
		mem_free(engine);
		return NULL;
	}
	return engine;
}

void engine_free(struct engine *engine)
{
	struct slot *slot;

	assert(engine->pending == 0);
	while ((slot = engine->spare) != NULL) {
		engine->spare = slot->chain;
		mem_free(slot);
	}
	mem_free(engine->bucket);
	mem_free(engine);
}

size_t engine_pending(const struct engine *engine)
{
	return engine->pending;
}

uint64_t engine_undone(const struct engine *engine)
{
	return engine->undone;
}

/* ---- slots ---- */

static struct slot **bucket_of(struct engine *engine, uint64_t hash)
{
	return &engine->bucket[hash & (engine->bucket_count - 1)];
}

/* Twice the buckets. Without memory the chains grow longer, which is slower and nothing worse. */
static void buckets_grow(struct engine *engine)
{
	size_t old_count = engine->bucket_count;
	struct slot **old = engine->bucket;
	struct slot **fresh = mem_zero(2 * old_count * sizeof(struct slot *));

	if (fresh == NULL)
		return;
	engine->bucket = fresh;
	engine->bucket_count = 2 * old_count;
	for (size_t i = 0; i < old_count; i++) {
		struct slot *slot = old[i];

		while (slot != NULL) {
			struct slot *next = slot->chain;
			struct slot **bucket = bucket_of(engine, slot->hash);

			slot->chain = *bucket;
			*bucket = slot;
			slot = next;
		}
	}
	mem_free(old);
}

static struct slot *slot_find(struct engine *engine, struct slice key, uint64_t hash)
{
	struct slot *slot = *bucket_of(engine, hash);

	while (slot != NULL && !(slot->hash == hash && slice_equal(slot->head->key, key)))
		slot = slot->chain;
	return slot;
}

/* A slot for the key of `op`, which becomes its head. NULL: no memory. */
static struct slot *slot_add(struct engine *engine, struct op *op, uint64_t hash)
{
	struct slot *slot = engine->spare;
	struct slot **bucket;

	if (slot != NULL)
		engine->spare = slot->chain;
	else if ((slot = mem_alloc(sizeof *slot)) == NULL)
		return NULL;
	if (engine->slot_count == engine->bucket_count)
		buckets_grow(engine);
	bucket = bucket_of(engine, hash);
	*slot = (struct slot){.chain = *bucket, .hash = hash, .head = op, .tail = op};
	*bucket = slot;
	engine->slot_count++;
	return slot;
}

static void slot_remove(struct engine *engine, struct slot *slot)
{
	struct slot **link = bucket_of(engine, slot->hash);

	while (*link != slot)
		link = &(*link)->chain;
	*link = slot->chain;
	slot->chain = engine->spare;
	engine->spare = slot;
	engine->slot_count--;
}

/* ---- the list by deadline ---- */

static void due_add(struct engine *engine, struct op *op, int64_t now_ms)
{
	if (op->own) /* nobody waits for it */
		return;
	op->deadline_ms = now_ms + engine->limits.timeout_ms;
	op->due_next = NULL;
	op->due_prev = engine->due_last;
	if (engine->due_last != NULL)
		engine->due_last->due_next = op;
	else
		engine->due_first = op;
	engine->due_last = op;
}

static void due_remove(struct engine *engine, struct op *op)
{
	if (op->own)
		return;
	if (op->due_prev != NULL)
		op->due_prev->due_next = op->due_next;
	else
		engine->due_first = op->due_next;
	if (op->due_next != NULL)
		op->due_next->due_prev = op->due_prev;
	else
		engine->due_last = op->due_prev;
}

/* ---- the way through ---- */

static void send_to_store(struct engine *engine, struct op *op)
{
	op->sent = true;
	engine->hooks.to_store(engine->hooks.arg, op);
}

bool engine_submit(struct engine *engine, struct op *op, int64_t now_ms)
{
	uint64_t hash;
	struct slot *slot;

	op->next = NULL;
	op->slot = NULL;
	op->sent = false;
	op->late = false;
	op->kept = false;
	if (op->kind != OP_RECORD) {
		due_add(engine, op, now_ms);
		engine->pending++;
		send_to_store(engine, op);
		return true;
	}
	hash = hash_slice(&engine->seed, op->key);
	slot = slot_find(engine, op->key, hash);
	if (slot == NULL) {
		slot = slot_add(engine, op, hash);
		if (slot == NULL)
			return false;
	} else {
		slot->tail->next = op;
		slot->tail = op;
	}
	op->slot = slot;
	due_add(engine, op, now_ms);
	engine->pending++;
	if (slot->head == op)
		send_to_store(engine, op);
	return true;
}

static void give_answer(struct engine *engine, struct op *op)
{
	engine->pending--;
	if (op->own) {
		engine->undone += op->result == OP_APPLIED;
		op_release(op);
		mem_free(op);
	} else {
		engine->hooks.answer(engine->hooks.arg, op);
	}
}

/* The head of its key's queue is over: the next one goes to the store. */
static void finish(struct engine *engine, struct op *op)
{
	struct slot *slot = op->slot;

	if (slot != NULL) {
		assert(slot->head == op);
		slot->head = op->next;
		if (slot->head == NULL)
			slot_remove(engine, slot);
		else
			send_to_store(engine, slot->head);
	}
	give_answer(engine, op);
}

/* ---- settlements that are kept ---- */

static int64_t keep_ms(const struct engine *engine, const struct op *op)
{
	int64_t ttl_ms = op->ask.ttl == 0 ? engine->limits.ttl_ms : time_left_ms(op->ask.ttl, 0);

	return ttl_ms > INT64_MAX - engine->limits.lease_ms ? INT64_MAX : ttl_ms + engine->limits.lease_ms;
}

static void tell_late(struct engine *engine, struct op *op)
{
	op->late = true;
	engine->hooks.late(engine->hooks.arg, op);
}

/* True: it stays at the head of its key's queue. */
static bool keep(struct engine *engine, struct op *op, int64_t now_ms)
{
	if (op->kept) {
		if (!engine->abandoning && kept_worth(op))
			return true;
		kept_remove(&engine->kept, op);
		if (!kept_worth(op))
			kept_hurry(&engine->kept, now_ms);
		return false;
	}
	if (!op->late)
		due_remove(engine, op);
	if (engine->abandoning || !kept_worth(op) || !kept_add(&engine->kept, op, now_ms, keep_ms(engine, op)))
		return false;
	if (!op->late)
		tell_late(engine, op);
	return true;
}

static void give_up(struct engine *engine, struct op *op)
{
	kept_remove(&engine->kept, op);
	engine->kept.dropped++;
	op_refuse(op, ERR_STORE, "the store could not take the settlement for as long as it was worth keeping");
	finish(engine, op);
}

/* Sends all kept settlements once more. */
static void retry_kept(struct engine *engine, int64_t now_ms)
{
	struct op *op, *next;

	if (engine->kept.retry_at_ms > now_ms)
		return;
	kept_put_off(&engine->kept, now_ms);
	for (op = engine->kept.first; op != NULL; op = next) {
		next = op->due_next;
		if (op->sent)
			continue;
		if (op->keep_until_ms <= now_ms) {
			give_up(engine, op);
			continue;
		}
		op_release(op);
		send_to_store(engine, op);
	}
}

void engine_abandon(struct engine *engine)
{
	struct op *op, *next;

	engine->abandoning = true;
	for (op = engine->kept.first; op != NULL; op = next) {
		next = op->due_next;
		if (!op->sent)
			give_up(engine, op);
	}
}

const struct kept *engine_kept(const struct engine *engine)
{
	return &engine->kept;
}

void engine_done(struct engine *engine, struct op *op, int64_t now_ms)
{
	op->sent = false;
	if (!keep(engine, op, now_ms))
		finish(engine, op);
}

void engine_undo(struct engine *engine, const struct op *won, int64_t now_ms)
{
	struct slice token = won->ask.token;
	struct op *op = mem_alloc(sizeof *op + won->key.len + token.len);
	char *text;
	struct slot *slot;

	if (op == NULL)
		return;
	text = (char *)(op + 1);
	memcpy(text, won->key.data, won->key.len);
	op_init(op, OP_RECORD, (struct slice){text, won->key.len});
	if (token.len > 0) {
		text += won->key.len;
		memcpy(text, token.data, token.len);
		op->ask.token = (struct slice){text, token.len};
	}
	op->own = true;
	op->ask.verb = ASK_RELEASE;
	op->ask.undo = true;
	op->ask.fence = won->record.fence;
	slot = slot_find(engine, op->key, hash_slice(&engine->seed, op->key));
	if (slot == NULL) {
		if (!engine_submit(engine, op, now_ms)) {
			mem_free(op);
			return;
		}
	} else {
		/* Behind the head, which the store has, and in front of all that wait. */
		op->slot = slot;
		op->next = slot->head->next;
		slot->head->next = op;
		if (slot->tail == slot->head)
			slot->tail = op;
		due_add(engine, op, now_ms);
		engine->pending++;
	}
}

/* Takes an op that waits (not the head) out of its key's queue. */
static void unlink_waiting(struct op *op)
{
	struct slot *slot = op->slot;
	struct op *before = slot->head;

	while (before->next != op)
		before = before->next;
	before->next = op->next;
	if (slot->tail == op)
		slot->tail = before;
}

int64_t engine_tick(struct engine *engine, int64_t now_ms)
{
	struct op *op;
	int64_t next_ms;

	while ((op = engine->due_first) != NULL && op->deadline_ms <= now_ms) {
		due_remove(engine, op);
		if (op->sent) {
			tell_late(engine, op);
		} else {
			unlink_waiting(op);
			op_refuse(op, ERR_BUSY,
				  "waited too long behind others for this key; nothing was done, try again");
			give_answer(engine, op);
		}
	}
	if (engine->kept.count > 0)
		retry_kept(engine, now_ms);
	next_ms = engine->due_first != NULL ? engine->due_first->deadline_ms : INT64_MAX;
	if (engine->kept.count > 0 && engine->kept.retry_at_ms < next_ms)
		next_ms = engine->kept.retry_at_ms;
	return next_ms;
}
