/*
 * engine.c - order per key and deadlines; see engine.h.
 *
 * A key that has an op under way has a slot, with the ops in their order; the head of the queue is the one the
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
 * A call that may wait is parked in its key's slot instead of being answered HELD; see waiters.c. A CLAIM that another one's answer
 * answers as well, or one of an outcome that is remembered, never gets to the store; see collapse.h and done_cache.h.
 *
 * Every op has the same time limit, so the list by deadline is the list by submission. An undo has none: it waits until
 * the store has had it.
 */
#include "engine_impl.h"

#include <assert.h>
#include <string.h>

#include "../proto/mem.h"
#include "bonds.h"
#include "collapse.h"

struct engine *engine_new(const struct engine_hooks *hooks, const struct engine_limits *limits,
			  const struct hash_seed *seed)
{
	struct engine *engine = mem_zero(sizeof *engine);

	if (engine == NULL)
		return NULL;
	engine->hooks = *hooks;
	engine->limits = *limits;
	engine->random = seed->k0 | 1;
	done_cache_init(&engine->done, limits->done_cache, seed);
	if (!slots_init(&engine->slots, seed)) {
		mem_free(engine);
		return NULL;
	}
	return engine;
}

void engine_free(struct engine *engine)
{
	assert(engine->pending == 0);
	slots_release(&engine->slots);
	done_cache_release(&engine->done);
	alarms_release(&engine->polls);
	alarms_release(&engine->waits);
	alarms_release(&engine->renewals);
	mem_free(engine);
}

size_t engine_pending(const struct engine *engine)
{
	return engine->pending;
}

size_t engine_waiting(const struct engine *engine)
{
	return engine->waiting;
}

uint64_t engine_collapsed(const struct engine *engine)
{
	return engine->collapsed;
}

uint64_t engine_recalled(const struct engine *engine)
{
	return engine->done.hits;
}

uint64_t engine_undone(const struct engine *engine)
{
	return engine->undone;
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

static void send_to_store(struct engine *engine, struct op *op, int64_t now_ms)
{
	op->sent = true;
	op->sent_ms = now_ms;
	op->sent_ticket = engine->tickets;
	engine->hooks.to_store(engine->hooks.arg, op);
}

void engine_work(struct engine *engine, struct slot *slot, struct op *op, bool in_front, int64_t now_ms)
{
	struct op *head = slot->work.first;

	op->slot = slot;
	due_add(engine, op, now_ms);
	if (!in_front)
		queue_append(&slot->work, op);
	else if (head == NULL || !(head->sent || head->kept))
		queue_prepend(&slot->work, op);
	else
		queue_insert(&slot->work, head, op);
	/* While an answer is being handed up the next one is not sent: others may still be put in front. */
	if (slot->work.first == op && !slot->answering)
		send_to_store(engine, op, now_ms);
}

void engine_tidy(struct engine *engine, struct slot *slot)
{
	if (slot->answering || !slot_empty(slot))
		return;
	alarm_clear(&engine->polls, &slot->poll);
	slots_remove(&engine->slots, slot);
}

bool engine_submit(struct engine *engine, struct op *op, int64_t now_ms)
{
	struct slot *slot;

	op->next = NULL;
	op->slot = NULL;
	op->sent = op->late = op->kept = op->doubted = op->parked = op->told_lost = false;
	op->ticket = ++engine->tickets;
	op->wait_until_ms = op->wait_ms == 0 ? 0 : op->wait_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + op->wait_ms;
	alarm_init(&op->wait, op);
	if (op->kind != OP_RECORD) {
		engine->pending++;
		due_add(engine, op, now_ms);
		send_to_store(engine, op, now_ms);
		return true;
	}
	if (!bonds_prepare(engine, op))
		return false;
	slot = slots_get(&engine->slots, op->key);
	if (slot == NULL) {
		bonds_unprepare(engine, op);
		return false;
	}
	engine->pending++;
	bonds_received(slot, op);
	/* Who came first is served first: a newcomer does not get past those who wait. */
	if (op->ask.verb == ASK_CLAIM && slot->waiters.first != NULL && slot->work.first == NULL)
		waiters_poll(engine, slot, now_ms);
	engine_work(engine, slot, op, false, now_ms);
	return true;
}

void engine_answer(struct engine *engine, struct op *op)
{
	engine->pending--;
	/* Refused now; but an attempt before this one may have left something. */
	if (op->doubted && op->result == OP_REFUSED)
		op_doubt(op, ERR_TIMEOUT, "an earlier attempt may have been done: repeat it with the same token");
	if (op->own) {
		engine->undone += op->ask.undo && op->result == OP_APPLIED;
		op_release(op);
		mem_free(op);
	} else {
		engine->hooks.answer(engine->hooks.arg, op);
	}
}

/* ---- answers without the store ---- */

bool engine_recall(struct engine *engine, struct op *op, int64_t now_ms)
{
	return op->kind == OP_RECORD && op->ask.verb == ASK_CLAIM && engine->done.count > 0 &&
	       slots_find(&engine->slots, op->key) == NULL && done_cache_answers(&engine->done, op, now_ms);
}

/* Keeps what is remembered true to what an answer shows. */
static void remember(struct engine *engine, const struct op *op)
{
	enum word word = op->verdict.word;

	if (op->ask.verb == ASK_CLAIM && op->result == OP_LOST && (word == WORD_DONE || word == WORD_FAILED))
		done_cache_put(&engine->done, op);
	else /* RESOLVE and FORGET, also when that is in doubt; and whatever shows that somebody else did that */
		done_cache_drop(&engine->done, op->key);
}

/* CLAIMs that come next are answered by what is known of the record, as far as that goes. They are left in *answered. */
static void serve_next(struct engine *engine, struct slot *slot, const struct sight *sight, struct op_queue *answered,
		       int64_t now_ms)
{
	struct op *op;

	while ((op = slot->work.first) != NULL) {
		if (sight_answers(sight, op, now_ms))
			engine->collapsed++;
		else if (op->ask.verb != ASK_CLAIM || !done_cache_answers(&engine->done, op, now_ms))
			return;
		queue_take(&slot->work);
		op->slot = NULL;
		due_remove(engine, op);
		if (waiters_park(engine, slot, op, now_ms))
			continue;
		bonds_tie(engine, slot, op);
		queue_append(answered, op);
	}
}

/* The head of its key's work is over: it is answered or parked, waiters are woken, and the next one goes to the store. */
static void finish(struct engine *engine, struct op *op, int64_t now_ms)
{
	struct slot *slot = op->slot;
	struct op_queue answered = {NULL, NULL};
	struct sight sight;
	bool parked;

	if (slot == NULL) {
		engine_answer(engine, op);
		return;
	}
	assert(slot->work.first == op);
	queue_take(&slot->work);
	op->slot = NULL;
	slot->answering = true;
	if (op->result == OP_APPLIED && op->verdict.effect != EFFECT_NONE)
		engine->hooks.changed(engine->hooks.arg, op);
	bonds_see(engine, slot, op, now_ms);
	remember(engine, op);
	sight_take(&sight, op);
	parked = waiters_park(engine, slot, op, now_ms);
	if (!parked) {
		bonds_tie(engine, slot, op);
		waiters_wake(engine, slot, op, now_ms);
	}
	serve_next(engine, slot, &sight, &answered, now_ms);
	slot->answering = false;
	if (slot->work.first != NULL)
		send_to_store(engine, slot->work.first, now_ms);
	else
		engine_tidy(engine, slot);
	if (!parked)
		engine_answer(engine, op);
	while ((op = queue_take(&answered)) != NULL)
		engine_answer(engine, op);
}

/* ---- settlements that are kept ---- */

static int64_t keep_ms(const struct engine *engine, const struct op *op)
{
	int64_t lease_ms = op->ask.lease / 1000;

	if (op->own) /* afterwards the lease has healed it */
		return lease_ms > engine->limits.lease_ms ? lease_ms : engine->limits.lease_ms;
	int64_t ttl_ms = op->ask.ttl == 0 ? engine->limits.ttl_ms : time_left_ms(op->ask.ttl, 0);

	return ttl_ms > INT64_MAX - engine->limits.lease_ms ? INT64_MAX : ttl_ms + engine->limits.lease_ms;
}

static void tell_late(struct engine *engine, struct op *op)
{
	op->late = true;
	bonds_unprepare(engine, op);
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
	if (!op->late && !op->own)
		tell_late(engine, op);
	return true;
}

/* It will do for this one, unless its token is another, which may be a wrong one. */
static bool settles_as(const struct op *before, const struct op *op)
{
	return before->ask.verb == op->ask.verb && before->ask.fence == op->ask.fence &&
	       (before->ask.token.data == NULL || slice_equal(before->ask.token, op->ask.token));
}

/* The same settlement is on its way before this one: that one counts, also where this is its repetition after ERR timeout. */
static bool settled_before(const struct op *op)
{
	const struct op *before = op->slot->work.first;

	while (before != op && !settles_as(before, op))
		before = before->next;
	return before != op;
}

/* A settlement that others of its key hold up for too long is kept where it stands in the queue. */
static bool keep_unsent(struct engine *engine, struct op *op, int64_t now_ms)
{
	bool settles = op->ask.verb == ASK_COMPLETE || op->ask.verb == ASK_FAIL;

	return settles && !settled_before(op) && kept_add(&engine->kept, op, now_ms, keep_ms(engine, op));
}

static void give_up(struct engine *engine, struct op *op, int64_t now_ms)
{
	kept_remove(&engine->kept, op);
	engine->kept.dropped += !op->own;
	op_refuse(op, ERR_STORE, "the store could not take the settlement for as long as it was worth keeping");
	finish(engine, op, now_ms);
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
		if (op->sent || op->slot->work.first != op)
			continue;
		if (op->keep_until_ms <= now_ms) {
			give_up(engine, op, now_ms);
			continue;
		}
		op_release(op);
		send_to_store(engine, op, now_ms);
	}
}

void engine_abandon(struct engine *engine, int64_t now_ms)
{
	struct op *op, *next;

	engine->abandoning = true;
	waiters_abandon(engine);
	for (op = engine->kept.first; op != NULL; op = next) {
		next = op->due_next;
		if (!op->sent &&
		    op->slot->work.first == op) /* else it goes to the store once more, when its turn comes */
			give_up(engine, op, now_ms);
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
		finish(engine, op, now_ms);
}

bool engine_ask_own(struct engine *engine, struct slice key, const struct ask *ask, int64_t now_ms)
{
	struct op *op = mem_alloc(sizeof *op + key.len + ask->token.len);
	char *text;
	struct slot *slot;

	if (op == NULL)
		return false;
	text = (char *)(op + 1);
	memcpy(text, key.data, key.len);
	op_init(op, OP_RECORD, (struct slice){text, key.len});
	op->own = true;
	op->ask = *ask;
	if (ask->token.len > 0) {
		text += key.len;
		memcpy(text, ask->token.data, ask->token.len);
		op->ask.token = (struct slice){text, ask->token.len};
	}
	slot = slots_get(&engine->slots, op->key);
	if (slot == NULL) {
		mem_free(op);
		return false;
	}
	engine->pending++;
	engine_work(engine, slot, op, true, now_ms);
	return true;
}

void engine_undo(struct engine *engine, const struct op *won, int64_t now_ms)
{
	struct ask ask = {.verb = ASK_RELEASE,
			  .undo = true,
			  .fence = won->record.fence,
			  .lease = won->ask.lease,
			  .token = won->ask.token};
	struct slot *slot = slots_find(&engine->slots, won->key);

	if (slot != NULL) {
		bonds_forget(engine, slot, won->record.fence);
		engine_tidy(engine, slot);
	}
	engine_ask_own(engine, won->key, &ask, now_ms);
}

void engine_part(struct engine *engine, struct holder *holder, int64_t now_ms)
{
	bonds_part(engine, holder, now_ms);
}

void engine_leave(struct engine *engine, struct op *op)
{
	struct slot *slot = op->slot;

	bonds_unprepare(engine, op);
	op->wait_until_ms = 0; /* what the store has is answered, not parked again */
	if (op->parked) {
		waiters_unpark(engine, op);
	} else if (slot != NULL && op->ask.verb == ASK_CLAIM && !op->sent && !op->late) {
		due_remove(engine, op);
		queue_unlink(&slot->work, op);
	} else {
		return;
	}
	engine_tidy(engine, slot);
	op_refuse(op, ERR_BUSY, "its client is gone");
	engine_answer(engine, op);
}

int64_t engine_tick(struct engine *engine, int64_t now_ms)
{
	struct op *op;
	int64_t next_ms, wake_ms;

	while ((op = engine->due_first) != NULL && op->deadline_ms <= now_ms) {
		due_remove(engine, op);
		if (op->sent || keep_unsent(engine, op, now_ms)) {
			tell_late(engine, op);
		} else {
			queue_unlink(&op->slot->work, op);
			bonds_unprepare(engine, op);
			op_refuse(op, ERR_BUSY,
				  "waited too long behind others for this key; nothing was done, try again");
			engine_answer(engine, op);
		}
	}
	bonds_tick(engine, now_ms); /* first: after a standstill a hold renews before somebody is let past it */
	waiters_tick(engine, now_ms);
	if (engine->kept.count > 0)
		retry_kept(engine, now_ms);
	next_ms = engine->due_first != NULL ? engine->due_first->deadline_ms : INT64_MAX;
	if (engine->kept.count > 0 && engine->kept.retry_at_ms < next_ms)
		next_ms = engine->kept.retry_at_ms;
	wake_ms = waiters_next(engine);
	if (wake_ms < next_ms)
		next_ms = wake_ms;
	wake_ms = bonds_next(engine);
	return wake_ms < next_ms ? wake_ms : next_ms;
}
