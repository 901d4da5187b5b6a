/*
 * check_keys.c - replays proto/vectors/keys.txt: the content keys that any implementation must make, and what none is made of.
 */
#include "../server/content_key.h"
#include "vectors.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../proto/sha256.h"

static struct slice text_of(const struct vector *vector, const char *keyword)
{
	const struct vector_line *line = vector_find(vector, keyword);

	return line != NULL ? line->text : SLICE_ABSENT;
}

static void check_key(const struct vector *vector)
{
	const struct content_key_ask ask = {vector->input, text_of(vector, "fields"), text_of(vector, "except"),
					    text_of(vector, "round")};
	struct slice refused = text_of(vector, "err"), key = text_of(vector, "key");
	char got[65] = "", of_text[65];
	struct errbuf err = {""};

	enum err code = content_key(&ask, got, &err);
	if (refused.data != NULL) {
		ck_assert_msg(slice_equal(err_name(code), refused) && strlen(err.text) > 10, "case \"%.*s\": %s: %s",
			      (int)vector->name.len, vector->name.data, err_name(code).data, err.text);
		return;
	}
	sha256_hex(text_of(vector, "text"), of_text);
	ck_assert_msg(key.len == 64 && slice_equal(slice_from(of_text), key),
		      "case \"%.*s\": the key is not that of the text: %s", (int)vector->name.len, vector->name.data,
		      of_text);
	ck_assert_msg(code == ERR_NONE && slice_equal(slice_from(got), key), "case \"%.*s\": %s %s",
		      (int)vector->name.len, vector->name.data, got, err.text);
}

START_TEST(keys)
{
	struct vectors vectors;

	vectors_load(&vectors, "keys.txt");
	for (size_t i = 0; i < vectors.count; i++)
		check_key(&vectors.vector[i]);
	vectors_release(&vectors);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("keys");
	TCase *tcase = tcase_create("vectors");
	SRunner *runner = srunner_create(suite);

	tcase_add_test(tcase, keys);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
