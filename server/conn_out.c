/*
 * conn_out.c - the answering half of a connection: answers get into their order, then into the kernel.
 *
 * `sure` is the heart of it: the octets that the kernel has. A turn whose answer starts before that mark may have been heard.
 */
#include "conn_impl.h"

#include <assert.h>
#include <string.h>

#include "../proto/mem.h"

#define OUT_KEEP 4096 /* an output buffer up to this size is kept for the next answer */

bool out_append(struct conn *conn, const char *data, size_t len)
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

void write_now(struct conn *conn)
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
