/*
 * sqlite_page.h - LIST from an SQLite file.
 */
#ifndef CLAIMD_STORE_SQLITE_PAGE_H
#define CLAIMD_STORE_SQLITE_PAGE_H

#include "../op.h"
#include "sqlite_db.h"

/* Inside a transaction that reads: makes op->page, or refuses the op for want of memory. Returns SQLITE_OK, or what went
 * wrong: then the op is not answered. */
int sqlite_page_make(struct sqlite_db *db, struct op *op, int64_t now);

#endif
