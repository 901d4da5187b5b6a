/*
 * check_kept.c - a real daemon whose store stands still after the effect: the settlement is kept, and is done when the store is
 * back. The store is SQLite, and the test holds its lock for as long as it likes.
 */
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon_case.h"

static const char *const args[] = {
    "--store", "sqlite:@/db", "--store-timeout", "100ms", "--request-timeout", "300ms", "--drain-timeout", "20s", NULL};
static sqlite3 *locker;
static long long fence;

static void sql(const char *text)
{
	ck_assert_int_eq(sqlite3_exec(locker, text, NULL, NULL, NULL), SQLITE_OK);
}

/* A claim whose COMPLETE the store cannot take. */
static void setup(void)
{
	char path[128];

	spawn_init(&daemon_);
	spawn_start(&daemon_, args);
	fence = wire_number(ask("CLAIM k lease=1ms token=0123456789abcdef"), "fence");
	ck_assert_int_gt(fence, 0);
	snprintf(path, sizeof path, "%s/db", daemon_.dir);
	ck_assert_int_eq(sqlite3_open(path, &locker), SQLITE_OK);
	sqlite3_busy_timeout(locker, SPAWN_WAIT_MS);
	sql("BEGIN IMMEDIATE");
	starts(ask(with("COMPLETE k", fence, "token=0123456789abcdef result=paid")), "ERR timeout retry=maybe");
}

static void teardown(void)
{
	sqlite3_close(locker);
	spawn_end(&daemon_);
}

START_TEST(it_is_done_when_the_store_is_back)
{
	int fd;

	becomes("STATUS", " kept=1");
	/* The lease is over, and still nobody is told WON: the settlement comes first. */
	starts(ask("CLAIM k"), "ERR");
	sql("ROLLBACK");
	becomes("STATUS k", "state=done");
	fd = spawn_connect(&daemon_);
	starts(wire_ask(fd, "CLAIM k"), "DONE");
	ck_assert_str_eq(wire_line(fd), "paid");
	close(fd);
	becomes("STATUS", " kept=0");
	ck_assert(file_holds(daemon_.log, "kept_settled"));
}
END_TEST

START_TEST(a_claim_that_waits_behind_it_hears_done)
{
	int fd = spawn_connect(&daemon_);

	ck_assert(wire_say(fd, "CLAIM k\n"));
	sql("ROLLBACK");
	{
		const char *line = wire_line(fd);

		ck_assert_ptr_nonnull(line);
		/* Its own deadline may have come first; never is it WON. */
		ck_assert(strncmp(line, "DONE", 4) == 0 || strncmp(line, "ERR busy", 8) == 0);
	}
	close(fd);
	becomes("STATUS k", "state=done");
}
END_TEST

START_TEST(a_stop_waits_for_it)
{
	kill(daemon_.pid, SIGTERM);
	becomes("STATUS", "phase=draining");
	sql("ROLLBACK");
	ck_assert_int_eq(spawn_wait(&daemon_), 0);
	ck_assert(file_holds(daemon_.log, "kept_settled"));
	ck_assert(file_holds(daemon_.log, "why=\"nobody needs it\""));
}
END_TEST

START_TEST(a_second_signal_says_what_is_lost)
{
	kill(daemon_.pid, SIGTERM);
	becomes("STATUS", "phase=draining");
	ck_assert_int_eq(spawn_stop(&daemon_, SIGTERM), 0);
	ck_assert(file_holds(daemon_.log, "kept_lost"));
}
END_TEST

START_TEST(one_that_comes_too_late_is_told)
{
	char line[128];

	/* Another daemon takes the key over meanwhile: here the test does, by hand. */
	sql("UPDATE record SET fence = fence + 1000000");
	sql("COMMIT");
	becomes("STATUS", " kept=0");
	ck_assert(file_holds(daemon_.log, "kept_stale"));
	snprintf(line, sizeof line, "COMPLETE k fence=%lld", fence);
	starts(ask(line), "STALE");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kept");
	TCase *tests = tcase_create("kept");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, it_is_done_when_the_store_is_back);
	tcase_add_test(tests, a_claim_that_waits_behind_it_hears_done);
	tcase_add_test(tests, a_stop_waits_for_it);
	tcase_add_test(tests, a_second_signal_says_what_is_lost);
	tcase_add_test(tests, one_that_comes_too_late_is_told);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
