/*
 * waiters.c - calls that wait: CLAIM wait= for a key that somebody holds, STATUS wait= for one that is live.
 *
 * A call that was answered HELD is parked in its key's slot, in the order of arrival, until
 *   - an op of this key goes through this daemon and leaves it free: the first waiter goes next, before anybody else;
 *   - it leaves it settled or unknown: all go at once, since none of them can win;
 *   - the first waiter asks the store again by itself, at growing distances and never later than the lease's end: whoever
 *     settled it may have done so through another daemon;
 *   - its wait is over: it asks once more and is answered, whatever the answer is;
 *   - its client has gone (engine_leave). One that is gone before its connection has told is passed over.
 * A store that refuses, or leaves a call in doubt, is waited out as well: the call keeps its token, so that a claim which was made
 * after all is its own.
 */
#include "bonds.h"
#include "engine_impl.h"

#define DISTANCE_MIN_MS 50
#define DISTANCE_MAX_MS 1000

/* 3/4 to 5/4 of it, so that the daemons on one store do not ask in step. */
static int64_t jitter(struct engine *engine, int64_t ms)
{
	engine->random ^= engine->random << 13;
	engine->random ^= engine->random >> 7;
	engine->random ^= engine->random << 17;
	return ms - ms / 4 + (int64_t)(engine->random % (uint64_t)(ms / 2 + 1));
}

static bool live(const struct op *op)
{
	return op->record.state == STATE_CLAIMED && !record_lapsed(&op->record, op->now);
}

/* The answer is not yet the one that it waits for. */
static bool still_waiting(const struct op *op)
{
	if (op->result == OP_REFUSED || op->result == OP_UNCERTAIN)
		return !op->unreadable;
	return op->ask.verb == ASK_CLAIM ? op->verdict.word == WORD_HELD : live(op);
}

/* Its place in the order of arrival. A newcomer comes last, one that asked again in vain first. */
static void take_seat(struct op_queue *waiters, struct op *op)
{
	struct op *before = waiters->first;

	if (before == NULL || waiters->last->ticket < op->ticket) {
		queue_append(waiters, op);
	} else if (before->ticket > op->ticket) {
		queue_prepend(waiters, op);
	} else {
		while (before->next->ticket < op->ticket)
			before = before->next;
		queue_insert(waiters, before, op);
	}
}

/* Not before the distance is over, not after the lease (or `earliest`) is. */
static void set_poll(struct engine *engine, struct slot *slot, const struct op *answered, int64_t now_ms)
{
	int64_t in_ms, left_ms = 0;

	slot->distance_ms = slot->distance_ms == 0 ? DISTANCE_MIN_MS : 2 * slot->distance_ms;
	if (slot->distance_ms > DISTANCE_MAX_MS)
		slot->distance_ms = DISTANCE_MAX_MS;
	in_ms = jitter(engine, slot->distance_ms);
	if (answered->result == OP_APPLIED || answered->result == OP_LOST)
		left_ms = record_left_ms(&answered->record, answered->now);
	if (left_ms > 0 && left_ms < in_ms)
		in_ms = left_ms;
	/* Without memory the poll is not set: what goes through this daemon still wakes them, and the end of their wait. */
	alarm_set(&engine->polls, &slot->poll, now_ms + in_ms);
}

bool waiters_park(struct engine *engine, struct slot *slot, struct op *op, int64_t now_ms)
{
	if (op->wait_until_ms <= now_ms || op->late || engine->abandoning || !still_waiting(op))
		return false;
	if (!alarm_set(&engine->waits, &op->wait, op->wait_until_ms))
		return false;
	op->doubted |= op->result == OP_UNCERTAIN;
	take_seat(&slot->waiters, op);
	op->slot = slot;
	op->parked = true;
	engine->waiting++;
	if (slot->waiters.first == op || slot->poll.place == ALARM_OFF) /* those before it are passed over */
		set_poll(engine, slot, op, now_ms);
	op_release(op);
	return true;
}

void waiters_unpark(struct engine *engine, struct op *op)
{
	struct slot *slot = op->slot;

	queue_unlink(&slot->waiters, op);
	alarm_clear(&engine->waits, &op->wait);
	op->parked = false;
	engine->waiting--;
	if (slot->waiters.first == NULL)
		alarm_clear(&engine->polls, &slot->poll);
}

static void put_to_work(struct engine *engine, struct op *op, bool in_front, int64_t now_ms)
{
	waiters_unpark(engine, op);
	engine_work(engine, op->slot, op, in_front, now_ms);
}

static bool gone(const struct engine *engine, const struct op *op)
{
	return engine->hooks.gone(engine->hooks.arg, op);
}

void waiters_poll(struct engine *engine, struct slot *slot, int64_t now_ms)
{
	struct op *op = slot->waiters.first;

	while (op != NULL && gone(engine, op))
		op = op->next;
	if (op != NULL)
		put_to_work(engine, op, true, now_ms);
}

/* All of them, in their order: those who came later are put to work first, each in front of the others. */
static void wake_all(struct engine *engine, struct slot *slot, bool only_lookers, int64_t now_ms)
{
	struct op_queue awake = {NULL, NULL};
	struct op *op, *next;

	for (op = slot->waiters.first; op != NULL; op = next) {
		next = op->next;
		if (only_lookers && op->ask.verb == ASK_CLAIM)
			continue;
		waiters_unpark(engine, op);
		queue_prepend(&awake, op);
	}
	while ((op = queue_take(&awake)) != NULL)
		engine_work(engine, slot, op, true, now_ms);
}

static struct op *first_claimer(const struct engine *engine, const struct slot *slot)
{
	struct op *op = slot->waiters.first;

	while (op != NULL && (op->ask.verb != ASK_CLAIM || gone(engine, op)))
		op = op->next;
	return op;
}

void waiters_wake(struct engine *engine, struct slot *slot, const struct op *answered, int64_t now_ms)
{
	enum state shown = record_shown(&answered->record, answered->now);
	struct op *op;

	if (slot->waiters.first == NULL)
		return;
	if (slot->poll.place == ALARM_OFF) /* who asked for the others is served now */
		set_poll(engine, slot, answered, now_ms);
	if ((answered->result != OP_APPLIED && answered->result != OP_LOST) || live(answered))
		return;
	slot->distance_ms = 0;
	if (shown == STATE_DONE || shown == STATE_FAILED || shown == STATE_UNKNOWN) {
		wake_all(engine, slot, false, now_ms);
		return;
	}
	/* Free, gone or lapsed: one of them wins. Who only looks sees that nobody holds it. */
	if (!(shown == STATE_FREE && answered->record.earliest > answered->now) &&
	    (op = first_claimer(engine, slot)) != NULL)
		put_to_work(engine, op, true, now_ms);
	wake_all(engine, slot, true, now_ms);
}

void waiters_tick(struct engine *engine, int64_t now_ms)
{
	struct alarm *alarm;

	while ((alarm = alarms_first(&engine->waits)) != NULL && alarm->at_ms <= now_ms) {
		struct op *op = alarm->owner;

		op->wait_until_ms = 0;
		if (gone(engine, op))
			alarm_clear(&engine->waits, alarm);
		else
			put_to_work(engine, op, false, now_ms);
	}
	while ((alarm = alarms_first(&engine->polls)) != NULL && alarm->at_ms <= now_ms) {
		struct slot *slot = alarm->owner;

		alarm_clear(&engine->polls, alarm);
		/* While another op of this key is under way its answer tells the same. */
		if (slot->work.first == NULL)
			waiters_poll(engine, slot, now_ms);
		else
			alarm_set(&engine->polls, alarm, now_ms + DISTANCE_MIN_MS);
	}
}

int64_t waiters_next(const struct engine *engine)
{
	const struct alarm *wait = alarms_first(&engine->waits), *poll = alarms_first(&engine->polls);
	int64_t next_ms = wait != NULL ? wait->at_ms : INT64_MAX;

	return poll != NULL && poll->at_ms < next_ms ? poll->at_ms : next_ms;
}

void waiters_abandon(struct engine *engine)
{
	struct alarm *alarm;

	while ((alarm = alarms_first(&engine->waits)) != NULL) {
		struct op *op = alarm->owner;
		struct slot *slot = op->slot;

		waiters_unpark(engine, op);
		bonds_unprepare(engine, op);
		engine_tidy(engine, slot);
		op_refuse(op, ERR_DRAINING, "the daemon is leaving; nothing was done");
		engine_answer(engine, op);
	}
}
