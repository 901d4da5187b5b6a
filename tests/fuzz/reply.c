/*
 * reply.c - the library's reading of replies against made-up octets; `./dev fuzz` builds and runs it.
 *
 * A reply that can be read is written again by the daemon's functions and read again: word, fields and body must be the same.
 */
#include <stdlib.h>
#include <string.h>

#include "../../proto/proto.h"
#include "fuzz.h"

#define MAX_LINE 512
#define MAX_BODY 256

/* The daemon writes its own field names only; these here come from the fuzzer and may hold a NUL, which no name can. */
static bool writable(const struct reply *reply)
{
	for (size_t i = 0; i < reply->count; i++) {
		if (reply->field[i].name.len == 0 || reply->field[i].name.len > 31 || reply->field[i].value.len == 0 ||
		    memchr(reply->field[i].name.data, '\0', reply->field[i].name.len))
			return false;
	}
	return !reply->event && reply->code != WORD_NONE && reply->code != WORD_ERR;
}

static void round_trip(const struct reply *reply)
{
	static char text[8 * MAX_LINE + MAX_BODY];
	struct writer w;
	writer_init(&w, text, sizeof(text));
	reply_begin(&w, reply->code);
	for (size_t i = 0; i < reply->count; i++) {
		char name[32] = {0};
		memcpy(name, reply->field[i].name.data, reply->field[i].name.len);
		reply_bytes(&w, name, reply->field[i].value);
	}
	reply_end(&w, SLICE_ABSENT, reply->body);
	if (reply->body.data) {
		writer_slice(&w, reply->body);
		writer_char(&w, '\n');
	}
	must(!w.full);

	struct frame frame = {0};
	struct errbuf err;
	must(frame_scan(&frame, text, w.len, sizeof(text), MAX_BODY, &err) == FRAME_READY && frame.size == w.len);
	struct slice body = frame.has_body ? (struct slice){text + frame.body_at, frame.body_len} : SLICE_ABSENT;
	struct reply again;
	must(reply_parse(&again, text, frame.line_len, body, &err));
	must(again.code == reply->code && again.count == reply->count && slice_equal(again.body, reply->body));
	for (size_t i = 0; i < reply->count; i++) {
		must(slice_equal(again.field[i].name, reply->field[i].name));
		must(slice_equal(again.field[i].value, reply->field[i].value));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frame frame = {0};
	struct errbuf err;
	if (frame_scan(&frame, (const char *)data, size, MAX_LINE, MAX_BODY, &err) != FRAME_READY)
		return 0;
	char *line = exact_copy((const char *)data, frame.line_len);
	char *octets = NULL;
	struct slice body = SLICE_ABSENT;
	if (frame.has_body) {
		octets = exact_copy((const char *)data + frame.body_at, frame.body_len);
		body = (struct slice){octets, frame.body_len};
	}
	struct reply reply;
	if (!reply_parse(&reply, line, frame.line_len, body, &err)) {
		must(err.text[0] != '\0');
	} else {
		must(reply.count <= PROTO_MAX_FIELDS && reply.word.len > 0);
		reply_integer(&reply, "fence", -1);
		if (writable(&reply))
			round_trip(&reply);
	}
	free(octets);
	free(line);
	return 0;
}
