/*
 * conn_out.c - the answering half of a connection: answers get into their order, then into the kernel.
 *
 * out_taken is the heart of it: the octets that the kernel has. A turn whose answer starts before that mark may have been heard.
 */
#include "conn_impl.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "../proto/mem.h"

#define OUT_KEEP 4096 /* an output buffer up to this size is kept for the next answer */

uint64_t out_taken(const struct conn *conn)
{
	/* The octet that libuv has is not the kernel's before libuv says so. */
	return conn->out_at - (conn->full ? uv_stream_get_write_queue_size((const uv_stream_t *)&conn->pipe) : 0);
}

/* Room for len octets more behind the others. False: no memory. */
static bool out_room(struct conn *conn, size_t len)
{
	size_t need = conn->out_len + len, cap = conn->out_cap < 512 ? 512 : conn->out_cap;
	char *grown;

	if (conn->out_from + need <= conn->out_cap)
		return true;
	if (conn->out_from >= conn->out_len && conn->out_from > 0) { /* no more is moved than was written since */
		memmove(conn->out, conn->out + conn->out_from, conn->out_len);
		conn->out_from = 0;
	}
	while (cap < conn->out_from + need)
		cap *= 2;
	if (cap == conn->out_cap)
		return true;
	grown = mem_resize(conn->out, cap);
	if (grown == NULL)
		return false;
	conn->out = grown;
	conn->out_cap = cap;
	return true;
}

bool out_append(struct conn *conn, const char *data, size_t len)
{
	if (!out_room(conn, len))
		return false;
	if (len > 0)
		memcpy(conn->out + conn->out_from + conn->out_len, data, len);
	conn->out_len += len;
	return true;
}

static void out_written(struct conn *conn, size_t n)
{
	conn->out_from += n;
	conn->out_len -= n;
	conn->out_at += n;
	if (conn->out_len > 0)
		return;
	conn->out_from = 0;
	if (conn->out_cap <= OUT_KEEP)
		return;
	mem_free(conn->out);
	conn->out = NULL;
	conn->out_cap = 0;
}

static void on_room(uv_write_t *req, int status)
{
	struct conn *conn = req->data;

	if (conn->closing)
		return;
	if (status != 0) {
		conn->out_at--; /* the octet never left */
		conn->full = false;
		conn_close(conn);
		return;
	}
	conn->full = false;
	end_heard(conn);
	dirty_mark(conn);
}

/* Of what libuv is given nobody learns how much the kernel had when it fails; of one octet there is nothing to learn. */
static void wait_for_room(struct conn *conn)
{
	uv_buf_t buf = uv_buf_init(&conn->octet, 1);

	conn->octet = conn->out[conn->out_from];
	conn->write.data = conn;
	if (uv_write(&conn->write, (uv_stream_t *)&conn->pipe, &buf, 1, on_room) != 0) {
		conn_close(conn);
		return;
	}
	conn->full = true;
	out_written(conn, 1);
}

void write_now(struct conn *conn)
{
	uv_buf_t buf =
	    uv_buf_init(conn->out + conn->out_from, conn->out_len < INT_MAX ? (unsigned)conn->out_len : INT_MAX);
	int n = uv_try_write((uv_stream_t *)&conn->pipe, &buf, 1);

	if (n < 0 && n != UV_EAGAIN) {
		conn_close(conn);
		return;
	}
	if (n > 0)
		out_written(conn, (size_t)n);
	if (conn->out_len > 0)
		wait_for_room(conn);
	if (!conn->closing)
		end_heard(conn);
}

/* Puts an answer into the stream. */
static void emit(struct conn *conn, struct turn *turn, struct slice head, struct slice body)
{
	turn->at = conn->out_at + conn->out_len;
	if (!out_append(conn, head.data, head.len) || !out_append(conn, body.data, body.len)) {
		conn_close(conn);
		turn_end(conn->set, turn, false);
	} else if (turn->watched) {
		turn_append(&conn->sent, turn);
	} else {
		turn_end(conn->set, turn, true);
	}
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

bool conn_tell(struct conn *conn, struct slice line)
{
	/* Half of what stops the reading, so that events alone never do. */
	if (conn->closing || conn->out_len + conn->held_octets > conn->set->limits.max_unread / 2)
		return false;
	if (!out_append(conn, line.data, line.len))
		return false;
	dirty_mark(conn);
	return true;
}

void conn_must_tell(struct conn *conn, struct slice line)
{
	if (conn->closing)
		return;
	if (out_append(conn, line.data, line.len))
		dirty_mark(conn);
	else
		conn_finish(conn);
}

void turn_open(struct turn *turn, struct conn *conn, bool ordered)
{
	*turn = (struct turn){.conn = conn, .ordered = ordered};
	turn_append(ordered ? &conn->open : &conn->loose, turn);
	conn->turns++;
}

void turn_expect(struct turn *turn, size_t octets)
{
	turn->expected = octets;
	turn->conn->expected += octets;
}

void turn_answer(struct turn *turn, struct slice head, struct slice body)
{
	struct conn *conn = turn->conn;

	assert(!turn->answered && conn != NULL);
	turn->answered = true;
	conn->expected -= turn->expected;
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
