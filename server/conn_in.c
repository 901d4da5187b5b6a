/*
 * conn_in.c - the reading half of a connection: octets become frames, which go to handler->request one by one.
 *
 * It stops between two frames while the client is held back, and goes on when conn_set_flush finds that it may. A
 * frame that is not whole waits in the connection's own buffer.
 */
#include "conn_impl.h"

#include <string.h>

#include "../proto/mem.h"

#define HEADER_LIMIT 16384 /* octets of an HTTP header */

bool held_back(const struct conn *conn)
{
	size_t unread = conn->out_len + conn->held_octets + conn->expected;

	return conn->turns >= conn->set->limits.max_turns || unread > conn->set->limits.max_unread ||
	       conn->nonsense >= CONN_NONSENSE;
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
	struct slice line;

	conn->drain -= n;
	if (conn->drain > 0)
		return n;
	if (data[n - 1] != '\n') {
		broken(conn, ERR_SYNTAX, "no LF behind the body; is body= its length in octets?");
		return n;
	}
	line = conn->kept;
	conn->kept = SLICE_ABSENT; /* it may be HTTP, whose line is kept there too */
	set->handler.request(set->handler.arg, conn, line, SLICE_ABSENT, true);
	mem_free((void *)(uintptr_t)line.data);
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

	switch (frame_scan(&conn->frame, data, len, set->limits.max_line, conn->stranger ? 0 : set->limits.max_body,
			   &err)) {
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
void take_kept(struct conn *conn)
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
	*buf = uv_buf_init(conn->set->scratch, CONN_SCRATCH);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct conn *conn = stream->data;
	size_t len, done;

	if (n < 0) {
		conn->reading = false;
		if (n == UV_EOF) {
			uv_read_stop(stream);
			conn->eof = true; /* what is left of the input is an unfinished line */
			conn_end_gone(conn);
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
	/* After a full buffer libuv would read on at once: the others first. */
	if (!conn->closing && (conn->finishing || len == CONN_SCRATCH || held_back(conn))) {
		uv_read_stop(stream);
		conn->reading = false;
		dirty_mark(conn);
	}
}

void read_on(struct conn *conn)
{
	if (conn->reading || conn->eof || conn->finishing || conn->closing)
		return;
	if (uv_read_start((uv_stream_t *)&conn->pipe, on_alloc, on_read) != 0)
		conn_close(conn);
	else
		conn->reading = true;
}

void conn_nonsense(struct conn *conn)
{
	conn->nonsense++;
}

void conn_await_header(struct conn *conn, struct slice line)
{
	if (keep_line(conn, line.data, line.len))
		conn->header_left = HEADER_LIMIT;
}
