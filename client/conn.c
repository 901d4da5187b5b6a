/*
 * conn.c - a connection of libclaim as a whole: open and closed, its last answer, what its failures are called. See conn.h.
 */
#include "conn.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../proto/mem.h"
#include "error.h"

/* ---- open and closed ---- */

int claim_open(claim_conn **out, const char *path, const char *ns, int timeout_ms)
{
	char standard[PATH_MAX];
	if (timeout_ms < 1 || (ns && !*ns))
		return CLAIM_E_INVAL;
	if (!path && !link_default_path(standard, sizeof(standard)))
		return CLAIM_E_INVAL;
	struct slice where = slice_from(path ? path : standard);
	if (where.len == 0 || where.len >= sizeof(((struct link *)0)->path) || (ns && strlen(ns) > 255))
		return CLAIM_E_INVAL;
	claim_conn *conn = mem_zero(sizeof(*conn));
	if (!conn)
		return CLAIM_E_NOMEM;
	if (!link_init(&conn->link, where, SLICE_OF("libclaim/0"), slice_from(ns))) {
		mem_free(conn);
		return CLAIM_E_NOMEM;
	}
	const char *disabled = getenv("CLAIMD_DISABLED");
	conn->disabled = disabled && strcmp(disabled, "1") == 0;
	conn->timeout_ms = timeout_ms;
	*out = conn;
	return CLAIM_OK;
}

void claim_close(claim_conn *conn)
{
	if (!conn)
		return;
	if (conn->calling_back) { /* claim_process still works with it, and closes it then */
		conn->closing = !conn->blocking;
		return;
	}
	async_release(conn);
	if (conn->link.epoll_fd >= 0)
		close(conn->link.epoll_fd);
	call_release(&conn->call);
	link_release(&conn->link);
	mem_free(conn);
}

const char *claim_socket(const claim_conn *conn)
{
	return conn->link.path;
}

const char *claim_detail(const claim_conn *conn)
{
	return conn->detail.text;
}

/* ---- what its failures are called ---- */

int conn_fail(claim_conn *conn, int code, const char *why)
{
	err_set(&conn->detail, "%s", why);
	conn->reply = NULL;
	return code;
}

int conn_usable(claim_conn *conn)
{
	conn->detail.text[0] = '\0';
	if (conn->link.pid != getpid())
		return conn_fail(conn, CLAIM_E_FORKED, claim_strerror(CLAIM_E_FORKED));
	if (conn->closing)
		return conn_fail(conn, CLAIM_E_INVAL, "the connection is closed");
	return CLAIM_OK;
}

int conn_give_up(claim_conn *conn, struct call *call)
{
	struct link *link = &conn->link;
	bool tried = call->tried;
	if (link->fd >= 0)
		err_set(&conn->detail, "no answer from %s in time", link->path);
	else
		err_set(&conn->detail, "cannot reach %s: %s", link->path, link->why.text);
	conn->reply = NULL;
	link_forget(link, call);
	return tried ? CLAIM_E_UNCERTAIN : CLAIM_E_UNREACHABLE;
}

bool conn_nobody_there(const claim_conn *conn)
{
	const struct link *link = &conn->link;
	return link->fd < 0 && link->sys_errno != 0 && link->sys_errno != EAGAIN;
}

bool conn_line_good(struct slice line, bool added)
{
	return line.len > 0 && line.len <= PROTO_MAX_LINE - (added ? CALL_ADDS : 0) &&
	       !memchr(line.data, '\n', line.len) && !memchr(line.data, '\0', line.len);
}

/* ---- the last answer ---- */

/* Behind every value of a reply there is an octet that belongs to nobody (a space, "=", CR or LF, or the rest of an escape): the
 * accessors hand out strings. The value of a bare name is a string already, and not ours to write to. */
static void terminate(struct slice text)
{
	if (text.data && text.data[text.len] != '\0')
		((char *)(uintptr_t)text.data)[text.len] = '\0';
}

int conn_answer(claim_conn *conn, const struct client_event *event)
{
	const struct reply *reply = event->reply;
	int code = reply->event ? CLAIM_EVENT : error_from_reply(reply);
	terminate(reply->word);
	terminate(reply->err_name);
	terminate(reply->body);
	for (size_t i = 0; i < reply->count; i++) {
		terminate(reply->field[i].name);
		terminate(reply->field[i].value);
	}
	conn->reply = reply;
	if (code < 0) {
		struct slice msg = reply_field(reply, "msg");
		err_set(&conn->detail, "%.*s: %s", (int)reply->err_name.len,
			reply->err_name.len ? reply->err_name.data : "", msg.data ? msg.data : claim_strerror(code));
	}
	return code;
}

const char *claim_word(const claim_conn *conn)
{
	return conn->reply ? conn->reply->word.data : "";
}

const char *claim_field(const claim_conn *conn, const char *name, size_t *len)
{
	struct slice value = conn->reply ? reply_field(conn->reply, name) : SLICE_ABSENT;
	if (!value.data && conn->reply && strcmp(name, "code") == 0)
		value = conn->reply->err_name;
	if (len)
		*len = value.len;
	return value.data;
}

const char *claim_field_at(const claim_conn *conn, size_t at, const char **name, size_t *len)
{
	if (!conn->reply || at >= conn->reply->count)
		return NULL;
	const struct field *field = &conn->reply->field[at];
	*name = field->name.data;
	if (len)
		*len = field->value.len;
	return field->value.data;
}

int64_t claim_number(const claim_conn *conn, const char *name, int64_t fallback)
{
	return conn->reply ? reply_integer(conn->reply, name, fallback) : fallback;
}

const void *claim_body(const claim_conn *conn, size_t *len)
{
	struct slice body = conn->reply ? conn->reply->body : SLICE_ABSENT;
	*len = body.len;
	return body.data;
}
