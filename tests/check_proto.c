/*
 * check_proto.c - what is written is read again as it was, the tables hold together, and octets at random do no harm.
 *
 * The rules of the grammar one by one are in proto/vectors and replayed by check_vectors.c.
 */
#include "../proto/proto.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x * UINT64_C(0x2545F4914F6CDD1D) >> 11;
}

static size_t random_below(uint64_t *state, size_t n)
{
	return (size_t)(random_next(state) % n);
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

/* ---- the tables ---- */

START_TEST(names_are_found)
{
	for (enum verb verb = 0; verb < VERB__COUNT; verb++)
		ck_assert_int_eq((int)verb_find(verb_info(verb)->name), (int)verb);
	for (enum word word = WORD_NONE + 1; word < WORD__COUNT; word++)
		ck_assert_int_eq((int)word_find(word_name(word)), (int)word);
	for (enum err err = ERR_NONE + 1; err < ERR__COUNT; err++)
		ck_assert_int_eq((int)err_find(err_name(err)), (int)err);
	ck_assert_int_eq((int)verb_find(SLICE_OF("pInG")), VERB_PING);
	ck_assert_int_eq((int)word_find(SLICE_OF("won")), WORD_WON);
	ck_assert_int_eq((int)err_find(SLICE_OF("STORE")), ERR_STORE);
	ck_assert_int_eq((int)verb_find(SLICE_OF("")), VERB__COUNT);
	ck_assert_int_eq((int)word_find(SLICE_OF("")), WORD_NONE);
	ck_assert_int_eq((int)err_find(SLICE_OF("none")), ERR__COUNT);
	ck_assert_uint_eq(word_name(WORD_NONE).len, 0);
}
END_TEST

START_TEST(tables_hold_together)
{
	for (enum verb verb = 0; verb < VERB__COUNT; verb++) {
		ck_assert_uint_eq(verb_info(verb)->options >> OPT__COUNT, 0);
		ck_assert_msg(verb_info(verb)->help[0] != '\0', "no help");
		/* A body is the result, which may stand in the line too; but for the object of KEY. */
		if (verb_info(verb)->body && verb != VERB_KEY)
			ck_assert((verb_info(verb)->options & UINT32_C(1) << OPT_RESULT) != 0);
	}
	for (enum option option = 0; option < OPT__COUNT; option++)
		ck_assert_int_eq(option_info(option)->kind == KIND_BYTES, option_info(option)->limit > 0);
	for (enum choice choice = 0; choice < CHOICE__COUNT; choice++)
		ck_assert_int_eq((int)option_info(choice_option(choice))->kind, (int)KIND_CHOICE);
	for (enum err err = ERR_NONE + 1; err < ERR__COUNT; err++) {
		struct slice retry = err_retry(err);
		ck_assert(slice_equal(retry, SLICE_OF("no")) || slice_equal(retry, SLICE_OF("safe")) ||
			  slice_equal(retry, SLICE_OF("maybe")));
		ck_assert(err_meaning(err)[0] != '\0');
	}
}
END_TEST

/* ---- requests, there and back ---- */

/* Reads what was written; fails when it is refused. The slices live as long as *line, which is to be freed. */
static struct request read_back(const struct writer *w, char **line, struct slice body)
{
	struct frame frame = {0};
	struct errbuf err = {""};
	struct request req;

	ck_assert(!w->full);
	*line = exact_copy(w->data, w->len);
	enum frame_state state = frame_scan(&frame, *line, w->len, PROTO_MAX_LINE, PROTO_MAX_BODY, &err);
	ck_assert_msg(state == FRAME_READY && frame.size == w->len, "it is no frame: %s", err.text);
	ck_assert_int_eq(frame.has_body, body.data != NULL);
	if (frame.has_body)
		body = (struct slice){*line + frame.body_at, frame.body_len};
	enum err code = request_parse(&req, *line, frame.line_len, body, &err);
	ck_assert_msg(code == ERR_NONE, "%s: %s", err_name(code).data, err.text);
	return req;
}

/* Octets at random, more often of those that need an escape. */
static struct slice random_text(uint64_t *seed, char *data, size_t min, size_t max)
{
	static const char awkward[] = {' ', '%', '=', '\0', '\n', '\r', '\t', 0x7F, (char)0xFF, 'a', '*'};
	size_t len = min + random_below(seed, max - min + 1);

	for (size_t i = 0; i < len; i++)
		data[i] = random_below(seed, 2) == 0 ? awkward[random_below(seed, sizeof awkward)]
						     : (char)random_below(seed, 256);
	return (struct slice){data, len};
}

START_TEST(a_claim_there_and_back)
{
	char key[64], fp[64], token[64], owner[64], tag[32], text[2048], *line;
	uint64_t seed = 42;
	struct writer w;

	for (int i = 0; i < 3000; i++) {
		struct slice k = random_text(&seed, key, 1, sizeof key), f = random_text(&seed, fp, 1, sizeof fp);
		struct slice t = random_text(&seed, token, 16, sizeof token),
			     o = random_text(&seed, owner, 1, sizeof owner);
		struct slice g = random_text(&seed, tag, 1, sizeof tag);
		int64_t lease = 1 + (int64_t)random_below(&seed, (size_t)PROTO_MAX_LEASE_MS);

		writer_init(&w, text, sizeof text);
		request_begin(&w, VERB_CLAIM, k);
		request_duration(&w, OPT_LEASE, lease);
		request_duration(&w, OPT_TTL, PROTO_NEVER);
		request_bytes(&w, OPT_FP, f);
		request_bytes(&w, OPT_TOKEN, t);
		request_bytes(&w, OPT_OWNER, o);
		request_bytes(&w, OPT_TAG, g);
		request_choice(&w, CHOICE_LAPSE_UNKNOWN);
		request_end(&w, SLICE_ABSENT);
		struct request req = read_back(&w, &line, SLICE_ABSENT);
		ck_assert_int_eq((int)req.verb, VERB_CLAIM);
		ck_assert(slice_equal(req.key, k));
		ck_assert_int_eq(req.value[OPT_LEASE].number, lease);
		ck_assert_int_eq(req.value[OPT_TTL].number, PROTO_NEVER);
		ck_assert(slice_equal(req.value[OPT_FP].text, f));
		ck_assert(slice_equal(req.value[OPT_TOKEN].text, t));
		ck_assert(slice_equal(req.value[OPT_OWNER].text, o));
		ck_assert(slice_equal(req.value[OPT_TAG].text, g));
		ck_assert_int_eq(req.value[OPT_LAPSE].number, CHOICE_LAPSE_UNKNOWN);
		ck_assert(!request_has(&req, OPT_ATLEAST));
		ck_assert_ptr_null(req.body.data);
		free(line);
	}
}
END_TEST

START_TEST(a_settlement_there_and_back)
{
	char body[300], text[1024], *line;
	uint64_t seed = 7;
	struct writer w;

	for (int i = 0; i < 1000; i++) {
		struct slice result = random_text(&seed, body, 0, sizeof body);

		writer_init(&w, text, sizeof text);
		request_begin(&w, VERB_RESOLVE, SLICE_OF("a b"));
		request_choice(&w, CHOICE_AS_FAILED);
		request_integer(&w, OPT_FENCE, PROTO_MAX_INTEGER);
		request_flag(&w, OPT_FORCE);
		request_bytes(&w, OPT_REASON, SLICE_ABSENT);
		request_end(&w, result);
		writer_slice(&w, result);
		writer_char(&w, '\n');
		struct request req = read_back(&w, &line, result);
		ck_assert(slice_equal(req.key, SLICE_OF("a b")));
		ck_assert_int_eq(req.value[OPT_AS].number, CHOICE_AS_FAILED);
		ck_assert_int_eq(req.value[OPT_FENCE].number, PROTO_MAX_INTEGER);
		ck_assert_int_eq(req.value[OPT_FORCE].number, 1);
		ck_assert(!request_has(&req, OPT_REASON));
		ck_assert_ptr_nonnull(req.body.data);
		ck_assert(slice_equal(req.body, result));
		free(line);
	}
}
END_TEST

START_TEST(verbs_without_a_key_there_and_back)
{
	char text[200], *line;
	struct writer w;

	writer_init(&w, text, sizeof text);
	request_begin(&w, VERB_LIST, SLICE_ABSENT);
	request_choice(&w, CHOICE_STATE_UNKNOWN);
	request_duration(&w, OPT_OLDER, 0);
	request_integer(&w, OPT_LIMIT, 1);
	request_end(&w, SLICE_ABSENT);
	ck_assert(slice_equal(writer_done(&w), SLICE_OF("LIST state=unknown older=0ms limit=1\n")));
	struct request req = read_back(&w, &line, SLICE_ABSENT);
	ck_assert_ptr_null(req.key.data);
	ck_assert_int_eq(req.value[OPT_OLDER].number, 0);
	free(line);
}
END_TEST

/* ---- replies, there and back ---- */

static void reply_back(const struct writer *w, char **line, struct reply *reply)
{
	struct frame frame = {0};
	struct errbuf err = {""};
	struct slice body = SLICE_ABSENT;

	ck_assert(!w->full);
	*line = exact_copy(w->data, w->len);
	enum frame_state state = frame_scan(&frame, *line, w->len, PROTO_MAX_LINE, PROTO_MAX_BODY, &err);
	ck_assert_msg(state == FRAME_READY && frame.size == w->len, "it is no frame: %s", err.text);
	if (frame.has_body)
		body = (struct slice){*line + frame.body_at, frame.body_len};
	ck_assert_msg(reply_parse(reply, *line, frame.line_len, body, &err), "%s", err.text);
}

START_TEST(a_reply_there_and_back)
{
	char owner[64], tag[32], body[200], text[2048], *line;
	uint64_t seed = 3;
	struct writer w;
	struct reply reply;

	for (int i = 0; i < 1000; i++) {
		struct slice o = random_text(&seed, owner, 0, sizeof owner), t = random_text(&seed, tag, 1, sizeof tag);
		struct slice b = random_text(&seed, body, 0, sizeof body);

		writer_init(&w, text, sizeof text);
		reply_begin(&w, WORD_DONE);
		reply_number(&w, "fence", PROTO_MAX_INTEGER);
		reply_bytes(&w, "owner", o);
		reply_bytes(&w, "fp", SLICE_ABSENT);
		reply_ms(&w, "left_ms", 12);
		reply_ms(&w, "ttl_ms", PROTO_NEVER);
		reply_end(&w, t, b);
		writer_slice(&w, b);
		writer_char(&w, '\n');
		reply_back(&w, &line, &reply);
		ck_assert_int_eq((int)reply.code, WORD_DONE);
		ck_assert_int_eq(reply_integer(&reply, "fence", -1), PROTO_MAX_INTEGER);
		ck_assert_int_eq(reply_integer(&reply, "left_ms", -1), 12);
		ck_assert_int_eq(reply_integer(&reply, "ttl_ms", -1), PROTO_NEVER);
		ck_assert_int_eq(reply_integer(&reply, "owner_ms", -1), -1);
		ck_assert(slice_equal(reply_field(&reply, "owner"), o));
		ck_assert_int_eq(reply_field(&reply, "owner").data == NULL, o.len == 0);
		ck_assert_ptr_null(reply_field(&reply, "fp").data);
		ck_assert(slice_equal(reply_field(&reply, "tag"), t));
		ck_assert_ptr_nonnull(reply.body.data);
		ck_assert(slice_equal(reply.body, b));
		free(line);
	}
}
END_TEST

START_TEST(an_error_there_and_back)
{
	char text[600], *line;
	struct writer w;
	struct reply reply;

	for (enum err err = ERR_NONE + 1; err < ERR__COUNT; err++) {
		writer_init(&w, text, sizeof text);
		reply_error(&w, err, SLICE_ABSENT, 0, "a = in a key is %3D");
		reply_end(&w, SLICE_ABSENT, SLICE_ABSENT);
		reply_back(&w, &line, &reply);
		ck_assert_int_eq((int)reply.code, WORD_ERR);
		ck_assert_int_eq((int)reply.err, (int)err);
		ck_assert(slice_equal(reply_field(&reply, "retry"), err_retry(err)));
		ck_assert(slice_equal(reply_field(&reply, "msg"), SLICE_OF("a = in a key is %3D")));
		ck_assert_ptr_null(reply_field(&reply, "after_ms").data);
		ck_assert_ptr_null(reply.body.data);
		free(line);
	}
	writer_init(&w, text, sizeof text);
	reply_error(&w, ERR_STORE, SLICE_OF("no"), 500, "x");
	reply_end(&w, SLICE_OF("t"), SLICE_ABSENT);
	ck_assert(slice_equal(writer_done(&w), SLICE_OF("ERR store retry=no after_ms=500 msg=x tag=t\n")));
}
END_TEST

START_TEST(an_event_there_and_back)
{
	char text[100], *line;
	struct writer w;
	struct reply reply;

	writer_init(&w, text, sizeof text);
	reply_event(&w, "WON");
	reply_end(&w, SLICE_ABSENT, SLICE_ABSENT);
	ck_assert(slice_equal(writer_done(&w), SLICE_OF("* WON\n")));
	reply_back(&w, &line, &reply);
	ck_assert(reply.event);
	ck_assert_int_eq((int)reply.code, WORD_NONE);
	free(line);
}
END_TEST

START_TEST(fields_beyond_the_limit_are_dropped)
{
	char text[1000];
	struct reply reply;
	struct errbuf err;
	struct writer w;

	writer_init(&w, text, sizeof text);
	reply_begin(&w, WORD_OK);
	for (int i = 0; i < PROTO_MAX_FIELDS + 9; i++)
		reply_number(&w, "a", i);
	char *line = exact_copy(text, w.len);
	ck_assert(reply_parse(&reply, line, w.len, SLICE_ABSENT, &err));
	ck_assert_uint_eq(reply.count, PROTO_MAX_FIELDS);
	ck_assert_int_eq(reply_integer(&reply, "a", -1), 0);
	free(line);
}
END_TEST

/* Whatever the room, nothing is written beyond it, no half of a piece, and `full` says that something is missing. */
START_TEST(a_short_writer_says_so)
{
	const struct slice whole = SLICE_OF("CLAIM a%20b%3Dc fp=%25%25%25\n");
	struct writer w;

	for (size_t cap = 0; cap <= whole.len; cap++) {
		char *exact = malloc(cap > 0 ? cap : 1);
		ck_assert_ptr_nonnull(exact);
		writer_init(&w, exact, cap);
		request_begin(&w, VERB_CLAIM, SLICE_OF("a b=c"));
		request_bytes(&w, OPT_FP, SLICE_OF("%%%"));
		request_end(&w, SLICE_ABSENT);
		ck_assert_int_eq(w.full, cap < whole.len);
		ck_assert(slice_starts(whole, writer_done(&w)));
		/* Not inside the escaped key, the name, or the escaped value. */
		ck_assert(w.len == 0 || w.len == 5 || w.len == 6 || w.len == 15 || w.len == 16 || w.len == 18 ||
			  w.len == 19 || w.len >= 28);
		free(exact);
	}
}
END_TEST

/* ---- octets at random ---- */

static const char *const pieces[] = {"CLAIM",     "COMPLETE",   "STATUS",  "HELP",
				     "PING",      "RESOLVE",    " ",       " ",
				     " ",         "=",          "%",       "%2",
				     "%41",       "tag=",       "body=",   "body=3",
				     "lease=30s", "fence=5",    "as=free", "result",
				     "result=",   "k",          "*",       "WON",
				     "ERR",       "\n",         "\r\n",    "\r",
				     "0",         "1",          "never",   "token=0123456789abcdef",
				     "CLAIM k",   "hold=1s",    "notify",  "drop=unknown",
				     "WATCH",     "state=live", "KEY",     "fence=0",
				     "\x01",      "\x7F",       "\xFF",    "9007199254740991"};

/* Pieces of the grammar and other octets in any order. */
static size_t random_stream(uint64_t *seed, char *data, size_t cap)
{
	size_t len = 0, want = random_below(seed, cap);

	while (len < want) {
		const char *piece = pieces[random_below(seed, sizeof pieces / sizeof pieces[0])];
		size_t piece_len = strlen(piece);
		if (random_below(seed, 8) == 0) {
			data[len++] = (char)random_below(seed, 256);
		} else if (piece_len <= cap - len) {
			memcpy(data + len, piece, piece_len);
			len += piece_len;
		} else {
			break;
		}
	}
	return len;
}

/* What was understood must be within the line, and a refusal must say why. */
static void expect_sound(const struct request *req, enum err code, const struct errbuf *err, const char *line,
			 size_t len)
{
	ck_assert_int_lt((int)code, ERR__COUNT);
	ck_assert_int_eq(code != ERR_NONE, err->text[0] != '\0');
	for (enum option option = 0; option < OPT__COUNT; option++) {
		if (!request_has(req, option) || option_info(option)->kind != KIND_BYTES)
			continue;
		struct slice text = req->value[option].text;
		ck_assert_uint_le(text.len, option_info(option)->limit);
		ck_assert_uint_gt(text.len, 0);
		if (req->verb != VERB_STATUS)
			ck_assert(text.data > line && text.data + text.len <= line + len);
	}
	if (code != ERR_NONE)
		return;
	ck_assert_int_lt((int)req->verb, VERB__COUNT);
	ck_assert(verb_info(req->verb)->operand != OPERAND_KEY || req->key.len > 0);
	ck_assert(req->body.data == NULL || verb_info(req->verb)->body);
	ck_assert(!request_has(req, OPT_HOLD) || req->value[OPT_HOLD].number > 0);
	ck_assert(!request_has(req, OPT_TOKEN) || !request_has(req, OPT_DROP) ||
		  req->value[OPT_DROP].number == CHOICE_DROP_KEEP);
}

START_TEST(random_octets_do_no_harm)
{
	uint64_t seed = UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)_i;
	size_t understood = 0;
	char data[300];

	for (int i = 0; i < 20000; i++) {
		size_t len = random_stream(&seed, data, sizeof data), used = 0;
		char *stream = exact_copy(data, len), *again = exact_copy(data, len);
		while (used < len) {
			struct frame frame = {0};
			struct errbuf err = {""};
			struct request req;
			struct reply reply;
			enum frame_state state = frame_scan(&frame, stream + used, len - used, 200, 100, &err);
			if (state == FRAME_MORE || state == FRAME_BROKEN || frame.size > len - used)
				break;
			struct slice body = SLICE_ABSENT;
			if (frame.has_body && state == FRAME_READY)
				body = (struct slice){stream + used + frame.body_at, frame.body_len};
			enum err code = request_parse(&req, stream + used, frame.line_len, body, &err);
			expect_sound(&req, code, &err, stream + used, frame.line_len);
			understood += code == ERR_NONE;
			reply_parse(&reply, again + used, frame.line_len, body, &err);
			used += frame.size;
		}
		free(stream);
		free(again);
	}
	/* Else it tries only refusals. */
	ck_assert_uint_gt(understood, 100);
}
END_TEST

START_TEST(random_values_do_no_harm)
{
	uint64_t seed = 11;
	char data[24];

	for (int i = 0; i < 200000; i++) {
		static const char likely[] = "0123456789smhdnever%aF";
		size_t len = random_below(&seed, sizeof data), out = 0;
		for (size_t j = 0; j < len; j++)
			data[j] = likely[random_below(&seed, sizeof likely - 1)];
		char *copy = exact_copy(data, len);
		struct slice text = {copy, len};
		int64_t n = 0;
		if (integer_parse(text, &n))
			ck_assert(n >= 0 && n <= PROTO_MAX_INTEGER);
		if (duration_parse(text, true, &n))
			ck_assert(n >= 0 && (n <= PROTO_MAX_INTEGER || n == PROTO_NEVER));
		if (escape_decode(copy, len, &out))
			ck_assert_uint_le(out, len);
		free(copy);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("proto");
	TCase *tcase = tcase_create("all");
	SRunner *runner = srunner_create(suite);

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, names_are_found);
	tcase_add_test(tcase, tables_hold_together);
	tcase_add_test(tcase, a_claim_there_and_back);
	tcase_add_test(tcase, a_settlement_there_and_back);
	tcase_add_test(tcase, verbs_without_a_key_there_and_back);
	tcase_add_test(tcase, a_reply_there_and_back);
	tcase_add_test(tcase, an_error_there_and_back);
	tcase_add_test(tcase, an_event_there_and_back);
	tcase_add_test(tcase, fields_beyond_the_limit_are_dropped);
	tcase_add_test(tcase, a_short_writer_says_so);
	tcase_add_loop_test(tcase, random_octets_do_no_harm, 0, 3);
	tcase_add_test(tcase, random_values_do_no_harm);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
