/*
 * sqlite_record.c - the row codec; see sqlite_record.h.
 *
 * Times and durations that never end are NULL in the file, as are octets that are absent: an empty result is an empty blob.
 *
 * Both threads read with it. What comes from the file is not trusted: another program may have written there. A row that does
 * not hold together is refused as a whole, since any guess about it could run somebody's work twice.
 */
#include "sqlite_record.h"

#include <string.h>

#include "../../proto/mem.h"

/* Numbered as bound; as selected they stand behind rowid, which gives the same numbers. */
enum column {
	COLUMN_KEY = 1,
	COLUMN_STATE,
	COLUMN_FENCE,
	COLUMN_ATTEMPTS,
	COLUMN_LAPSE,
	COLUMN_LEASE_UNTIL,
	COLUMN_TTL,
	COLUMN_KEEP_UNTIL,
	COLUMN_EARLIEST,
	COLUMN_CREATED,
	COLUMN_UPDATED,
	COLUMN_TOKEN,
	COLUMN_FP,
	COLUMN_OWNER,
	COLUMN_RESULT
};

/* The numbers are in files: they can never change. */
_Static_assert(STATE_CLAIMED == 1 && STATE_DONE == 2 && STATE_FAILED == 3 && STATE_UNKNOWN == 4 && STATE_FREE == 5,
	       "states");
_Static_assert(LAPSE_RECLAIM == 0 && LAPSE_UNKNOWN == 1, "lapses");

/* ---- reading ---- */

static bool read_number(sqlite3_stmt *row, enum column column, int64_t min, int64_t max, int64_t *out)
{
	if (sqlite3_column_type(row, (int)column) != SQLITE_INTEGER)
		return false;
	*out = sqlite3_column_int64(row, (int)column);
	return *out >= min && *out <= max;
}

static bool read_time(sqlite3_stmt *row, enum column column, int64_t *out)
{
	if (sqlite3_column_type(row, (int)column) != SQLITE_NULL)
		return read_number(row, column, 0, TIME_NEVER - 1, out);
	*out = TIME_NEVER;
	return true;
}

static bool read_octets(sqlite3_stmt *row, enum column column, struct slice *out)
{
	int type = sqlite3_column_type(row, (int)column);
	const void *data;

	*out = SLICE_ABSENT;
	if (type == SQLITE_NULL)
		return true;
	if (type != SQLITE_BLOB)
		return false;
	data = sqlite3_column_blob(row, (int)column); /* NULL for an empty one */
	out->len = (size_t)sqlite3_column_bytes(row, (int)column);
	out->data = data ? data : "";
	return data || out->len == 0;
}

static bool read_numbers(sqlite3_stmt *row, struct record *rec)
{
	int64_t state, lapse, attempts;
	bool good = read_number(row, COLUMN_STATE, STATE_CLAIMED, STATE_FREE, &state) &&
		    read_number(row, COLUMN_LAPSE, LAPSE_RECLAIM, LAPSE_UNKNOWN, &lapse) &&
		    read_number(row, COLUMN_ATTEMPTS, 1, INT32_MAX, &attempts) &&
		    read_number(row, COLUMN_FENCE, 1, PROTO_MAX_INTEGER, &rec->fence) &&
		    read_number(row, COLUMN_CREATED, 0, TIME_NEVER - 1, &rec->created) &&
		    read_number(row, COLUMN_UPDATED, 0, TIME_NEVER - 1, &rec->updated) &&
		    read_time(row, COLUMN_LEASE_UNTIL, &rec->lease_until) && read_time(row, COLUMN_TTL, &rec->ttl) &&
		    read_time(row, COLUMN_KEEP_UNTIL, &rec->keep_until) &&
		    read_time(row, COLUMN_EARLIEST, &rec->earliest);

	if (!good)
		return false;
	rec->state = (enum state)state;
	rec->lapse = (enum lapse)lapse;
	rec->attempts = (int32_t)attempts;
	return true;
}

bool sqlite_record_read(sqlite3_stmt *row, struct slice *key, struct record *rec)
{
	return read_numbers(row, rec) && read_octets(row, COLUMN_KEY, key) && key->data &&
	       read_octets(row, COLUMN_TOKEN, &rec->token) && read_octets(row, COLUMN_FP, &rec->fp) &&
	       read_octets(row, COLUMN_OWNER, &rec->owner) && read_octets(row, COLUMN_RESULT, &rec->result);
}

/* ---- keeping ---- */

static char *move(struct slice *text, char *to)
{
	if (!text->data)
		return to;
	memcpy(to, text->data, text->len);
	text->data = to;
	return to + text->len;
}

bool sqlite_record_keep(struct record *rec, void **mem)
{
	char *to = mem_alloc(rec->token.len + rec->fp.len + rec->owner.len + rec->result.len);

	if (!to)
		return false;
	*mem = to;
	to = move(&rec->token, to);
	to = move(&rec->fp, to);
	to = move(&rec->owner, to);
	move(&rec->result, to);
	return true;
}

/* ---- writing ---- */

int sqlite_bind_slice(sqlite3_stmt *statement, int at, struct slice text)
{
	if (!text.data)
		return sqlite3_bind_null(statement, at);
	return sqlite3_bind_blob64(statement, at, text.data, text.len, SQLITE_STATIC);
}

/* Binding to a statement of ours fails only for want of memory or a blob beyond all limits. */
static void bind_octets(sqlite3_stmt *statement, enum column column, struct slice text, int *rc)
{
	if (*rc == SQLITE_OK)
		*rc = sqlite_bind_slice(statement, (int)column, text);
}

static void bind_number(sqlite3_stmt *statement, enum column column, int64_t n, int *rc)
{
	if (*rc == SQLITE_OK)
		*rc = sqlite3_bind_int64(statement, (int)column, n);
}

static void bind_time(sqlite3_stmt *statement, enum column column, int64_t n, int *rc)
{
	if (n == TIME_NEVER)
		bind_octets(statement, column, SLICE_ABSENT, rc);
	else
		bind_number(statement, column, n, rc);
}

int sqlite_record_bind(sqlite3_stmt *statement, struct slice key, const struct record *rec)
{
	int rc = SQLITE_OK;

	bind_octets(statement, COLUMN_KEY, key, &rc);
	bind_number(statement, COLUMN_STATE, rec->state, &rc);
	bind_number(statement, COLUMN_FENCE, rec->fence, &rc);
	bind_number(statement, COLUMN_ATTEMPTS, rec->attempts, &rc);
	bind_number(statement, COLUMN_LAPSE, rec->lapse, &rc);
	bind_time(statement, COLUMN_LEASE_UNTIL, rec->lease_until, &rc);
	bind_time(statement, COLUMN_TTL, rec->ttl, &rc);
	bind_time(statement, COLUMN_KEEP_UNTIL, rec->keep_until, &rc);
	bind_time(statement, COLUMN_EARLIEST, rec->earliest, &rc);
	bind_number(statement, COLUMN_CREATED, rec->created, &rc);
	bind_number(statement, COLUMN_UPDATED, rec->updated, &rc);
	bind_octets(statement, COLUMN_TOKEN, rec->token, &rc);
	bind_octets(statement, COLUMN_FP, rec->fp, &rc);
	bind_octets(statement, COLUMN_OWNER, rec->owner, &rc);
	bind_octets(statement, COLUMN_RESULT, rec->result, &rc);
	return rc;
}
