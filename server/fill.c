/*
 * fill.c - the options of a request become the fields of its op; see call.h. dispatch.c calls it.
 *
 * Every octet that the op needs is copied into the call's text, which has room for the whole request.
 */
#include "call.h"

#include <sys/random.h>

#include "dispatch.h"

#define LIST_DEFAULT 100
#define LIST_MAX 1000
#define SWEEP_DEFAULT 1000
#define US_PER_MS 1000
#define HOLD_MIN_LEASE_MS 100 /* a shorter lease would be all renewals */

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
	return slice_copy(at, token);
}

static void fill_claim(struct call *call, const struct request *req, char **at)
{
	const struct conf *conf = call->dispatch->conf;
	struct ask *ask = &call->op.ask;

	ask->lease = us_of(option_number(req, OPT_LEASE, conf->lease_ms));
	ask->ttl = us_of(option_number(req, OPT_TTL, conf->ttl_ms));
	ask->atleast = us_of(option_number(req, OPT_ATLEAST, 0));
	ask->lapse =
	    option_number(req, OPT_LAPSE, CHOICE_LAPSE_RECLAIM) == CHOICE_LAPSE_UNKNOWN ? LAPSE_UNKNOWN : LAPSE_RECLAIM;
	ask->fp = slice_copy(at, option_text(req, OPT_FP));
	ask->owner = slice_copy(at, option_text(req, OPT_OWNER));
	call->own_token = request_has(req, OPT_TOKEN);
	ask->token = call->own_token ? slice_copy(at, option_text(req, OPT_TOKEN)) : make_token(call->dispatch, at);
}

static enum state as_of(const struct request *req)
{
	switch (option_number(req, OPT_AS, CHOICE_AS_DONE)) {
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
	struct slice result = req->body.data != NULL ? req->body : option_text(req, OPT_RESULT);

	oversize |= result.len > conf->max_body;
	if (oversize && call->verb == VERB_RESOLVE)
		return false;
	/* Many large ones under way would take much memory: until this one is answered its client counts as not reading. */
	if (result.len > 0 && !oversize)
		turn_expect(&call->turn, result.len);
	call->dropped = oversize || (result.data != NULL && !conf->store_result);
	if (!call->dropped)
		call->op.ask.result = slice_copy(at, result);
	return true;
}

static void fill_settlement(struct call *call, const struct request *req, char **at)
{
	struct ask *ask = &call->op.ask;

	ask->fence = option_number(req, OPT_FENCE, 0);
	ask->token = slice_copy(at, option_text(req, OPT_TOKEN));
	ask->ttl = us_of(option_number(req, OPT_TTL, 0));
	ask->lease = us_of(option_number(req, OPT_LEASE, 0));
	ask->as = as_of(req);
	ask->force = option_number(req, OPT_FORCE, 0) != 0;
	call->reason = slice_copy(at, option_text(req, OPT_REASON));
	call->want_result = option_number(req, OPT_RESULT, 0) != 0;
}

/* What binds the claim to its connection. False: it was refused. */
static bool fill_bind(struct call *call, const struct request *req)
{
	struct session *session = conn_session(call->turn.conn);
	struct bind *bind = &call->op.bind;

	bind->holder = &session->holder;
	bind->hold_ms = option_number(req, OPT_HOLD, 0);
	bind->notify = option_number(req, OPT_NOTIFY, 0) != 0;
	switch (option_number(req, OPT_DROP, CHOICE_DROP_KEEP)) {
	case CHOICE_DROP_RELEASE:
		bind->drop = DROP_RELEASE;
		break;
	case CHOICE_DROP_UNKNOWN:
		bind->drop = DROP_UNKNOWN;
		break;
	default:
		bind->drop = DROP_KEEP;
	}
	if (bind->hold_ms > 0 && call->op.ask.lease < HOLD_MIN_LEASE_MS * US_PER_MS) {
		call_refuse(call, ERR_BADOPT, "hold needs a lease of 100ms or more");
		return false;
	}
	/* From the first lease on a hold does not reach past its end; a renewal by hand may. */
	if (call->verb == VERB_CLAIM && bind->hold_ms > 0 && call->op.ask.lease > us_of(bind->hold_ms))
		call->op.ask.lease = us_of(bind->hold_ms);
	if (bind->notify)
		conn_listens(call->turn.conn);
	return true;
}

bool fill_record(struct call *call, const struct request *req, bool oversize)
{
	struct session *session = conn_session(call->turn.conn);
	char *at = call->text + call->tag.len;

	session->ns_settled = true;
	op_init(&call->op, OP_RECORD, call_key(&at, session, req->key));
	call->ns_len = session->ns.len;
	if (call->op.key.len > PROTO_MAX_KEY) {
		call_refuse(call, ERR_TOOLONG, "the key with its namespace is above 1024 octets");
		return false;
	}
	call->op.ask.verb = ask_of(call->verb);
	call->op.wait_ms = option_number(req, OPT_WAIT, 0);
	if (call->verb == VERB_CLAIM)
		fill_claim(call, req, &at);
	else
		fill_settlement(call, req, &at);
	if (call->verb == VERB_CLAIM && call->op.ask.token.data == NULL) {
		call_refuse(call, ERR_INTERNAL, "the kernel gave no random octets");
		return false;
	}
	if (verb_info(call->verb)->body && !fill_result(call, req, oversize, &at)) {
		call_refuse(call, ERR_TOOBIG, "the result is above max_body; the record was not changed");
		return false;
	}
	return (call->verb != VERB_CLAIM && call->verb != VERB_RENEW) || fill_bind(call, req);
}

bool fill_scan(struct call *call, const struct request *req)
{
	const struct session *session = conn_session(call->turn.conn);
	char *at = call->text + call->tag.len;
	struct scan *scan = &call->op.scan;
	int64_t fallback = call->verb == VERB_SWEEP ? SWEEP_DEFAULT : LIST_DEFAULT;
	int64_t limit;

	op_init(&call->op, call->verb == VERB_LIST ? OP_LIST : OP_SWEEP, SLICE_ABSENT);
	call->ns_len = session->ns.len;
	scan->state = (int)option_number(req, OPT_STATE, -1);
	if (scan->state == CHOICE_STATE_UNKNOWN)
		fallback = LIST_MAX;
	limit = option_number(req, OPT_LIMIT, fallback);
	scan->limit = limit > LIST_MAX ? LIST_MAX : (size_t)limit;
	scan->prefix = call_key(&at, session, option_text(req, OPT_PREFIX));
	scan->owner = slice_copy(&at, option_text(req, OPT_OWNER));
	scan->cursor = slice_copy(&at, option_text(req, OPT_CURSOR));
	scan->older = us_of(option_number(req, OPT_OLDER, 0));
	scan->dry = option_number(req, OPT_DRY, 0) != 0;
	if (scan->state == CHOICE_STATE_UNKNOWN && scan->cursor.data != NULL) {
		call_refuse(call, ERR_BADOPT, "state=unknown has one page, the oldest first: there is no cursor");
		return false;
	}
	return true;
}
