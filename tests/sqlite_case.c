/*
 * sqlite_case.c - see sqlite_case.h.
 */
#include "sqlite_case.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEADLINE_MS 30000

static char folder[64];
static struct op one; /* of shop_ask and shop_scan */

int64_t mono_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void pause_ms(int64_t ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

/* ---- the folder ---- */

void case_setup(void)
{
	const char *base = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%.40s/claimd-XXXXXX", base && base[0] ? base : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	remove(path);
	return 0;
}

void case_teardown(void)
{
	op_release(&one);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *case_path(const char *name)
{
	static char path[4][128];
	static unsigned next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[next]), "%s/%s", folder, name);
	return path[next];
}

int64_t file_size(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* ---- the store ---- */

static void on_done(void *arg, struct op *op)
{
	struct shop *shop = arg;

	ck_assert_int_ne(op->result, OP_PENDING);
	ck_assert_uint_gt(shop->outstanding, 0);
	shop->outstanding--;
	shop->answers++;
	if (shop->hook)
		shop->hook(op);
}

static void on_health(void *arg, bool up, const char *why)
{
	struct shop *shop = arg;

	shop->up = up;
	snprintf(shop->why, sizeof(shop->why), "%s", why);
}

static void on_flush(uv_prepare_t *handle)
{
	struct shop *shop = handle->data;

	if (shop->store)
		store_flush(shop->store);
}

static void on_tick(uv_timer_t *timer)
{
	(void)timer;
}

static void loop_end(struct shop *shop)
{
	uv_close((uv_handle_t *)&shop->flush, NULL);
	uv_close((uv_handle_t *)&shop->tick, NULL);
	uv_run(&shop->loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(uv_loop_close(&shop->loop), 0);
}

bool shop_try(struct shop *shop, const char *path, int64_t timeout_ms, struct errbuf *err)
{
	struct store_options options = {.timeout_ms = timeout_ms, .make_folders = true};
	struct store_events events = {.op_done = on_done, .health = on_health, .arg = shop};
	char url[700];

	memset(shop, 0, sizeof(*shop));
	ck_assert_int_eq(uv_loop_init(&shop->loop), 0);
	uv_prepare_init(&shop->loop, &shop->flush);
	uv_timer_init(&shop->loop, &shop->tick);
	shop->flush.data = shop;
	uv_prepare_start(&shop->flush, on_flush);
	snprintf(url, sizeof(url), "sqlite:%s", path);
	if (store_open(&shop->store, url, &options, &shop->loop, &events, err))
		return true;
	loop_end(shop);
	return false;
}

void shop_open(struct shop *shop, const char *path)
{
	struct errbuf err = {""};

	ck_assert_msg(shop_try(shop, path, 10000, &err), "%s", err.text);
	shop_wait_up(shop, true);
}

static void on_closed(void *arg)
{
	struct shop *shop = arg;

	shop->closed = true;
}

void shop_close(struct shop *shop)
{
	int64_t end = mono_ms() + DEADLINE_MS;

	store_close(shop->store, on_closed, shop);
	ck_assert(!shop->closed);
	shop->store = NULL;
	while (!shop->closed && mono_ms() < end)
		shop_turn(shop);
	ck_assert(shop->closed);
	ck_assert_uint_eq(shop->outstanding, 0);
	loop_end(shop);
}

void shop_turn(struct shop *shop)
{
	uv_update_time(&shop->loop);
	uv_timer_start(&shop->tick, on_tick, 5, 0);
	uv_run(&shop->loop, UV_RUN_ONCE);
	uv_timer_stop(&shop->tick);
}

void shop_run(struct shop *shop)
{
	int64_t end = mono_ms() + DEADLINE_MS;

	while (shop->outstanding && mono_ms() < end)
		shop_turn(shop);
	ck_assert_uint_eq(shop->outstanding, 0);
}

void shop_wait_up(struct shop *shop, bool up)
{
	int64_t end = mono_ms() + DEADLINE_MS;

	while (shop->up != up && mono_ms() < end)
		shop_turn(shop);
	ck_assert_msg(shop->up == up, "%s: %s", up ? "still down" : "still up", shop->why);
}

void shop_submit(struct shop *shop, struct op *op)
{
	shop->outstanding++;
	store_submit(shop->store, op);
}

/* ---- calls ---- */

const struct op *shop_ask(struct shop *shop, const char *key, struct ask ask)
{
	op_release(&one);
	op_init(&one, OP_RECORD, slice_from(key));
	one.ask = ask;
	shop_submit(shop, &one);
	shop_run(shop);
	return &one;
}

const struct op *shop_scan(struct shop *shop, enum op_kind kind, struct scan scan)
{
	op_release(&one);
	op_init(&one, kind, SLICE_ABSENT);
	one.scan = scan;
	shop_submit(shop, &one);
	shop_run(shop);
	return &one;
}

void shop_look(struct shop *shop, const char *key)
{
	int64_t end = mono_ms() + DEADLINE_MS;
	size_t before = shop->answers;
	struct op op;

	op_init(&op, OP_RECORD, slice_from(key));
	op.ask = ask_of(ASK_STATUS, 0);
	shop_submit(shop, &op);
	while (shop->answers == before && mono_ms() < end)
		shop_turn(shop);
	ck_assert_uint_eq(shop->answers, before + 1);
	op_release(&op);
}

struct ask ask_claim(struct slice token)
{
	return (struct ask){.verb = ASK_CLAIM, .lease = HOUR, .ttl = HOUR, .token = token};
}

struct ask ask_of(enum ask_verb verb, int64_t fence)
{
	return (struct ask){.verb = verb, .fence = fence};
}

int64_t shop_win(struct shop *shop, const char *key)
{
	const struct op *op = shop_ask(shop, key, ask_claim(TOKEN));

	ck_assert_msg(op->verdict.word == WORD_WON, "%s: %s", key, op->why.text);
	return op->record.fence;
}

void shop_wait_heal(struct shop *shop, const char *key)
{
	int64_t end = mono_ms() + DEADLINE_MS;
	const struct op *op;

	do {
		shop_turn(shop);
		op = shop_ask(shop, key, ask_claim(TOKEN));
	} while (op->result == OP_REFUSED && mono_ms() < end);
	ck_assert_msg(op->verdict.word == WORD_WON, "does not heal: %s", op->why.text);
	shop_wait_up(shop, true);
}

/* ---- SQL ---- */

static sqlite3 *sql_open(const char *path)
{
	sqlite3 *conn;

	ck_assert_int_eq(sqlite3_open_v2(path, &conn, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	sqlite3_busy_timeout(conn, 10000);
	return conn;
}

void sql_run(const char *path, const char *sql)
{
	sqlite3 *conn = sql_open(path);
	char *why = NULL;

	ck_assert_msg(sqlite3_exec(conn, sql, NULL, NULL, &why) == SQLITE_OK, "%s: %s", sql, why);
	ck_assert_int_eq(sqlite3_close(conn), SQLITE_OK);
}

int64_t sql_number(const char *path, const char *sql)
{
	sqlite3 *conn = sql_open(path);
	sqlite3_stmt *query;
	int64_t n;

	ck_assert_msg(sqlite3_prepare_v2(conn, sql, -1, &query, NULL) == SQLITE_OK, "%s: %s", sql,
		      sqlite3_errmsg(conn));
	ck_assert_int_eq(sqlite3_step(query), SQLITE_ROW);
	n = sqlite3_column_int64(query, 0);
	sqlite3_finalize(query);
	ck_assert_int_eq(sqlite3_close(conn), SQLITE_OK);
	return n;
}

/* ---- the program ---- */

int case_run(const char *name, TCase *const *cases, size_t count)
{
	Suite *suite = suite_create(name);
	SRunner *runner;
	int failed;
	size_t i;

	for (i = 0; i < count; i++) {
		tcase_add_checked_fixture(cases[i], case_setup, case_teardown);
		tcase_set_timeout(cases[i], 120);
		suite_add_tcase(suite, cases[i]);
	}
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
