/*
 * frame.c - where one frame ends: a line, and the body that it announces.
 *
 * Called by the daemon's connections and by the library with all the octets they have of a frame, as often as more
 * arrive. Framing never depends on the verb or the word: any token after the first one that starts with "body=" counts.
 *
 * FRAME_MORE until the whole frame is there. A body above max_body is FRAME_OVERSIZE: its length is known, so the caller
 * can step over it. Where the next frame starts can no longer be known - a line without end, a length that is none,
 * a body that is not followed by LF - it is FRAME_BROKEN.
 */
#include "proto.h"

#include <string.h>

static enum frame_state broken(struct frame *frame, enum err code, struct errbuf *err, const char *why)
{
	frame->err = code;
	err_set(err, "%s", why);
	return FRAME_BROKEN;
}

/* The next token of [*at, end), or absent. */
static struct slice token_next(const char **at, const char *end)
{
	const char *start = *at;

	while (start < end && *start == ' ')
		start++;
	if (start == end)
		return SLICE_ABSENT;
	const char *space = memchr(start, ' ', (size_t)(end - start));
	*at = space != NULL ? space : end;
	return (struct slice){start, (size_t)(*at - start)};
}

/* Finds body= in the line. A line of nothing but spaces becomes an empty one. FRAME_READY, or broken. */
static enum frame_state line_scan(struct frame *frame, const char *line, struct errbuf *err)
{
	const struct slice announces = SLICE_OF("body=");
	const char *at = line, *end = line + frame->line_len;
	int64_t body_len;

	if (token_next(&at, end).data == NULL)
		frame->line_len = 0;
	for (;;) {
		struct slice token = token_next(&at, end);
		if (token.data == NULL)
			return FRAME_READY;
		if (!slice_starts(token, announces))
			continue;
		if (frame->has_body)
			return broken(frame, ERR_SYNTAX, err, "body= stands twice: a frame has one body");
		struct slice number = {token.data + announces.len, token.len - announces.len};
		if (!integer_parse(number, &body_len))
			return broken(frame, ERR_SYNTAX, err, "body= needs a count of octets: body=17");
		if ((uint64_t)body_len > SIZE_MAX - frame->size - 1)
			return broken(frame, ERR_TOOBIG, err, "body= is more than this machine can count");
		frame->has_body = true;
		frame->body_len = (size_t)body_len;
	}
}

/* Looks for the LF among the octets not seen yet. */
static enum frame_state line_find(struct frame *frame, const char *data, size_t len, size_t max_line,
				  struct errbuf *err)
{
	size_t until = len <= max_line ? len : max_line + 1;
	const char *lf = NULL;

	if (until > frame->scanned)
		lf = memchr(data + frame->scanned, '\n', until - frame->scanned);
	if (lf == NULL) {
		if (len > max_line)
			return broken(frame, ERR_TOOLONG, err, "the line is too long: HELLO tells max_line");
		frame->scanned = len;
		return FRAME_MORE;
	}
	frame->line_len = (size_t)(lf - data);
	frame->body_at = frame->line_len + 1;
	frame->size = frame->body_at;
	if (frame->line_len > 0 && lf[-1] == '\r')
		frame->line_len--;
	enum frame_state state = line_scan(frame, data, err);
	if (state == FRAME_READY && frame->has_body)
		frame->size += frame->body_len + 1;
	return state;
}

enum frame_state frame_scan(struct frame *frame, const char *data, size_t len, size_t max_line, size_t max_body,
			    struct errbuf *err)
{
	if (frame->body_at == 0) {
		enum frame_state state = line_find(frame, data, len, max_line, err);
		if (state != FRAME_READY)
			return state;
	}
	if (!frame->has_body)
		return FRAME_READY;
	if (frame->body_len > max_body)
		return FRAME_OVERSIZE;
	if (len < frame->size)
		return FRAME_MORE;
	if (data[frame->size - 1] != '\n')
		return broken(frame, ERR_SYNTAX, err, "no LF after the body: is body= its exact count of octets?");
	return FRAME_READY;
}
