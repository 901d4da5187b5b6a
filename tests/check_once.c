/*
 * check_once.c - claim_once and content keys, against a real daemon, and against a peer that plays a script where
 * the moment counts.
 */
#include "../client/claim.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "play.h"
#include "spawn.h"

#define KEY "orders:42", 9

static const char *const on_sqlite[] = {"--store", "sqlite:@/db", NULL};
static struct spawn daemon_;
static claim_conn *conn;

static void setup(void)
{
	unsetenv("CLAIMD_DISABLED");
	spawn_init(&daemon_);
	spawn_start(&daemon_, on_sqlite);
	ck_assert_int_eq(claim_open(&conn, daemon_.socket, NULL, 10000), CLAIM_OK);
}

static void teardown(void)
{
	claim_close(conn);
	spawn_end(&daemon_);
}

/* ---- the work ---- */

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

static struct claim_options asked_;

static struct claim_once_options once_init(enum claim_outcome outcome)
{
	struct claim_once_options once = CLAIM_ONCE_INIT;
	memset(&work_, 0, sizeof(work_));
	asked_ = (struct claim_options)CLAIM_OPTIONS_INIT;
	once.claim = &asked_;
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
	ck_assert_int_eq(once.outcome, row[_i].outcome);
	ck_assert_msg(strstr(status(), row[_i].state) != NULL, "%s", status());
}
END_TEST

START_TEST(once_tells_why_it_does_not_run)
{
	struct claim_once_options once = once_init(CLAIM_DID);
	asked_.fp = "a";
	wire_ask_once(&daemon_, "CLAIM orders:42 fp=a");
	ck_assert_int_eq(claim_once(conn, KEY, &once, work), CLAIM_HELD);
	ck_assert_int_eq(work_.hook, 'c');
	asked_.fp = "b";
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
	asked_.lease_ms = 300;
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
	asked_.lease_ms = 300;
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
	asked_.wait_ms = 20000;
	asked_.lease_ms = 5000;
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
	char key[65];
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
	ck_assert_int_eq(claim_key_json(conn, "{}", 2, NULL, NULL, NULL, key), CLAIM_OK);
	ck_assert_str_eq(key, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
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

/* ---- where the moment counts ---- */

static struct play peer;

static void peer_setup(void)
{
	play_init(&peer);
	ck_assert_int_eq(claim_open(&conn, peer.path, NULL, 10000), CLAIM_OK);
}

static void peer_teardown(void)
{
	claim_close(conn);
	play_end(&peer);
}

#define TOKEN "0123456789abcdef"
#define OURS "orders:42 fence=7 token=" TOKEN

/* What is played to a claim that was ours before, and what comes of it. */
static const struct late {
	const char *script[11];
	int64_t lease_ms; /* asked for */
	int code, ran;
	const char *detail;
} late[] = {
    {{"|", "<CLAIM orders:42 lease=3600000ms token=" TOKEN, ">WON fence=7 lease_ms=1 attempts=3 was=own\n",
      "<RENEW " OURS " lease=3600000ms", ">OK state=claimed fence=7 left_ms=3600000\n", "<COMPLETE " OURS " body=4",
      "<paid", ">OK state=done fence=7\n", "."},
     3600000,
     CLAIM_OK,
     1,
     ""},
    {{"|", "<CLAIM orders:42 token=" TOKEN, ">WON fence=7 lease_ms=1000 attempts=3 was=own\n",
      "<RENEW " OURS " lease=900000ms", ">OK state=claimed fence=7 left_ms=3600000\n", "<COMPLETE", "<paid",
      ">OK state=done fence=7\n", "."},
     0,
     CLAIM_OK,
     1,
     ""},
    /* Not renewed, but there is time. */
    {{"|", "<CLAIM", ">WON fence=7 lease_ms=1200000 attempts=3 was=own\n", "<RENEW", ">ERR store retry=safe\n",
      "<COMPLETE", "<paid", ">OK state=done fence=7\n", "."},
     3600000,
     CLAIM_OK,
     1,
     ""},
    /* Not renewed, and the lease may be over: it does not run, and that is said. */
    {{"|", "<CLAIM", ">WON fence=7 lease_ms=0 attempts=3 was=own\n", "<RENEW", ">ERR store retry=safe\n",
      "<RELEASE " OURS, ">OK state=free fence=8\n", "."},
     3600000,
     CLAIM_E_REFUSED,
     0,
     "it was won too late to be sure of it, and given back"},
    {{"|", "<CLAIM", ">WON fence=7 lease_ms=0 attempts=3 was=own\n", "<RENEW", ">STALE fence=9 state=claimed\n", "."},
     3600000,
     CLAIM_STALE,
     0,
     ""},
};

static void look_at_run(claim_run *run)
{
	ck_assert_int_eq(claim_run_fence(run), 7);
	ck_assert_int_eq(claim_run_attempts(run), 3);
	ck_assert_int_gt(claim_run_left_ms(run), 1000000);
}

START_TEST(a_claim_that_was_won_late)
{
	struct claim_once_options once = once_init(CLAIM_DID);
	asked_.lease_ms = late[_i].lease_ms;
	asked_.token = TOKEN;
	work_.then = look_at_run;
	play_start(&peer, late[_i].script);
	ck_assert_int_eq(claim_once(conn, KEY, &once, work), late[_i].code);
	ck_assert_int_eq(once.ran, late[_i].ran);
	ck_assert_int_eq(work_.runs, late[_i].ran);
	ck_assert_int_eq(work_.hooks, 0);
	ck_assert_str_eq(claim_detail(conn), late[_i].detail);
}
END_TEST

/* It will not be recorded: the key is shut, and the caller is told of the first refusal. Where it may be recorded yet, or did not
 * happen, nothing more is said. */
static const struct refused {
	enum claim_outcome outcome;
	const char *script[10];
	int code;
	const char *detail;
} refused[] = {
    {CLAIM_DID,
     {"|", "<CLAIM", ">WON fence=7 lease_ms=900000\n", "<COMPLETE", "<paid", ">ERR badopt retry=no msg=why\n", "<DOUBT",
      ">OK state=unknown fence=7\n", "$"},
     CLAIM_E_INVAL,
     "badopt: why"},
    {CLAIM_NEVER_DO,
     {"|", "<CLAIM", ">WON fence=7 lease_ms=900000\n", "<FAIL", "<paid", ">ERR denied retry=no msg=why\n", "<DOUBT",
      ">OK state=unknown fence=7\n", "$"},
     CLAIM_E_DENIED,
     "denied: why"},
    {CLAIM_TRY_AGAIN,
     {"|", "<CLAIM", ">WON fence=7 lease_ms=900000\n", "<RELEASE", ">ERR badopt retry=no msg=why\n", "$"},
     CLAIM_E_INVAL,
     "badopt: why"},
    {CLAIM_DID,
     {"|", "<CLAIM", ">WON fence=7 lease_ms=900000\n", "<COMPLETE", "<paid", ">ERR timeout retry=maybe msg=why\n", "$"},
     CLAIM_E_UNCERTAIN,
     "timeout: why"},
};

START_TEST(an_outcome_that_is_refused_becomes_a_doubt)
{
	struct claim_once_options once = once_init(refused[_i].outcome);
	once.settle_ms = -1; /* one try */
	play_start(&peer, refused[_i].script);
	ck_assert_int_eq(claim_once(conn, KEY, &once, work), refused[_i].code);
	ck_assert_str_eq(claim_detail(conn), refused[_i].detail);
	ck_assert_int_eq(work_.hook, 's');
	ck_assert_int_eq(once.ran, 1);
}
END_TEST

static TCase *peer_case(void)
{
	TCase *tests = tcase_create("peer");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, peer_setup, peer_teardown);
	tcase_add_loop_test(tests, a_claim_that_was_won_late, 0, (int)(sizeof(late) / sizeof(late[0])));
	tcase_add_loop_test(tests, an_outcome_that_is_refused_becomes_a_doubt, 0,
			    (int)(sizeof(refused) / sizeof(refused[0])));
	return tests;
}

static TCase *daemon_case(void)
{
	TCase *tests = tcase_create("daemon");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
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
	return tests;
}

int main(void)
{
	Suite *suite = suite_create("once");
	suite_add_tcase(suite, daemon_case());
	suite_add_tcase(suite, peer_case());
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
