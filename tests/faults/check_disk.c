/*
 * check_disk.c - claimd on a disk whose calls fail: what it cannot write it does not grant, it goes on by itself when the disk
 * does, and a kill -9 later all that was acknowledged is there.
 *
 * A point is one call, counted from the beginning of a life of six keys, that fails once, or with all after it. One daemon goes
 * through many points, each with keys of its own; now and then it is killed, and another one is asked for all. $FAULTS_ALL tries all.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faulty.h"
#include "ledger.h"
#include "points.h"

#define POINTS 5   /* of each kind of fault, in a run that is not of all */
#define LIVES 24   /* of one daemon */
#define AT_START 5 /* points of the start */

static struct faulty faulty;
static struct ledger ledgers[LIVES];
static int lives;
static size_t refused, uncertain, met;

static const struct fault {
	const char *name;
	int kinds, how;
	int times; /* 0: from then on; then the answers need not be waited for longer than a timeout */
} faults[] = {
    {"read EIO once", DISK_READ, EIO, 1},
    {"read EIO", DISK_READ, EIO, 0},
    {"read EINTR", DISK_READ, EINTR, 3},
    {"read short", DISK_READ, DISK_SHORT, 3},
    {"write EIO once", DISK_WRITE, EIO, 1},
    {"write EIO", DISK_WRITE, EIO, 0},
    {"write ENOSPC once", DISK_WRITE, ENOSPC, 1},
    {"write ENOSPC", DISK_WRITE, ENOSPC, 0},
    {"write EINTR", DISK_WRITE, EINTR, 3},
    {"write short", DISK_WRITE, DISK_SHORT, 3},
    {"sync EIO once", DISK_SYNC, EIO, 1},
    {"sync EIO twice", DISK_SYNC, EIO, 2},
    {"sync EIO", DISK_SYNC, EIO, 0},
    {"sync ENOSPC", DISK_SYNC, ENOSPC, 0},
    {"sync EINTR", DISK_SYNC, EINTR, 3},
    {"truncate EIO", DISK_TRUNCATE, EIO, 0},
    {"truncate ENOSPC", DISK_TRUNCATE, ENOSPC, 0},
    {"sync and open EIO", DISK_SYNC | DISK_OPEN, EIO, 0},
    {"change EIO", DISK_CHANGE, EIO, 0},
    {"all EIO", DISK_ALL, EIO, 0},
    {"all ENOSPC", DISK_ALL, ENOSPC, 0},
};

static void setup(void)
{
	points_seed();
	faulty_init(&faulty);
	lives = 0;
	refused = uncertain = met = 0;
}

static void teardown(void)
{
	faulty_end(&faulty);
}

/* Killed and started again, it is asked for all of its lives. */
static void restart(void)
{
	ck_assert(spawn_alive(&faulty.daemon));
	spawn_stop(&faulty.daemon, SIGKILL);
	faulty_calm(&faulty);
	faulty_start(&faulty);
	for (int i = 0; i < lives; i++) {
		ledger_check(&ledgers[i], &faulty.daemon, true);
		ledger_go_on(&ledgers[i], &faulty.daemon);
	}
	lives = 0;
}

/* A life in which the disk fails, and what is so afterwards. Returns how many calls failed. */
static int life(const struct fault *fault, int at)
{
	struct ledger *ledger = &ledgers[lives++];
	char name[60];

	snprintf(name, sizeof name, "%s %d", fault->name, at);
	ledger_init(ledger, name);
	faulty_plan(&faulty, fault->kinds, fault->how, at, fault->times);
	ledger_play(ledger, &faulty.daemon);
	faulty_calm(&faulty);
	ck_assert_msg(ledger->unanswered == 0, "%s: the connection was closed", name);
	ledger_wait_well(&faulty.daemon, name);
	ledger_check(ledger, &faulty.daemon, false);
	refused += ledger->refused;
	uncertain += ledger->uncertain;
	met += (size_t)atomic_load(&faulty.plan->met);
	if (lives == LIVES)
		restart();
	return atomic_load(&faulty.plan->met);
}

START_TEST(each_call_fails)
{
	const struct fault *fault = &faults[_i];
	struct fault none = {"none", fault->kinds, 0, 0};
	int count, step, tried = 0;

	faulty_start(&faulty);
	life(&none, 0);
	count = atomic_load(&faulty.plan->seen) + 2; /* it may be one more or less */
	step = points_step(count, POINTS);
	for (int at = points_first(count, POINTS); at <= count; at += step, tried++)
		life(fault, at);
	restart();
	printf("disk: %s: %d of %d points, %zu calls failed, %zu steps refused, of these %zu in doubt\n", fault->name,
	       tried, count, met, refused, uncertain);
	ck_assert(met > 0 || fault->kinds == DISK_TRUNCATE); /* that comes with the tidying */
}
END_TEST

/* Nobody asks any more, and what was written is copied to the file and taken from the WAL: in vain. */
START_TEST(the_tidying_fails)
{
	static const struct fault tidying[] = {
	    {"tidy read EIO", DISK_READ, EIO, 0},         {"tidy write EIO", DISK_WRITE, EIO, 0},
	    {"tidy write ENOSPC", DISK_WRITE, ENOSPC, 0}, {"tidy sync EIO once", DISK_SYNC, EIO, 1},
	    {"tidy sync EIO", DISK_SYNC, EIO, 0},         {"tidy truncate EIO", DISK_TRUNCATE, EIO, 0}};
	const struct fault *fault = &tidying[_i];
	long long deadline_ms;

	faulty_start(&faulty);
	ledger_init(&ledgers[lives++], fault->name);
	ledger_play(&ledgers[0], &faulty.daemon);
	faulty_plan(&faulty, fault->kinds, fault->how, 1, fault->times);
	deadline_ms = wait_now_ms() + SPAWN_WAIT_MS;
	while (atomic_load(&faulty.plan->met) == 0)
		ck_assert_msg(wait_moment(deadline_ms), "%s: nothing is tidied", fault->name);
	restart();
}
END_TEST

/* With a fault from the first call on: it starts all the same and heals, or says why it does not. */
static void start(const struct fault *fault, int at)
{
	struct ledger ledger;
	char name[60];
	long long deadline_ms = wait_now_ms() + SPAWN_WAIT_MS;

	snprintf(name, sizeof name, "start %s %d", fault->name, at);
	ledger_init(&ledger, name);
	faulty_plan(&faulty, fault->kinds, fault->how, at, fault->times);
	faulty_launch(&faulty);
	while (strncmp(wire_ask_once(&faulty.daemon, "PING"), "OK", 2) != 0 && spawn_alive(&faulty.daemon))
		ck_assert_msg(wait_moment(deadline_ms), "%s: it neither answers nor ends", name);
	if (spawn_alive(&faulty.daemon))
		ledger_play(&ledger, &faulty.daemon);
	faulty_calm(&faulty);
	if (!spawn_alive(&faulty.daemon)) {
		ck_assert_msg(faulty.daemon.answered == 69, "%s: it ended with %d", name, faulty.daemon.answered);
		faulty_start(&faulty);
	}
	ledger_wait_well(&faulty.daemon, name);
	ledger_check(&ledger, &faulty.daemon, false);
	spawn_stop(&faulty.daemon, SIGKILL);
	faulty_start(&faulty);
	ledger_check(&ledger, &faulty.daemon, true);
	ledger_go_on(&ledger, &faulty.daemon);
	spawn_stop(&faulty.daemon, SIGTERM);
}

START_TEST(each_call_of_the_start_fails)
{
	const struct fault *fault = &faults[_i];
	int count, step;

	faulty_plan(&faulty, fault->kinds, 0, 0, 0);
	faulty_start(&faulty);
	count = atomic_load(&faulty.plan->seen) + 2;
	spawn_stop(&faulty.daemon, SIGTERM);
	step = points_step(count, AT_START);
	for (int at = points_first(count, AT_START); at <= count; at += step) {
		if (rand() % 2 == 0)
			faulty_wipe(&faulty);
		start(fault, at);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("disk");
	TCase *tests = tcase_create("disk");
	SRunner *runner = srunner_create(suite);
	int failed, count = (int)(sizeof faults / sizeof faults[0]);

	tcase_set_timeout(tests, 600);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, each_call_fails, 0, count);
	tcase_add_loop_test(tests, each_call_of_the_start_fails, 0, count);
	tcase_add_loop_test(tests, the_tidying_fails, 0, 6);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
