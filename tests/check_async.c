/*
 * check_async.c - libclaim against a real daemon: calls that call back, claim_once, content keys, and nothing guarded.
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

/* ---- claim_once ---- */

static struct {
	int runs, hooks;
	enum claim_outcome outcome;
	char hook;
	void (*then)(claim_run *run);
} work_;

static enum claim_outcome work(claim_run *run, void *arg)
{
	ck_assert_ptr_eq(arg, &work_);
	work_.runs++;
	ck_assert_int_eq(claim_run_result(run, "wrong", 5), CLAIM_OK);
	ck_assert_int_eq(claim_run_result(run, "paid", 4), CLAIM_OK);
	if (work_.then)
		work_.then(run);
	return work_.outcome;
}

static void on_hook(char hook)
{
	work_.hooks++;
	work_.hook = hook;
}

static void duplicate(claim_conn *from, void *arg)
{
	size_t len;
	(void)arg;
	on_hook('d');
	ck_assert_ptr_nonnull(claim_body(from, &len));
	ck_assert_uint_eq(len, 4);
}

static void conflict(claim_conn *from, void *arg)
{
	(void)arg;
	on_hook('c');
	ck_assert_int_gt(claim_number(from, "retry_ms", 0), 0);
}

static void mismatch(claim_conn *from, void *arg)
{
	(void)from;
	(void)arg;
	on_hook('m');
}

static void unguarded(claim_conn *from, void *arg)
{
	(void)from;
	(void)arg;
	on_hook('u');
}

static void settle_failed(claim_conn *from, int code, void *arg)
{
	(void)from;
	(void)arg;
	ck_assert_int_ne(code, CLAIM_OK);
	on_hook('s');
}

static struct claim_once_options once_init(enum claim_outcome outcome)
{
	struct claim_once_options once = CLAIM_ONCE_INIT;
	memset(&work_, 0, sizeof(work_));
	work_.outcome = outcome;
	once.arg = &work_;
	once.duplicate = duplicate;
	once.conflict = conflict;
	once.mismatch = mismatch;
	once.unguarded = unguarded;
	once.settle_failed = settle_failed;
	return once;
}

static const char *status(void)
{
	return wire_ask_once(&daemon_, "STATUS orders:42");
}

START_TEST(once_runs_once)
{
	struct claim_once_options once = once_init(CLAIM_DID);
	ck_assert_int_eq(claim_once(conn, KEY, &once, work), CLAIM_OK);
	ck_assert_int_eq(once.ran, 1);
	ck_assert_int_eq(work_.hooks, 0);
	ck_assert_int_eq(claim_once(conn, KEY, &once, work), CLAIM_DONE);
	ck_assert_int_eq(once.ran, 0);
	ck_assert_int_eq(work_.runs, 1);
	ck_assert_int_eq(work_.hook, 'd');
}
END_TEST

START_TEST(each_outcome_is_recorded)
{
	static const struct {
		enum claim_outcome outcome;
		const char *state;
	} row[] = {{CLAIM_DID, "state=done"},
		   {CLAIM_NEVER_DO, "state=failed"},
		   {CLAIM_TRY_AGAIN, "state=free"},
		   {CLAIM_NOT_SURE, "state=unknown"},
		   {(enum claim_outcome)77, "state=unknown"}};
	struct claim_once_options once = once_init(row[_i].outcome);
	ck_assert_int_eq(claim_once(conn, KEY, &once, work), CLAIM_OK);
	ck_assert_msg(strstr(status(), row[_i].state) != NULL, "%s", status());
}
END_TEST

START_TEST(once_tells_why_it_does_not_run)
{
	struct claim_once_options once = once_init(CLAIM_DID);
	once.claim.fp = "a";
	wire_ask_once(&daemon_, "CLAIM orders:42 fp=a");
	ck_assert_int_eq(claim_once(conn, KEY, &once, work), CLAIM_HELD);
	ck_assert_int_eq(work_.hook, 'c');
	once.claim.fp = "b";
	ck_assert_int_eq(claim_once(conn, KEY, &once, work), CLAIM_MISMATCH);
	ck_assert_int_eq(work_.hook, 'm');
	ck_assert_int_eq(work_.runs, 0);
	spawn_stop(&daemon_, SIGKILL);
	ck_assert_int_eq(claim_once(conn, KEY, &once, work), CLAIM_E_UNREACHABLE);
	ck_assert_int_eq(once.ran, 0);
}
END_TEST

static void work_long(claim_run *run)
{
	long long until_ms = wait_now_ms() + 700;
	while (wait_now_ms() < until_ms) {
		ck_assert_int_eq(claim_run_renew(run), CLAIM_OK);
		ck_assert_int_gt(claim_run_left_ms(run), 0);
		wait_moment(until_ms);
	}
}

START_TEST(work_may_be_longer_than_its_lease)
{
	struct claim_once_options once = once_init(CLAIM_DID);
	once.claim.lease_ms = 300;
	work_.then = work_long;
	ck_assert_int_eq(claim_once(conn, KEY, &once, work), CLAIM_OK);
	ck_assert_int_eq(work_.runs, 1);
}
END_TEST

static void lose_it(claim_run *run)
{
	long long until_ms = wait_now_ms() + SPAWN_WAIT_MS;
	ck_assert_ptr_nonnull(strstr(wire_ask_once(&daemon_, "RESOLVE orders:42 as=free force"), "OK"));
	while (claim_run_renew(run) != CLAIM_STALE)
		ck_assert(wait_moment(until_ms));
	ck_assert_int_eq(claim_run_left_ms(run), 0);
	ck_assert_int_eq(claim_run_renew(run), CLAIM_STALE);
}

START_TEST(work_hears_that_it_lost_the_key)
{
	struct claim_once_options once = once_init(CLAIM_DID);
	once.claim.lease_ms = 300;
	work_.then = lose_it;
	ck_assert_int_eq(claim_once(conn, KEY, &once, work), CLAIM_STALE);
	ck_assert_int_eq(once.ran, 1);
	ck_assert_int_eq(work_.hook, 's');
}
END_TEST

static void kill_daemon(claim_run *run)
{
	(void)run;
	spawn_stop(&daemon_, SIGKILL);
}

START_TEST(an_outcome_that_cannot_be_recorded_is_told)
{
	struct claim_once_options once = once_init(CLAIM_DID);
	once.settle_ms = 300;
	work_.then = kill_daemon;
	ck_assert_int_eq(claim_once(conn, KEY, &once, work), CLAIM_E_UNREACHABLE);
	ck_assert_int_eq(once.ran, 1);
	ck_assert_int_eq(work_.hook, 's');
}
END_TEST

/* It comes back while the outcome waits. */
static void kill_and_restart(claim_run *run)
{
	(void)run;
	spawn_stop(&daemon_, SIGKILL);
	spawn_launch(&daemon_, on_sqlite);
}

START_TEST(an_outcome_is_recorded_by_the_next_daemon)
{
	struct claim_once_options once = once_init(CLAIM_DID);
	work_.then = kill_and_restart;
	ck_assert_int_eq(claim_once(conn, KEY, &once, work), CLAIM_OK);
	ck_assert_int_eq(work_.hooks, 0);
	ck_assert_ptr_nonnull(strstr(status(), "state=done"));
}
END_TEST

START_TEST(once_may_wait)
{
	struct claim_once_options once = once_init(CLAIM_DID);
	once.claim.wait_ms = 20000;
	once.claim.lease_ms = 5000;
	wire_ask_once(&daemon_, "CLAIM orders:42 lease=100ms");
	ck_assert_int_eq(claim_once(conn, KEY, &once, work), CLAIM_OK);
	ck_assert_int_eq(work_.runs, 1);
}
END_TEST

/* ---- nothing guarded ---- */

START_TEST(disabled_guards_nothing_and_says_so)
{
	struct claim_once_options once = once_init(CLAIM_DID);
	claim_grant *own;
	claim_close(conn);
	setenv("CLAIMD_DISABLED", "1", 1);
	ck_assert_int_eq(claim_open(&conn, "/nowhere/at/all", NULL, 1000), CLAIM_OK);
	ck_assert_int_eq(claim_acquire(conn, KEY, NULL, &own), CLAIM_WON);
	ck_assert(claim_unguarded(own));
	ck_assert_int_eq(claim_renew(conn, own, 1000), CLAIM_OK);
	ck_assert_int_eq(claim_complete(conn, own, NULL, 0), CLAIM_OK);
	claim_grant_free(own);
	ck_assert_int_eq(claim_once(conn, KEY, &once, work), CLAIM_OK);
	ck_assert_int_eq(work_.hook, 'u');
	acquire("k", NULL, 1);
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

/* ---- content keys ---- */

START_TEST(content_keys)
{
	char a[65], b[65];
	ck_assert_int_eq(claim_key_json(conn, "{\"b\":1.0,\"a\":[]}", 16, NULL, NULL, NULL, a), CLAIM_OK);
	ck_assert_int_eq(claim_key_json(conn, "{ \"a\":[], \"b\":1 }", 17, NULL, NULL, NULL, b), CLAIM_OK);
	ck_assert_str_eq(a, b);
	ck_assert_uint_eq(strlen(a), 64);
	claim_key_bytes("{\"a\":[],\"b\":1}", 14, b);
	ck_assert_str_eq(a, b);
	ck_assert_int_eq(claim_key_json(conn, "{\"b\":1.26,\"a\":2}", 16, "b,a", "a", "b:1", a), CLAIM_OK);
	claim_key_bytes("{\"b\":1.3}", 9, b);
	ck_assert_str_eq(a, b);
	ck_assert_int_eq(claim_key_json(conn, "{", 1, NULL, NULL, NULL, a), CLAIM_E_INVAL);
	ck_assert_ptr_nonnull(strstr(claim_detail(conn), "badkey"));
	ck_assert_int_eq(claim_key_json(conn, NULL, 0, NULL, NULL, NULL, a), CLAIM_E_INVAL);
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
	tcase_add_test(tests, once_runs_once);
	tcase_add_loop_test(tests, each_outcome_is_recorded, 0, 5);
	tcase_add_test(tests, once_tells_why_it_does_not_run);
	tcase_add_test(tests, work_may_be_longer_than_its_lease);
	tcase_add_test(tests, work_hears_that_it_lost_the_key);
	tcase_add_test(tests, an_outcome_that_cannot_be_recorded_is_told);
	tcase_add_test(tests, an_outcome_is_recorded_by_the_next_daemon);
	tcase_add_test(tests, once_may_wait);
	tcase_add_test(tests, disabled_guards_nothing_and_says_so);
	tcase_add_test(tests, content_keys);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
