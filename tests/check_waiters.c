/*
 * check_waiters.c - waiting on plain numbers: order of arrival, waking, asking again, the end of a wait, a client that goes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_rig.h"

#define TIMEOUT_MS 1000
#define LONG_MS 60000
static void setup(void)
{
	struct engine_limits limits = {TIMEOUT_MS, 1000, 1000, 0};

	now_ms = 1000;
	engine_rig_open(&limits, NULL, NULL);
}

static void teardown(void)
{
	ck_assert_uint_eq(engine_waiting(engine), 0);
	engine_rig_close();
}

static void submit(struct op *op, enum ask_verb verb, int64_t wait_ms)
{
	op_init(op, OP_RECORD, slice_from("k"));
	op->ask.verb = verb;
	op->ask.fence = 7;
	op->wait_ms = wait_ms;
	ck_assert(engine_submit(engine, op, now_ms));
}

/* The store answers with the record in this state and so much left of its lease. */
static void store_says(struct op *op, enum word word, enum state state, int64_t left_ms)
{
	op->result = word == WORD_WON || word == WORD_OK || word == WORD_STATUS ? OP_APPLIED : OP_LOST;
	op->verdict.word = word;
	op->record = (struct record){.state = state, .fence = 7, .ttl = TIME_NEVER, .keep_until = TIME_NEVER};
	op->record.lease_until = 1 + left_ms * 1000;
	op->now = 1;
	engine_done(engine, op, now_ms);
}

static void held(struct op *op)
{
	store_says(op, WORD_HELD, STATE_CLAIMED, LONG_MS);
}

static struct op *last_at_store(void)
{
	return at_store[at_store_count - 1];
}

START_TEST(held_is_waited_out)
{
	struct op a, release;

	submit(&a, ASK_CLAIM, 5000);
	held(&a);
	ck_assert_int_eq(answered_count, 0);
	ck_assert_uint_eq(engine_waiting(engine), 1);
	submit(&release, ASK_RELEASE, 0);
	store_says(&release, WORD_OK, STATE_FREE, 0);
	/* In the same call: it does not wait for a turn of the loop. */
	ck_assert_ptr_eq(last_at_store(), &a);
	store_says(&a, WORD_WON, STATE_CLAIMED, LONG_MS);
	ck_assert_int_eq(answered_count, 2);
}
END_TEST

START_TEST(first_come_first_served)
{
	struct op waiter[3], release, newcomer;

	for (int i = 0; i < 3; i++) {
		submit(&waiter[i], ASK_CLAIM, LONG_MS);
		held(&waiter[0]); /* it asks again in front of a newcomer, who hears the same */
	}
	submit(&release, ASK_RELEASE, 0);
	submit(&newcomer, ASK_CLAIM, 0); /* arrives while the release is with the store */
	store_says(&release, WORD_OK, STATE_FREE, 0);
	ck_assert_ptr_eq(last_at_store(), &waiter[0]);
	store_says(&waiter[0], WORD_WON, STATE_CLAIMED, LONG_MS);
	ck_assert_ptr_eq(last_at_store(), &waiter[0]);
	ck_assert_int_eq(newcomer.verdict.word, WORD_HELD);
	ck_assert_int_eq(answered_count, 3);
	for (int i = 1; i < 3; i++) {
		submit(&release, ASK_RELEASE, 0);
		store_says(&release, WORD_OK, STATE_FREE, 0);
		ck_assert_ptr_eq(last_at_store(), &waiter[i]);
		store_says(&waiter[i], WORD_WON, STATE_CLAIMED, LONG_MS);
	}
}
END_TEST

START_TEST(a_newcomer_does_not_get_past_a_waiter)
{
	struct op waiter, newcomer;

	submit(&waiter, ASK_CLAIM, LONG_MS);
	held(&waiter);
	/* The key was released through another daemon: the newcomer would win, had it come first. */
	submit(&newcomer, ASK_CLAIM, 0);
	ck_assert_ptr_eq(last_at_store(), &waiter);
	store_says(&waiter, WORD_WON, STATE_CLAIMED, LONG_MS);
	ck_assert_int_eq(newcomer.verdict.word, WORD_HELD);
	ck_assert_int_eq(answered_count, 2);
}
END_TEST

START_TEST(done_reaches_all_at_once)
{
	struct op waiter[5], complete;

	for (int i = 0; i < 5; i++) {
		submit(&waiter[i], ASK_CLAIM, LONG_MS);
		held(&waiter[0]);
	}
	submit(&complete, ASK_COMPLETE, 0);
	store_says(&complete, WORD_OK, STATE_DONE, 0);
	for (int i = 0; i < 5; i++) {
		ck_assert_ptr_eq(last_at_store(), &waiter[i]);
		store_says(&waiter[i], WORD_DONE, STATE_DONE, 0);
	}
	ck_assert_int_eq(answered_count, 6);
}
END_TEST

START_TEST(it_asks_again_by_itself)
{
	struct op a;
	int64_t next_ms, before_ms = now_ms;

	submit(&a, ASK_CLAIM, LONG_MS);
	held(&a);
	for (int i = 0; i < 12; i++) {
		next_ms = engine_tick(engine, now_ms);
		ck_assert_int_gt(next_ms, now_ms);
		ck_assert_int_le(next_ms - now_ms, 1250);
		now_ms = next_ms;
		engine_tick(engine, now_ms);
		ck_assert_int_eq(at_store_count, i + 2);
		held(&a);
	}
	/* The distances have grown: 50 ms doubled to a second. */
	ck_assert_int_gt(now_ms - before_ms, 5000);
	engine_tick(engine, engine_tick(engine, now_ms));
	store_says(&a, WORD_WON, STATE_CLAIMED, LONG_MS);
	ck_assert_int_eq(answered_count, 1);
}
END_TEST

START_TEST(who_is_left_asks_too)
{
	struct op a, b;

	submit(&a, ASK_CLAIM, LONG_MS);
	held(&a);
	submit(&b, ASK_CLAIM, LONG_MS);
	held(&a); /* b hears the same */
	now_ms = engine_tick(engine, now_ms);
	engine_tick(engine, now_ms);
	ck_assert_ptr_eq(last_at_store(), &a);
	store_says(&a, WORD_WON, STATE_CLAIMED, LONG_MS);
	now_ms += 1250;
	engine_tick(engine, now_ms);
	ck_assert_ptr_eq(last_at_store(), &b);
	store_says(&b, WORD_WON, STATE_CLAIMED, LONG_MS);
	ck_assert_int_eq(answered_count, 2);
}
END_TEST

START_TEST(never_later_than_the_end_of_the_lease)
{
	struct op a;

	submit(&a, ASK_CLAIM, LONG_MS);
	for (int i = 0; i < 8; i++) {
		held(&a);
		now_ms = engine_tick(engine, now_ms);
		engine_tick(engine, now_ms);
	}
	store_says(&a, WORD_HELD, STATE_CLAIMED, 20);
	ck_assert_int_eq(engine_tick(engine, now_ms), now_ms + 20);
	now_ms += 20;
	engine_tick(engine, now_ms);
	store_says(&a, WORD_WON, STATE_CLAIMED, LONG_MS);
}
END_TEST

START_TEST(the_end_of_the_wait_asks_once_more)
{
	struct op a;

	submit(&a, ASK_CLAIM, 30);
	held(&a);
	now_ms += 30;
	engine_tick(engine, now_ms);
	ck_assert_int_eq(at_store_count, 2);
	held(&a);
	ck_assert_int_eq(answered_count, 1);
	ck_assert_int_eq(a.verdict.word, WORD_HELD);
}
END_TEST

START_TEST(a_client_that_goes_leaves_the_queue)
{
	struct op a, b, c, release;

	submit(&a, ASK_CLAIM, LONG_MS);
	held(&a);
	submit(&b, ASK_CLAIM, LONG_MS);
	held(&a); /* b hears the same */
	engine_leave(engine, &a);
	ck_assert_int_eq(answered_count, 1);
	ck_assert_ptr_eq(answered[0], &a);
	submit(&release, ASK_RELEASE, 0);
	submit(&c, ASK_CLAIM, 0);
	engine_leave(engine, &c);       /* not with the store yet */
	engine_leave(engine, &release); /* it is: it goes on */
	store_says(&release, WORD_OK, STATE_FREE, 0);
	ck_assert_ptr_eq(last_at_store(), &b);
	store_says(&b, WORD_WON, STATE_CLAIMED, LONG_MS);
	ck_assert_int_eq(answered_count, 4);
}
END_TEST

/* Its connection has not told yet. */
START_TEST(one_that_is_gone_is_passed_over)
{
	struct op a, b, release;
	int asked;

	submit(&a, ASK_CLAIM, LONG_MS);
	held(&a);
	submit(&b, ASK_CLAIM, LONG_MS);
	held(&a); /* b hears the same */
	dead = &a;
	/* Where the first one is polled, and again. */
	for (int i = 0; i < 3; i++) {
		now_ms = engine_tick(engine, now_ms);
		ck_assert_int_lt(now_ms, LONG_MS);
		engine_tick(engine, now_ms);
		ck_assert_ptr_eq(last_at_store(), &b);
		held(&b);
	}
	/* Where the key is given back. */
	submit(&release, ASK_RELEASE, 0);
	store_says(&release, WORD_OK, STATE_FREE, 0);
	ck_assert_ptr_eq(last_at_store(), &b);
	store_says(&b, WORD_WON, STATE_CLAIMED, LONG_MS);
	/* Where its wait is over. */
	asked = at_store_count;
	engine_tick(engine, now_ms + 2 * LONG_MS);
	ck_assert_int_eq(at_store_count, asked);
	engine_leave(engine, &a);
	ck_assert_int_eq(answered_count, 3);
}
END_TEST

START_TEST(the_last_one_that_goes_takes_the_slot_along)
{
	struct op a;

	submit(&a, ASK_CLAIM, LONG_MS);
	held(&a);
	engine_leave(engine, &a);
	ck_assert_int_eq(engine_tick(engine, now_ms + LONG_MS), INT64_MAX);
}
END_TEST

START_TEST(a_status_waits_until_nobody_holds_it)
{
	struct op look, claim_, release;

	submit(&look, ASK_STATUS, LONG_MS);
	store_says(&look, WORD_STATUS, STATE_CLAIMED, LONG_MS);
	ck_assert_int_eq(answered_count, 0);
	submit(&claim_, ASK_CLAIM, LONG_MS);
	while (last_at_store() != &claim_)
		store_says(last_at_store(), WORD_STATUS, STATE_CLAIMED, LONG_MS);
	held(&claim_);
	submit(&release, ASK_RELEASE, 0);
	store_says(&release, WORD_OK, STATE_FREE, 0);
	ck_assert_ptr_eq(last_at_store(), &look);
	store_says(&look, WORD_STATUS, STATE_FREE, 0);
	ck_assert_ptr_eq(last_at_store(), &claim_);
	store_says(&claim_, WORD_WON, STATE_CLAIMED, LONG_MS);
	ck_assert_int_eq(answered_count, 3);
}
END_TEST

START_TEST(a_store_that_is_down_is_waited_out)
{
	struct op a;

	submit(&a, ASK_CLAIM, 5000);
	op_refuse(&a, ERR_STORE, "down");
	engine_done(engine, &a, now_ms);
	ck_assert_int_eq(answered_count, 0);
	now_ms += 5000;
	engine_tick(engine, now_ms);
	op_refuse(&a, ERR_STORE, "down");
	engine_done(engine, &a, now_ms);
	ck_assert_int_eq(answered_count, 1);
	ck_assert_int_eq(a.err, ERR_STORE);
}
END_TEST

START_TEST(who_does_not_wait_is_answered)
{
	struct op a;

	submit(&a, ASK_CLAIM, 0);
	held(&a);
	ck_assert_int_eq(answered_count, 1);
}
END_TEST

START_TEST(leaving_tells_all_waiters)
{
	static struct op op[20];

	for (int i = 0; i < 20; i++) {
		submit(&op[i], ASK_CLAIM, LONG_MS);
		held(&op[0]);
	}
	engine_abandon(engine, now_ms);
	ck_assert_int_eq(answered_count, 20);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(op[i].err, ERR_DRAINING);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("waiters");
	TCase *tests = tcase_create("waiters");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, held_is_waited_out);
	tcase_add_test(tests, first_come_first_served);
	tcase_add_test(tests, a_newcomer_does_not_get_past_a_waiter);
	tcase_add_test(tests, done_reaches_all_at_once);
	tcase_add_test(tests, it_asks_again_by_itself);
	tcase_add_test(tests, who_is_left_asks_too);
	tcase_add_test(tests, never_later_than_the_end_of_the_lease);
	tcase_add_test(tests, the_end_of_the_wait_asks_once_more);
	tcase_add_test(tests, a_client_that_goes_leaves_the_queue);
	tcase_add_test(tests, one_that_is_gone_is_passed_over);
	tcase_add_test(tests, the_last_one_that_goes_takes_the_slot_along);
	tcase_add_test(tests, a_status_waits_until_nobody_holds_it);
	tcase_add_test(tests, a_store_that_is_down_is_waited_out);
	tcase_add_test(tests, who_does_not_wait_is_answered);
	tcase_add_test(tests, leaving_tells_all_waiters);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
