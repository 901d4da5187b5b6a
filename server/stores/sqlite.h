/*
 * sqlite.h - what the loop and the two threads of an SQLite store share.
 *
 * The loop queues ops under the lock and wakes a thread; the thread answers them and hands them back under the lock, with one
 * uv_async for all. Everything that is not marked belongs to the loop.
 */
#ifndef CLAIMD_STORE_SQLITE_H
#define CLAIMD_STORE_SQLITE_H

#include "op_list.h"
#include "sqlite_db.h"
#include "store.h"

#define REAP_MAX 256
/* The WAL is copied to the file each time it has grown by so many pages. */
#define COPY_PAGES 1000

enum side { SIDE_WRITER, SIDE_READER, SIDE__COUNT };

/* Rows that the reader found to be gone, for the writer to look at again and delete. */
struct reap {
	enum { REAP_NONE, REAP_ASKED, REAP_DONE } step;
	int64_t rowid[REAP_MAX];
	size_t count;
	int64_t deleted;       /* answered */
	enum op_result result; /* OP_APPLIED, or what a SWEEP is told: OP_REFUSED, OP_UNCERTAIN */
	struct errbuf why;
};

struct sqlite {
	struct store *front;
	int64_t timeout_ms; /* never changes */
	char *path;         /* never changes; from mem_alloc */
	uv_async_t news;
	uv_thread_t thread[SIDE__COUNT];
	struct op_list gathered[SIDE__COUNT]; /* since the last flush */

	struct sqlite_db db[SIDE__COUNT]; /* each its thread's; the writer's is the loop's until its thread runs */
	atomic_bool closing;              /* the threads are to end */

	uv_mutex_t lock; /* of all below */
	uv_cond_t wake[SIDE__COUNT];
	struct op_list queue[SIDE__COUNT];
	struct op_list done;
	int running; /* 0: both threads are over, and the file is closed */
	bool known;  /* whether it is up */
	bool up;
	bool made; /* a new store; to be told */
	struct errbuf why;
	struct reap reap;
	int wal_pages;          /* length of the WAL */
	int copy_at;            /* from so many pages the reader is to copy them to the file */
	uint64_t writes;        /* transactions that wrote */
	bool finish_checkpoint; /* the reader has done most of it; the rest needs a moment without a writer */
};

/* ---- for the threads ---- */

/* Hands answered ops to the loop. */
void sqlite_answer(struct sqlite *s, struct op_list *done);
/* A new store was made. */
void sqlite_made(struct sqlite *s);
/* Up, or down with the reason. */
void sqlite_health(struct sqlite *s, bool up, const struct errbuf *why);
/* Last of all, for each thread: when both have come here the file is closed and the loop is told. */
void sqlite_thread_end(struct sqlite *s);
/* Their mains; the argument is the struct sqlite. */
void sqlite_writer_main(void *arg);
void sqlite_reader_main(void *arg);

#endif
