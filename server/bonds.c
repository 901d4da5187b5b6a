/*
 * bonds.c - see bonds.h.
 *
 * A hold renews with ops of the engine's own, when a third of the lease is over, and again at short distances where that fails.
 * Every answer about the key says whether the claim is still there: one that shows another fence or state ends its bonds at once.
 * When two thirds of the lease are over without a confirmation, who wants to be told is told that it is in doubt, while there
 * is time to stop the work, and the hold ends. Where nobody wants to be told, it goes on trying: renewing a lease that has
 * lapsed is right as long as nobody took the key.
 */
#include "bonds.h"

#include <string.h>

#include "../proto/mem.h"
#include "engine_impl.h"

#define RETRY_MIN_MS 50
#define RETRY_MAX_MS 1000

/* ---- lists ---- */

static void link_bond(struct slot *slot, struct bond *bond)
{
	struct holder *holder = bond->holder;

	bond->slot = slot;
	bond->beside = slot->bonds;
	slot->bonds = bond;
	bond->prev = NULL;
	bond->next = holder->first;
	if (holder->first != NULL)
		holder->first->prev = bond;
	holder->first = bond;
}

static void free_bond(struct engine *engine, struct bond *bond)
{
	alarm_clear(&engine->renewals, &bond->due);
	mem_free(bond);
}

/* Its slot may be empty then. */
static void end_bond(struct engine *engine, struct bond *bond)
{
	struct bond **link = &bond->slot->bonds;

	while (*link != bond)
		link = &(*link)->beside;
	*link = bond->beside;
	if (bond->prev != NULL)
		bond->prev->next = bond->next;
	else
		bond->holder->first = bond->next;
	if (bond->next != NULL)
		bond->next->prev = bond->prev;
	free_bond(engine, bond);
}

static bool binds_nothing(const struct bond *bond)
{
	return bond->hold_until_ms == 0 && !bond->notify && bond->drop == DROP_KEEP;
}

/* ---- what is told ---- */

static void tell(struct engine *engine, const struct bond *bond, const struct notice *what)
{
	struct notice notice = *what;

	notice.key = bond->key;
	notice.fence = bond->fence;
	notice.wanted = bond->notify;
	engine->hooks.told(engine->hooks.arg, bond->holder, &notice);
}

static void tell_lost(struct engine *engine, const struct bond *bond, enum lost_cause cause)
{
	tell(engine, bond, &(struct notice){.kind = NOTICE_LOST, .cause = cause});
}

/* ---- renewing ---- */

/* A third of the lease after the renewal was asked for: a third is left then. Sooner where less was left, but not at once. */
static int64_t doubt_at_ms(const struct bond *bond)
{
	int64_t at_ms = bond->asked_ms + bond->lease_ms / 3;

	if (at_ms > bond->sure_until_ms)
		at_ms = bond->sure_until_ms;
	return at_ms < bond->asked_ms + RETRY_MIN_MS ? bond->asked_ms + RETRY_MIN_MS : at_ms;
}

/* A renewal was asked for and not confirmed yet, and somebody wants to know. */
static bool doubtful(const struct bond *held)
{
	const struct bond *bond = held->slot->bonds;

	while (bond != NULL && !bond->notify)
		bond = bond->beside;
	return held->asked_ms != 0 && bond != NULL;
}

static void arm(struct engine *engine, struct bond *bond)
{
	int64_t at_ms = bond->sure_until_ms - 2 * (bond->lease_ms / 3);

	if (bond->hold_until_ms <= bond->sure_until_ms) /* the last renewal reached its end */
		bond->hold_until_ms = 0;
	if (at_ms < bond->retry_at_ms)
		at_ms = bond->retry_at_ms;
	if (bond->hold_until_ms == 0 || bond->renewing)
		at_ms = INT64_MAX;
	if (bond->hold_until_ms != 0 && doubtful(bond) && doubt_at_ms(bond) < at_ms)
		at_ms = doubt_at_ms(bond);
	alarm_set(&engine->renewals, &bond->due, at_ms);
}

static void renewal_failed(struct bond *bond, int64_t now_ms)
{
	int64_t in_ms = bond->lease_ms / 12;

	bond->renewing = false;
	if (in_ms > RETRY_MAX_MS)
		in_ms = RETRY_MAX_MS;
	bond->retry_at_ms = now_ms + (in_ms < RETRY_MIN_MS ? RETRY_MIN_MS : in_ms);
}

static void renew(struct engine *engine, struct bond *bond, int64_t now_ms)
{
	int64_t left_ms = bond->hold_until_ms - now_ms;
	struct ask ask = {.verb = ASK_RENEW, .fence = bond->fence};

	ask.lease = (left_ms < bond->lease_ms ? left_ms : bond->lease_ms) * 1000;
	bond->renewing = true;
	if (bond->asked_ms == 0)
		bond->asked_ms = now_ms;
	if (!engine_ask_own(engine, bond->key, &ask, now_ms))
		renewal_failed(bond, now_ms);
}

/* No renewal was confirmed for too long: all who listen are told, and the hold is over. What `drop` says stays. */
static void doubt(struct engine *engine, struct slot *slot)
{
	struct bond *bond, *beside;

	for (bond = slot->bonds; bond != NULL; bond = beside) {
		beside = bond->beside;
		tell_lost(engine, bond, LOST_DOUBT);
		bond->notify = false;
		bond->hold_until_ms = 0;
		arm(engine, bond);
		if (binds_nothing(bond))
			end_bond(engine, bond);
	}
	engine_tidy(engine, slot);
}

static void due(struct engine *engine, struct bond *bond, int64_t now_ms)
{
	if (doubtful(bond) && now_ms >= doubt_at_ms(bond)) {
		doubt(engine, bond->slot);
		return;
	}
	if (bond->hold_until_ms <= now_ms)
		bond->hold_until_ms = 0;
	else
		renew(engine, bond, now_ms);
	arm(engine, bond);
	if (binds_nothing(bond)) {
		struct slot *slot = bond->slot;

		end_bond(engine, bond);
		engine_tidy(engine, slot);
	}
}

void bonds_tick(struct engine *engine, int64_t now_ms)
{
	struct alarm *alarm;

	while ((alarm = alarms_first(&engine->renewals)) != NULL && alarm->at_ms <= now_ms)
		due(engine, alarm->owner, now_ms);
}

int64_t bonds_next(const struct engine *engine)
{
	const struct alarm *alarm = alarms_first(&engine->renewals);

	return alarm != NULL ? alarm->at_ms : INT64_MAX;
}

/* ---- tying ---- */

bool bonds_prepare(struct engine *engine, struct op *op)
{
	const struct bind *bind = &op->bind;
	struct bond *bond;
	char *key;

	op->bond = NULL;
	if (bind->holder == NULL || (bind->hold_ms == 0 && bind->drop == DROP_KEEP && !bind->notify))
		return true;
	bond = mem_zero(sizeof *bond + op->key.len);
	if (bond == NULL)
		return false;
	alarm_init(&bond->due, bond);
	if (!alarm_set(&engine->renewals, &bond->due, INT64_MAX)) {
		mem_free(bond);
		return false;
	}
	key = (char *)(bond + 1);
	memcpy(key, op->key.data, op->key.len);
	bond->key = (struct slice){key, op->key.len};
	bond->holder = bind->holder;
	bond->drop = bind->drop;
	bond->notify = bind->notify;
	bond->lease_ms = op->ask.lease / 1000;
	op->bond = bond;
	return true;
}

void bonds_unprepare(struct engine *engine, struct op *op)
{
	if (op->bond != NULL)
		free_bond(engine, op->bond);
	op->bond = NULL;
}

/* Hold and notify move to the connection that asked last; a connection has one bond to a claim. */
static void take_over(struct engine *engine, struct slot *slot, struct bond *fresh)
{
	struct bond *old, *beside;

	for (old = slot->bonds; old != NULL; old = beside) {
		beside = old->beside;
		if (fresh->holder == old->holder) {
			if (fresh->hold_until_ms == 0) {
				fresh->hold_until_ms = old->hold_until_ms;
				fresh->lease_ms = old->lease_ms;
			}
			fresh->notify |= old->notify;
			fresh->drop = old->drop;
			end_bond(engine, old);
			continue;
		}
		if (fresh->hold_until_ms != 0)
			old->hold_until_ms = 0;
		if (fresh->notify)
			old->notify = false;
		if (binds_nothing(old))
			end_bond(engine, old);
		else
			arm(engine, old);
	}
}

void bonds_tie(struct engine *engine, struct slot *slot, struct op *op)
{
	bool granted = op->verdict.word == WORD_WON || op->verdict.word == WORD_OK;
	/* A win that is re-affirmed, and a renewal, find a hold that has begun before. */
	int64_t age_ms = (op->now - op->record.updated) / 1000;
	struct bond *bond = op->bond;

	if (bond == NULL)
		return;
	if (op->result != OP_APPLIED || !granted) {
		bonds_unprepare(engine, op);
		return;
	}
	op->bond = NULL;
	bond->fence = op->record.fence;
	bond->sure_until_ms = op->sent_ms + record_left_ms(&op->record, op->now);
	if (op->bind.hold_ms > 0)
		bond->hold_until_ms = time_add(op->sent_ms - age_ms, op->bind.hold_ms);
	take_over(engine, slot, bond);
	link_bond(slot, bond);
	arm(engine, bond);
	if (binds_nothing(bond)) /* a hold that is over */
		end_bond(engine, bond);
}

/* ---- seeing ---- */

static bool settles(enum ask_verb verb)
{
	return verb == ASK_COMPLETE || verb == ASK_FAIL || verb == ASK_RELEASE || verb == ASK_DOUBT;
}

void bonds_received(struct slot *slot, const struct op *op)
{
	struct bond *bond;

	if (!settles(op->ask.verb))
		return;
	for (bond = slot->bonds; bond != NULL; bond = bond->beside) {
		if (bond->fence == op->ask.fence)
			bond->drop = DROP_KEEP;
	}
}

/* The record shows that the claim is still there. */
static void confirm(struct engine *engine, struct bond *bond, const struct op *op, int64_t now_ms)
{
	bool renewal = op->own && op->ask.verb == ASK_RENEW;
	int64_t left_ms = record_left_ms(&op->record, op->now);

	if (op->sent_ms + left_ms > bond->sure_until_ms)
		bond->sure_until_ms = op->sent_ms + left_ms;
	bond->retry_at_ms = 0;
	/* A renewal that is still under way is to be confirmed from here on. */
	bond->asked_ms = bond->renewing && !renewal ? now_ms : 0;
	if (renewal) {
		bond->renewing = false;
		tell(engine, bond, &(struct notice){.kind = NOTICE_RENEWED, .left_ms = left_ms});
	}
	arm(engine, bond);
	if (binds_nothing(bond))
		end_bond(engine, bond);
}

/* It shows that the claim is over. */
static void lose(struct engine *engine, struct bond *bond, struct op *op)
{
	bool settled = !op->own && settles(op->ask.verb) && op->verdict.word == WORD_OK;

	if (!settled || op->ask.fence != bond->fence) {
		tell_lost(engine, bond, op->own && op->ask.verb == ASK_RENEW ? LOST_REFUSED : LOST_TAKEN);
		op->told_lost = true;
	}
	end_bond(engine, bond);
}

void bonds_see(struct engine *engine, struct slot *slot, struct op *op, int64_t now_ms)
{
	bool decided = op->result == OP_APPLIED || op->result == OP_LOST;
	struct bond *bond, *beside;

	for (bond = slot->bonds; bond != NULL; bond = beside) {
		beside = bond->beside;
		if (decided && op->record.state == STATE_CLAIMED && op->record.fence == bond->fence) {
			confirm(engine, bond, op, now_ms);
		} else if (decided) {
			lose(engine, bond, op);
		} else if (op->own && op->ask.verb == ASK_RENEW && bond->renewing) {
			renewal_failed(bond, now_ms);
			arm(engine, bond);
		}
	}
}

/* ---- the end ---- */

void bonds_forget(struct engine *engine, struct slot *slot, int64_t fence)
{
	struct bond *bond, *beside;

	for (bond = slot->bonds; bond != NULL; bond = beside) {
		beside = bond->beside;
		if (bond->fence == fence)
			end_bond(engine, bond);
	}
}

void bonds_part(struct engine *engine, struct holder *holder, int64_t now_ms)
{
	struct bond *bond;

	while ((bond = holder->first) != NULL) {
		struct ask ask = {.verb = bond->drop == DROP_RELEASE ? ASK_RELEASE : ASK_DOUBT, .fence = bond->fence};
		struct slot *slot = bond->slot;

		if (bond->sure_until_ms > now_ms) /* for so long it is worth trying */
			ask.lease = (bond->sure_until_ms - now_ms) * 1000;
		/* A daemon that leaves has ended the connection itself: the work may go on. Without memory the lease heals it. */
		if (bond->drop != DROP_KEEP && !engine->abandoning)
			engine_ask_own(engine, bond->key, &ask, now_ms);
		end_bond(engine, bond);
		engine_tidy(engine, slot);
	}
}
