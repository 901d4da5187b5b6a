/*
 * check_engine.c - the engine on plain numbers: order per key, deadlines, late answers, wins taken back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../proto/mem.h"
#include "engine_rig.h"

#define TIMEOUT_MS 1000
#define LEASE_MS 5000
#define TTL_MS 60000
#define MAX 64

static void setup(void)
{
	struct engine_limits limits = {TIMEOUT_MS, LEASE_MS, TTL_MS, 0};

	now_ms = 1;
	engine_rig_open(&limits, NULL, NULL);
}

static void claim(struct op *op, const char *key, int64_t at_ms)
{
	op_init(op, OP_RECORD, slice_from(key));
	op->ask.verb = ASK_CLAIM;
	op->ask.token = slice_from("0123456789abcdef");
	ck_assert(engine_submit(engine, op, at_ms));
}

/* The store answers with a win of this fence. */
static void win(struct op *op, int64_t fence)
{
	op->result = OP_APPLIED;
	op->verdict.word = WORD_WON;
	op->record.state = STATE_CLAIMED;
	op->record.fence = fence;
	engine_done(engine, op, now_ms);
}

/* More than the table of keys has room for at first: each is still found. */
START_TEST(many_keys_at_a_time)
{
	static struct op first[RIG_MAX / 2], second[RIG_MAX / 2];
	static char key[RIG_MAX / 2][8];

	for (int i = 0; i < RIG_MAX / 2; i++) {
		snprintf(key[i], sizeof key[i], "k%d", i);
		claim(&first[i], key[i], 0);
	}
	ck_assert_int_eq(at_store_count, RIG_MAX / 2);
	for (int i = 0; i < RIG_MAX / 2; i++)
		claim(&second[i], key[i], 0);
	ck_assert_int_eq(at_store_count, RIG_MAX / 2); /* each waits behind the one of its key */
	for (int i = 0; i < RIG_MAX / 2; i++)
		win(&first[i], 1);
	ck_assert_int_eq(at_store_count, RIG_MAX);
	for (int i = 0; i < RIG_MAX / 2; i++)
		win(&second[i], 1);
	ck_assert_int_eq(answered_count, RIG_MAX);
}
END_TEST

START_TEST(one_op_per_key_at_a_time)
{
	struct op a, b, c, other;

	claim(&a, "k", 0);
	claim(&b, "k", 0);
	claim(&c, "k", 0);
	claim(&other, "other", 0);
	ck_assert_int_eq(at_store_count, 2);
	ck_assert_ptr_eq(at_store[0], &a);
	ck_assert_ptr_eq(at_store[1], &other);
	win(&a, 1);
	ck_assert_int_eq(at_store_count, 3);
	ck_assert_ptr_eq(at_store[2], &b);
	win(&other, 1);
	ck_assert_int_eq(at_store_count, 3);
	win(&b, 1);
	win(&c, 1);
	ck_assert_int_eq(answered_count, 4);
	ck_assert_ptr_eq(answered[0], &a);
	ck_assert_ptr_eq(answered[2], &b);
	ck_assert_ptr_eq(answered[3], &c);
}
END_TEST

START_TEST(many_keys_have_many_slots)
{
	static struct op op[MAX];
	static char name[MAX][16];

	for (int i = 0; i < MAX; i++) {
		snprintf(name[i], sizeof name[i], "key%d", i);
		claim(&op[i], name[i], 0);
	}
	ck_assert_int_eq(at_store_count, MAX);
	ck_assert_uint_eq(engine_pending(engine), MAX);
	for (int i = 0; i < MAX; i++)
		win(&op[i], 1);
	ck_assert_int_eq(answered_count, MAX);
}
END_TEST

START_TEST(a_page_has_no_order_to_keep)
{
	struct op claimed, list;

	claim(&claimed, "k", 0);
	op_init(&list, OP_LIST, SLICE_ABSENT);
	ck_assert(engine_submit(engine, &list, 0));
	ck_assert_int_eq(at_store_count, 2);
	list.result = OP_APPLIED;
	engine_done(engine, &list, now_ms);
	win(&claimed, 1);
	ck_assert_ptr_eq(answered[0], &list);
}
END_TEST

START_TEST(who_waits_too_long_is_refused)
{
	struct op a, b;

	claim(&a, "k", 0);
	claim(&b, "k", 10);
	ck_assert_int_eq(engine_tick(engine, 999), 1000);
	ck_assert_int_eq(late_count + answered_count, 0);
	ck_assert_int_eq(engine_tick(engine, 1010), INT64_MAX);
	/* a is with the store: nobody knows. b never left: surely not done. */
	ck_assert_int_eq(late_count, 1);
	ck_assert_ptr_eq(late[0], &a);
	ck_assert_int_eq(answered_count, 1);
	ck_assert_ptr_eq(answered[0], &b);
	ck_assert_int_eq(b.result, OP_REFUSED);
	ck_assert_int_eq(b.err, ERR_BUSY);
	win(&a, 1);
	ck_assert_int_eq(answered_count, 2);
	ck_assert(a.late);
}
END_TEST

START_TEST(a_late_op_keeps_its_place)
{
	struct op a, b;

	claim(&a, "k", 0);
	engine_tick(engine, TIMEOUT_MS);
	claim(&b, "k", TIMEOUT_MS);
	ck_assert_int_eq(at_store_count, 1);
	win(&a, 1);
	ck_assert_int_eq(at_store_count, 2);
	win(&b, 1);
}
END_TEST

START_TEST(a_middle_one_leaves_the_queue)
{
	struct op a, b, c;

	claim(&a, "k", 0);
	claim(&b, "k", 0);
	claim(&c, "k", 500);
	engine_tick(engine, TIMEOUT_MS);
	ck_assert_int_eq(answered_count, 1);
	win(&a, 1);
	ck_assert_ptr_eq(at_store[1], &c);
	win(&c, 1);
}
END_TEST

START_TEST(an_undo_goes_first)
{
	struct op a, b, c, *undo;

	claim(&a, "k", 0);
	claim(&b, "k", 0);
	claim(&c, "k", 0);
	win(&a, 77);
	ck_assert_ptr_eq(at_store[1], &b);
	engine_undo(engine, &a, 1);
	win(&b, 77);
	undo = at_store[2];
	ck_assert_ptr_ne(undo, &c);
	ck_assert_int_eq(undo->ask.verb, ASK_RELEASE);
	ck_assert(undo->ask.undo);
	ck_assert_int_eq(undo->ask.fence, 77);
	ck_assert(slice_equal(undo->key, slice_from("k")));
	ck_assert(slice_equal(undo->ask.token, slice_from("0123456789abcdef")));
	undo->result = OP_APPLIED;
	engine_done(engine, undo, now_ms);
	ck_assert_ptr_eq(at_store[3], &c);
	win(&c, 78);
	ck_assert_int_eq(answered_count, 3);
	ck_assert_uint_eq(engine_undone(engine), 1);
}
END_TEST

START_TEST(an_undo_alone_is_sent_at_once)
{
	struct op a, *undo;

	claim(&a, "k", 0);
	win(&a, 77);
	engine_undo(engine, &a, 1);
	ck_assert_int_eq(at_store_count, 2);
	undo = at_store[1];
	engine_tick(engine, 5000); /* its deadline tells nobody */
	ck_assert_int_eq(late_count, 0);
	undo->result = OP_REFUSED;
	engine_done(engine, undo, 5000);
	ck_assert_int_eq(at_store_count, 2);
	engine_tick(engine, 6000); /* and again, until the store takes it */
	ck_assert_int_eq(at_store_count, 3);
	undo->result = OP_APPLIED;
	engine_done(engine, undo, 6000);
	ck_assert_int_eq(answered_count, 1);
	ck_assert_int_eq(late_count, 0);
	ck_assert_uint_eq(engine_undone(engine), 1);
}
END_TEST

START_TEST(an_undo_is_not_given_up_behind_others)
{
	struct op a, b, *undo;

	claim(&a, "k", 0);
	claim(&b, "k", 0);
	win(&a, 77);
	engine_undo(engine, &a, 1);
	engine_tick(engine, 5000); /* b is late, and the store still has it */
	ck_assert_int_eq(late_count, 1);
	ck_assert_int_eq(at_store_count, 2);
	win(&b, 77);
	ck_assert_int_eq(at_store_count, 3);
	undo = at_store[2];
	ck_assert_int_eq(undo->ask.fence, 77);
	undo->result = OP_LOST;
	engine_done(engine, undo, now_ms);
	ck_assert_uint_eq(engine_undone(engine), 0); /* it was tried, and is not so */
}
END_TEST

START_TEST(without_memory_nothing_is_taken)
{
	struct op a;

	op_init(&a, OP_RECORD, slice_from("k"));
	mem_fail_at(1, 1);
	ck_assert(!engine_submit(engine, &a, 0));
	mem_fail_at(0, 0);
	ck_assert_uint_eq(engine_pending(engine), 0);
	ck_assert_int_eq(at_store_count, 0);
	claim(&a, "k", 0);
	win(&a, 1);
	mem_fail_at(1, 1);
	engine_undo(engine, &a, 0); /* the lease heals it */
	mem_fail_at(0, 0);
	ck_assert_uint_eq(engine_pending(engine), 0);
}
END_TEST

/* ---- settlements that are kept ---- */

static void complete(struct op *op, const char *key, int64_t at_ms)
{
	op_init(op, OP_RECORD, slice_from(key));
	op->ask.verb = ASK_COMPLETE;
	op->ask.fence = 7;
	ck_assert(engine_submit(engine, op, at_ms));
}

static void store_refuses(struct op *op)
{
	op_refuse(op, ERR_STORE, "down");
	engine_done(engine, op, now_ms);
}

static void store_agrees(struct op *op, enum word word)
{
	op->result = word == WORD_OK ? OP_APPLIED : OP_LOST;
	op->verdict.word = word;
	engine_done(engine, op, now_ms);
}

START_TEST(a_settlement_is_kept_and_sent_again)
{
	struct op a;

	complete(&a, "k", 0);
	store_refuses(&a);
	/* Its client hears ERR timeout once, and the answer comes when there is one. */
	ck_assert_int_eq(late_count, 1);
	ck_assert_int_eq(answered_count, 0);
	ck_assert_uint_eq(engine_kept(engine)->count, 1);
	ck_assert_int_eq(engine_tick(engine, 1), 51);
	ck_assert_int_eq(at_store_count, 1);
	engine_tick(engine, 51);
	ck_assert_int_eq(at_store_count, 2);
	ck_assert_ptr_eq(at_store[1], &a);
	now_ms = 52;
	store_refuses(&a);
	ck_assert_int_eq(late_count, 1);
	ck_assert_int_eq(engine_tick(engine, 52), 51 + 100); /* twice as far */
	engine_tick(engine, 151);
	store_agrees(&a, WORD_OK);
	ck_assert_int_eq(answered_count, 1);
	ck_assert(a.late);
	ck_assert_uint_eq(engine_kept(engine)->count, 0);
	ck_assert_uint_eq(engine_kept(engine)->octets, 0);
	ck_assert_int_eq(engine_tick(engine, 200000), INT64_MAX);
}
END_TEST

START_TEST(an_uncertain_one_is_kept_too)
{
	struct op a;

	complete(&a, "k", 0);
	engine_tick(engine, TIMEOUT_MS);
	ck_assert_int_eq(late_count, 1);
	op_doubt(&a, ERR_TIMEOUT, "gone");
	now_ms = TIMEOUT_MS;
	engine_done(engine, &a, now_ms);
	ck_assert_int_eq(late_count, 1);
	ck_assert_uint_eq(engine_kept(engine)->count, 1);
	engine_tick(engine, 2 * TIMEOUT_MS);
	store_agrees(&a, WORD_STALE); /* the record's no ends it as well */
	ck_assert_int_eq(answered_count, 1);
}
END_TEST

START_TEST(nothing_overtakes_what_is_kept)
{
	struct op a, b, c;

	complete(&a, "k", 0);
	claim(&b, "k", 0);
	store_refuses(&a);
	claim(&c, "k", 500);
	ck_assert_int_eq(at_store_count, 1);
	engine_tick(engine, TIMEOUT_MS); /* b waited to its own deadline; and a is sent again */
	ck_assert_int_eq(answered_count, 1);
	ck_assert_ptr_eq(answered[0], &b);
	ck_assert_int_eq(b.result, OP_REFUSED);
	ck_assert_int_eq(at_store_count, 2);
	ck_assert_ptr_eq(at_store[1], &a);
	store_agrees(&a, WORD_OK);
	ck_assert_ptr_eq(at_store[2], &c);
	win(&c, 9);
}
END_TEST

START_TEST(one_success_hurries_the_others)
{
	struct op a, b;

	complete(&a, "a", 0);
	complete(&b, "b", 0);
	store_refuses(&a);
	store_refuses(&b);
	for (now_ms = 10000; now_ms < 30000; now_ms += 10000) {
		engine_tick(engine, now_ms);
		store_refuses(&a);
		store_refuses(&b);
	}
	engine_tick(engine, now_ms);
	store_refuses(&b);
	store_agrees(&a, WORD_OK);
	ck_assert_int_eq(engine_tick(engine, now_ms) > now_ms, 1);
	ck_assert_ptr_eq(at_store[at_store_count - 1], &b);
	store_agrees(&b, WORD_OK);
}
END_TEST

START_TEST(it_is_given_up_when_it_cannot_matter)
{
	struct op a;

	complete(&a, "k", 0);
	store_refuses(&a);
	engine_tick(engine, LEASE_MS + TTL_MS);
	store_refuses(&a);
	ck_assert_int_eq(answered_count, 0);
	now_ms = LEASE_MS + TTL_MS + 2000;
	engine_tick(engine, now_ms);
	ck_assert_int_eq(answered_count, 1);
	ck_assert_int_eq(a.result, OP_REFUSED);
	ck_assert_uint_eq(engine_kept(engine)->dropped, 1);
}
END_TEST

START_TEST(only_settlements_are_kept)
{
	struct op a, b;

	claim(&a, "k", 0);
	store_refuses(&a);
	ck_assert_int_eq(answered_count, 1);
	complete(&b, "k", 0);
	op_refuse(&b, ERR_STORE, "damaged");
	b.unreadable = true;
	engine_done(engine, &b, now_ms);
	ck_assert_int_eq(answered_count, 2);
	ck_assert_int_eq(late_count, 0);
}
END_TEST

START_TEST(what_is_kept_is_bounded)
{
	static struct op op[MAX];
	static char name[MAX][16];
	static char result[1024 * 1024];
	int kept;

	for (int i = 0; i < MAX; i++) {
		snprintf(name[i], sizeof name[i], "key%d", i);
		op_init(&op[i], OP_RECORD, slice_from(name[i]));
		op[i].ask.verb = ASK_FAIL;
		op[i].ask.result = (struct slice){result, sizeof result};
		ck_assert(engine_submit(engine, &op[i], 0));
		store_refuses(&op[i]);
	}
	kept = (int)engine_kept(engine)->count;
	ck_assert_int_eq(kept, 15);
	ck_assert_int_eq(answered_count, MAX - kept);
	engine_abandon(engine, now_ms);
	ck_assert_int_eq(answered_count, MAX);
}
END_TEST

START_TEST(leaving_keeps_nothing)
{
	struct op a, b;

	complete(&a, "a", 0);
	complete(&b, "b", 0);
	store_refuses(&a);
	store_refuses(&b);
	engine_tick(engine, 100);
	engine_abandon(engine, now_ms); /* both are with the store */
	ck_assert_int_eq(answered_count, 0);
	store_refuses(&a);
	store_agrees(&b, WORD_OK);
	ck_assert_int_eq(answered_count, 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine");
	TCase *tests = tcase_create("engine");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tests, setup, engine_rig_close);
	tcase_add_test(tests, one_op_per_key_at_a_time);
	tcase_add_test(tests, many_keys_at_a_time);
	tcase_add_test(tests, many_keys_have_many_slots);
	tcase_add_test(tests, a_page_has_no_order_to_keep);
	tcase_add_test(tests, who_waits_too_long_is_refused);
	tcase_add_test(tests, a_late_op_keeps_its_place);
	tcase_add_test(tests, a_middle_one_leaves_the_queue);
	tcase_add_test(tests, an_undo_goes_first);
	tcase_add_test(tests, an_undo_alone_is_sent_at_once);
	tcase_add_test(tests, an_undo_is_not_given_up_behind_others);
	tcase_add_test(tests, without_memory_nothing_is_taken);
	tcase_add_test(tests, a_settlement_is_kept_and_sent_again);
	tcase_add_test(tests, an_uncertain_one_is_kept_too);
	tcase_add_test(tests, nothing_overtakes_what_is_kept);
	tcase_add_test(tests, one_success_hurries_the_others);
	tcase_add_test(tests, it_is_given_up_when_it_cannot_matter);
	tcase_add_test(tests, only_settlements_are_kept);
	tcase_add_test(tests, what_is_kept_is_bounded);
	tcase_add_test(tests, leaving_keeps_nothing);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
