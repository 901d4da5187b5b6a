/*
 * check_daemon_stop.c - how the daemon ends: it drains, waits for live claims, answers what is under way, and leaves.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon_case.h"

static void setup(void)
{
	spawn_init(&daemon_);
}

static void teardown(void)
{
	spawn_end(&daemon_);
}

START_TEST(an_idle_daemon_leaves_when_asked)
{
	spawn_start(&daemon_, on_sqlite);
	ck_assert_int_eq(spawn_stop(&daemon_, SIGTERM), 0);
	ck_assert_int_ne(access(daemon_.socket, F_OK), 0);
	ck_assert(file_holds(daemon_.log, "why=\"nobody needs it\""));
}
END_TEST

START_TEST(draining_goes_on_answering)
{
	static const char *const args[] = {"--store", "memory:", "--drain-timeout", "20s", NULL};
	long long fence;
	int fd;

	spawn_start(&daemon_, args);
	fd = dial();
	fence = wire_number(wire_ask(fd, "CLAIM work lease=1h"), "fence");
	kill(daemon_.pid, SIGTERM);
	becomes("STATUS", "phase=draining");
	starts(ask("CLAIM other lease=1ms"), "WON"); /* new connections and new claims too */
	starts(wire_ask(fd, with("COMPLETE work", fence, "result=done")), "OK state=done");
	close(fd);
	ck_assert_int_eq(spawn_wait(&daemon_), 0);
	ck_assert(file_holds(daemon_.log, "why=\"nobody needs it\""));
}
END_TEST

START_TEST(a_live_claim_is_waited_for)
{
	static const char *const args[] = {"--store", "memory:", "--drain-timeout", "3s", NULL};

	spawn_start(&daemon_, args);
	starts(ask("CLAIM work lease=1h"), "WON");
	ck_assert_int_eq(spawn_stop(&daemon_, SIGTERM), 0);
	ck_assert(file_holds(daemon_.log, "why=drain_timeout"));
}
END_TEST

START_TEST(a_second_signal_leaves_at_once)
{
	int fd;

	spawn_start(&daemon_, on_sqlite);
	fd = dial();
	starts(wire_ask(fd, "CLAIM work lease=1h"), "WON");
	kill(daemon_.pid, SIGTERM);
	becomes("STATUS", "phase=draining");
	ck_assert_int_eq(spawn_stop(&daemon_, SIGINT), 0);
	ck_assert(file_holds(daemon_.log, "asked for twice"));
	ck_assert(wire_closed(fd));
	close(fd);
}
END_TEST

/* Nobody can write to the SQLite file as long as this is open: the lock of its writer, in the file that holds the locks. */
static int block_store(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 120, .l_len = 1};
	char path[128];
	int fd;

	snprintf(path, sizeof path, "%s/db-shm", daemon_.dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_SETLK, &lock), 0);
	return fd;
}

static void wait_for_log(const char *text)
{
	long long deadline_ms = wait_now_ms() + SPAWN_WAIT_MS;

	while (!file_holds(daemon_.log, text))
		ck_assert(wait_moment(deadline_ms));
}

START_TEST(what_is_under_way_is_answered_before_it_leaves)
{
	static const char *const args[] = {"--store", "sqlite:@/db", "--store-timeout", "15s", "--request-timeout",
					   "16s",     NULL};
	long long later_ms;
	int fd, lock;

	spawn_start(&daemon_, args);
	starts(ask("CLAIM other"), "WON");
	fd = dial();
	lock = block_store();
	ck_assert(wire_say(fd, "CLAIM slow\n"));
	while (strstr(ask("STATUS"), "in_flight=0") != NULL)
		;
	kill(daemon_.pid, SIGTERM);
	wait_for_log("draining");
	kill(daemon_.pid, SIGTERM);
	wait_for_log("asked for twice");
	for (later_ms = wait_now_ms() + 1500;
	     wait_moment(later_ms);) /* longer than a client that does not read is given */
		;
	ck_assert(spawn_alive(&daemon_));
	close(lock);
	starts(wire_line(fd), "WON fence=");
	ck_assert(wire_closed(fd));
	ck_assert_int_eq(spawn_wait(&daemon_), 0);
	close(fd);
}
END_TEST

/* Asks without a pause while the daemon stops. True: it heard that the daemon is draining. */
static bool hears_draining(void)
{
	bool heard = false;
	int fd = dial();

	starts(wire_ask(fd, "PING"), "OK");
	kill(daemon_.pid, SIGTERM);
	wait_for_log("draining");
	kill(daemon_.pid, SIGTERM);
	for (;;) {
		const char *line = wire_ask(fd, "PING");

		if (*line == '\0')
			break;
		heard |= strncmp(line, "ERR draining retry=safe", 23) == 0;
	}
	close(fd);
	ck_assert_int_eq(spawn_wait(&daemon_), 0);
	return heard;
}

START_TEST(while_it_stops_it_says_so)
{
	bool heard = false;

	/* It is a tenth of a second long; a busy machine may not give it to us. */
	for (int i = 0; i < 20 && !heard; i++) {
		if (i > 0)
			unlink(daemon_.log);
		spawn_start(&daemon_, in_memory);
		heard = hears_draining();
	}
	ck_assert(heard);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon_stop");
	TCase *tests = tcase_create("daemon_stop");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, an_idle_daemon_leaves_when_asked);
	tcase_add_test(tests, draining_goes_on_answering);
	tcase_add_test(tests, a_live_claim_is_waited_for);
	tcase_add_test(tests, a_second_signal_leaves_at_once);
	tcase_add_test(tests, what_is_under_way_is_answered_before_it_leaves);
	tcase_add_test(tests, while_it_stops_it_says_so);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
