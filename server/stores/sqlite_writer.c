/*
 * sqlite_writer.c - the thread that writes: one transaction for all that gathered while the last one was committing.
 *
 * sqlite.c starts it. It takes ops from the queue, sorts them by key (rising keys touch fewer pages), takes the lock of the
 * file, reads the time, lets the table decide op by op, commits, and only then hands the answers back. Where nothing changed
 * the commit costs no sync. Rows that the reader found to be gone are deleted in the same transactions.
 *
 * Failures. Before COMMIT: everything is rolled back, and all ops of the batch are REFUSED. COMMIT itself: when a
 * page could not be written (the disk is full, or read-only), or somebody had a lock, it was rolled back. After any
 * other error the transaction may be whole in the WAL although SQLite took it back, and come to life when the WAL is
 * recovered after a crash. A later commit overwrites that place, so one is tried at once; when it works the batch is
 * REFUSED after all, else what wrote is UNCERTAIN.
 *
 * While it is down, because of one of these or since the file cannot be opened, ops are refused with the reason. It
 * tries again with the next ops, and by itself with an empty transaction, at growing distances. A file that was
 * taken away is never made again while this process runs: an empty store would let all work be done twice.
 */
#include <stdlib.h>

#include "../clock.h"
#include "sqlite.h"
#include "sqlite_record.h"

#define BATCH_MAX 512
#define RETRY_MIN_MS 50
#define RETRY_MAX_MS 2000

struct entry {
	struct op *op;
	size_t at; /* its place in the queue */
	bool wrote;
};

struct batch {
	struct entry entry[BATCH_MAX];
	size_t count;
	struct file_clock clock;
	int64_t now;
	bool changed; /* there is something to commit */
	bool reaping; /* s->reap is to be done with it */
	bool probe;   /* nobody asked; does it work again? */
};

enum outcome { COMMITTED, ROLLED_BACK, IN_DOUBT };

struct sqlite_writer {
	struct sqlite *s;
	struct sqlite_db *db;
	struct batch batch;
	bool was_open; /* once: the file is not made again */
	bool down;
	int64_t retry_ms, retry_at_ms;
	struct errbuf why; /* it is down */
	int fault;         /* what SQLite said where the transaction failed */
};

/* ---- one op ---- */

static struct errbuf no_memory(void)
{
	struct errbuf err;

	err_set(&err, "out of memory");
	return err;
}

/* The row is there and makes no sense. Only FORGET force may touch it, and no fence can be compared with it. */
static bool clears_unreadable(const struct op *op)
{
	return op->ask.verb == ASK_FORGET && op->ask.force && !op->ask.fence;
}

static void answer_unreadable(struct op *op, int64_t now)
{
	op->now = now;
	if (clears_unreadable(op)) {
		op->result = OP_APPLIED;
		op->verdict = (struct verdict){.word = WORD_OK, .effect = EFFECT_DELETE};
		op->record = (struct record){.state = STATE_ABSENT};
		return;
	}
	op_refuse(op, ERR_STORE, "the record of this key is damaged; FORGET with force clears it");
	op->unreadable = true;
}

/* Finds the record and lets the table decide; *rowid is 0 where there is no row. */
static int op_look(struct sqlite_db *db, struct op *op, int64_t now, int64_t *rowid)
{
	sqlite3_stmt *get = db->sql[SQL_GET];
	struct record rec = {.state = STATE_ABSENT};
	struct slice key;
	int rc = sqlite_bind_slice(get, 1, op->key);

	*rowid = 0;
	if (rc == SQLITE_OK)
		rc = sqlite3_step(get);
	if (rc == SQLITE_DONE) {
		op_decide(op, &rec, now);
	} else if (rc == SQLITE_ROW) {
		*rowid = sqlite3_column_int64(get, 0);
		if (!sqlite_record_read(get, &key, &rec))
			answer_unreadable(op, now);
		else if (!sqlite_record_keep(&rec, &op->store_mem))
			op_refuse(op, ERR_BUSY, "%s", no_memory().text);
		else
			op_decide(op, &rec, now);
	}
	sqlite3_reset(get);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int op_write(struct sqlite_db *db, struct op *op, int64_t rowid)
{
	enum statement which = rowid ? SQL_UPDATE : SQL_INSERT;
	int rc = sqlite_record_bind(db->sql[which], op->key, &op->record);

	if (rc == SQLITE_OK && rowid)
		rc = sqlite3_bind_int64(db->sql[which], 16, rowid);
	return rc == SQLITE_OK ? sqlite_db_run(db, which) : rc;
}

static int row_delete(struct sqlite_db *db, int64_t rowid)
{
	int rc = sqlite3_bind_int64(db->sql[SQL_DELETE], 1, rowid);

	return rc == SQLITE_OK ? sqlite_db_run(db, SQL_DELETE) : rc;
}

static int entry_run(struct sqlite_writer *w, struct entry *entry)
{
	struct op *op = entry->op;
	int64_t rowid;
	int rc = op_look(w->db, op, w->batch.now, &rowid);

	if (rc != SQLITE_OK)
		return rc;
	if (op->verdict.effect == EFFECT_NONE)
		return SQLITE_OK;
	entry->wrote = w->batch.changed = true;
	return op->verdict.effect == EFFECT_DELETE ? row_delete(w->db, rowid) : op_write(w->db, op, rowid);
}

/* ---- what is gone ---- */

/* Time has passed since the reader looked, and the row may have become another. */
static int reap_one(struct sqlite_writer *w, int64_t rowid, int64_t *deleted)
{
	sqlite3_stmt *get = w->db->sql[SQL_GET_ROW];
	struct record rec;
	struct slice key;
	bool gone;
	int rc = sqlite3_bind_int64(get, 1, rowid);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(get);
	gone = rc == SQLITE_ROW && sqlite_record_read(get, &key, &rec) && record_sweepable(&rec, w->batch.now);
	sqlite3_reset(get);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return rc;
	if (!gone)
		return SQLITE_OK;
	w->batch.changed = true;
	(*deleted)++;
	return row_delete(w->db, rowid);
}

/* The reader does not touch s->reap while it is asked for. */
static int reap_run(struct sqlite_writer *w)
{
	struct reap *reap = &w->s->reap;
	int rc = SQLITE_OK;
	size_t i;

	reap->deleted = 0;
	for (i = 0; i < reap->count && rc == SQLITE_OK; i++)
		rc = reap_one(w, reap->rowid[i], &reap->deleted);
	return rc;
}

/* ---- one transaction ---- */

static bool begin(struct sqlite_writer *w, struct errbuf *why)
{
	w->db->busy_until_ms = clock_mono_ms() + w->s->timeout_ms;
	w->fault = sqlite_db_run(w->db, SQL_BEGIN_WRITE);
	if (w->fault == SQLITE_OK)
		return true;
	sqlite_db_why(w->db, "cannot begin to write", why);
	return false;
}

/* All up to COMMIT. */
static bool work(struct sqlite_writer *w, struct errbuf *why)
{
	struct batch *b = &w->batch;
	int rc = SQLITE_OK;
	bool rebased;
	size_t i;

	w->fault = SQLITE_ERROR;
	if (!sqlite_db_in_place(w->db)) {
		err_set(why, "%s was taken away or replaced while it was open", w->db->path);
		return false;
	}
	if (!sqlite_db_clock(w->db, &b->clock, why))
		return false;
	b->now = sqlite_db_now(w->db, &b->clock, &rebased);
	b->changed = rebased || b->probe;
	for (i = 0; i < b->count && rc == SQLITE_OK; i++)
		rc = entry_run(w, &b->entry[i]);
	if (rc == SQLITE_OK && b->reaping)
		rc = reap_run(w);
	b->clock.seen_us = b->now;
	if (rc == SQLITE_OK && b->changed)
		rc = sqlite_db_clock_set(w->db, &b->clock);
	w->fault = rc;
	if (rc == SQLITE_OK)
		return true;
	sqlite_db_why(w->db, "cannot write", why);
	return false;
}

/* COMMIT has failed and was taken back. True: no recovery can bring it to life any more, since another commit stands
 * in its place. */
static bool surely_gone(struct sqlite_writer *w)
{
	struct file_clock clock;
	struct errbuf ignored;
	bool rebased;

	if (!begin(w, &ignored))
		return false;
	if (!sqlite_db_clock(w->db, &clock, &ignored) || clock.seen_us == w->batch.now)
		goto fail_begun;
	clock.seen_us = sqlite_db_now(w->db, &clock, &rebased);
	if (sqlite_db_clock_set(w->db, &clock) == SQLITE_OK && sqlite_db_run(w->db, SQL_COMMIT) == SQLITE_OK)
		return true;

fail_begun:
	sqlite_db_rollback(w->db);
	return false;
}

static enum outcome commit(struct sqlite_writer *w, struct errbuf *why)
{
	enum outcome outcome;
	int rc = sqlite_db_run(w->db, SQL_COMMIT);

	if (rc == SQLITE_OK)
		return COMMITTED;
	w->fault = rc;
	sqlite_db_why(w->db, "cannot commit", why);
	if (!sqlite_db_rollback(w->db) || !w->batch.changed)
		return w->batch.changed ? IN_DOUBT : ROLLED_BACK;
	if ((rc & 0xff) == SQLITE_FULL || (rc & 0xff) == SQLITE_BUSY || rc == SQLITE_IOERR_WRITE)
		return ROLLED_BACK; /* the page that ends the transaction is the last that is written, and did not get to the WAL */
	outcome = surely_gone(w) ? ROLLED_BACK : IN_DOUBT;
	w->fault = rc;
	return outcome;
}

static enum outcome transact(struct sqlite_writer *w, struct errbuf *why)
{
	if (!begin(w, why))
		return ROLLED_BACK;
	if (work(w, why))
		return commit(w, why);
	if (!sqlite_db_rollback(w->db))
		w->fault = SQLITE_ERROR; /* closing the connection ends the transaction */
	return ROLLED_BACK;
}

/* ---- open, down, up ---- */

static void go_down(struct sqlite_writer *w, const struct errbuf *why)
{
	w->down = true;
	w->why = *why;
	w->retry_ms = w->retry_ms ? 2 * w->retry_ms : RETRY_MIN_MS;
	if (w->retry_ms > RETRY_MAX_MS)
		w->retry_ms = RETRY_MAX_MS;
	w->retry_at_ms = clock_mono_ms() + w->retry_ms;
	sqlite_health(w->s, false, why);
}

static void go_up(struct sqlite_writer *w)
{
	static const struct errbuf fine = {""};

	if (w->down)
		sqlite_health(w->s, true, &fine);
	w->down = false;
	w->retry_ms = 0;
}

/* After these the connection is as good as before. */
static bool connection_is_good(const struct sqlite_writer *w)
{
	int plain = w->fault & 0xff;

	return plain == SQLITE_BUSY || plain == SQLITE_FULL || plain == SQLITE_NOMEM;
}

static bool be_open(struct sqlite_writer *w, struct errbuf *why)
{
	if (w->db->conn)
		return true;
	w->db->made = false;
	if (sqlite_db_open(w->db, !w->was_open, w->s->timeout_ms, why) != FIT_GOOD)
		return false;
	if (w->db->made)
		sqlite_made(w->s);
	w->was_open = true;
	return true;
}

/* Does the batch, and opens the file for it where it is not open: a failed opening is not repeated for each batch. */
static enum outcome attempt(struct sqlite_writer *w, struct errbuf *why)
{
	enum outcome outcome = ROLLED_BACK;

	if (!w->db->conn && w->retry_ms && clock_mono_ms() < w->retry_at_ms) {
		*why = w->why;
		return ROLLED_BACK;
	}
	w->fault = SQLITE_OK;
	if (be_open(w, why)) {
		outcome = transact(w, why);
		if (outcome != COMMITTED && !connection_is_good(w))
			sqlite_db_close(w->db);
	}
	if (outcome == COMMITTED)
		go_up(w);
	else
		go_down(w, why);
	return outcome;
}

/* ---- answers ---- */

static void entry_fail(struct entry *entry, enum outcome outcome, const struct errbuf *why)
{
	if (entry->op->result == OP_REFUSED) /* for a reason of its own */
		return;
	if (outcome == IN_DOUBT && entry->wrote)
		op_doubt(entry->op, ERR_TIMEOUT, "%s", why->text);
	else
		op_refuse(entry->op, ERR_STORE, "%s", why->text);
}

/* Under the lock. */
static void reap_answer(struct sqlite_writer *w, enum outcome outcome, const struct errbuf *why)
{
	struct reap *reap = &w->s->reap;

	reap->step = REAP_DONE;
	reap->result = outcome == COMMITTED ? OP_APPLIED : outcome == IN_DOUBT ? OP_UNCERTAIN : OP_REFUSED;
	reap->why = *why;
	uv_cond_signal(&w->s->wake[SIDE_READER]);
}

/* The lock was not to be had for so long as an op may wait: what is behind in the queue has waited, too. */
static void refuse_queue(struct sqlite_writer *w, struct op_list *done, const struct errbuf *why)
{
	struct op *op;

	while ((op = op_list_pop(&w->s->queue[SIDE_WRITER]))) {
		op_refuse(op, ERR_STORE, "%s", why->text);
		op_list_push(done, op);
	}
}

/* Under the lock, after a transaction that wrote. */
static void wal_tell(struct sqlite *s, int pages)
{
	s->writes++;
	if (pages < s->wal_pages) /* it has begun again from its start */
		s->copy_at = COPY_PAGES;
	s->wal_pages = pages;
	if (s->wal_pages >= s->copy_at)
		uv_cond_signal(&s->wake[SIDE_READER]);
}

static void answer(struct sqlite_writer *w, enum outcome outcome, const struct errbuf *why)
{
	bool locked = outcome != COMMITTED && (w->fault & 0xff) == SQLITE_BUSY;
	struct sqlite *s = w->s;
	struct op_list done;
	size_t i;

	op_list_init(&done);
	for (i = 0; i < w->batch.count; i++) {
		if (outcome != COMMITTED)
			entry_fail(&w->batch.entry[i], outcome, why);
		op_list_push(&done, w->batch.entry[i].op);
	}
	uv_mutex_lock(&s->lock);
	if (w->batch.reaping)
		reap_answer(w, outcome, why);
	if (locked)
		refuse_queue(w, &done, why);
	if (w->batch.changed)
		wal_tell(s, w->db->wal_pages);
	uv_mutex_unlock(&s->lock);
	sqlite_answer(s, &done);
}

/* ---- the thread ---- */

static int entry_order(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = slice_compare(x->op->key, y->op->key);

	if (order)
		return order;
	return x->at < y->at ? -1 : 1;
}

/* Waits for work. False: the store is being closed. */
static bool take(struct sqlite_writer *w)
{
	struct sqlite *s = w->s;
	struct batch *b = &w->batch;
	struct op *op;

	b->count = 0;
	b->probe = b->changed = false;
	uv_mutex_lock(&s->lock);
	while (!s->queue[SIDE_WRITER].first && s->reap.step != REAP_ASKED && !atomic_load(&s->closing) && !b->probe) {
		int64_t left_ms = w->retry_at_ms - clock_mono_ms();

		if (!w->down)
			uv_cond_wait(&s->wake[SIDE_WRITER], &s->lock);
		else if (left_ms <= 0)
			b->probe = true;
		else
			uv_cond_timedwait(&s->wake[SIDE_WRITER], &s->lock, (uint64_t)left_ms * 1000000);
	}
	while (b->count < BATCH_MAX && (op = op_list_pop(&s->queue[SIDE_WRITER]))) {
		b->entry[b->count] = (struct entry){.op = op, .at = b->count};
		b->count++;
	}
	b->reaping = s->reap.step == REAP_ASKED;
	uv_mutex_unlock(&s->lock);
	qsort(b->entry, b->count, sizeof(b->entry[0]), entry_order);
	return b->count > 0 || !atomic_load(&s->closing);
}

/* The reader cannot end a checkpoint while there are always new pages; here is a moment without any. */
static void checkpoint_finish(struct sqlite_writer *w)
{
	bool wanted;

	uv_mutex_lock(&w->s->lock);
	wanted = w->s->finish_checkpoint;
	w->s->finish_checkpoint = false;
	uv_mutex_unlock(&w->s->lock);
	if (wanted && w->db->conn) /* where it fails the WAL grows on, and the next one is tried */
		sqlite3_wal_checkpoint_v2(w->db->conn, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

void sqlite_writer_main(void *arg)
{
	struct sqlite *s = arg;
	struct sqlite_writer w = {.s = s, .db = &s->db[SIDE_WRITER], .down = true, .why = s->why};

	w.was_open = w.db->conn != NULL;
	while (take(&w)) {
		struct errbuf why = {""};
		enum outcome outcome = attempt(&w, &why);

		answer(&w, outcome, &why);
		checkpoint_finish(&w);
	}
	sqlite_thread_end(s);
}
