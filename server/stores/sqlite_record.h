/*
 * sqlite_record.h - a record as a row of the table, and back.
 */
#ifndef CLAIMD_STORE_SQLITE_RECORD_H
#define CLAIMD_STORE_SQLITE_RECORD_H

#include <sqlite3.h>

#include "../record.h"

/* The columns, in the order in which they are bound and read. */
#define RECORD_COLUMNS_SMALL                                                                                        \
	"key, state, fence, attempts, lapse, lease_until, ttl, keep_until, earliest, created, updated, token, fp, " \
	"owner, "
#define RECORD_COLUMNS RECORD_COLUMNS_SMALL "result"
/* Without reading the result, which may be long. */
#define RECORD_COLUMNS_BRIEF RECORD_COLUMNS_SMALL "NULL"
#define RECORD_VALUES "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15"
#define RECORD_SET                                                                                                    \
	"state = ?2, fence = ?3, attempts = ?4, lapse = ?5, lease_until = ?6, ttl = ?7, keep_until = ?8, earliest = " \
	"?9, "                                                                                                        \
	"created = ?10, updated = ?11, token = ?12, fp = ?13, owner = ?14, result = ?15"

/* The row of the statement, which selects rowid and then RECORD_COLUMNS (or _BRIEF). The slices point into SQLite's
 * memory until the next step. False: it is no record: a wrong type, or a value that none of ours would have. */
bool sqlite_record_read(sqlite3_stmt *row, struct slice *key, struct record *rec);
/* Copies what the slices point to into one block, *mem, from mem_alloc. False: no memory. */
bool sqlite_record_keep(struct record *rec, void **mem);
/* Binds ?1 to ?15; key and slices must stay until the statement has run. */
int sqlite_record_bind(sqlite3_stmt *statement, struct slice key, const struct record *rec);
/* Binds octets; absent is NULL. */
int sqlite_bind_slice(sqlite3_stmt *statement, int at, struct slice text);

#endif
