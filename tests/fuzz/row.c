/*
 * row.c - the record codec of the SQLite store: rows of any types and values, and what the table makes of the good ones.
 *
 * The input is a line for each column, a letter for its type and the value, and then one with seven numbers for a call:
 *
 *     bjob:7          key: blob; also t text, i integer, r real, n null
 *     i1              state, and so on; columns that are missing are null
 *     ...
 *     0 5 9 9 0 0 7   verb, fence, lease, ttl, atleast, flags, now
 *
 * A row is read if and only if it is as `rules` say; what was read is written as the same row; and a record that record_apply
 * wants to be written can be read again, has a fence no lower, and one that is higher where the key was won.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "../../proto/mem.h"
#include "../../server/stores/sqlite_record.h"
#include "fuzz.h"

#define COLUMNS 15
#define LONGEST (INT64_MAX - 1)

/* What a row of ours can have, column by column as in RECORD_COLUMNS. */
static const struct rule {
	int type;
	bool nullable;
	int64_t min, max;
} rules[COLUMNS] = {
    {SQLITE_BLOB, false, 0, 0},                         /* key */
    {SQLITE_INTEGER, false, 1, 5},                      /* state */
    {SQLITE_INTEGER, false, 1, (INT64_C(1) << 53) - 1}, /* fence */
    {SQLITE_INTEGER, false, 1, INT32_MAX},              /* attempts */
    {SQLITE_INTEGER, false, 0, 1},                      /* lapse */
    {SQLITE_INTEGER, true, 0, LONGEST},                 /* lease_until */
    {SQLITE_INTEGER, true, 0, LONGEST},                 /* ttl */
    {SQLITE_INTEGER, true, 0, LONGEST},                 /* keep_until */
    {SQLITE_INTEGER, true, 0, LONGEST},                 /* earliest */
    {SQLITE_INTEGER, false, 0, LONGEST},                /* created */
    {SQLITE_INTEGER, false, 0, LONGEST},                /* updated */
    {SQLITE_BLOB, true, 0, 0},
    {SQLITE_BLOB, true, 0, 0}, /* token, fp */
    {SQLITE_BLOB, true, 0, 0},
    {SQLITE_BLOB, true, 0, 0}, /* owner, result */
};

/* A statement that gives back what is bound to it, as a row of the table. */
static sqlite3_stmt *prepare(void)
{
	static sqlite3 *db;
	sqlite3_stmt *statement;

	must(db != NULL || sqlite3_open(":memory:", &db) == SQLITE_OK);
	must(sqlite3_prepare_v2(db, "SELECT 0, " RECORD_VALUES, -1, &statement, NULL) == SQLITE_OK);
	return statement;
}

static void bind(sqlite3_stmt *row, int at, struct slice text)
{
	char *digits = mem_copy(text.data + 1, text.len - 1);
	int len = (int)text.len - 1;

	must(digits != NULL);
	switch (text.data[0]) {
	case 'i':
		must(sqlite3_bind_int64(row, at, strtoll(digits, NULL, 10)) == SQLITE_OK);
		break;
	case 'r':
		must(sqlite3_bind_double(row, at, strtod(digits, NULL)) == SQLITE_OK);
		break;
	case 't':
		must(sqlite3_bind_text(row, at, text.data + 1, len, SQLITE_TRANSIENT) == SQLITE_OK);
		break;
	case 'b':
		must(sqlite3_bind_blob(row, at, text.data + 1, len, SQLITE_TRANSIENT) == SQLITE_OK);
		break;
	default: /* null */
		break;
	}
	mem_free(digits);
}

static bool as_ruled(sqlite3_stmt *row)
{
	for (int i = 0; i < COLUMNS; i++) {
		int type = sqlite3_column_type(row, i + 1);
		int64_t n = type == SQLITE_INTEGER ? sqlite3_column_int64(row, i + 1) : rules[i].min;

		if (type == SQLITE_NULL ? !rules[i].nullable
					: type != rules[i].type || n < rules[i].min || n > rules[i].max)
			return false;
	}
	return true;
}

static void same_column(sqlite3_stmt *a, sqlite3_stmt *b, int at)
{
	int type = sqlite3_column_type(a, at), len = sqlite3_column_bytes(a, at);

	must(sqlite3_column_type(b, at) == type);
	if (type == SQLITE_INTEGER)
		must(sqlite3_column_int64(a, at) == sqlite3_column_int64(b, at));
	else if (type == SQLITE_BLOB && len > 0)
		must(sqlite3_column_bytes(b, at) == len &&
		     memcmp(sqlite3_column_blob(a, at), sqlite3_column_blob(b, at), (size_t)len) == 0);
	else
		must(sqlite3_column_bytes(b, at) == len);
}

static bool same_octets(struct slice a, struct slice b)
{
	return (a.data == NULL) == (b.data == NULL) && slice_equal(a, b);
}

static bool same_record(const struct record *a, const struct record *b)
{
	return a->state == b->state && a->lapse == b->lapse && a->attempts == b->attempts && a->fence == b->fence &&
	       a->lease_until == b->lease_until && a->ttl == b->ttl && a->keep_until == b->keep_until &&
	       a->earliest == b->earliest && a->created == b->created && a->updated == b->updated &&
	       same_octets(a->fp, b->fp) && same_octets(a->token, b->token) && same_octets(a->owner, b->owner) &&
	       same_octets(a->result, b->result);
}

/* Written and read; the row, to be finalized. */
static sqlite3_stmt *written(struct slice key, const struct record *rec)
{
	sqlite3_stmt *row = prepare();
	struct slice key_again;
	struct record again;

	must(sqlite_record_bind(row, key, rec) == SQLITE_OK);
	must(sqlite3_step(row) == SQLITE_ROW);
	must(sqlite_record_read(row, &key_again, &again));
	must(same_octets(key_again, key) && same_record(&again, rec));
	return row;
}

static void check_keeping(const struct record *rec)
{
	struct record kept = *rec;
	void *mem;

	mem_fail_at(1, 0);
	must(!sqlite_record_keep(&kept, &mem) && same_record(&kept, rec));
	mem_fail_at(0, 0);
	must(sqlite_record_keep(&kept, &mem) && same_record(&kept, rec));
	must(rec->result.len == 0 || kept.result.data != rec->result.data);
	mem_free(mem);
}

/* A duration or a time; what stands there may be any number. */
static int64_t time_of(char **at, int64_t max)
{
	int64_t n = strtoll(*at, at, 10);

	return n < 0 ? 0 : n > max ? max : n;
}

static void check_table(struct slice key, const struct record *before, struct slice line)
{
	char *text = mem_copy(line.data, line.len), *at = text;
	struct record rec = *before;
	struct ask ask = {.fp = key, .token = before->fp, .owner = SLICE_OF(""), .result = before->token};
	struct verdict v;
	int64_t flags;

	must(text != NULL);
	ask.verb = (enum ask_verb)(strtoull(at, &at, 10) % (ASK_FORGET + 1));
	ask.fence = strtoll(at, &at, 10);
	ask.lease = time_of(&at, TIME_NEVER);
	ask.ttl = time_of(&at, TIME_NEVER);
	ask.atleast = time_of(&at, TIME_NEVER);
	flags = strtoll(at, &at, 10);
	ask.lapse = flags & 1 ? LAPSE_UNKNOWN : LAPSE_RECLAIM;
	ask.force = flags & 2;
	ask.undo = flags & 4;
	ask.as = flags & 8 ? STATE_FREE : flags & 16 ? STATE_FAILED : STATE_DONE;
	if (flags & 32)
		ask.token = before->token;
	v = record_apply(&rec, &ask, time_of(&at, TIME_NEVER - 1));
	must(v.word != WORD_NONE && (v.word != WORD_ERR || v.why != NULL));
	if (v.effect == EFFECT_WRITE) {
		must(rec.fence >= before->fence);
		sqlite3_finalize(written(key, &rec));
	}
	if (v.word == WORD_WON && v.was != WAS_OWN)
		must(v.effect == EFFECT_WRITE && rec.state == STATE_CLAIMED && rec.fence > before->fence);
	mem_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = {(const char *)data, size}, key;
	sqlite3_stmt *row = prepare(), *again;
	struct record rec;
	bool good;

	for (int at = 1; at <= COLUMNS; at++) {
		struct slice line = slice_cut(&rest, '\n');

		if (line.len > 0)
			bind(row, at, line);
	}
	must(sqlite3_step(row) == SQLITE_ROW);
	good = sqlite_record_read(row, &key, &rec);
	must(good == as_ruled(row));
	if (good) {
		again = written(key, &rec);
		for (int at = 1; at <= COLUMNS; at++)
			same_column(row, again, at);
		sqlite3_finalize(again);
		check_keeping(&rec);
		check_table(key, &rec, slice_cut(&rest, '\n'));
	}
	sqlite3_finalize(row);
	return 0;
}
