/*
 * request.c - the daemon's reading of requests against made-up octets; `./dev fuzz` builds and runs it.
 *
 * The input is a stream of frames. Each is scanned at once and drip by drip, which must agree; a request that is accepted
 * is written again and read again, which must give the same request. The sanitizers watch the edges: every line
 * lies in a block of exactly its size.
 */
#include <stdlib.h>
#include <string.h>

#include "../../proto/proto.h"
#include "fuzz.h"

#define MAX_LINE 512
#define MAX_BODY 256

static void write_option(struct writer *w, const struct request *req, enum option option)
{
	const struct option_value *value = &req->value[option];
	switch (option_info(option)->kind) {
	case KIND_DURATION:
	case KIND_TTL:
		request_duration(w, option, value->number);
		break;
	case KIND_INTEGER:
		request_integer(w, option, value->number);
		break;
	case KIND_FLAG:
		/* There is no way to write "force=0": who does not mean it leaves it out. */
		if (value->number != 0)
			request_flag(w, option);
		break;
	case KIND_BYTES:
		request_bytes(w, option, value->text);
		break;
	case KIND_CHOICE:
		request_choice(w, (enum choice)value->number);
		break;
	}
}

static bool same_value(const struct request *a, const struct request *b, enum option option)
{
	enum option_kind kind = option_info(option)->kind;
	if (kind == KIND_FLAG)
		return (request_has(a, option) && a->value[option].number) ==
		       (request_has(b, option) && b->value[option].number);
	if (request_has(a, option) != request_has(b, option))
		return false;
	if (!request_has(a, option))
		return true;
	return kind == KIND_BYTES ? slice_equal(a->value[option].text, b->value[option].text)
				  : a->value[option].number == b->value[option].number;
}

/* What was read is written and read once more. */
static void round_trip(const struct request *req)
{
	static char text[8 * MAX_LINE + MAX_BODY];
	struct writer w;
	writer_init(&w, text, sizeof(text));
	request_begin(&w, req->verb, req->key);
	for (unsigned i = 0; i < OPT__COUNT; i++) {
		if (request_has(req, (enum option)i))
			write_option(&w, req, (enum option)i);
	}
	request_end(&w, req->body);
	if (req->body.data) {
		writer_slice(&w, req->body);
		writer_char(&w, '\n');
	}
	must(!w.full);

	struct frame frame = {0};
	struct errbuf err;
	must(frame_scan(&frame, text, w.len, sizeof(text), MAX_BODY, &err) == FRAME_READY);
	must(frame.size == w.len);
	struct slice body = frame.has_body ? (struct slice){text + frame.body_at, frame.body_len} : SLICE_ABSENT;
	struct request again;
	must(request_parse(&again, text, frame.line_len, body, &err) == ERR_NONE);
	must(again.verb == req->verb);
	must(slice_equal(again.key, req->key) && (again.key.data != NULL) == (req->key.data != NULL));
	must(slice_equal(again.body, req->body) && (again.body.data != NULL) == (req->body.data != NULL));
	for (unsigned i = 0; i < OPT__COUNT; i++)
		must(same_value(req, &again, (enum option)i));
}

/* The frame at data, found with each octet on its own. */
static enum frame_state scan_slowly(struct frame *frame, const char *data, size_t len)
{
	struct errbuf err;
	enum frame_state state = FRAME_MORE;
	memset(frame, 0, sizeof(*frame));
	for (size_t have = 0; have <= len && state == FRAME_MORE; have++)
		state = frame_scan(frame, data, have, MAX_LINE, MAX_BODY, &err);
	return state;
}

/* Takes one frame; the octets consumed, 0 when there is no further frame. */
static size_t take(const char *data, size_t len)
{
	struct frame frame = {0}, slow;
	struct errbuf err;
	enum frame_state state = frame_scan(&frame, data, len, MAX_LINE, MAX_BODY, &err);
	must(scan_slowly(&slow, data, len) == state);
	if (state == FRAME_BROKEN)
		must(frame.err != ERR_NONE && frame.err == slow.err && err.text[0] != '\0');
	if (state == FRAME_MORE || state == FRAME_BROKEN)
		return 0;
	must(slow.line_len == frame.line_len && slow.has_body == frame.has_body && slow.body_len == frame.body_len);

	char *line = exact_copy(data, frame.line_len);
	char *octets = NULL;
	struct slice body = SLICE_ABSENT;
	if (state == FRAME_READY && frame.has_body) {
		octets = exact_copy(data + frame.body_at, frame.body_len);
		body = (struct slice){octets, frame.body_len};
	}
	struct request req;
	enum err code = request_parse(&req, line, frame.line_len, body, &err);
	if (code != ERR_NONE)
		must(err.text[0] != '\0' && code < ERR__COUNT);
	else if (state == FRAME_READY) /* an oversize body is not here to be written again */
		round_trip(&req);
	free(octets);
	free(line);
	return state == FRAME_READY ? frame.size : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t at = 0, taken;
	while (at < size && (taken = take((const char *)data + at, size - at)) > 0) {
		must(taken <= size - at);
		at += taken;
	}
	return 0;
}
