/*
 * check_sqlite_walks.c - the SQLite store over many records: pages, sweeps, counts, what it tidies by itself, the
 * size of its files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite_case.h"

#define ALL ((struct scan){.state = -1, .limit = 1000})

static struct shop shop;

/* Makes records k1 ... kN in one statement. `values`: state, lapse, lease_until, keep_until, updated, with n for the number. */
static void fill(const char *path, int from, int to, const char *values)
{
	char sql[700];

	snprintf(sql, sizeof(sql),
		 "WITH RECURSIVE c(n) AS (SELECT %d UNION ALL SELECT n + 1 FROM c WHERE n < %d) "
		 "INSERT INTO record (key, fence, attempts, ttl, earliest, created, state, lapse, lease_until, "
		 "keep_until, updated) "
		 "SELECT CAST(printf('k%%06d', n) AS BLOB), 1 + n, 1, 1000, 0, 1, %s FROM c",
		 from, to, values);
	sql_run(path, sql);
}

#define DONE_GONE "2, 0, 0, 1000, 1"
#define DONE_KEPT "2, 0, 0, NULL, 1"
#define LIVE_UNKNOWN "1, 1, 9000000000000000, 0, 1"

static const char *new_file(void)
{
	const char *path = case_path("db");

	shop_open(&shop, path);
	shop_close(&shop);
	return path;
}

/* ---- LIST ---- */

/* A filter that fits few records of many: the pages end early, with a cursor, and together they have all. */
START_TEST(pages_of_a_rare_kind)
{
	const char *path = new_file();
	char cursor[1024] = "";
	struct scan scan = ALL;
	size_t found = 0, pages = 0;

	fill(path, 1, 45000, DONE_KEPT);
	sql_run(path, "UPDATE record SET owner = x'6d65' WHERE rowid IN (7, 30000, 44999)");
	shop_open(&shop, path);
	scan.owner = SLICE_OF("me");
	do {
		const struct page *page = shop_scan(&shop, OP_LIST, scan)->page;

		found += page->count;
		pages++;
		scan.cursor = SLICE_ABSENT;
		if (page->cursor.data) {
			memcpy(cursor, page->cursor.data, page->cursor.len);
			scan.cursor = (struct slice){cursor, page->cursor.len};
		}
	} while (scan.cursor.data && pages < 100);
	ck_assert_uint_eq(found, 3);
	ck_assert_uint_gt(pages, 1);
	ck_assert_uint_lt(pages, 10);
	shop_close(&shop);
}
END_TEST

/* The unknown ones come on one page, however many claims could become so. */
START_TEST(unknown_is_found_behind_many)
{
	const char *path = new_file();
	struct scan scan = ALL;
	const struct page *page;

	fill(path, 1, 45000, LIVE_UNKNOWN);
	fill(path, 45001, 45002, "4, 0, 0, 0, 100 - n + 45000");
	fill(path, 45003, 45003, "1, 1, 5, 0, 50"); /* lapsed */
	shop_open(&shop, path);
	scan.state = CHOICE_STATE_UNKNOWN;
	page = shop_scan(&shop, OP_LIST, scan)->page;
	ck_assert_uint_eq(page->count, 3);
	ck_assert(slice_equal(page->item[0].key, SLICE_OF("k045003")));
	ck_assert(slice_equal(page->item[1].key, SLICE_OF("k045002"))); /* oldest first, not by key */
	ck_assert(slice_equal(page->item[2].key, SLICE_OF("k045001")));
	ck_assert_ptr_null(page->cursor.data);
	shop_close(&shop);
}
END_TEST

/* Prefixes at the end of all octets, and keys of every octet. */
START_TEST(prefixes_of_high_octets)
{
	static const char *const keys[] = {"\x01", "a\xff", "a\xff\xff", "a\xff\xff\x62",
					   "b",    "\xff",  "\xff\xff",  "\xff\xff\x01"};
	static const struct {
		const char *prefix;
		size_t count;
	} wanted[] = {{"", 8},     {"a", 3},        {"a\xff", 3},        {"a\xff\xff", 2},
		      {"\xff", 3}, {"\xff\xff", 2}, {"\xff\xff\xff", 0}, {"b", 1}};
	size_t i;

	shop_open(&shop, case_path("db"));
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		shop_win(&shop, keys[i]);
	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct scan scan = ALL;

		scan.prefix = slice_from(wanted[i].prefix);
		ck_assert_uint_eq(shop_scan(&shop, OP_LIST, scan)->page->count, wanted[i].count);
		ck_assert_int_eq(shop_scan(&shop, OP_COUNT, scan)->counts.live, (int64_t)wanted[i].count);
		scan.cursor = SLICE_OF("\x00"); /* in front of the prefix: not outside of it */
		ck_assert_uint_eq(shop_scan(&shop, OP_LIST, scan)->page->count, wanted[i].count);
		scan.cursor = SLICE_OF("\xff\xff\xff\xff");
		ck_assert_uint_eq(shop_scan(&shop, OP_LIST, scan)->page->count, 0);
	}
	shop_close(&shop);
}
END_TEST

/* ---- SWEEP, COUNT ---- */

static const struct op *sweep(size_t limit, bool dry, struct slice prefix)
{
	struct scan scan = {.state = -1, .limit = limit, .dry = dry, .prefix = prefix};
	const struct op *op = shop_scan(&shop, OP_SWEEP, scan);

	ck_assert_msg(op->result == OP_APPLIED, "%s", op->why.text);
	return op;
}

START_TEST(sweep_in_batches)
{
	const char *path = new_file();
	const struct op *op;

	fill(path, 1, 2600, DONE_GONE);
	fill(path, 2601, 4000, DONE_KEPT);
	sql_run(path, "INSERT INTO record SELECT CAST('z' || key AS BLOB), state, fence, attempts, lapse, lease_until, "
		      "ttl, keep_until,"
		      " earliest, created, updated, token, fp, owner, result FROM record WHERE rowid = 1");
	shop_open(&shop, path);
	op = sweep(1000, true, SLICE_ABSENT);
	ck_assert_int_eq(op->deleted, 1000);
	ck_assert(op->more);
	op = sweep(1000, false, SLICE_OF("k"));
	ck_assert_int_eq(op->deleted, 1000);
	ck_assert(op->more);
	op = sweep(1600, false, SLICE_OF("k"));
	ck_assert_int_le(op->deleted, 1600); /* the store tidies by itself, too */
	ck_assert(!op->more);
	ck_assert_int_eq(sql_number(path, "SELECT count(*) FROM record WHERE key < 'z' AND keep_until = 1000"), 0);
	op = sweep(1000, false, SLICE_OF("k"));
	ck_assert_int_eq(op->deleted, 0);
	ck_assert(!op->more);
	ck_assert_int_eq(shop_scan(&shop, OP_COUNT, ALL)->counts.done, 1400);
	shop_close(&shop);
	ck_assert_int_eq(sql_number(path, "SELECT count(*) FROM record WHERE keep_until IS NULL"), 1400);
}
END_TEST

/* The sweep has seen them ended, and then they are won again, before it gets to delete them. */
START_TEST(what_is_won_again_stays)
{
	enum { AGAIN = 200, ROUNDS = 20 };
	const char *path = new_file();
	static struct op claim[AGAIN], sweeping;
	static char key[AGAIN][8];

	for (int round = 0; round < ROUNDS; round++) {
		sql_run(path, "DELETE FROM record");
		fill(path, 1, AGAIN, DONE_GONE);
		shop_open(&shop, path);
		op_init(&sweeping, OP_SWEEP, SLICE_ABSENT);
		sweeping.scan = ALL;
		shop_submit(&shop, &sweeping);
		for (int i = 0; i < AGAIN; i++) {
			snprintf(key[i], sizeof key[i], "k%06d", i + 1);
			op_init(&claim[i], OP_RECORD, slice_from(key[i]));
			claim[i].ask = ask_claim(TOKEN);
			shop_submit(&shop, &claim[i]);
			if (i == AGAIN * round / ROUNDS)
				shop_turn(&shop);
		}
		shop_run(&shop);
		for (int i = 0; i < AGAIN; i++)
			ck_assert_int_eq(shop_ask(&shop, key[i], ask_of(ASK_STATUS, 0))->record.state, STATE_CLAIMED);
		op_release(&sweeping);
		for (int i = 0; i < AGAIN; i++)
			op_release(&claim[i]);
		shop_close(&shop);
	}
}
END_TEST

START_TEST(count_many)
{
	const char *path = new_file();
	const struct counts *counts;

	fill(path, 1, 4000, DONE_KEPT);
	fill(path, 4001, 7500, LIVE_UNKNOWN);
	shop_open(&shop, path);
	counts = &shop_scan(&shop, OP_COUNT, ALL)->counts;
	ck_assert_int_eq(counts->done, 4000);
	ck_assert_int_eq(counts->live, 3500);
	ck_assert_int_eq(counts->lapsed + counts->failed + counts->unknown + counts->free + counts->gone, 0);
	shop_close(&shop);
}
END_TEST

/* ---- by itself ---- */

START_TEST(gone_is_deleted_in_time)
{
	const char *path = new_file();
	int64_t end = mono_ms() + 40000;

	fill(path, 1, 1500, DONE_GONE);
	fill(path, 1501, 1600, DONE_KEPT);
	fill(path, 1601, 1700, LIVE_UNKNOWN);
	fill(path, 1701, 1750, "1, 1, 5, 0, 50");               /* lapsed, and unknown for ever */
	fill(path, 1751, 1760, "4, 0, 0, 0, 1");                /* unknown */
	fill(path, 1761, 1770, "1, 0, 9000000000000000, 0, 1"); /* live */
	sql_run(path,
		"UPDATE record SET fence = 9007199254740991 WHERE rowid = 1"); /* the clock is not past its fence */
	shop_open(&shop, path);
	while (sql_number(path, "SELECT count(*) FROM record WHERE keep_until = 1000") > 1 && mono_ms() < end)
		shop_turn(&shop);
	ck_assert_int_eq(sql_number(path, "SELECT count(*) FROM record"), 271);
	ck_assert_int_eq(sql_number(path, "SELECT count(*) FROM record WHERE keep_until = 1000"), 1);
	shop_close(&shop);
}
END_TEST

/* The WAL is copied to the file while it is written to, and emptied in a quiet moment. */
START_TEST(wal_stays_small)
{
	static char result[60000];
	static struct op ops[2000];
	static char keys[2000][16];
	const char *wal;
	int64_t most = 0, total = 0, end;
	int i, at, round;

	memset(result, 'r', sizeof(result));
	shop_open(&shop, case_path("db"));
	wal = case_path("db-wal");
	for (round = 0; round < 40; round++) {
		for (i = 0; i < 50; i++) {
			at = round * 50 + i;
			snprintf(keys[at], sizeof(keys[at]), "key-%d", i);
			op_init(&ops[at], OP_RECORD, slice_from(keys[at]));
			ops[at].ask = ask_of(ASK_COMPLETE, shop_win(&shop, keys[at]));
			ops[at].ask.result = (struct slice){result, sizeof(result)};
			total += (int64_t)sizeof(result);
			shop_submit(&shop, &ops[at]);
		}
		shop_run(&shop);
		for (i = 0; i < 50; i++) {
			ck_assert_int_eq(ops[round * 50 + i].verdict.word, WORD_OK);
			op_release(&ops[round * 50 + i]);
		}
		if (file_size(wal) > most)
			most = file_size(wal);
		for (i = 0; i < 50; i++) {
			struct ask forget = ask_of(ASK_FORGET, 0);

			while (shop_ask(&shop, keys[round * 50 + i], forget)->verdict.word == WORD_ERR)
				;
		}
	}
	ck_assert_int_gt(total, 100 << 20);
	ck_assert_int_lt(most,
			 total / 3 * 2); /* a few MB, more where the disk is slow; without copying more than all */
	for (end = mono_ms() + 40000; file_size(wal) > 0 && mono_ms() < end;)
		shop_turn(&shop);
	ck_assert_int_eq(file_size(wal), 0);
	shop_win(&shop, "after");
	shop_close(&shop);
	ck_assert_int_eq(file_size(wal), 0);
}
END_TEST

int main(void)
{
	TCase *page = tcase_create("page"), *sweeps = tcase_create("sweep"), *tidy = tcase_create("tidy");
	TCase *const cases[] = {page, sweeps, tidy};

	tcase_add_test(page, pages_of_a_rare_kind);
	tcase_add_test(page, unknown_is_found_behind_many);
	tcase_add_test(page, prefixes_of_high_octets);
	tcase_add_test(sweeps, sweep_in_batches);
	tcase_add_test(sweeps, what_is_won_again_stays);
	tcase_add_test(sweeps, count_many);
	tcase_add_test(tidy, gone_is_deleted_in_time);
	tcase_add_test(tidy, wal_stays_small);
	return case_run("sqlite walks", cases, 3);
}
