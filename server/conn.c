/*
 * conn.c - the life of one client's connection; see conn.h for what it promises, conn_in.c and conn_out.c for the two ways.
 *
 * In:  read -> take -> frame by frame to handler->request. All connections share one buffer for reading; a connection has memory of
 *      its own only while it holds an unfinished frame, so that ten thousand idle ones cost little.
 * Out: turn_answer -> in order into `out` -> flush, once per turn of the loop -> the kernel. When the kernel has no more room the
 *      next octet, and no more, is given to libuv: its being written tells that there is room again.
 * End: the peer's end of input closes when everything is answered: it may still read (a half-closed peer). One that is gone closes
 *      at once, so that nothing more is done for a client that is dead; writing to it fails, so its wins count as unheard. An error
 *      of reading or writing, or no memory, closes at once; turns that are open then are detached, and end when they are answered.
 */
#include "conn_impl.h"

#include <poll.h>
#include <unistd.h>

#include "../proto/mem.h"

/* ---- small lists ---- */

void turn_append(struct turn_list *list, struct turn *turn)
{
	turn->next = NULL;
	turn->prev = list->last;
	if (list->last != NULL)
		list->last->next = turn;
	else
		list->first = turn;
	list->last = turn;
}

void turn_unlink(struct turn_list *list, struct turn *turn)
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

void dirty_mark(struct conn *conn)
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
	set->strangers -= conn->stranger;
	mem_free(conn->in);
	mem_free(conn->out);
	mem_free((void *)(uintptr_t)conn->kept.data);
	mem_free(conn);
	if (set->emptied != NULL)
		set->emptied(set->emptied_arg);
}

void turn_end(struct conn_set *set, struct turn *turn, bool heard)
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
		else
			conn->set->handler.gone(conn->set->handler.arg, turn);
	}
}

void end_heard(struct conn *conn)
{
	struct turn *turn;

	while ((turn = conn->sent.first) != NULL && turn->at < out_taken(conn)) {
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
	if (conn->seat != NULL)
		*conn->seat = NULL;
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
	return conn->turns == 0 && conn->out_len == 0 && !conn->full;
}

/* ---- the whole ---- */

void conn_finish(struct conn *conn)
{
	conn->finishing = true;
	dirty_mark(conn);
}

void conn_listens(struct conn *conn)
{
	conn->listening = true;
}

void conn_write_last(struct conn *conn, struct slice text)
{
	if (out_append(conn, text.data, text.len))
		conn_finish(conn);
	else
		conn_close(conn);
}

/* Nothing is asked for, so what poll tells is POLLHUP or POLLERR: it closed both halves. */
bool conn_gone(const struct conn *conn)
{
	struct pollfd look = {.fd = -1};

	return uv_fileno((const uv_handle_t *)&conn->pipe, &look.fd) == 0 && poll(&look, 1, 0) == 1;
}

void conn_end_gone(struct conn *conn)
{
	if (!conn->closing && (conn->turns > 0 || conn->listening) && conn_gone(conn))
		conn_close(conn);
}

void conn_set_beat(struct conn_set *set)
{
	/* Of all others libuv tells. */
	for (struct conn *conn = set->first; conn != NULL; conn = conn->next) {
		if (conn->eof || conn->finishing || held_back(conn))
			conn_end_gone(conn);
		if (conn->nonsense >= CONN_NONSENSE && !conn->closing)
			dirty_mark(conn);
		conn->nonsense = 0;
	}
}

void *conn_session(struct conn *conn)
{
	return conn->session;
}

/* True: requests were taken up. */
static bool conn_flush(struct conn *conn)
{
	size_t before;

	if (conn->out_len > 0 && !conn->full)
		write_now(conn);
	if (conn->closing)
		return false;
	before = conn->in_len;
	if (before > 0 && !conn->finishing && !held_back(conn))
		take_kept(conn);
	if (conn->closing)
		return false;
	if ((conn->finishing || (conn->eof && !conn->listening)) && all_written(conn))
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

void conn_set_close_answered(struct conn_set *set)
{
	for (struct conn *conn = set->first; conn != NULL; conn = conn->next) {
		/* What is in the list has an answer that its client was not offered yet. */
		if (conn->turns == 0 && conn->dirty_link == NULL)
			conn_close(conn);
	}
}

bool conn_set_init(struct conn_set *set)
{
	set->scratch = mem_alloc(CONN_SCRATCH);
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

bool conn_open_stranger(struct conn_set *set, int fd, void *session)
{
	struct conn **seat = &set->seat[set->seat_next];

	if (!conn_open(set, fd, session))
		return false;
	set->first->stranger = true;
	set->strangers++;
	set->seat_next = (set->seat_next + 1) % CONN_STRANGERS;
	if (*seat != NULL)
		conn_close(*seat);
	if (!set->first->closing) {
		*seat = set->first;
		set->first->seat = seat;
	}
	return true;
}
