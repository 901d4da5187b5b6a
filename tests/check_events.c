/*
 * check_events.c - a real daemon and claims that are bound to a connection: hold, drop, notify, WATCH, and what a daemon says whose
 * store is down when it may go on unguarded.
 */
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon_case.h"

static int fd; /* a connection */

static void setup(void)
{
	spawn_init(&daemon_);
	spawn_start(&daemon_, in_memory);
	fd = dial();
}

static void teardown(void)
{
	close(fd);
	spawn_end(&daemon_);
}

/* Wins with these options on the connection; returns the fence. */
static long long win(const char *options)
{
	char line[256];
	const char *answer;

	snprintf(line, sizeof line, "CLAIM k %s", options);
	answer = wire_ask(fd, line);
	starts(answer, "WON ");
	return wire_number(answer, "fence");
}

/* ---- hold and notify ---- */

START_TEST(a_held_lease_is_renewed_and_told)
{
	char event[64];
	long long fence = win("lease=300ms hold=1h notify");

	snprintf(event, sizeof event, "* RENEWED key=k fence=%lld left_ms=", fence);
	for (int i = 0; i < 5; i++)
		starts(wire_line(fd), event);
	starts(ask("CLAIM k"), "HELD");
	starts(wire_ask(fd, with("COMPLETE k", fence, "")), "OK");
	starts(wire_ask(fd, "PING"), "OK"); /* and no event any more */
}
END_TEST

START_TEST(who_does_not_ask_is_told_nothing)
{
	win("lease=300ms hold=1h");
	for (long long age_ms = 0; age_ms < 700;) /* two renewals later */
		age_ms = wire_number(ask("STATUS k"), "age_ms");
	starts(ask("STATUS"), "STATUS");
	becomes("STATUS", " granted_live=1");
	starts(ask("CLAIM k"), "HELD");
	starts(wire_ask(fd, "PING"), "OK");
}
END_TEST

START_TEST(a_loss_through_another_daemon_is_seen)
{
	struct spawn other;
	static char store[160];
	const char *const args[] = {"--store", store, NULL};

	spawn_stop(&daemon_, SIGKILL);
	close(fd);
	spawn_start(&daemon_, on_sqlite);
	snprintf(store, sizeof store, "sqlite:%s/db", daemon_.dir);
	spawn_init(&other);
	spawn_start(&other, args);
	fd = spawn_connect(&daemon_);
	win("lease=2s hold=1h notify");
	starts(wire_ask_once(&other, "RESOLVE k as=done force"), "OK");
	for (;;) {
		const char *line = wire_line(fd);

		ck_assert_ptr_nonnull(line);
		if (strncmp(line, "* LOST", 6) == 0) {
			ck_assert_ptr_nonnull(strstr(line, "cause=refused"));
			break;
		}
	}
	becomes("STATUS", " granted_live=0");
	spawn_end(&other);
}
END_TEST

START_TEST(a_held_lease_ends_with_its_connection)
{
	win("lease=300ms hold=1h");
	close(fd);
	becomes("STATUS k", "lapsed=1");
	fd = spawn_connect(&daemon_);
}
END_TEST

START_TEST(who_loses_the_key_is_told)
{
	long long fence = win("lease=1h notify");

	starts(ask("RESOLVE k as=free force reason=test"), "OK");
	starts(wire_line(fd), "* LOST key=k fence=");
	starts(wire_ask(fd, with("COMPLETE k", fence, "")), "STALE");
	becomes("STATUS", " granted_live=0");
}
END_TEST

START_TEST(a_half_closed_client_goes_on_hearing)
{
	win("lease=300ms hold=1h notify");
	shutdown(fd, SHUT_WR);
	for (int i = 0; i < 5; i++)
		starts(wire_line(fd), "* RENEWED ");
}
END_TEST

START_TEST(one_that_is_gone_holds_nothing)
{
	win("lease=300ms hold=1h notify drop=unknown");
	shutdown(fd, SHUT_WR);
	starts(wire_line(fd), "* RENEWED ");
	close(fd);
	becomes("STATUS k", "state=unknown");
	fd = spawn_connect(&daemon_);
}
END_TEST

START_TEST(a_client_finds_its_hold_again_after_a_restart)
{
	long long fence;

	spawn_stop(&daemon_, SIGKILL);
	close(fd);
	spawn_start(&daemon_, on_sqlite);
	fd = spawn_connect(&daemon_);
	fence = win("lease=2s hold=1h notify");
	spawn_stop(&daemon_, SIGKILL);
	close(fd);
	spawn_start(&daemon_, on_sqlite);
	fd = spawn_connect(&daemon_);
	starts(wire_ask(fd, with("RENEW k", fence, "lease=2s hold=1h notify")), "OK state=claimed");
	for (int i = 0; i < 4; i++)
		starts(wire_line(fd), "* RENEWED key=k");
}
END_TEST

START_TEST(a_hold_needs_a_lease_worth_renewing)
{
	starts(wire_ask(fd, "CLAIM k lease=99ms hold=1h"), "ERR badopt");
	starts(wire_ask(fd, "CLAIM k lease=100ms hold=1h"), "WON");
}
END_TEST

/* ---- drop ---- */

START_TEST(drop_releases)
{
	win("lease=1h drop=release");
	close(fd);
	becomes("STATUS k", "state=free");
	fd = spawn_connect(&daemon_);
}
END_TEST

START_TEST(drop_goes_to_a_waiter)
{
	int waiter = spawn_connect(&daemon_);

	win("lease=1h drop=release");
	ck_assert(wire_say(waiter, "CLAIM k wait=1h\n"));
	becomes("STATUS", " waiting=1");
	close(fd);
	starts(wire_line(waiter), "WON");
	close(waiter);
	fd = spawn_connect(&daemon_);
}
END_TEST

START_TEST(a_settlement_in_the_last_breath_counts)
{
	long long fence = win("lease=1h drop=release");

	ck_assert(wire_say(fd, with("COMPLETE k", fence, "result=yes\n")));
	close(fd);
	becomes("STATUS k", "state=done");
	fd = spawn_connect(&daemon_);
}
END_TEST

START_TEST(a_daemon_that_leaves_drops_nothing)
{
	spawn_stop(&daemon_, SIGKILL);
	close(fd);
	spawn_start(&daemon_, on_sqlite);
	fd = spawn_connect(&daemon_);
	win("lease=1h drop=release");
	kill(daemon_.pid, SIGTERM);
	becomes("STATUS", "phase=draining");
	kill(daemon_.pid, SIGTERM);
	ck_assert_int_eq(spawn_wait(&daemon_), 0);
	spawn_start(&daemon_, on_sqlite);
	starts(ask("STATUS k"), "STATUS state=claimed");
}
END_TEST

/* ---- WATCH ---- */

static void told(const char *event)
{
	const char *line = wire_line(fd);

	starts(line, event);
}

START_TEST(a_watcher_is_told_of_each_change)
{
	long long fence;

	starts(wire_ask(fd, "WATCH"), "OK");
	fence = wire_number(ask("CLAIM a"), "fence");
	told("* WON key=a fence=");
	starts(ask(with("RENEW a", fence, "lease=1m")), "OK");
	starts(ask(with("DOUBT a", fence, "")), "OK");
	told("* UNKNOWN key=a fence=");
	starts(ask(with("COMPLETE a", fence, "")), "OK");
	told("* DONE key=a fence=");
	starts(ask(with("COMPLETE a", fence, "")), "OK"); /* no change */
	starts(ask("FORGET a"), "OK deleted=1");
	told("* GONE key=a fence=");
	fence = wire_number(ask("CLAIM b%20c"), "fence");
	told("* WON key=b%20c fence=");
	starts(ask(with("FAIL b%20c", fence, "")), "OK");
	told("* FAILED key=b%20c");
	starts(ask("RESOLVE b%20c as=free force"), "OK");
	told("* FREE key=b%20c");
}
END_TEST

START_TEST(a_watcher_is_told_of_what_the_daemon_does_itself)
{
	int other = spawn_connect(&daemon_);

	starts(wire_ask(fd, "WATCH"), "OK");
	starts(wire_ask(other, "CLAIM a drop=release"), "WON");
	told("* WON key=a");
	close(other);
	told("* FREE key=a");
}
END_TEST

START_TEST(a_watcher_chooses)
{
	long long fence;

	starts(wire_ask(fd, "WATCH prefix=po: state=done"), "OK");
	fence = wire_number(ask("CLAIM a"), "fence");
	ask(with("COMPLETE a", fence, ""));
	fence = wire_number(ask("CLAIM po:1"), "fence");
	ask(with("COMPLETE po:1", fence, ""));
	told("* DONE key=po:1");
	starts(wire_ask(fd, "WATCH state=live"), "OK"); /* in its place */
	fence = wire_number(ask("CLAIM b"), "fence");
	told("* WON key=b");
	ask(with("COMPLETE b", fence, ""));
	starts(wire_ask(fd, "PING"), "OK");
}
END_TEST

START_TEST(a_watcher_sees_its_namespace_only)
{
	starts(wire_ask(fd, "HELLO ns=shop"), "OK");
	starts(wire_ask(fd, "WATCH prefix=a"), "OK");
	ask("CLAIM a");
	ask("CLAIM shop:b");
	ask("CLAIM shop:a1");
	told("* WON key=a1 fence=");
	close(fd);
	fd = spawn_connect(&daemon_);
	starts(wire_ask(fd, "WATCH"), "OK");
	starts(wire_ask(fd, "HELLO ns=other"), "ERR denied");
}
END_TEST

START_TEST(a_watcher_that_closed_half_goes_on_hearing)
{
	starts(wire_ask(fd, "WATCH"), "OK");
	shutdown(fd, SHUT_WR);
	ask("CLAIM a");
	told("* WON key=a");
}
END_TEST

/* Until the daemon's own buffer and the kernel's are full, and some more. */
START_TEST(a_slow_watcher_is_told_what_it_missed)
{
	int other = spawn_connect(&daemon_);
	char line[1200], key[1001];
	const char *got;
	long long missed = 0, seen = 0, count = 2000;

	memset(key, 'x', sizeof key - 1);
	key[sizeof key - 1] = '\0';
	starts(wire_ask(fd, "WATCH"), "OK");
	for (long long i = 0; i < count; i++) {
		snprintf(line, sizeof line, "CLAIM %lld.%s", i, key);
		starts(wire_ask(other, line), "WON");
	}
	close(other);
	while (seen + missed < count) {
		got = wire_line(fd);
		ck_assert_ptr_nonnull(got);
		if (strncmp(got, "* MISSED count=", 15) == 0)
			missed += wire_number(got, "count");
		else /* those that were missed are told of in their place */
			ck_assert_int_eq(strtoll(strstr(got, "key=") + 4, NULL, 10), missed + seen++);
	}
	ck_assert_int_gt(missed, 0);
	ck_assert_int_eq(seen + missed, count);
}
END_TEST

START_TEST(watchers_alone_do_not_hold_up_the_end)
{
	starts(wire_ask(fd, "WATCH"), "OK");
	ck_assert_int_eq(spawn_stop(&daemon_, SIGTERM), 0);
	ck_assert(file_holds(daemon_.log, "why=\"nobody needs it\""));
}
END_TEST

START_TEST(a_watcher_that_is_gone_is_let_go)
{
	starts(wire_ask(fd, "WATCH"), "OK");
	shutdown(fd, SHUT_WR);
	becomes("STATUS", " connections=2");
	close(fd);
	becomes("STATUS", " connections=1");
	fd = spawn_connect(&daemon_);
}
END_TEST

START_TEST(a_win_that_is_told_again_is_no_change)
{
	starts(wire_ask(fd, "WATCH"), "OK");
	starts(ask("CLAIM a lease=1ms token=0123456789abcdef"), "WON");
	told("* WON key=a");
	becomes("STATUS a", "lapsed=1");
	starts(ask("CLAIM a lease=1m token=0123456789abcdef"), "WON");
	starts(wire_ask(fd, "PING"), "OK");
}
END_TEST

/* ---- the rest ---- */

START_TEST(a_client_may_ask_it_to_leave)
{
	starts(wire_ask(fd, "SHUTDOWN reason=test"), "OK");
	starts(wire_ask(fd, "SHUTDOWN"), "OK"); /* once more is not at once */
	starts(wire_ask(fd, "STATUS"), "STATUS");
	close(fd);
	ck_assert_int_eq(spawn_wait(&daemon_), 0);
	ck_assert(file_holds(daemon_.log, "reason=test"));
	ck_assert(file_holds(daemon_.log, "why=\"nobody needs it\""));
}
END_TEST

START_TEST(a_key_is_made_from_json)
{
	char hex[128];

	ck_assert(wire_say(fd, "KEY body=13\n{\"b\":1,\"a\":2}\n"));
	snprintf(hex, sizeof hex, "%s", wire_line(fd));
	starts(hex, "OK key=");
	ck_assert_uint_eq(strlen(hex), 7 + 64);
	ck_assert(wire_say(fd, "KEY body=17 except=c\n{\"a\":2.0,\"b\":1e0}\n"));
	ck_assert_str_eq(wire_line(fd), hex);
	ck_assert(wire_say(fd, "KEY body=1 tag=t\n{\n"));
	starts(wire_line(fd), "ERR badkey retry=no");
	starts(wire_ask(fd, "PING"), "OK");
}
END_TEST

START_TEST(unguarded_needs_to_be_asked_for)
{
	starts(wire_ask(fd, "COMPLETE k fence=0"), "ERR badopt");
	ck_assert_ptr_null(strstr(wire_ask(fd, "HELLO"), "unguarded"));
}
END_TEST

START_TEST(a_store_that_is_down_lets_run_unguarded)
{
	static const char *const args[] = {"--store",           "sqlite:@/db",     "--on-store-down",
					   "run-unguarded",     "--store-timeout", "100ms",
					   "--request-timeout", "300ms",           NULL};
	static const char *const verbs[] = {"COMPLETE k", "FAIL k",  "RELEASE k",
					    "DOUBT k",    "CHECK k", "RENEW k lease=1s"};
	char path[128];
	sqlite3 *locker;

	spawn_stop(&daemon_, SIGKILL);
	close(fd);
	spawn_start(&daemon_, args);
	fd = spawn_connect(&daemon_);
	ck_assert_ptr_nonnull(strstr(wire_ask(fd, "HELLO"), "unguarded"));
	starts(wire_ask(fd, "CLAIM good"), "WON fence=1");
	snprintf(path, sizeof path, "%s/db", daemon_.dir);
	ck_assert_int_eq(sqlite3_open(path, &locker), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(locker, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	starts(wire_ask(fd, "CLAIM k lease=5s"), "WON fence=0 lease_ms=5000 guarded=0");
	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
		ck_assert_str_eq(wire_ask(fd, with(verbs[i], 0, "")), "OK guarded=0");
	ck_assert(file_holds(daemon_.log, "unguarded"));
	starts(wire_ask(fd, "RENEW good fence=7 lease=1s"), "ERR store"); /* it is for CLAIM only */
	sqlite3_close(locker);
	becomes("CLAIM k", "WON fence=1");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("events");
	TCase *tests = tcase_create("events");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_held_lease_is_renewed_and_told);
	tcase_add_test(tests, who_does_not_ask_is_told_nothing);
	tcase_add_test(tests, a_loss_through_another_daemon_is_seen);
	tcase_add_test(tests, a_held_lease_ends_with_its_connection);
	tcase_add_test(tests, who_loses_the_key_is_told);
	tcase_add_test(tests, a_half_closed_client_goes_on_hearing);
	tcase_add_test(tests, one_that_is_gone_holds_nothing);
	tcase_add_test(tests, a_client_finds_its_hold_again_after_a_restart);
	tcase_add_test(tests, a_hold_needs_a_lease_worth_renewing);
	tcase_add_test(tests, drop_releases);
	tcase_add_test(tests, drop_goes_to_a_waiter);
	tcase_add_test(tests, a_settlement_in_the_last_breath_counts);
	tcase_add_test(tests, a_daemon_that_leaves_drops_nothing);
	tcase_add_test(tests, a_watcher_is_told_of_each_change);
	tcase_add_test(tests, a_watcher_is_told_of_what_the_daemon_does_itself);
	tcase_add_test(tests, a_watcher_chooses);
	tcase_add_test(tests, a_watcher_sees_its_namespace_only);
	tcase_add_test(tests, a_watcher_that_closed_half_goes_on_hearing);
	tcase_add_test(tests, a_slow_watcher_is_told_what_it_missed);
	tcase_add_test(tests, watchers_alone_do_not_hold_up_the_end);
	tcase_add_test(tests, a_watcher_that_is_gone_is_let_go);
	tcase_add_test(tests, a_win_that_is_told_again_is_no_change);
	tcase_add_test(tests, a_client_may_ask_it_to_leave);
	tcase_add_test(tests, a_key_is_made_from_json);
	tcase_add_test(tests, unguarded_needs_to_be_asked_for);
	tcase_add_test(tests, a_store_that_is_down_lets_run_unguarded);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
