/* check_async.c - the calls of libclaim that call back, against a real daemon. check_async_cut.c has what needs a certain moment. */
#include "../client/claim.h"

#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heard.h"
#include "spawn.h"

#define KEY "orders:42", 9

static const char *const on_sqlite[] = {"--store", "sqlite:@/db", NULL};
static struct spawn daemon_;

static void setup(void)
{
	heard_reset();
	unsetenv("CLAIMD_DISABLED");
	spawn_init(&daemon_);
	spawn_start(&daemon_, on_sqlite);
	ck_assert_int_eq(claim_open(&conn, daemon_.socket, NULL, 10000), CLAIM_OK);
}

static void teardown(void)
{
	claim_close(conn);
	claim_grant_free(grant);
	spawn_end(&daemon_);
}

/* ---- calls that call back ---- */

START_TEST(many_calls_are_under_way_at_once)
{
	char key[16];
	int fd = claim_fd(conn);
	ck_assert_int_eq(claim_timeout_ms(conn), -1);
	for (int i = 0; i < 20; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		ck_assert_int_eq(heard_acquire(key, NULL, i), CLAIM_OK);
	}
	ck_assert_int_eq(heard_count, 0); /* never from inside */
	ck_assert_int_eq(claim_timeout_ms(conn), 0);
	heard_until(20);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(heard[i].code, CLAIM_WON);
	ck_assert_int_eq(claim_timeout_ms(conn), -1);
	ck_assert_int_eq(claim_fd(conn), fd);
}
END_TEST

START_TEST(one_descriptor_for_all_connections)
{
	int fd = claim_fd(conn);
	heard_acquire("a", NULL, 1);
	heard_strictly_until(1);
	spawn_stop(&daemon_, SIGKILL);
	spawn_start(&daemon_, on_sqlite);
	heard_acquire("b", NULL, 2);
	heard_strictly_until(2);
	heard_is(1, CLAIM_WON, 2);
	ck_assert_int_eq(claim_call(conn, "PING", 4, NULL, 0), CLAIM_OK);
	heard_acquire("c", NULL, 3);
	heard_strictly_until(3);
	ck_assert_int_eq(claim_fd(conn), fd);
}
END_TEST

START_TEST(one_that_waits_holds_up_no_other)
{
	struct claim_options waits = CLAIM_OPTIONS_INIT;
	waits.wait_ms = 60000;
	heard_acquire("k", NULL, 1);
	heard_until(1);
	heard_acquire("k", &waits, 2);
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, heard_done, heard_ticket(3)), CLAIM_OK);
	heard_until(2);
	heard_is(1, CLAIM_OK, 3);
	ck_assert_int_eq(claim_submit_verb(conn, grant, CLAIM_RELEASE, NULL, 0, heard_done, heard_ticket(4)), CLAIM_OK);
	heard_until(4);
	heard_is(2, CLAIM_OK, 4);
	heard_is(3, CLAIM_WON, 2);
}
END_TEST

START_TEST(a_claim_from_its_win_to_its_end)
{
	heard_acquire("k", NULL, 1);
	heard_until(1);
	ck_assert_int_eq(claim_submit_renew(conn, grant, 60000, heard_done, heard_ticket(2)), CLAIM_OK);
	ck_assert_int_eq(claim_submit_verb(conn, grant, CLAIM_CHECK, NULL, 0, heard_done, heard_ticket(3)), CLAIM_OK);
	ck_assert_int_eq(claim_submit_verb(conn, grant, CLAIM_COMPLETE, "paid", 4, heard_done, heard_ticket(4)),
			 CLAIM_OK);
	heard_acquire("k", NULL, 5);
	heard_until(5);
	for (int i = 1; i < 4; i++)
		heard_is(i, CLAIM_OK, i + 1);
	heard_is(4, CLAIM_DONE, 5);
}
END_TEST

START_TEST(a_list_is_called_back_line_by_line)
{
	heard_acquire("a", NULL, 1);
	heard_acquire("b", NULL, 2);
	heard_until(2);
	ck_assert_int_eq(claim_submit(conn, "LIST", 4, NULL, 0, heard_done, heard_ticket(3)), CLAIM_OK);
	heard_until(5);
	heard_is(2, CLAIM_ITEM, 3);
	heard_is(3, CLAIM_ITEM, 3);
	heard_is(4, CLAIM_END, 3);
}
END_TEST

/* With the tag and the length of a body that are added, so that the daemon does not end the connection over it. */
START_TEST(a_line_of_the_longest_kind)
{
	char longest[8193] = "PING";
	memset(longest + 4, ' ', sizeof(longest) - 4);
	ck_assert_int_eq(claim_call(conn, longest, 8193, NULL, 0), CLAIM_E_INVAL);
	ck_assert_int_eq(claim_call(conn, longest, 8192, NULL, 0), CLAIM_OK);
	ck_assert_int_eq(claim_call(conn, longest, 8192, "x", 1), CLAIM_E_INVAL);
	ck_assert_str_eq(claim_detail(conn), "a request is one line of at most 8192 octets");
	ck_assert_int_eq(claim_submit(conn, longest, 8192, NULL, 0, heard_done, heard_ticket(1)), CLAIM_E_INVAL);
	ck_assert_int_eq(claim_submit(conn, longest, 8192 - 64, NULL, 0, heard_done, heard_ticket(1)), CLAIM_OK);
	heard_until(1);
	heard_is(0, CLAIM_OK, 1);
}
END_TEST

START_TEST(what_is_wrong_is_refused_at_once)
{
	struct claim_options bad = CLAIM_OPTIONS_INIT;
	ck_assert_int_eq(claim_submit(conn, "A\nB", 3, NULL, 0, heard_done, NULL), CLAIM_E_INVAL);
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, NULL, NULL), CLAIM_E_INVAL);
	ck_assert_int_eq(heard_acquire("", NULL, 1), CLAIM_E_INVAL);
	bad.drop = CLAIM_DROP_RELEASE;
	bad.token = "0123456789abcdef";
	ck_assert_int_eq(heard_acquire("k", &bad, 1), CLAIM_E_INVAL);
	bad = (struct claim_options)CLAIM_OPTIONS_INIT;
	bad.wait_ms = -1;
	ck_assert_int_eq(heard_acquire("k", &bad, 1), CLAIM_E_INVAL);
	bad = (struct claim_options)CLAIM_OPTIONS_INIT;
	bad.size++;
	ck_assert_int_eq(heard_acquire("k", &bad, 1), CLAIM_E_INVAL);
	claim_process(conn);
	ck_assert_int_eq(heard_count, 0);
}
END_TEST

/* Built with the header of before, whose struct ended at lapse_unknown. */
START_TEST(a_shorter_struct_is_understood)
{
	struct claim_options old = CLAIM_OPTIONS_INIT;
	old.size = offsetof(struct claim_options, wait_ms);
	old.wait_ms = -1;
	heard_acquire("k", &old, 1);
	heard_until(1);
	heard_is(0, CLAIM_WON, 1);
}
END_TEST

START_TEST(nobody_there_is_told_at_once)
{
	claim_close(conn);
	ck_assert_int_eq(claim_open(&conn, daemon_.socket, NULL, 3600000), CLAIM_OK);
	spawn_stop(&daemon_, SIGKILL);
	heard_acquire("k", NULL, 1);
	heard_until(1);
	heard_is(0, CLAIM_E_UNREACHABLE, 1);
	ck_assert_int_eq(claim_timeout_ms(conn), -1);
}
END_TEST

/* A namespace that HELLO refuses: so is everything, and the loop does not go round for ever. */
START_TEST(what_the_daemon_refuses_is_told_to_all)
{
	claim_close(conn);
	ck_assert_int_eq(claim_open(&conn, daemon_.socket, "a:b", 3600000), CLAIM_OK);
	heard_acquire("k", NULL, 1);
	heard_acquire("l", NULL, 2);
	heard_until(2);
	ck_assert_int_eq(heard[0].ticket + heard[1].ticket, 3);
	ck_assert_int_eq(heard[0].code, CLAIM_E_INVAL);
	ck_assert_int_eq(heard[1].code, CLAIM_E_INVAL);
	ck_assert_int_eq(claim_timeout_ms(conn), -1);
}
END_TEST

START_TEST(a_call_has_its_time)
{
	struct claim_options waits = CLAIM_OPTIONS_INIT;
	waits.wait_ms = 3600000;
	claim_close(conn);
	ck_assert_int_eq(claim_open(&conn, daemon_.socket, NULL, 200), CLAIM_OK);
	heard_acquire("k", NULL, 1);
	heard_until(1);
	heard_acquire("k", &waits, 2);
	claim_on_event(conn, heard_done, heard_ticket(9)); /* hears when the connection is cut */
	kill(daemon_.pid, SIGSTOP);
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, heard_done, heard_ticket(3)), CLAIM_OK);
	heard_until(2);
	heard_is(1, CLAIM_E_UNCERTAIN, 3);
	kill(daemon_.pid, SIGCONT);
	/* Its answer comes after all, and is nobody's: the connection lives. */
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, heard_done, heard_ticket(4)), CLAIM_OK);
	heard_until(3);
	heard_is(2, CLAIM_OK, 4);
}
END_TEST

START_TEST(a_cut_claim_is_asked_again_with_its_token)
{
	heard_acquire("k", NULL, 1);
	heard_until(1);
	kill(daemon_.pid, SIGSTOP);
	heard_acquire("other", NULL, 2);
	for (int i = 0; i < 3; i++)
		claim_process(conn); /* its octets leave */
	spawn_stop(&daemon_, SIGKILL);
	spawn_start(&daemon_, on_sqlite);
	ck_assert_int_eq(claim_submit_verb(conn, grant, CLAIM_COMPLETE, NULL, 0, heard_done, heard_ticket(3)),
			 CLAIM_OK);
	heard_until(3);
	for (int i = 1; i < 3; i++)
		ck_assert_int_eq(heard[i].code, heard[i].ticket == 2 ? CLAIM_WON : CLAIM_OK);
}
END_TEST

START_TEST(one_without_a_token_is_not)
{
	struct claim_options drops = CLAIM_OPTIONS_INIT;
	drops.drop = CLAIM_DROP_RELEASE;
	heard_acquire("k", &drops, 1);
	heard_until(1);
	heard_is(0, CLAIM_WON, 1);
	ck_assert_str_eq(claim_grant_token(grant), "");
	kill(daemon_.pid, SIGSTOP);
	heard_acquire("other", &drops, 2);
	for (int i = 0; i < 3; i++)
		claim_process(conn);
	spawn_stop(&daemon_, SIGKILL);
	heard_until(2);
	heard_is(1, CLAIM_E_UNCERTAIN, 2);
}
END_TEST

static void submits_more(claim_conn *from, int code, void *arg)
{
	heard_done(from, code, arg);
	ck_assert_int_eq(claim_submit(from, "PING", 4, NULL, 0, heard_done, heard_ticket(2)), CLAIM_OK);
	ck_assert_int_eq(claim_call(from, "PING", 4, NULL, 0), CLAIM_E_INVAL); /* it would block */
	claim_process(from);                                                   /* and this does nothing */
	ck_assert_int_eq(heard_count, 1);
}

START_TEST(a_callback_may_submit)
{
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, submits_more, heard_ticket(1)), CLAIM_OK);
	heard_until(2);
	heard_is(1, CLAIM_OK, 2);
}
END_TEST

static void closes_in_vain(claim_conn *from, int code, void *arg)
{
	claim_close(from);
	heard_done(from, code, arg);
}

START_TEST(a_callback_may_not_close_under_a_call_that_blocks)
{
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, closes_in_vain, heard_ticket(1)), CLAIM_OK);
	ck_assert_int_eq(claim_call(conn, "PING", 4, NULL, 0), CLAIM_OK);
	ck_assert_int_eq(claim_call(conn, "PING", 4, NULL, 0), CLAIM_OK);
	ck_assert_int_eq(heard_count, 1);
}
END_TEST

static int closed;

static void closes(claim_conn *from, int code, void *arg)
{
	(void)code;
	(void)arg;
	claim_close(from);
	closed++;
	ck_assert_int_eq(claim_submit(from, "PING", 4, NULL, 0, heard_done, NULL), CLAIM_E_INVAL);
}

START_TEST(a_callback_may_close)
{
	static const char *const ns[] = {NULL, "a:b"}; /* the second is refused, and so are both calls */
	closed = 0;
	claim_close(conn);
	ck_assert_int_eq(claim_open(&conn, daemon_.socket, ns[_i], 10000), CLAIM_OK);
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, closes, NULL), CLAIM_OK);
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, closes, NULL), CLAIM_OK);
	while (closed == 0) {
		struct pollfd look = {.fd = claim_fd(conn), .events = (short)claim_events(conn)};
		poll(&look, 1, 100);
		claim_process(conn);
	}
	ck_assert_int_eq(closed, 1);
	conn = NULL;
}
END_TEST

START_TEST(blocking_calls_may_be_mixed_in)
{
	claim_grant *own;
	heard_acquire("k", NULL, 1);
	ck_assert_int_eq(claim_acquire(conn, KEY, NULL, &own), CLAIM_WON);
	heard_until(1);
	heard_is(0, CLAIM_WON, 1);
	heard_acquire("k", NULL, 2);
	ck_assert_int_eq(claim_complete(conn, own, NULL, 0), CLAIM_OK);
	claim_grant_free(own);
	heard_until(2);
	heard_is(1, CLAIM_HELD, 2);
}
END_TEST

START_TEST(a_list_that_is_not_read_to_its_end_does_no_harm)
{
	heard_acquire("a", NULL, 1);
	heard_acquire("b", NULL, 2);
	heard_until(2);
	ck_assert_int_eq(claim_call(conn, "LIST", 4, NULL, 0), CLAIM_ITEM);
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, heard_done, heard_ticket(3)), CLAIM_OK);
	heard_until(3);
	heard_is(2, CLAIM_OK, 3);
}
END_TEST

START_TEST(a_child_may_not_use_it)
{
	int status;
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(claim_submit(conn, "PING", 4, NULL, 0, heard_done, NULL) == CLAIM_E_FORKED ? 0 : 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* ---- events ---- */

START_TEST(events_are_told_and_their_end)
{
	struct claim_options holds = CLAIM_OPTIONS_INIT;
	holds.lease_ms = 300;
	holds.hold_ms = 3600000;
	holds.notify = 1;
	claim_on_event(conn, heard_done, heard_ticket(9));
	heard_acquire("k", &holds, 1);
	heard_until(4);
	heard_is(0, CLAIM_WON, 1);
	for (int i = 1; i < 4; i++) {
		heard_is(i, CLAIM_EVENT, 9);
		ck_assert_str_eq(heard[i].word, "RENEWED");
	}
	spawn_stop(&daemon_, SIGKILL);
	int before = heard_count;
	while (heard[heard_count - 1].code == CLAIM_EVENT) {
		ck_assert_int_lt(heard_count, before + 5);
		heard_until(heard_count + 1);
	}
	heard_is(heard_count - 1, CLAIM_E_UNREACHABLE, 9);
}
END_TEST

/* The daemon is another one, and renews again after one renewal by hand. */
START_TEST(a_renewal_brings_a_hold_back)
{
	struct claim_options holds = CLAIM_OPTIONS_INIT;
	holds.lease_ms = 300;
	holds.hold_ms = 3600000;
	holds.notify = 1;
	heard_acquire("k", &holds, 1);
	heard_until(1);
	spawn_stop(&daemon_, SIGKILL);
	spawn_start(&daemon_, on_sqlite);
	claim_on_event(conn, heard_done, heard_ticket(9));
	ck_assert_int_eq(claim_submit_renew(conn, grant, 300, heard_done, heard_ticket(2)), CLAIM_OK);
	heard_until(4);
	heard_is(1, CLAIM_E_UNREACHABLE, 9);
	heard_is(2, CLAIM_OK, 2);
	heard_is(3, CLAIM_EVENT, 9);
	ck_assert_str_eq(heard[3].word, "RENEWED");
}
END_TEST

START_TEST(a_watch_is_told)
{
	claim_on_event(conn, heard_done, heard_ticket(9));
	ck_assert_int_eq(claim_submit(conn, "WATCH", 5, NULL, 0, heard_done, heard_ticket(1)), CLAIM_OK);
	heard_until(1);
	wire_ask_once(&daemon_, "CLAIM other");
	heard_until(2);
	heard_is(1, CLAIM_EVENT, 9);
	ck_assert_str_eq(heard[1].word, "WON");
}
END_TEST

/* ---- nothing guarded ---- */

START_TEST(disabled_answers_without_a_daemon)
{
	claim_close(conn);
	setenv("CLAIMD_DISABLED", "1", 1);
	ck_assert_int_eq(claim_open(&conn, "/nowhere/at/all", NULL, 1000), CLAIM_OK);
	heard_acquire("k", NULL, 1);
	ck_assert_int_eq(heard_count, 0);
	ck_assert_int_eq(claim_timeout_ms(conn), 0);
	heard_until(1);
	heard_is(0, CLAIM_WON, 1);
	ck_assert(claim_unguarded(grant));
	ck_assert_int_eq(claim_submit_verb(conn, grant, CLAIM_COMPLETE, NULL, 0, heard_done, heard_ticket(2)),
			 CLAIM_OK);
	heard_until(2);
	heard_is(1, CLAIM_OK, 2);
	unsetenv("CLAIMD_DISABLED");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("async");
	TCase *tests = tcase_create("async");
	SRunner *runner = srunner_create(suite);
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, many_calls_are_under_way_at_once);
	tcase_add_test(tests, one_descriptor_for_all_connections);
	tcase_add_test(tests, one_that_waits_holds_up_no_other);
	tcase_add_test(tests, a_claim_from_its_win_to_its_end);
	tcase_add_test(tests, a_list_is_called_back_line_by_line);
	tcase_add_test(tests, a_line_of_the_longest_kind);
	tcase_add_test(tests, what_is_wrong_is_refused_at_once);
	tcase_add_test(tests, a_shorter_struct_is_understood);
	tcase_add_test(tests, nobody_there_is_told_at_once);
	tcase_add_test(tests, what_the_daemon_refuses_is_told_to_all);
	tcase_add_test(tests, a_call_has_its_time);
	tcase_add_test(tests, a_cut_claim_is_asked_again_with_its_token);
	tcase_add_test(tests, one_without_a_token_is_not);
	tcase_add_test(tests, a_callback_may_submit);
	tcase_add_loop_test(tests, a_callback_may_close, 0, 2);
	tcase_add_test(tests, a_callback_may_not_close_under_a_call_that_blocks);
	tcase_add_test(tests, blocking_calls_may_be_mixed_in);
	tcase_add_test(tests, a_list_that_is_not_read_to_its_end_does_no_harm);
	tcase_add_test(tests, a_child_may_not_use_it);
	tcase_add_test(tests, events_are_told_and_their_end);
	tcase_add_test(tests, a_renewal_brings_a_hold_back);
	tcase_add_test(tests, a_watch_is_told);
	tcase_add_test(tests, disabled_answers_without_a_daemon);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
