/*
 * check_record_end.c - the operator's verbs in the table of transitions, when a record ends, and the numbers at their limits.
 */
#include "record_samples.h"

#include <check.h>
#include <stdlib.h>

/* ---- the operator's verbs ---- */

START_TEST(resolve_unknown_or_lapsed)
{
	const struct record open[] = {in_state(STATE_UNKNOWN), lapsed(), lapsed_unknown()};
	size_t i;

	for (i = 0; i < 3; i++) {
		struct record want = in_state(STATE_DONE);
		struct ask ask = resolve_as(STATE_DONE);

		want.updated = NOW;
		want.lapse = open[i].lapse;
		want.result = SLICE_ABSENT;
		becomes(open[i], ask, WORD_OK, EFFECT_WRITE, want);
		ask.fence = FENCE;
		ask.result = want.result = SLICE_OF("by hand");
		ask.ttl = 9 * SECOND;
		want.keep_until = NOW + 9 * SECOND;
		becomes(open[i], ask, WORD_OK, EFFECT_WRITE, want);
		ask.as = want.state = STATE_FAILED;
		becomes(open[i], ask, WORD_OK, EFFECT_WRITE, want);
		want = freed();
		want.updated = NOW;
		want.lapse = open[i].lapse;
		ask.as = STATE_FREE;
		becomes(open[i], ask, WORD_OK, EFFECT_WRITE, want);
	}
}
END_TEST

START_TEST(resolve_keeps_atleast)
{
	struct record rec = in_state(STATE_UNKNOWN), want = in_state(STATE_DONE);
	struct ask ask = resolve_as(STATE_DONE);

	ask.ttl = SECOND;
	want.result = SLICE_ABSENT;
	want.updated = NOW;
	rec.earliest = want.earliest = want.keep_until = NOW + 2 * SECOND;
	becomes(rec, ask, WORD_OK, EFFECT_WRITE, want);
	want = freed();
	want.updated = NOW;
	want.earliest = NOW + 2 * SECOND;
	becomes(rec, resolve_as(STATE_FREE), WORD_OK, EFFECT_WRITE, want);
}
END_TEST

START_TEST(resolve_absent_other_fence_already_so)
{
	struct ask ask = resolve_as(STATE_DONE);

	stays(absent(), ask, WORD_NOTFOUND);
	stays(in_state(STATE_DONE), ask, WORD_OK);
	stays(in_state(STATE_FAILED), resolve_as(STATE_FAILED), WORD_OK);
	stays(freed(), resolve_as(STATE_FREE), WORD_OK);
	ask.fence = FENCE + 1;
	stays(in_state(STATE_DONE), ask, WORD_STALE);
	stays(in_state(STATE_UNKNOWN), ask, WORD_STALE);
	ask.force = true; /* force is no way around a fence */
	stays(claimed(), ask, WORD_STALE);
	stays(absent(), ask, WORD_NOTFOUND);
}
END_TEST

START_TEST(resolve_without_force_changes_nothing_settled_or_live)
{
	stays(claimed(), resolve_as(STATE_DONE), WORD_HELD);
	stays(claimed(), resolve_as(STATE_FREE), WORD_HELD);
	stays(in_state(STATE_DONE), resolve_as(STATE_FAILED), WORD_DONE);
	stays(in_state(STATE_DONE), resolve_as(STATE_FREE), WORD_DONE);
	stays(in_state(STATE_FAILED), resolve_as(STATE_DONE), WORD_FAILED);
	stays(freed(), resolve_as(STATE_DONE), WORD_STALE);
	stays(freed(), resolve_as(STATE_FAILED), WORD_STALE);
}
END_TEST

START_TEST(resolve_with_force)
{
	struct record want = in_state(STATE_DONE);
	struct ask ask = resolve_as(STATE_DONE);

	ask.force = true;
	want.updated = NOW;
	want.result = SLICE_ABSENT;
	becomes(claimed(), ask, WORD_OK, EFFECT_WRITE, want);
	becomes(in_state(STATE_FAILED), ask, WORD_OK, EFFECT_WRITE, want);
	want.fence = FENCE + 1;
	want.fp = SLICE_ABSENT;
	becomes(freed(), ask, WORD_OK, EFFECT_WRITE, want);
	want = freed();
	want.updated = NOW;
	ask.as = STATE_FREE;
	becomes(claimed(), ask, WORD_OK, EFFECT_WRITE, want);
	becomes(in_state(STATE_DONE), ask, WORD_OK, EFFECT_WRITE, want); /* its result and fp go too */
}
END_TEST

/* What FORGET leaves of it. */
static struct record deleted(struct record rec)
{
	return (struct record){.state = STATE_ABSENT, .fence = rec.fence};
}

START_TEST(forget_what_nobody_needs)
{
	const struct record ended[] = {in_state(STATE_DONE), in_state(STATE_FAILED), freed(), lapsed()};
	struct ask ask = {.verb = ASK_FORGET};
	size_t i;

	stays(absent(), ask, WORD_NOTFOUND);
	for (i = 0; i < 4; i++) {
		ask.fence = 0;
		becomes(ended[i], ask, WORD_OK, EFFECT_DELETE, deleted(ended[i]));
		ask.fence = ended[i].fence;
		becomes(ended[i], ask, WORD_OK, EFFECT_DELETE, deleted(ended[i]));
		ask.fence++;
		stays(ended[i], ask, WORD_STALE);
		ask.force = true;
		stays(ended[i], ask, WORD_STALE);
		ask.force = false;
	}
}
END_TEST

START_TEST(forget_live_or_unknown_needs_force)
{
	struct ask ask = {.verb = ASK_FORGET};

	stays(claimed(), ask, WORD_HELD);
	stays(in_state(STATE_UNKNOWN), ask, WORD_UNKNOWN);
	stays(lapsed_unknown(), ask, WORD_UNKNOWN);
	ask.force = true;
	becomes(claimed(), ask, WORD_OK, EFFECT_DELETE, deleted(claimed()));
	becomes(in_state(STATE_UNKNOWN), ask, WORD_OK, EFFECT_DELETE, deleted(in_state(STATE_UNKNOWN)));
	becomes(lapsed_unknown(), ask, WORD_OK, EFFECT_DELETE, deleted(lapsed_unknown()));
}
END_TEST

START_TEST(forget_waits_until_the_clock_is_past_the_fence)
{
	struct ask ask = {.verb = ASK_FORGET, .force = true};
	struct record rec = in_state(STATE_DONE);
	struct verdict v;

	rec.fence = NOW;
	v = stays(rec, ask, WORD_ERR);
	ck_assert_int_eq(v.err, ERR_BUSY);
	ck_assert_int_eq(v.after_ms, 1);
	rec.fence = NOW + 7;
	stays(rec, ask, WORD_ERR);
	rec.fence = NOW - 1;
	becomes(rec, ask, WORD_OK, EFFECT_DELETE, deleted(rec));
}
END_TEST

START_TEST(status_shows_what_is_there)
{
	struct ask ask = {.verb = ASK_STATUS};
	struct record rec = in_state(STATE_FAILED);

	stays(absent(), ask, WORD_NOTFOUND);
	stays(claimed(), ask, WORD_STATUS);
	stays(lapsed_unknown(), ask, WORD_STATUS);
	stays(rec, ask, WORD_STATUS);
	rec.keep_until = NOW;
	becomes(rec, ask, WORD_NOTFOUND, EFFECT_NONE, absent());
}
END_TEST

/* ---- gone, shown, sweepable ---- */

START_TEST(gone_to_the_microsecond)
{
	struct record rec = claimed();

	rec.lease_until = NOW - TTL;
	ck_assert(record_gone(&rec, NOW) && !record_gone(&rec, NOW - 1));
	rec.lapse = LAPSE_UNKNOWN;
	ck_assert(!record_gone(&rec, NOW) && record_end(&rec) == TIME_NEVER);
	rec.lapse = LAPSE_RECLAIM;
	rec.ttl = TIME_NEVER;
	ck_assert(!record_gone(&rec, NOW) && record_end(&rec) == TIME_NEVER);

	rec = freed();
	rec.updated = NOW - TTL;
	ck_assert(record_gone(&rec, NOW) && !record_gone(&rec, NOW - 1));
	rec.earliest = NOW + 1;
	ck_assert(!record_gone(&rec, NOW) && record_gone(&rec, NOW + 1));
	rec.ttl = TIME_NEVER;
	ck_assert(!record_gone(&rec, NOW + 1));

	rec = in_state(STATE_DONE);
	ck_assert(record_gone(&rec, NOW + TTL) && !record_gone(&rec, NOW + TTL - 1));
	rec.keep_until = TIME_NEVER;
	ck_assert(!record_gone(&rec, TIME_NEVER));
	rec = in_state(STATE_FAILED);
	ck_assert(record_gone(&rec, NOW + TTL) && !record_gone(&rec, NOW + TTL - 1));

	rec = in_state(STATE_UNKNOWN);
	ck_assert(!record_gone(&rec, TIME_NEVER - 1));
	rec = absent();
	ck_assert(!record_gone(&rec, NOW));
}
END_TEST

START_TEST(sweepable_when_gone_and_past_its_fence)
{
	struct record rec = in_state(STATE_DONE);

	rec.keep_until = NOW;
	rec.fence = NOW;
	ck_assert(!record_sweepable(&rec, NOW));
	ck_assert(record_sweepable(&rec, NOW + 1));
	rec.fence = NOW - 1;
	ck_assert(record_sweepable(&rec, NOW) && !record_sweepable(&rec, NOW - 1));
	rec = lapsed_unknown();
	rec.lease_until = 1;
	ck_assert(!record_sweepable(&rec, NOW));
}
END_TEST

START_TEST(shown_state)
{
	struct record rec = lapsed();

	ck_assert_int_eq(record_shown(&rec, NOW), STATE_CLAIMED);
	ck_assert(record_lapsed(&rec, NOW) && !record_lapsed(&rec, NOW - 1));
	rec.lapse = LAPSE_UNKNOWN;
	ck_assert_int_eq(record_shown(&rec, NOW), STATE_UNKNOWN);
	ck_assert_int_eq(record_shown(&rec, NOW - 1), STATE_CLAIMED);
	rec = in_state(STATE_DONE);
	ck_assert_int_eq(record_shown(&rec, NOW), STATE_DONE);
	ck_assert_int_eq(record_shown(&rec, NOW + TTL), STATE_ABSENT);
	ck_assert(!record_lapsed(&rec, NOW + TTL));
}
END_TEST

/* ---- numbers ---- */

START_TEST(times_stop_at_never)
{
	ck_assert_int_eq(time_add(5, 7), 12);
	ck_assert_int_eq(time_add(TIME_NEVER, 1), TIME_NEVER);
	ck_assert_int_eq(time_add(1, TIME_NEVER), TIME_NEVER);
	ck_assert_int_eq(time_add(TIME_NEVER, TIME_NEVER), TIME_NEVER);
	ck_assert_int_eq(time_add(TIME_NEVER, -1), TIME_NEVER);
	ck_assert_int_eq(time_add(-1, TIME_NEVER), TIME_NEVER);
	ck_assert_int_eq(time_add(TIME_NEVER - 5, 6), TIME_NEVER);
	ck_assert_int_eq(time_add(TIME_NEVER - 5, 4), TIME_NEVER - 1);
	ck_assert_int_eq(time_left_ms(TIME_NEVER, NOW), PROTO_NEVER);
	ck_assert_int_eq(time_left_ms(NOW, NOW), 0);
	ck_assert_int_eq(time_left_ms(NOW - 1, NOW), 0);
	ck_assert_int_eq(time_left_ms(NOW + 1, NOW), 1);
	ck_assert_int_eq(time_left_ms(NOW + 1000, NOW), 1);
	ck_assert_int_eq(time_left_ms(NOW + 1001, NOW), 2);
	ck_assert_int_eq(time_left_ms(TIME_NEVER - 1, INT64_MIN), INT64_C(18446744073709552));
	ck_assert_int_eq(time_left_ms(0, NOW), 0);
}
END_TEST

START_TEST(never_is_carried_along)
{
	struct record rec = claimed(), want = in_state(STATE_DONE);
	struct ask ask = claim_by(OTHER);

	rec.ttl = want.ttl = want.keep_until = TIME_NEVER;
	want.updated = NOW;
	want.result = SLICE_OF("new result");
	becomes(rec, holder(ASK_COMPLETE), WORD_OK, EFFECT_WRITE, want);
	want = won_by(OTHER);
	ask.lease = ask.ttl = ask.atleast = TIME_NEVER;
	want.lease_until = want.ttl = want.earliest = TIME_NEVER;
	becomes(absent(), ask, WORD_WON, EFFECT_WRITE, want);
	ck_assert_int_eq(record_left_ms(&want, NOW), PROTO_NEVER);
}
END_TEST

START_TEST(fences_end_at_2_53_minus_1)
{
	struct record rec = claimed(), want = freed();
	struct ask ask = holder(ASK_RELEASE), forced = resolve_as(STATE_FREE);

	rec.fence = ask.fence = PROTO_MAX_INTEGER;
	ck_assert_int_eq(stays(rec, ask, WORD_ERR).err, ERR_INTERNAL);
	forced.force = true;
	ck_assert_int_eq(stays(rec, forced, WORD_ERR).err, ERR_INTERNAL);
	rec.lease_until = NOW;
	ck_assert_int_eq(stays(rec, claim_by(OTHER), WORD_ERR).err, ERR_INTERNAL);
	rec.fence = PROTO_MAX_INTEGER - 1; /* the last one can be had and used */
	want = won_by(OTHER);
	want.fence = PROTO_MAX_INTEGER;
	want.attempts = 2;
	want.created = FENCE;
	becomes(rec, claim_by(OTHER), WORD_WON, EFFECT_WRITE, want);
	rec = in_state(STATE_DONE);
	rec.fence = PROTO_MAX_INTEGER;
	rec.keep_until = NOW;
	becomes(rec, claim_by(OTHER), WORD_ERR, EFFECT_NONE, absent()); /* gone, and nothing above it is left */
	rec = absent();
	ask = claim_by(OTHER);
	ck_assert_int_eq(record_apply(&rec, &ask, PROTO_MAX_INTEGER).word, WORD_WON);
	rec = absent();
	ck_assert_int_eq(record_apply(&rec, &ask, PROTO_MAX_INTEGER + 1).word, WORD_ERR);
	rec = absent();
	ck_assert_int_eq(record_apply(&rec, &ask, 0).word, WORD_WON); /* a clock that was never set */
	ck_assert_int_eq(rec.fence, 1);
}
END_TEST

START_TEST(attempts_stop_counting)
{
	struct record rec = lapsed();
	struct ask ask = claim_by(OTHER);

	rec.attempts = INT32_MAX;
	ck_assert_int_eq(record_apply(&rec, &ask, NOW).word, WORD_WON);
	ck_assert_int_eq(rec.attempts, INT32_MAX);
}
END_TEST

START_TEST(names)
{
	ck_assert_str_eq(state_name(STATE_ABSENT).data, "absent");
	ck_assert_str_eq(state_name(STATE_CLAIMED).data, "claimed");
	ck_assert_str_eq(state_name(STATE_DONE).data, "done");
	ck_assert_str_eq(state_name(STATE_FAILED).data, "failed");
	ck_assert_str_eq(state_name(STATE_UNKNOWN).data, "unknown");
	ck_assert_str_eq(state_name(STATE_FREE).data, "free");
	ck_assert_str_eq(was_name(WAS_NEW).data, "new");
	ck_assert_str_eq(was_name(WAS_OWN).data, "own");
	ck_assert_str_eq(was_name(WAS_FREE).data, "free");
	ck_assert_str_eq(was_name(WAS_LAPSED).data, "lapsed");
	ck_assert(was_name(WAS_NONE).data == NULL);
	ck_assert_str_eq(lapse_name(LAPSE_RECLAIM).data, "reclaim");
	ck_assert_str_eq(lapse_name(LAPSE_UNKNOWN).data, "unknown");
}
END_TEST

static void add_operator(Suite *suite)
{
	TCase *tc = tcase_create("operator");

	tcase_add_test(tc, resolve_unknown_or_lapsed);
	tcase_add_test(tc, resolve_keeps_atleast);
	tcase_add_test(tc, resolve_absent_other_fence_already_so);
	tcase_add_test(tc, resolve_without_force_changes_nothing_settled_or_live);
	tcase_add_test(tc, resolve_with_force);
	tcase_add_test(tc, forget_what_nobody_needs);
	tcase_add_test(tc, forget_live_or_unknown_needs_force);
	tcase_add_test(tc, forget_waits_until_the_clock_is_past_the_fence);
	tcase_add_test(tc, status_shows_what_is_there);
	suite_add_tcase(suite, tc);
}

static void add_times(Suite *suite)
{
	TCase *tc = tcase_create("times");

	tcase_add_test(tc, gone_to_the_microsecond);
	tcase_add_test(tc, sweepable_when_gone_and_past_its_fence);
	tcase_add_test(tc, shown_state);
	tcase_add_test(tc, times_stop_at_never);
	tcase_add_test(tc, never_is_carried_along);
	tcase_add_test(tc, fences_end_at_2_53_minus_1);
	tcase_add_test(tc, attempts_stop_counting);
	tcase_add_test(tc, names);
	suite_add_tcase(suite, tc);
}

int main(void)
{
	Suite *suite = suite_create("record_end");
	SRunner *runner;
	int failed;

	add_operator(suite);
	add_times(suite);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
