/*
 * sqlite_db.h - one connection to the file of an SQLite store: opened and checked, with its statements ready.
 */
#ifndef CLAIMD_STORE_SQLITE_DB_H
#define CLAIMD_STORE_SQLITE_DB_H

#include <sqlite3.h>
#include <stdatomic.h>

#include "sqlite_clock.h"
#include "sqlite_file.h"

enum statement {
	SQL_BEGIN_READ,
	SQL_BEGIN_WRITE,
	SQL_COMMIT,
	SQL_META_GET,
	SQL_META_SET,
	SQL_GET,
	SQL_GET_ROW,
	SQL_INSERT,
	SQL_UPDATE,
	SQL_DELETE,
	SQL_PAGE,
	SQL_UNKNOWN,
	SQL_WALK,
	SQL__COUNT
};

struct sqlite_db {
	sqlite3 *conn; /* NULL: not open */
	sqlite3_stmt *sql[SQL__COUNT];
	bool writer;       /* else it only reads, and may checkpoint */
	bool make_folders; /* all that are missing above the file */
	bool made;         /* opening it has made a new and empty store */
	const char *path;
	struct file_ids files;
	int64_t busy_until_ms;      /* how long to wait for somebody else's lock; monotonic */
	const atomic_bool *closing; /* then a wait ends at once */
	char boot_id[BOOT_ID_MAX];
	int wal_pages; /* the writer: length of the WAL after the last commit */
};

/* Opens the file and checks everything. create: a missing or empty one is made a store (the writer). On anything but FIT_GOOD
 * the connection is closed and *err says why. */
enum fit sqlite_db_open(struct sqlite_db *db, bool create, int64_t busy_ms, struct errbuf *err);
void sqlite_db_close(struct sqlite_db *db);

/* What the last failure was, with a word in front. */
void sqlite_db_why(struct sqlite_db *db, const char *what, struct errbuf *err);
/* Runs a statement that gives no row, and resets it. Returns SQLITE_OK or what went wrong, extended. */
int sqlite_db_run(struct sqlite_db *db, enum statement statement);
/* Ends a transaction without a change. False: it may still be open; the connection must be closed. */
bool sqlite_db_rollback(struct sqlite_db *db);
/* Its names still lead to the files that are open; else writing would go where nobody finds it. */
bool sqlite_db_in_place(const struct sqlite_db *db);

/* Inside a transaction: the clock of the file. False: *err says why. */
bool sqlite_db_clock(struct sqlite_db *db, struct file_clock *clock, struct errbuf *err);
/* The time now by that clock, which is made one of this boot where it is not (*rebased: then it is worth to be written). */
int64_t sqlite_db_now(const struct sqlite_db *db, struct file_clock *clock, bool *rebased);
/* Inside a transaction that writes. */
int sqlite_db_clock_set(struct sqlite_db *db, const struct file_clock *clock);

#endif
