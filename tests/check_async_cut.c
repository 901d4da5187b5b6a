/*
 * check_async_cut.c - the calls of libclaim that call back, against a peer that plays a script: what comes at one
 * certain moment, and what is left when the connection ends.
 */
#include "../client/claim.h"
#include "../proto/mem.h"

#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heard.h"
#include "play.h"

static struct play peer;

static void peer_setup(void)
{
	heard_reset();
	play_init(&peer);
	ck_assert_int_eq(claim_open(&conn, peer.path, NULL, 10000), CLAIM_OK);
}

static void peer_teardown(void)
{
	claim_close(conn);
	play_end(&peer);
}

static int submit(const char *line, int n)
{
	return claim_submit(conn, line, strlen(line), NULL, 0, heard_done, heard_ticket(n));
}

static int call(const char *line)
{
	return claim_call(conn, line, strlen(line), NULL, 0);
}

/* The call that blocks has read them both, so that nothing wakes a loop that only looks at the descriptor. */
START_TEST(an_answer_that_comes_with_that_of_a_blocking_call)
{
	static const char *const script[] = {"|", "<PING tag=lc1", "<PING", ">OK\nOK tag=lc1\n", ".", NULL};
	play_start(&peer, script);
	submit("PING", 1);
	ck_assert_int_eq(call("PING"), CLAIM_OK);
	ck_assert_int_eq(claim_timeout_ms(conn), 0);
	heard_strictly_until(1);
	heard_is(0, CLAIM_OK, 1);
	ck_assert_int_eq(claim_timeout_ms(conn), -1);
}
END_TEST

/* The first call that blocks costs the connection, since nobody reads its list to the end. */
START_TEST(a_list_that_is_dropped_costs_a_watch)
{
	static const char *const script[] = {"|", "<LIST", ">ITEM key=a\nITEM key=b\n", ".", "|", "<PING", NULL,
					     ".", NULL};
	const char *played[sizeof(script) / sizeof(script[0])];
	memcpy(played, script, sizeof(script));
	played[6] = _i == 0 ? ">OK\n" : ">OK tag=lc1\n";
	play_start(&peer, played);
	claim_on_event(conn, heard_done, heard_ticket(9));
	ck_assert_int_eq(call("LIST"), CLAIM_ITEM);
	if (_i == 0) {
		ck_assert_int_eq(call("PING"), CLAIM_OK);
	} else {
		submit("PING", 1);
		heard_until(2);
	}
	ck_assert_int_eq(heard_count, 1 + _i);
	heard_is(0, CLAIM_E_UNREACHABLE, 9);
}
END_TEST

/* It closes the connection when it is over, and with it go the watch and a claim that may not be asked again. */
START_TEST(what_a_blocking_call_cuts_is_told_at_once)
{
	static const char *const script[] = {"|", "<CLAIM k", "<PING", ".", NULL};
	struct claim_options drops = CLAIM_OPTIONS_INIT;
	drops.drop = CLAIM_DROP_RELEASE;
	drops.wait_ms = 3600000;
	claim_close(conn);
	ck_assert_int_eq(claim_open(&conn, peer.path, NULL, 300), CLAIM_OK);
	play_start(&peer, script);
	claim_on_event(conn, heard_done, heard_ticket(9));
	heard_acquire("k", &drops, 1);
	ck_assert_int_eq(call("PING"), CLAIM_E_UNCERTAIN);
	ck_assert_int_eq(claim_timeout_ms(conn), 0);
	heard_strictly_until(2);
	heard_is(0, CLAIM_E_UNCERTAIN, 1);
	heard_is(1, CLAIM_E_UNREACHABLE, 9);
	ck_assert_int_eq(claim_timeout_ms(conn), -1);
}
END_TEST

/* One that could not be sent as a whole costs the connection when its time is over, and with it one that has time. */
START_TEST(half_a_line_cuts_what_is_under_way)
{
	static const char *const script[] = {"|", "<PING tag=lc1", ">OK tag=lc1\n", "<CLAIM k", ".", NULL};
	static char body[4 << 20];
	struct claim_options drops = CLAIM_OPTIONS_INIT;
	drops.drop = CLAIM_DROP_RELEASE;
	drops.wait_ms = 3600000;
	claim_close(conn);
	ck_assert_int_eq(claim_open(&conn, peer.path, NULL, 500), CLAIM_OK);
	play_start(&peer, script);
	submit("PING", 1);
	heard_until(1);
	kill(peer.pid, SIGSTOP);
	heard_acquire("k", &drops, 2);
	ck_assert_int_eq(claim_submit(conn, "COMPLETE k fence=1", 18, body, sizeof(body), heard_done, heard_ticket(3)),
			 CLAIM_OK);
	heard_until(2);
	kill(peer.pid, SIGCONT);
	heard_is(1, CLAIM_E_UNCERTAIN, 3);
	ck_assert_int_eq(claim_timeout_ms(conn), 0);
	claim_process(conn);
	heard_is(2, CLAIM_E_UNCERTAIN, 2);
	ck_assert_int_eq(heard_count, 3);
}
END_TEST

/* A child of a fork has a copy of the descriptor, which must not keep the loop of the parent awake. */
START_TEST(a_cut_connection_does_not_stay_ready)
{
	static const char *const script[] = {"|", "<PING tag=lc1", ">OK tag=lc1\n", NULL};
	int hold[2];
	char gone;
	play_start(&peer, script);
	claim_on_event(conn, heard_done, heard_ticket(9));
	submit("PING", 1);
	ck_assert_int_eq(pipe(hold), 0);
	heard_until(1);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		close(hold[1]);
		_exit(read(hold[0], &gone, 1) == 0 ? 0 : 1); /* until the test is over */
	}
	heard_until(2);
	heard_is(1, CLAIM_E_UNREACHABLE, 9);
	struct pollfd look = {.fd = claim_fd(conn), .events = POLLIN};
	ck_assert_int_eq(poll(&look, 1, 0), 0);
	close(hold[0]);
	close(hold[1]);
	waitpid(child, NULL, 0);
}
END_TEST

/* What blocks may be under way while it is called back: none of these touches it. */
static void blocks_in_vain(claim_conn *from, int code, void *arg)
{
	claim_grant *none = NULL;
	heard_done(from, code, arg);
	ck_assert_int_eq(claim_next(from), CLAIM_E_INVAL);
	ck_assert_int_eq(claim_acquire(from, "", 0, NULL, &none), CLAIM_E_INVAL);
	ck_assert_int_eq(claim_acquire(from, "k", 1, NULL, &none), CLAIM_E_INVAL);
	ck_assert_int_eq(call("PING"), CLAIM_E_INVAL);
	ck_assert_str_eq(claim_detail(from), "a call that blocks is not possible from inside a callback");
}

START_TEST(a_callback_inside_a_blocking_call_may_not_block)
{
	static const char *const script[] = {
	    "|", "<PING tag=lc1", "<LIST", ">OK tag=lc1\nITEM key=a\nEND count=1\n", ".", NULL};
	play_start(&peer, script);
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, blocks_in_vain, heard_ticket(1)), CLAIM_OK);
	ck_assert_int_eq(call("LIST"), CLAIM_ITEM);
	ck_assert_int_eq(heard_count, 1);
	ck_assert_int_eq(claim_next(conn), CLAIM_END);
}
END_TEST

/* Each allocation fails in turn: it is said at once, or called back, once. */
START_TEST(no_memory)
{
	static const char *const script[] = {"|", "<CLAIM k", ">WON fence=7 lease_ms=1000 tag=lc1\n", ".", NULL};
	size_t nth = 0, made;
	do {
		nth++;
		if (conn)
			claim_close(conn);
		conn = NULL;
		heard_count = 0;
		play_start(&peer, script);
		mem_fail_at(nth, 0);
		int code = claim_open(&conn, peer.path, NULL, 2000);
		if (code == CLAIM_OK)
			code = heard_acquire("k", NULL, 1);
		while (code == CLAIM_OK && heard_count == 0) {
			struct pollfd look = {.fd = claim_fd(conn), .events = POLLIN};
			poll(&look, 1, claim_timeout_ms(conn));
			claim_process(conn);
		}
		made = mem_fail_at(0, 0);
		play_kill(&peer);
		if (code == CLAIM_OK)
			code = heard[0].code;
		ck_assert(code == CLAIM_E_NOMEM || code == CLAIM_WON || code == CLAIM_E_UNCERTAIN ||
			  code == CLAIM_E_UNREACHABLE);
		ck_assert_int_eq(code == CLAIM_WON, heard_count == 1 && heard[0].code == CLAIM_WON);
		ck_assert(made >= nth || code == CLAIM_WON);
	} while (made >= nth);
	ck_assert_uint_gt(nth, 5);
}
END_TEST

/* Nor may it go on with what has come, however much that is. */
static void processes_in_vain(claim_conn *from, int code, void *arg)
{
	int before = heard_count;
	claim_process(from);
	ck_assert_int_eq(heard_count, before);
	heard_done(from, code, arg);
}

START_TEST(one_callback_is_over_before_the_next)
{
	static const char *const script[] = {"|", "<PING", "<PING", ">OK tag=lc1\nOK tag=lc2\n", ".", NULL};
	play_start(&peer, script);
	for (int i = 1; i <= 2; i++)
		ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, processes_in_vain, heard_ticket(i)), CLAIM_OK);
	heard_until(2);
	heard_is(0, CLAIM_OK, 1);
	heard_is(1, CLAIM_OK, 2);
}
END_TEST

START_TEST(an_answer_ends_with_the_next_turn)
{
	static const char *const script[] = {"|", "<PING", ">OK\n", ".", NULL};
	play_start(&peer, script);
	ck_assert_int_eq(call("PING"), CLAIM_OK);
	ck_assert_str_eq(claim_word(conn), "OK");
	claim_process(conn);
	ck_assert_str_eq(claim_word(conn), "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("async_cut");
	TCase *tests = tcase_create("async_cut");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, peer_setup, peer_teardown);
	tcase_add_test(tests, an_answer_that_comes_with_that_of_a_blocking_call);
	tcase_add_loop_test(tests, a_list_that_is_dropped_costs_a_watch, 0, 2);
	tcase_add_test(tests, what_a_blocking_call_cuts_is_told_at_once);
	tcase_add_test(tests, half_a_line_cuts_what_is_under_way);
	tcase_add_test(tests, a_cut_connection_does_not_stay_ready);
	tcase_add_test(tests, no_memory);
	tcase_add_test(tests, a_callback_inside_a_blocking_call_may_not_block);
	tcase_add_test(tests, one_callback_is_over_before_the_next);
	tcase_add_test(tests, an_answer_ends_with_the_next_turn);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
