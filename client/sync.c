/*
 * sync.c - the blocking calls of libclaim: claim.h over link.h.
 *
 * Happy path: a call is queued, the link connects, sends and receives while we poll, the reply is kept for the accessors.
 * Failure modes: nobody listens (at once CLAIM_E_UNREACHABLE when nothing of the call ever left), the connection is cut (the
 * link asks again what may be asked again, until the deadline), no answer in time (the connection is closed, since a late
 * answer would be taken for that of the next call), no memory.
 */
#include "claim.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "../proto/mem.h"
#include "error.h"
#include "link.h"

struct claim_conn {
	struct link link;
	int timeout_ms;
	int64_t deadline_ms;
	struct call call;          /* the one under way, or the last one */
	bool open;                 /* its last line has not come */
	const struct reply *reply; /* of the last call; NULL: none */
	struct errbuf detail;
};

struct claim_grant {
	int64_t fence;
	char token[65];
	size_t key_len;
	char key[];
};

/* ---- the connection ---- */

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
	conn->timeout_ms = timeout_ms;
	*out = conn;
	return CLAIM_OK;
}

/* Whatever is under way is not waited for. */
static void conn_drop(claim_conn *conn)
{
	if (conn->open)
		link_forget(&conn->link, &conn->call);
	conn->open = false;
	conn->reply = NULL;
	call_release(&conn->call);
}

void claim_close(claim_conn *conn)
{
	if (!conn)
		return;
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

/* ---- one call ---- */

static int conn_fail(claim_conn *conn, int code, const char *why)
{
	err_set(&conn->detail, "%s", why);
	conn_drop(conn);
	return code;
}

/* Time is up, or there is nobody to ask: was anything done? */
static int conn_give_up(claim_conn *conn)
{
	struct link *link = &conn->link;
	bool tried = conn->call.tried;
	if (link->fd >= 0)
		err_set(&conn->detail, "no answer from %s within %d ms", link->path, conn->timeout_ms);
	else
		err_set(&conn->detail, "cannot reach %s: %s", link->path, link->why.text);
	conn_drop(conn);
	return tried ? CLAIM_E_UNCERTAIN : CLAIM_E_UNREACHABLE;
}

/* Behind every value of a reply there is an octet that belongs to nobody (a space, "=", CR or LF, or the rest of an escape): the
 * accessors hand out strings. */
static void terminate(struct slice text)
{
	if (text.data)
		((char *)(uintptr_t)text.data)[text.len] = '\0';
}

static int conn_answer(claim_conn *conn, const struct client_event *event)
{
	const struct reply *reply = event->reply;
	int code = error_from_reply(reply);
	terminate(reply->word);
	terminate(reply->err_name);
	terminate(reply->body);
	for (size_t i = 0; i < reply->count; i++) {
		terminate(reply->field[i].name);
		terminate(reply->field[i].value);
	}
	conn->reply = reply;
	conn->open = !event->last;
	if (code < 0) {
		struct slice msg = reply_field(reply, "msg");
		err_set(&conn->detail, "%.*s: %s", (int)reply->err_name.len,
			reply->err_name.len ? reply->err_name.data : "", msg.data ? msg.data : claim_strerror(code));
	}
	return code;
}

/* What the link has to tell. True: the call is over, with *code. */
static bool conn_take(claim_conn *conn, int *code)
{
	for (;;) {
		struct client_event event = link_next(&conn->link);
		switch (event.kind) {
		case CLIENT_NOTHING:
			return false;
		case CLIENT_REPLY:
			*code = conn_answer(conn, &event);
			return true;
		case CLIENT_CUT:
			conn->open = false;
			*code = conn_fail(conn, CLAIM_E_UNCERTAIN, conn->link.why.text);
			return true;
		case CLIENT_BROKEN:
			if (conn->link.client.refused == ERR_NONE && conn->call.tried)
				break;
			*code = conn_fail(conn, error_from_hello(conn->link.client.refused), conn->link.why.text);
			return true;
		case CLIENT_EVENT:
		default:
			break;
		}
	}
}

/* Nobody listens there, and waiting a moment would not change that. */
static bool nobody_there(const struct link *link)
{
	return link->fd < 0 && link->sys_errno != 0 && link->sys_errno != EAGAIN;
}

static int conn_wait(claim_conn *conn)
{
	struct link *link = &conn->link;
	for (;;) {
		int code;
		int64_t now = link_now_ms();
		link_process(link, now);
		if (conn_take(conn, &code))
			return code;
		if (now >= conn->deadline_ms || (nobody_there(link) && !conn->call.tried))
			return conn_give_up(conn);
		int64_t due = link_due(link) < conn->deadline_ms ? link_due(link) : conn->deadline_ms;
		struct pollfd fd = {.fd = link_fd(link), .events = link_events(link)};
		poll(&fd, 1, due > now ? (int)(due - now) : 0);
	}
}

int claim_call(claim_conn *conn, const char *line, size_t line_len, const void *body, size_t body_len)
{
	conn->detail.text[0] = '\0';
	if (conn->link.pid != getpid()) {
		err_set(&conn->detail, "%s", claim_strerror(CLAIM_E_FORKED));
		return CLAIM_E_FORKED;
	}
	conn_drop(conn);
	if (line_len == 0 || line_len > PROTO_MAX_LINE || memchr(line, '\n', line_len) || memchr(line, '\0', line_len))
		return conn_fail(conn, CLAIM_E_INVAL, "a request is one line of at most 8192 octets");
	if (!call_init(&conn->call, (struct slice){line, line_len}, (struct slice){body, body_len}))
		return conn_fail(conn, CLAIM_E_NOMEM, claim_strerror(CLAIM_E_NOMEM));
	conn->open = true;
	conn->deadline_ms = link_now_ms() + conn->timeout_ms;
	client_ask(&conn->link.client, &conn->call);
	return conn_wait(conn);
}

int claim_next(claim_conn *conn)
{
	if (conn->link.pid != getpid())
		return CLAIM_E_FORKED;
	if (!conn->open)
		return CLAIM_END;
	conn->deadline_ms = link_now_ms() + conn->timeout_ms;
	conn->reply = NULL;
	int code;
	/* Many lines come in one read: first what is here already. */
	return conn_take(conn, &code) ? code : conn_wait(conn);
}

/* ---- the last answer ---- */

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

/* ---- claims ---- */

static claim_grant *grant_new(const void *key, size_t key_len, const char *token)
{
	claim_grant *grant = mem_zero(sizeof(*grant) + key_len);
	if (!grant)
		return NULL;
	memcpy(grant->key, key, key_len);
	grant->key_len = key_len;
	if (token)
		memcpy(grant->token, token, strlen(token));
	else if (!link_token(grant->token)) {
		mem_free(grant);
		return NULL;
	}
	return grant;
}

static void options_write(struct writer *w, const struct claim_options *options)
{
	if (!options)
		return;
	if (options->lease_ms)
		request_duration(w, OPT_LEASE, options->lease_ms);
	if (options->ttl_ms)
		request_duration(w, OPT_TTL, options->ttl_ms == CLAIM_NEVER ? PROTO_NEVER : options->ttl_ms);
	request_bytes(w, OPT_FP, slice_from(options->fp));
	request_bytes(w, OPT_OWNER, slice_from(options->owner));
	if (options->lapse_unknown)
		request_choice(w, CHOICE_LAPSE_UNKNOWN);
}

/* What the writer could not refuse by itself: the daemon would read an empty value as a mistake of ours. */
static bool options_valid(const struct claim_options *options)
{
	if (!options)
		return true;
	size_t token = options->token ? strlen(options->token) : PROTO_MIN_TOKEN;
	return options->size == sizeof(*options) && options->lease_ms >= 0 && options->ttl_ms >= 0 &&
	       token >= PROTO_MIN_TOKEN && token <= option_info(OPT_TOKEN)->limit && !(options->fp && !*options->fp) &&
	       !(options->owner && !*options->owner);
}

int claim_acquire(claim_conn *conn, const void *key, size_t key_len, const struct claim_options *options,
		  claim_grant **out)
{
	char line[PROTO_MAX_LINE];
	struct writer w;
	if (key_len == 0 || key_len > PROTO_MAX_KEY || !options_valid(options))
		return conn_fail(conn, CLAIM_E_INVAL,
				 "a key has 1 to 1024 octets, a token 16 to 64, and no option is empty");
	claim_grant *grant = grant_new(key, key_len, options ? options->token : NULL);
	if (!grant)
		return conn_fail(conn, CLAIM_E_NOMEM, claim_strerror(CLAIM_E_NOMEM));
	writer_init(&w, line, sizeof(line));
	request_begin(&w, VERB_CLAIM, (struct slice){key, key_len});
	options_write(&w, options);
	request_bytes(&w, OPT_TOKEN, slice_from(grant->token));
	int code = w.full ? conn_fail(conn, CLAIM_E_INVAL, "the options are too long")
			  : claim_call(conn, line, w.len, NULL, 0);
	grant->fence = claim_number(conn, "fence", 0);
	if (code == CLAIM_WON && grant->fence < 1)
		code = conn_fail(conn, CLAIM_E_PROTOCOL, "WON came without a fence");
	if (code == CLAIM_WON)
		*out = grant;
	else
		claim_grant_free(grant);
	return code;
}

void claim_grant_free(claim_grant *grant)
{
	mem_free(grant);
}

int64_t claim_grant_fence(const claim_grant *grant)
{
	return grant->fence;
}

const char *claim_grant_token(const claim_grant *grant)
{
	return grant->token;
}

static int grant_call(claim_conn *conn, const claim_grant *grant, enum verb verb, int64_t lease_ms, struct slice body)
{
	char line[PROTO_MAX_LINE];
	struct writer w;
	writer_init(&w, line, sizeof(line));
	request_begin(&w, verb, (struct slice){grant->key, grant->key_len});
	request_integer(&w, OPT_FENCE, grant->fence);
	request_bytes(&w, OPT_TOKEN, slice_from(grant->token));
	if (verb == VERB_RENEW)
		request_duration(&w, OPT_LEASE, lease_ms);
	return claim_call(conn, line, w.len, body.data, body.len);
}

int claim_complete(claim_conn *conn, const claim_grant *grant, const void *result, size_t result_len)
{
	return grant_call(conn, grant, VERB_COMPLETE, 0, (struct slice){result, result_len});
}

int claim_fail(claim_conn *conn, const claim_grant *grant, const void *result, size_t result_len)
{
	return grant_call(conn, grant, VERB_FAIL, 0, (struct slice){result, result_len});
}

int claim_release(claim_conn *conn, const claim_grant *grant)
{
	return grant_call(conn, grant, VERB_RELEASE, 0, SLICE_ABSENT);
}

int claim_doubt(claim_conn *conn, const claim_grant *grant)
{
	return grant_call(conn, grant, VERB_DOUBT, 0, SLICE_ABSENT);
}

int claim_renew(claim_conn *conn, const claim_grant *grant, int64_t lease_ms)
{
	return grant_call(conn, grant, VERB_RENEW, lease_ms, SLICE_ABSENT);
}

int claim_check(claim_conn *conn, const claim_grant *grant)
{
	return grant_call(conn, grant, VERB_CHECK, 0, SLICE_ABSENT);
}
