/*
 * check_sqlite.c - the SQLite store: its file, its schema, its batches, records that cannot be read.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../proto/mem.h"
#include "../server/stores/sqlite_file.h"
#include "sqlite_case.h"

static struct shop shop;

/* ---- which file ---- */

START_TEST(file_systems)
{
	const unsigned long refused[] = {0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x65735546};
	const unsigned long fine[] = {0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0xf2f52010, 0x2fc12fc1};
	size_t i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		ck_assert_ptr_nonnull(sqlite_file_system_refused(refused[i]));
	for (i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		ck_assert_ptr_null(sqlite_file_system_refused(fine[i]));
	/* f_type is signed on some machines */
	ck_assert_ptr_nonnull(sqlite_file_system_refused((unsigned long)(long)(int)0xff534d42));
}
END_TEST

static void refused(const char *path, const char *word)
{
	struct errbuf err = {""};

	ck_assert_msg(!shop_try(&shop, path, 1000, &err), "%s: opened", path);
	ck_assert_msg(strstr(err.text, word) != NULL, "%s: \"%s\" does not say %s", path, err.text, word);
}

START_TEST(paths_that_are_none)
{
	char path[600];

	refused("", "needs a path");
	refused(":memory:", "memory:");
	refused(case_path("a?mode=ro"), "?");
	refused("/dev/null", "not a file");
	refused(case_path(""), "a folder");
	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	refused(path, "too long");
	path[300] = '\0'; /* a name, not a path, beyond what the system takes */
	refused(path, "too long");
	close(open(case_path("file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	refused(case_path("file/x.db"), "ot a ");
}
END_TEST

START_TEST(path_at_its_limit)
{
	char path[600];
	int len = snprintf(path, sizeof(path), "%s", case_path(""));

	while (len < 495) /* folders as long as there is room for, and a file */
		path[len] = len == 490 || (len % 100 == 0 && len < 400) ? '/' : 'a', len++;
	path[len] = '\0';
	shop_open(&shop, path);
	shop_win(&shop, "k");
	shop_close(&shop);
	path[len] = 'b';
	path[len + 1] = '\0';
	refused(path, "too long");
}
END_TEST

START_TEST(files_that_are_none_of_ours)
{
	static const char garbage[8192] = "this is not a database, and it is long enough to be one";
	int fd = open(case_path("garbage"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	ck_assert_int_eq(write(fd, garbage, sizeof(garbage)), (int)sizeof(garbage));
	close(fd);
	refused(case_path("garbage"), "not an SQLite database");
	close(open(case_path("other"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	sql_run(case_path("other"), "CREATE TABLE t (x)");
	refused(case_path("other"), "another program");
	ck_assert_int_eq(
	    sql_number(case_path("other"), "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'delete'"),
	    1);
	close(open(case_path("third"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	sql_run(case_path("third"), "PRAGMA application_id = 77");
	refused(case_path("third"), "another program");
}
END_TEST

START_TEST(schema_versions)
{
	const char *path = case_path("db");

	shop_open(&shop, path);
	shop_win(&shop, "k");
	shop_close(&shop);
	sql_run(path, "UPDATE meta SET version = 2"); /* a newer one, which we may still use */
	shop_open(&shop, path);
	ck_assert_int_eq(shop_ask(&shop, "k", ask_of(ASK_STATUS, 0))->verdict.word, WORD_STATUS);
	/* a newer daemon makes it one that we do not know, while we run */
	sql_run(path, "UPDATE meta SET version = 3, min_reader = 3");
	ck_assert_int_eq(shop_ask(&shop, "k2", ask_claim(TOKEN))->result, OP_REFUSED);
	ck_assert_int_eq(shop_ask(&shop, "k", ask_of(ASK_STATUS, 0))->result, OP_REFUSED);
	shop_close(&shop);
	ck_assert_int_eq(sql_number(path, "SELECT count(*) FROM record"), 1);
	refused(path, "version 3");
	sql_run(path, "UPDATE meta SET version = 1, min_reader = 1; DROP INDEX record_unknown");
	refused(path, "not as they should be");
}
END_TEST

/* SQLite throws a WAL away where there is no database, and with it what was acknowledged. */
START_TEST(wal_without_its_file)
{
	const char *path = case_path("db"), *wal = case_path("db-wal"), *copy = case_path("copy");

	shop_open(&shop, path);
	shop_win(&shop, "k");
	ck_assert_int_eq(rename(path, copy), 0);
	shop_close(&shop);
	ck_assert_int_eq(access(wal, F_OK), 0);
	refused(path, "-wal");
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	refused(path, "-wal");
	ck_assert_int_eq(rename(copy, path), 0);
	shop_open(&shop, path);
	ck_assert_int_eq(shop_ask(&shop, "k", ask_claim(OTHER))->verdict.word, WORD_HELD);
	shop_close(&shop);
}
END_TEST

static mode_t mode_of(const char *path)
{
	struct stat st;

	ck_assert_msg(stat(path, &st) == 0, "%s is not there", path);
	return st.st_mode & 07777;
}

START_TEST(modes)
{
	umask(0);
	shop_open(&shop, case_path("a/b/db"));
	shop_win(&shop, "k");
	ck_assert_int_eq(mode_of(case_path("a")), 0700);
	ck_assert_int_eq(mode_of(case_path("a/b")), 0700);
	ck_assert_int_eq(mode_of(case_path("a/b/db")), 0600);
	ck_assert_int_eq(mode_of(case_path("a/b/db-wal")), 0600);
	ck_assert_int_eq(mode_of(case_path("a/b/db-shm")), 0600);
	ck_assert_int_eq(sql_number(case_path("a/b/db"), "PRAGMA page_size"), 4096);
	ck_assert_int_eq(
	    sql_number(case_path("a/b/db"), "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'"), 1);
	shop_close(&shop);
	chmod(case_path("a"), 0755);
	chmod(case_path("a/b/db"), 0640);
	shop_open(&shop, case_path("a/b/db"));
	ck_assert_int_eq(mode_of(case_path("a")), 0755);
	ck_assert_int_eq(mode_of(case_path("a/b/db")), 0640);
	shop_close(&shop);
}
END_TEST

START_TEST(relative_path_and_link)
{
	struct errbuf text;

	ck_assert_int_eq(chdir(case_path("")), 0);
	shop_open(&shop, "db");
	ck_assert_int_eq(chdir("/"), 0);
	shop_win(&shop, "k");
	store_describe(shop.store, &text);
	ck_assert_msg(strstr(text.text, "journal=wal synchronous=full") != NULL, "%s", text.text);
	shop_close(&shop);
	ck_assert_int_eq(symlink("db", case_path("link")), 0);
	shop_open(&shop, case_path("link"));
	ck_assert_int_eq(shop_ask(&shop, "k", ask_claim(OTHER))->verdict.word, WORD_HELD);
	ck_assert_int_eq(shop_ask(&shop, "k", ask_of(ASK_STATUS, 0))->verdict.word, WORD_STATUS);
	shop_close(&shop);
}
END_TEST

/* ---- batches ---- */

#define MANY 500

START_TEST(a_batch_is_sorted)
{
	static struct op ops[MANY];
	static char keys[MANY][16];
	const char *path = case_path("db");
	int i;

	shop_open(&shop, path);
	for (i = 0; i < MANY; i++) {
		snprintf(keys[i], sizeof(keys[i]), "k%d", (i * 7919) % MANY);
		op_init(&ops[i], OP_RECORD, slice_from(keys[i]));
		ops[i].ask = ask_claim(TOKEN);
		shop_submit(&shop, &ops[i]);
	}
	shop_run(&shop);
	for (i = 0; i < MANY; i++) {
		ck_assert_int_eq(ops[i].verdict.word, WORD_WON);
		op_release(&ops[i]);
	}
	shop_close(&shop);
	ck_assert_int_eq(sql_number(path, "SELECT count(*) FROM record"), MANY);
	ck_assert_int_eq(
	    sql_number(path, "SELECT count(*) FROM record a, record b ON b.rowid = a.rowid + 1 WHERE b.key < a.key"),
	    0);
}
END_TEST

/* Without an engine in front there may be several ops of a key in a batch: they count in their order. */
START_TEST(ops_of_one_key_keep_their_order)
{
	static struct op ops[50];
	static char tokens[50][32];
	int i;

	shop_open(&shop, case_path("db"));
	for (i = 0; i < 50; i++) {
		snprintf(tokens[i], sizeof(tokens[i]), "token-of-claimer-%d", i);
		op_init(&ops[i], OP_RECORD, SLICE_OF("k"));
		ops[i].ask = ask_claim(slice_from(tokens[i]));
		shop_submit(&shop, &ops[i]);
	}
	shop_run(&shop);
	ck_assert_int_eq(ops[0].verdict.word, WORD_WON);
	for (i = 0; i < 50; i++) {
		ck_assert_int_eq(ops[i].verdict.word, i ? WORD_HELD : WORD_WON);
		ck_assert_int_eq(ops[i].record.fence, ops[0].record.fence);
		op_release(&ops[i]);
	}
	shop_close(&shop);
}
END_TEST

START_TEST(what_changes_nothing_writes_nothing)
{
	const char *path = case_path("db");
	sqlite3 *conn;
	sqlite3_stmt *query;
	int64_t before;
	int i;

	shop_open(&shop, path);
	shop_win(&shop, "k");
	ck_assert_int_eq(sqlite3_open_v2(path, &conn, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	sqlite3_prepare_v2(conn, "PRAGMA data_version", -1, &query, NULL);
	ck_assert_int_eq(sqlite3_step(query), SQLITE_ROW);
	before = sqlite3_column_int64(query, 0);
	sqlite3_reset(query);
	for (i = 0; i < 20; i++)
		ck_assert_int_eq(shop_ask(&shop, "k", ask_claim(OTHER))->verdict.word, WORD_HELD);
	ck_assert_int_eq(sqlite3_step(query), SQLITE_ROW);
	ck_assert_int_eq(sqlite3_column_int64(query, 0), before);
	sqlite3_reset(query);
	shop_win(&shop, "k2"); /* the number does tell */
	ck_assert_int_eq(sqlite3_step(query), SQLITE_ROW);
	ck_assert_int_ne(sqlite3_column_int64(query, 0), before);
	sqlite3_finalize(query);
	sqlite3_close(conn);
	shop_close(&shop);
}
END_TEST

START_TEST(close_answers_everything)
{
	static struct op ops[3000];
	static char keys[3000][32];
	size_t i, refused_ops = 0;
	int round;

	for (round = 0; round < 5; round++) {
		shop_open(&shop, case_path("db"));
		for (i = 0; i < 3000; i++) {
			snprintf(keys[i], sizeof(keys[i]), "%d-%zu", round, i);
			op_init(&ops[i],
				i % 50 == 1   ? OP_COUNT
				: i % 50 == 2 ? OP_LIST
				: i % 50 == 3 ? OP_SWEEP
					      : OP_RECORD,
				i % 50 > 0 && i % 50 < 4 ? SLICE_ABSENT : slice_from(keys[i]));
			ops[i].ask = i % 5 ? ask_claim(TOKEN) : ask_of(ASK_STATUS, 0);
			shop_submit(&shop, &ops[i]);
			if (i == 1500)
				store_flush(shop.store);
		}
		while (shop.answers < (size_t)round * 300)
			shop_turn(&shop);
		shop_close(&shop); /* looks that none is left */
		ck_assert_uint_eq(shop.answers, 3000);
		for (i = 0; i < 3000; i++) {
			refused_ops += ops[i].result == OP_REFUSED;
			op_release(&ops[i]);
		}
	}
	ck_assert_uint_gt(refused_ops, 0);
}
END_TEST

START_TEST(no_memory_refuses_one_op)
{
	const struct op *op;

	shop_open(&shop, case_path("db"));
	shop_win(&shop, "k");
	mem_fail_at(1, 1);
	op = shop_ask(&shop, "k", ask_of(ASK_STATUS, 0));
	ck_assert(op->result == OP_REFUSED && op->err == ERR_BUSY);
	op = shop_ask(&shop, "k", ask_claim(OTHER));
	ck_assert(op->result == OP_REFUSED && op->err == ERR_BUSY);
	op = shop_scan(&shop, OP_LIST, (struct scan){.state = -1, .limit = 10});
	ck_assert(op->result == OP_REFUSED && op->err == ERR_BUSY);
	mem_fail_at(0, 0);
	ck_assert_int_eq(shop_ask(&shop, "k", ask_claim(OTHER))->verdict.word, WORD_HELD);
	shop_close(&shop);
}
END_TEST

/* ---- octets ---- */

START_TEST(absent_is_not_empty)
{
	struct ask ask = ask_claim(TOKEN), complete;
	const struct op *op;

	shop_open(&shop, case_path("db"));
	ask.fp = SLICE_OF("");
	ask.owner = SLICE_OF("a\0b");
	complete = ask_of(ASK_COMPLETE, shop_ask(&shop, "k", ask)->record.fence);
	complete.result = SLICE_OF("");
	shop_ask(&shop, "k", complete);
	shop_close(&shop);
	shop_open(&shop, case_path("db"));
	op = shop_ask(&shop, "k", ask_of(ASK_STATUS, 0));
	ck_assert(op->record.fp.data && op->record.fp.len == 0);
	ck_assert(op->record.result.data && op->record.result.len == 0);
	ck_assert(slice_equal(op->record.owner, SLICE_OF("a\0b")));
	complete = ask_of(ASK_COMPLETE, shop_win(&shop, "k2"));
	shop_ask(&shop, "k2", complete);
	op = shop_ask(&shop, "k2", ask_of(ASK_STATUS, 0));
	ck_assert(!op->record.fp.data && !op->record.result.data && !op->record.owner.data);
	shop_close(&shop);
}
END_TEST

/* ---- records that cannot be read ---- */

static const char *const damages[] = {
    "state = 0",
    "state = 6",
    "state = 'claimed'",
    "state = 1.5",
    "lapse = 2",
    "lapse = -1",
    "attempts = 0",
    "attempts = 2147483648",
    "fence = 0",
    "fence = -5",
    "fence = 9007199254740992",
    "fence = 'x'",
    "lease_until = -1",
    "lease_until = 'x'",
    "ttl = -1",
    "ttl = 'x'",
    "keep_until = -1",
    "keep_until = x'00'",
    "earliest = -1",
    "created = -1",
    "created = 9223372036854775807",
    "updated = -1",
    "updated = 0.5",
    "token = 'text'",
    "fp = 7",
    "owner = 'me'",
    "result = 1.5",
    "result = 'text'",
};

static void is_unreadable(const char *what, const struct op *op)
{
	ck_assert_msg(op->result == OP_REFUSED && op->err == ERR_STORE && op->unreadable, "%s: word %d", what,
		      (int)op->verdict.word);
}

START_TEST(unreadable_is_never_won)
{
	const char *damage = damages[_i], *path = case_path("db");
	struct ask forget = ask_of(ASK_FORGET, 0);
	char sql[200];
	size_t listed;

	shop_open(&shop, path);
	forget.fence = shop_win(&shop, "bad");
	shop_win(&shop, "good");
	snprintf(sql, sizeof(sql), "UPDATE record SET %s WHERE key = x'626164'", damage);
	sql_run(path, sql);
	is_unreadable(damage, shop_ask(&shop, "bad", ask_claim(OTHER)));
	is_unreadable(damage, shop_ask(&shop, "bad", ask_claim(TOKEN)));
	is_unreadable(damage, shop_ask(&shop, "bad", ask_of(ASK_COMPLETE, forget.fence)));
	is_unreadable(damage, shop_ask(&shop, "bad", ask_of(ASK_STATUS, 0)));
	is_unreadable(damage, shop_ask(&shop, "bad", ask_of(ASK_CHECK, forget.fence)));
	ck_assert_int_eq(shop_ask(&shop, "good", ask_claim(OTHER))->verdict.word, WORD_HELD);
	/* walks go past it (they do not look at results), and nothing deletes it */
	listed = strncmp(damage, "result", 6) == 0 ? 2 : 1;
	ck_assert_uint_eq(shop_scan(&shop, OP_LIST, (struct scan){.state = -1, .limit = 10})->page->count, listed);
	ck_assert_int_eq(shop_scan(&shop, OP_COUNT, (struct scan){.state = -1})->counts.live, (int64_t)listed);
	ck_assert_int_eq(shop_scan(&shop, OP_SWEEP, (struct scan){.state = -1, .limit = 10})->deleted, 0);
	/* only FORGET with force, and without a fence that cannot be compared */
	is_unreadable(damage, shop_ask(&shop, "bad", ask_of(ASK_FORGET, 0)));
	forget.force = true;
	is_unreadable(damage, shop_ask(&shop, "bad", forget));
	forget.fence = 0;
	ck_assert_int_eq(shop_ask(&shop, "bad", forget)->verdict.word, WORD_OK);
	ck_assert_int_eq(shop_ask(&shop, "bad", ask_claim(OTHER))->verdict.word, WORD_WON);
	shop_close(&shop);
}
END_TEST

START_TEST(damaged_meta_stops_everything)
{
	const char *path = case_path("db");

	shop_open(&shop, path);
	shop_win(&shop, "k");
	sql_run(path, "UPDATE meta SET seen = 'x'");
	ck_assert_int_eq(shop_ask(&shop, "k2", ask_claim(TOKEN))->result, OP_REFUSED);
	ck_assert_int_eq(shop_ask(&shop, "k", ask_of(ASK_CHECK, 1))->result, OP_REFUSED);
	sql_run(path, "UPDATE meta SET seen = 0");
	shop_wait_heal(&shop, "k2");
	sql_run(path, "DELETE FROM meta");
	ck_assert_int_eq(shop_ask(&shop, "k3", ask_claim(TOKEN))->result, OP_REFUSED);
	shop_close(&shop);
}
END_TEST

int main(void)
{
	TCase *file = tcase_create("file"), *batch = tcase_create("batch"), *damage = tcase_create("damage");
	TCase *const cases[] = {file, batch, damage};

	tcase_add_test(file, file_systems);
	tcase_add_test(file, paths_that_are_none);
	tcase_add_test(file, path_at_its_limit);
	tcase_add_test(file, files_that_are_none_of_ours);
	tcase_add_test(file, schema_versions);
	tcase_add_test(file, wal_without_its_file);
	tcase_add_test(file, modes);
	tcase_add_test(file, relative_path_and_link);
	tcase_add_test(batch, a_batch_is_sorted);
	tcase_add_test(batch, ops_of_one_key_keep_their_order);
	tcase_add_test(batch, what_changes_nothing_writes_nothing);
	tcase_add_test(batch, close_answers_everything);
	tcase_add_test(batch, no_memory_refuses_one_op);
	tcase_add_test(batch, absent_is_not_empty);
	tcase_add_loop_test(damage, unreadable_is_never_won, 0, (int)(sizeof(damages) / sizeof(damages[0])));
	tcase_add_test(damage, damaged_meta_stops_everything);
	return case_run("sqlite", cases, 3);
}
