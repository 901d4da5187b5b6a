/*
 * check_memory.c - what only the memory store promises: a table that grows while it is walked, no memory refuses one call and
 * nothing else, no flush and no walk holds the loop up, what is gone is deleted on the side.
 */
#include "../proto/mem.h"
#include "../server/stores/memory_table.h"
#include "rig.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define LONG (3600 * 1000 * MS)
#define TOKEN SLICE_OF("token-of-the-holder")

static struct slice key_number(int number)
{
	static char text[32];
	int len = snprintf(text, sizeof(text), "key:%d", number);

	return (struct slice){text, (size_t)len};
}

static struct ask claim(void)
{
	return (struct ask){.verb = ASK_CLAIM, .lease = LONG, .ttl = LONG, .token = TOKEN};
}

/* ---- the table ---- */

static void put_number(struct table *table, int number)
{
	struct record rec = {.state = STATE_CLAIMED, .fence = number, .token = TOKEN};
	struct entry **at = table_at(table, key_number(number));

	ck_assert(*at == NULL);
	ck_assert(table_put(table, at, key_number(number), &rec) != NULL);
}

START_TEST(table_finds_each_key_however_it_grows)
{
	struct table *table = table_new();
	int number, back;

	ck_assert(table != NULL);
	for (number = 0; number < 20000; number++) {
		put_number(table, number);
		for (back = number; back >= 0;
		     back = back * 7 / 8 - 1) { /* some of all ages, also in the middle of growing */
			struct entry **at = table_at(table, key_number(back));
			struct record rec;

			ck_assert(*at != NULL);
			entry_read(*at, &rec);
			ck_assert_int_eq(rec.fence, back);
		}
	}
	ck_assert_int_eq((int)table_count(table), 20000);
	for (number = 0; number < 20000; number += 2)
		table_remove(table, table_at(table, key_number(number)));
	for (number = 0; number < 20000; number++)
		ck_assert_int_eq(*table_at(table, key_number(number)) != NULL, number % 2);
	ck_assert_int_eq((int)table_count(table), 10000);
	table_free(table);
}
END_TEST

/* Looks at one bucket; counts those whose number is below `old`. */
static int visit(struct table *table, uint64_t *at, int old, unsigned char *seen)
{
	struct entry **entry = table_bucket(table, *at, at);
	int met = 0;

	for (; *entry; entry = entry_next(entry)) {
		struct record rec;

		entry_read(*entry, &rec);
		if (rec.fence >= old)
			continue;
		ck_assert_msg(!seen[rec.fence], "met twice");
		seen[rec.fence] = 1;
		met++;
	}
	return met;
}

/* The table becomes 16 times as large on the way. */
START_TEST(table_walk_meets_each_once_while_it_grows)
{
	struct table *table = table_new();
	static unsigned char seen[1000];
	uint64_t at = 0;
	int number, met = 0;

	ck_assert(table != NULL);
	for (number = 0; number < 1000; number++)
		put_number(table, number);
	do {
		int more;

		met += visit(table, &at, 1000, seen);
		for (more = 0; more < 12 && number < 16000; more++)
			put_number(table, number++);
	} while (at);
	ck_assert_int_eq(met, 1000);
	ck_assert_int_eq(number, 16000);
	table_free(table);
}
END_TEST

/* Growing is done in small steps: most of the old buckets are still in use well after it began. */
START_TEST(table_grows_in_steps)
{
	struct table *table = table_new();
	uint64_t at = 0, next;
	int number, wide = 0, narrow = 0;

	ck_assert(table != NULL);
	for (number = 0; number < 4096 + 100; number++) /* doubles behind 4096 */
		put_number(table, number);
	do {
		table_bucket(table, at, &next);
		if (next - at == UINT64_C(1) << (64 - 12))
			wide++;
		else
			narrow++;
		at = next;
	} while (at);
	ck_assert_int_gt(wide, 3000);
	ck_assert_int_gt(narrow, 200);
	table_free(table);
}
END_TEST

/* ---- no memory ---- */

/* For each allocation of a call in turn: refused, and the record is what it was. */
START_TEST(no_memory_refuses_and_changes_nothing)
{
	static const enum ask_verb verbs[] = {ASK_CLAIM, ASK_COMPLETE, ASK_RELEASE, ASK_DOUBT, ASK_RENEW};
	struct rig *rig = rig_open("memory:");
	struct slice key = SLICE_OF("key");
	struct ask ask = claim();
	struct call *call, *before, *after;

	if (verbs[_i] != ASK_CLAIM) {
		call = rig_ask(rig, key, ask);
		ask =
		    (struct ask){.verb = verbs[_i], .fence = call->op.record.fence, .lease = 2 * LONG, .result = TOKEN};
	}
	before = rig_ask(rig, key, (struct ask){.verb = ASK_STATUS});
	mem_fail_at(1, 1);
	call = rig_ask(rig, key, ask);
	mem_fail_at(0, 0);
	ck_assert_int_eq(call->op.result, OP_REFUSED);
	ck_assert_int_eq(call->op.err, ERR_BUSY);
	ck_assert_int_eq(call->op.verdict.word, WORD_NONE);
	after = rig_ask(rig, key, (struct ask){.verb = ASK_STATUS});
	ck_assert_int_eq(after->op.verdict.word, before->op.verdict.word);
	ck_assert_int_eq(after->op.record.state, before->op.record.state);
	ck_assert_int_eq(after->op.record.fence, before->op.record.fence);
	ck_assert_int_eq(after->op.record.lease_until, before->op.record.lease_until);
	ck_assert(slice_equal(after->op.record.token, before->op.record.token));
	call = rig_ask(rig, key, ask);
	ck_assert_int_eq(call->op.result, OP_APPLIED);
	rig_close(rig);
}
END_TEST

START_TEST(no_memory_to_grow_is_no_reason_to_refuse)
{
	struct table *table = table_new();
	int number;

	ck_assert(table != NULL);
	for (number = 0; number < 64; number++)
		put_number(table, number);
	for (; number < 200; number++) { /* of each entry's two allocations the second: the larger array */
		mem_fail_at(2, 1);
		put_number(table, number);
	}
	mem_fail_at(0, 0);
	for (; number < 400; number++)
		put_number(table, number);
	for (number = 0; number < 400; number++)
		ck_assert(*table_at(table, key_number(number)) != NULL);
	table_free(table);
}
END_TEST

START_TEST(no_memory_for_a_page_refuses_the_list)
{
	struct rig *rig = rig_open("memory:");
	struct scan scan = {.state = -1, .limit = 20};
	struct call *call;
	size_t nth = 0;
	int number;

	for (number = 0; number < 50; number++)
		rig_ask(rig, key_number(number), claim());
	do {
		mem_fail_at(++nth, 0);
		call = rig_scan(rig, OP_LIST, scan);
		if (call->op.result == OP_REFUSED) {
			ck_assert_int_eq(call->op.err, ERR_BUSY);
			ck_assert(call->op.page == NULL);
		}
	} while (call->op.result == OP_REFUSED);
	mem_fail_at(0, 0);
	ck_assert_int_gt((int)nth, 20); /* the walk, each copy, the page and its cursor */
	ck_assert_int_eq(call->op.result, OP_APPLIED);
	ck_assert_int_eq((int)call->op.page->count, 20);
	rig_close(rig);
}
END_TEST

/* ---- the loop ---- */

static struct store *endless_store;
static struct op endless_op;
static uint64_t endless_count;
static bool endless_over;

static void on_endless(void *arg, struct op *op)
{
	(void)arg;
	endless_count++;
	if (endless_over)
		return;
	op_init(op, OP_RECORD, SLICE_OF("key"));
	op->ask.verb = ASK_STATUS;
	store_submit(endless_store, op);
}

static void on_hour(uv_timer_t *timer)
{
	(void)timer;
}

static void on_endless_closed(void *arg)
{
	(void)arg;
}

/* Each answer brings the next op, for ever: a flush ends all the same, and the loop does not wait. */
START_TEST(a_flush_is_bounded)
{
	struct store_options options = {.timeout_ms = 1000};
	struct store_events events = {.op_done = on_endless};
	struct errbuf err;
	uv_loop_t loop;
	uv_timer_t idle_hour; /* without it a loop that has nothing at all would not wait either */

	ck_assert_int_eq(uv_loop_init(&loop), 0);
	uv_timer_init(&loop, &idle_hour);
	uv_timer_start(&idle_hour, on_hour, 3600 * 1000, 0);
	ck_assert(store_open(&endless_store, "memory:", &options, &loop, &events, &err));
	op_init(&endless_op, OP_RECORD, SLICE_OF("key"));
	endless_op.ask.verb = ASK_STATUS;
	store_submit(endless_store, &endless_op);
	store_flush(endless_store);
	ck_assert(endless_count > 1);
	ck_assert_int_eq(uv_backend_timeout(&loop), 0); /* there is more to do */
	endless_over = true;
	uv_close((uv_handle_t *)&idle_hour, NULL);
	store_close(endless_store, on_endless_closed, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
}
END_TEST

static void claim_many(struct rig *rig, int count, struct ask ask)
{
	int number;

	for (number = 0; number < count; number++) {
		struct call *call = rig_call(rig, OP_RECORD, key_number(number));

		call->op.ask = ask;
		rig_submit(call);
	}
	rig_wait(rig);
	rig_forget_calls(rig);
}

/* Calls that come while the whole table is walked are answered in between, at most a turn later. */
START_TEST(a_walk_holds_nobody_up)
{
	struct rig *rig = rig_open("memory:");
	struct call *walk, *call;
	int between = 0;

	claim_many(rig, 30000, claim());
	walk = rig_call(rig, _i ? OP_COUNT : OP_LIST, SLICE_ABSENT);
	walk->op.scan = (struct scan){.state = CHOICE_STATE_FAILED, .limit = 1};
	rig_submit(walk);
	while (!walk->answered) {
		call = rig_call(rig, OP_RECORD, key_number(between));
		call->op.ask.verb = ASK_STATUS;
		rig_submit(call);
		rig_turn(rig);
		ck_assert(call->answered);
		between++;
	}
	ck_assert_int_ge(between, 4);
	ck_assert_int_eq(walk->op.result, OP_APPLIED);
	if (_i)
		ck_assert_int_eq(walk->op.counts.live, 30000);
	rig_close(rig);
}
END_TEST

/* Alone on the loop, too: nothing else would bring the next turn. */
START_TEST(walks_go_on_without_any_news)
{
	struct rig *rig = rig_open("memory:");
	struct call *walk[3];
	int i;

	claim_many(rig, 30000, claim());
	for (i = 0; i < 3; i++) {
		walk[i] = rig_call(rig, i == 2 ? OP_SWEEP : OP_COUNT, SLICE_ABSENT);
		walk[i]->op.scan.limit = 1000;
		rig_submit(walk[i]);
	}
	rig_wait(rig);
	ck_assert_int_eq(walk[0]->op.counts.live, 30000);
	ck_assert_int_eq(walk[1]->op.counts.live, 30000);
	ck_assert_int_eq(walk[2]->op.deleted, 0);
	rig_close(rig);
}
END_TEST

START_TEST(closing_in_the_middle_of_walks_answers_them)
{
	struct rig *rig = rig_open("memory:");
	struct call *list, *sweep;

	claim_many(rig, 30000, claim());
	list = rig_call(rig, OP_LIST, SLICE_ABSENT);
	list->op.scan = (struct scan){.state = CHOICE_STATE_FAILED, .limit = 1};
	sweep = rig_call(rig, OP_SWEEP, SLICE_ABSENT);
	sweep->op.scan.limit = 1000;
	rig_submit(list);
	rig_submit(sweep);
	rig_turn(rig);
	rig_turn(rig);
	ck_assert(!list->answered && !sweep->answered);
	rig_close_store(rig);
	ck_assert_int_eq(list->op.result, OP_REFUSED);
	ck_assert_int_eq(list->op.err, ERR_STORE);
	ck_assert_int_eq(sweep->op.result, OP_APPLIED); /* what it had deleted is deleted */
	ck_assert(sweep->op.more);
	rig_close(rig);
}
END_TEST

/* ---- deleting on the side ---- */

START_TEST(what_is_gone_is_deleted_on_the_side_and_nothing_else)
{
	struct rig *rig = rig_open("memory:");
	struct slice kept = SLICE_OF("kept"), unknown = SLICE_OF("unknown"), never = SLICE_OF("never");
	int64_t end = rig_clock_us() + 20 * 1000 * MS;
	struct ask ask = claim();
	const struct counts *counts;

	rig_ask(rig, kept, ask);
	ask.lease = ask.ttl = 1;
	claim_many(rig, 3000, ask);
	ask.lapse = LAPSE_UNKNOWN;
	rig_ask(rig, unknown, ask);
	ask.lapse = LAPSE_RECLAIM;
	ask.ttl = TIME_NEVER;
	rig_ask(rig, never, ask);
	do {
		rig_ask(rig, kept, (struct ask){.verb = ASK_STATUS}); /* each turn deletes a few */
		counts = &rig_scan(rig, OP_COUNT, (struct scan){.state = -1, .limit = 1})->op.counts;
	} while (counts->gone && rig_clock_us() < end);
	ck_assert_int_eq(counts->gone, 0);
	ck_assert_int_eq(counts->live, 1);
	ck_assert_int_eq(counts->unknown, 1);
	ck_assert_int_eq(counts->lapsed, 1);
	rig_close(rig);
}
END_TEST

/* New keys for ever, each gone at once: the table does not keep them. */
START_TEST(new_records_cannot_outrun_the_deleting)
{
	struct rig *rig = rig_open("memory:");
	struct ask ask = claim();
	const struct counts *counts;
	int round, number;

	ask.lease = ask.ttl = 1;
	for (round = 0; round < 200; round++) {
		for (number = 0; number < 100; number++) {
			struct call *call = rig_call(rig, OP_RECORD, key_number(round * 100 + number));

			call->op.ask = ask;
			rig_submit(call);
		}
		rig_wait(rig);
		rig_forget_calls(rig);
	}
	counts = &rig_scan(rig, OP_COUNT, (struct scan){.state = -1, .limit = 1})->op.counts;
	ck_assert_int_lt(counts->gone + counts->lapsed + counts->live, 1000); /* of 20000 */
	rig_close(rig);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory");
	TCase *tc = tcase_create("memory");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, table_finds_each_key_however_it_grows);
	tcase_add_test(tc, table_walk_meets_each_once_while_it_grows);
	tcase_add_test(tc, table_grows_in_steps);
	tcase_add_loop_test(tc, no_memory_refuses_and_changes_nothing, 0, 5);
	tcase_add_test(tc, no_memory_to_grow_is_no_reason_to_refuse);
	tcase_add_test(tc, no_memory_for_a_page_refuses_the_list);
	tcase_add_test(tc, a_flush_is_bounded);
	tcase_add_loop_test(tc, a_walk_holds_nobody_up, 0, 2);
	tcase_add_test(tc, walks_go_on_without_any_news);
	tcase_add_test(tc, closing_in_the_middle_of_walks_answers_them);
	tcase_add_test(tc, what_is_gone_is_deleted_on_the_side_and_nothing_else);
	tcase_add_test(tc, new_records_cannot_outrun_the_deleting);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
