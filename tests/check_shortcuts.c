/*
 * check_shortcuts.c - answers without the store, one by one: CLAIMs that are answered by the answer to one before them, and outcomes
 * that are remembered.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../server/done_cache.h"
#include "shared_store.h"

#define SECOND_US INT64_C(1000000)
#define CACHE_OCTETS 65536

static void setup(void)
{
	shared_open(CACHE_OCTETS);
}

static struct ask claim_of(const char *token, const char *fp)
{
	return (struct ask){.verb = ASK_CLAIM,
			    .lease = 10 * SECOND_US,
			    .ttl = 3600 * SECOND_US,
			    .token = slice_from(token),
			    .fp = fp != NULL ? slice_from(fp) : SLICE_ABSENT};
}

static void claim(int at, const char *token)
{
	struct ask ask = claim_of(token, NULL);

	shared_submit(&visit[at], 0, 0, &ask);
}

static void settle(int at, enum ask_verb verb, enum state as, const char *result)
{
	struct ask ask = {.verb = verb,
			  .as = as,
			  .force = true,
			  .fence = shared_record(0).fence,
			  .ttl = 3600 * SECOND_US,
			  .result = slice_from(result)};

	shared_submit(&visit[at], 0, 0, &ask);
}

static void done(int at)
{
	shared_done(&visit[at]);
}

static void expect(int at, enum word word)
{
	ck_assert(visit[at].heard);
	ck_assert_int_eq(visit[at].op.verdict.word, word);
}

/* Key 0 is done: it was won, and settled with this result. */
static void make_done(const char *fp)
{
	struct ask ask = claim_of("the first of all", fp);

	shared_submit(&visit[0], 0, 0, &ask);
	done(0);
	settle(0, ASK_COMPLETE, STATE_DONE, "paid");
	done(0);
}

/* ---- collapse ---- */

START_TEST(a_hot_key_costs_two_operations)
{
	char token[SHARED_VISITS][20];

	for (int i = 0; i < SHARED_VISITS; i++) {
		snprintf(token[i], sizeof token[i], "token-number-%04d", i);
		claim(i, token[i]);
	}
	done(0);
	expect(0, WORD_WON);
	done(1); /* the others were there when the store was asked for it */
	for (int i = 1; i < SHARED_VISITS; i++)
		expect(i, WORD_HELD);
	ck_assert_uint_eq(at_store, 2);
	ck_assert_uint_eq(engine_collapsed(engine[0]), SHARED_VISITS - 2);
}
END_TEST

START_TEST(nobody_hears_of_a_time_before_the_own_question)
{
	claim(0, "token-number-0000");
	shared_decide(&visit[0]);
	claim(1, "token-number-0001");
	done(0);
	ck_assert(visit[1].asked);
	done(1);
	expect(1, WORD_HELD);
	ck_assert_uint_eq(engine_collapsed(engine[0]), 0);
}
END_TEST

/* Three claims of which the last one asks as `ask` says; the second has been answered so much later. */
static void third_asks(struct ask ask, int64_t later_us)
{
	claim(0, "token-number-0000");
	claim(1, "token-number-0001");
	shared_submit(&visit[2], 0, 0, &ask);
	done(0);
	shared_decide(&visit[1]);
	now_us += later_us;
	done(1);
	expect(1, WORD_HELD);
}

START_TEST(a_lease_that_is_over_is_for_the_store)
{
	third_asks(claim_of("token-number-0002", NULL), 10 * SECOND_US);
	ck_assert(visit[2].asked);
	done(2);
	expect(2, WORD_WON);
}
END_TEST

START_TEST(the_own_token_hears_of_its_win)
{
	third_asks(claim_of("token-number-0000", NULL), 4 * SECOND_US);
	ck_assert(!visit[2].asked);
	expect(2, WORD_WON);
	ck_assert_int_eq(visit[2].op.verdict.was, WAS_OWN);
	ck_assert_int_eq(record_left_ms(&visit[2].op.record, visit[2].op.now), 5999);
	ck_assert_int_eq(visit[2].op.sent_ms, shared_ms());
}
END_TEST

START_TEST(another_fp_is_a_mismatch)
{
	struct ask first = claim_of("token-number-0000", "A"), other = claim_of("token-number-0002", "B");

	shared_submit(&visit[0], 0, 0, &first);
	claim(1, "token-number-0001");
	shared_submit(&visit[2], 0, 0, &other);
	done(0);
	done(1);
	ck_assert(!visit[2].asked);
	expect(2, WORD_MISMATCH);
}
END_TEST

START_TEST(what_changes_the_record_ends_it)
{
	claim(0, "token-number-0000");
	claim(1, "token-number-0001");
	done(0);
	settle(2, ASK_RELEASE, STATE_FREE, "");
	claim(3, "token-number-0003");
	done(1);
	ck_assert(visit[2].asked);
	done(2);
	ck_assert(visit[3].asked);
	done(3);
	expect(3, WORD_WON);
}
END_TEST

START_TEST(what_is_not_known_answers_nobody)
{
	claim(0, "token-number-0000");
	claim(1, "token-number-0001");
	claim(2, "token-number-0002");
	op_doubt(&visit[0].op, ERR_TIMEOUT, "no answer");
	engine_done(engine[0], &visit[0].op, shared_ms());
	op_refuse(&visit[1].op, ERR_STORE, "down");
	engine_done(engine[0], &visit[1].op, shared_ms());
	ck_assert(visit[2].asked);
	done(2);
	expect(2, WORD_WON);
}
END_TEST

/* Its connection ends while those before it are being answered. */
START_TEST(one_that_leaves_then_is_answered_once)
{
	claim(0, "token-number-0000");
	claim(1, "token-number-0001");
	claim(2, "token-number-0002");
	done(0);
	visit[1].op.deadline_ms = 0;
	done(1);
	expect(2, WORD_HELD);
	engine_leave(engine[0], &visit[2].op);
	ck_assert_uint_eq(engine_pending(engine[0]), 0);
}
END_TEST

/* ---- what is remembered ---- */

START_TEST(a_redelivery_is_answered_from_memory)
{
	make_done(NULL);
	for (int i = 1; i < 4; i++) {
		claim(i, "token-number-0001");
		if (i == 1)
			done(i);
		expect(i, WORD_DONE);
		ck_assert(slice_equal(visit[i].op.record.result, slice_from("paid")));
		now_us += SECOND_US;
	}
	ck_assert_uint_eq(at_store, 3);
	ck_assert_uint_eq(engine_recalled(engine[0]), 2);
}
END_TEST

/* Nor of what an operator is told. */
START_TEST(nothing_is_remembered_of_a_settlement)
{
	struct ask resolve = {.verb = ASK_RESOLVE, .as = STATE_FAILED};

	make_done(NULL);
	shared_submit(&visit[1], 0, 0, &resolve);
	done(1);
	expect(1, WORD_DONE);
	claim(1, "token-number-0001");
	ck_assert(visit[1].asked);
	done(1);
}
END_TEST

START_TEST(another_fp_is_a_mismatch_here_too)
{
	struct ask other = claim_of("token-number-0002", "B");

	make_done("A");
	claim(1, "token-number-0001");
	done(1);
	shared_submit(&visit[2], 0, 0, &other);
	ck_assert(!visit[2].asked);
	expect(2, WORD_MISMATCH);
}
END_TEST

START_TEST(who_settles_by_hand_here_is_seen_at_once)
{
	static const enum ask_verb verbs[] = {ASK_RESOLVE, ASK_FORGET};

	for (size_t i = 0; i < 2; i++) {
		make_done(NULL);
		claim(1, "token-number-0001");
		done(1);
		settle(2, verbs[i], STATE_FREE, "");
		claim(3, "token-number-0003"); /* behind it */
		now_us += 1000;
		/* It was done, and nobody heard of that. */
		shared_decide(&visit[2]);
		op_doubt(&visit[2].op, ERR_TIMEOUT, "no answer");
		engine_done(engine[0], &visit[2].op, shared_ms());
		ck_assert(visit[3].asked);
		done(3);
		expect(3, WORD_WON);
		settle(3, ASK_FORGET, STATE_FREE, "");
		done(3);
	}
}
END_TEST

START_TEST(elsewhere_it_is_seen_within_a_minute)
{
	struct ask forget = {.verb = ASK_FORGET, .force = true};

	make_done(NULL);
	claim(1, "token-number-0001");
	done(1);
	now_us += 1000;
	shared_submit(&visit[2], 1, 0, &forget);
	done(2);
	now_us += DONE_CACHE_MAX_MS * 1000 - 2000;
	claim(3, "token-number-0003");
	expect(3, WORD_DONE);
	now_us += 2000;
	claim(4, "token-number-0004");
	ck_assert(visit[4].asked);
	done(4);
	expect(4, WORD_WON);
}
END_TEST

START_TEST(it_ends_with_the_record)
{
	make_done(NULL);
	now_us += 3600 * SECOND_US - 5 * SECOND_US;
	claim(1, "token-number-0001");
	done(1);
	now_us += 5 * SECOND_US - 2000;
	claim(2, "token-number-0002");
	expect(2, WORD_DONE);
	now_us += 2000;
	claim(3, "token-number-0003");
	ck_assert(visit[3].asked);
	done(3);
	expect(3, WORD_WON);
}
END_TEST

START_TEST(with_nothing_to_remember_in_all_ask)
{
	shared_close();
	shared_open(0);
	make_done(NULL);
	for (int i = 1; i < 3; i++) {
		claim(i, "token-number-0001");
		ck_assert(visit[i].asked);
		done(i);
		expect(i, WORD_DONE);
	}
}
END_TEST

/* Outcomes of many keys and lengths, in any order: the newest are there, and never more octets than wanted. */
START_TEST(the_memory_is_bounded)
{
	struct done_cache cache;
	struct hash_seed seed = {1, 2};
	static char result[CACHE_OCTETS / 8];
	char name[16];
	struct op op;

	done_cache_init(&cache, CACHE_OCTETS, &seed);
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof name, "key-%d", i * 7919 % 3000);
		op_init(&op, OP_RECORD, slice_from(name));
		op.ask = claim_of("token-number-0001", NULL);
		op.record = (struct record){.state = STATE_DONE, .fence = 1 + i, .keep_until = TIME_NEVER};
		op.record.result = (struct slice){result, (size_t)(i % 10 == 0 ? i % (CACHE_OCTETS / 8) : i % 50)};
		done_cache_put(&cache, &op);
		ck_assert_uint_le(cache.octets, CACHE_OCTETS);
		if (cache.octets == 0 || op.record.result.len > CACHE_OCTETS / 32)
			continue;
		ck_assert(done_cache_answers(&cache, &op, 0));
		ck_assert_int_eq(op.record.fence, 1 + i);
		op_release(&op);
	}
	ck_assert_uint_gt(cache.octets, CACHE_OCTETS / 2);
	done_cache_release(&cache);
	ck_assert_uint_eq(cache.octets, 0);
	ck_assert_uint_eq(cache.count, 0);
}
END_TEST

/* Whose outcome is asked for now and then stays, whatever else comes. */
START_TEST(what_is_used_stays)
{
	char name[16];
	struct done_cache cache;
	struct hash_seed seed = {1, 2};
	struct op op;

	done_cache_init(&cache, 4096, &seed);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "key-%d", i);
		op_init(&op, OP_RECORD, slice_from(name));
		op.record = (struct record){.state = STATE_DONE, .fence = 1, .keep_until = TIME_NEVER};
		done_cache_put(&cache, &op);
		op_init(&op, OP_RECORD, slice_from("key-0"));
		ck_assert(done_cache_answers(&cache, &op, 0));
		op_release(&op);
	}
	op_init(&op, OP_RECORD, slice_from("key-900"));
	ck_assert(!done_cache_answers(&cache, &op, 0));
	done_cache_release(&cache);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shortcuts");
	TCase *tests = tcase_create("shortcuts");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tests, setup, shared_close);
	tcase_add_test(tests, a_hot_key_costs_two_operations);
	tcase_add_test(tests, nobody_hears_of_a_time_before_the_own_question);
	tcase_add_test(tests, a_lease_that_is_over_is_for_the_store);
	tcase_add_test(tests, the_own_token_hears_of_its_win);
	tcase_add_test(tests, another_fp_is_a_mismatch);
	tcase_add_test(tests, what_changes_the_record_ends_it);
	tcase_add_test(tests, what_is_not_known_answers_nobody);
	tcase_add_test(tests, one_that_leaves_then_is_answered_once);
	tcase_add_test(tests, a_redelivery_is_answered_from_memory);
	tcase_add_test(tests, nothing_is_remembered_of_a_settlement);
	tcase_add_test(tests, another_fp_is_a_mismatch_here_too);
	tcase_add_test(tests, who_settles_by_hand_here_is_seen_at_once);
	tcase_add_test(tests, elsewhere_it_is_seen_within_a_minute);
	tcase_add_test(tests, it_ends_with_the_record);
	tcase_add_test(tests, with_nothing_to_remember_in_all_ask);
	tcase_add_test(tests, the_memory_is_bounded);
	tcase_add_test(tests, what_is_used_stays);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
