/*
 * dispatch.c - requests in, ops out; answered ops in, replies out. See dispatch.h and call.h.
 *
 *     on_request -> request_parse -> a verb without store: answered at once
 *                                 -> else fill_record or fill_scan -> engine_submit -> ... -> dispatch_answer -> turn_answer
 *     on_ended    <- the connection: the client heard the answer, or surely did not: then a fresh win is undone
 */
#include "config.h"

#include "dispatch.h"

#include <string.h>

#include "../proto/mem.h"
#include "admin_http.h"
#include "clock.h"

#define ITEM_OCTETS 256 /* of an item on a page, guessed */
#define DENIED_LINES 10
#define DENIED_INTERVAL_MS 10000

/* ---- requests that become an op ---- */

static void submit(struct call *call)
{
	struct dispatch *dispatch = call->dispatch;
	int64_t now_ms = clock_mono_ms();

	if (engine_recall(dispatch->engine, &call->op, now_ms)) {
		dispatch_answer(dispatch, &call->op);
		return;
	}
	call->with_engine = true;
	if (!engine_submit(dispatch->engine, &call->op, now_ms)) {
		call->with_engine = false;
		call_refuse(call, ERR_BUSY, NO_MEMORY);
	}
}

/* fence=0 is what a claim has that ran unguarded: there is no record of it. */
static bool is_unguarded(const struct request *req)
{
	return request_has(req, OPT_FENCE) && req->value[OPT_FENCE].number == 0;
}

static void do_record(struct call *call, const struct request *req, bool oversize)
{
	if (is_unguarded(req) && call->dispatch->conf->run_unguarded)
		plain_unguarded(call);
	else if (is_unguarded(req))
		call_refuse(call, ERR_BADOPT, "fence=0 is no claim: use the fence that WON gave");
	else if (fill_record(call, req, oversize))
		submit(call);
}

static void do_scan(struct call *call, const struct request *req)
{
	if (!fill_scan(call, req))
		return;
	/* Else a client that asks for many pages and reads none would have them all kept for it. */
	if (call->verb == VERB_LIST)
		turn_expect(&call->turn, call->op.scan.limit * ITEM_OCTETS);
	submit(call);
}

/* ---- who may what ---- */

static bool is_operators(const struct request *req)
{
	if (req->verb == VERB_RESOLVE) /* with the exact fence it does no more than COMPLETE could */
		return option_number(req, OPT_FORCE, 0) != 0 || !request_has(req, OPT_FENCE);
	return req->verb == VERB_FORGET || req->verb == VERB_SWEEP || req->verb == VERB_SHUTDOWN;
}

static bool sees_records(const struct request *req)
{
	return req->key.data != NULL ? req->verb != VERB_HELP
				     : req->verb == VERB_LIST || req->verb == VERB_SWEEP || req->verb == VERB_WATCH;
}

/* Why this client may not ask for that; NULL: it may. */
static const char *forbidden(const struct call *call, const struct request *req)
{
	const struct access *access = call->dispatch->access;
	const struct session *session = conn_session(call->turn.conn);

	if (is_operators(req) && !access_operator(access, session->uid))
		return "this is for operators: whom operator_uid names; where it is not set, root and the daemon's own "
		       "user";
	if (sees_records(req) && !session_may_use(session, access))
		return session->ns.data == NULL
			   ? "without a namespace only operators may: say HELLO ns=NAME first (claim: --namespace NAME)"
			   : "the namespace is for other users";
	return NULL;
}

/* ---- the handler ---- */

static void perform(struct call *call, const struct request *req, bool oversize)
{
	switch (req->verb) {
	case VERB_HELLO:
		plain_hello(call, req);
		break;
	case VERB_PING:
		plain_ok(call);
		break;
	case VERB_STATUS:
		if (req->key.data == NULL)
			plain_status(call);
		else
			do_record(call, req, false);
		break;
	case VERB_CLAIM:
	case VERB_RENEW:
	case VERB_COMPLETE:
	case VERB_FAIL:
	case VERB_RELEASE:
	case VERB_DOUBT:
	case VERB_CHECK:
	case VERB_RESOLVE:
	case VERB_FORGET:
		do_record(call, req, oversize);
		break;
	case VERB_LIST:
	case VERB_SWEEP:
		do_scan(call, req);
		break;
	case VERB_WATCH:
		plain_watch(call, req);
		break;
	case VERB_KEY:
		plain_key(call, req, oversize);
		break;
	case VERB_STATS:
		plain_stats(call);
		break;
	case VERB_HELP:
		plain_help(call, req);
		break;
	case VERB_SHUTDOWN:
		plain_shutdown(call, req);
		break;
	case VERB_QUIT:
		plain_quit(call);
		break;
	case VERB__COUNT:
		call_refuse(call, ERR_INTERNAL, "a verb that nobody handles");
		break;
	}
}

static void on_request(void *arg, struct conn *conn, struct slice line, struct slice body, bool oversize)
{
	struct dispatch *dispatch = arg;
	struct session *session = conn_session(conn);
	struct request req;
	struct errbuf err;
	const char *why;
	struct call *call;
	enum err code;

	session->conn = conn;
	if (session->fresh) {
		session->fresh = false;
		if (admin_http_is(line)) {
			if (session->admitted)
				conn_await_header(conn, line);
			else
				conn_close(conn);
			return;
		}
	}
	dispatch->stats->requests++;
	code = request_parse(&req, (char *)(uintptr_t)line.data, line.len, body, &err);
	call = call_new(dispatch, conn, &req, line.len + body.len + session->ns.len + TOKEN_OCTETS);
	if (call == NULL)
		return;
	if (!session->admitted) {
		account_denied(call, "this user may not use this daemon: see allow_uid and allow_gid");
		conn_finish(conn);
	} else if (code != ERR_NONE) {
		dispatch->stats->parse_refusals++;
		conn_nonsense(conn);
		call_refuse(call, code, err.text);
	} else if (dispatch->stopping) {
		call_refuse(call, ERR_DRAINING, "the daemon is leaving; nothing was done");
	} else if ((why = forbidden(call, &req)) != NULL) {
		account_denied(call, why);
	} else {
		perform(call, &req, oversize);
	}
}

static void on_broken(void *arg, struct conn *conn, enum err code, const char *why)
{
	struct dispatch *dispatch = arg;
	struct request none;
	struct call *call;

	none.given = 0;
	none.verb = VERB__COUNT;
	dispatch->stats->requests++;
	dispatch->stats->parse_refusals++;
	call = call_new(dispatch, conn, &none, 0);
	if (call != NULL)
		call_refuse(call, code, why);
}

static void on_http(void *arg, struct conn *conn, struct slice line)
{
	struct dispatch *dispatch = arg;
	struct stats_view view;
	struct admin_view admin = {dispatch->stats, &view};
	char *text = mem_alloc(ADMIN_HTTP_MAX);
	struct writer w;

	if (text == NULL) {
		conn_close(conn);
		return;
	}
	writer_init(&w, text, ADMIN_HTTP_MAX);
	dispatch->look(dispatch->arg, &view);
	if (admin_http_answer(line, &admin, &w))
		conn_write_last(conn, writer_done(&w));
	else
		conn_close(conn);
	mem_free(text);
}

/* Nobody can have heard of this win. */
static void undo(struct call *call)
{
	struct dispatch *dispatch = call->dispatch;
	struct grant grant;

	engine_undo(dispatch->engine, &call->op, clock_mono_ms());
	grants_settle(dispatch->grants, call->op.key, call->op.record.fence, &grant);
}

/* The turn is over. Whoever of engine and connection comes second frees the call. */
static void on_ended(void *arg, struct turn *turn, bool heard)
{
	struct call *call = (struct call *)(void *)turn;

	(void)arg;
	if (call->with_engine)
		return;
	if (call->granted && !heard)
		undo(call);
	call_free(call);
}

/* Nobody waits for it any more. */
static void on_gone(void *arg, struct turn *turn)
{
	struct dispatch *dispatch = arg;
	struct call *call = (struct call *)(void *)turn;

	if (call->with_engine)
		engine_leave(dispatch->engine, &call->op);
}

static void on_closed(void *arg, void *session)
{
	struct dispatch *dispatch = arg;
	struct session *ended = session;

	dispatch->stats->connections--;
	watch_end(&dispatch->watchers, &ended->watcher);
	engine_part(dispatch->engine, &ended->holder, clock_mono_ms());
	session_free(ended);
}

void dispatch_handler(struct dispatch *dispatch, struct conn_handler *handler)
{
	*handler = (struct conn_handler){on_request, on_broken, on_http, on_ended, on_gone, on_closed, dispatch};
}

/* ---- answers ---- */

void dispatch_late(void *arg, struct op *op)
{
	struct call *call = (struct call *)(void *)((char *)op - offsetof(struct call, op));

	(void)arg;
	if (call->turn.conn != NULL)
		call_refuse(
		    call, ERR_TIMEOUT,
		    op->kept
			? "the store cannot take it now; claimd keeps it and goes on trying: repeat it to hear the end"
			: "the store did not answer in time; it may still do it: repeat with the same token");
}

static void answer_scan(struct call *call)
{
	char *text;
	size_t len;

	if (!answer_page(call, &text, &len)) {
		call_refuse(call, ERR_BUSY, "out of memory; ask for fewer with limit=");
		return;
	}
	turn_answer(&call->turn, (struct slice){text, len}, SLICE_ABSENT);
	mem_free(text);
}

/* A body is followed by its LF, so the two are put together first. */
static void answer_with_body(struct call *call, struct slice head, struct slice body)
{
	char *text = mem_alloc(head.len + body.len + 1);

	if (text == NULL) {
		call_refuse(call, ERR_BUSY, "out of memory for the recorded result; try again");
		return;
	}
	memcpy(text, head.data, head.len);
	memcpy(text + head.len, body.data, body.len);
	text[head.len + body.len] = '\n';
	turn_answer(&call->turn, (struct slice){text, head.len + body.len + 1}, SLICE_ABSENT);
	mem_free(text);
}

/* The store surely did not take this CLAIM, and the owner of the daemon prefers the work done twice to not done. */
static bool runs_unguarded(const struct call *call)
{
	const struct op *op = &call->op;

	return call->dispatch->conf->run_unguarded && op->kind == OP_RECORD && op->ask.verb == ASK_CLAIM &&
	       op->result == OP_REFUSED && op->err == ERR_STORE && !op->unreadable && !op->doubted;
}

static void answer_record(struct call *call)
{
	char head[ANSWER_HEAD];
	struct writer w;
	struct slice body;

	writer_init(&w, head, sizeof head);
	answer_head(&w, call, &body);
	if (body.data != NULL)
		answer_with_body(call, writer_done(&w), body);
	else
		turn_answer(&call->turn, writer_done(&w), SLICE_ABSENT);
}

void dispatch_answer(void *arg, struct op *op)
{
	struct call *call = (struct call *)(void *)((char *)op - offsetof(struct call, op));
	bool answered_well = op->result == OP_APPLIED || op->result == OP_LOST;

	(void)arg;
	call->with_engine = false;
	call->granted = answered_well && op->kind == OP_RECORD && op->ask.verb == ASK_CLAIM && !call->own_token &&
			op->verdict.word == WORD_WON && op->verdict.was != WAS_OWN;
	call->turn.watched = call->granted;
	call->unguarded = runs_unguarded(call);
	account_answer(call);
	if (op->late || call->turn.conn == NULL) {
		/* Its client was told ERR timeout, or is gone. A late answer on a turn that still stands is freed with the turn. */
		if (call->granted)
			undo(call);
		call->granted = false;
		if (call->turn.conn == NULL)
			call_free(call);
		return;
	}
	if (op->kind == OP_LIST && answered_well)
		answer_scan(call);
	else
		answer_record(call);
}

/* ---- what happens besides ---- */

void dispatch_changed(void *arg, const struct op *op)
{
	struct dispatch *dispatch = arg;
	struct grant grant;

	watch_tell(&dispatch->watchers, op);
	if (op->own && op->record.state != STATE_CLAIMED) /* taken back, or ended by `drop` */
		grants_settle(dispatch->grants, op->key, op->ask.fence, &grant);
}

void dispatch_told(void *arg, struct holder *holder, const struct notice *notice)
{
	struct dispatch *dispatch = arg;
	struct session *session = (struct session *)(void *)((char *)holder - offsetof(struct session, holder));

	account_notice(dispatch, notice);
	if (notice->wanted)
		notice_tell(session->conn, session->ns.len, notice);
}

bool dispatch_gone(void *arg, const struct op *op)
{
	const struct call *call = (const struct call *)(const void *)((const char *)op - offsetof(struct call, op));

	(void)arg;
	return conn_gone(call->turn.conn);
}

bool dispatch_init(struct dispatch *dispatch)
{
	dispatch->denials = (struct log_limit){.burst = DENIED_LINES, .interval_ms = DENIED_INTERVAL_MS};
	dispatch->stopping = false;
	dispatch->random_left = 0;
	return call_reserve(dispatch);
}

void dispatch_release(struct dispatch *dispatch)
{
	call_reserve_free(dispatch);
}
