/*
 * contract_holder.c - what only the holder of a fence may do; results.
 */
#include "contract.h"

#include <stdlib.h>
#include <string.h>

static const enum ask_verb verbs[] = {ASK_RENEW, ASK_COMPLETE, ASK_FAIL, ASK_RELEASE, ASK_DOUBT, ASK_CHECK};
#define VERBS ((int)(sizeof(verbs) / sizeof(verbs[0])))

START_TEST(complete_live_lapsed_or_unknown)
{
	struct slice live = key_of("l"), lapsed = key_of("z"), unknown = key_of("u"), held = key_of("h");
	struct ask ask = ask_holder(ASK_COMPLETE, won(live));
	const struct op *op;

	ask.token = TOKEN;
	ask.ttl = 50 * MS;
	op = expect(live, ask, WORD_OK);
	ck_assert_int_eq(op->record.state, STATE_DONE);
	ck_assert_int_eq(op->record.keep_until, op->now + 50 * MS);
	ck_assert_int_eq(op->record.updated, op->now);
	ck_assert_int_eq(op->record.fence, ask.fence);
	ck_assert_int_eq(op->record.ttl, 2 * LONG);
	same_record(&status(live)->record, &op->record);

	/* late, and nobody has taken it: refusing would make the effect happen twice */
	ask = ask_holder(ASK_COMPLETE, won_and_lapsed(lapsed, LAPSE_RECLAIM));
	op = expect(lapsed, ask, WORD_OK);
	ck_assert_int_eq(op->record.keep_until, op->now + 2 * LONG); /* the claim's own ttl */
	expect(lapsed, ask_claim(OTHER), WORD_DONE);

	make_state(unknown, STATE_UNKNOWN);
	expect(unknown, ask_holder(ASK_COMPLETE, status(unknown)->record.fence), WORD_OK);
	expect(unknown, ask_claim(OTHER), WORD_DONE);

	ask = ask_claim(TOKEN);
	ask.atleast = LONG;
	op = expect(held, ask, WORD_WON);
	ask = ask_holder(ASK_COMPLETE, op->record.fence);
	ask.ttl = MS;
	ck_assert_int_eq(expect(held, ask, WORD_OK)->record.keep_until, status(held)->record.earliest);
}
END_TEST

START_TEST(complete_again_keeps_the_first_result_and_time)
{
	struct slice key = key_of("a");
	struct ask ask;

	make_state(key, STATE_DONE);
	ask = ask_holder(ASK_COMPLETE, status(key)->record.fence);
	ask.ttl = TIME_NEVER;
	ask.result = SLICE_OF("another one");
	expect_no_change(key, ask, WORD_OK);
	expect_no_change(key, ask_holder(ASK_FAIL, ask.fence), WORD_STALE);
}
END_TEST

START_TEST(fail_burns)
{
	struct slice key = key_of("a");
	struct ask ask = ask_holder(ASK_FAIL, won_and_lapsed(key, LAPSE_UNKNOWN));
	const struct op *op;

	ask.ttl = TIME_NEVER;
	op = expect(key, ask, WORD_OK);
	ck_assert_int_eq(op->record.state, STATE_FAILED);
	ck_assert_int_eq(op->record.keep_until, TIME_NEVER);
	expect_no_change(key, ask, WORD_OK);
	expect_no_change(key, ask_holder(ASK_COMPLETE, ask.fence), WORD_STALE);
	expect_no_change(key, ask_claim(OTHER), WORD_FAILED);
}
END_TEST

START_TEST(release_raises_the_fence)
{
	struct slice key = key_of("a");
	struct ask ask = ask_holder(ASK_RELEASE, won(key));
	const struct op *op;
	int i;

	ask.token = TOKEN;
	op = expect(key, ask, WORD_OK);
	ck_assert_int_eq(op->record.state, STATE_FREE);
	ck_assert_int_eq(op->record.fence, ask.fence + 1);
	ck_assert(!op->record.fp.data && slice_equal(op->record.token, TOKEN));
	same_record(&status(key)->record, &op->record);
	expect_no_change(key, ask, WORD_OK); /* repeated */
	for (i = 0; i < VERBS; i++) {
		if (verbs[i] != ASK_RELEASE)
			expect_no_change(key, ask_holder(verbs[i], ask.fence), WORD_STALE);
		expect_no_change(key, ask_holder(verbs[i], ask.fence + 1), WORD_STALE);
	}
}
END_TEST

START_TEST(release_of_a_settled_key_is_ok_and_nothing)
{
	const enum state states[] = {STATE_DONE, STATE_FAILED};
	struct slice key = key_of("a");

	make_state(key, states[_i]);
	expect_no_change(key, ask_holder(ASK_RELEASE, status(key)->record.fence), WORD_OK);
	expect_no_change(key, ask_holder(ASK_DOUBT, status(key)->record.fence), WORD_OK);
}
END_TEST

START_TEST(release_keeps_atleast_and_undo_does_not)
{
	struct slice key = key_of("a"), key2 = key_of("b");
	struct ask claim = ask_claim(TOKEN), undo;

	claim.atleast = LONG;
	expect(key, ask_holder(ASK_RELEASE, expect(key, claim, WORD_WON)->record.fence), WORD_OK);
	expect(key, ask_claim(OTHER), WORD_HELD);
	undo = ask_holder(ASK_RELEASE, expect(key2, claim, WORD_WON)->record.fence);
	undo.undo = true;
	expect(key2, undo, WORD_OK);
	expect(key2, ask_claim(OTHER), WORD_WON);
}
END_TEST

START_TEST(renew_only_moves_forward)
{
	struct slice key = key_of("a"), lapsed = key_of("z");
	struct ask ask = ask_holder(ASK_RENEW, won(key));
	const struct op *op;

	ask.lease = MS;
	expect_no_change(key, ask, WORD_OK);
	ask.lease = 2 * LONG;
	op = expect(key, ask, WORD_OK);
	ck_assert_int_eq(op->record.lease_until, op->now + 2 * LONG);
	ck_assert_int_lt(op->record.updated, op->now); /* it was in this state before */
	ask.fence = won_and_lapsed(lapsed, LAPSE_RECLAIM);
	expect(lapsed, ask, WORD_OK);
	expect(lapsed, ask_claim(OTHER), WORD_HELD);
}
END_TEST

START_TEST(doubt_keeps_the_key_for_a_person)
{
	struct slice key = key_of("a");
	struct ask ask = ask_claim(TOKEN);
	const struct op *op;

	ask.ttl = MS; /* which a record in doubt does not have */
	op = expect(key, ask, WORD_WON);
	op = expect(key, ask_holder(ASK_DOUBT, op->record.fence), WORD_OK);
	ck_assert_int_eq(op->record.state, STATE_UNKNOWN);
	expect_no_change(key, ask_holder(ASK_DOUBT, op->record.fence), WORD_OK);
	expect_no_change(key, ask_holder(ASK_RENEW, op->record.fence), WORD_STALE);
	wait_until(key, op->now + 10 * MS);
	expect_no_change(key, ask_claim(OTHER), WORD_UNKNOWN);
}
END_TEST

START_TEST(check_wants_a_live_lease)
{
	struct slice key = key_of("a"), lapsed = key_of("z");
	int64_t fence = won(key);

	expect_no_change(key, ask_holder(ASK_CHECK, fence), WORD_OK);
	fence = won_and_lapsed(lapsed, LAPSE_RECLAIM);
	expect_no_change(lapsed, ask_holder(ASK_CHECK, fence), WORD_STALE);
}
END_TEST

START_TEST(zombies_are_refused)
{
	struct slice key = key_of("a");
	struct ask ask = ask_holder(verbs[_i], won_and_lapsed(key, LAPSE_RECLAIM));

	expect(key, ask_claim(OTHER), WORD_WON);
	expect_no_change(key, ask, WORD_STALE);
	ask.token = TOKEN;
	expect_no_change(key, ask, WORD_STALE);
	expect(key, ask_holder(ASK_COMPLETE, status(key)->record.fence), WORD_OK);
	expect_no_change(key, ask, WORD_STALE);
}
END_TEST

START_TEST(another_token_is_refused)
{
	const enum state states[] = {STATE_CLAIMED, STATE_DONE, STATE_FAILED, STATE_UNKNOWN, STATE_FREE};
	const char *const names[] = {"c", "d", "f", "u", "r"};
	size_t i;

	for (i = 0; i < 5; i++) {
		struct slice key = key_of(names[i]);
		int64_t fence = make_state(key, states[i])->fence - (states[i] == STATE_FREE);
		struct ask ask = ask_holder(verbs[_i], fence);

		ask.token = OTHER;
		expect_no_change(key, ask, WORD_STALE);
		ask.fence = fence - 1;
		ask.token = TOKEN;
		expect_no_change(key, ask, WORD_STALE);
	}
	expect_no_change(key_of("nobody"), ask_holder(verbs[_i], 1), WORD_STALE);
}
END_TEST

START_TEST(what_is_gone_is_gone_for_its_holder_too)
{
	struct slice key = key_of("a");
	struct ask ask = ask_claim(TOKEN);
	const struct op *op;

	ask.lease = ask.ttl = 2 * MS;
	op = expect(key, ask, WORD_WON);
	wait_until(key, op->now + 4 * MS);
	expect_no_change(key, ask_holder(verbs[_i], op->record.fence), WORD_STALE);
}
END_TEST

/* Suppressing ends at the very time that it was said to. */
START_TEST(ttl_boundary)
{
	struct slice key = key_of("a");
	struct ask ask = ask_holder(_i ? ASK_FAIL : ASK_COMPLETE, won(key));
	const struct op *op;
	int64_t keep_until;

	ask.ttl = 8 * MS;
	op = expect(key, ask, WORD_OK);
	keep_until = op->record.keep_until;
	ck_assert_int_eq(keep_until, op->now + 8 * MS);
	do {
		op = status(key);
		ck_assert_int_eq(op->record.state == STATE_ABSENT, op->now >= keep_until);
		rig_pause(200);
	} while (op->now < keep_until);
	ck_assert_int_eq(expect(key, ask_claim(OTHER), WORD_WON)->verdict.was, WAS_NEW);
}
END_TEST

/* ---- results ---- */

static void result_comes_back(struct slice key, struct slice result)
{
	struct ask ask = ask_holder(ASK_COMPLETE, won(key));
	const struct op *op;

	ask.result = result;
	expect(key, ask, WORD_OK);
	op = expect(key, ask_claim(OTHER), WORD_DONE);
	ck_assert_int_eq(op->record.result.data == NULL, result.data == NULL);
	ck_assert(slice_equal(op->record.result, result));
	op = status(key);
	ck_assert_int_eq(op->record.result.data == NULL, result.data == NULL);
	ck_assert(slice_equal(op->record.result, result));
}

START_TEST(results_absent_empty_binary_large)
{
	size_t len = PROTO_MAX_BODY, i;
	char *octets = malloc(len);

	ck_assert(octets != NULL);
	for (i = 0; i < len; i++)
		octets[i] = (char)(i ^ (i >> 8));
	result_comes_back(key_of("absent"), SLICE_ABSENT);
	result_comes_back(key_of("empty"), SLICE_OF(""));
	result_comes_back(key_of("nul"), SLICE_OF("\0"));
	result_comes_back(key_of("binary"), (struct slice){octets, 256});
	result_comes_back(key_of("large"), (struct slice){octets, len});
	free(octets);
}
END_TEST

TCase *contract_holder(void)
{
	TCase *tc = tcase_create("holder");

	tcase_add_test(tc, complete_live_lapsed_or_unknown);
	tcase_add_test(tc, complete_again_keeps_the_first_result_and_time);
	tcase_add_test(tc, fail_burns);
	tcase_add_test(tc, release_raises_the_fence);
	tcase_add_loop_test(tc, release_of_a_settled_key_is_ok_and_nothing, 0, 2);
	tcase_add_test(tc, release_keeps_atleast_and_undo_does_not);
	tcase_add_test(tc, renew_only_moves_forward);
	tcase_add_test(tc, doubt_keeps_the_key_for_a_person);
	tcase_add_test(tc, check_wants_a_live_lease);
	tcase_add_loop_test(tc, zombies_are_refused, 0, VERBS);
	tcase_add_loop_test(tc, another_token_is_refused, 0, VERBS);
	tcase_add_loop_test(tc, what_is_gone_is_gone_for_its_holder_too, 0, VERBS);
	tcase_add_loop_test(tc, ttl_boundary, 0, 2);
	tcase_add_test(tc, results_absent_empty_binary_large);
	return tc;
}
