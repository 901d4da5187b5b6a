/*
 * call.c - the memory of a request and of a connection's session; see call.h. dispatch.c calls it.
 *
 * Without memory for a call there is a small reserve, enough to say ERR busy; when that is out too, the connection closes.
 */
#include "call.h"

#include <string.h>

#include "../proto/mem.h"
#include "clock.h"
#include "dispatch.h"

#define RESERVE_CALLS 16

/* ---- sessions ---- */

bool session_take_namespace(struct session *session, struct slice ns)
{
	char *copy = mem_alloc(ns.len + 1);

	if (copy == NULL)
		return false;
	memcpy(copy, ns.data, ns.len);
	copy[ns.len] = ':';
	mem_free((void *)(uintptr_t)session->ns.data);
	session->ns = (struct slice){copy, ns.len + 1};
	return true;
}

struct session *session_new(int fd, const char *ns, const struct access *access)
{
	struct session *session = mem_zero(sizeof *session);

	if (session == NULL)
		return NULL;
	if (ns != NULL && !session_take_namespace(session, slice_from(ns))) {
		mem_free(session);
		return NULL;
	}
	session->fresh = true;
	session->admitted = access_admit(access, fd, &session->pid, &session->uid);
	return session;
}

bool session_may_use(const struct session *session, const struct access *access)
{
	struct slice ns = session->ns;

	if (ns.data != NULL)
		ns.len--; /* the colon */
	return access_namespace(access, session->uid, ns);
}

void session_free(struct session *session)
{
	mem_free((void *)(uintptr_t)session->ns.data);
	mem_free(session);
}

/* ---- calls ---- */

void call_free(struct call *call)
{
	struct dispatch *dispatch = call->dispatch;

	op_release(&call->op);
	if (call->reserve) {
		call->spare = dispatch->reserve;
		dispatch->reserve = call;
	} else {
		mem_free(call);
	}
}

void call_refuse(struct call *call, enum err code, const char *why)
{
	char head[2048];
	struct writer w;

	call->dispatch->stats->errors[code]++;
	writer_init(&w, head, sizeof head);
	answer_error(&w, call->tag, code, why);
	turn_answer(&call->turn, writer_done(&w), SLICE_ABSENT);
}

int64_t option_number(const struct request *req, enum option option, int64_t fallback)
{
	return request_has(req, option) ? req->value[option].number : fallback;
}

struct slice option_text(const struct request *req, enum option option)
{
	return request_has(req, option) ? req->value[option].text : SLICE_ABSENT;
}

struct call *call_new(struct dispatch *dispatch, struct conn *conn, const struct request *req, size_t text_len)
{
	const struct session *session = conn_session(conn);
	struct call *call = mem_alloc(sizeof *call + text_len);
	bool tagged = request_has(req, OPT_TAG);
	bool refuse = call == NULL;
	char *at;

	if (refuse) {
		call = dispatch->reserve;
		if (call == NULL) {
			conn_close(conn);
			return NULL;
		}
		dispatch->reserve = call->spare;
	}
	memset(call, 0, sizeof *call);
	call->dispatch = dispatch;
	call->reserve = refuse;
	call->verb = req->verb;
	call->pid = session->pid;
	call->uid = session->uid;
	call->start_us = clock_mono_us();
	at = call->text;
	call->tag = slice_copy(&at, tagged ? req->value[OPT_TAG].text : SLICE_ABSENT);
	turn_open(&call->turn, conn, !tagged);
	if (!refuse)
		return call;
	call_refuse(call, ERR_BUSY, NO_MEMORY);
	return NULL;
}

struct slice call_key(char **at, const struct session *session, struct slice key)
{
	char *start = *at;

	slice_copy(at, session->ns);
	slice_copy(at, key);
	return (struct slice){start, (size_t)(*at - start)};
}

bool call_reserve(struct dispatch *dispatch)
{
	dispatch->reserve = NULL;
	for (int i = 0; i < RESERVE_CALLS; i++) {
		struct call *call = mem_zero(sizeof *call + option_info(OPT_TAG)->limit);

		if (call == NULL) {
			call_reserve_free(dispatch);
			return false;
		}
		call->spare = dispatch->reserve;
		dispatch->reserve = call;
	}
	return true;
}

void call_reserve_free(struct dispatch *dispatch)
{
	struct call *call;

	while ((call = dispatch->reserve) != NULL) {
		dispatch->reserve = call->spare;
		mem_free(call);
	}
}
