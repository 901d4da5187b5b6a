/*
 * sqlite_db.c - opening the file, its schema, its statements and its clock; see sqlite_db.h.
 *
 * The writer and the reader of the SQLite store have one connection each, and each is used by one thread at a time.
 * Opening looks first whether the file is ours, since switching a stranger's database to WAL would already be a
 * change; then it asks for what durability rests on (WAL, synchronous=FULL) and believes only what SQLite answers.
 *
 * The schema has a version and the lowest version that can still work with it; a file that asks for more than this program knows is
 * refused. Failures that may pass (locks, no room, no permission) are FIT_LATER; a file that is none of ours is FIT_NEVER.
 */
#include "sqlite_db.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../clock.h"
#include "sqlite_record.h"

#define SCHEMA_VERSION 1
#define TIME_SANE (INT64_C(1) << 60)

/* The index is small: it holds what LIST state=unknown shows, and claims that may become so. */
#define UNKNOWN_WHERE "(state = 4 OR (state = 1 AND lapse = 1))"

static const char schema[] =
    "CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, min_reader INTEGER NOT NULL,"
    " boot_id TEXT NOT NULL, base_wall INTEGER NOT NULL, base_boot INTEGER NOT NULL, seen INTEGER NOT NULL);"
    "CREATE TABLE record (key BLOB NOT NULL UNIQUE, state INTEGER NOT NULL, fence INTEGER NOT NULL,"
    " attempts INTEGER NOT NULL, lapse INTEGER NOT NULL, lease_until INTEGER, ttl INTEGER, keep_until INTEGER,"
    " earliest INTEGER, created INTEGER NOT NULL, updated INTEGER NOT NULL, token BLOB, fp BLOB, owner BLOB, result "
    "BLOB);"
    "CREATE INDEX record_unknown ON record (updated, key) WHERE " UNKNOWN_WHERE ";"
    "INSERT INTO meta VALUES (1, 1, 1, '', 0, 0, 0);"
    "PRAGMA application_id = 1668050276;";
_Static_assert(APPLICATION_ID == 1668050276 && SCHEMA_VERSION == 1, "the numbers in the schema");

static const struct {
	const char *text;
	bool writes;
} statements[SQL__COUNT] = {
    [SQL_BEGIN_READ] = {"BEGIN", false},
    [SQL_BEGIN_WRITE] = {"BEGIN IMMEDIATE", true},
    [SQL_COMMIT] = {"COMMIT", false},
    [SQL_META_GET] = {"SELECT version, min_reader, base_wall, base_boot, seen, boot_id FROM meta", false},
    [SQL_META_SET] = {"UPDATE meta SET boot_id = ?1, base_wall = ?2, base_boot = ?3, seen = ?4", true},
    [SQL_GET] = {"SELECT rowid, " RECORD_COLUMNS " FROM record WHERE key = ?1", false},
    [SQL_GET_ROW] = {"SELECT rowid, " RECORD_COLUMNS_BRIEF " FROM record WHERE rowid = ?1", true},
    [SQL_INSERT] = {"INSERT INTO record (" RECORD_COLUMNS ") VALUES (" RECORD_VALUES ")", true},
    [SQL_UPDATE] = {"UPDATE record SET " RECORD_SET " WHERE rowid = ?16", true},
    [SQL_DELETE] = {"DELETE FROM record WHERE rowid = ?1", true},
    [SQL_PAGE] = {"SELECT rowid, " RECORD_COLUMNS_BRIEF " FROM record WHERE key >= ?1 AND key < ?2 ORDER BY key",
		  false},
    [SQL_UNKNOWN] = {"SELECT rowid, " RECORD_COLUMNS_BRIEF " FROM record INDEXED BY record_unknown WHERE " UNKNOWN_WHERE
		     " ORDER BY updated, key",
		     false},
    [SQL_WALK] = {"SELECT rowid, " RECORD_COLUMNS_BRIEF " FROM record WHERE rowid > ?1 ORDER BY rowid LIMIT ?2", false},
};

/* ---- small things ---- */

void sqlite_db_why(struct sqlite_db *db, const char *what, struct errbuf *err)
{
	if (db->conn)
		err_set(err, "sqlite: %s: %s (%d)", what, sqlite3_errmsg(db->conn), sqlite3_extended_errcode(db->conn));
	else
		err_set(err, "sqlite: %s: the file is not open", what);
}

/* Runs a query that gives one value, as a number. */
static int query_number(struct sqlite_db *db, const char *sql, int64_t *out)
{
	sqlite3_stmt *query;
	int rc = sqlite3_prepare_v2(db->conn, sql, -1, &query, NULL);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(query);
	if (rc == SQLITE_ROW)
		*out = sqlite3_column_int64(query, 0);
	sqlite3_finalize(query);
	if (rc == SQLITE_DONE)
		return SQLITE_ERROR;
	return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/* Somebody else has the lock. SQLite's own handler sleeps up to 100 ms at a time and then hardly ever meets the short moments in
 * which a busy writer has let go. */
static int busy(void *arg, int count)
{
	const struct sqlite_db *db = arg;
	struct timespec pause = {0, count < 4 ? 200000 : 1000000};

	if (atomic_load(db->closing) || clock_mono_ms() >= db->busy_until_ms)
		return 0;
	nanosleep(&pause, NULL);
	return 1;
}

static enum fit fit_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
		return FIT_GOOD;
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
	case SQLITE_ERROR: /* a statement does not fit the tables */
	case SQLITE_SCHEMA:
		return FIT_NEVER;
	default:
		return FIT_LATER;
	}
}

static enum fit open_fault(struct sqlite_db *db, int rc, const char *what, struct errbuf *err)
{
	if ((rc & 0xff) == SQLITE_NOTADB)
		err_set(err, "%s is not an SQLite database", db->path);
	else
		err_set(err, "%s: %s: %s (%d)", db->path, what, sqlite3_errmsg(db->conn), rc);
	return fit_of(rc);
}

/* ---- whose file is it ---- */

enum owner { OWNER_NOBODY, OWNER_US, OWNER_OTHER };

/* Inside a transaction, so that both numbers are of the same moment. */
static int owner_look(struct sqlite_db *db, enum owner *owner)
{
	int64_t id = 0, tables = 0;
	int rc = query_number(db, "PRAGMA application_id", &id);

	if (rc == SQLITE_OK)
		rc = query_number(db, "SELECT count(*) FROM sqlite_master", &tables);
	if (rc != SQLITE_OK)
		return rc;
	if (id == APPLICATION_ID)
		*owner = OWNER_US;
	else
		*owner = id == 0 && tables == 0 ? OWNER_NOBODY : OWNER_OTHER;
	return SQLITE_OK;
}

static int owner_find(struct sqlite_db *db, enum owner *owner)
{
	int rc = sqlite3_exec(db->conn, "BEGIN", NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = owner_look(db, owner);
	sqlite_db_rollback(db);
	return rc;
}

/* Makes the tables, unless another daemon has just done so. */
static int schema_make(struct sqlite_db *db)
{
	enum owner owner;
	int rc = sqlite3_exec(db->conn, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = owner_look(db, &owner);
	if (rc == SQLITE_OK && owner == OWNER_NOBODY)
		rc = sqlite3_exec(db->conn, schema, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db->conn, "COMMIT", NULL, NULL, NULL);
	return rc;
}

static enum fit schema_check(struct sqlite_db *db, struct errbuf *err)
{
	int64_t version = 0, min_reader = 0;
	int rc = query_number(db, "SELECT version FROM meta", &version);

	if (rc == SQLITE_OK)
		rc = query_number(db, "SELECT min_reader FROM meta", &min_reader);
	if (rc != SQLITE_OK)
		return open_fault(db, rc, "cannot read the version", err);
	if (version >= SCHEMA_VERSION && min_reader >= 1 && min_reader <= SCHEMA_VERSION)
		return FIT_GOOD;
	err_set(err, "%s has schema version %lld, which needs a claimd that knows version %lld; this one knows %d",
		db->path, (long long)version, (long long)min_reader, SCHEMA_VERSION);
	return FIT_NEVER;
}

/* ---- what we need of SQLite ---- */

static bool pragma_is(struct sqlite_db *db, const char *sql, const char *want)
{
	sqlite3_stmt *query;
	bool good = false;

	if (sqlite3_prepare_v2(db->conn, sql, -1, &query, NULL) != SQLITE_OK)
		return false;
	if (sqlite3_step(query) == SQLITE_ROW) {
		const unsigned char *got = sqlite3_column_text(query, 0);

		good = got && strcmp((const char *)got, want) == 0;
	}
	return sqlite3_finalize(query) == SQLITE_OK && good;
}

/* Sets each, and believes the answer to the question. */
static enum fit settings_make(struct sqlite_db *db, struct errbuf *err)
{
	static const struct {
		bool writer, reader;
		const char *set, *ask, *want;
	} settings[] = {
	    {true, false, "PRAGMA page_size = 4096", NULL, NULL}, /* of a file that is still empty */
	    {true, false, "PRAGMA journal_mode = WAL", NULL, NULL},
	    {true, true, NULL, "PRAGMA journal_mode", "wal"},
	    {true, true, "PRAGMA synchronous = FULL", "PRAGMA synchronous", "2"},
	    {true, true, "PRAGMA wal_autocheckpoint = 0", "PRAGMA wal_autocheckpoint", "0"},
	    {true, true, "PRAGMA trusted_schema = OFF", "PRAGMA trusted_schema", "0"},
	    {true, true, "PRAGMA cache_size = -8192", NULL, NULL},
	    {false, true, "PRAGMA query_only = ON", "PRAGMA query_only", "1"},
	};
	size_t i;

	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		int rc = SQLITE_OK;

		if (!(db->writer ? settings[i].writer : settings[i].reader))
			continue;
		if (settings[i].set)
			rc = sqlite3_exec(db->conn, settings[i].set, NULL, NULL, NULL);
		if (rc != SQLITE_OK)
			return open_fault(db, rc, settings[i].set, err);
		if (settings[i].ask && !pragma_is(db, settings[i].ask, settings[i].want)) {
			err_set(err, "%s: SQLite does not answer %s to %s", db->path, settings[i].want,
				settings[i].ask);
			return FIT_LATER;
		}
	}
	return FIT_GOOD;
}

static enum fit statements_prepare(struct sqlite_db *db, struct errbuf *err)
{
	size_t i;

	for (i = 0; i < SQL__COUNT; i++) {
		int rc;

		if (statements[i].writes && !db->writer)
			continue;
		rc = sqlite3_prepare_v3(db->conn, statements[i].text, -1, SQLITE_PREPARE_PERSISTENT, &db->sql[i], NULL);
		if (rc != SQLITE_OK)
			return open_fault(db, rc, "the tables are not as they should be", err);
	}
	return FIT_GOOD;
}

/* ---- opening ---- */

static int wal_grew(void *arg, sqlite3 *conn, const char *name, int pages)
{
	struct sqlite_db *db = arg;

	(void)conn;
	(void)name;
	db->wal_pages = pages;
	return SQLITE_OK;
}

static enum fit owner_check(struct sqlite_db *db, bool create, enum owner *owner, struct errbuf *err)
{
	int rc = owner_find(db, owner);

	if (rc != SQLITE_OK)
		return open_fault(db, rc, "cannot read it", err);
	if (*owner == OWNER_OTHER) {
		err_set(err, "%s is an SQLite database of another program", db->path);
		return FIT_NEVER;
	}
	if (*owner == OWNER_NOBODY && !create) {
		err_set(err, "%s is empty now; put the file back, or start the daemon again for a new and empty one",
			db->path);
		return FIT_LATER;
	}
	return FIT_GOOD;
}

static enum fit connect(struct sqlite_db *db, bool create, struct errbuf *err)
{
	enum owner owner;
	enum fit result;
	int rc;

	/* Nobody asks how much memory SQLite has, and counting it takes a lock at every allocation. Heard before the first file
	 * only. */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	rc = sqlite3_open_v2(db->path, &db->conn, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (!db->conn) {
		err_set(err, "out of memory");
		return FIT_LATER;
	}
	sqlite3_extended_result_codes(db->conn, 1);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_handler(db->conn, busy, db);
	if (rc != SQLITE_OK)
		return open_fault(db, rc, "cannot open it", err);
	result = owner_check(db, create, &owner, err);
	if (result == FIT_GOOD)
		result = settings_make(db, err);
	if (result == FIT_GOOD && owner == OWNER_NOBODY) {
		rc = schema_make(db);
		db->made = rc == SQLITE_OK;
		result = rc == SQLITE_OK ? FIT_GOOD : open_fault(db, rc, "cannot make the tables", err);
	}
	return result;
}

static enum fit open_once(struct sqlite_db *db, bool create, struct errbuf *err)
{
	enum create what = !create ? CREATE_NOTHING : db->make_folders ? CREATE_FOLDERS : CREATE_STORE;
	enum fit result = sqlite_file_prepare(db->path, what, err);

	if (result == FIT_GOOD)
		result = connect(db, create, err);
	if (result == FIT_GOOD)
		result = schema_check(db, err);
	if (result == FIT_GOOD)
		result = statements_prepare(db, err);
	if (result == FIT_GOOD && !sqlite_file_ids(sqlite3_db_filename(db->conn, "main"), &db->files)) {
		err_set(err, "%s has just been taken away", db->path);
		result = FIT_LATER;
	}
	if (result == FIT_GOOD && db->writer)
		sqlite3_wal_hook(db->conn, wal_grew, db);
	return result;
}

enum fit sqlite_db_open(struct sqlite_db *db, bool create, int64_t busy_ms, struct errbuf *err)
{
	const struct timespec pause = {0, 2000000};

	db->busy_until_ms = clock_mono_ms() + busy_ms;
	machine_boot_id(db->boot_id);
	for (;;) {
		enum fit result = open_once(db, create, err);
		/* Where daemons start at once, the change to WAL is refused without asking the busy handler. */
		bool locked = result == FIT_LATER && db->conn && (sqlite3_errcode(db->conn) & 0xff) == SQLITE_BUSY;

		if (result == FIT_GOOD)
			return FIT_GOOD;
		sqlite_db_close(db);
		if (!locked || atomic_load(db->closing) || clock_mono_ms() >= db->busy_until_ms)
			return result;
		nanosleep(&pause, NULL);
	}
}

void sqlite_db_close(struct sqlite_db *db)
{
	size_t i;

	for (i = 0; i < SQL__COUNT; i++) {
		sqlite3_finalize(db->sql[i]);
		db->sql[i] = NULL;
	}
	sqlite3_close(db->conn);
	db->conn = NULL;
	db->wal_pages = 0;
}

/* ---- transactions ---- */

int sqlite_db_run(struct sqlite_db *db, enum statement statement)
{
	int rc = sqlite3_step(db->sql[statement]);
	int end = sqlite3_reset(db->sql[statement]);

	if (rc == SQLITE_DONE || rc == SQLITE_ROW)
		rc = SQLITE_OK;
	return rc == SQLITE_OK ? end : rc;
}

bool sqlite_db_rollback(struct sqlite_db *db)
{
	if (!sqlite3_get_autocommit(db->conn))
		sqlite3_exec(db->conn, "ROLLBACK", NULL, NULL, NULL);
	return sqlite3_get_autocommit(db->conn) != 0;
}

bool sqlite_db_in_place(const struct sqlite_db *db)
{
	return sqlite_file_same(sqlite3_db_filename(db->conn, "main"), &db->files);
}

/* ---- the clock ---- */

static bool clock_column(sqlite3_stmt *row, int column, int64_t *out)
{
	*out = sqlite3_column_int64(row, column);
	return sqlite3_column_type(row, column) == SQLITE_INTEGER && *out >= 0 && *out < TIME_SANE;
}

static bool clock_read(sqlite3_stmt *row, struct file_clock *clock)
{
	const char *boot_id = (const char *)sqlite3_column_text(row, 5);

	if (!boot_id || strlen(boot_id) >= sizeof(clock->boot_id))
		return false;
	snprintf(clock->boot_id, sizeof(clock->boot_id), "%s", boot_id);
	return clock_column(row, 2, &clock->base_wall_us) && clock_column(row, 3, &clock->base_boot_us) &&
	       clock_column(row, 4, &clock->seen_us);
}

bool sqlite_db_clock(struct sqlite_db *db, struct file_clock *clock, struct errbuf *err)
{
	sqlite3_stmt *row = db->sql[SQL_META_GET];
	int rc = sqlite3_step(row);
	bool good = false;

	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		sqlite_db_why(db, "cannot read the clock", err);
	else if (rc == SQLITE_DONE || !clock_read(row, clock))
		err_set(err, "%s: the row of meta is damaged", db->path);
	else if (sqlite3_column_int64(row, 1) > SCHEMA_VERSION) /* a newer daemon has just changed it */
		err_set(err, "%s is of a newer version now, which this claimd does not know", db->path);
	else
		good = true;
	sqlite3_reset(row);
	return good;
}

int64_t sqlite_db_now(const struct sqlite_db *db, struct file_clock *clock, bool *rebased)
{
	struct machine_time machine;

	machine_time_read(&machine);
	memcpy(machine.boot_id, db->boot_id, sizeof(machine.boot_id));
	*rebased = file_clock_rebase(clock, &machine);
	return file_clock_now(clock, &machine);
}

int sqlite_db_clock_set(struct sqlite_db *db, const struct file_clock *clock)
{
	sqlite3_stmt *set = db->sql[SQL_META_SET];
	int rc = sqlite3_bind_text(set, 1, clock->boot_id, -1, SQLITE_STATIC);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(set, 2, clock->base_wall_us);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(set, 3, clock->base_boot_us);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(set, 4, clock->seen_us);
	return rc == SQLITE_OK ? sqlite_db_run(db, SQL_META_SET) : rc;
}
