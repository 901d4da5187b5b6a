/*
 * check_vectors.c - replays proto/vectors: each case whole, cut in two at each octet, octet by octet, and all cases of a
 * file glued together. The frames must be the same each time, and what is read in them what the file says.
 */
#include "vectors.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FRAMES = 1024 };

/* One frame of a stream; places count from where the stream starts. */
struct found {
	enum frame_state state; /* READY, OVERSIZE or BROKEN */
	enum err err;
	bool has_body;
	size_t line_at, line_len, body_at, body_len;
};

struct stream {
	const char *data;
	size_t len, max_line, max_body;
	size_t used; /* octets of whole frames */
	bool more;   /* it ended inside a frame */
	size_t count;
	struct found found[MAX_FRAMES];
};

_Noreturn __attribute__((format(printf, 2, 3))) static void unmet(const struct vector *vector, const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	ck_abort_msg("case \"%.*s\": %s", (int)vector->name.len, vector->name.data, text);
	abort(); /* not reached; the compiler does not know that ck_abort_msg ends the test */
}

/* A copy in memory that ends where the octets end, so that a sanitizer sees each look beyond them. */
static char *exact_copy(const char *data, size_t len)
{
	char *copy = malloc(len > 0 ? len : 1);

	ck_assert_ptr_nonnull(copy);
	if (len > 0)
		memcpy(copy, data, len);
	return copy;
}

static enum frame_state scan(struct stream *s, struct frame *frame, size_t there)
{
	struct errbuf err = {""};
	size_t len = there - s->used;
	/* A copy for each cut of a long line would take minutes. */
	char *copy = len <= 1000 ? exact_copy(s->data + s->used, len) : NULL;

	enum frame_state state =
	    frame_scan(frame, copy != NULL ? copy : s->data + s->used, len, s->max_line, s->max_body, &err);
	if (state == FRAME_BROKEN)
		ck_assert_msg(err.text[0] != '\0' && frame->err != ERR_NONE, "broken, and no word why");
	free(copy);
	return state;
}

static void found_add(struct stream *s, const struct frame *frame, enum frame_state state)
{
	struct found *f = &s->found[s->count++];

	ck_assert_uint_le(s->count, MAX_FRAMES);
	memset(f, 0, sizeof *f);
	f->state = state;
	if (state == FRAME_BROKEN) {
		f->err = frame->err;
		return;
	}
	f->has_body = frame->has_body;
	f->line_at = s->used;
	f->line_len = frame->line_len;
	f->body_at = frame->has_body ? s->used + frame->body_at : 0;
	f->body_len = frame->body_len;
}

/* Takes the frames out of the stream as a connection would to which `first` octets came at once and then `step` each
 * time. */
static void stream_run(struct stream *s, size_t first, size_t step)
{
	struct frame frame = {0};
	size_t there = first;

	s->used = s->count = 0;
	s->more = false;
	while (s->used < s->len) {
		enum frame_state state = scan(s, &frame, there);
		if (state == FRAME_MORE) {
			s->more = there == s->len;
			if (s->more)
				return;
			there = s->len - there < step ? s->len : there + step;
			continue;
		}
		found_add(s, &frame, state);
		if (state == FRAME_BROKEN)
			return;
		s->more = frame.size > s->len - s->used;
		if (s->more)
			return;
		s->used += frame.size;
		if (s->data[s->used - 1] != '\n') { /* behind an oversize body, where the caller looks */
			frame.err = ERR_SYNTAX;
			found_add(s, &frame, FRAME_BROKEN);
			return;
		}
		there = there < s->used ? s->used : there;
		frame = (struct frame){0};
	}
}

static size_t number_of(const struct vector *vector, const char *keyword, size_t fallback)
{
	const struct vector_line *line = vector_find(vector, keyword);
	int64_t n;

	if (line == NULL)
		return fallback;
	if (!integer_parse(line->text, &n))
		unmet(vector, "%s is no number", keyword);
	return (size_t)n;
}

static struct stream *stream_of(const struct vector *vector, struct slice input)
{
	struct stream *s = calloc(1, sizeof *s);

	ck_assert_ptr_nonnull(s);
	s->data = input.data;
	s->len = input.len;
	s->max_line = number_of(vector, "max_line", PROTO_MAX_LINE);
	s->max_body = number_of(vector, "max_body", PROTO_MAX_BODY);
	return s;
}

static bool streams_equal(const struct stream *a, const struct stream *b)
{
	return a->count == b->count && a->used == b->used && a->more == b->more &&
	       memcmp(a->found, b->found, a->count * sizeof a->found[0]) == 0;
}

/* The frames of a case, after they came out the same however it is cut. To be freed. */
static struct stream *stream_cut(const struct vector *vector)
{
	struct stream *whole = stream_of(vector, vector->input);
	struct stream *cut = stream_of(vector, vector->input);

	stream_run(whole, whole->len, 1);
	stream_run(cut, 0, 1);
	if (!streams_equal(whole, cut))
		unmet(vector, "it reads otherwise octet by octet");
	for (size_t at = 0; at < whole->len; at++) {
		stream_run(cut, at, whole->len);
		if (!streams_equal(whole, cut))
			unmet(vector, "it reads otherwise when it is cut at octet %zu", at);
	}
	free(cut);
	return whole;
}

/* A frame can follow it, and it is read with the usual limits. */
static bool can_be_glued(const struct vector *vector)
{
	return vector_find(vector, "more") == NULL && vector_find(vector, "broken") == NULL &&
	       vector_find(vector, "max_line") == NULL && vector_find(vector, "max_body") == NULL;
}

/* All cases that can be, in one stream. */
static void check_glued(const struct vectors *vectors)
{
	char *all = malloc(1);
	size_t len = 0, frames = 0;
	struct stream *glued;

	for (size_t i = 0; i < vectors->count; i++) {
		const struct vector *v = &vectors->vector[i];
		if (!can_be_glued(v))
			continue;
		all = realloc(all, len + v->input.len);
		ck_assert_ptr_nonnull(all);
		memcpy(all + len, v->input.data, v->input.len);
		len += v->input.len;
	}
	glued = stream_of(&vectors->vector[0], (struct slice){all, len});
	stream_run(glued, 0, 777);
	for (size_t i = 0, at = 0; i < vectors->count; i++) {
		const struct vector *v = &vectors->vector[i];
		if (!can_be_glued(v))
			continue;
		struct stream *alone = stream_of(v, v->input);
		stream_run(alone, alone->len, 1);
		for (size_t f = 0; f < alone->count; f++, frames++) {
			struct found moved = alone->found[f];
			moved.line_at += at;
			moved.body_at += moved.has_body ? at : 0;
			if (frames >= glued->count || memcmp(&moved, &glued->found[frames], sizeof moved) != 0)
				unmet(v, "it reads otherwise between others");
		}
		at += v->input.len;
		free(alone);
	}
	ck_assert_uint_eq(frames, glued->count);
	ck_assert(!glued->more);
	free(glued);
	free(all);
}

/* The one frame of a case, in memory of its own. */
struct single {
	struct stream *stream;
	char *line, *body_data;
	size_t line_len;
	struct slice body;
	bool oversize;
};

static void single_init(struct single *single, const struct vector *vector)
{
	single->stream = stream_cut(vector);
	if (single->stream->count != 1 || single->stream->more || single->stream->found[0].state == FRAME_BROKEN)
		unmet(vector, "it is not one whole frame");
	const struct found *f = &single->stream->found[0];
	single->oversize = f->state == FRAME_OVERSIZE;
	single->line = exact_copy(vector->input.data + f->line_at, f->line_len);
	single->line_len = f->line_len;
	single->body = SLICE_ABSENT;
	single->body_data = NULL;
	if (f->has_body && !single->oversize) {
		single->body_data = exact_copy(vector->input.data + f->body_at, f->body_len);
		single->body = (struct slice){single->body_data, f->body_len};
	}
	if (single->oversize && number_of(vector, "oversize", 0) != f->body_len)
		unmet(vector, "the body is oversize: %zu octets", f->body_len);
	if (!single->oversize && vector_find(vector, "oversize") != NULL)
		unmet(vector, "the body is not oversize");
}

static void single_release(struct single *single)
{
	free(single->line);
	free(single->body_data);
	free(single->stream);
}

/* Splits "NAME VALUE". */
static struct slice name_of(struct slice text, struct slice *value)
{
	const char *space = memchr(text.data, ' ', text.len);

	if (space == NULL) {
		*value = SLICE_OF("");
		return text;
	}
	size_t len = (size_t)(space - text.data);
	*value = (struct slice){text.data + len + 1, text.len - len - 1};
	return (struct slice){text.data, len};
}

/* What must be there or not, as the line says; absent and empty differ. */
static void expect_slice(const struct vector *vector, const char *keyword, struct slice got)
{
	const struct vector_line *line = vector_find(vector, keyword);
	struct slice want = line != NULL ? line->text : SLICE_ABSENT;

	if ((want.data == NULL) != (got.data == NULL) || !slice_equal(want, got))
		unmet(vector, "%s is \"%.*s\"%s", keyword, (int)(got.len < 100 ? got.len : 100),
		      got.data != NULL ? got.data : "", got.data != NULL ? "" : " (absent)");
}

/* ---- requests ---- */

static struct slice option_text(const struct request *req, enum option option, char *scratch, size_t cap)
{
	const struct option_value *value = &req->value[option];
	struct writer w;

	writer_init(&w, scratch, cap);
	switch (option_info(option)->kind) {
	case KIND_BYTES:
		return value->text;
	case KIND_CHOICE:
		return choice_name((enum choice)value->number);
	case KIND_DURATION:
	case KIND_TTL:
		if (value->number == PROTO_NEVER)
			return SLICE_OF("never");
		/* fall through */
	case KIND_INTEGER:
	case KIND_FLAG:
		writer_int(&w, value->number);
		break;
	}
	return writer_done(&w);
}

/* The options that the case lists are given, and no others; of a refusal only the tag counts. */
static void expect_options(const struct vector *vector, const struct request *req, uint32_t counted)
{
	uint32_t listed = 0;
	char scratch[24];

	for (size_t i = 0; i < vector->count; i++) {
		const struct vector_line *line = &vector->line[i];
		struct slice value, name;
		enum option option = 0;
		if (!slice_equal(line->keyword, SLICE_OF("opt")))
			continue;
		name = name_of(line->text, &value);
		while (option < OPT__COUNT && !slice_equal(option_info(option)->name, name))
			option++;
		if (option == OPT__COUNT || !request_has(req, option))
			unmet(vector, "%.*s is not given", (int)name.len, name.data);
		struct slice got = option_text(req, option, scratch, sizeof scratch);
		if (!slice_equal(got, value))
			unmet(vector, "%.*s is \"%.*s\"", (int)name.len, name.data, (int)got.len, got.data);
		listed |= UINT32_C(1) << option;
	}
	if (listed != (req->given & counted))
		unmet(vector, "options are given that the case does not list: %x",
		      (unsigned)(req->given & counted & ~listed));
}

static bool contains(const char *text, struct slice part)
{
	for (; strlen(text) >= part.len; text++)
		if (memcmp(text, part.data, part.len) == 0)
			return true;
	return false;
}

static void check_request(const struct vector *vector)
{
	const struct vector_line *refused = vector_find(vector, "err");
	struct single single;
	struct request req;
	struct errbuf err = {""};

	single_init(&single, vector);
	memset(&req, 0xA5, sizeof req);
	enum err code = request_parse(&req, single.line, single.line_len, single.body, &err);
	if (refused != NULL) {
		if (!slice_equal(refused->text, err_name(code)))
			unmet(vector, "%s: %s", err_name(code).data, err.text);
		for (size_t i = 0; i < vector->count; i++)
			if (slice_equal(vector->line[i].keyword, SLICE_OF("msg")) &&
			    !contains(err.text, vector->line[i].text))
				unmet(vector, "the refusal says: %s", err.text);
		if (strlen(err.text) < 10)
			unmet(vector, "the refusal says nothing");
		expect_options(vector, &req, UINT32_C(1) << OPT_TAG);
	} else {
		if (code != ERR_NONE)
			unmet(vector, "it is refused: %s: %s", err_name(code).data, err.text);
		expect_slice(vector, "verb", verb_info(req.verb)->name);
		expect_slice(vector, "key", req.key);
		expect_slice(vector, "body", req.body);
		expect_options(vector, &req, UINT32_MAX);
	}
	single_release(&single);
}

/* ---- replies ---- */

static void expect_fields(const struct vector *vector, const struct reply *reply)
{
	size_t at = 0;

	for (size_t i = 0; i < vector->count; i++) {
		struct slice name, value;
		if (!slice_equal(vector->line[i].keyword, SLICE_OF("field")))
			continue;
		name = name_of(vector->line[i].text, &value);
		if (at == reply->count || !slice_equal(reply->field[at].name, name) ||
		    !slice_equal(reply->field[at].value, value) || reply->field[at].value.data == NULL)
			unmet(vector, "field %zu is another one", at + 1);
		at++;
	}
	if (at != reply->count)
		unmet(vector, "there are %zu fields", reply->count);
}

static void check_reply(const struct vector *vector)
{
	struct single single;
	struct reply reply;
	struct errbuf err = {""};

	single_init(&single, vector);
	memset(&reply, 0xA5, sizeof reply);
	bool read = reply_parse(&reply, single.line, single.line_len, single.body, &err);
	if (read == (vector_find(vector, "unreadable") != NULL))
		unmet(vector, "readable: %d %s", read, err.text);
	if (read) {
		expect_slice(vector, "word", reply.word);
		expect_slice(vector, "code", reply.err_name);
		expect_slice(vector, "body", reply.body);
		expect_fields(vector, &reply);
		if (reply.event != (vector_find(vector, "event") != NULL))
			unmet(vector, "event: %d", reply.event);
		if ((reply.code != WORD_NONE) != (vector_find(vector, "known") != NULL))
			unmet(vector, "known: %d", reply.code != WORD_NONE);
		if (reply.code != WORD_NONE && !slice_equal(word_name(reply.code), reply.word))
			unmet(vector, "it is taken for another word");
		if ((reply.err != ERR_NONE) != (reply.code == WORD_ERR))
			unmet(vector, "an error of its own");
	} else if (err.text[0] == '\0') {
		unmet(vector, "unreadable, and no word why");
	}
	single_release(&single);
}

/* ---- framing ---- */

static void expect_frames(const struct vector *vector, const struct stream *s)
{
	size_t at = 0; /* frames of which the case has told the line */
	const struct found *f = NULL;
	bool body_told = true;

	for (size_t i = 0; i < vector->count; i++) {
		const struct vector_line *line = &vector->line[i];
		if (slice_equal(line->keyword, SLICE_OF("line"))) {
			if (at == s->count || !body_told)
				unmet(vector, "frame %zu is not all told", at);
			f = &s->found[at++];
			struct slice got = {s->data + f->line_at, f->line_len};
			if (f->state == FRAME_BROKEN || !slice_equal(got, line->text))
				unmet(vector, "line %zu is \"%.*s\"", at, (int)got.len, got.data);
			body_told = !f->has_body;
		} else if (slice_equal(line->keyword, SLICE_OF("body"))) {
			struct slice got = {s->data + f->body_at, f->body_len};
			if (f->state != FRAME_READY || !f->has_body || !slice_equal(got, line->text))
				unmet(vector, "body %zu is another one", at);
			body_told = true;
		} else if (slice_equal(line->keyword, SLICE_OF("oversize"))) {
			int64_t n = -1;
			if (f->state != FRAME_OVERSIZE || !integer_parse(line->text, &n) || f->body_len != (size_t)n)
				unmet(vector, "body %zu is not so oversize", at);
			body_told = true;
		} else if (slice_equal(line->keyword, SLICE_OF("broken"))) {
			if (at == s->count || s->found[at].state != FRAME_BROKEN ||
			    !slice_equal(err_name(s->found[at].err), line->text))
				unmet(vector, "it is not broken like this");
			at++;
		}
	}
	if (at != s->count || !body_told)
		unmet(vector, "there are %zu frames", s->count);
	if (s->more != (vector_find(vector, "more") != NULL))
		unmet(vector, "more: %d", s->more);
}

static void check_framing(const struct vector *vector)
{
	struct stream *s = stream_cut(vector);

	expect_frames(vector, s);
	free(s);
}

/* ---- values ---- */

/* Writes `text` and reads it again. */
static void check_escape(const struct vector *vector, const char *keyword, bool is_key)
{
	const struct vector_line *text = vector_find(vector, "text"), *want = vector_find(vector, keyword);
	char scratch[400];
	struct writer w;
	size_t len;

	writer_init(&w, scratch, sizeof scratch);
	escape_write(&w, text->text, is_key);
	if (want == NULL || w.full || !slice_equal(writer_done(&w), want->text))
		unmet(vector, "as %s it is written \"%.*s\"", keyword, (int)w.len, scratch);
	char *copy = exact_copy(scratch, w.len);
	if (!escape_decode(copy, w.len, &len) || !slice_equal((struct slice){copy, len}, text->text))
		unmet(vector, "as %s it is not read again", keyword);
	free(copy);
}

static void check_decode(const struct vector *vector, struct slice raw)
{
	const struct vector_line *gives = vector_find(vector, "gives");
	char *copy = exact_copy(raw.data, raw.len);
	size_t len = 0;

	bool good = escape_decode(copy, raw.len, &len);
	if (good != (gives != NULL) || (good && !slice_equal((struct slice){copy, len}, gives->text)))
		unmet(vector, "it is decoded: %d \"%.*s\"", good, (int)len, copy);
	free(copy);
}

static void check_number(const struct vector *vector, const char *result, bool good, int64_t n)
{
	const struct vector_line *want = vector_find(vector, result);
	int64_t wanted = PROTO_NEVER;

	if (good != (want != NULL))
		unmet(vector, "good: %d", good);
	if (want != NULL && !slice_equal(want->text, SLICE_OF("never")) && !integer_parse(want->text, &wanted))
		unmet(vector, "%s is no number", result);
	if (good && n != wanted)
		unmet(vector, "it is %lld", (long long)n);
}

static void check_value(const struct vector *vector)
{
	const struct vector_line *line = &vector->line[0];
	struct slice text = line->text;
	char *copy = exact_copy(text.data, text.len);
	struct slice exact = {copy, text.len};
	int64_t n = -1;
	bool good;

	if (slice_equal(line->keyword, SLICE_OF("text"))) {
		check_escape(vector, "key", true);
		check_escape(vector, "value", false);
	} else if (slice_equal(line->keyword, SLICE_OF("decode"))) {
		check_decode(vector, text);
	} else if (slice_equal(line->keyword, SLICE_OF("integer"))) {
		good = integer_parse(exact, &n);
		check_number(vector, "number", good, n);
	} else if (slice_equal(line->keyword, SLICE_OF("duration"))) {
		good = duration_parse(exact, false, &n);
		check_number(vector, "ms", good, n);
	} else if (slice_equal(line->keyword, SLICE_OF("ttl"))) {
		good = duration_parse(exact, true, &n);
		check_number(vector, "ms", good, n);
	} else {
		unmet(vector, "a case of values starts with text, decode, integer, duration or ttl");
	}
	free(copy);
}

/* ---- the files ---- */

static void replay(const char *name, void (*check)(const struct vector *), bool glued)
{
	struct vectors vectors;

	vectors_load(&vectors, name);
	for (size_t i = 0; i < vectors.count; i++)
		check(&vectors.vector[i]);
	if (glued)
		check_glued(&vectors);
	vectors_release(&vectors);
}

START_TEST(values)
{
	replay("values.txt", check_value, false);
}
END_TEST

START_TEST(framing)
{
	replay("framing.txt", check_framing, true);
}
END_TEST

START_TEST(requests)
{
	replay("requests.txt", check_request, true);
}
END_TEST

START_TEST(limits)
{
	replay("limits.txt", check_request, true);
}
END_TEST

START_TEST(replies)
{
	replay("replies.txt", check_reply, true);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("vectors");
	TCase *tcase = tcase_create("files");
	SRunner *runner = srunner_create(suite);

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, values);
	tcase_add_test(tcase, framing);
	tcase_add_test(tcase, requests);
	tcase_add_test(tcase, limits);
	tcase_add_test(tcase, replies);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
