/*
 * check_content_key.c - KEY: what is chosen of an object and how it is rounded, lists that cannot be read, that there is never a
 * key of nothing, how large an object may be, and no memory.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../proto/mem.h"
#include "../proto/sha256.h"
#include "../server/content_key.h"

static struct errbuf err;
static char hex[65];

static enum err key(const char *json, const char *fields, const char *except, const char *round)
{
	struct content_key_ask ask = {slice_from(json), slice_from(fields), slice_from(except), slice_from(round)};

	strcpy(hex, "as it was");
	err.text[0] = '\0';
	enum err code = content_key(&ask, hex, &err);
	ck_assert_msg((code == ERR_NONE) == (err.text[0] == '\0'), "%s", err.text);
	ck_assert(code == ERR_NONE || strcmp(hex, "as it was") == 0);
	return code;
}

/* The key is that of this canonical text. */
static void is(const char *canonical)
{
	char want[65];

	sha256_hex(slice_from(canonical), want);
	ck_assert_msg(strcmp(hex, want) == 0, "not the key of %s (%s)", canonical, err.text);
}

START_TEST(it_is_the_hash_of_the_canonical_form)
{
	ck_assert_int_eq(key("{ \"order\" : \"A1042\" }", NULL, NULL, NULL), ERR_NONE);
	ck_assert_str_eq(hex, "01e885cf1a313b8ac56afcdefa407c5d7f5b33233057f582ee1577e2466ba17c");
}
END_TEST

/* ---- what is chosen ---- */

#define ORDER                                                                                                        \
	"{\"id\":7,\"customer\":{\"name\":\"x\",\"email\":\"a@b\",\"at\":{\"zip\":1,\"town\":2}},\"amount\":2.675,"  \
	"\"tags\":[{\"a\":1}],\"a.b\":1,\"c,d:e\\\\f\":2,\"\xef\xac\xb3\":3,\"\xf0\x9f\x98\x80\":4,\"a\":{\"b\":5}," \
	"\"half\":0.125,\"big\":12345678901234567,\"50%\":6,\"\":8}"

static const struct {
	const char *fields, *except, *round, *canonical;
} choices[] = {
    {"id", NULL, NULL, "{\"id\":7}"},
    {"id,customer.email", NULL, NULL, "{\"customer\":{\"email\":\"a@b\"},\"id\":7}"},
    {"customer.email,id", NULL, NULL, "{\"customer\":{\"email\":\"a@b\"},\"id\":7}"},
    {"customer.at.zip,customer.name", NULL, NULL, "{\"customer\":{\"at\":{\"zip\":1},\"name\":\"x\"}}"},
    {"customer.at.zip,customer.at.town", NULL, NULL, "{\"customer\":{\"at\":{\"town\":2,\"zip\":1}}}"},
    {"customer.at", NULL, NULL, "{\"customer\":{\"at\":{\"town\":2,\"zip\":1}}}"},
    {"tags", NULL, NULL, "{\"tags\":[{\"a\":1}]}"},
    {"a\\.b", NULL, NULL, "{\"a.b\":1}"},
    {"a.b", NULL, NULL, "{\"a\":{\"b\":5}}"},
    {"a,a\\.b", NULL, NULL, "{\"a\":{\"b\":5},\"a.b\":1}"},
    {"50%", NULL, NULL, "{\"50%\":6}"},
    {"c\\,d\\:e\\\\f", NULL, NULL, "{\"c,d:e\\\\f\":2}"},
    {"\xef\xac\xb3,id,\xf0\x9f\x98\x80", NULL, NULL, "{\"id\":7,\"\xf0\x9f\x98\x80\":4,\"\xef\xac\xb3\":3}"},
    {"customer,id", "customer.name,nothing,id.deeper,customer.zzz,customer.at.zip.a,tags.a", NULL,
     "{\"customer\":{\"at\":{\"town\":2,\"zip\":1},\"email\":\"a@b\"},\"id\":7}"},
    {"customer,id", "customer", NULL, "{\"id\":7}"},
    {"customer.name,id", "aa,bb.c,id", NULL, "{\"customer\":{\"name\":\"x\"}}"},
    {"a,id", "a.b", NULL, "{\"a\":{},\"id\":7}"},
    {"customer", "customer.at.zip,customer.email", NULL, "{\"customer\":{\"at\":{\"town\":2},\"name\":\"x\"}}"},
    {NULL, "customer,tags,a\\.b,c\\,d\\:e\\\\f,\xef\xac\xb3,\xf0\x9f\x98\x80,a,half,big,50%,amount", NULL,
     "{\"\":8,\"id\":7}"},
    {"amount", NULL, "amount:2", "{\"amount\":2.67}"}, /* the double is a little below 2.675 */
    {"amount", NULL, "amount:0", "{\"amount\":3}"},
    {"amount", NULL, "amount:15", "{\"amount\":2.675}"},
    {"half", NULL, "half:2", "{\"half\":0.12}"},
    {"half,id,a,amount", NULL, "half:1,a.b:1,id:0", "{\"a\":{\"b\":5},\"amount\":2.675,\"half\":0.1,\"id\":7}"},
};

START_TEST(only_what_is_chosen_counts)
{
	ck_assert_msg(key(ORDER, choices[_i].fields, choices[_i].except, choices[_i].round) == ERR_NONE, "%s",
		      err.text);
	is(choices[_i].canonical);
}
END_TEST

static const struct {
	const char *json, *round, *canonical;
} rounds[] = {
    {"{\"a\":-0.001}", "a:2", "{\"a\":0}"},
    {"{\"a\":0.30000000000000004}", "a:6", "{\"a\":0.3}"},
    {"{\"a\":999.9999999}", "a:6", "{\"a\":1000}"},
    {"{\"a\":1.7976931348623157e308}", "a:15", "{\"a\":1.7976931348623157e+308}"},
    {"{\"a\":-1.7976931348623157e308}", "a:0", "{\"a\":-1.7976931348623157e+308}"},
    {"{\"a\":5e-324}", "a:15", "{\"a\":0}"},
    {"{\"a\":2.5,\"b\":3.5,\"c\":-2.5}", "a:0,b:0,c:0", "{\"a\":2,\"b\":4,\"c\":-2}"},
};

START_TEST(a_number_is_rounded)
{
	ck_assert_msg(key(rounds[_i].json, NULL, NULL, rounds[_i].round) == ERR_NONE, "%s", err.text);
	is(rounds[_i].canonical);
}
END_TEST

/* Both lists and members are many, and a path goes to the last level. */
START_TEST(paths_go_as_deep_as_json_and_as_many_as_allowed)
{
	char json[2048] = "", path[256] = "", want[2048] = "", fields[1024] = "";
	size_t len = 0;

	for (int i = 0; i < 64; i++) {
		strcat(json, "{\"z\":1,\"k\":");
		strcat(path, i == 0 ? "k" : ".k");
		strcat(want, "{\"k\":");
	}
	for (int i = 0; i <= 64; i++) {
		strcat(json, i == 0 ? "2" : "}");
		strcat(want, i == 0 ? "2" : "}");
	}
	ck_assert_msg(key(json, path, NULL, NULL) == ERR_NONE, "%s", err.text);
	is(want);
	strcat(path, ".k");
	ck_assert_int_eq(key(json, path, NULL, NULL), ERR_BADKEY);

	json[0] = want[0] = '\0';
	for (int i = 0; i < CONTENT_KEY_PATHS; i++) {
		sprintf(json + strlen(json), "%c\"x%02d\":%d,\"y%02d\":0", i == 0 ? '{' : ',', i, i, i);
		sprintf(want + strlen(want), "%c\"x%02d\":%d", i == 0 ? '{' : ',', i, i);
		len += (size_t)sprintf(fields + len, "%sx%02d", i == 0 ? "" : ",", CONTENT_KEY_PATHS - 1 - i);
	}
	strcat(json, "}");
	strcat(want, "}");
	ck_assert_msg(key(json, fields, NULL, NULL) == ERR_NONE, "%s", err.text);
	is(want);
	strcat(fields, ",y00");
	ck_assert_int_eq(key(json, fields, NULL, NULL), ERR_BADOPT);
	ck_assert_ptr_nonnull(strstr(err.text, "fields= has more than 64 paths"));
}
END_TEST

/* ---- what no key is made of ---- */

static const struct {
	const char *json, *fields, *except;
	bool nothing;
} left[] = {
    {"{}", NULL, NULL, true},
    {" { } ", NULL, NULL, true},
    {"{\"id\":7}", NULL, "id", true},
    {"{\"id\":7,\"a\":1}", "id", "id", true},
    {"{\"a\":{\"id\":7}}", NULL, "a.id", true},
    {"{\"id\":null,\"a\":1}", "id", NULL, true},
    {"{\"id\":\"\",\"a\":1}", "id", NULL, true},
    {"{\"a\":[null,[],\"\",{},{\"b\":null}]}", NULL, NULL, true},
    {"{\"id\":null,\"a\":1}", "id,a", NULL, false},
    {"{\"id\":0}", NULL, NULL, false},
    {"{\"id\":false}", NULL, NULL, false},
    {"{\"id\":\" \"}", NULL, NULL, false},
    {"{\"a\":[null,[],\"\",{},{\"b\":[0]}]}", NULL, NULL, false},
};

START_TEST(there_is_no_key_of_nothing)
{
	enum err code = key(left[_i].json, left[_i].fields, left[_i].except, NULL);

	ck_assert_int_eq(code, left[_i].nothing ? ERR_BADKEY : ERR_NONE);
	if (left[_i].nothing)
		ck_assert_ptr_nonnull(strstr(err.text, "nothing is left of the JSON"));
}
END_TEST

static const struct {
	const char *json, *fields, *except, *round;
	enum err code;
	const char *says;
} refused[] = {
    {"{\"a\":1,}", NULL, NULL, NULL, ERR_BADKEY, "octet 8 of the JSON"},
    {"{\"a\":1,\"a\":2}", NULL, NULL, NULL, ERR_BADKEY, "\"a\" stands twice"},
    {"{\"a\":1,\"b\":1,\"b\":2}", "a", NULL, NULL, ERR_BADKEY, "\"b\" stands twice"},
    {ORDER, "id,big", NULL, NULL, ERR_BADKEY, "\"big\" has an integer beyond 2^53"},
    {ORDER, "id,big", NULL, "big:2", ERR_BADKEY, "\"big\" has an integer beyond 2^53"},
    {ORDER, "nothing", NULL, NULL, ERR_BADKEY, "fields= names \"nothing\", and there is no such field"},
    {ORDER, "0", NULL, NULL, ERR_BADKEY, "fields= names \"0\", and"},
    {ORDER, "zzz", NULL, NULL, ERR_BADKEY, "fields= names \"zzz\", and"},
    {ORDER, "id,customer.phone", NULL, NULL, ERR_BADKEY, "fields= names \"customer.phone\", and"},
    {ORDER, "customer.at.zip,customer.at.zzz,id", NULL, NULL, ERR_BADKEY, "names \"customer.at.zzz\", and"},
    {ORDER, "id.deeper", NULL, NULL, ERR_BADKEY, "names \"id.deeper\", and"},
    {ORDER, "tags.a", NULL, NULL, ERR_BADKEY, "names \"tags.a\", and"},
    {ORDER, "ID", NULL, NULL, ERR_BADKEY, "names \"ID\", and"},
    {ORDER, "a.b.c", NULL, NULL, ERR_BADKEY, "names \"a.b.c\", and"},
    {ORDER, "customer.at.zip.n", NULL, NULL, ERR_BADKEY, "names \"customer.at.zip.n\", and"},
    {ORDER, "half", NULL, "nothing:1", ERR_BADKEY, "round= names \"nothing\", and there is no such field"},
    {ORDER, "half", NULL, "amount:1", ERR_BADKEY, "round= names \"amount\", and there is no such field"},
    {ORDER, "half,amount", "amount", "amount:1", ERR_BADKEY, "round= names \"amount\", and there is no such field"},
    {ORDER, "a", NULL, "a:1", ERR_BADKEY, "round= names \"a\", and there is no such number"},
    {ORDER, "customer", NULL, "customer.name:1", ERR_BADKEY,
     "round= names \"customer.name\", and there is no such number"},
    {ORDER, "id", NULL, "id.a:1", ERR_BADKEY, "round= names \"id.a\", and there is no such field"},
    {ORDER, "id,", NULL, NULL, ERR_BADOPT, "fields= cannot be read"},
    {ORDER, ",id", NULL, NULL, ERR_BADOPT, "fields= cannot be read"},
    {ORDER, "id,,a", NULL, NULL, ERR_BADOPT, "fields= cannot be read"},
    {ORDER, "", NULL, NULL, ERR_BADOPT, "fields= cannot be read"},
    {ORDER, "customer..email", NULL, NULL, ERR_BADOPT, "fields= cannot be read"},
    {ORDER, ".id", NULL, NULL, ERR_BADOPT, "fields= cannot be read"},
    {ORDER, "id.", NULL, NULL, ERR_BADOPT, "fields= cannot be read"},
    {ORDER, "id:2", NULL, NULL, ERR_BADOPT, "fields= cannot be read"},
    {ORDER, "id\\x", NULL, NULL, ERR_BADOPT, "fields= cannot be read"},
    {ORDER, "id\\", NULL, NULL, ERR_BADOPT, "fields= cannot be read"},
    {ORDER, "id,id", NULL, NULL, ERR_BADOPT, "fields= has a path twice"},
    {ORDER, "customer.email,id,customer", NULL, NULL, ERR_BADOPT, "fields= has a path twice, or one inside"},
    {ORDER, NULL, "a:1", NULL, ERR_BADOPT, "except= cannot be read"},
    {ORDER, NULL, "a,b,a", NULL, ERR_BADOPT, "except= has a path twice"},
    {ORDER, NULL, NULL, "amount", ERR_BADOPT, "round= cannot be read"},
    {ORDER, NULL, NULL, "amount,id:1", ERR_BADOPT, "round= cannot be read"},
    {ORDER, NULL, NULL, "amount,1", ERR_BADOPT, "round= cannot be read"},
    {ORDER, NULL, NULL, "amount:", ERR_BADOPT, "round= cannot be read"},
    {ORDER, NULL, NULL, "amount:x", ERR_BADOPT, "round= cannot be read"},
    {ORDER, NULL, NULL, "amount:16", ERR_BADOPT, "round= cannot be read"},
    {ORDER, NULL, NULL, "amount:-1", ERR_BADOPT, "round= cannot be read"},
    {ORDER, NULL, NULL, "amount:1,", ERR_BADOPT, "round= cannot be read"},
    {ORDER, NULL, NULL, "amount:1.id:2", ERR_BADOPT, "round= cannot be read"},
    {ORDER, NULL, NULL, ":1", ERR_BADOPT, "round= cannot be read"},
    {ORDER, NULL, NULL, "amount:1,amount:2", ERR_BADOPT, "round= has a path twice"},
};

START_TEST(it_is_refused)
{
	ck_assert_int_eq(key(refused[_i].json, refused[_i].fields, refused[_i].except, refused[_i].round),
			 refused[_i].code);
	ck_assert_msg(strstr(err.text, refused[_i].says) != NULL, "%s", err.text);
}
END_TEST

START_TEST(a_nul_or_the_end_behind_a_backslash_and_no_body_are_refused)
{
	struct content_key_ask ask = {.json = SLICE_OF("{\"a\":{\"b\":1}}"), .fields = SLICE_OF("a\0b")};

	ck_assert_int_eq(content_key(&ask, hex, &err), ERR_BADOPT);
	ask.fields = SLICE_OF("a\\\0b");
	ck_assert_int_eq(content_key(&ask, hex, &err), ERR_BADOPT);
	ask.fields = (struct slice){"a\\.", 2};
	ck_assert_int_eq(content_key(&ask, hex, &err), ERR_BADOPT);
	ask = (struct content_key_ask){.json = SLICE_ABSENT};
	ck_assert_int_eq(content_key(&ask, hex, &err), ERR_BADKEY);
}
END_TEST

/* Of a name that is long the error shows its beginning, and still the advice behind it. */
START_TEST(long_names_do_not_push_the_advice_out)
{
	char name[1000], json[1200];

	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	ck_assert_int_eq(key(ORDER, name, NULL, NULL), ERR_BADKEY);
	ck_assert_ptr_nonnull(strstr(err.text, "case counts"));
	sprintf(json, "{\"%s\":12345678901234567}", name);
	ck_assert_int_eq(key(json, NULL, NULL, NULL), ERR_BADKEY);
	ck_assert_ptr_nonnull(strstr(err.text, "except="));
}
END_TEST

/* An object of so many octets, with as many values as fit: they are what costs time. */
static const char *object_of(size_t octets)
{
	static char json[PROTO_MAX_JSON + 2];
	size_t len = (size_t)sprintf(json, "{\"a\":[1");

	while (len + 4 <= octets)
		len += (size_t)sprintf(json + len, ",1");
	if (len + 2 < octets)
		json[len++] = ' ';
	sprintf(json + len, "]}");
	return json;
}

/* The loop of the daemon stands still meanwhile, so max_body must not be the limit. */
START_TEST(json_at_the_limit_and_beyond)
{
	ck_assert_uint_eq(strlen(object_of(PROTO_MAX_JSON)), PROTO_MAX_JSON);
	ck_assert_int_eq(key(object_of(PROTO_MAX_JSON), NULL, NULL, NULL), ERR_NONE);
	ck_assert_uint_eq(strlen(object_of(PROTO_MAX_JSON + 1)), PROTO_MAX_JSON + 1);
	ck_assert_int_eq(key(object_of(PROTO_MAX_JSON + 1), NULL, NULL, NULL), ERR_TOOBIG);
	ck_assert_ptr_nonnull(strstr(err.text, "at most 65536 octets"));
	ck_assert_ptr_nonnull(strstr(err.text, "send only"));
}
END_TEST

START_TEST(each_allocation_may_fail)
{
	size_t refusals = 0;

	for (int onward = 0; onward <= 1; onward++) {
		enum err code = ERR_BUSY;

		for (size_t nth = 1; nth < 200 && code != ERR_NONE; nth++) {
			mem_fail_at(nth, onward);
			code = key(ORDER, "id,amount,customer", "customer.name", "amount:1");
			mem_fail_at(0, 0);
			refusals += code == ERR_BUSY;
			ck_assert_msg(code == ERR_NONE || strstr(err.text, "out of memory") != NULL, "%s", err.text);
			ck_assert(code == ERR_NONE || code == ERR_BUSY);
		}
		is("{\"amount\":2.7,\"customer\":{\"at\":{\"town\":2,\"zip\":1},\"email\":\"a@b\"},\"id\":7}");
	}
	ck_assert_uint_gt(refusals, 100);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("content_key");
	TCase *tests = tcase_create("content_key");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, it_is_the_hash_of_the_canonical_form);
	tcase_add_loop_test(tests, only_what_is_chosen_counts, 0, sizeof choices / sizeof choices[0]);
	tcase_add_loop_test(tests, a_number_is_rounded, 0, sizeof rounds / sizeof rounds[0]);
	tcase_add_test(tests, paths_go_as_deep_as_json_and_as_many_as_allowed);
	tcase_add_loop_test(tests, there_is_no_key_of_nothing, 0, sizeof left / sizeof left[0]);
	tcase_add_loop_test(tests, it_is_refused, 0, sizeof refused / sizeof refused[0]);
	tcase_add_test(tests, a_nul_or_the_end_behind_a_backslash_and_no_body_are_refused);
	tcase_add_test(tests, long_names_do_not_push_the_advice_out);
	tcase_add_test(tests, json_at_the_limit_and_beyond);
	tcase_add_test(tests, each_allocation_may_fail);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
