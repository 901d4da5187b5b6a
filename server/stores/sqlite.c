/*
 * sqlite.c - the store "sqlite:PATH": the driver, and the way of an op to one of two threads and back.
 *
 * store.c calls it. submit gathers; flush, once per turn of the loop, gives what was gathered to the threads: what
 * may write to the one writer (sqlite_writer.c), what only reads to the reader (sqlite_reader.c). While the disk
 * syncs one transaction the next gathers by itself. Answers come back through one uv_async for many.
 *
 * Opening tries the file at once, so that a wrong path, a stranger's file, a newer schema or a network file system stop the
 * daemon with a word. What can pass (a lock, no room, no permission) does not: ops are refused with the reason, and the
 * writer tries again until it works.
 *
 * Closing refuses what no thread has taken up, lets each thread end what it is at, and waits for them without blocking the loop.
 */
#include "sqlite.h"

#include <string.h>

#include "../../proto/mem.h"

/* A first look may wait so long for somebody else's lock: the loop stands still meanwhile. */
#define FIRST_LOOK_MS 100

/* ---- from the threads to the loop ---- */

void sqlite_answer(struct sqlite *s, struct op_list *done)
{
	if (!done->first)
		return;
	uv_mutex_lock(&s->lock);
	op_list_join(&s->done, done);
	uv_mutex_unlock(&s->lock);
	uv_async_send(&s->news);
}

void sqlite_health(struct sqlite *s, bool up, const struct errbuf *why)
{
	bool changed;

	uv_mutex_lock(&s->lock);
	changed = !s->known || s->up != up;
	s->known = true;
	s->up = up;
	s->why = *why;
	uv_mutex_unlock(&s->lock);
	if (changed)
		uv_async_send(&s->news);
}

void sqlite_made(struct sqlite *s)
{
	uv_mutex_lock(&s->lock);
	s->made = true;
	uv_mutex_unlock(&s->lock);
	uv_async_send(&s->news);
}

static void ended(uv_handle_t *handle);

/* Something came back: answers, a change of health, the end of a thread. */
static void on_news(uv_async_t *news)
{
	struct sqlite *s = news->data;
	struct op_list done;
	struct errbuf why;
	struct op *op;
	bool known, up, over, made;

	op_list_init(&done);
	uv_mutex_lock(&s->lock);
	op_list_join(&done, &s->done);
	known = s->known;
	up = s->up;
	why = s->why;
	over = s->running == 0;
	made = s->made;
	s->made = false;
	uv_mutex_unlock(&s->lock);
	if (made)
		store_made(s->front, s->path);
	if (known)
		store_health(s->front, up, why.text);
	while ((op = op_list_pop(&done)))
		store_done(s->front, op);
	if (!over || uv_is_closing((uv_handle_t *)news))
		return;
	uv_thread_join(&s->thread[SIDE_WRITER]);
	uv_thread_join(&s->thread[SIDE_READER]);
	uv_close((uv_handle_t *)news, ended);
}

/* The last one closes both connections, one after the other: at once neither would be the last, which takes the WAL away. */
void sqlite_thread_end(struct sqlite *s)
{
	bool last;

	uv_mutex_lock(&s->lock);
	last = s->running == 1;
	if (!last)
		s->running--;
	uv_mutex_unlock(&s->lock);
	if (!last)
		return;
	sqlite_db_close(&s->db[SIDE_READER]);
	sqlite_db_close(&s->db[SIDE_WRITER]);
	uv_mutex_lock(&s->lock);
	s->running--;
	uv_mutex_unlock(&s->lock);
	uv_async_send(&s->news);
}

/* ---- open ---- */

static struct sqlite *sqlite_new(struct store *front, const char *url, const struct store_options *options,
				 struct errbuf *err)
{
	struct sqlite *s = mem_zero(sizeof(*s));
	int side;

	if (!s) {
		err_set(err, "out of memory");
		return NULL;
	}
	s->path = sqlite_file_path(url, err);
	if (!s->path) {
		mem_free(s);
		return NULL;
	}
	s->front = front;
	s->timeout_ms = options->timeout_ms;
	s->copy_at = COPY_PAGES;
	op_list_init(&s->done);
	for (side = 0; side < SIDE__COUNT; side++) {
		op_list_init(&s->gathered[side]);
		op_list_init(&s->queue[side]);
		s->db[side] =
		    (struct sqlite_db){.path = s->path, .writer = side == SIDE_WRITER, .closing = &s->closing};
	}
	return s;
}

static void sqlite_free(struct sqlite *s)
{
	mem_free(s->path);
	mem_free(s);
}

static bool sync_init(struct sqlite *s)
{
	if (uv_mutex_init(&s->lock) != 0)
		return false;
	if (uv_cond_init(&s->wake[SIDE_WRITER]) != 0)
		goto fail_lock;
	if (uv_cond_init(&s->wake[SIDE_READER]) != 0)
		goto fail_writer;
	return true;

fail_writer:
	uv_cond_destroy(&s->wake[SIDE_WRITER]);
fail_lock:
	uv_mutex_destroy(&s->lock);
	return false;
}

static void sync_release(struct sqlite *s)
{
	uv_cond_destroy(&s->wake[SIDE_READER]);
	uv_cond_destroy(&s->wake[SIDE_WRITER]);
	uv_mutex_destroy(&s->lock);
}

static void wake_all(struct sqlite *s)
{
	uv_cond_signal(&s->wake[SIDE_WRITER]);
	uv_cond_signal(&s->wake[SIDE_READER]);
}

static void ended(uv_handle_t *handle)
{
	struct sqlite *s = handle->data;
	struct store *front = s->front;

	sync_release(s);
	sqlite_free(s);
	if (front) /* else opening failed, and nobody knows of the store */
		store_closed(front);
}

static bool threads_start(struct sqlite *s)
{
	s->running = 2;
	if (uv_thread_create(&s->thread[SIDE_WRITER], sqlite_writer_main, s) != 0)
		return false;
	if (uv_thread_create(&s->thread[SIDE_READER], sqlite_reader_main, s) == 0)
		return true;
	uv_mutex_lock(&s->lock);
	atomic_store(&s->closing, true);
	wake_all(s);
	uv_mutex_unlock(&s->lock);
	uv_thread_join(&s->thread[SIDE_WRITER]);
	return false;
}

static enum fit sqlite_check(const char *url, bool make_folders, struct errbuf *err)
{
	char *path = sqlite_file_path(url, err);
	enum fit fit;

	if (!path)
		return FIT_NEVER;
	fit = sqlite_file_look(path, make_folders ? CREATE_FOLDERS : CREATE_STORE, err);
	mem_free(path);
	return fit;
}

static bool sqlite_open(void **out, struct store *front, const char *url, const struct store_options *options,
			uv_loop_t *loop, struct errbuf *err)
{
	struct sqlite *s = sqlite_new(front, url, options, err);
	bool made;

	if (!s)
		return false;
	s->db[SIDE_WRITER].make_folders = options->make_folders;
	if (sqlite_db_open(&s->db[SIDE_WRITER], true, FIRST_LOOK_MS, &s->why) == FIT_NEVER) {
		*err = s->why;
		goto fail_store;
	}
	if (!sync_init(s)) {
		err_set(err, "sqlite: no lock can be made");
		goto fail_db;
	}
	if (uv_async_init(loop, &s->news, on_news) != 0) {
		err_set(err, "sqlite: the loop takes no more handles");
		goto fail_sync;
	}
	s->news.data = s;
	made = s->db[SIDE_WRITER].made; /* from now on that is its thread's */
	if (!threads_start(s)) {
		err_set(err, "sqlite: no thread can be started");
		s->front = NULL;
		sqlite_db_close(&s->db[SIDE_WRITER]);
		uv_close((uv_handle_t *)&s->news, ended);
		return false;
	}
	if (made)
		sqlite_made(s);
	*out = s;
	return true;

fail_sync:
	sync_release(s);
fail_db:
	sqlite_db_close(&s->db[SIDE_WRITER]);
fail_store:
	sqlite_free(s);
	return false;
}

/* ---- ops ---- */

static void sqlite_submit(void *impl, struct op *op)
{
	struct sqlite *s = impl;
	/* SWEEP begins with looking, and lets the writer delete. */
	enum side side = op_reads(op) || op->kind == OP_SWEEP ? SIDE_READER : SIDE_WRITER;

	op_list_push(&s->gathered[side], op);
}

static void sqlite_flush(void *impl)
{
	struct sqlite *s = impl;
	int side;

	if (!s->gathered[SIDE_WRITER].first && !s->gathered[SIDE_READER].first)
		return;
	uv_mutex_lock(&s->lock);
	for (side = 0; side < SIDE__COUNT; side++) {
		if (!s->gathered[side].first)
			continue;
		op_list_join(&s->queue[side], &s->gathered[side]);
		uv_cond_signal(&s->wake[side]);
	}
	uv_mutex_unlock(&s->lock);
}

static void sqlite_close(void *impl)
{
	struct sqlite *s = impl;
	struct op_list left;
	struct op *op;
	int side;

	op_list_init(&left);
	uv_mutex_lock(&s->lock);
	for (side = 0; side < SIDE__COUNT; side++) {
		op_list_join(&left, &s->queue[side]);
		op_list_join(&left, &s->gathered[side]);
	}
	while ((op = op_list_pop(&left))) {
		op_refuse(op, ERR_STORE, "the store is being closed");
		op_list_push(&s->done, op);
	}
	atomic_store(&s->closing, true);
	wake_all(s);
	uv_mutex_unlock(&s->lock);
	uv_async_send(&s->news);
}

static void sqlite_describe(void *impl, struct errbuf *text)
{
	struct sqlite *s = impl;

	err_set(text, "sqlite %s journal=wal synchronous=full file=%s", sqlite3_libversion(), s->path);
}

const struct store_driver store_sqlite = {
    .scheme = "sqlite",
    .check = sqlite_check,
    .open = sqlite_open,
    .submit = sqlite_submit,
    .flush = sqlite_flush,
    .close = sqlite_close,
    .describe = sqlite_describe,
};
