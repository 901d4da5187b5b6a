/*
 * admin.c - see admin.h. server.c opens it, calls admin_expire and closes it.
 *
 * A connection: read until the empty line -> admin_http_reply -> write -> say that this was all -> throw away what still comes
 * until the peer closes: closing over unread octets would reset the connection, and the peer might lose the answer.
 *
 * Whatever goes wrong (an error, no memory, the deadline, no place left) ends that connection and nothing else.
 */
#include "admin.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../proto/mem.h"
#include "address.h"
#include "admin_http.h"
#include "clock.h"

#define BACKLOG 64

struct admin_conn {
	uv_poll_t poll;
	struct admin *admin;
	struct admin_conn *prev, *next;
	int fd;
	int64_t deadline_ms;
	size_t in_len;
	char *out; /* the answer; NULL: the request is not whole yet. From mem_alloc */
	size_t out_at, out_len;
	char in[ADMIN_MAX_HEADER];
};

static void on_ready(uv_poll_t *poll, int status, int events);

/* ---- the end ---- */

static void on_closed(uv_handle_t *handle)
{
	struct admin_conn *conn = handle->data;

	mem_free(conn->out);
	mem_free(conn);
}

static void conn_end(struct admin_conn *conn)
{
	struct admin *admin = conn->admin;

	if (conn->prev != NULL)
		conn->prev->next = conn->next;
	else
		admin->first = conn->next;
	if (conn->next != NULL)
		conn->next->prev = conn->prev;
	else
		admin->last = conn->prev;
	admin->count--;
	uv_close((uv_handle_t *)&conn->poll, on_closed);
	close(conn->fd);
}

/* ---- one request, one answer ---- */

static void go_on(struct admin_conn *conn, int events)
{
	if (uv_poll_start(&conn->poll, events, on_ready) != 0)
		conn_end(conn);
}

static void write_on(struct admin_conn *conn)
{
	while (conn->out_at < conn->out_len) {
		ssize_t n = send(conn->fd, conn->out + conn->out_at, conn->out_len - conn->out_at, MSG_NOSIGNAL);

		if (n >= 0) {
			conn->out_at += (size_t)n;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			go_on(conn, UV_WRITABLE);
			return;
		} else if (errno != EINTR) {
			conn_end(conn);
			return;
		}
	}
	shutdown(conn->fd, SHUT_WR);
	go_on(conn, UV_READABLE);
}

/* Octets up to and with the empty line; 0: it has not come yet. */
static size_t header_len(const char *text, size_t len)
{
	for (size_t i = 1; i < len; i++)
		if (text[i] == '\n' && (text[i - 1] == '\n' || (i > 1 && text[i - 1] == '\r' && text[i - 2] == '\n')))
			return i + 1;
	return 0;
}

/* header.len 0: it is too long. */
static void answer(struct admin_conn *conn, struct slice header)
{
	const struct admin_source *source = &conn->admin->source;
	struct stats_view view;
	struct admin_view admin = {source->stats, &view};
	struct writer w;

	conn->out = mem_alloc(ADMIN_HTTP_MAX);
	if (conn->out == NULL) {
		conn_end(conn);
		return;
	}
	writer_init(&w, conn->out, ADMIN_HTTP_MAX);
	source->look(source->arg, &view);
	if (header.len == 0)
		admin_http_too_long(&w);
	else
		admin_http_reply(header, &admin, &w);
	conn->out_len = w.len;
	write_on(conn);
}

/* Once a turn of the loop, and no more than there is room for: the others have their turn. */
static void read_on(struct admin_conn *conn)
{
	bool answered = conn->out != NULL;
	size_t at = answered ? 0 : conn->in_len;
	ssize_t n = recv(conn->fd, conn->in + at, sizeof conn->in - at, 0);
	size_t len;

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
		conn_end(conn);
		return;
	}
	if (n < 0 || answered)
		return;
	conn->in_len += (size_t)n;
	len = header_len(conn->in, conn->in_len);
	if (len > 0 || conn->in_len == sizeof conn->in)
		answer(conn, (struct slice){conn->in, len});
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct admin_conn *conn = poll->data;

	(void)events;
	if (status != 0)
		conn_end(conn);
	else if (conn->out_at < conn->out_len)
		write_on(conn);
	else
		read_on(conn);
}

/* ---- who comes ---- */

static void on_accepted(void *arg, int fd)
{
	struct admin *admin = arg;
	struct admin_conn *conn = mem_alloc(sizeof *conn);

	if (conn == NULL || uv_poll_init(admin->listener.poll.loop, &conn->poll, fd) != 0) {
		mem_free(conn);
		close(fd);
		return;
	}
	conn->poll.data = conn;
	conn->admin = admin;
	conn->fd = fd;
	conn->deadline_ms = clock_mono_ms() + ADMIN_DEADLINE_MS;
	conn->in_len = conn->out_at = conn->out_len = 0;
	conn->out = NULL;
	conn->next = NULL;
	conn->prev = admin->last;
	if (admin->last != NULL)
		admin->last->next = conn;
	else
		admin->first = conn;
	admin->last = conn;
	admin->count++;
	if (admin->count > ADMIN_MAX_CONNS)
		conn_end(admin->first);
	go_on(conn, UV_READABLE);
}

void admin_expire(struct admin *admin, int64_t now_ms)
{
	while (admin->first != NULL && admin->first->deadline_ms <= now_ms)
		conn_end(admin->first);
}

/* ---- the socket ---- */

/* A listening TCP socket; -1: *err says why. *address is then where it is. */
static int listen_tcp(struct address *address, struct errbuf *err)
{
	char text[ADDRESS_MAX_TEXT];
	int on = 1;
	int fd = socket(address->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	address_show(address, text);
	if (fd < 0) {
		err_set(err, "cannot make a socket for %s: %s", text, strerror(errno));
		return -1;
	}
	/* A daemon that starts again shall not wait for what is left of the last one's connections. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, (const struct sockaddr *)&address->socket, address->len) != 0 || listen(fd, BACKLOG) != 0) {
		err_set(err, "cannot listen on %s: %s; choose another --admin", text, strerror(errno));
		close(fd);
		return -1;
	}
	getsockname(fd, (struct sockaddr *)&address->socket, &address->len);
	return fd;
}

bool admin_open(struct admin *admin, uv_loop_t *loop, const struct listener_options *at,
		const struct admin_source *source, struct errbuf *err)
{
	struct address address;
	bool open;
	int fd;

	if (!address_parse(&address, at->path, err))
		return false;
	if (address.len == 0) {
		snprintf(admin->shown, sizeof admin->shown, "%s", at->path);
		open = listener_open(&admin->listener, loop, at, err);
	} else {
		fd = listen_tcp(&address, err);
		if (fd < 0)
			return false;
		address_show(&address, admin->shown);
		open = listener_adopt(&admin->listener, loop, fd, err);
		if (!open)
			close(fd);
	}
	if (!open)
		return false;
	admin->open = true;
	admin->source = *source;
	listener_start(&admin->listener, on_accepted, admin);
	return true;
}

void admin_close(struct admin *admin)
{
	if (!admin->open)
		return;
	while (admin->first != NULL)
		conn_end(admin->first);
	listener_close(&admin->listener);
	admin->open = false;
}
