/*
 * check_store.c - what stands in front of every store: its choice by URL, the limit of ops in flight, the counting, and the
 * end. On the memory store, driven by hand: no turn of the loop is needed for it to answer.
 */
#include "../server/stores/store.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPS 8

static uv_loop_t loop;
static struct store *store;
static struct op op[MAX_OPS];
static int answered[MAX_OPS]; /* by the order of the ops: how often */
static int answers, health_calls, closed_calls;
static struct op *after; /* from inside its answer these are submitted: */
static struct op *next[2];

static void on_done(void *arg, struct op *done)
{
	int i;

	(void)arg;
	answered[done - op]++;
	answers++;
	for (i = 0; i < 2 && done == after; i++)
		if (next[i])
			store_submit(store, next[i]);
}

static void on_health(void *arg, bool up, const char *why)
{
	(void)arg;
	(void)up;
	(void)why;
	health_calls++;
}

static void on_closed(void *arg)
{
	ck_assert_ptr_eq(arg, &loop);
	closed_calls++;
}

static void open_store(size_t max_in_flight)
{
	struct store_options options = {.timeout_ms = 1000, .max_in_flight = max_in_flight};
	struct store_events events = {.op_done = on_done, .health = on_health};
	struct errbuf err;
	int i;

	ck_assert_int_eq(uv_loop_init(&loop), 0);
	ck_assert_msg(store_open(&store, "memory:", &options, &loop, &events, &err), "%s", err.text);
	for (i = 0; i < MAX_OPS; i++) {
		op_init(&op[i], OP_RECORD, SLICE_OF("key"));
		op[i].ask = (struct ask){.verb = ASK_STATUS};
	}
}

static void close_store(void)
{
	store_close(store, on_closed, &loop);
	ck_assert_int_eq(closed_calls, 0); /* not from inside */
	uv_run(&loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(closed_calls, 1);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
}

START_TEST(urls_that_no_store_has)
{
	static const char *const urls[] = {
	    "", "memory", "memory:x", "mem:", "MEMORY:", ":", "redis://u:secret@h/0", "/a/path"};
	struct store_options options = {.timeout_ms = 1000};
	struct store_events events = {.op_done = on_done};
	struct store *out = NULL;
	struct errbuf err = {""};

	ck_assert_int_eq(uv_loop_init(&loop), 0);
	ck_assert(!store_open(&out, urls[_i], &options, &loop, &events, &err));
	ck_assert(out == NULL && err.text[0] && !strstr(err.text, "secret"));
	ck_assert_int_eq(uv_loop_close(&loop), 0);
}
END_TEST

START_TEST(open_is_up_and_says_what_it_is)
{
	struct errbuf text = {""};

	open_store(0);
	ck_assert(store_up(store));
	ck_assert_int_eq(health_calls, 0); /* no call from inside the function that took it */
	store_describe(store, &text);
	ck_assert(strncmp(text.text, "memory", 6) == 0);
	close_store();
}
END_TEST

START_TEST(health_is_told_when_it_changes)
{
	open_store(0);
	store_health(store, true, "");
	ck_assert_int_eq(health_calls, 0);
	store_health(store, false, "gone");
	store_health(store, false, "still gone");
	ck_assert_int_eq(health_calls, 1);
	ck_assert(!store_up(store));
	store_health(store, true, "");
	ck_assert_int_eq(health_calls, 2);
	close_store();
}
END_TEST

START_TEST(above_the_limit_ops_are_refused)
{
	int i;

	open_store(2);
	for (i = 0; i < 4; i++)
		store_submit(store, &op[i]);
	ck_assert_int_eq(answers, 0); /* not from inside submit */
	ck_assert_int_eq((int)store_stats(store)->in_flight, 2);
	store_flush(store);
	ck_assert_int_eq(answers, 4);
	for (i = 0; i < 4; i++)
		ck_assert_int_eq(answered[i], 1);
	ck_assert_int_eq(op[1].result, OP_LOST);
	ck_assert_int_eq(op[2].result, OP_REFUSED);
	ck_assert_int_eq(op[2].err, ERR_BUSY);
	ck_assert_int_eq(op[3].result, OP_REFUSED);
	ck_assert_int_eq((int)store_stats(store)->in_flight, 0);
	store_submit(store, &op[4]); /* there is room again */
	store_flush(store);
	ck_assert_int_eq(op[4].result, OP_LOST);
	close_store();
}
END_TEST

/* The loop may wait after a flush: nothing that an answer brought may be left lying. */
START_TEST(what_an_answer_brings_goes_in_the_same_flush)
{
	open_store(1);
	after = &op[0];
	next[0] = &op[1];
	next[1] = &op[2]; /* one too many */
	store_submit(store, &op[0]);
	store_flush(store);
	ck_assert_int_eq(answers, 3);
	ck_assert_int_eq(op[1].result, OP_LOST);
	ck_assert_int_eq(op[2].result, OP_REFUSED);
	after = &op[4];
	next[0] = &op[5];
	next[1] = NULL;
	store_submit(store, &op[3]);
	store_submit(store, &op[4]); /* the answer of one that is refused brings one that is not */
	store_flush(store);
	ck_assert_int_eq(answers, 6);
	ck_assert_int_eq(op[4].result, OP_REFUSED);
	close_store();
}
END_TEST

START_TEST(everything_is_counted)
{
	const struct store_stats *stats;

	open_store(3);
	op[0].ask = (struct ask){.verb = ASK_CLAIM, .lease = 1000000, .ttl = 1000000};
	store_submit(store, &op[0]);
	store_submit(store, &op[1]);
	op[2].ask = (struct ask){.verb = ASK_CLAIM, .lease = 1000000, .ttl = 1000000};
	store_submit(store, &op[2]);
	store_submit(store, &op[3]);
	store_flush(store);
	stats = store_stats(store);
	ck_assert_int_eq((int)stats->applied, 2);
	ck_assert_int_eq((int)stats->lost, 1);
	ck_assert_int_eq((int)stats->refused, 1);
	ck_assert_int_eq((int)stats->uncertain, 0);
	ck_assert_int_eq((int)stats->in_flight, 0);
	close_store();
}
END_TEST

START_TEST(closing_answers_everything_also_what_comes_then)
{
	int i;

	open_store(3);
	for (i = 0; i < 4; i++)
		store_submit(store, &op[i]);
	op[1].kind = OP_LIST;
	after = &op[_i]; /* from the driver's last answers, or when the driver is gone already */
	next[0] = &op[4];
	next[1] = &op[5];
	close_store();
	ck_assert_int_eq(answers, 6);
	for (i = 0; i < 6; i++) {
		ck_assert_int_eq(answered[i], 1);
		ck_assert_int_eq(op[i].result, OP_REFUSED);
	}
	ck_assert_int_eq(op[4].err, ERR_STORE);
}
END_TEST

/* ---- ops ---- */

START_TEST(an_op_that_is_refused_or_in_doubt)
{
	struct op one;

	op_init(&one, OP_RECORD, SLICE_OF("key"));
	ck_assert_int_eq(one.result, OP_PENDING);
	ck_assert_int_eq(one.scan.state, -1);
	one.verdict.word = WORD_WON;
	one.record.fence = 7;
	op_refuse(&one, ERR_STORE, "the disk is %s", "full");
	ck_assert_int_eq(one.result, OP_REFUSED);
	ck_assert_int_eq(one.err, ERR_STORE);
	ck_assert_str_eq(one.why.text, "the disk is full");
	ck_assert_int_eq(one.verdict.word, WORD_NONE); /* nobody can take it for a win */
	ck_assert_int_eq(one.record.fence, 0);
	one.verdict.word = WORD_WON;
	op_doubt(&one, ERR_TIMEOUT, "no answer");
	ck_assert_int_eq(one.result, OP_UNCERTAIN);
	ck_assert_int_eq(one.verdict.word, WORD_NONE);
	op_release(&one);
}
END_TEST

START_TEST(ops_that_only_read)
{
	struct op one;
	int verb;

	op_init(&one, OP_RECORD, SLICE_OF("key"));
	for (verb = ASK_CLAIM; verb <= ASK_FORGET; verb++) {
		one.ask.verb = (enum ask_verb)verb;
		ck_assert_int_eq(op_reads(&one), verb == ASK_STATUS || verb == ASK_CHECK);
	}
	op_init(&one, OP_SWEEP, SLICE_ABSENT);
	ck_assert(!op_reads(&one));
	one.scan.dry = true;
	ck_assert(op_reads(&one));
	op_init(&one, OP_LIST, SLICE_ABSENT);
	ck_assert(op_reads(&one));
	op_init(&one, OP_COUNT, SLICE_ABSENT);
	ck_assert(op_reads(&one));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("store");
	TCase *tc = tcase_create("front");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, urls_that_no_store_has, 0, 8);
	tcase_add_test(tc, open_is_up_and_says_what_it_is);
	tcase_add_test(tc, health_is_told_when_it_changes);
	tcase_add_test(tc, above_the_limit_ops_are_refused);
	tcase_add_test(tc, what_an_answer_brings_goes_in_the_same_flush);
	tcase_add_test(tc, everything_is_counted);
	tcase_add_loop_test(tc, closing_answers_everything_also_what_comes_then, 0, 4);
	tcase_add_test(tc, an_op_that_is_refused_or_in_doubt);
	tcase_add_test(tc, ops_that_only_read);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
