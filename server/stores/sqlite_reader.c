/*
 * sqlite_reader.c - the thread that reads: STATUS and CHECK, LIST, the walks of COUNT and SWEEP, and what keeps the file small.
 *
 * sqlite.c starts it. What was committed before an op was queued is seen by it, since each turn reads in a new
 * transaction. First come the ops on single records, all in one transaction, then pages, then one slice of a walk,
 * so that a walk over millions of rows holds up nobody for long.
 *
 * A walk goes by rowid. SWEEP, and in idle moments a walk of the thread's own, collect rows that are gone and hand
 * them to the writer, which looks again before it deletes. The WAL is copied to the file from here, so that no
 * commit has to wait for that; when nothing has been written for a while it is emptied.
 *
 * When the file cannot be read the ops are refused with the reason, and the next ones try again.
 */
#include "../clock.h"
#include "scan.h"
#include "sqlite.h"
#include "sqlite_page.h"
#include "sqlite_record.h"

#define SLICE_ROWS 1000
#define OPEN_WAIT_MS 500
/* Nothing was written for so long: the WAL can be emptied. */
#define QUIET_MS 1000
/* From the end of one walk for what is gone to the beginning of the next, and between its slices where it finds nothing. */
#define TIDY_REST_MS 15000
#define TIDY_STEP_MS 1000

struct walk {
	struct op *op; /* NULL: our own */
	int64_t rowid; /* the last one that was looked at */
	bool at_end;
};

struct sqlite_reader {
	struct sqlite *s;
	struct sqlite_db *db;
	struct op_list walks; /* COUNT and SWEEP that wait for their turn */
	struct walk walk;     /* one of them */
	struct walk tidy;     /* our own */
	struct walk
	    *asking; /* which of the two waits for the writer; then neither goes on, since there is one s->reap */
	int64_t tidy_at_ms;
	int64_t quiet_at_ms; /* when to look whether something was written */
	uint64_t writes;     /* s->writes at the last look */
	uint64_t emptied;    /* s->writes when the WAL was last emptied */
	struct op_list done;
};

/* ---- the file ---- */

static bool be_open(struct sqlite_reader *r, struct errbuf *why)
{
	r->db->busy_until_ms = clock_mono_ms() + OPEN_WAIT_MS;
	if (r->db->conn && !sqlite_db_in_place(r->db))
		sqlite_db_close(r->db);
	return r->db->conn || sqlite_db_open(r->db, false, OPEN_WAIT_MS, why) == FIT_GOOD;
}

/* Begins to read, at the newest commit; *now is the time at which it is looked at. */
static bool begin(struct sqlite_reader *r, int64_t *now, struct errbuf *why)
{
	struct file_clock clock;
	bool rebased;

	if (!be_open(r, why))
		return false;
	if (sqlite_db_run(r->db, SQL_BEGIN_READ) != SQLITE_OK) {
		sqlite_db_why(r->db, "cannot begin to read", why);
		goto fail_open;
	}
	if (!sqlite_db_clock(r->db, &clock, why))
		goto fail_open;
	*now = sqlite_db_now(r->db, &clock, &rebased);
	return true;

fail_open:
	sqlite_db_close(r->db);
	return false;
}

/* rc: of what was done. False: it was not read, and *why says why. */
static bool end(struct sqlite_reader *r, int rc, struct errbuf *why)
{
	if (rc == SQLITE_OK)
		rc = sqlite_db_run(r->db, SQL_COMMIT);
	if (rc == SQLITE_OK)
		return true;
	sqlite_db_why(r->db, "cannot read", why);
	sqlite_db_close(r->db);
	return false;
}

static void answer(struct sqlite_reader *r, struct op *op)
{
	op_list_push(&r->done, op);
}

static void refuse(struct sqlite_reader *r, struct op *op, const struct errbuf *why)
{
	op_refuse(op, ERR_STORE, "%s", why->text);
	answer(r, op);
}

/* ---- STATUS and CHECK ---- */

static void record_answer(struct op *op, sqlite3_stmt *row, int64_t now)
{
	struct record rec;
	struct slice key;

	if (!sqlite_record_read(row, &key, &rec)) {
		op_refuse(op, ERR_STORE, "the record of this key is damaged; FORGET with force clears it");
		op->unreadable = true;
	} else if (!sqlite_record_keep(&rec, &op->store_mem)) {
		op_refuse(op, ERR_BUSY, "out of memory");
	} else {
		op_decide(op, &rec, now);
	}
}

static int record_look(struct sqlite_db *db, struct op *op, int64_t now)
{
	sqlite3_stmt *get = db->sql[SQL_GET];
	struct record absent = {.state = STATE_ABSENT};
	int rc = sqlite_bind_slice(get, 1, op->key);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(get);
	if (rc == SQLITE_ROW)
		record_answer(op, get, now);
	else if (rc == SQLITE_DONE)
		op_decide(op, &absent, now);
	sqlite3_reset(get);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* All in one transaction: after a failure all are refused. */
static void records_look(struct sqlite_reader *r, struct op_list *ops)
{
	struct errbuf why;
	struct op *op;
	int64_t now;
	int rc = SQLITE_OK;
	bool good = begin(r, &now, &why);

	for (op = ops->first; good && op && rc == SQLITE_OK; op = op->store_next)
		rc = record_look(r->db, op, now);
	good = good && end(r, rc, &why);
	while ((op = op_list_pop(ops))) {
		if (good)
			answer(r, op);
		else
			refuse(r, op, &why);
	}
}

/* ---- LIST ---- */

static void page_look(struct sqlite_reader *r, struct op *op)
{
	struct errbuf why;
	int64_t now;

	if (begin(r, &now, &why) && end(r, sqlite_page_make(r->db, op, now), &why))
		answer(r, op);
	else
		refuse(r, op, &why);
}

/* ---- walks ---- */

/* What this walk does with a row. False: the walk ends in front of it. */
static bool walk_visit(struct walk *walk, struct reap *reap, struct slice key, const struct record *rec, int64_t now)
{
	struct op *op = walk->op;

	if (op && !slice_starts(key, op->scan.prefix))
		return true;
	if (op && op->kind == OP_COUNT) {
		scan_count(&op->counts, rec, now);
		return true;
	}
	if (!record_sweepable(rec, now))
		return true;
	if (op && op->deleted + (int64_t)reap->count >= (int64_t)op->scan.limit) {
		op->more = true;
		return false;
	}
	if (op && op->scan.dry)
		op->deleted++;
	else
		reap->rowid[reap->count++] = walk->rowid;
	return true;
}

static int walk_rows(struct sqlite_reader *r, struct walk *walk, int64_t now)
{
	sqlite3_stmt *rows = r->db->sql[SQL_WALK];
	struct reap *reap = &r->s->reap;
	int64_t left = SLICE_ROWS;
	bool on = true;
	int rc = sqlite3_bind_int64(rows, 1, walk->rowid);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(rows, 2, left);
	if (rc != SQLITE_OK)
		return rc;
	while (on && reap->count < REAP_MAX && (rc = sqlite3_step(rows)) == SQLITE_ROW) {
		struct record rec;
		struct slice key;

		left--;
		walk->rowid = sqlite3_column_int64(rows, 0);
		if (sqlite_record_read(rows, &key, &rec)) /* others wait for FORGET force */
			on = walk_visit(walk, reap, key, &rec, now);
	}
	sqlite3_reset(rows);
	walk->at_end = !on || (rc == SQLITE_DONE && left > 0);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Asks the writer to delete what was found. */
static void reap_ask(struct sqlite_reader *r, struct walk *walk)
{
	r->asking = walk;
	uv_mutex_lock(&r->s->lock);
	r->s->reap.step = REAP_ASKED;
	uv_cond_signal(&r->s->wake[SIDE_WRITER]);
	uv_mutex_unlock(&r->s->lock);
}

static void walk_end(struct sqlite_reader *r, struct walk *walk)
{
	if (walk->op) {
		answer(r, walk->op);
	} else {
		r->tidy_at_ms = clock_mono_ms() + TIDY_REST_MS;
	}
	*walk = (struct walk){0};
}

static void walk_go_on(struct sqlite_reader *r, struct walk *walk, int64_t step_ms)
{
	if (walk->at_end && walk->op)
		walk->op->result = OP_APPLIED;
	if (walk->at_end)
		walk_end(r, walk);
	else if (!walk->op)
		r->tidy_at_ms = clock_mono_ms() + step_ms;
}

static void walk_fail(struct sqlite_reader *r, struct walk *walk, enum op_result result, const struct errbuf *why)
{
	if (walk->op && result == OP_UNCERTAIN)
		op_doubt(walk->op, ERR_TIMEOUT, "%s", why->text);
	else if (walk->op)
		op_refuse(walk->op, ERR_STORE, "%s", why->text);
	walk_end(r, walk);
}

static void walk_slice(struct sqlite_reader *r, struct walk *walk)
{
	struct errbuf why;
	int64_t now;

	r->s->reap.count = 0;
	if (!begin(r, &now, &why) || !end(r, walk_rows(r, walk, now), &why)) {
		walk_fail(r, walk, OP_REFUSED, &why);
		return;
	}
	if (walk->op)
		walk->op->now = now;
	if (r->s->reap.count > 0)
		reap_ask(r, walk);
	else
		walk_go_on(r, walk, TIDY_STEP_MS);
}

/* The writer has answered. */
static void reap_answered(struct sqlite_reader *r)
{
	struct reap *reap = &r->s->reap;
	struct walk *walk = r->asking;

	r->asking = NULL;
	if (reap->result != OP_APPLIED) {
		walk_fail(r, walk, reap->result, &reap->why);
		return;
	}
	if (walk->op)
		walk->op->deleted += reap->deleted;
	walk_go_on(r, walk, 0); /* where there was something there may be more */
}

/* ---- the WAL ---- */

static void checkpoint(struct sqlite_reader *r, int mode, uint64_t writes)
{
	struct errbuf ignored;

	if (!be_open(r, &ignored))
		return;
	r->db->busy_until_ms = 0; /* another time */
	if (sqlite3_wal_checkpoint_v2(r->db->conn, "main", mode, NULL, NULL) == SQLITE_OK &&
	    mode == SQLITE_CHECKPOINT_TRUNCATE)
		r->emptied = writes;
}

static void wal_tend(struct sqlite_reader *r)
{
	struct sqlite *s = r->s;
	int64_t now_ms = clock_mono_ms();
	uint64_t writes;
	bool grown;

	uv_mutex_lock(&s->lock);
	writes = s->writes;
	grown = s->wal_pages >= s->copy_at;
	if (grown)
		s->copy_at = s->wal_pages + COPY_PAGES;
	uv_mutex_unlock(&s->lock);
	if (grown) {
		checkpoint(r, SQLITE_CHECKPOINT_PASSIVE, writes);
		uv_mutex_lock(&s->lock);
		s->finish_checkpoint = true;
		uv_mutex_unlock(&s->lock);
	}
	if (now_ms < r->quiet_at_ms)
		return;
	if (writes == r->writes && writes != r->emptied)
		checkpoint(r, SQLITE_CHECKPOINT_TRUNCATE, writes);
	r->writes = writes;
	r->quiet_at_ms = now_ms + QUIET_MS;
}

/* ---- the thread ---- */

/* Under the lock: when there is something to do even if nobody asks; 0 is at once. */
static int64_t idle_ms(const struct sqlite_reader *r)
{
	const struct sqlite *s = r->s;
	int64_t at_ms = r->asking ? INT64_MAX : r->tidy_at_ms;
	int64_t now_ms = clock_mono_ms();

	if (s->queue[SIDE_READER].first || s->reap.step == REAP_DONE || s->wal_pages >= s->copy_at ||
	    atomic_load(&s->closing) || ((r->walk.op || r->walks.first) && !r->asking))
		return 0;
	if (s->writes != r->emptied && r->quiet_at_ms < at_ms)
		at_ms = r->quiet_at_ms;
	return at_ms > now_ms ? at_ms - now_ms : 0;
}

/* Waits for something to do. False: the store is being closed. */
static bool take(struct sqlite_reader *r, struct op_list *ops, bool *reaped)
{
	struct sqlite *s = r->s;
	int64_t wait_ms;

	uv_mutex_lock(&s->lock);
	while ((wait_ms = idle_ms(r)) > 0) {
		if (wait_ms > TIDY_REST_MS)
			wait_ms = TIDY_REST_MS;
		uv_cond_timedwait(&s->wake[SIDE_READER], &s->lock, (uint64_t)wait_ms * 1000000);
	}
	op_list_join(ops, &s->queue[SIDE_READER]);
	*reaped = s->reap.step == REAP_DONE;
	if (*reaped)
		s->reap.step = REAP_NONE;
	uv_mutex_unlock(&s->lock);
	return !atomic_load(&s->closing);
}

static void ops_look(struct sqlite_reader *r, struct op_list *ops)
{
	struct op_list records, pages;
	struct op *op;

	op_list_init(&records);
	op_list_init(&pages);
	while ((op = op_list_pop(ops))) {
		if (op->kind == OP_RECORD)
			op_list_push(&records, op);
		else if (op->kind == OP_LIST)
			op_list_push(&pages, op);
		else
			op_list_push(&r->walks, op);
	}
	if (records.first)
		records_look(r, &records);
	sqlite_answer(r->s, &r->done);
	while ((op = op_list_pop(&pages)))
		page_look(r, op);
}

static void walks_step(struct sqlite_reader *r)
{
	if (!r->walk.op)
		r->walk.op = op_list_pop(&r->walks);
	if (r->asking)
		return;
	if (r->walk.op)
		walk_slice(r, &r->walk);
	else if (clock_mono_ms() >= r->tidy_at_ms)
		walk_slice(r, &r->tidy);
}

/* The end: what was not answered yet. */
static void refuse_all(struct sqlite_reader *r, struct op_list *ops)
{
	struct errbuf why;
	struct op *op;

	err_set(&why, "the store is being closed");
	op_list_join(ops, &r->walks);
	if (r->walk.op)
		op_list_push(ops, r->walk.op);
	while ((op = op_list_pop(ops)))
		refuse(r, op, &why);
	sqlite_answer(r->s, &r->done);
}

void sqlite_reader_main(void *arg)
{
	struct sqlite *s = arg;
	struct sqlite_reader r = {.s = s, .db = &s->db[SIDE_READER]};
	struct op_list ops;
	bool reaped;

	op_list_init(&r.walks);
	op_list_init(&r.done);
	op_list_init(&ops);
	r.tidy_at_ms = clock_mono_ms() + TIDY_STEP_MS;
	while (take(&r, &ops, &reaped)) {
		if (reaped)
			reap_answered(&r);
		ops_look(&r, &ops);
		walks_step(&r);
		sqlite_answer(s, &r.done);
		wal_tend(&r);
	}
	refuse_all(&r, &ops);
	sqlite_thread_end(s);
}
