/* expect.c - see expect.h. Of the daemon it uses the parser alone, which has targets of its own. */
#include "expect.h"

#include <stdlib.h>
#include <string.h>

#include "../../server/admin_http.h"
#include "fuzz.h"

#define MAX_REPLY ((size_t)1 << 24)

struct win {
	struct win *next;
	char *key;
	size_t key_len;
	int64_t fence;
};

/* A request, until it is answered. */
struct asked {
	struct asked *next;
	char *line; /* the request points into it */
	char *key;  /* whole, with the namespace */
	size_t key_len;
	struct request req;
	enum err code;  /* with which it must be refused; ERR_NONE: it may be taken */
	bool forbidden; /* ERR denied, if it is not refused for another reason */
	int64_t items;  /* of a LIST, so far */
};

/* Octets that are not whole frames yet. */
struct stream {
	char *data;
	size_t len;
};

struct expect {
	struct wins *wins;
	struct expect_limits limits;
	struct stream said, heard;
	struct asked *first, **end;
	struct frame frame;
	size_t drain;   /* octets of an oversize body to come, with its LF */
	char *oversize; /* the line that it belongs to */
	size_t oversize_len;
	char *ns; /* with its colon; NULL: none */
	size_t ns_len;
	bool ns_settled;
	bool spoken; /* a line has come */
	bool http;
	bool over; /* nothing more is taken */
	bool listens;
};

/* ---- octets ---- */

static void stream_add(struct stream *stream, const char *data, size_t len)
{
	if (len == 0)
		return;
	stream->data = realloc(stream->data, stream->len + len);
	must(stream->data != NULL);
	memcpy(stream->data + stream->len, data, len);
	stream->len += len;
}

static void stream_take(struct stream *stream, size_t len)
{
	stream->len -= len;
	if (len > 0 && stream->len > 0)
		memmove(stream->data, stream->data + len, stream->len);
}

/* ---- what was asked ---- */

static bool has_fence_0(const struct request *req)
{
	return request_has(req, OPT_FENCE) && req->value[OPT_FENCE].number == 0;
}

static bool is_operators(const struct request *req)
{
	bool exact = request_has(req, OPT_FENCE) && !(request_has(req, OPT_FORCE) && req->value[OPT_FORCE].number != 0);

	return req->verb == VERB_FORGET || req->verb == VERB_SWEEP || req->verb == VERB_SHUTDOWN ||
	       (req->verb == VERB_RESOLVE && !exact);
}

static bool is_keyed(const struct request *req)
{
	return req->key.data != NULL && req->verb != VERB_HELP;
}

static void take_namespace(struct expect *expect, struct asked *asked)
{
	const struct request *req = &asked->req;
	struct slice ns = request_has(req, OPT_NS) ? req->value[OPT_NS].text : SLICE_ABSENT;

	if (req->verb == VERB_HELLO && ns.data != NULL) {
		asked->forbidden |= expect->ns_settled;
		if (!asked->forbidden) {
			expect->ns = malloc(ns.len + 1);
			must(expect->ns != NULL);
			memcpy(expect->ns, ns.data, ns.len);
			expect->ns[ns.len] = ':';
			expect->ns_len = ns.len + 1;
		}
	}
	if (!asked->forbidden &&
	    (req->verb == VERB_HELLO || req->verb == VERB_WATCH || (is_keyed(req) && !has_fence_0(req))))
		expect->ns_settled = true;
}

/* The meaning of a good request for those that come after it. */
static void take_meaning(struct expect *expect, struct asked *asked)
{
	const struct request *req = &asked->req;

	asked->forbidden = is_operators(req) && !expect->limits.operator_;
	take_namespace(expect, asked);
	if (is_keyed(req)) {
		asked->key_len = expect->ns_len + req->key.len;
		asked->key = malloc(asked->key_len + 1);
		must(asked->key != NULL);
		if (expect->ns_len > 0)
			memcpy(asked->key, expect->ns, expect->ns_len);
		memcpy(asked->key + expect->ns_len, req->key.data, req->key.len);
	}
	if (!asked->forbidden)
		expect->listens |= req->verb == VERB_WATCH || (request_has(req, OPT_NOTIFY) &&
							       req->value[OPT_NOTIFY].number != 0 && !has_fence_0(req));
	expect->over |= req->verb == VERB_QUIT;
}

static struct asked *asked_new(struct expect *expect, const char *line, size_t len, struct slice body)
{
	struct asked *asked = calloc(1, sizeof *asked);
	struct errbuf err;

	must(asked != NULL);
	asked->line = exact_copy(line, len);
	asked->code = request_parse(&asked->req, asked->line, len, body, &err);
	asked->req.body = SLICE_ABSENT;
	if (asked->code == ERR_NONE)
		take_meaning(expect, asked);
	return asked;
}

static void asked_add(struct expect *expect, struct asked *asked)
{
	*expect->end = asked;
	expect->end = &asked->next;
}

static void asked_free(struct asked *asked)
{
	free(asked->line);
	free(asked->key);
	free(asked);
}

/* The framing is in doubt: it is told so, and that is the end. */
static void asked_broken(struct expect *expect, enum err code)
{
	struct asked *asked = calloc(1, sizeof *asked);

	must(asked != NULL);
	asked->req.verb = VERB__COUNT;
	asked->code = code;
	asked_add(expect, asked);
	expect->over = true;
}

/* A line, with its body: a request, or the first of HTTP. */
static void take_line(struct expect *expect, const char *line, size_t len, struct slice body)
{
	if (len == 0)
		return;
	expect->http = !expect->spoken && admin_http_is((struct slice){line, len});
	expect->over |= expect->http;
	expect->spoken = true;
	if (!expect->http)
		asked_add(expect, asked_new(expect, line, len, body));
}

/* The body of a request that is too large; false: it has not come whole. */
static bool take_drain(struct expect *expect)
{
	struct stream *said = &expect->said;
	size_t n = expect->drain < said->len ? expect->drain : said->len;
	bool good = said->data[n - 1] == '\n';

	stream_take(said, n);
	expect->drain -= n;
	if (expect->drain > 0)
		return false;
	if (good)
		take_line(expect, expect->oversize, expect->oversize_len, SLICE_ABSENT);
	else
		asked_broken(expect, ERR_SYNTAX);
	free(expect->oversize);
	expect->oversize = NULL;
	return true;
}

/* One frame; false: it is not whole. */
static bool take_frame(struct expect *expect)
{
	const struct expect_limits *limits = &expect->limits;
	struct stream *said = &expect->said;
	struct frame *frame = &expect->frame;
	struct slice body = SLICE_ABSENT;
	struct errbuf err;
	size_t size = 0;

	switch (frame_scan(frame, said->data, said->len, limits->max_line, limits->max_body, &err)) {
	case FRAME_MORE:
		return false;
	case FRAME_BROKEN:
		asked_broken(expect, frame->err);
		return true;
	case FRAME_OVERSIZE:
		size = frame->body_at;
		expect->oversize = exact_copy(said->data, frame->line_len);
		expect->oversize_len = frame->line_len;
		expect->drain = frame->body_len + 1;
		break;
	case FRAME_READY:
		size = frame->size;
		if (frame->has_body)
			body = (struct slice){said->data + frame->body_at, frame->body_len};
		take_line(expect, said->data, frame->line_len, body);
		break;
	}
	stream_take(said, size);
	*frame = (struct frame){0};
	return true;
}

void expect_said(struct expect *expect, const char *data, size_t len)
{
	bool more = true;

	stream_add(&expect->said, data, len);
	while (more && expect->said.len > 0 && !expect->over)
		more = expect->drain > 0 ? take_drain(expect) : take_frame(expect);
}

/* ---- what was heard ---- */

#define W(word) (1u << WORD_##word)

/* The words that answer a verb, but for ERR. */
static unsigned words_of(const struct request *req)
{
	static const unsigned holder = W(OK) | W(STALE);

	switch (req->verb) {
	case VERB_CLAIM:
		return W(WON) | W(HELD) | W(DONE) | W(FAILED) | W(MISMATCH) | W(UNKNOWN);
	case VERB_RENEW:
	case VERB_COMPLETE:
	case VERB_FAIL:
	case VERB_RELEASE:
	case VERB_DOUBT:
	case VERB_CHECK:
		return holder;
	case VERB_STATUS:
		return W(STATUS) | (req->key.data != NULL ? W(NOTFOUND) : 0);
	case VERB_LIST:
		return W(ITEM) | W(END);
	case VERB_RESOLVE:
		return holder | W(NOTFOUND) | W(HELD) | W(DONE) | W(FAILED);
	case VERB_FORGET:
		return holder | W(NOTFOUND) | W(HELD) | W(UNKNOWN);
	case VERB_SWEEP:
	case VERB_WATCH:
	case VERB_KEY:
	case VERB_HELLO:
	case VERB_PING:
	case VERB_STATS:
	case VERB_HELP:
	case VERB_QUIT:
	case VERB_SHUTDOWN:
		return W(OK);
	case VERB__COUNT:
		break;
	}
	return 0;
}

/* A good request may be refused so; one that needs nothing of the store may not. */
static bool may_refuse(const struct request *req, enum err err)
{
	bool of_store = is_keyed(req) || req->verb == VERB_LIST || req->verb == VERB_SWEEP;
	bool with_body = req->verb == VERB_KEY || req->verb == VERB_RESOLVE;

	return (err == ERR_BADKEY && req->verb == VERB_KEY) || (err == ERR_TOOBIG && with_body) ||
	       (err == ERR_BADOPT && (of_store || req->verb == VERB_KEY)) || (err == ERR_TOOLONG && is_keyed(req)) ||
	       (of_store && (err == ERR_BUSY || err == ERR_STORE || err == ERR_TIMEOUT || err == ERR_INTERNAL));
}

/* ERR_NONE: it may be taken. */
static enum err refused_with(const struct asked *asked)
{
	return asked->code == ERR_NONE && asked->forbidden ? ERR_DENIED : asked->code;
}

static bool fits(const struct asked *asked, const struct reply *reply)
{
	if (refused_with(asked) != ERR_NONE)
		return reply->code == WORD_ERR && reply->err == refused_with(asked);
	if (reply->code == WORD_ERR)
		return may_refuse(&asked->req, reply->err);
	return reply->code != WORD_NONE && (words_of(&asked->req) & 1u << reply->code) != 0;
}

static void check_won(struct expect *expect, const struct asked *asked, const struct reply *reply)
{
	int64_t fence = reply_integer(reply, "fence", 0);
	struct slice was = reply_field(reply, "was");
	struct win *win;

	must(fence > 0 && reply_integer(reply, "attempts", 0) > 0 && reply_integer(reply, "lease_ms", -1) >= 0);
	if (slice_equal(was, SLICE_OF("own")))
		return;
	must(slice_equal(was, SLICE_OF("new")) || slice_equal(was, SLICE_OF("free")) ||
	     slice_equal(was, SLICE_OF("lapsed")));
	for (win = expect->wins->first; win != NULL; win = win->next)
		must(win->fence != fence || win->key_len != asked->key_len ||
		     memcmp(win->key, asked->key, win->key_len) != 0);
	win = malloc(sizeof *win);
	must(win != NULL);
	*win = (struct win){expect->wins->first, exact_copy(asked->key, asked->key_len), asked->key_len, fence};
	expect->wins->first = win;
}

static void check_reply(struct expect *expect, struct asked *asked, const struct reply *reply, bool sure)
{
	if (reply->code == WORD_WON && sure)
		check_won(expect, asked, reply);
	if (reply->code == WORD_ERR)
		must(slice_equal(reply_field(reply, "retry"), err_retry(reply->err)) &&
		     reply_field(reply, "msg").len > 0);
	if (reply->code == WORD_ITEM)
		asked->items++;
	if (reply->code == WORD_END)
		must(reply_integer(reply, "count", -1) == asked->items);
	if (reply->code == WORD_OK && asked->req.verb == VERB_KEY)
		must(reply_field(reply, "key").len == 64);
	if (reply->code == WORD_OK)
		must((reply->body.data != NULL) == (asked->req.verb == VERB_STATS || asked->req.verb == VERB_HELP));
	else if (reply->body.data != NULL)
		must(reply->code == WORD_DONE || reply->code == WORD_FAILED || reply->code == WORD_STATUS);
}

static bool is_for(const struct asked *asked, struct slice tag)
{
	struct slice own = request_has(&asked->req, OPT_TAG) ? asked->req.value[OPT_TAG].text : SLICE_ABSENT;

	return (own.data == NULL) == (tag.data == NULL) && slice_equal(own, tag);
}

/* The first one without a tag. */
static struct asked **find_ordered(struct expect *expect)
{
	struct asked **at = &expect->first;

	while (*at != NULL && !is_for(*at, SLICE_ABSENT))
		at = &(*at)->next;
	return at;
}

/* One with this tag; a client may have several. Then one that must be refused is the likelier one to be told ERR, and what
 * was won by whom is not known (*sure). */
static struct asked **find_tagged(struct expect *expect, struct slice tag, const struct reply *reply, bool *sure)
{
	struct asked **found = NULL, **at;
	size_t count = 0;

	for (at = &expect->first; *at != NULL; at = &(*at)->next) {
		if (!is_for(*at, tag) || !fits(*at, reply))
			continue;
		if (found == NULL || (refused_with(*found) == ERR_NONE && refused_with(*at) != ERR_NONE))
			found = at;
		count++;
	}
	*sure = count == 1;
	return found != NULL ? found : at;
}

static void take_reply(struct expect *expect, const struct reply *reply)
{
	struct slice tag = reply_field(reply, "tag");
	bool sure = true;
	struct asked **at = tag.data == NULL ? find_ordered(expect) : find_tagged(expect, tag, reply, &sure);
	struct asked *asked = *at;

	must(asked != NULL && fits(asked, reply));
	check_reply(expect, asked, reply, sure);
	if (reply->code == WORD_ITEM)
		return;
	*at = asked->next;
	if (asked->next == NULL)
		expect->end = at;
	asked_free(asked);
}

static void take_event(const struct expect *expect, const struct reply *reply)
{
	must(expect->listens);
	must(slice_equal(reply->word, SLICE_OF("MISSED"))
		 ? reply_integer(reply, "count", 0) > 0
		 : reply_field(reply, "key").data != NULL && reply_integer(reply, "fence", 0) > 0);
}

void expect_heard(struct expect *expect, const char *data, size_t len)
{
	struct stream *heard = &expect->heard;
	struct errbuf err;

	stream_add(heard, data, len);
	if (expect->http) {
		must(heard->len < 5 || memcmp(heard->data, "HTTP/", 5) == 0);
		return;
	}
	while (heard->len > 0) {
		struct frame frame = {0};
		struct slice body = SLICE_ABSENT;
		struct reply reply;
		enum frame_state state = frame_scan(&frame, heard->data, heard->len, PROTO_MAX_LINE, MAX_REPLY, &err);

		if (state == FRAME_MORE)
			return;
		must(state == FRAME_READY);
		if (frame.has_body)
			body = (struct slice){heard->data + frame.body_at, frame.body_len};
		must(reply_parse(&reply, heard->data, frame.line_len, body, &err));
		if (reply.event)
			take_event(expect, &reply);
		else
			take_reply(expect, &reply);
		stream_take(heard, frame.size);
	}
}

/* ---- begin and end ---- */

struct expect *expect_new(struct wins *wins, const struct expect_limits *limits)
{
	struct expect *expect = calloc(1, sizeof *expect);

	must(expect != NULL);
	expect->wins = wins;
	expect->limits = *limits;
	expect->end = &expect->first;
	return expect;
}

void expect_free(struct expect *expect)
{
	while (expect->first != NULL) {
		struct asked *asked = expect->first;

		expect->first = asked->next;
		asked_free(asked);
	}
	free(expect->oversize);
	free(expect->said.data);
	free(expect->heard.data);
	free(expect->ns);
	free(expect);
}

size_t expect_open(const struct expect *expect, int64_t patience_ms)
{
	size_t open = 0;

	for (const struct asked *asked = expect->first; asked != NULL; asked = asked->next)
		open += asked->code != ERR_NONE || !request_has(&asked->req, OPT_WAIT) ||
			asked->req.value[OPT_WAIT].number <= patience_ms;
	return open;
}

bool expect_listens(const struct expect *expect)
{
	return expect->listens;
}

void wins_release(struct wins *wins)
{
	while (wins->first != NULL) {
		struct win *win = wins->first;

		wins->first = win->next;
		free(win->key);
		free(win);
	}
}
