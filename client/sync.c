/*
 * sync.c - the blocking calls of libclaim: claim.h over link.h.
 *
 * Happy path: a call is queued, the link connects, sends and receives while we poll, the reply is kept for the accessors.
 * Failure modes: nobody listens (at once CLAIM_E_UNREACHABLE when nothing of the call ever left), the connection is cut (the
 * link asks again what may be asked again, until the deadline), no answer in time (the connection is closed, since a late
 * answer would be taken for that of the next call), no memory. What comes meanwhile for calls of async.c is given to those.
 */
#include "conn.h"

#include <limits.h>
#include <poll.h>
#include <string.h>

#include "error.h"

/* ---- one call ---- */

/* Whatever is under way is not waited for. */
static void call_drop(claim_conn *conn)
{
	if (conn->open)
		link_forget(&conn->link, &conn->call);
	conn->open = false;
	conn->reply = NULL;
	call_release(&conn->call);
}

static int call_fail(claim_conn *conn, int code, const char *why)
{
	call_drop(conn);
	return conn_fail(conn, code, why);
}

static int call_give_up(claim_conn *conn)
{
	int code = conn_give_up(conn, &conn->call);
	conn->open = false;
	call_drop(conn);
	return code;
}

/* What the link has to tell. True: the call is over, with *code. */
static bool call_take(claim_conn *conn, int *code)
{
	for (;;) {
		struct client_event event = link_next(&conn->link);
		switch (event.kind) {
		case CLIENT_NOTHING:
			return false;
		case CLIENT_BROKEN:
			if (conn->link.client.refused == ERR_NONE && conn->call.tried)
				break;
			*code = call_fail(conn, error_from_hello(conn->link.client.refused), conn->link.why.text);
			return true;
		case CLIENT_REPLY:
		case CLIENT_CUT:
			if (event.call != &conn->call) {
				async_take(conn, &event);
				break;
			}
			if (event.kind == CLIENT_REPLY) {
				*code = conn_answer(conn, &event);
				conn->open = !event.last;
			} else {
				conn->open = false;
				*code = call_fail(conn, CLAIM_E_UNCERTAIN, conn->link.why.text);
			}
			return true;
		case CLIENT_EVENT:
		default:
			async_take(conn, &event);
		}
	}
}

static int call_turn(claim_conn *conn)
{
	struct link *link = &conn->link;
	for (;;) {
		int code;
		int64_t now = link_now_ms();
		link_process(link, now);
		if (call_take(conn, &code))
			return code;
		async_look(conn);
		if (now >= conn->deadline_ms || (conn_nobody_there(conn) && !conn->call.tried))
			return call_give_up(conn);
		int64_t due = link_due(link) < conn->deadline_ms ? link_due(link) : conn->deadline_ms;
		struct pollfd fd = {.fd = link_fd(link), .events = link_events(link)};
		poll(&fd, 1, due <= now ? 0 : due - now < INT_MAX ? (int)(due - now) : INT_MAX);
	}
}

static int call_wait(claim_conn *conn)
{
	conn->blocking = true;
	int code = call_turn(conn);
	conn->blocking = false;
	conn->unseen = true;
	async_watch(conn);
	return code;
}

/* May a call that blocks begin? Inside a callback another one may be under way. */
static int call_may(claim_conn *conn)
{
	int code = conn_usable(conn);
	if (code == CLAIM_OK && conn->calling_back)
		code = conn_fail(conn, CLAIM_E_INVAL, "a call that blocks is not possible from inside a callback");
	return code;
}

/* more_ms: how much longer it may take than the connection's timeout. */
static int call_line(claim_conn *conn, struct slice line, struct slice body, int64_t more_ms)
{
	int code = call_may(conn);
	if (code != CLAIM_OK)
		return code;
	call_drop(conn);
	if (!conn_line_good(line, body.data))
		return call_fail(conn, CLAIM_E_INVAL, "a request is one line of at most 8192 octets");
	if (!call_init(&conn->call, line, body))
		return call_fail(conn, CLAIM_E_NOMEM, claim_strerror(CLAIM_E_NOMEM));
	conn->open = true;
	conn->deadline_ms = time_add(time_add(link_now_ms(), conn->timeout_ms), more_ms);
	client_ask(&conn->link.client, &conn->call);
	return call_wait(conn);
}

int claim_call(claim_conn *conn, const char *line, size_t line_len, const void *body, size_t body_len)
{
	return call_line(conn, (struct slice){line, line_len}, (struct slice){body, body_len}, 0);
}

int claim_next(claim_conn *conn)
{
	int code = call_may(conn);
	if (code != CLAIM_OK)
		return code;
	if (!conn->open)
		return CLAIM_END;
	conn->deadline_ms = link_now_ms() + conn->timeout_ms;
	conn->reply = NULL;
	/* Many lines come in one read: first what is here already. */
	return call_take(conn, &code) ? code : call_wait(conn);
}

/* ---- claims ---- */

int claim_acquire(claim_conn *conn, const void *key, size_t key_len, const struct claim_options *options,
		  claim_grant **out)
{
	char line[GRANT_LINE];
	struct writer w;
	claim_grant *grant;
	int code = call_may(conn);
	if (code != CLAIM_OK)
		return code;
	call_drop(conn);
	writer_init(&w, line, sizeof(line));
	code = grant_claim_line(&w, (struct slice){key, key_len}, options, &grant);
	if (code != CLAIM_OK)
		return call_fail(
		    conn, code,
		    code == CLAIM_E_NOMEM
			? claim_strerror(code)
			: "a key has 1 to 1024 octets, a token 16 to 64 and none with drop, and no option is empty");
	if (conn->disabled)
		code = CLAIM_WON;
	else
		code = grant_won(conn, call_line(conn, writer_done(&w), SLICE_ABSENT, grant_wait_ms(options)), grant);
	if (code == CLAIM_WON)
		*out = grant;
	else
		claim_grant_free(grant);
	return code;
}

static int grant_call(claim_conn *conn, const claim_grant *grant, enum verb verb, int64_t lease_ms, struct slice body)
{
	char line[GRANT_LINE];
	struct writer w;
	if (conn->disabled)
		return call_may(conn);
	writer_init(&w, line, sizeof(line));
	grant_line(&w, grant, verb, lease_ms);
	return call_line(conn, writer_done(&w), body, 0);
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
