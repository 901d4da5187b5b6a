/*
 * check_record.c - CLAIM and the holder's verbs in the table of transitions: a test for each row, named by its number or its
 * verb. Each compares all fields of what the record became.
 */
#include "record_samples.h"

#include <check.h>
#include <stdlib.h>

static const enum state settled_states[] = {STATE_DONE, STATE_FAILED};

/* ---- CLAIM ---- */

START_TEST(row_1_absent_is_won)
{
	struct ask ask = claim_by(OTHER);
	struct record want = won_by(OTHER);

	ck_assert_int_eq(becomes(absent(), ask, WORD_WON, EFFECT_WRITE, want).was, WAS_NEW);
	ask.atleast = 7 * SECOND;
	ask.lapse = LAPSE_UNKNOWN;
	ask.fp = SLICE_ABSENT;
	want.earliest = NOW + 7 * SECOND;
	want.lapse = LAPSE_UNKNOWN;
	want.fp = SLICE_ABSENT;
	becomes(absent(), ask, WORD_WON, EFFECT_WRITE, want);
	ask.ttl = TIME_NEVER;
	want.ttl = TIME_NEVER;
	becomes(absent(), ask, WORD_WON, EFFECT_WRITE, want);
}
END_TEST

START_TEST(row_1_gone_is_new_and_its_fence_is_a_lower_bound)
{
	struct record rec = in_state(STATE_DONE);

	rec.keep_until = NOW;
	rec.attempts = 9;
	rec.earliest = 1;
	ck_assert_int_eq(becomes(rec, claim_by(OTHER), WORD_WON, EFFECT_WRITE, won_by(OTHER)).was, WAS_NEW);
	/* the clock of the store was set back, or its fence is ahead of the clock */
	struct record want = won_by(OTHER);
	rec.fence = NOW + 5;
	want.fence = NOW + 6;
	becomes(rec, claim_by(OTHER), WORD_WON, EFFECT_WRITE, want);
	rec.fence = NOW;
	want.fence = NOW + 1;
	becomes(rec, claim_by(OTHER), WORD_WON, EFFECT_WRITE, want);
	/* also to its own token: what is gone is gone */
	rec = claimed();
	rec.lease_until = NOW - TTL;
	ck_assert_int_eq(becomes(rec, claim_by(TOKEN), WORD_WON, EFFECT_WRITE, won_by(TOKEN)).was, WAS_NEW);
}
END_TEST

START_TEST(row_2_own_call_again_keeps_fence_and_lease)
{
	struct ask ask = claim_by(TOKEN);

	ck_assert_int_eq(stays(claimed(), ask, WORD_WON).was, WAS_OWN);
	ask.fp = SLICE_ABSENT;
	ck_assert_int_eq(stays(claimed(), ask, WORD_WON).was, WAS_OWN);
	ask.fp = FP2; /* fingerprints differ: row 6 */
	stays(claimed(), ask, WORD_MISMATCH);
}
END_TEST

START_TEST(row_2_lapsed_gets_a_new_lease_and_nothing_else)
{
	struct record want = lapsed();

	want.lease_until = NOW + LEASE;
	ck_assert_int_eq(becomes(lapsed(), claim_by(TOKEN), WORD_WON, EFFECT_WRITE, want).was, WAS_OWN);
	want.lapse = LAPSE_UNKNOWN;
	becomes(lapsed_unknown(), claim_by(TOKEN), WORD_WON, EFFECT_WRITE, want);
}
END_TEST

START_TEST(row_3_late_copy_of_a_claim_that_was_given_back)
{
	struct verdict v = stays(freed(), claim_by(TOKEN), WORD_ERR);
	struct record rec = freed();

	ck_assert_int_eq(v.err, ERR_BADOPT);
	ck_assert_str_eq(v.why, "token already used");
	rec.earliest = NOW + SECOND; /* before row 5 */
	stays(rec, claim_by(TOKEN), WORD_ERR);
}
END_TEST

START_TEST(row_4_free_is_won_again)
{
	struct record rec = freed(), want = won_by(OTHER);
	struct ask ask = claim_by(OTHER);

	want.attempts = 2;
	want.created = FENCE;
	ask.fp = FP2;
	want.fp = FP2;
	ck_assert_int_eq(becomes(rec, ask, WORD_WON, EFFECT_WRITE, want).was, WAS_FREE);
	rec.earliest = NOW; /* at the very moment */
	becomes(rec, ask, WORD_WON, EFFECT_WRITE, want);
	ask.fp = SLICE_ABSENT; /* the new one's, not an old one */
	want.fp = SLICE_ABSENT;
	rec.fence = NOW + 41; /* ahead of the clock */
	want.fence = NOW + 42;
	becomes(rec, ask, WORD_WON, EFFECT_WRITE, want);
	ask.token = SLICE_ABSENT; /* no token is nobody's token */
	want.token = SLICE_ABSENT;
	becomes(rec, ask, WORD_WON, EFFECT_WRITE, want);
	rec.token = SLICE_ABSENT;
	becomes(rec, ask, WORD_WON, EFFECT_WRITE, want);
}
END_TEST

START_TEST(row_5_free_is_held_until_earliest)
{
	struct record rec = freed();

	rec.earliest = NOW + 1;
	stays(rec, claim_by(OTHER), WORD_HELD);
	ck_assert_int_eq(record_left_ms(&rec, NOW), 1);
	rec.earliest = NOW + 5 * SECOND;
	ck_assert_int_eq(record_left_ms(&rec, NOW), 5000);
}
END_TEST

START_TEST(row_6_other_fingerprint)
{
	struct ask ask = claim_by(OTHER), none = claim_by(OTHER);
	struct record bare = in_state(STATE_DONE);

	ask.fp = FP2;
	stays(claimed(), ask, WORD_MISMATCH);
	stays(lapsed(), ask, WORD_MISMATCH);
	stays(lapsed_unknown(), ask, WORD_MISMATCH);
	stays(in_state(STATE_DONE), ask, WORD_MISMATCH);
	stays(in_state(STATE_FAILED), ask, WORD_MISMATCH);
	stays(in_state(STATE_UNKNOWN), ask, WORD_MISMATCH);
	none.fp = SLICE_ABSENT; /* one side has none: nothing differs */
	stays(in_state(STATE_DONE), none, WORD_DONE);
	bare.fp = SLICE_ABSENT;
	stays(bare, ask, WORD_DONE);
}
END_TEST

START_TEST(row_7_done)
{
	stays(in_state(STATE_DONE), claim_by(OTHER), WORD_DONE);
	stays(in_state(STATE_DONE), claim_by(TOKEN), WORD_DONE); /* a late copy reopens nothing */
}
END_TEST

START_TEST(row_8_failed)
{
	stays(in_state(STATE_FAILED), claim_by(OTHER), WORD_FAILED);
	stays(in_state(STATE_FAILED), claim_by(TOKEN), WORD_FAILED);
}
END_TEST

START_TEST(row_9_unknown)
{
	stays(in_state(STATE_UNKNOWN), claim_by(OTHER), WORD_UNKNOWN);
	stays(in_state(STATE_UNKNOWN), claim_by(TOKEN), WORD_UNKNOWN);
}
END_TEST

START_TEST(row_10_live_is_held_to_the_last_microsecond)
{
	struct record rec = claimed();
	struct ask bare = claim_by(SLICE_ABSENT);

	stays(rec, claim_by(OTHER), WORD_HELD);
	ck_assert_int_eq(record_left_ms(&rec, NOW), LEASE / 1000);
	rec.lease_until = NOW + 1;
	stays(rec, claim_by(OTHER), WORD_HELD);
	rec.token = SLICE_ABSENT; /* two calls without a token are not the same call */
	stays(rec, bare, WORD_HELD);
	rec.lapse = LAPSE_UNKNOWN;
	stays(rec, claim_by(OTHER), WORD_HELD);
}
END_TEST

START_TEST(row_11_lapsed_under_unknown)
{
	struct record rec = lapsed_unknown();

	stays(rec, claim_by(OTHER), WORD_UNKNOWN);
	rec.lease_until = 1; /* however long ago */
	stays(rec, claim_by(OTHER), WORD_UNKNOWN);
}
END_TEST

START_TEST(row_12_lapsed_is_taken_over)
{
	struct record want = won_by(OTHER), bare = lapsed();
	struct ask ask = claim_by(OTHER);

	want.attempts = 2;
	want.created = FENCE;
	ck_assert_int_eq(becomes(lapsed(), ask, WORD_WON, EFFECT_WRITE, want).was, WAS_LAPSED);
	ask.fp = SLICE_ABSENT; /* kept */
	becomes(lapsed(), ask, WORD_WON, EFFECT_WRITE, want);
	ask.fp = FP2; /* set where there was none */
	want.fp = FP2;
	bare.fp = SLICE_ABSENT;
	bare.fence = NOW; /* not below the one before, whatever the clock says */
	want.fence = NOW + 1;
	bare.earliest = NOW + TTL; /* from this call, not from the one before; it does not hold up a reclaim */
	becomes(bare, ask, WORD_WON, EFFECT_WRITE, want);
}
END_TEST

/* ---- the holder's verbs ---- */

START_TEST(complete_settles_lapsed_or_not)
{
	struct record want = in_state(STATE_DONE), rec = claimed();
	struct ask ask = holder(ASK_COMPLETE);

	want.updated = NOW;
	want.result = SLICE_OF("new result");
	becomes(claimed(), ask, WORD_OK, EFFECT_WRITE, want);
	becomes(lapsed(), ask, WORD_OK, EFFECT_WRITE, want);
	becomes(in_state(STATE_UNKNOWN), ask, WORD_OK, EFFECT_WRITE, want);
	ask.token = SLICE_ABSENT;
	becomes(claimed(), ask, WORD_OK, EFFECT_WRITE, want);
	want.lapse = LAPSE_UNKNOWN;
	becomes(lapsed_unknown(), ask, WORD_OK, EFFECT_WRITE, want);
	ask.ttl = 5 * SECOND; /* its own ttl, the claim's stays */
	want.lapse = LAPSE_RECLAIM;
	want.keep_until = NOW + 5 * SECOND;
	becomes(claimed(), ask, WORD_OK, EFFECT_WRITE, want);
	rec.earliest = NOW + 6 * SECOND; /* not before atleast */
	want.earliest = want.keep_until = rec.earliest;
	becomes(rec, ask, WORD_OK, EFFECT_WRITE, want);
	ask.ttl = TIME_NEVER;
	want.keep_until = TIME_NEVER;
	becomes(rec, ask, WORD_OK, EFFECT_WRITE, want);
}
END_TEST

START_TEST(complete_result_absent_or_empty)
{
	struct record want = in_state(STATE_DONE);
	struct ask ask = holder(ASK_COMPLETE);

	want.updated = NOW;
	ask.result = want.result = SLICE_OF("");
	becomes(claimed(), ask, WORD_OK, EFFECT_WRITE, want);
	ask.result = want.result = SLICE_ABSENT;
	becomes(claimed(), ask, WORD_OK, EFFECT_WRITE, want);
}
END_TEST

START_TEST(complete_twice_keeps_the_first)
{
	struct ask ask = holder(ASK_COMPLETE);

	ask.ttl = 7 * TTL;
	stays(in_state(STATE_DONE), ask, WORD_OK);
	stays(in_state(STATE_FAILED), ask, WORD_STALE);
	stays(freed(), ask, WORD_STALE);
	stays(absent(), ask, WORD_STALE);
}
END_TEST

START_TEST(fail_burns)
{
	struct record want = in_state(STATE_FAILED);
	struct ask ask = holder(ASK_FAIL);

	want.updated = NOW;
	want.result = SLICE_OF("new result");
	becomes(claimed(), ask, WORD_OK, EFFECT_WRITE, want);
	becomes(lapsed(), ask, WORD_OK, EFFECT_WRITE, want);
	becomes(in_state(STATE_UNKNOWN), ask, WORD_OK, EFFECT_WRITE, want);
	stays(in_state(STATE_FAILED), ask, WORD_OK);
	stays(in_state(STATE_DONE), ask, WORD_STALE);
	stays(freed(), ask, WORD_STALE);
	stays(absent(), ask, WORD_STALE);
}
END_TEST

START_TEST(release_raises_the_fence)
{
	struct record rec = claimed(), want = freed();
	struct ask ask = holder(ASK_RELEASE);

	want.updated = NOW;
	becomes(claimed(), ask, WORD_OK, EFFECT_WRITE, want);
	becomes(lapsed(), ask, WORD_OK, EFFECT_WRITE, want);
	becomes(in_state(STATE_UNKNOWN), ask, WORD_OK, EFFECT_WRITE, want);
	rec.earliest = want.earliest = NOW + SECOND;
	becomes(rec, ask, WORD_OK, EFFECT_WRITE, want);
	ask.undo = true; /* nobody heard of it, so nobody needs to wait */
	want.earliest = 0;
	becomes(rec, ask, WORD_OK, EFFECT_WRITE, want);
}
END_TEST

START_TEST(release_repeated_or_late)
{
	struct ask ask = holder(ASK_RELEASE);
	size_t i;

	stays(freed(), ask, WORD_OK);
	for (i = 0; i < 2; i++)
		stays(in_state(settled_states[i]), ask, WORD_OK);
	stays(absent(), ask, WORD_STALE);
	ask.fence = FENCE + 1; /* the fence it has now was never granted */
	stays(freed(), ask, WORD_STALE);
	ask.fence = FENCE - 1;
	stays(freed(), ask, WORD_STALE);
	ask.fence = 0;
	stays(absent(), ask, WORD_STALE);
}
END_TEST

START_TEST(renew_only_moves_forward)
{
	struct record want = claimed(), rec = claimed();
	struct ask ask = holder(ASK_RENEW);

	want.lease_until = NOW + 2 * LEASE;
	becomes(claimed(), ask, WORD_OK, EFFECT_WRITE, want);
	becomes(lapsed(), ask, WORD_OK, EFFECT_WRITE, want);
	want.lapse = LAPSE_UNKNOWN;
	becomes(lapsed_unknown(), ask, WORD_OK, EFFECT_WRITE, want);
	ask.lease = LEASE - 1;
	stays(rec, ask, WORD_OK);
	ask.lease = LEASE;
	stays(rec, ask, WORD_OK);
	stays(in_state(STATE_UNKNOWN), ask, WORD_STALE);
	stays(in_state(STATE_DONE), ask, WORD_STALE);
	stays(in_state(STATE_FAILED), ask, WORD_STALE);
	stays(freed(), ask, WORD_STALE);
	stays(absent(), ask, WORD_STALE);
}
END_TEST

START_TEST(doubt_keeps_the_key)
{
	struct record want = in_state(STATE_UNKNOWN), rec = claimed();
	struct ask ask = holder(ASK_DOUBT);
	size_t i;

	want.updated = NOW;
	becomes(claimed(), ask, WORD_OK, EFFECT_WRITE, want);
	becomes(lapsed(), ask, WORD_OK, EFFECT_WRITE, want);
	rec.earliest = want.earliest = NOW + SECOND;
	becomes(rec, ask, WORD_OK, EFFECT_WRITE, want);
	stays(in_state(STATE_UNKNOWN), ask, WORD_OK);
	for (i = 0; i < 2; i++)
		stays(in_state(settled_states[i]), ask, WORD_OK);
	stays(freed(), ask, WORD_STALE);
	stays(absent(), ask, WORD_STALE);
	ask.fence = 0;
	stays(absent(), ask, WORD_STALE);
}
END_TEST

START_TEST(check_wants_a_live_lease)
{
	struct record rec = claimed();
	struct ask ask = holder(ASK_CHECK);

	stays(claimed(), ask, WORD_OK);
	rec.lease_until = NOW + 1;
	stays(rec, ask, WORD_OK);
	rec = lapsed();
	stays(rec, ask, WORD_STALE);
	ck_assert_int_eq(record_left_ms(&rec, NOW), 0);
	stays(in_state(STATE_UNKNOWN), ask, WORD_STALE);
	stays(in_state(STATE_DONE), ask, WORD_STALE);
	stays(freed(), ask, WORD_STALE);
	stays(absent(), ask, WORD_STALE);
}
END_TEST

static const enum ask_verb holders_verbs[] = {ASK_RENEW, ASK_COMPLETE, ASK_FAIL, ASK_RELEASE, ASK_DOUBT, ASK_CHECK};

/* What holds for all of them. */
START_TEST(holder_another_fence_or_token_is_stale)
{
	struct ask ask = holder(holders_verbs[_i]);
	const enum state states[] = {STATE_CLAIMED, STATE_DONE, STATE_FAILED, STATE_UNKNOWN, STATE_FREE};
	struct record rec = lapsed();
	size_t i;

	for (i = 0; i < 5; i++) {
		rec = states[i] == STATE_CLAIMED ? claimed() : states[i] == STATE_FREE ? freed() : in_state(states[i]);
		ask = holder(holders_verbs[_i]);
		ask.token = OTHER;
		stays(rec, ask, WORD_STALE);
		ask.token = SLICE_OF("token-of-the-holder-and-more");
		stays(rec, ask, WORD_STALE);
		ask.token = TOKEN;
		ask.fence = FENCE - 1;
		stays(rec, ask, WORD_STALE);
		ask.fence = FENCE + 2;
		stays(rec, ask, WORD_STALE);
		rec.token = SLICE_ABSENT;
		ask.fence = FENCE;
		stays(rec, ask, WORD_STALE);
	}
	/* what is gone reads as absent, also to who had it */
	rec = claimed();
	rec.lease_until = NOW - TTL;
	becomes(rec, holder(holders_verbs[_i]), WORD_STALE, EFFECT_NONE, absent());
	rec = freed();
	rec.updated = NOW - TTL;
	becomes(rec, holder(holders_verbs[_i]), WORD_STALE, EFFECT_NONE, absent());
}
END_TEST

static void add_claim(Suite *suite)
{
	TCase *tc = tcase_create("claim");

	tcase_add_test(tc, row_1_absent_is_won);
	tcase_add_test(tc, row_1_gone_is_new_and_its_fence_is_a_lower_bound);
	tcase_add_test(tc, row_2_own_call_again_keeps_fence_and_lease);
	tcase_add_test(tc, row_2_lapsed_gets_a_new_lease_and_nothing_else);
	tcase_add_test(tc, row_3_late_copy_of_a_claim_that_was_given_back);
	tcase_add_test(tc, row_4_free_is_won_again);
	tcase_add_test(tc, row_5_free_is_held_until_earliest);
	tcase_add_test(tc, row_6_other_fingerprint);
	tcase_add_test(tc, row_7_done);
	tcase_add_test(tc, row_8_failed);
	tcase_add_test(tc, row_9_unknown);
	tcase_add_test(tc, row_10_live_is_held_to_the_last_microsecond);
	tcase_add_test(tc, row_11_lapsed_under_unknown);
	tcase_add_test(tc, row_12_lapsed_is_taken_over);
	suite_add_tcase(suite, tc);
}

static void add_holder(Suite *suite)
{
	TCase *tc = tcase_create("holder");

	tcase_add_test(tc, complete_settles_lapsed_or_not);
	tcase_add_test(tc, complete_result_absent_or_empty);
	tcase_add_test(tc, complete_twice_keeps_the_first);
	tcase_add_test(tc, fail_burns);
	tcase_add_test(tc, release_raises_the_fence);
	tcase_add_test(tc, release_repeated_or_late);
	tcase_add_test(tc, renew_only_moves_forward);
	tcase_add_test(tc, doubt_keeps_the_key);
	tcase_add_test(tc, check_wants_a_live_lease);
	tcase_add_loop_test(tc, holder_another_fence_or_token_is_stale, 0, 6);
	suite_add_tcase(suite, tc);
}

int main(void)
{
	Suite *suite = suite_create("record");
	SRunner *runner;
	int failed;

	add_claim(suite);
	add_holder(suite);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
