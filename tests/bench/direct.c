/*
 * direct.c - bench direct FILE PLAN COUNT: what workers that write for themselves can do at the best.
 *
 * SQLite with one connection that nobody disturbs, WAL and FULL, and one commit for each claim; with the plan
 * "cycle" one more for each settlement. bench.c calls it.
 */
#include "bench.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static void must(sqlite3 *db, int rc)
{
	if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW)
		die("%s", sqlite3_errmsg(db));
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement = NULL;

	must(db, sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
	return statement;
}

/* True when the statement gave a row. Outside a transaction each statement is one commit. */
static bool step(sqlite3 *db, sqlite3_stmt *statement, size_t key)
{
	char text[64];
	bool row;
	int rc;

	snprintf(text, sizeof text, "orders:payment:%09zu", key);
	must(db, sqlite3_bind_blob(statement, 1, text, (int)strlen(text), SQLITE_STATIC));
	rc = sqlite3_step(statement);
	must(db, rc);
	row = rc == SQLITE_ROW;
	if (row) /* RETURNING writes nothing before it has been asked twice */
		must(db, sqlite3_step(statement));
	must(db, sqlite3_reset(statement));
	return row;
}

int word_direct(int argc, char **argv)
{
	static const char schema[] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
				     "CREATE TABLE IF NOT EXISTS r(key BLOB PRIMARY KEY, state INT, fence INT)";
	static const char claiming[] = "INSERT INTO r VALUES(?1, 1, 1) ON CONFLICT(key) DO NOTHING RETURNING fence";
	static const char settling[] =
	    "UPDATE r SET state = 2 WHERE key = ?1 AND state = 1 AND fence = 1 RETURNING fence";
	size_t count = number_of(argv[2]);
	bool cycle = strcmp(argv[1], "cycle") == 0;
	sqlite3_stmt *claim, *complete;
	struct times times;
	int64_t start;
	double took_s;
	sqlite3 *db;

	(void)argc;
	if (sqlite3_open(argv[0], &db) != SQLITE_OK)
		die("cannot open the file");
	must(db, sqlite3_exec(db, schema, NULL, NULL, NULL));
	claim = prepare(db, claiming);
	complete = prepare(db, settling);
	times_init(&times, count);
	start = now_ns();
	for (size_t key = 0; key < count; key++) {
		int64_t begun = now_ns();

		if (!step(db, claim, key))
			die("key %zu was taken", key);
		times_add(&times, now_ns() - begun);
		if (cycle && !step(db, complete, key))
			die("the settlement of key %zu found nothing", key);
	}
	took_s = (double)(now_ns() - start) / 1e9;
	report((double)count / took_s, &times, 0);
	times_release(&times);
	sqlite3_finalize(claim);
	sqlite3_finalize(complete);
	sqlite3_close(db);
	return 0;
}
