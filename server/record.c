/*
 * record.c - the transition table, row by row.
 *
 * record_apply is called by the stores that decide inside the daemon, by the engine for calls that queue behind an
 * answer, and by the tests as the judge of every other store. It looks at one record and one call, changes the record,
 * and says what to answer. It cannot fail: what must not happen (a fence beyond 2^53-1) is answered with ERR and
 * changes nothing.
 *
 * The rows stand in the order of the table and the first that fits decides. A record always reads the same way whatever
 * its history: a time that its state does not use is 0.
 */
#include "record.h"

/* ---- times ---- */

int64_t time_left_ms(int64_t until, int64_t now)
{
	uint64_t left_us;

	if (until == TIME_NEVER)
		return PROTO_NEVER;
	if (until <= now)
		return 0;
	left_us = (uint64_t)until - (uint64_t)now; /* unsigned: the difference of two int64_t may not fit in one */
	return (int64_t)(left_us / 1000 + (left_us % 1000 != 0));
}

static int64_t time_later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* ---- what a record is at a time ---- */

int64_t record_end(const struct record *rec)
{
	switch (rec->state) {
	case STATE_CLAIMED:
		return rec->lapse == LAPSE_UNKNOWN ? TIME_NEVER : time_add(rec->lease_until, rec->ttl);
	case STATE_DONE:
	case STATE_FAILED:
		return rec->keep_until;
	case STATE_FREE:
		return time_later(time_add(rec->updated, rec->ttl), rec->earliest);
	case STATE_ABSENT:
	case STATE_UNKNOWN:
		break;
	}
	return TIME_NEVER;
}

bool record_gone(const struct record *rec, int64_t now)
{
	int64_t end = record_end(rec);

	return end != TIME_NEVER && now >= end;
}

bool record_sweepable(const struct record *rec, int64_t now)
{
	return record_gone(rec, now) && now > rec->fence;
}

bool record_lapsed(const struct record *rec, int64_t now)
{
	return rec->state == STATE_CLAIMED && now >= rec->lease_until;
}

enum state record_shown(const struct record *rec, int64_t now)
{
	if (record_gone(rec, now))
		return STATE_ABSENT;
	if (record_lapsed(rec, now) && rec->lapse == LAPSE_UNKNOWN)
		return STATE_UNKNOWN;
	return rec->state;
}

int64_t record_left_ms(const struct record *rec, int64_t now)
{
	if (rec->state == STATE_CLAIMED)
		return time_left_ms(rec->lease_until, now);
	if (rec->state == STATE_FREE)
		return time_left_ms(rec->earliest, now);
	return 0;
}

/* ---- pieces of verdicts ---- */

static struct verdict answer(enum word word, enum effect effect)
{
	struct verdict v = {.word = word, .effect = effect};

	return v;
}

static struct verdict answer_err(enum err err, const char *why, int64_t after_ms)
{
	struct verdict v = {.word = WORD_ERR, .err = err, .why = why, .after_ms = after_ms};

	return v;
}

static struct verdict answer_no_fence(void)
{
	return answer_err(ERR_INTERNAL, "the fence of this key is used up", 0);
}

static bool both_differ(struct slice a, struct slice b)
{
	return a.data && b.data && !slice_equal(a, b);
}

static bool token_same(const struct record *rec, const struct ask *ask)
{
	return ask->token.data && rec->token.data && slice_equal(rec->token, ask->token);
}

/* A token that is given must be the claim's. */
static bool token_fits(const struct record *rec, const struct ask *ask)
{
	return !ask->token.data || token_same(rec, ask);
}

/* Ownership is the fence, never the lease. */
static bool owns(const struct record *rec, const struct ask *ask)
{
	return rec->state != STATE_ABSENT && rec->fence == ask->fence && token_fits(rec, ask);
}

static bool settled(const struct record *rec)
{
	return rec->state == STATE_DONE || rec->state == STATE_FAILED;
}

/* What a settlement may still change. */
static bool open_claim(const struct record *rec)
{
	return rec->state == STATE_CLAIMED || rec->state == STATE_UNKNOWN;
}

static void enter(struct record *rec, enum state state, int64_t now)
{
	rec->state = state;
	rec->updated = now;
	rec->lease_until = 0;
	rec->keep_until = 0;
}

static void settle(struct record *rec, const struct ask *ask, enum state state, int64_t now)
{
	int64_t ttl = ask->ttl ? ask->ttl : rec->ttl;

	enter(rec, state, now);
	rec->keep_until = time_later(time_add(now, ttl), rec->earliest);
	rec->result = ask->result;
}

/* Gives the key back under a new fence, so that who had it can settle nothing any more. False: there is none left. */
static bool give_back(struct record *rec, int64_t now)
{
	if (rec->fence >= PROTO_MAX_INTEGER)
		return false;
	enter(rec, STATE_FREE, now);
	rec->fence++;
	rec->fp = SLICE_ABSENT;
	rec->result = SLICE_ABSENT;
	return true;
}

/* ---- CLAIM ---- */

/* Every win but row 2. fp is what the record has from now on. */
static struct verdict win(struct record *rec, const struct ask *ask, int64_t now, enum was was, struct slice fp)
{
	struct verdict v = answer(WORD_WON, EFFECT_WRITE);

	if (now > PROTO_MAX_INTEGER || rec->fence >= PROTO_MAX_INTEGER)
		return answer_no_fence();
	enter(rec, STATE_CLAIMED, now);
	rec->fence = time_later(now, rec->fence + 1);
	rec->attempts += rec->attempts < INT32_MAX;
	rec->lapse = ask->lapse;
	rec->lease_until = time_add(now, ask->lease);
	rec->ttl = ask->ttl;
	rec->earliest = ask->atleast ? time_add(now, ask->atleast) : 0;
	rec->fp = fp;
	rec->token = ask->token;
	rec->owner = ask->owner;
	rec->result = SLICE_ABSENT;
	v.was = was;
	return v;
}

/* Row 1. floor: the fence of the record that is gone, or 0. */
static struct verdict claim_absent(struct record *rec, const struct ask *ask, int64_t now, int64_t floor)
{
	struct record fresh = {.fence = floor, .created = now};
	struct verdict v = win(&fresh, ask, now, WAS_NEW, ask->fp);

	if (v.word == WORD_WON)
		*rec = fresh;
	return v;
}

/* Row 2: a call that was sent again hears of its own win. */
static struct verdict claim_again(struct record *rec, const struct ask *ask, int64_t now)
{
	struct verdict v = answer(WORD_WON, EFFECT_NONE);

	v.was = WAS_OWN;
	if (record_lapsed(rec, now)) {
		rec->lease_until = time_add(now, ask->lease);
		v.effect = EFFECT_WRITE;
	}
	return v;
}

static struct verdict claim_free(struct record *rec, const struct ask *ask, int64_t now)
{
	if (token_same(rec, ask)) /* 3 */
		return answer_err(ERR_BADOPT, "token already used", 0);
	if (now >= rec->earliest) /* 4 */
		return win(rec, ask, now, WAS_FREE, ask->fp);
	return answer(WORD_HELD, EFFECT_NONE); /* 5 */
}

static struct verdict claim_taken(struct record *rec, const struct ask *ask, int64_t now)
{
	if (both_differ(rec->fp, ask->fp)) /* 6 */
		return answer(WORD_MISMATCH, EFFECT_NONE);
	if (rec->state == STATE_DONE) /* 7 */
		return answer(WORD_DONE, EFFECT_NONE);
	if (rec->state == STATE_FAILED) /* 8 */
		return answer(WORD_FAILED, EFFECT_NONE);
	if (rec->state == STATE_UNKNOWN) /* 9 */
		return answer(WORD_UNKNOWN, EFFECT_NONE);
	if (!record_lapsed(rec, now)) /* 10 */
		return answer(WORD_HELD, EFFECT_NONE);
	if (rec->lapse == LAPSE_UNKNOWN) /* 11 */
		return answer(WORD_UNKNOWN, EFFECT_NONE);
	return win(rec, ask, now, WAS_LAPSED, ask->fp.data ? ask->fp : rec->fp); /* 12 */
}

static struct verdict claim(struct record *rec, const struct ask *ask, int64_t now, int64_t floor)
{
	if (rec->state == STATE_ABSENT) /* 1 */
		return claim_absent(rec, ask, now, floor);
	if (rec->state == STATE_CLAIMED && token_same(rec, ask) && !both_differ(rec->fp, ask->fp)) /* 2 */
		return claim_again(rec, ask, now);
	if (rec->state == STATE_FREE) /* 3, 4, 5 */
		return claim_free(rec, ask, now);
	return claim_taken(rec, ask, now); /* 6 to 12 */
}

/* ---- the holder's verbs: the fence decides, never the lease ---- */

/* COMPLETE and FAIL. */
static struct verdict settle_own(struct record *rec, const struct ask *ask, int64_t now, enum state as)
{
	if (!owns(rec, ask))
		return answer(WORD_STALE, EFFECT_NONE);
	if (rec->state == as) /* idempotent: the first result and keep_until stay */
		return answer(WORD_OK, EFFECT_NONE);
	if (!open_claim(rec))
		return answer(WORD_STALE, EFFECT_NONE);
	settle(rec, ask, as, now);
	return answer(WORD_OK, EFFECT_WRITE);
}

static struct verdict release(struct record *rec, const struct ask *ask, int64_t now)
{
	bool repeated = rec->state == STATE_FREE && rec->fence - 1 == ask->fence && token_fits(rec, ask);

	if (repeated)
		return answer(WORD_OK, EFFECT_NONE);
	if (rec->state == STATE_FREE || !owns(rec, ask))
		return answer(WORD_STALE, EFFECT_NONE);
	if (settled(rec))
		return answer(WORD_OK, EFFECT_NONE);
	if (!give_back(rec, now))
		return answer_no_fence();
	if (ask->undo)
		rec->earliest = 0;
	return answer(WORD_OK, EFFECT_WRITE);
}

static struct verdict renew(struct record *rec, const struct ask *ask, int64_t now)
{
	int64_t until = time_add(now, ask->lease);

	if (rec->state != STATE_CLAIMED || !owns(rec, ask))
		return answer(WORD_STALE, EFFECT_NONE);
	if (until <= rec->lease_until)
		return answer(WORD_OK, EFFECT_NONE);
	rec->lease_until = until;
	return answer(WORD_OK, EFFECT_WRITE);
}

static struct verdict doubt(struct record *rec, const struct ask *ask, int64_t now)
{
	if (rec->state == STATE_FREE || !owns(rec, ask))
		return answer(WORD_STALE, EFFECT_NONE);
	if (rec->state != STATE_CLAIMED)
		return answer(WORD_OK, EFFECT_NONE);
	enter(rec, STATE_UNKNOWN, now);
	return answer(WORD_OK, EFFECT_WRITE);
}

static struct verdict check(const struct record *rec, const struct ask *ask, int64_t now)
{
	if (rec->state != STATE_CLAIMED || !owns(rec, ask) || record_lapsed(rec, now))
		return answer(WORD_STALE, EFFECT_NONE);
	return answer(WORD_OK, EFFECT_NONE);
}

/* ---- the operator's verbs ---- */

/* What CLAIM would say of a record that nobody may take now; STALE where it would be taken. */
static enum word standing(const struct record *rec, int64_t now)
{
	switch (record_shown(rec, now)) {
	case STATE_CLAIMED:
		return WORD_HELD;
	case STATE_DONE:
		return WORD_DONE;
	case STATE_FAILED:
		return WORD_FAILED;
	case STATE_UNKNOWN:
		return WORD_UNKNOWN;
	case STATE_ABSENT:
	case STATE_FREE:
		break;
	}
	return WORD_STALE;
}

static struct verdict resolve(struct record *rec, const struct ask *ask, int64_t now)
{
	bool undecided = rec->state == STATE_UNKNOWN || record_lapsed(rec, now);

	if (rec->state == STATE_ABSENT)
		return answer(WORD_NOTFOUND, EFFECT_NONE);
	if (ask->fence && ask->fence != rec->fence)
		return answer(WORD_STALE, EFFECT_NONE);
	if (rec->state == ask->as)
		return answer(WORD_OK, EFFECT_NONE);
	if (!undecided && !ask->force)
		return answer(standing(rec, now), EFFECT_NONE);
	if (ask->as == STATE_FREE)
		return give_back(rec, now) ? answer(WORD_OK, EFFECT_WRITE) : answer_no_fence();
	settle(rec, ask, ask->as, now);
	return answer(WORD_OK, EFFECT_WRITE);
}

static struct verdict forget(struct record *rec, const struct ask *ask, int64_t now)
{
	enum state shown = record_shown(rec, now);
	bool live = shown == STATE_CLAIMED && !record_lapsed(rec, now);

	if (shown == STATE_ABSENT)
		return answer(WORD_NOTFOUND, EFFECT_NONE);
	if (ask->fence && ask->fence != rec->fence)
		return answer(WORD_STALE, EFFECT_NONE);
	if (now <= rec->fence) /* or the next win could be given the same fence again */
		return answer_err(ERR_BUSY, "the clock of the store is not past the fence of this key", 1);
	if ((live || shown == STATE_UNKNOWN) && !ask->force)
		return answer(standing(rec, now), EFFECT_NONE);
	*rec = (struct record){.state = STATE_ABSENT, .fence = rec->fence}; /* it tells which claim that was */
	return answer(WORD_OK, EFFECT_DELETE);
}

/* ---- all of them ---- */

struct verdict record_apply(struct record *rec, const struct ask *ask, int64_t now)
{
	int64_t floor = rec->state == STATE_ABSENT ? 0 : rec->fence;

	if (rec->state == STATE_ABSENT || record_gone(rec, now))
		*rec = (struct record){.state = STATE_ABSENT}; /* no fence: every holder's verb is STALE */
	switch (ask->verb) {
	case ASK_CLAIM:
		return claim(rec, ask, now, floor);
	case ASK_RENEW:
		return renew(rec, ask, now);
	case ASK_COMPLETE:
		return settle_own(rec, ask, now, STATE_DONE);
	case ASK_FAIL:
		return settle_own(rec, ask, now, STATE_FAILED);
	case ASK_RELEASE:
		return release(rec, ask, now);
	case ASK_DOUBT:
		return doubt(rec, ask, now);
	case ASK_CHECK:
		return check(rec, ask, now);
	case ASK_STATUS:
		return answer(rec->state == STATE_ABSENT ? WORD_NOTFOUND : WORD_STATUS, EFFECT_NONE);
	case ASK_RESOLVE:
		return resolve(rec, ask, now);
	case ASK_FORGET:
		return forget(rec, ask, now);
	}
	return answer_err(ERR_INTERNAL, "no such call", 0);
}

/* ---- names ---- */

struct slice state_name(enum state state)
{
	switch (state) {
	case STATE_ABSENT:
		break;
	case STATE_CLAIMED:
		return SLICE_OF("claimed");
	case STATE_DONE:
		return SLICE_OF("done");
	case STATE_FAILED:
		return SLICE_OF("failed");
	case STATE_UNKNOWN:
		return SLICE_OF("unknown");
	case STATE_FREE:
		return SLICE_OF("free");
	}
	return SLICE_OF("absent");
}

struct slice was_name(enum was was)
{
	switch (was) {
	case WAS_NONE:
		break;
	case WAS_NEW:
		return SLICE_OF("new");
	case WAS_OWN:
		return SLICE_OF("own");
	case WAS_FREE:
		return SLICE_OF("free");
	case WAS_LAPSED:
		return SLICE_OF("lapsed");
	}
	return SLICE_ABSENT;
}

struct slice lapse_name(enum lapse lapse)
{
	return lapse == LAPSE_UNKNOWN ? SLICE_OF("unknown") : SLICE_OF("reclaim");
}
