/*
 * check_async.c - the calls of libclaim that call back: against a real daemon, and against a peer that plays a script where the
 * moment counts.
 */
#include "../client/claim.h"

#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "play.h"
#include "spawn.h"

#define MAX 64
#define KEY "orders:42", 9

static const char *const on_sqlite[] = {"--store", "sqlite:@/db", NULL};
static struct spawn daemon_;
static claim_conn *conn;

/* What was called back, in order. */
static struct heard {
	int code, ticket;
	char word[32];
} heard[MAX];
static int heard_count;
static claim_grant *grant; /* the last one */

static void on_done(claim_conn *from, int code, void *arg)
{
	ck_assert_ptr_eq(from, conn);
	ck_assert_int_lt(heard_count, MAX);
	struct heard *now = &heard[heard_count++];
	*now = (struct heard){.code = code, .ticket = (int)(intptr_t)arg};
	snprintf(now->word, sizeof(now->word), "%s", claim_word(from));
	claim_grant *taken = claim_take_grant(from);
	ck_assert_int_eq(taken != NULL, code == CLAIM_WON);
	ck_assert_ptr_null(claim_take_grant(from));
	if (taken) {
		claim_grant_free(grant);
		grant = taken;
	}
}

static void *ticket(int n)
{
	return (void *)(intptr_t)n;
}

/* Turns the loop until so many were called back. */
static void loop_until(int count)
{
	long long deadline_ms = wait_now_ms() + SPAWN_WAIT_MS;
	while (heard_count < count) {
		struct pollfd look = {.fd = claim_fd(conn), .events = (short)claim_events(conn)};
		int timeout_ms = claim_timeout_ms(conn);
		ck_assert_msg(wait_now_ms() < deadline_ms, "only %d of %d were called back", heard_count, count);
		poll(&look, 1, timeout_ms < 0 || timeout_ms > 100 ? 100 : timeout_ms);
		claim_process(conn);
	}
}

/* The same without looking at the connection more often than a loop that was told once: each turn must be one that it asked for. */
static void loop_strictly_until(int count)
{
	struct pollfd look = {.fd = claim_fd(conn), .events = (short)claim_events(conn)};
	while (heard_count < count) {
		ck_assert_msg(poll(&look, 1, claim_timeout_ms(conn) < 0 ? SPAWN_WAIT_MS : claim_timeout_ms(conn)) > 0 ||
				  claim_timeout_ms(conn) >= 0,
			      "nothing wakes it");
		claim_process(conn);
	}
}

static void setup(void)
{
	heard_count = 0;
	grant = NULL;
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

static int acquire(const char *key, const struct claim_options *options, int n)
{
	return claim_submit_acquire(conn, key, strlen(key), options, on_done, ticket(n));
}

static void heard_is(int at, int code, int n)
{
	ck_assert_msg(heard[at].code == code && heard[at].ticket == n, "at %d: %d for %d, not %d for %d", at,
		      heard[at].code, heard[at].ticket, code, n);
}

/* ---- calls that call back ---- */

START_TEST(many_calls_are_under_way_at_once)
{
	char key[16];
	int fd = claim_fd(conn);
	ck_assert_int_eq(claim_timeout_ms(conn), -1);
	for (int i = 0; i < 20; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		ck_assert_int_eq(acquire(key, NULL, i), CLAIM_OK);
	}
	ck_assert_int_eq(heard_count, 0); /* never from inside */
	ck_assert_int_eq(claim_timeout_ms(conn), 0);
	loop_until(20);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(heard[i].code, CLAIM_WON);
	ck_assert_int_eq(claim_timeout_ms(conn), -1);
	ck_assert_int_eq(claim_fd(conn), fd);
}
END_TEST

START_TEST(one_descriptor_for_all_connections)
{
	int fd = claim_fd(conn);
	acquire("a", NULL, 1);
	loop_strictly_until(1);
	spawn_stop(&daemon_, SIGKILL);
	spawn_start(&daemon_, on_sqlite);
	acquire("b", NULL, 2);
	loop_strictly_until(2);
	heard_is(1, CLAIM_WON, 2);
	ck_assert_int_eq(claim_call(conn, "PING", 4, NULL, 0), CLAIM_OK);
	acquire("c", NULL, 3);
	loop_strictly_until(3);
	ck_assert_int_eq(claim_fd(conn), fd);
}
END_TEST

START_TEST(one_that_waits_holds_up_no_other)
{
	struct claim_options waits = CLAIM_OPTIONS_INIT;
	waits.wait_ms = 60000;
	acquire("k", NULL, 1);
	loop_until(1);
	acquire("k", &waits, 2);
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, on_done, ticket(3)), CLAIM_OK);
	loop_until(2);
	heard_is(1, CLAIM_OK, 3);
	ck_assert_int_eq(claim_submit_verb(conn, grant, CLAIM_RELEASE, NULL, 0, on_done, ticket(4)), CLAIM_OK);
	loop_until(4);
	heard_is(2, CLAIM_OK, 4);
	heard_is(3, CLAIM_WON, 2);
}
END_TEST

START_TEST(a_claim_from_its_win_to_its_end)
{
	acquire("k", NULL, 1);
	loop_until(1);
	ck_assert_int_eq(claim_submit_renew(conn, grant, 60000, on_done, ticket(2)), CLAIM_OK);
	ck_assert_int_eq(claim_submit_verb(conn, grant, CLAIM_CHECK, NULL, 0, on_done, ticket(3)), CLAIM_OK);
	ck_assert_int_eq(claim_submit_verb(conn, grant, CLAIM_COMPLETE, "paid", 4, on_done, ticket(4)), CLAIM_OK);
	acquire("k", NULL, 5);
	loop_until(5);
	for (int i = 1; i < 4; i++)
		heard_is(i, CLAIM_OK, i + 1);
	heard_is(4, CLAIM_DONE, 5);
}
END_TEST

START_TEST(a_list_is_called_back_line_by_line)
{
	acquire("a", NULL, 1);
	acquire("b", NULL, 2);
	loop_until(2);
	ck_assert_int_eq(claim_submit(conn, "LIST", 4, NULL, 0, on_done, ticket(3)), CLAIM_OK);
	loop_until(5);
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
	ck_assert_int_eq(claim_submit(conn, longest, 8192, NULL, 0, on_done, ticket(1)), CLAIM_E_INVAL);
	ck_assert_int_eq(claim_submit(conn, longest, 8192 - 64, NULL, 0, on_done, ticket(1)), CLAIM_OK);
	loop_until(1);
	heard_is(0, CLAIM_OK, 1);
}
END_TEST

START_TEST(what_is_wrong_is_refused_at_once)
{
	struct claim_options bad = CLAIM_OPTIONS_INIT;
	ck_assert_int_eq(claim_submit(conn, "A\nB", 3, NULL, 0, on_done, NULL), CLAIM_E_INVAL);
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, NULL, NULL), CLAIM_E_INVAL);
	ck_assert_int_eq(acquire("", NULL, 1), CLAIM_E_INVAL);
	bad.drop = CLAIM_DROP_RELEASE;
	bad.token = "0123456789abcdef";
	ck_assert_int_eq(acquire("k", &bad, 1), CLAIM_E_INVAL);
	bad = (struct claim_options)CLAIM_OPTIONS_INIT;
	bad.wait_ms = -1;
	ck_assert_int_eq(acquire("k", &bad, 1), CLAIM_E_INVAL);
	bad = (struct claim_options)CLAIM_OPTIONS_INIT;
	bad.size++;
	ck_assert_int_eq(acquire("k", &bad, 1), CLAIM_E_INVAL);
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
	acquire("k", &old, 1);
	loop_until(1);
	heard_is(0, CLAIM_WON, 1);
}
END_TEST

START_TEST(nobody_there_is_told_at_once)
{
	claim_close(conn);
	ck_assert_int_eq(claim_open(&conn, daemon_.socket, NULL, 3600000), CLAIM_OK);
	spawn_stop(&daemon_, SIGKILL);
	acquire("k", NULL, 1);
	loop_until(1);
	heard_is(0, CLAIM_E_UNREACHABLE, 1);
	ck_assert_int_eq(claim_timeout_ms(conn), -1);
}
END_TEST

START_TEST(a_call_has_its_time)
{
	struct claim_options waits = CLAIM_OPTIONS_INIT;
	waits.wait_ms = 3600000;
	claim_close(conn);
	ck_assert_int_eq(claim_open(&conn, daemon_.socket, NULL, 200), CLAIM_OK);
	acquire("k", NULL, 1);
	loop_until(1);
	acquire("k", &waits, 2);
	claim_on_event(conn, on_done, ticket(9)); /* hears when the connection is cut */
	kill(daemon_.pid, SIGSTOP);
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, on_done, ticket(3)), CLAIM_OK);
	loop_until(2);
	heard_is(1, CLAIM_E_UNCERTAIN, 3);
	kill(daemon_.pid, SIGCONT);
	/* Its answer comes after all, and is nobody's: the connection lives. */
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, on_done, ticket(4)), CLAIM_OK);
	loop_until(3);
	heard_is(2, CLAIM_OK, 4);
}
END_TEST

START_TEST(a_cut_claim_is_asked_again_with_its_token)
{
	acquire("k", NULL, 1);
	loop_until(1);
	kill(daemon_.pid, SIGSTOP);
	acquire("other", NULL, 2);
	for (int i = 0; i < 3; i++)
		claim_process(conn); /* its octets leave */
	spawn_stop(&daemon_, SIGKILL);
	spawn_start(&daemon_, on_sqlite);
	ck_assert_int_eq(claim_submit_verb(conn, grant, CLAIM_COMPLETE, NULL, 0, on_done, ticket(3)), CLAIM_OK);
	loop_until(3);
	for (int i = 1; i < 3; i++)
		ck_assert_int_eq(heard[i].code, heard[i].ticket == 2 ? CLAIM_WON : CLAIM_OK);
}
END_TEST

START_TEST(one_without_a_token_is_not)
{
	struct claim_options drops = CLAIM_OPTIONS_INIT;
	drops.drop = CLAIM_DROP_RELEASE;
	acquire("k", &drops, 1);
	loop_until(1);
	heard_is(0, CLAIM_WON, 1);
	ck_assert_str_eq(claim_grant_token(grant), "");
	kill(daemon_.pid, SIGSTOP);
	acquire("other", &drops, 2);
	for (int i = 0; i < 3; i++)
		claim_process(conn);
	spawn_stop(&daemon_, SIGKILL);
	loop_until(2);
	heard_is(1, CLAIM_E_UNCERTAIN, 2);
}
END_TEST

static void submits_more(claim_conn *from, int code, void *arg)
{
	on_done(from, code, arg);
	ck_assert_int_eq(claim_submit(from, "PING", 4, NULL, 0, on_done, ticket(2)), CLAIM_OK);
	ck_assert_int_eq(claim_call(from, "PING", 4, NULL, 0), CLAIM_E_INVAL); /* it would block */
	claim_process(from);                                                   /* and this does nothing */
	ck_assert_int_eq(heard_count, 1);
}

START_TEST(a_callback_may_submit)
{
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, submits_more, ticket(1)), CLAIM_OK);
	loop_until(2);
	heard_is(1, CLAIM_OK, 2);
}
END_TEST

static void closes_in_vain(claim_conn *from, int code, void *arg)
{
	claim_close(from);
	on_done(from, code, arg);
}

START_TEST(a_callback_may_not_close_under_a_call_that_blocks)
{
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, closes_in_vain, ticket(1)), CLAIM_OK);
	ck_assert_int_eq(claim_call(conn, "PING", 4, NULL, 0), CLAIM_OK);
	ck_assert_int_eq(claim_call(conn, "PING", 4, NULL, 0), CLAIM_OK);
	ck_assert_int_eq(heard_count, 1);
}
END_TEST

static bool closed;

static void closes(claim_conn *from, int code, void *arg)
{
	(void)code;
	(void)arg;
	claim_close(from);
	closed = true;
	ck_assert_int_eq(claim_submit(from, "PING", 4, NULL, 0, on_done, NULL), CLAIM_E_INVAL);
}

START_TEST(a_callback_may_close)
{
	closed = false;
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, closes, NULL), CLAIM_OK);
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, on_done, NULL), CLAIM_OK);
	while (!closed) {
		struct pollfd look = {.fd = claim_fd(conn), .events = (short)claim_events(conn)};
		poll(&look, 1, 100);
		claim_process(conn);
	}
	ck_assert_int_eq(heard_count, 0);
	conn = NULL;
}
END_TEST

START_TEST(blocking_calls_may_be_mixed_in)
{
	claim_grant *own;
	acquire("k", NULL, 1);
	ck_assert_int_eq(claim_acquire(conn, KEY, NULL, &own), CLAIM_WON);
	loop_until(1);
	heard_is(0, CLAIM_WON, 1);
	acquire("k", NULL, 2);
	ck_assert_int_eq(claim_complete(conn, own, NULL, 0), CLAIM_OK);
	claim_grant_free(own);
	loop_until(2);
	heard_is(1, CLAIM_HELD, 2);
}
END_TEST

START_TEST(a_list_that_is_not_read_to_its_end_does_no_harm)
{
	acquire("a", NULL, 1);
	acquire("b", NULL, 2);
	loop_until(2);
	ck_assert_int_eq(claim_call(conn, "LIST", 4, NULL, 0), CLAIM_ITEM);
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, on_done, ticket(3)), CLAIM_OK);
	loop_until(3);
	heard_is(2, CLAIM_OK, 3);
}
END_TEST

START_TEST(a_child_may_not_use_it)
{
	int status;
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(claim_submit(conn, "PING", 4, NULL, 0, on_done, NULL) == CLAIM_E_FORKED ? 0 : 1);
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
	claim_on_event(conn, on_done, ticket(9));
	acquire("k", &holds, 1);
	loop_until(4);
	heard_is(0, CLAIM_WON, 1);
	for (int i = 1; i < 4; i++) {
		heard_is(i, CLAIM_EVENT, 9);
		ck_assert_str_eq(heard[i].word, "RENEWED");
	}
	spawn_stop(&daemon_, SIGKILL);
	int before = heard_count;
	while (heard[heard_count - 1].code == CLAIM_EVENT) {
		ck_assert_int_lt(heard_count, before + 5);
		loop_until(heard_count + 1);
	}
	heard_is(heard_count - 1, CLAIM_E_UNREACHABLE, 9);
}
END_TEST

START_TEST(a_watch_is_told)
{
	claim_on_event(conn, on_done, ticket(9));
	ck_assert_int_eq(claim_submit(conn, "WATCH", 5, NULL, 0, on_done, ticket(1)), CLAIM_OK);
	loop_until(1);
	wire_ask_once(&daemon_, "CLAIM other");
	loop_until(2);
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
	acquire("k", NULL, 1);
	ck_assert_int_eq(heard_count, 0);
	ck_assert_int_eq(claim_timeout_ms(conn), 0);
	loop_until(1);
	heard_is(0, CLAIM_WON, 1);
	ck_assert(claim_unguarded(grant));
	ck_assert_int_eq(claim_submit_verb(conn, grant, CLAIM_COMPLETE, NULL, 0, on_done, ticket(2)), CLAIM_OK);
	loop_until(2);
	heard_is(1, CLAIM_OK, 2);
	unsetenv("CLAIMD_DISABLED");
}
END_TEST

/* ---- where the moment counts ---- */

static struct play peer;

static void peer_setup(void)
{
	heard_count = 0;
	grant = NULL;
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
	return claim_submit(conn, line, strlen(line), NULL, 0, on_done, ticket(n));
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
	loop_strictly_until(1);
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
	claim_on_event(conn, on_done, ticket(9));
	ck_assert_int_eq(call("LIST"), CLAIM_ITEM);
	if (_i == 0) {
		ck_assert_int_eq(call("PING"), CLAIM_OK);
	} else {
		submit("PING", 1);
		loop_until(2);
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
	claim_on_event(conn, on_done, ticket(9));
	acquire("k", &drops, 1);
	ck_assert_int_eq(call("PING"), CLAIM_E_UNCERTAIN);
	ck_assert_int_eq(claim_timeout_ms(conn), 0);
	loop_strictly_until(2);
	heard_is(0, CLAIM_E_UNCERTAIN, 1);
	heard_is(1, CLAIM_E_UNREACHABLE, 9);
	ck_assert_int_eq(claim_timeout_ms(conn), -1);
}
END_TEST

/* A child of a fork has a copy of the descriptor, which must not keep the loop of the parent awake. */
START_TEST(a_cut_connection_does_not_stay_ready)
{
	static const char *const script[] = {"|", "<PING tag=lc1", ">OK tag=lc1\n", NULL};
	int hold[2];
	char gone;
	play_start(&peer, script);
	claim_on_event(conn, on_done, ticket(9));
	submit("PING", 1);
	ck_assert_int_eq(pipe(hold), 0);
	loop_until(1);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		close(hold[1]);
		_exit(read(hold[0], &gone, 1) == 0 ? 0 : 1); /* until the test is over */
	}
	loop_until(2);
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
	on_done(from, code, arg);
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
	ck_assert_int_eq(claim_submit(conn, "PING", 4, NULL, 0, blocks_in_vain, ticket(1)), CLAIM_OK);
	ck_assert_int_eq(call("LIST"), CLAIM_ITEM);
	ck_assert_int_eq(heard_count, 1);
	ck_assert_int_eq(claim_next(conn), CLAIM_END);
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

static TCase *peer_case(void)
{
	TCase *tests = tcase_create("peer");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, peer_setup, peer_teardown);
	tcase_add_test(tests, an_answer_that_comes_with_that_of_a_blocking_call);
	tcase_add_loop_test(tests, a_list_that_is_dropped_costs_a_watch, 0, 2);
	tcase_add_test(tests, what_a_blocking_call_cuts_is_told_at_once);
	tcase_add_test(tests, a_cut_connection_does_not_stay_ready);
	tcase_add_test(tests, a_callback_inside_a_blocking_call_may_not_block);
	tcase_add_test(tests, an_answer_ends_with_the_next_turn);
	return tests;
}

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
	tcase_add_test(tests, a_call_has_its_time);
	tcase_add_test(tests, a_cut_claim_is_asked_again_with_its_token);
	tcase_add_test(tests, one_without_a_token_is_not);
	tcase_add_test(tests, a_callback_may_submit);
	tcase_add_test(tests, a_callback_may_close);
	tcase_add_test(tests, a_callback_may_not_close_under_a_call_that_blocks);
	tcase_add_test(tests, blocking_calls_may_be_mixed_in);
	tcase_add_test(tests, a_list_that_is_not_read_to_its_end_does_no_harm);
	tcase_add_test(tests, a_child_may_not_use_it);
	tcase_add_test(tests, events_are_told_and_their_end);
	tcase_add_test(tests, a_watch_is_told);
	tcase_add_test(tests, disabled_answers_without_a_daemon);
	suite_add_tcase(suite, tests);
	suite_add_tcase(suite, peer_case());
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
