/*
 * sqlite_case.h - an SQLite store in a folder of its own, for the tests of that store alone.
 *
 * Unlike rig.h it opens files that may fail to open, with a timeout that the test sets, and shows the health. What should never
 * happen ends the test at once.
 */
#ifndef CLAIMD_TESTS_SQLITE_CASE_H
#define CLAIMD_TESTS_SQLITE_CASE_H

#include <check.h>
#include <sqlite3.h>

#include "../server/stores/store.h"

#define MS INT64_C(1000)
#define HOUR (3600 * 1000 * MS)
#define TOKEN SLICE_OF("token-of-the-holder")
#define OTHER SLICE_OF("token-of-the-other!")

struct shop {
	uv_loop_t loop;
	uv_prepare_t flush;
	uv_timer_t tick;
	struct store *store;
	size_t outstanding, answers;
	void (*hook)(struct op *op); /* told of each answer; may submit; NULL: nobody */
	bool closed, up;
	char why[240];
};

/* Fixture: makes the folder, and removes it with all that is in it. */
void case_setup(void);
void case_teardown(void);
/* A path in the folder; static storage, four at a time. */
const char *case_path(const char *name);

/* False: *err says why, and there is nothing to close. */
bool shop_try(struct shop *shop, const char *path, int64_t timeout_ms, struct errbuf *err);
/* As shop_try with 10 s, and must work; waits until it is up. */
void shop_open(struct shop *shop, const char *path);
/* Closes; everything must have been answered by then. */
void shop_close(struct shop *shop);

/* The op must have been initialised; shop_run waits until all are answered, for 30 s at most. */
void shop_submit(struct shop *shop, struct op *op);
void shop_run(struct shop *shop);
/* One turn of the loop, of at most 5 ms. */
void shop_turn(struct shop *shop);
/* Turns until it is up or down, as wanted. */
void shop_wait_up(struct shop *shop, bool up);

/* One call; the answer is valid until the next one. */
const struct op *shop_ask(struct shop *shop, const char *key, struct ask ask);
const struct op *shop_scan(struct shop *shop, enum op_kind kind, struct scan scan);
/* A STATUS that is answered while others are not. */
void shop_look(struct shop *shop, const char *key);
struct ask ask_claim(struct slice token);
struct ask ask_of(enum ask_verb verb, int64_t fence);
/* CLAIM must be won; returns the fence. */
int64_t shop_win(struct shop *shop, const char *key);
/* CLAIM until it is not refused any more, for 30 s at most. */
void shop_wait_heal(struct shop *shop, const char *key);

/* Runs SQL on a connection of its own. */
void sql_run(const char *path, const char *sql);
int64_t sql_number(const char *path, const char *sql);
int64_t mono_ms(void);
void pause_ms(int64_t ms);
/* Octets of a file; 0 when it is not there. */
int64_t file_size(const char *path);

/* Runs the cases; the number of those that failed. */
int case_run(const char *name, TCase *const *cases, size_t count);

#endif
