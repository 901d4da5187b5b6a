/*
 * check_sqlite_clock.c - the clock of the SQLite store: it comes from the file, and steps of the wall clock do nothing to it.
 *
 * The program runs itself once more under libfaketime, with a file in which the offset is changed while it runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../server/stores/sqlite_clock.h"
#include "sqlite_case.h"

#define SECOND (1000 * MS)

static struct shop shop;

/* ---- the arithmetic ---- */

static const struct machine_time here = {.boot_id = "boot-1", .wall_us = 5000, .boot_us = 300};

START_TEST(time_from_the_base)
{
	struct file_clock clock = {.boot_id = "boot-1", .base_wall_us = 1000, .base_boot_us = 100, .seen_us = 0};
	struct machine_time later = here;

	ck_assert(!file_clock_rebase(&clock, &here));
	ck_assert_int_eq(file_clock_now(&clock, &here), 1200);
	later.wall_us = 5; /* a step of the wall clock is not seen */
	later.boot_us += 50;
	ck_assert_int_eq(file_clock_now(&clock, &later), 1250);
	clock.seen_us = 1250; /* always behind what was seen */
	ck_assert_int_eq(file_clock_now(&clock, &later), 1251);
	clock.seen_us = 1249;
	ck_assert_int_eq(file_clock_now(&clock, &later), 1250);
}
END_TEST

START_TEST(a_new_boot)
{
	struct file_clock clock = {.boot_id = "boot-0", .base_wall_us = 1000, .base_boot_us = 100, .seen_us = 4000};
	struct machine_time later = here;

	ck_assert(file_clock_rebase(&clock, &here));
	ck_assert_str_eq(clock.boot_id, "boot-1");
	ck_assert_int_eq(file_clock_now(&clock, &here), 5000);
	ck_assert(!file_clock_rebase(&clock, &here));
	/* the wall clock has been lost: go on where it was */
	clock = (struct file_clock){.boot_id = "boot-0", .seen_us = 9000};
	ck_assert(file_clock_rebase(&clock, &here));
	ck_assert_int_eq(file_clock_now(&clock, &here), 9001);
	later.boot_us += 50; /* and it goes */
	ck_assert_int_eq(file_clock_now(&clock, &later), 9050);
	/* the same name, but a boottime that has begun again */
	clock = (struct file_clock){.boot_id = "boot-1", .base_wall_us = 1000, .base_boot_us = 301, .seen_us = 1001};
	ck_assert(file_clock_rebase(&clock, &here));
	ck_assert_int_eq(file_clock_now(&clock, &here), 5000);
}
END_TEST

START_TEST(boot_id_has_no_end_of_line)
{
	char id[BOOT_ID_MAX], again[BOOT_ID_MAX];

	machine_boot_id(id);
	machine_boot_id(again);
	ck_assert_uint_ge(strlen(id), 8);
	ck_assert_ptr_null(strchr(id, '\n'));
	if (strncmp(id, "unnamed-", 8) != 0)
		ck_assert_str_eq(id, again);
}
END_TEST

/* ---- the file ---- */

static int64_t now_of(struct shop *of)
{
	const struct op *op = shop_ask(of, "nobody", ask_of(ASK_STATUS, 0));

	ck_assert_int_eq(op->verdict.word, WORD_NOTFOUND);
	return op->now;
}

START_TEST(the_file_says_what_time_it_is)
{
	const char *path = case_path("db");
	struct shop other;
	int64_t far, fence;

	shop_open(&shop, path);
	shop_win(&shop, "k");
	sql_run(path, "UPDATE meta SET base_wall = 1000000000000000, base_boot = 0, seen = 0"); /* 2001 */
	fence = shop_win(&shop, "k1");
	ck_assert_int_ge(fence, INT64_C(1000000000000000));
	ck_assert_int_lt(fence, INT64_C(1500000000000000));
	ck_assert_int_lt(now_of(&shop), INT64_C(1500000000000000));
	/* another one on the same file has the same time */
	shop_open(&other, path);
	ck_assert_int_ge(now_of(&other), fence);
	ck_assert_int_lt(now_of(&other) - now_of(&shop), 60 * SECOND);
	ck_assert_int_lt(now_of(&shop) - now_of(&other), 60 * SECOND);
	shop_close(&other);
	/* time never goes back behind what was seen, with the same boot and with another */
	far = INT64_C(3000000000000000);
	sql_run(path, "UPDATE meta SET seen = 3000000000000000");
	ck_assert_int_gt(now_of(&shop), far);
	fence = shop_win(&shop, "k2");
	ck_assert_int_gt(fence, far);
	ck_assert_int_gt(shop_win(&shop, "k3"), fence);
	sql_run(path, "UPDATE meta SET boot_id = 'another', base_wall = 1, base_boot = 0");
	fence = shop_win(&shop, "k4");
	ck_assert_int_gt(fence, far);
	shop_close(&shop);
	shop_open(&shop, path);
	ck_assert_int_gt(now_of(&shop), fence);
	ck_assert_int_lt(now_of(&shop), fence + 600 * SECOND);
	shop_close(&shop);
}
END_TEST

/* A lease of an hour is over after two hours of the file's clock. */
START_TEST(leases_end_by_it)
{
	const char *path = case_path("db");
	int64_t fence;

	shop_open(&shop, path);
	fence = shop_win(&shop, "k");
	ck_assert_int_eq(shop_ask(&shop, "k", ask_of(ASK_CHECK, fence))->verdict.word, WORD_OK);
	sql_run(path, "UPDATE meta SET base_wall = base_wall + 5400000000"); /* of two hours' lease and ttl */
	ck_assert_int_eq(shop_ask(&shop, "k", ask_of(ASK_CHECK, fence))->verdict.word, WORD_STALE);
	ck_assert_int_eq(shop_ask(&shop, "k", ask_claim(OTHER))->verdict.was, WAS_LAPSED);
	shop_close(&shop);
}
END_TEST

/* ---- the wall clock is stepped ---- */

static void offset_set(const char *file, const char *offset)
{
	char next[200];
	FILE *out;

	snprintf(next, sizeof(next), "%s.next", file);
	out = fopen(next, "w");
	ck_assert_ptr_nonnull(out);
	fprintf(out, "%s\n", offset);
	fclose(out);
	ck_assert_int_eq(rename(next, file), 0);
}

/* libfaketime and a sanitizer's runtime each wait for the other when a process starts: the steps are for the plain build. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

static const char *stepped_db, *stepped_offsets;

static void lease_stands(int64_t fence, int64_t began)
{
	ck_assert_int_eq(shop_ask(&shop, "k", ask_of(ASK_CHECK, fence))->verdict.word, WORD_OK);
	ck_assert_int_eq(shop_ask(&shop, "k", ask_claim(OTHER))->verdict.word, WORD_HELD);
	ck_assert_int_ge(now_of(&shop), began);
	ck_assert_int_lt(now_of(&shop), began + 300 * SECOND);
}

/* In the process that runs under libfaketime. */
START_TEST(stepped)
{
	const char *const steps[] = {"+3600", "-3600", "+0"};
	struct ask ask = ask_claim(TOKEN);
	int64_t fence, began;
	size_t i;

	shop_open(&shop, stepped_db);
	ask.lease = 600 * SECOND; /* less than a step */
	fence = shop_ask(&shop, "k", ask)->record.fence;
	began = now_of(&shop);
	for (i = 0; i < 3; i++) {
		time_t wall = time(NULL);

		offset_set(stepped_offsets, steps[i]);
		ck_assert_int_ge(labs((long)(time(NULL) - wall)), 3000); /* or this would prove nothing */
		lease_stands(fence, began);
		shop_close(&shop);
		shop_open(&shop, stepped_db);
		lease_stands(fence, began);
	}
	ask.lease = 50 * MS; /* and a lease does end */
	shop_ask(&shop, "short", ask);
	offset_set(stepped_offsets, "-3600");
	for (i = 0; i < 500 && shop_ask(&shop, "short", ask_claim(OTHER))->verdict.word != WORD_WON; i++)
		pause_ms(20);
	ck_assert_uint_lt(i, 500);
	shop_close(&shop);
}
END_TEST

static const char *faketime_library(void)
{
	static const char *const places[] = {"/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
					     "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
					     "/usr/lib/faketime/libfaketimeMT.so.1",
					     "/usr/lib64/faketime/libfaketimeMT.so.1"};
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (access(places[i], R_OK) == 0)
			return places[i];
	ck_abort_msg("libfaketime is not installed");
	return NULL;
}

START_TEST(steps_of_the_wall_clock)
{
	const char *db = case_path("db"), *offsets = case_path("offsets"), *library = faketime_library();
	pid_t pid;
	int status;

	offset_set(offsets, "+0");
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		setenv("LD_PRELOAD", library, 1);
		setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1", 1);
		setenv("FAKETIME_NO_CACHE", "1", 1);
		setenv("FAKETIME_TIMESTAMP_FILE", offsets, 1);
		execl("/proc/self/exe", "check_sqlite_clock", "stepped", db, offsets, (char *)NULL);
		_exit(99);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0, "the stepped process ended with %d, signal %d", WEXITSTATUS(status),
		      WTERMSIG(status));
}
END_TEST

int main(int argc, char **argv)
{
	TCase *sums = tcase_create("sums"), *file = tcase_create("file"), *steps = tcase_create("steps");
	TCase *const cases[] = {sums, file, steps};

	if (argc == 4 && strcmp(argv[1], "stepped") == 0) {
		stepped_db = argv[2];
		stepped_offsets = argv[3];
		tcase_add_test(steps, stepped);
		return case_run("sqlite under libfaketime", &steps, 1);
	}
	tcase_add_test(sums, time_from_the_base);
	tcase_add_test(sums, a_new_boot);
	tcase_add_test(sums, boot_id_has_no_end_of_line);
	tcase_add_test(file, the_file_says_what_time_it_is);
	tcase_add_test(file, leases_end_by_it);
	if (!SANITIZED)
		tcase_add_test(steps, steps_of_the_wall_clock);
	return case_run("sqlite clock", cases, 3);
}
