/*
 * contract_operator.c - RESOLVE and FORGET.
 */
#include "contract.h"

START_TEST(resolve_unknown)
{
	const enum state as[] = {STATE_DONE, STATE_FAILED, STATE_FREE};
	const enum word then[] = {WORD_DONE, WORD_FAILED, WORD_WON};
	struct slice key = key_of("a"), key2 = key_of("b");
	struct ask ask = ask_resolve(as[_i], false);
	int64_t fence = make_state(key, STATE_UNKNOWN)->fence;
	const struct op *op;

	ask.fence = fence;
	ask.ttl = 3 * LONG;
	op = expect(key, ask, WORD_OK);
	ck_assert_int_eq(op->record.state, as[_i]);
	ck_assert_int_eq(op->record.fence, as[_i] == STATE_FREE ? fence + 1 : fence);
	ck_assert_int_eq(op->record.keep_until, as[_i] == STATE_FREE ? 0 : op->now + 3 * LONG);
	ck_assert_int_eq(op->record.updated, op->now);
	ck_assert(!op->record.result.data);
	ck_assert_int_eq(op->record.fp.data == NULL, as[_i] == STATE_FREE);
	ck_assert(slice_equal(op->record.token, TOKEN));
	same_record(&status(key)->record, &op->record);
	ask.fence = op->record.fence;
	expect_no_change(key, ask, WORD_OK); /* already so */
	if (as[_i] == STATE_FREE) {
		expect_no_change(key, ask_holder(ASK_COMPLETE, fence), WORD_STALE);
		ck_assert_int_eq(expect_no_change(key, ask_claim(TOKEN), WORD_ERR)->verdict.err, ERR_BADOPT);
	}
	expect(key, ask_claim(OTHER), then[_i]);

	won_and_lapsed(key2, LAPSE_UNKNOWN);
	ask = ask_resolve(as[_i], false);
	ask.result = SLICE_OF("by hand");
	op = expect(key2, ask, WORD_OK);
	ck_assert_int_eq(op->record.result.data != NULL, as[_i] != STATE_FREE);
	expect(key2, ask_claim(OTHER), then[_i]);
}
END_TEST

START_TEST(resolve_lapsed)
{
	struct slice key = key_of("a");

	won_and_lapsed(key, LAPSE_RECLAIM);
	expect(key, ask_resolve(STATE_FAILED, false), WORD_OK);
	expect(key, ask_claim(OTHER), WORD_FAILED);
}
END_TEST

START_TEST(resolve_absent_or_another_fence)
{
	struct slice key = key_of("a");
	struct ask ask = ask_resolve(STATE_DONE, true);

	expect_no_change(key, ask, WORD_NOTFOUND);
	ask.fence = make_state(key, STATE_UNKNOWN)->fence + 1;
	expect_no_change(key, ask, WORD_STALE);
}
END_TEST

START_TEST(resolve_what_is_settled_or_live_needs_force)
{
	const enum state from[] = {STATE_CLAIMED, STATE_DONE, STATE_FAILED, STATE_FREE};
	const enum state as[] = {STATE_FREE, STATE_FREE, STATE_DONE, STATE_DONE};
	const enum word words[] = {WORD_HELD, WORD_DONE, WORD_FAILED, WORD_STALE};
	struct slice key = key_of("a");
	struct record before = *make_state(key, from[_i]);
	const struct op *op;

	expect_no_change(key, ask_resolve(as[_i], false), words[_i]);
	op = expect(key, ask_resolve(as[_i], true), WORD_OK);
	ck_assert_int_eq(op->record.state, as[_i]);
	ck_assert_int_eq(op->record.fence, before.fence + (as[_i] == STATE_FREE));
	ck_assert(!op->record.result.data);
	same_record(&status(key)->record, &op->record);
}
END_TEST

/* Once the clock is past the fence. */
static const struct op *forget_says(struct slice key, struct ask ask, enum word word)
{
	wait_until(key, status(key)->record.fence + 1);
	return expect(key, ask, word);
}

START_TEST(forget_what_has_ended)
{
	const enum state states[] = {STATE_DONE, STATE_FAILED, STATE_FREE, STATE_CLAIMED};
	struct slice key = key_of("a");
	struct ask ask = ask_forget(false);
	const struct op *op;
	int64_t fence;

	if (states[_i] == STATE_CLAIMED)
		fence = won_and_lapsed(key, LAPSE_RECLAIM);
	else
		fence = make_state(key, states[_i])->fence;
	ask.fence = fence + 1;
	expect_no_change(key, ask, WORD_STALE);
	ask.fence = fence;
	op = forget_says(key, ask, WORD_OK);
	ck_assert_int_eq(op->record.state, STATE_ABSENT);
	ck_assert_int_eq(op->record.fence, fence); /* which claim that was */
	ck_assert_int_eq(status(key)->record.state, STATE_ABSENT);
	expect_no_change(key, ask, WORD_NOTFOUND);
	ck_assert_int_gt(won(key), fence); /* a fence does not come back */
	ck_assert_int_eq(status(key)->record.attempts, 1);
}
END_TEST

START_TEST(forget_live_or_unknown_needs_force)
{
	struct slice live = key_of("c"), unknown = key_of("u"), lapsed = key_of("z");
	struct slice keys[] = {live, unknown, lapsed};
	const enum word words[] = {WORD_HELD, WORD_UNKNOWN, WORD_UNKNOWN};
	size_t i;

	make_state(live, STATE_CLAIMED);
	make_state(unknown, STATE_UNKNOWN);
	won_and_lapsed(lapsed, LAPSE_UNKNOWN);
	for (i = 0; i < 3; i++) {
		int64_t fence = status(keys[i])->record.fence;

		forget_says(keys[i], ask_forget(false), words[i]);
		ck_assert_int_eq(status(keys[i])->record.fence, fence);
		forget_says(keys[i], ask_forget(true), WORD_OK);
		ck_assert_int_eq(status(keys[i])->record.state, STATE_ABSENT);
	}
}
END_TEST

/* Fences of one key rise through everything that can happen to it. */
START_TEST(fences_only_rise)
{
	struct slice key = key_of("a");
	int64_t last = 0;
	int round;

	for (round = 0; round < 40; round++) {
		struct ask ask = ask_claim(round % 2 ? TOKEN : OTHER);
		const struct op *op;

		ask.lease = ask.ttl = round % 5 == 4 ? MS : LONG;
		op = expect(key, ask, WORD_WON);
		ck_assert_int_gt(op->record.fence, last);
		last = op->record.fence;
		if (round % 5 == 0) {
			expect(key, ask_holder(ASK_RELEASE, last), WORD_OK);
		} else if (round % 5 == 1) {
			expect(key, ask_resolve(STATE_FREE, true), WORD_OK);
		} else if (round % 5 == 2) {
			forget(key);
		} else if (round % 5 == 3) {
			ask = ask_holder(ASK_COMPLETE, last);
			ask.ttl = 1; /* gone at once */
			op = expect(key, ask, WORD_OK);
			wait_until(key, op->record.keep_until);
		} else {
			wait_until(key, op->record.lease_until + (round == 4 ? 0 : MS));
		}
	}
}
END_TEST

TCase *contract_operator(void)
{
	TCase *tc = tcase_create("operator");

	tcase_add_loop_test(tc, resolve_unknown, 0, 3);
	tcase_add_test(tc, resolve_lapsed);
	tcase_add_test(tc, resolve_absent_or_another_fence);
	tcase_add_loop_test(tc, resolve_what_is_settled_or_live_needs_force, 0, 4);
	tcase_add_loop_test(tc, forget_what_has_ended, 0, 4);
	tcase_add_test(tc, forget_live_or_unknown_needs_force);
	tcase_add_test(tc, fences_only_rise);
	return tc;
}
