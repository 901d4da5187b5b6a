/*
 * check_nomem.c - claimd whose memory runs out, at each allocation in turn: one that fails, or all from there on. The daemon
 * lives on, what it has acknowledged is so, and a sanitizer sees that nothing leaks.
 *
 * The daemon is the real one with poor.c in front of it, so that what SQLite and libuv take counts as well. While it serves, a point
 * is an allocation in the life of six keys (ledger.c), or in a row of everything else that can be asked. $FAULTS_ALL tries all.
 */
#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ledger.h"
#include "points.h"
#include "poor.h"

#define POINTS 40 /* of each way, in a run that is not of all */
#define LIVES 24  /* of one daemon */

static struct spawn daemon_;
static struct ledger ledgers[LIVES];
static int lives, orders = -1;

static const struct way {
	const char *name, *store;
	bool onward;
} ways[] = {
    {"memory", "memory:", false},
    {"memory on", "memory:", true},
    {"sqlite", "sqlite:@/db", false},
    {"sqlite on", "sqlite:@/db", true},
};

static void setup(void)
{
	points_seed();
	spawn_init(&daemon_);
	setenv("TEST_CLAIMD", "./tests/faults/poor_claimd", 1);
	lives = 0;
}

static void teardown(void)
{
	spawn_end(&daemon_);
}

/* ---- a daemon that takes orders ---- */

static void start(const struct way *way)
{
	const char *args[] = {
	    "--store", way->store, "--request-timeout", "3s", "--store-timeout", "2s", "--drain-timeout", "10ms", NULL};
	char number[16];
	int pair[2];

	close(orders);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	ck_assert_int_ge(fcntl(pair[0], F_SETFD, FD_CLOEXEC), 0);
	snprintf(number, sizeof number, "%d", pair[1]);
	setenv("POOR_FD", number, 1);
	spawn_start(&daemon_, args);
	close(pair[1]);
	orders = pair[0];
}

/* Returns how many allocations there were since the last order. */
static int order(const char *what, int at, bool onward)
{
	struct poor_order text = {.at = (uint64_t)at, .onward = onward};
	uint64_t made;

	if (write(orders, &text, sizeof text) != (ssize_t)sizeof text ||
	    recv(orders, &made, sizeof made, MSG_WAITALL) != (ssize_t)sizeof made) {
		spawn_wait(&daemon_);
		ck_abort_msg("%s %d: the daemon has ended with %d", what, at, daemon_.answered);
	}
	return (int)made;
}

/* A clean end, where a sanitizer looks for leaks, and a new start. What was acknowledged is still there where a file keeps it. */
static void restart(const struct way *way)
{
	spawn_stop(&daemon_, SIGTERM);
	ck_assert_msg(daemon_.answered == 0, "%s: it ended with %d", ledgers[0].label, daemon_.answered);
	start(way);
	for (int i = 0; i < lives && strncmp(way->store, "sqlite:", 7) == 0; i++) {
		ledger_check(&ledgers[i], &daemon_, true);
		ledger_go_on(&ledgers[i], &daemon_);
	}
	lives = 0;
}

/* ---- while it serves ---- */

static void life(const struct way *way, int at)
{
	struct ledger *ledger = &ledgers[lives++];
	char name[60];

	snprintf(name, sizeof name, "%s %d", way->name, at);
	ledger_init(ledger, name);
	order(name, at, way->onward);
	ledger_play(ledger, &daemon_);
	order(name, 0, false);
	ledger_wait_well(&daemon_, name);
	ledger_check(ledger, &daemon_, false);
	if (lives == LIVES)
		restart(way);
}

START_TEST(in_the_life_of_keys)
{
	const struct way *way = &ways[_i];
	int count, step, tried = 0;

	start(way);
	life(way, 0);
	order("count", 0, false);
	ledger_init(&ledgers[lives++], "count");
	ledger_play(&ledgers[1], &daemon_);
	count = order("count", 0, false);
	step = points_step(count, POINTS);
	for (int at = points_first(count, POINTS); at <= count; at += step, tried++)
		life(way, at);
	restart(way);
	spawn_stop(&daemon_, SIGTERM);
	ck_assert_int_eq(daemon_.answered, 0);
	printf("nomem: %s: %d of %d allocations\n", way->name, tried, count);
	ck_assert_int_gt(tried, 20);
}
END_TEST

/* Everything else, over one connection that ends by itself. */
static const char others[] = "HELLO client=a-test\n"
			     "PING\n"
			     "WATCH prefix=o\n"
			     "CLAIM o1 hold=1s lease=200ms drop=release notify\n"
			     "CLAIM o2 drop=unknown fp=f owner=me lapse=unknown\n"
			     "CLAIM o1 wait=2ms tag=w drop=release\n"
			     "CLAIM o3 atleast=1ms lease=1ms\n"
			     "LIST prefix=o\n"
			     "LIST state=unknown\n"
			     "STATUS\n"
			     "STATUS o1 wait=2ms result\n"
			     "STATS\n"
			     "KEY body=23\n{\"b\":1.50,\"a\":[1,\"x\"] }\n"
			     "HELP CLAIM\n"
			     "NOSUCH verb\n"
			     "SWEEP limit=5\n"
			     "RESOLVE o2 as=done force reason=a%20test result=yes\n"
			     "FORGET o2 force\n"
			     "FORGET o1 force\n"
			     "FORGET o3 force\n"
			     "QUIT tag=end\n";

/* To its end, which may be that the last one is refused too. */
static void others_ask(const char *name)
{
	int fd = spawn_connect(&daemon_);
	const char *line;

	ck_assert_int_ge(fd, 0);
	wire_send(fd, others, sizeof others - 1);
	do {
		struct pollfd look = {.fd = fd, .events = POLLIN};

		ck_assert_msg(poll(&look, 1, SPAWN_WAIT_MS) == 1, "%s: it does not end", name);
		line = wire_line(fd);
	} while (line != NULL && strstr(line, " tag=end") == NULL);
	close(fd);
}

START_TEST(in_all_that_can_be_asked)
{
	const struct way *way = &ways[_i];
	int count, step, tried = 0;
	char name[60];

	start(way);
	others_ask("first");
	order("count", 0, false);
	others_ask("count");
	count = order("count", 0, false);
	step = points_step(count, POINTS);
	for (int at = points_first(count, POINTS); at <= count; at += step, tried++) {
		snprintf(name, sizeof name, "%s others %d", way->name, at);
		order(name, at, way->onward);
		others_ask(name);
		order(name, 0, false);
		ledger_wait_well(&daemon_, name);
	}
	spawn_stop(&daemon_, SIGTERM);
	ck_assert_int_eq(daemon_.answered, 0);
	printf("nomem: %s: %d of %d allocations in all that can be asked\n", way->name, tried, count);
}
END_TEST

/* Each of them takes a descriptor that was never used before. */
START_TEST(while_connections_come)
{
	static int fds[200];
	size_t count = sizeof fds / sizeof fds[0];

	start(&ways[0]);
	for (size_t i = 0; i < count; i++) {
		order("connection", 1 + (int)i % 8, i % 3 == 0);
		fds[i] = spawn_connect(&daemon_);
		ck_assert_int_ge(fds[i], 0);
		wire_ask(fds[i], "PING"); /* or it is closed */
		order("connection", 0, false);
	}
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	ledger_wait_well(&daemon_, "connections");
	spawn_stop(&daemon_, SIGTERM);
	ck_assert_int_eq(daemon_.answered, 0);
}
END_TEST

/* ---- while it starts ---- */

/* Returns how many allocations the start made; the daemon has ended. */
static int start_at(const struct way *way, int at, bool *began)
{
	const char *args[] = {"--store", way->store, "--drain-timeout", "10ms", NULL};
	long long deadline_ms = wait_now_ms() + SPAWN_WAIT_MS;
	char text[32], path[96];
	FILE *file;
	int made = 0;

	snprintf(text, sizeof text, "%d%s", at, way->onward ? "+" : "");
	snprintf(path, sizeof path, "%s/made", daemon_.dir);
	unlink(path);
	unlink(daemon_.log);
	setenv("POOR_AT", text, 1);
	setenv("POOR_MADE", path, 1);
	unsetenv("POOR_FD");
	spawn_launch(&daemon_, args);
	while (spawn_alive(&daemon_) && !file_holds(daemon_.log, " ready ") &&
	       !file_holds(daemon_.log, "out of memory"))
		ck_assert_msg(wait_moment(deadline_ms), "start %s %d: it neither starts nor ends", way->name, at);
	*began = file_holds(daemon_.log, " ready ");
	if (*began && !way->onward)
		ledger_wait_well(&daemon_, "start");
	if (*began)
		spawn_stop(&daemon_, SIGTERM);
	else
		spawn_wait(&daemon_);
	file = fopen(path, "r");
	if (file == NULL || fscanf(file, "%d", &made) != 1)
		made = 0;
	if (file != NULL)
		fclose(file);
	return made;
}

START_TEST(in_the_start)
{
	const struct way *way = &ways[_i];
	int count, step, tried = 0, refused = 0, aborted = 0;
	bool began;

	count = start_at(way, 0, &began);
	ck_assert(began && count > 10);
	step = points_step(count, POINTS);
	for (int at = points_first(count, POINTS); at <= count; at += step, tried++) {
		start_at(way, at, &began);
		if (!began && daemon_.answered == 128 + SIGABRT) {
			aborted++;
			continue;
		}
		ck_assert_msg(daemon_.answered == (began ? 0 : 69), "start %s %d: it ended with %d", way->name, at,
			      daemon_.answered);
		/* SQLite does not always say that it was for memory. */
		ck_assert_msg(began || file_holds(daemon_.log, "memory") ||
				  file_holds(daemon_.log, "claimd cannot start why=\""),
			      "start %s %d: it does not say why", way->name, at);
		refused += !began;
	}
	/* libuv ends the process itself where it finds no memory for its first table of descriptors, and for a larger one. */
	ck_assert_int_le(aborted, 4);
	printf("nomem: start with %s: %d of %d allocations, %d starts refused\n", way->name, tried, count, refused);
	ck_assert(refused > 0 || !way->onward);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nomem");
	TCase *tests = tcase_create("nomem");
	SRunner *runner = srunner_create(suite);
	int failed, count = (int)(sizeof ways / sizeof ways[0]);

	tcase_set_timeout(tests, 600);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, in_the_life_of_keys, 0, count);
	tcase_add_loop_test(tests, in_all_that_can_be_asked, 0, count);
	tcase_add_test(tests, while_connections_come);
	tcase_add_loop_test(tests, in_the_start, 0, count);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
