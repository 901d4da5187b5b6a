/*
 * conn.c - one client's connection; see conn.h for what it promises.
 *
 * In:  read -> take -> frame by frame to handler->request. All connections share one buffer for reading; a connection has memory of
 *      its own only while it holds an unfinished frame, so that ten thousand idle ones cost little.
 * Out: turn_answer -> in order into `out` -> flush, once per turn of the loop -> the kernel. What the kernel does not take at
 *      once is given to libuv, and the connection is not written to before that is done.
 * End: the peer's end of input closes when everything is answered (it may still read: a half-closed peer; writing to one that
 *      is gone fails, so its wins count as unheard). An error of
 *      reading or writing, or no memory, closes at once; turns that are open then are detached, and end when they are answered.
 */
#include "conn.h"

#include <assert.h>
#include <unistd.h>
#include <string.h>

#include "../proto/mem.h"

#define SCRATCH_SIZE 65536
#define OUT_KEEP 4096         /* an output buffer up to this size is kept for the next answer */
#define HEADER_LIMIT 16384    /* octets of an HTTP header */

struct turn_list {
	struct turn *first, *last;
};

struct conn {
	uv_pipe_t pipe;
	struct conn_set *set;
	struct conn *prev, *next;
	struct conn *dirty_next, **dirty_link; /* dirty_link == NULL: not in the list */
	void *session;

	/* in */
	char *in; /* an unfinished frame, and what came behind it while held back */
	size_t in_len, in_cap;
	struct frame frame;
	struct slice kept;      /* the line of an oversize or HTTP request, from mem_copy */
	uint64_t drain;         /* octets of an oversize body to come, its LF included; 0: none */
	size_t header_left;     /* of HEADER_LIMIT; 0: not in an HTTP header */
	bool reading;           /* libuv is asked to read */
	bool eof;               /* nothing more will come */
	bool finishing;         /* nothing more is read or taken */

	/* out */
	char *out;
	size_t out_len, out_cap;
	uint64_t out_at;        /* octets ever put into `out`, less out_len: where out[0] is in the stream */
	uint64_t sure;          /* octets of the stream that the kernel has, or may have */
	char *writing;          /* what libuv is writing; NULL: nothing */
	uv_write_t write;
	size_t held_octets;     /* in turns that wait for their order */

	struct turn_list open;  /* not answered, or answered out of order and waiting */
	struct turn_list loose; /* unordered, not answered */
	struct turn_list sent;  /* in the stream, by `at`; not yet sure to be with the kernel */
	size_t turns;           /* in open and loose */
	bool closing;
};

/* ---- small lists ---- */

static void turn_append(struct turn_list *list, struct turn *turn)
{
	turn->next = NULL;
	turn->prev = list->last;
	if (list->last != NULL)
		list->last->next = turn;
	else
		list->first = turn;
	list->last = turn;
}

static void turn_unlink(struct turn_list *list, struct turn *turn)
{
	if (turn->prev != NULL)
		turn->prev->next = turn->next;
	else
		list->first = turn->next;
	if (turn->next != NULL)
		turn->next->prev = turn->prev;
	else
		list->last = turn->prev;
}

static void dirty_mark(struct conn *conn)
{
	struct conn_set *set = conn->set;

	if (conn->dirty_link != NULL || conn->closing)
		return;
	conn->dirty_next = set->dirty;
	conn->dirty_link = &set->dirty;
	if (set->dirty != NULL)
		set->dirty->dirty_link = &conn->dirty_next;
	set->dirty = conn;
}

static void dirty_clear(struct conn *conn)
{
	if (conn->dirty_link == NULL)
		return;
	*conn->dirty_link = conn->dirty_next;
	if (conn->dirty_next != NULL)
		conn->dirty_next->dirty_link = conn->dirty_link;
	conn->dirty_link = NULL;
}

/* ---- the end ---- */

static void on_closed(uv_handle_t *handle)
{
	struct conn *conn = handle->data;
	struct conn_set *set = conn->set;

	if (conn->prev != NULL)
		conn->prev->next = conn->next;
	else
		set->first = conn->next;
	if (conn->next != NULL)
		conn->next->prev = conn->prev;
	set->count--;
	mem_free(conn->in);
	mem_free(conn->out);
	mem_free(conn->writing);
	mem_free((void *)(uintptr_t)conn->kept.data);
	mem_free(conn);
	if (set->emptied != NULL)
		set->emptied(set->emptied_arg, set->count);
}

static void turn_end(struct conn_set *set, struct turn *turn, bool heard)
{
	turn->conn = NULL;
	mem_free(turn->held);
	turn->held = NULL;
	set->handler.ended(set->handler.arg, turn, heard);
}

/* Turns that are answered end now; the others lose their connection and end when they are. */
static void detach(struct conn *conn, struct turn_list *list)
{
	struct turn *turn;

	while ((turn = list->first) != NULL) {
		turn_unlink(list, turn);
		turn->conn = NULL;
		if (turn->answered)
			turn_end(conn->set, turn, false);
	}
}

static void end_heard(struct conn *conn)
{
	struct turn *turn;

	while ((turn = conn->sent.first) != NULL && turn->at < conn->sure) {
		turn_unlink(&conn->sent, turn);
		turn_end(conn->set, turn, true);
	}
}

void conn_close(struct conn *conn)
{
	struct conn_set *set = conn->set;

	if (conn->closing)
		return;
	conn->closing = true;
	dirty_clear(conn);
	if (conn->writing != NULL)
		conn->sure = conn->out_at - uv_stream_get_write_queue_size((uv_stream_t *)&conn->pipe);
	end_heard(conn);
	detach(conn, &conn->sent);
	detach(conn, &conn->open);
	detach(conn, &conn->loose);
	conn->turns = 0;
	set->handler.closed(set->handler.arg, conn->session);
	conn->session = NULL;
	uv_close((uv_handle_t *)&conn->pipe, on_closed);
}

static bool all_written(const struct conn *conn)
{
	return conn->turns == 0 && conn->out_len == 0 && conn->writing == NULL;
}

/* ---- in ---- */

static bool held_back(const struct conn *conn)
{
	size_t unread = conn->out_len + conn->held_octets;

	if (conn->writing != NULL)
		unread += uv_stream_get_write_queue_size((const uv_stream_t *)&conn->pipe);
	return conn->turns >= conn->set->limits.max_turns || unread > conn->set->limits.max_unread;
}

static bool keep_line(struct conn *conn, const char *line, size_t len)
{
	char *copy = mem_copy(line, len);

	if (copy == NULL) {
		conn_close(conn);
		return false;
	}
	conn->kept = (struct slice){copy, len};
	return true;
}

static void drop_line(struct conn *conn)
{
	mem_free((void *)(uintptr_t)conn->kept.data);
	conn->kept = SLICE_ABSENT;
}

static void broken(struct conn *conn, enum err code, const char *why)
{
	struct conn_set *set = conn->set;

	conn->finishing = true;
	set->handler.broken(set->handler.arg, conn, code, why);
	dirty_mark(conn);
}

/* The rest of a body above the limit: thrown away as it comes, so that the stream stays in step. */
static size_t take_drain(struct conn *conn, const char *data, size_t len)
{
	size_t n = conn->drain < len ? (size_t)conn->drain : len;
	struct conn_set *set = conn->set;

	conn->drain -= n;
	if (conn->drain > 0)
		return n;
	if (data[n - 1] != '\n') {
		broken(conn, ERR_SYNTAX, "no LF behind the body; is body= its length in octets?");
		return n;
	}
	set->handler.request(set->handler.arg, conn, conn->kept, SLICE_ABSENT, true);
	drop_line(conn);
	return n;
}

/* A line of an HTTP header; the empty one ends it. 0: not whole yet. */
static size_t take_header(struct conn *conn, const char *data, size_t len)
{
	const char *lf = memchr(data, '\n', len);
	struct conn_set *set = conn->set;
	size_t n = lf == NULL ? 0 : (size_t)(lf - data) + 1;

	if (lf == NULL ? len >= conn->header_left : n >= conn->header_left) {
		conn_close(conn);
		return len;
	}
	if (n == 0)
		return 0;
	conn->header_left -= n;
	if (n == 1 || (n == 2 && data[0] == '\r')) {
		conn->finishing = true;
		set->handler.http(set->handler.arg, conn, conn->kept);
		dirty_mark(conn);
	}
	return n;
}

/* One frame. 0: not whole yet. */
static size_t take_frame(struct conn *conn, char *data, size_t len)
{
	struct conn_set *set = conn->set;
	struct frame frame;
	struct errbuf err;
	struct slice body = SLICE_ABSENT;

	switch (frame_scan(&conn->frame, data, len, set->limits.max_line, set->limits.max_body, &err)) {
	case FRAME_MORE:
		return 0;
	case FRAME_BROKEN:
		broken(conn, conn->frame.err, err.text);
		return len;
	case FRAME_OVERSIZE:
		frame = conn->frame;
		memset(&conn->frame, 0, sizeof conn->frame);
		if (!keep_line(conn, data, frame.line_len))
			return len;
		conn->drain = (uint64_t)frame.body_len + 1;
		return frame.body_at;
	case FRAME_READY:
		break;
	}
	frame = conn->frame;
	memset(&conn->frame, 0, sizeof conn->frame);
	if (frame.has_body)
		body = (struct slice){data + frame.body_at, frame.body_len};
	if (frame.line_len > 0)
		set->handler.request(set->handler.arg, conn, (struct slice){data, frame.line_len}, body, false);
	return frame.size;
}

/* Takes whole frames as long as it may. Returns how many octets it is done with. */
static size_t take(struct conn *conn, char *data, size_t len)
{
	size_t at = 0, n;

	while (at < len && !conn->closing && !conn->finishing && !held_back(conn)) {
		if (conn->drain > 0)
			n = take_drain(conn, data + at, len - at);
		else if (conn->header_left > 0)
			n = take_header(conn, data + at, len - at);
		else
			n = take_frame(conn, data + at, len - at);
		if (n == 0)
			break;
		at += n;
	}
	return at;
}

static bool in_append(struct conn *conn, const char *data, size_t len)
{
	if (conn->in_len + len > conn->in_cap) {
		size_t cap = conn->in_cap < 512 ? 512 : conn->in_cap;
		char *grown;

		while (cap < conn->in_len + len)
			cap *= 2;
		grown = mem_resize(conn->in, cap);
		if (grown == NULL)
			return false;
		conn->in = grown;
		conn->in_cap = cap;
	}
	memcpy(conn->in + conn->in_len, data, len);
	conn->in_len += len;
	return true;
}

/* Goes on with what is in the connection's own buffer. */
static void take_kept(struct conn *conn)
{
	size_t done = take(conn, conn->in, conn->in_len);

	if (conn->closing)
		return;
	conn->in_len -= done;
	if (conn->in_len > 0) {
		memmove(conn->in, conn->in + done, conn->in_len);
	} else {
		mem_free(conn->in);
		conn->in = NULL;
		conn->in_cap = 0;
	}
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct conn *conn = handle->data;

	(void)suggested;
	*buf = uv_buf_init(conn->set->scratch, SCRATCH_SIZE);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct conn *conn = stream->data;
	size_t len, done;

	if (n < 0) {
		conn->reading = false;
		if (n == UV_EOF) {
			uv_read_stop(stream);
			conn->eof = true;
			dirty_mark(conn);
		} else {
			conn_close(conn);
		}
		return;
	}
	len = (size_t)n;
	if (conn->in_len > 0) {
		if (!in_append(conn, buf->base, len)) {
			conn_close(conn);
			return;
		}
		take_kept(conn);
	} else {
		done = take(conn, buf->base, len);
		if (!conn->closing && done < len && !conn->finishing && !in_append(conn, buf->base + done, len - done))
			conn_close(conn);
	}
	if (!conn->closing && (conn->finishing || held_back(conn))) {
		uv_read_stop(stream);
		conn->reading = false;
		dirty_mark(conn);
	}
}

static void read_on(struct conn *conn)
{
	if (conn->reading || conn->eof || conn->finishing || conn->closing)
		return;
	if (uv_read_start((uv_stream_t *)&conn->pipe, on_alloc, on_read) != 0)
		conn_close(conn);
	else
		conn->reading = true;
}

/* ---- out ---- */

static bool out_append(struct conn *conn, const char *data, size_t len)
{
	if (conn->out_len + len > conn->out_cap) {
		size_t cap = conn->out_cap < 512 ? 512 : conn->out_cap;
		char *grown;

		while (cap < conn->out_len + len)
			cap *= 2;
		grown = mem_resize(conn->out, cap);
		if (grown == NULL)
			return false;
		conn->out = grown;
		conn->out_cap = cap;
	}
	if (len > 0)
		memcpy(conn->out + conn->out_len, data, len);
	conn->out_len += len;
	return true;
}

static void on_written(uv_write_t *req, int status)
{
	struct conn *conn = req->data;

	mem_free(conn->writing);
	conn->writing = NULL;
	if (conn->closing)
		return;
	/* After an error nobody knows how much of it the kernel had: it counts as heard, and the lease heals it. */
	conn->sure = conn->out_at;
	end_heard(conn);
	if (status != 0)
		conn_close(conn);
	else
		dirty_mark(conn);
}

/* Gives libuv what the kernel did not take at once. */
static void write_later(struct conn *conn, size_t from)
{
	uv_buf_t buf = uv_buf_init(conn->out + from, (unsigned)(conn->out_len - from));

	conn->writing = conn->out;
	conn->write.data = conn;
	conn->out_at += conn->out_len;
	conn->out = NULL;
	conn->out_len = conn->out_cap = 0;
	if (uv_write(&conn->write, (uv_stream_t *)&conn->pipe, &buf, 1, on_written) != 0) {
		mem_free(conn->writing);
		conn->writing = NULL;
		conn_close(conn);
	}
}

static void write_now(struct conn *conn)
{
	uv_buf_t buf = uv_buf_init(conn->out, (unsigned)conn->out_len);
	int n = uv_try_write((uv_stream_t *)&conn->pipe, &buf, 1);

	if (n < 0 && n != UV_EAGAIN) {
		conn_close(conn);
		return;
	}
	if (n < 0)
		n = 0;
	conn->sure = conn->out_at + (uint64_t)n;
	if ((size_t)n < conn->out_len) {
		write_later(conn, (size_t)n);
	} else {
		conn->out_at += conn->out_len;
		conn->out_len = 0;
		if (conn->out_cap > OUT_KEEP) {
			mem_free(conn->out);
			conn->out = NULL;
			conn->out_cap = 0;
		}
	}
	if (!conn->closing)
		end_heard(conn);
}

/* Puts an answer into the stream. */
static void emit(struct conn *conn, struct turn *turn, struct slice head, struct slice body)
{
	turn->at = conn->out_at + conn->out_len;
	turn_append(&conn->sent, turn);
	if (!out_append(conn, head.data, head.len) || !out_append(conn, body.data, body.len))
		conn_close(conn);
}

/* Lets go the answers at the front of the order that are there. */
static void emit_held(struct conn *conn)
{
	struct turn *turn;

	while (!conn->closing && (turn = conn->open.first) != NULL && turn->answered) {
		char *held = turn->held;

		turn_unlink(&conn->open, turn);
		conn->turns--;
		conn->held_octets -= turn->held_len;
		turn->held = NULL;
		emit(conn, turn, (struct slice){held, turn->held_len}, SLICE_ABSENT);
		mem_free(held);
	}
}

static bool hold(struct turn *turn, struct slice head, struct slice body)
{
	turn->held = mem_alloc(head.len + body.len);
	if (turn->held == NULL)
		return false;
	memcpy(turn->held, head.data, head.len);
	if (body.len > 0)
		memcpy(turn->held + head.len, body.data, body.len);
	turn->held_len = head.len + body.len;
	return true;
}

void turn_open(struct turn *turn, struct conn *conn, bool ordered)
{
	*turn = (struct turn){.conn = conn, .ordered = ordered};
	turn_append(ordered ? &conn->open : &conn->loose, turn);
	conn->turns++;
}

void turn_answer(struct turn *turn, struct slice head, struct slice body)
{
	struct conn *conn = turn->conn;

	assert(!turn->answered && conn != NULL);
	turn->answered = true;
	dirty_mark(conn);
	if (turn->ordered && turn != conn->open.first) {
		if (hold(turn, head, body))
			conn->held_octets += turn->held_len;
		else
			conn_close(conn);
		return;
	}
	turn_unlink(turn->ordered ? &conn->open : &conn->loose, turn);
	conn->turns--;
	emit(conn, turn, head, body);
	emit_held(conn);
}

/* ---- the whole ---- */

void conn_finish(struct conn *conn)
{
	conn->finishing = true;
	dirty_mark(conn);
}

void conn_await_header(struct conn *conn, struct slice line)
{
	if (keep_line(conn, line.data, line.len))
		conn->header_left = HEADER_LIMIT;
}

void conn_write_last(struct conn *conn, struct slice text)
{
	if (out_append(conn, text.data, text.len))
		conn_finish(conn);
	else
		conn_close(conn);
}

void *conn_session(struct conn *conn)
{
	return conn->session;
}

/* True: requests were taken up. */
static bool conn_flush(struct conn *conn)
{
	size_t before;

	if (conn->out_len > 0 && conn->writing == NULL)
		write_now(conn);
	if (conn->closing)
		return false;
	before = conn->in_len;
	if (before > 0 && !conn->finishing && !held_back(conn))
		take_kept(conn);
	if (conn->closing)
		return false;
	if ((conn->finishing || conn->eof) && all_written(conn))
		conn_close(conn);
	else if (!held_back(conn))
		read_on(conn);
	return !conn->closing && conn->in_len < before;
}

bool conn_set_flush(struct conn_set *set)
{
	struct conn *conn, *list = set->dirty;
	bool taken = false;

	/* The list is taken off first: what becomes dirty meanwhile is for the next call. */
	set->dirty = NULL;
	if (list != NULL)
		list->dirty_link = &list;
	while ((conn = list) != NULL) {
		dirty_clear(conn);
		taken |= conn_flush(conn);
	}
	return taken;
}

void conn_set_finish_all(struct conn_set *set)
{
	for (struct conn *conn = set->first; conn != NULL; conn = conn->next)
		conn_finish(conn);
}

void conn_set_close_all(struct conn_set *set)
{
	for (struct conn *conn = set->first; conn != NULL; conn = conn->next)
		conn_close(conn);
}

bool conn_set_init(struct conn_set *set)
{
	set->scratch = mem_alloc(SCRATCH_SIZE);
	return set->scratch != NULL;
}

void conn_set_release(struct conn_set *set)
{
	mem_free(set->scratch);
	set->scratch = NULL;
}

bool conn_open(struct conn_set *set, int fd, void *session)
{
	struct conn *conn = mem_zero(sizeof *conn);

	if (conn == NULL || uv_pipe_init(set->loop, &conn->pipe, 0) != 0) {
		mem_free(conn);
		close(fd);
		return false;
	}
	conn->pipe.data = conn;
	conn->set = set;
	conn->session = session;
	conn->next = set->first;
	if (set->first != NULL)
		set->first->prev = conn;
	set->first = conn;
	set->count++;
	if (uv_pipe_open(&conn->pipe, fd) != 0) {
		close(fd);
		conn_close(conn);
		return true;
	}
	read_on(conn);
	return true;
}
