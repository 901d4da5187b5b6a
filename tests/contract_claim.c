/*
 * contract_claim.c - CLAIM, row by row, and its late copies; what keys and values a store must carry.
 */
#include "contract.h"

#include <string.h>

static const enum state all_states[] = {STATE_ABSENT, STATE_CLAIMED, STATE_DONE,
					STATE_FAILED, STATE_UNKNOWN, STATE_FREE};

START_TEST(row_1_absent_is_won)
{
	struct slice key = key_of("a");
	struct ask ask = ask_claim(TOKEN);
	const struct op *op;

	ask.atleast = 1000 * MS;
	ask.lapse = LAPSE_UNKNOWN;
	op = expect(key, ask, WORD_WON);
	ck_assert_int_eq(op->verdict.was, WAS_NEW);
	ck_assert_int_eq(op->record.state, STATE_CLAIMED);
	ck_assert_int_eq(op->record.attempts, 1);
	ck_assert_int_eq(op->record.lease_until, op->now + LONG);
	ck_assert_int_eq(op->record.ttl, 2 * LONG);
	ck_assert_int_eq(op->record.earliest, op->now + 1000 * MS);
	ck_assert_int_eq(op->record.lapse, LAPSE_UNKNOWN);
	ck_assert_int_eq(op->record.created, op->now);
	ck_assert_int_eq(op->record.updated, op->now);
	/* a clock since 1970 in microseconds, or close to it where the store must choose before it asks */
	ck_assert_int_ge(op->record.fence, op->now - 60 * 1000 * MS);
	ck_assert_int_le(op->record.fence, op->now + 60 * 1000 * MS);
	ck_assert(slice_equal(op->record.token, TOKEN) && slice_equal(op->record.fp, FP));
	ck_assert(slice_equal(op->record.owner, SLICE_OF("w1")) && !op->record.result.data);
	same_record(&status(key)->record, &op->record);
}
END_TEST

START_TEST(row_1_gone_is_new)
{
	struct slice key = key_of("a");
	struct ask ask = ask_claim(TOKEN);
	const struct op *first, *second;

	ask.lease = ask.ttl = 2 * MS;
	first = expect(key, ask, WORD_WON);
	ck_assert_int_eq(wait_until(key, first->now + 4 * MS)->record.state, STATE_ABSENT);
	second = expect(key, ask_claim(TOKEN), WORD_WON); /* its own token is nothing special any more */
	ck_assert_int_eq(second->verdict.was, WAS_NEW);
	ck_assert_int_eq(second->record.attempts, 1);
	ck_assert_int_gt(second->record.fence, first->record.fence);
	ck_assert_int_eq(second->record.created, second->now);
}
END_TEST

START_TEST(row_2_own_call_again)
{
	struct slice key = key_of("a");
	int64_t fence = won(key);
	const struct op *op = expect_no_change(key, ask_claim(TOKEN), WORD_WON);

	ck_assert_int_eq(op->verdict.was, WAS_OWN);
	ck_assert_int_eq(op->record.fence, fence);
}
END_TEST

START_TEST(row_2_lapsed_gets_a_new_lease)
{
	enum lapse lapse = _i ? LAPSE_UNKNOWN : LAPSE_RECLAIM;
	struct slice key = key_of("a");
	struct record want;
	const struct op *op;

	won_and_lapsed(key, lapse);
	want = status(key)->record;
	op = expect(key, ask_claim(TOKEN), WORD_WON);
	ck_assert_int_eq(op->verdict.was, WAS_OWN);
	want.lease_until = op->now + LONG;
	same_record(&op->record, &want);
	same_record(&status(key)->record, &want);
}
END_TEST

START_TEST(row_3_token_already_used)
{
	struct slice key = key_of("a");

	make_state(key, STATE_FREE);
	ck_assert_int_eq(expect_no_change(key, ask_claim(TOKEN), WORD_ERR)->verdict.err, ERR_BADOPT);
}
END_TEST

START_TEST(row_4_free_is_won_again)
{
	struct slice key = key_of("a");
	struct record before = *make_state(key, STATE_FREE);
	struct ask ask = ask_claim(OTHER);
	const struct op *op;

	ask.fp = FP2;
	op = expect(key, ask, WORD_WON);
	ck_assert_int_eq(op->verdict.was, WAS_FREE);
	ck_assert_int_eq(op->record.attempts, 2);
	ck_assert_int_gt(op->record.fence, before.fence);
	ck_assert_int_eq(op->record.created, before.created);
	ck_assert_int_eq(op->record.updated, op->now);
	ck_assert(slice_equal(op->record.fp, FP2) && slice_equal(op->record.token, OTHER));
	same_record(&status(key)->record, &op->record);
}
END_TEST

START_TEST(row_5_free_is_held_until_earliest)
{
	struct slice key = key_of("a"), key2 = key_of("b");
	struct ask ask = ask_claim(TOKEN);
	const struct op *op;

	ask.atleast = LONG;
	expect(key, ask_holder(ASK_RELEASE, expect(key, ask, WORD_WON)->record.fence), WORD_OK);
	op = expect_no_change(key, ask_claim(OTHER), WORD_HELD);
	ck_assert_int_gt(record_left_ms(&op->record, op->now), 0);

	ask.atleast = 5 * MS;
	op = expect(key2, ask, WORD_WON);
	expect(key2, ask_holder(ASK_RELEASE, op->record.fence), WORD_OK);
	wait_until(key2, op->record.earliest);
	expect(key2, ask_claim(OTHER), WORD_WON);
}
END_TEST

START_TEST(row_6_other_fingerprint)
{
	const enum state states[] = {STATE_CLAIMED, STATE_DONE, STATE_FAILED, STATE_UNKNOWN};
	const char *const names[] = {"c", "d", "f", "u"};
	struct ask ask = ask_claim(OTHER), own = ask_claim(TOKEN);
	struct slice lapsed = key_of("l");
	size_t i;

	ask.fp = own.fp = FP2;
	for (i = 0; i < 4; i++) {
		struct slice key = key_of(names[i]);

		make_state(key, states[i]);
		expect_no_change(key, ask, WORD_MISMATCH);
		expect_no_change(key, own, WORD_MISMATCH);
	}
	won_and_lapsed(lapsed, LAPSE_RECLAIM);
	expect_no_change(lapsed, ask, WORD_MISMATCH);
	ask.fp = SLICE_ABSENT; /* nothing to differ */
	expect_no_change(key_of("d"), ask, WORD_DONE);
}
END_TEST

START_TEST(rows_7_8_9_10_settled_unknown_live)
{
	struct slice done = key_of("d"), failed = key_of("f"), unknown = key_of("u"), live = key_of("c");
	const struct op *op;

	make_state(done, STATE_DONE);
	op = expect_no_change(done, ask_claim(OTHER), WORD_DONE); /* 7 */
	ck_assert(slice_equal(op->record.result, SLICE_OF("result")));
	make_state(failed, STATE_FAILED);
	op = expect_no_change(failed, ask_claim(OTHER), WORD_FAILED); /* 8 */
	ck_assert(slice_equal(op->record.result, SLICE_OF("result")));
	make_state(unknown, STATE_UNKNOWN);
	expect_no_change(unknown, ask_claim(OTHER), WORD_UNKNOWN); /* 9 */
	make_state(live, STATE_CLAIMED);
	op = expect_no_change(live, ask_claim(OTHER), WORD_HELD); /* 10 */
	ck_assert(slice_equal(op->record.owner, SLICE_OF("w1")));
	ck_assert_int_gt(record_left_ms(&op->record, op->now), 0);
}
END_TEST

START_TEST(row_10_no_token_is_nobodys)
{
	struct slice key = key_of("a");

	expect(key, ask_claim(SLICE_ABSENT), WORD_WON);
	expect_no_change(key, ask_claim(SLICE_ABSENT), WORD_HELD);
}
END_TEST

START_TEST(row_11_lapsed_under_unknown_is_never_reclaimed)
{
	struct slice key = key_of("a");
	struct ask ask = ask_claim(TOKEN);
	const struct op *op;

	ask.lapse = LAPSE_UNKNOWN;
	ask.lease = ask.ttl = MS;
	op = expect(key, ask, WORD_WON);
	op = wait_until(key, op->record.lease_until + 10 * MS); /* far past lease + ttl */
	ck_assert_int_eq(op->record.state, STATE_CLAIMED);
	ck_assert_int_eq(record_shown(&op->record, op->now), STATE_UNKNOWN);
	expect_no_change(key, ask_claim(OTHER), WORD_UNKNOWN);
	ck_assert_int_eq(
	    rig_scan(rig, OP_SWEEP, (struct scan){.state = -1, .limit = 1000, .prefix = corner()})->op.deleted, 0);
	expect_no_change(key, ask_claim(OTHER), WORD_UNKNOWN);
}
END_TEST

START_TEST(row_12_lapsed_is_taken_over)
{
	struct slice key = key_of("a");
	int64_t fence = won_and_lapsed(key, LAPSE_RECLAIM);
	int64_t created = status(key)->record.created;
	struct ask ask = ask_claim(OTHER);
	const struct op *op;

	ask.fp = SLICE_ABSENT;
	ask.owner = SLICE_ABSENT;
	op = expect(key, ask, WORD_WON);
	ck_assert_int_eq(op->verdict.was, WAS_LAPSED);
	ck_assert_int_eq(op->record.attempts, 2);
	ck_assert_int_gt(op->record.fence, fence);
	ck_assert_int_eq(op->record.created, created);
	ck_assert(slice_equal(op->record.fp, FP) && slice_equal(op->record.token, OTHER) && !op->record.owner.data);
	same_record(&status(key)->record, &op->record);
}
END_TEST

/* A copy of the CLAIM that made the record comes once more, whatever has happened to it since. */
START_TEST(late_copy_changes_nothing)
{
	const enum word words[] = {WORD_WON, WORD_WON, WORD_DONE, WORD_FAILED, WORD_UNKNOWN, WORD_ERR};
	struct slice key = key_of("a");

	make_state(key, all_states[_i]);
	if (all_states[_i] == STATE_ABSENT) {
		expect(key, ask_claim(TOKEN), WORD_WON);
		return;
	}
	expect_no_change(key, ask_claim(TOKEN), words[_i]);
	wait_until(key, status(key)->now + 5 * MS);
	expect_no_change(key, ask_claim(TOKEN), words[_i]);
}
END_TEST

START_TEST(late_copy_after_a_takeover_is_held)
{
	struct slice key = key_of("a");

	won_and_lapsed(key, LAPSE_RECLAIM);
	expect(key, ask_claim(OTHER), WORD_WON);
	expect_no_change(key, ask_claim(TOKEN), WORD_HELD);
}
END_TEST

/* ---- keys and values ---- */

START_TEST(keys_of_one_octet_are_all_different)
{
	struct slice key[256];
	int64_t fence[256];
	size_t i;

	for (i = 0; i < 256; i++) {
		unsigned char octet = (unsigned char)i;

		key[i] = key_bytes(&octet, 1);
		forget(key[i]);
	}
	for (i = 0; i < 256; i++)
		fence[i] = won(key[i]);
	for (i = 0; i < 256; i++) {
		ck_assert_int_eq(status(key[i])->record.fence, fence[i]);
		forget(key[i]);
	}
}
END_TEST

START_TEST(keys_of_1024_octets_are_compared_whole)
{
	char text[1024];
	struct slice a, b, shorter, longer;
	int64_t fence;
	size_t i;

	for (i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * 7);
	memcpy(text, corner().data, corner().len);
	a = key_bytes(text, sizeof(text));
	text[1023]++;
	b = key_bytes(text, sizeof(text));
	shorter = key_bytes(text, 1023);
	longer = key_bytes(a.data, 1022);
	fence = won(a);
	ck_assert_int_eq(status(b)->record.state, STATE_ABSENT);
	won(b);
	won(shorter);
	won(longer);
	ck_assert_int_eq(status(a)->record.fence, fence);
}
END_TEST

START_TEST(keys_that_look_alike)
{
	const struct slice ends[] = {SLICE_OF("key"),        SLICE_OF("Key"),         SLICE_OF("key "),
				     SLICE_OF("k\xc3\xa9y"), SLICE_OF("ke\xcc\x81y"), SLICE_OF("key\0x"),
				     SLICE_OF("key\0"),      SLICE_OF("key\xff"),     SLICE_OF("1"),
				     SLICE_OF("01"),         SLICE_OF("1.0")};
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		char text[128];

		memcpy(text, corner().data, corner().len);
		memcpy(text + corner().len, ends[i].data, ends[i].len);
		ck_assert_int_eq(
		    expect(key_bytes(text, corner().len + ends[i].len), ask_claim(TOKEN), WORD_WON)->verdict.was,
		    WAS_NEW);
	}
}
END_TEST

START_TEST(values_at_their_limits)
{
	char all[256];
	struct slice key = key_of("a"), key2 = key_of("b");
	struct ask ask = ask_claim((struct slice){all + 192, 64});
	size_t i;

	for (i = 0; i < sizeof(all); i++)
		all[i] = (char)i;
	ask.fp = (struct slice){all, 128};
	ask.owner = (struct slice){all + 128, 128};
	ask.ttl = TIME_NEVER;
	ask.lease = PROTO_MAX_LEASE_MS * MS;
	expect(key, ask, WORD_WON);
	ck_assert(slice_equal(status(key)->record.fp, ask.fp));
	ck_assert(slice_equal(status(key)->record.owner, ask.owner));
	ck_assert(slice_equal(status(key)->record.token, ask.token));
	ck_assert_int_eq(status(key)->record.ttl, TIME_NEVER);
	expect_no_change(key, ask, WORD_WON);
	ask.fp = ask.owner = SLICE_ABSENT; /* none is not empty */
	expect(key2, ask, WORD_WON);
	ck_assert(!status(key2)->record.fp.data && !status(key2)->record.owner.data);
}
END_TEST

TCase *contract_claim(void)
{
	TCase *tc = tcase_create("claim");

	tcase_add_test(tc, row_1_absent_is_won);
	tcase_add_test(tc, row_1_gone_is_new);
	tcase_add_test(tc, row_2_own_call_again);
	tcase_add_loop_test(tc, row_2_lapsed_gets_a_new_lease, 0, 2);
	tcase_add_test(tc, row_3_token_already_used);
	tcase_add_test(tc, row_4_free_is_won_again);
	tcase_add_test(tc, row_5_free_is_held_until_earliest);
	tcase_add_test(tc, row_6_other_fingerprint);
	tcase_add_test(tc, rows_7_8_9_10_settled_unknown_live);
	tcase_add_test(tc, row_10_no_token_is_nobodys);
	tcase_add_test(tc, row_11_lapsed_under_unknown_is_never_reclaimed);
	tcase_add_test(tc, row_12_lapsed_is_taken_over);
	tcase_add_loop_test(tc, late_copy_changes_nothing, 0, 6);
	tcase_add_test(tc, late_copy_after_a_takeover_is_held);
	tcase_add_test(tc, keys_of_one_octet_are_all_different);
	tcase_add_test(tc, keys_of_1024_octets_are_compared_whole);
	tcase_add_test(tc, keys_that_look_alike);
	tcase_add_test(tc, values_at_their_limits);
	return tc;
}
