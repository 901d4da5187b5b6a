/*
 * plain.c - requests that need no store: they are answered at once, in their turn. See call.h; dispatch.c calls them.
 */
#include "config.h"

#include "call.h"

#include "../proto/mem.h"
#include "content_key.h"
#include "dispatch.h"
#include "help.h"

#define CAPS "wait,hold,drop,notify,watch,key"

void plain_hello(struct call *call, const struct request *req)
{
	const struct conf *conf = call->dispatch->conf;
	struct session *session = conn_session(call->turn.conn);
	char head[1024];
	struct writer w;

	if (request_has(req, OPT_NS)) {
		if (!access_namespace(call->dispatch->access, session->uid, req->value[OPT_NS].text)) {
			account_denied(call, "the namespace is for other users");
			return;
		}
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
	log_event(call->dispatch->log, LOG_LEVEL_DEBUG, "hello", "a client says who it is",
		  (struct log_field[]){log_slice("client", option_text(req, OPT_CLIENT)),
				       log_slice("ns", option_text(req, OPT_NS)), log_int("pid", call->pid),
				       log_int("uid", call->uid), log_end()});
	writer_init(&w, head, sizeof head);
	reply_begin(&w, WORD_OK);
	reply_number(&w, "proto", PROTO_VERSION);
	reply_bytes(&w, "server", SLICE_OF("claimd/" PACKAGE_VERSION));
	reply_bytes(&w, "caps", slice_from(conf->run_unguarded ? CAPS ",unguarded" : CAPS));
	reply_number(&w, "max_line", PROTO_MAX_LINE);
	reply_number(&w, "max_body", (int64_t)conf->max_body);
	reply_number(&w, "max_key", PROTO_MAX_KEY);
	reply_number(&w, "max_owner", (int64_t)option_info(OPT_OWNER)->limit);
	reply_number(&w, "max_fp", (int64_t)option_info(OPT_FP)->limit);
	reply_number(&w, "max_token", (int64_t)option_info(OPT_TOKEN)->limit);
	reply_number(&w, "max_tag", (int64_t)option_info(OPT_TAG)->limit);
	reply_number(&w, "max_json", PROTO_MAX_JSON);
	reply_end(&w, call->tag, SLICE_ABSENT);
	turn_answer(&call->turn, writer_done(&w), SLICE_ABSENT);
}

static void answer_ok(struct call *call, struct slice body)
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

void plain_ok(struct call *call)
{
	answer_ok(call, SLICE_ABSENT);
}

/* Text with one octet of room behind it becomes a body with its LF. */
static void answer_text(struct call *call, char *text, size_t len)
{
	text[len] = '\n';
	answer_ok(call, (struct slice){text, len});
}

void plain_help(struct call *call, const struct request *req)
{
	char text[HELP_MAX + 1];
	struct writer w;

	writer_init(&w, text, HELP_MAX);
	help_write(&w, req->key.data == NULL ? VERB__COUNT : verb_find(req->key));
	answer_text(call, text, w.len);
}

void plain_stats(struct call *call)
{
	struct dispatch *dispatch = call->dispatch;
	struct stats_view view;
	char *text = mem_alloc(STATS_MAX_TEXT + 1);

	if (text == NULL) {
		call_refuse(call, ERR_BUSY, NO_MEMORY);
		return;
	}
	dispatch->look(dispatch->arg, &view);
	answer_text(call, text, stats_format(dispatch->stats, &view, text, STATS_MAX_TEXT));
	mem_free(text);
}

void plain_status(struct call *call)
{
	const struct session *session = conn_session(call->turn.conn);
	struct dispatch *dispatch = call->dispatch;
	char head[2048];
	struct writer w;

	writer_init(&w, head, sizeof head);
	reply_begin(&w, WORD_STATUS);
	dispatch->say_status(dispatch->arg, session->ns, &w);
	reply_end(&w, call->tag, SLICE_ABSENT);
	turn_answer(&call->turn, writer_done(&w), SLICE_ABSENT);
}

/* The event stream begins behind this OK. */
void plain_watch(struct call *call, const struct request *req)
{
	struct dispatch *dispatch = call->dispatch;
	struct session *session = conn_session(call->turn.conn);
	struct watch_ask ask = {SLICE_ABSENT, session->ns.len, -1};
	char *at = call->text + call->tag.len;

	session->ns_settled = true;
	ask.state = (int)option_number(req, OPT_STATE, -1);
	ask.prefix = call_key(&at, session, option_text(req, OPT_PREFIX));
	if (!watch_start(&dispatch->watchers, &session->watcher, session->conn, &ask)) {
		call_refuse(call, ERR_BUSY, NO_MEMORY);
		return;
	}
	conn_listens(session->conn);
	plain_ok(call);
}

void plain_key(struct call *call, const struct request *req, bool oversize)
{
	struct content_key_ask ask = {.json = req->body};
	char head[256], hex[65];
	struct writer w;
	struct errbuf err;
	enum err code;

	if (oversize) {
		call_refuse(call, ERR_TOOBIG, "the JSON is above max_body: send only what tells one job from another");
		return;
	}
	ask.fields = option_text(req, OPT_FIELDS);
	ask.except = option_text(req, OPT_EXCEPT);
	ask.round = option_text(req, OPT_ROUND);
	code = content_key(&ask, hex, &err);
	if (code != ERR_NONE) {
		call_refuse(call, code, err.text);
		return;
	}
	writer_init(&w, head, sizeof head);
	reply_begin(&w, WORD_OK);
	reply_bytes(&w, "key", slice_from(hex));
	reply_end(&w, call->tag, SLICE_ABSENT);
	turn_answer(&call->turn, writer_done(&w), SLICE_ABSENT);
}

void plain_quit(struct call *call)
{
	struct conn *conn = call->turn.conn;

	plain_ok(call);
	conn_finish(conn);
}

void plain_unguarded(struct call *call)
{
	char head[256];
	struct writer w;

	writer_init(&w, head, sizeof head);
	reply_begin(&w, WORD_OK);
	reply_number(&w, "guarded", 0);
	reply_end(&w, call->tag, SLICE_ABSENT);
	turn_answer(&call->turn, writer_done(&w), SLICE_ABSENT);
}

void plain_shutdown(struct call *call, const struct request *req)
{
	struct dispatch *dispatch = call->dispatch;

	log_event(dispatch->log, LOG_LEVEL_INFO, "shutdown", "a client asks the daemon to leave",
		  (struct log_field[]){log_int("pid", call->pid), log_int("uid", call->uid),
				       log_slice("reason", option_text(req, OPT_REASON)), log_end()});
	plain_ok(call);
	dispatch->shutdown(dispatch->arg);
}
