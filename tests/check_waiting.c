/*
 * check_waiting.c - a real daemon and clients that wait for a key: over the wire, on both stores, with two daemons on one file.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon_case.h"

#define WAITERS 5

static long long fence;

static void setup_memory(void)
{
	spawn_init(&daemon_);
	spawn_start(&daemon_, in_memory);
}

static void setup_sqlite(void)
{
	spawn_init(&daemon_);
	spawn_start(&daemon_, on_sqlite);
}

static void teardown(void)
{
	spawn_end(&daemon_);
}

static void hold(const char *lease)
{
	char line[128];

	snprintf(line, sizeof line, "CLAIM k lease=%s", lease);
	fence = wire_number(ask(line), "fence");
	ck_assert_int_gt(fence, 0);
}

/* A client that waits for k; the daemon knows of it. */
static int waiter(int nth, const char *line)
{
	char part[32];
	int fd = dial();

	ck_assert(wire_say(fd, line));
	snprintf(part, sizeof part, " waiting=%d", nth);
	becomes("STATUS", part);
	return fd;
}

START_TEST(released_keys_go_to_who_came_first)
{
	int fd[WAITERS];

	hold("1h");
	for (int i = 0; i < WAITERS; i++)
		fd[i] = waiter(i + 1, "CLAIM k lease=1h wait=1m\n");
	for (int i = 0; i < WAITERS; i++) {
		const char *won;

		starts(ask(with("RELEASE k", fence, "")), "OK state=free");
		won = wire_line(fd[i]);
		starts(won, "WON");
		fence = wire_number(won, "fence");
		close(fd[i]);
	}
	becomes("STATUS", " waiting=0");
}
END_TEST

START_TEST(done_reaches_all)
{
	int fd[WAITERS];

	hold("1h");
	for (int i = 0; i < WAITERS; i++)
		fd[i] = waiter(i + 1, i % 2 == 0 ? "CLAIM k wait=1m\n" : "STATUS k wait=1m\n");
	starts(ask(with("COMPLETE k", fence, "result=yes")), "OK state=done");
	for (int i = 0; i < WAITERS; i++) {
		starts(wire_line(fd[i]), i % 2 == 0 ? "DONE" : "STATUS state=done");
		if (i % 2 == 0)
			ck_assert_str_eq(wire_line(fd[i]), "yes");
		close(fd[i]);
	}
}
END_TEST

START_TEST(a_lapsed_lease_is_taken_over)
{
	int fd;

	hold("200ms");
	fd = waiter(1, "CLAIM k wait=1m\n");
	ck_assert_ptr_nonnull(strstr(wire_line(fd), "was=lapsed"));
	close(fd);
}
END_TEST

START_TEST(a_wait_ends)
{
	int fd = spawn_connect(&daemon_);

	hold("1h");
	starts(wire_ask(fd, "CLAIM k wait=50ms"), "HELD");
	starts(wire_ask(fd, "CLAIM k wait=0s"), "HELD");
	starts(wire_ask(fd, "STATUS k wait=50ms"), "STATUS state=claimed");
	close(fd);
}
END_TEST

START_TEST(a_wait_holds_up_answers_and_not_requests)
{
	int fd;

	hold("1h");
	fd = waiter(1, "CLAIM k wait=1m\nCLAIM other\nPING tag=a\n");
	starts(wire_line(fd), "OK tag=a");
	becomes("STATUS other", "state=claimed");
	starts(ask(with("RELEASE k", fence, "")), "OK");
	starts(wire_line(fd), "WON");
	starts(wire_line(fd), "WON");
	close(fd);
}
END_TEST

START_TEST(who_goes_leaves_the_queue)
{
	int first, second;

	hold("1h");
	first = waiter(1, "CLAIM k lease=1h wait=1m\n");
	second = waiter(2, "CLAIM k lease=1h wait=1m\n");
	close(first);
	becomes("STATUS", " waiting=1");
	starts(ask(with("RELEASE k", fence, "")), "OK");
	starts(wire_line(second), "WON");
	close(second);
}
END_TEST

START_TEST(half_closed_is_not_gone)
{
	int fd;

	hold("1h");
	fd = waiter(1, "CLAIM k wait=1m\n");
	shutdown(fd, SHUT_WR);
	/* Longer than the daemon takes to look for clients that are gone. */
	for (long long deadline_ms = wait_now_ms() + 2500; wait_moment(deadline_ms);)
		;
	starts(ask(with("RELEASE k", fence, "")), "OK");
	starts(wire_line(fd), "WON");
	close(fd);
}
END_TEST

START_TEST(half_closed_and_then_gone_is_found)
{
	int fd;

	hold("1h");
	fd = waiter(1, "CLAIM k wait=1m\n");
	shutdown(fd, SHUT_WR);
	ck_assert_str_eq(ask("PING"), "OK");
	close(fd);
	becomes("STATUS", " waiting=0");
}
END_TEST

/* The daemon stands still meanwhile, so that it finds both at once: the key is given back, and the first in the line is gone. */
static void released_past_the_dead(const char *line, const char *won)
{
	int fd, next;

	hold("1h");
	fd = waiter(1, line);
	next = waiter(2, "CLAIM k lease=1h wait=1m\n");
	kill(daemon_.pid, SIGSTOP);
	{
		int other = spawn_connect(&daemon_);

		ck_assert(wire_say(other, with("RELEASE k", fence, "\n")));
		close(fd);
		kill(daemon_.pid, SIGCONT);
		close(other);
	}
	line = wire_line(next);
	starts(line, "WON");
	ck_assert_ptr_nonnull(strstr(line, won));
	close(next);
}

START_TEST(a_win_on_the_way_to_a_dead_waiter_is_not_lost)
{
	released_past_the_dead("CLAIM k lease=1h wait=1m\n", " was=free");
}
END_TEST

/* Its win would stand, since it brought its token; so there must be none. */
START_TEST(a_dead_waiter_wins_nothing)
{
	released_past_the_dead("CLAIM k lease=1h wait=1m token=0123456789abcdef\n", " attempts=2 ");
}
END_TEST

START_TEST(a_stop_tells_who_waits)
{
	int fd;

	hold("1h");
	fd = waiter(1, "CLAIM k wait=1m\n");
	kill(daemon_.pid, SIGTERM);
	becomes("STATUS", "phase=draining");
	kill(daemon_.pid, SIGTERM);
	starts(wire_line(fd), "ERR draining retry=safe");
	ck_assert_int_eq(spawn_wait(&daemon_), 0);
	close(fd);
}
END_TEST

START_TEST(released_through_another_daemon)
{
	struct spawn other = daemon_;
	int fd;

	snprintf(other.socket, sizeof other.socket, "%s/other", daemon_.dir);
	spawn_start(&other, on_sqlite);
	hold("1h");
	fd = spawn_connect(&other);
	ck_assert(wire_say(fd, "CLAIM k wait=1m\n"));
	ck_assert(strstr(wire_ask_once(&other, "STATUS"), " waiting=") != NULL);
	starts(ask(with("RELEASE k", fence, "")), "OK");
	starts(wire_line(fd), "WON");
	close(fd);
	spawn_stop(&other, SIGKILL);
}
END_TEST

static TCase *tests_on(const char *name, void (*setup)(void))
{
	TCase *tests = tcase_create(name);

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, released_keys_go_to_who_came_first);
	tcase_add_test(tests, done_reaches_all);
	tcase_add_test(tests, a_lapsed_lease_is_taken_over);
	tcase_add_test(tests, a_wait_ends);
	tcase_add_test(tests, a_wait_holds_up_answers_and_not_requests);
	tcase_add_test(tests, who_goes_leaves_the_queue);
	tcase_add_test(tests, half_closed_is_not_gone);
	tcase_add_test(tests, half_closed_and_then_gone_is_found);
	tcase_add_test(tests, a_win_on_the_way_to_a_dead_waiter_is_not_lost);
	tcase_add_test(tests, a_dead_waiter_wins_nothing);
	tcase_add_test(tests, a_stop_tells_who_waits);
	return tests;
}

int main(void)
{
	Suite *suite = suite_create("waiting");
	TCase *on_file = tests_on("sqlite", setup_sqlite);
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(on_file, released_through_another_daemon);
	suite_add_tcase(suite, tests_on("memory", setup_memory));
	suite_add_tcase(suite, on_file);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
