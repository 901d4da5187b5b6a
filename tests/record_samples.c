/*
 * record_samples.c - see record_samples.h. A comparison that fails ends the test that made it.
 */
#include "record_samples.h"

#include <check.h>

#include "record_same.h"

/* ---- records to start from ---- */

struct record claimed(void)
{
	return (struct record){.state = STATE_CLAIMED,
			       .attempts = 1,
			       .fence = FENCE,
			       .lease_until = NOW + LEASE,
			       .ttl = TTL,
			       .created = FENCE,
			       .updated = FENCE,
			       .fp = FP,
			       .token = TOKEN,
			       .owner = SLICE_OF("w1")};
}

struct record lapsed(void)
{
	struct record rec = claimed();

	rec.lease_until = NOW;
	return rec;
}

struct record lapsed_unknown(void)
{
	struct record rec = lapsed();

	rec.lapse = LAPSE_UNKNOWN;
	return rec;
}

struct record in_state(enum state state)
{
	struct record rec = claimed();

	rec.state = state;
	rec.lease_until = 0;
	if (state == STATE_DONE || state == STATE_FAILED) {
		rec.keep_until = NOW + TTL;
		rec.result = SLICE_OF("first result");
	}
	return rec;
}

struct record freed(void)
{
	struct record rec = in_state(STATE_FREE);

	rec.fence = FENCE + 1;
	rec.fp = SLICE_ABSENT;
	return rec;
}

struct record absent(void)
{
	return (struct record){.state = STATE_ABSENT};
}

/* ---- calls ---- */

struct ask claim_by(struct slice token)
{
	return (struct ask){
	    .verb = ASK_CLAIM, .lease = LEASE, .ttl = TTL, .token = token, .fp = FP, .owner = SLICE_OF("w2")};
}

struct ask holder(enum ask_verb verb)
{
	return (struct ask){
	    .verb = verb, .fence = FENCE, .lease = 2 * LEASE, .token = TOKEN, .result = SLICE_OF("new result")};
}

struct ask resolve_as(enum state as)
{
	return (struct ask){.verb = ASK_RESOLVE, .as = as};
}

struct verdict becomes(struct record rec, struct ask ask, enum word word, enum effect effect, struct record want)
{
	struct verdict v = record_apply(&rec, &ask, NOW);

	ck_assert_msg(v.word == word, "got %s, want %s", word_name(v.word).data, word_name(word).data);
	ck_assert_int_eq(v.effect, effect);
	record_same(&rec, &want);
	return v;
}

struct verdict stays(struct record rec, struct ask ask, enum word word)
{
	return becomes(rec, ask, word, EFFECT_NONE, rec);
}

struct record won_by(struct slice token)
{
	return (struct record){.state = STATE_CLAIMED,
			       .attempts = 1,
			       .fence = NOW,
			       .lease_until = NOW + LEASE,
			       .ttl = TTL,
			       .created = NOW,
			       .updated = NOW,
			       .fp = FP,
			       .token = token,
			       .owner = SLICE_OF("w2")};
}
