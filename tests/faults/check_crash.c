/*
 * check_crash.c - claimd is killed at each moment at which its file changes, by kill -9 or by a loss of power: what it had
 * acknowledged is there afterwards, and no fence goes back.
 *
 * A point is one call that changes the file, counted from the start of the daemon over a whole life (making the file, all verbs, a
 * clean stop). The daemon dies there, and another one is asked. $FAULTS_ALL tries all points.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "faulty.h"
#include "ledger.h"
#include "points.h"

#define POINTS 24 /* of each kind, in a run that is not of all */
#define WORN_LIVES 300

static struct faulty faulty;

static const struct {
	const char *name;
	int how, kinds;
} deaths[] = {
    {"killed", DISK_KILL, DISK_CHANGE},
    {"torn", DISK_TORN, DISK_WRITE},
    {"powerless", DISK_POWER, DISK_CHANGE},
    {"shuffled", DISK_SHUFFLE, DISK_CHANGE},
};

static void setup(void)
{
	points_seed();
	faulty_init(&faulty);
}

static void teardown(void)
{
	faulty_end(&faulty);
}

/* True: it has died at the point, and not by itself at the end. */
static bool life(struct ledger *ledger)
{
	faulty_launch(&faulty);
	for (;;) {
		int fd = spawn_connect(&faulty.daemon);

		if (fd >= 0)
			close(fd);
		if (fd >= 0 || !spawn_alive(&faulty.daemon))
			break;
		wait_moment(0);
	}
	ledger_play(ledger, &faulty.daemon);
	if (spawn_alive(&faulty.daemon))
		spawn_stop(&faulty.daemon, SIGTERM);
	ck_assert_msg(faulty.daemon.answered == 0 || faulty.daemon.answered == 128 + SIGKILL, "%s: it ended with %d",
		      ledger->label, faulty.daemon.answered);
	return faulty.daemon.answered != 0;
}

/* Another daemon on what is left. */
static void look(struct ledger *ledger)
{
	faulty_calm(&faulty);
	faulty_start(&faulty);
	ledger_check(ledger, &faulty.daemon, true);
	ledger_go_on(ledger, &faulty.daemon);
	spawn_stop(&faulty.daemon, SIGKILL);
}

/* How many calls a life without faults makes. */
static int calls_of_a_life(int kinds, const char *name)
{
	struct ledger ledger;

	ledger_init(&ledger, name);
	faulty_plan(&faulty, kinds, 0, 0, 0);
	ck_assert(!life(&ledger));
	ck_assert_uint_eq(ledger.refused + ledger.unanswered, 0);
	return atomic_load(&faulty.plan->seen);
}

START_TEST(in_the_life_of_a_new_file)
{
	int kinds = deaths[_i].kinds, count = calls_of_a_life(kinds, "whole"), died = 0;
	int step = points_step(count, POINTS);

	for (int at = points_first(count, POINTS); at <= count; at += step) {
		struct ledger ledger;
		char name[60];

		faulty_wipe(&faulty);
		snprintf(name, sizeof name, "%s at %d", deaths[_i].name, at);
		ledger_init(&ledger, name);
		faulty_plan(&faulty, kinds, deaths[_i].how, at, 1);
		died += life(&ledger);
		look(&ledger);
	}
	printf("crash: %s at %d of %d calls on a new file\n", deaths[_i].name, died, count);
	ck_assert_int_gt(died, 5);
}
END_TEST

/* One file for all: its WAL has begun anew again and again, and what was once acknowledged is still there at the end. */
START_TEST(in_the_life_of_an_old_file)
{
	static struct ledger ledgers[WORN_LIVES];
	int kinds = deaths[_i].kinds, count, lives = 0, died = 0, step;

	calls_of_a_life(kinds, "first");
	count = calls_of_a_life(kinds, "second"); /* without making the file */
	step = points_step(count, POINTS);
	for (int at = points_first(count, POINTS); at <= count && lives < WORN_LIVES; at += step) {
		struct ledger *ledger = &ledgers[lives++];
		char name[60];

		snprintf(name, sizeof name, "%s old at %d", deaths[_i].name, at);
		ledger_init(ledger, name);
		faulty_plan(&faulty, kinds, deaths[_i].how, at, 1);
		died += life(ledger);
		look(ledger);
	}
	faulty_start(&faulty);
	for (int i = 0; i < lives; i++)
		ledger_check(&ledgers[i], &faulty.daemon, true);
	printf("crash: %s at %d of %d calls on an old file\n", deaths[_i].name, died, count);
	ck_assert_int_gt(died, 5);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("crash");
	TCase *tests = tcase_create("crash");
	SRunner *runner = srunner_create(suite);
	int failed, count = (int)(sizeof deaths / sizeof deaths[0]);

	tcase_set_timeout(tests, 600);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, in_the_life_of_a_new_file, 0, count);
	tcase_add_loop_test(tests, in_the_life_of_an_old_file, 0, count);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
