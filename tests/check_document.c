/*
 * check_document.c - PROTOCOL.txt says what words.def says: every verb with exactly its options, every word, every error with
 * its retry, every limit; and its examples can be read. What an option means stands below its name.
 */
#include "../proto/proto.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDENT "\n    "

/* PROTOCOL.txt as a string, with an LF in front; to be freed. */
static char *document(void)
{
	const char *srcdir = getenv("srcdir");
	char path[1024];

	snprintf(path, sizeof path, "%s/proto/PROTOCOL.txt", srcdir != NULL ? srcdir : ".");
	FILE *f = fopen(path, "rb");
	ck_assert_msg(f != NULL, "%s cannot be read", path);
	char *text = calloc(1, 200000);
	ck_assert_ptr_nonnull(text);
	text[0] = '\n';
	size_t len = fread(text + 1, 1, 199000, f);
	fclose(f);
	ck_assert_uint_gt(len, 10000);
	return text;
}

/* Where a line starts with the word and then a space or the end; NULL: nowhere. Behind it. */
static const char *shown_line(const char *text, struct slice word)
{
	char start[64];

	snprintf(start, sizeof start, INDENT "%.*s", (int)word.len, word.data);
	for (const char *at = text; (at = strstr(at, start)) != NULL; at++)
		if (at[strlen(start)] == ' ' || at[strlen(start)] == '\n')
			return at + strlen(start);
	return NULL;
}

/* The option whose name is the start of a word of a syntax, up to "=" or the end; OPT__COUNT: none. */
static enum option option_named(const char *word)
{
	struct slice name = {word, strcspn(word, "=")};
	enum option option = 0;

	while (option < OPT__COUNT && !slice_equal(option_info(option)->name, name))
		option++;
	return option;
}

/* The options in a syntax, which goes on until the next verb or an empty line. */
static uint32_t options_shown(const char *syntax, enum verb verb)
{
	char copy[1000];
	uint32_t shown = 0;
	bool body = false;
	size_t len = 0;

	while (!(syntax[len] == '\n' &&
		 (syntax[len + 1] == '\n' || (strncmp(syntax + len, INDENT, 5) == 0 && syntax[len + 5] != ' '))))
		len++;
	ck_assert_uint_lt(len, sizeof copy);
	memcpy(copy, syntax, len);
	copy[len] = '\0';
	for (char *word = strtok(copy, " []\n"); word != NULL; word = strtok(NULL, " []\n")) {
		enum option option = option_named(word);
		if (word[0] == '<' || strcmp(word, "|") == 0)
			continue;
		if (strcmp(word, "body=N") == 0) {
			body = true;
			continue;
		}
		ck_assert_msg(option < OPT__COUNT, "%s: %s is no option", verb_info(verb)->name.data, word);
		shown |= UINT32_C(1) << option;
		if (option_info(option)->kind != KIND_CHOICE)
			continue;
		for (enum choice choice = 0; choice < CHOICE__COUNT; choice++)
			if (choice_option(choice) == option && strchr(word, '|') != NULL)
				ck_assert_msg(strstr(word, choice_name(choice).data) != NULL, "%s lacks %s", word,
					      choice_name(choice).data);
	}
	ck_assert_msg(body == verb_info(verb)->body, "%s: body=", verb_info(verb)->name.data);
	return shown;
}

START_TEST(each_verb_with_its_options)
{
	char *text = document();
	const char *verbs = strstr(text, "\nOptions of every verb\n");

	ck_assert_ptr_nonnull(verbs);
	for (enum verb verb = 0; verb < VERB__COUNT; verb++) {
		const char *syntax = shown_line(verbs, verb_info(verb)->name);
		ck_assert_msg(syntax != NULL, "%s is not there", verb_info(verb)->name.data);
		ck_assert_msg(options_shown(syntax, verb) == verb_info(verb)->options, "%s: not its options",
			      verb_info(verb)->name.data);
		if (verb_info(verb)->operand == OPERAND_KEY)
			ck_assert_int_eq(strncmp(syntax, " <key>", 6), 0);
	}
	ck_assert_ptr_nonnull(strstr(verbs, "\ntag=T\n"));
	free(text);
}
END_TEST

/* A term ("hold=D, notify") of this name, with its meaning below it. */
static bool explained(const char *text, struct slice name)
{
	while ((text = strchr(text, '\n')) != NULL) {
		size_t len = strcspn(++text, "\n");
		if (strncmp(text + len, INDENT, 5) != 0)
			continue;
		for (const char *word = text; word < text + len; word += strspn(word, ", ")) {
			struct slice term = {word, strcspn(word, "=, \n")};
			if (slice_equal(term, name))
				return true;
			word += strcspn(word, ", \n");
		}
	}
	return false;
}

START_TEST(each_option_is_explained)
{
	char *text = document();
	const char *verbs = strstr(text, "\nOptions of every verb\n");

	ck_assert_ptr_nonnull(verbs);
	for (enum option option = 0; option < OPT__COUNT; option++)
		ck_assert_msg(explained(verbs, option_info(option)->name), "%s is not explained",
			      option_info(option)->name.data);
	free(text);
}
END_TEST

START_TEST(each_word)
{
	char *text = document();

	for (enum word word = WORD_NONE + 1; word < WORD__COUNT; word++)
		ck_assert_msg(shown_line(text, word_name(word)) != NULL, "%s is not there", word_name(word).data);
	free(text);
}
END_TEST

START_TEST(each_error_with_its_retry)
{
	char *text = document();
	const char *errors = strstr(text, "    code      retry   meaning\n");
	char retry[16];

	ck_assert_ptr_nonnull(errors);
	for (enum err err = ERR_NONE + 1; err < ERR__COUNT; err++) {
		const char *line = shown_line(errors, err_name(err));
		ck_assert_msg(line != NULL && sscanf(line, "%15s", retry) == 1, "%s is not there", err_name(err).data);
		ck_assert_str_eq(retry, err_retry(err).data);
	}
	free(text);
}
END_TEST

START_TEST(each_limit_of_hello)
{
	static const struct {
		const char *name;
		enum option option;
	} limits[] = {{"max_owner", OPT_OWNER}, {"max_fp", OPT_FP}, {"max_token", OPT_TOKEN}, {"max_tag", OPT_TAG}};
	char *text = document(), field[64];

	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
		snprintf(field, sizeof field, "%s=%zu", limits[i].name, option_info(limits[i].option)->limit);
		ck_assert_msg(strstr(text, field) != NULL, "%s is not there", field);
	}
	snprintf(field, sizeof field, "max_json=%d", PROTO_MAX_JSON);
	ck_assert_msg(strstr(text, field) != NULL, "%s is not there", field);
	snprintf(field, sizeof field, "max_line=%d", PROTO_MAX_LINE);
	ck_assert_ptr_nonnull(strstr(text, field));
	snprintf(field, sizeof field, "max_body=%d max_key=%d ", PROTO_MAX_BODY, PROTO_MAX_KEY);
	ck_assert_ptr_nonnull(strstr(text, field));
	free(text);
}
END_TEST

/* What the text shows as sent ("> ") and received ("< "), as two streams. */
START_TEST(examples_can_be_read)
{
	char *text = document(), *sent = calloc(1, 2000), *got = calloc(1, 2000);
	size_t requests = 0, replies = 0;

	ck_assert(sent != NULL && got != NULL);
	for (const char *at = text; (at = strstr(at, INDENT)) != NULL; at++) {
		size_t len = strcspn(at + 1, "\n");
		if (len > 6 && (at[5] == '>' || at[5] == '<') && at[6] == ' ')
			strncat(at[5] == '>' ? sent : got, at + 7, len - 5);
	}
	for (int way = 0; way < 2; way++) {
		char *at = way == 0 ? sent : got, *end = at + strlen(at);
		while (at < end) {
			struct frame frame = {0};
			struct request req;
			struct reply reply;
			struct errbuf err = {""};
			enum frame_state state =
			    frame_scan(&frame, at, (size_t)(end - at), PROTO_MAX_LINE, PROTO_MAX_BODY, &err);
			ck_assert_msg(state == FRAME_READY, "%s in: %s", err.text, at);
			struct slice body = SLICE_ABSENT;
			if (frame.has_body)
				body = (struct slice){at + frame.body_at, frame.body_len};
			if (way == 0)
				ck_assert_msg(request_parse(&req, at, frame.line_len, body, &err) == ERR_NONE, "%s",
					      err.text);
			else
				ck_assert_msg(reply_parse(&reply, at, frame.line_len, body, &err) &&
						  reply.code != WORD_NONE,
					      "%s", err.text);
			requests += way == 0;
			replies += way == 1;
			at += frame.size;
		}
	}
	ck_assert_uint_ge(requests, 3);
	ck_assert_uint_eq(requests, replies);
	free(sent);
	free(got);
	free(text);
}
END_TEST

START_TEST(events_can_be_read)
{
	char *text = document();
	size_t count = 0;

	for (char *at = text; (at = strstr(at, INDENT "* ")) != NULL; count++) {
		struct reply reply;
		struct errbuf err = {""};
		size_t len = strcspn(++at, "\n");
		ck_assert_msg(reply_parse(&reply, at, len, SLICE_ABSENT, &err), "%s", err.text);
		ck_assert_msg(reply.event && reply.count > 0, "%.*s", (int)len, at);
	}
	ck_assert_uint_ge(count, 9);
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("document");
	TCase *tcase = tcase_create("all");
	SRunner *runner = srunner_create(suite);

	tcase_add_test(tcase, each_verb_with_its_options);
	tcase_add_test(tcase, each_option_is_explained);
	tcase_add_test(tcase, each_word);
	tcase_add_test(tcase, each_error_with_its_retry);
	tcase_add_test(tcase, each_limit_of_hello);
	tcase_add_test(tcase, examples_can_be_read);
	tcase_add_test(tcase, events_can_be_read);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
