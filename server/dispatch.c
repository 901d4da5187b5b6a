/*
 * dispatch.c - requests in, ops out; answered ops in, replies out. See dispatch.h and call.h.
 *
 *     on_request -> request_parse -> a verb without store: answered at once
 *                                 -> else op_fill_* -> engine_submit -> ... -> dispatch_answer -> turn_answer
 *     on_ended    <- the connection: the client heard the answer, or surely did not: then a fresh win is undone
 */
#include "config.h"

#include "dispatch.h"

#include <string.h>
#include <sys/random.h>

#include "../proto/mem.h"
#include "admin_http.h"
#include "clock.h"
#include "help.h"

#define TOKEN_OCTETS 16
#define LIST_DEFAULT 100
#define LIST_MAX 1000
#define ITEM_OCTETS 256 /* of an item on a page, guessed */
#define SWEEP_DEFAULT 1000
#define US_PER_MS 1000

/* ---- requests that need no store ---- */

static void do_hello(struct call *call, const struct request *req, struct session *session)
{
	const struct conf *conf = call->dispatch->conf;
	char head[1024];
	struct writer w;

	if (request_has(req, OPT_NS)) {
		if (session->ns_settled || conf->namespace != NULL) {
			call_refuse(call, ERR_DENIED,
				    "the namespace is settled: by the daemon, an earlier HELLO or a verb with a key; "
				    "use a new connection");
			return;
		}
		if (!session_take_namespace(session, req->value[OPT_NS].text)) {
			call_refuse(call, ERR_BUSY, NO_MEMORY);
			return;
		}
	}
	session->ns_settled = true;
	writer_init(&w, head, sizeof head);
	reply_begin(&w, WORD_OK);
	reply_number(&w, "proto", PROTO_VERSION);
	reply_bytes(&w, "server", SLICE_OF("claimd/" PACKAGE_VERSION));
	reply_bytes(&w, "caps", SLICE_OF("wait"));
	reply_number(&w, "max_line", PROTO_MAX_LINE);
	reply_number(&w, "max_body", (int64_t)conf->max_body);
	reply_number(&w, "max_key", PROTO_MAX_KEY);
	reply_number(&w, "max_owner", (int64_t)option_info(OPT_OWNER)->limit);
	reply_number(&w, "max_fp", (int64_t)option_info(OPT_FP)->limit);
	reply_number(&w, "max_token", (int64_t)option_info(OPT_TOKEN)->limit);
	reply_number(&w, "max_tag", (int64_t)option_info(OPT_TAG)->limit);
	reply_end(&w, call->tag, SLICE_ABSENT);
	turn_answer(&call->turn, writer_done(&w), SLICE_ABSENT);
}

static void do_ok(struct call *call, struct slice body)
{
	char head[256];
	struct writer w;

	writer_init(&w, head, sizeof head);
	reply_begin(&w, WORD_OK);
	reply_end(&w, call->tag, body);
	if (body.data == NULL) {
		turn_answer(&call->turn, writer_done(&w), SLICE_ABSENT);
		return;
	}
	/* The body ends with its LF: it is the last octet of what the caller gives. */
	body.len++;
	turn_answer(&call->turn, writer_done(&w), body);
}

/* Text with one octet of room behind it becomes a body with its LF. */
static void do_text(struct call *call, char *text, size_t len)
{
	text[len] = '\n';
	do_ok(call, (struct slice){text, len});
}

static void do_help(struct call *call, const struct request *req)
{
	char text[HELP_MAX + 1];
	struct writer w;

	writer_init(&w, text, HELP_MAX);
	help_write(&w, req->key.data == NULL ? VERB__COUNT : verb_find(req->key));
	do_text(call, text, w.len);
}

static void do_stats(struct call *call)
{
	struct dispatch *dispatch = call->dispatch;
	struct stats_view view;
	char *text = mem_alloc(STATS_MAX_TEXT + 1);

	if (text == NULL) {
		call_refuse(call, ERR_BUSY, NO_MEMORY);
		return;
	}
	dispatch->look(dispatch->arg, &view);
	do_text(call, text, stats_format(dispatch->stats, &view, text, STATS_MAX_TEXT));
	mem_free(text);
}

static void do_daemon_status(struct call *call, const struct session *session)
{
	struct dispatch *dispatch = call->dispatch;
	char head[2048];
	struct writer w;

	writer_init(&w, head, sizeof head);
	reply_begin(&w, WORD_STATUS);
	dispatch->say_status(dispatch->arg, session->ns, &w);
	reply_end(&w, call->tag, SLICE_ABSENT);
	turn_answer(&call->turn, writer_done(&w), SLICE_ABSENT);
}

/* ---- requests that become an op ---- */

static enum ask_verb ask_of(enum verb verb)
{
	static const enum ask_verb table[VERB__COUNT] = {
	    [VERB_CLAIM] = ASK_CLAIM,   [VERB_RENEW] = ASK_RENEW,     [VERB_COMPLETE] = ASK_COMPLETE,
	    [VERB_FAIL] = ASK_FAIL,     [VERB_RELEASE] = ASK_RELEASE, [VERB_DOUBT] = ASK_DOUBT,
	    [VERB_CHECK] = ASK_CHECK,   [VERB_STATUS] = ASK_STATUS,   [VERB_RESOLVE] = ASK_RESOLVE,
	    [VERB_FORGET] = ASK_FORGET,
	};

	return table[verb];
}

static int64_t us_of(int64_t ms)
{
	return ms == PROTO_NEVER || ms > TIME_NEVER / US_PER_MS ? TIME_NEVER : ms * US_PER_MS;
}

/* An option's number, or what it is when it is not given. */
static int64_t number_of(const struct request *req, enum option option, int64_t fallback)
{
	return request_has(req, option) ? req->value[option].number : fallback;
}

static struct slice text_of(const struct request *req, enum option option)
{
	return request_has(req, option) ? req->value[option].text : SLICE_ABSENT;
}

/* A token for a call that brings none: nobody can repeat it, but the holder's verbs are checked against it. */
static struct slice make_token(struct dispatch *dispatch, char **at)
{
	struct slice token;

	if (dispatch->random_left < TOKEN_OCTETS) {
		if (getrandom(dispatch->random, sizeof dispatch->random, 0) != (ssize_t)sizeof dispatch->random)
			return SLICE_ABSENT;
		dispatch->random_left = sizeof dispatch->random;
	}
	dispatch->random_left -= TOKEN_OCTETS;
	token = (struct slice){(const char *)dispatch->random + dispatch->random_left, TOKEN_OCTETS};
	return call_copy(at, token);
}

static void fill_claim(struct call *call, const struct request *req, char **at)
{
	const struct conf *conf = call->dispatch->conf;
	struct ask *ask = &call->op.ask;

	ask->lease = us_of(number_of(req, OPT_LEASE, conf->lease_ms));
	ask->ttl = us_of(number_of(req, OPT_TTL, conf->ttl_ms));
	ask->atleast = us_of(number_of(req, OPT_ATLEAST, 0));
	ask->lapse =
	    number_of(req, OPT_LAPSE, CHOICE_LAPSE_RECLAIM) == CHOICE_LAPSE_UNKNOWN ? LAPSE_UNKNOWN : LAPSE_RECLAIM;
	ask->fp = call_copy(at, text_of(req, OPT_FP));
	ask->owner = call_copy(at, text_of(req, OPT_OWNER));
	call->own_token = request_has(req, OPT_TOKEN);
	ask->token = call->own_token ? call_copy(at, text_of(req, OPT_TOKEN)) : make_token(call->dispatch, at);
}

static enum state as_of(const struct request *req)
{
	switch (number_of(req, OPT_AS, CHOICE_AS_DONE)) {
	case CHOICE_AS_FAILED:
		return STATE_FAILED;
	case CHOICE_AS_FREE:
		return STATE_FREE;
	default:
		return STATE_DONE;
	}
}

/* COMPLETE, FAIL, RESOLVE: the outcome to record, from result= or the body. A result that is too large never costs the
 * holder the settlement; a person can give a shorter one, so then it is false. */
static bool fill_result(struct call *call, const struct request *req, bool oversize, char **at)
{
	const struct conf *conf = call->dispatch->conf;
	struct slice result = req->body.data != NULL ? req->body : text_of(req, OPT_RESULT);

	oversize |= result.len > conf->max_body;
	if (oversize && call->verb == VERB_RESOLVE)
		return false;
	call->dropped = oversize || (result.data != NULL && !conf->store_result);
	if (!call->dropped)
		call->op.ask.result = call_copy(at, result);
	return true;
}

static void fill_settlement(struct call *call, const struct request *req, char **at)
{
	struct ask *ask = &call->op.ask;

	ask->fence = number_of(req, OPT_FENCE, 0);
	ask->token = call_copy(at, text_of(req, OPT_TOKEN));
	ask->ttl = us_of(number_of(req, OPT_TTL, 0));
	ask->lease = us_of(number_of(req, OPT_LEASE, 0));
	ask->as = as_of(req);
	ask->force = number_of(req, OPT_FORCE, 0) != 0;
	call->reason = call_copy(at, text_of(req, OPT_REASON));
	call->want_result = number_of(req, OPT_RESULT, 0) != 0;
}

static void fill_scan(struct call *call, const struct request *req, const struct session *session, char **at)
{
	struct scan *scan = &call->op.scan;
	int64_t fallback = call->verb == VERB_SWEEP ? SWEEP_DEFAULT : LIST_DEFAULT;
	int64_t limit;

	call->ns_len = session->ns.len;
	scan->state = (int)number_of(req, OPT_STATE, -1);
	if (scan->state == CHOICE_STATE_UNKNOWN)
		fallback = LIST_MAX;
	limit = number_of(req, OPT_LIMIT, fallback);
	scan->limit = limit > LIST_MAX ? LIST_MAX : (size_t)limit;
	scan->prefix = call_key(at, session, text_of(req, OPT_PREFIX));
	scan->owner = call_copy(at, text_of(req, OPT_OWNER));
	scan->cursor = call_copy(at, text_of(req, OPT_CURSOR));
	scan->older = us_of(number_of(req, OPT_OLDER, 0));
	scan->dry = number_of(req, OPT_DRY, 0) != 0;
}

static void submit(struct call *call)
{
	struct dispatch *dispatch = call->dispatch;

	call->with_engine = true;
	if (!engine_submit(dispatch->engine, &call->op, clock_mono_ms())) {
		call->with_engine = false;
		call_refuse(call, ERR_BUSY, NO_MEMORY);
	}
}

static void do_record(struct call *call, const struct request *req, struct session *session, bool oversize)
{
	char *at = call->text + call->tag.len;

	session->ns_settled = true;
	op_init(&call->op, OP_RECORD, call_key(&at, session, req->key));
	call->ns_len = session->ns.len;
	if (call->op.key.len > PROTO_MAX_KEY) {
		call_refuse(call, ERR_TOOLONG, "the key with its namespace is above 1024 octets");
		return;
	}
	call->op.ask.verb = ask_of(call->verb);
	call->op.wait_ms = number_of(req, OPT_WAIT, 0);
	if (call->verb == VERB_CLAIM)
		fill_claim(call, req, &at);
	else
		fill_settlement(call, req, &at);
	if (call->verb == VERB_CLAIM && call->op.ask.token.data == NULL) {
		call_refuse(call, ERR_INTERNAL, "the kernel gave no random octets");
		return;
	}
	if (verb_info(call->verb)->body && !fill_result(call, req, oversize, &at)) {
		call_refuse(call, ERR_TOOBIG, "the result is above max_body; the record was not changed");
		return;
	}
	submit(call);
}

static void do_scan(struct call *call, const struct request *req, const struct session *session)
{
	char *at = call->text + call->tag.len;

	op_init(&call->op, call->verb == VERB_LIST ? OP_LIST : OP_SWEEP, SLICE_ABSENT);
	fill_scan(call, req, session, &at);
	/* Else a client that asks for many pages and reads none would have them all kept for it. */
	if (call->verb == VERB_LIST)
		turn_expect(&call->turn, call->op.scan.limit * ITEM_OCTETS);
	submit(call);
}

/* ---- the handler ---- */

static void perform(struct call *call, const struct request *req, struct conn *conn, bool oversize)
{
	struct session *session = conn_session(conn);

	switch (req->verb) {
	case VERB_HELLO:
		do_hello(call, req, session);
		break;
	case VERB_PING:
		do_ok(call, SLICE_ABSENT);
		break;
	case VERB_STATUS:
		if (req->key.data == NULL)
			do_daemon_status(call, session);
		else
			do_record(call, req, session, false);
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
		do_record(call, req, session, oversize);
		break;
	case VERB_LIST:
	case VERB_SWEEP:
		do_scan(call, req, session);
		break;
	case VERB_WATCH:
	case VERB_KEY:
	case VERB_SHUTDOWN:
		call_refuse(call, ERR_INTERNAL, "being written");
		break;
	case VERB_STATS:
		do_stats(call);
		break;
	case VERB_HELP:
		do_help(call, req);
		break;
	case VERB_QUIT:
		do_ok(call, SLICE_ABSENT);
		conn_finish(conn);
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
	struct call *call;
	enum err code;

	if (session->fresh) {
		session->fresh = false;
		if (admin_http_is(line)) {
			conn_await_header(conn, line);
			return;
		}
	}
	dispatch->stats->requests++;
	code = request_parse(&req, (char *)(uintptr_t)line.data, line.len, body, &err);
	call = call_new(dispatch, conn, &req, line.len + body.len + session->ns.len + TOKEN_OCTETS);
	if (call == NULL)
		return;
	if (code != ERR_NONE) {
		dispatch->stats->parse_refusals++;
		call_refuse(call, code, err.text);
	} else if (dispatch->stopping) {
		call_refuse(call, ERR_DRAINING, "the daemon is leaving; nothing was done");
	} else {
		perform(call, &req, conn, oversize);
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

	dispatch->stats->connections--;
	session_free(session);
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

bool dispatch_init(struct dispatch *dispatch)
{
	dispatch->stopping = false;
	dispatch->random_left = 0;
	return call_reserve(dispatch);
}

void dispatch_release(struct dispatch *dispatch)
{
	call_reserve_free(dispatch);
}
