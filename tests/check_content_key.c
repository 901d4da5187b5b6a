/*
 * check_content_key.c - KEY: the canonical form of RFC 8785 (its examples and its table of numbers), what is chosen of an object, and
 * everything that no key may be made of.
 */
#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../proto/mem.h"
#include "../proto/sha256.h"
#include "../server/canonical.h"
#include "../server/content_key.h"

static struct errbuf err;
static char hex[65];

static struct slice list(const char *text)
{
	return text == NULL ? SLICE_ABSENT : slice_from(text);
}

static enum err key(const char *json, const char *fields, const char *except, const char *round)
{
	struct content_key_ask ask = {slice_from(json), list(fields), list(except), list(round)};

	err.text[0] = '\0';
	return content_key(&ask, hex, &err);
}

/* The key is that of this canonical text. */
static void is(const char *canonical)
{
	char want[65];

	sha256_hex(slice_from(canonical), want);
	ck_assert_msg(strcmp(hex, want) == 0, "not the key of %s (%s)", canonical, err.text);
}

/* ---- the canonical form ---- */

static const struct {
	uint64_t bits;
	const char *text;
} numbers[] = {
    {UINT64_C(0x0000000000000000), "0"},
    {UINT64_C(0x8000000000000000), "0"},
    {UINT64_C(0x0000000000000001), "5e-324"},
    {UINT64_C(0x8000000000000001), "-5e-324"},
    {UINT64_C(0x7fefffffffffffff), "1.7976931348623157e+308"},
    {UINT64_C(0xffefffffffffffff), "-1.7976931348623157e+308"},
    {UINT64_C(0x4340000000000000), "9007199254740992"},
    {UINT64_C(0xc340000000000000), "-9007199254740992"},
    {UINT64_C(0x4430000000000000), "295147905179352830000"},
    {UINT64_C(0x44b52d02c7e14af5), "9.999999999999997e+22"},
    {UINT64_C(0x44b52d02c7e14af6), "1e+23"},
    {UINT64_C(0x44b52d02c7e14af7), "1.0000000000000001e+23"},
    {UINT64_C(0x444b1ae4d6e2ef4e), "999999999999999700000"},
    {UINT64_C(0x444b1ae4d6e2ef4f), "999999999999999900000"},
    {UINT64_C(0x444b1ae4d6e2ef50), "1e+21"},
    {UINT64_C(0x3eb0c6f7a0b5ed8c), "9.999999999999997e-7"},
    {UINT64_C(0x3eb0c6f7a0b5ed8d), "0.000001"},
    {UINT64_C(0x41b3de4355555553), "333333333.3333332"},
    {UINT64_C(0x41b3de4355555554), "333333333.33333325"},
    {UINT64_C(0x41b3de4355555555), "333333333.3333333"},
    {UINT64_C(0x41b3de4355555556), "333333333.3333334"},
    {UINT64_C(0x41b3de4355555557), "333333333.33333343"},
    {UINT64_C(0xbecbf647612f3696), "-0.0000033333333333333333"},
    {UINT64_C(0x43143ff3c1cb0959), "1424953923781206.2"},
    /* and some more */
    {UINT64_C(0x3ff0000000000000), "1"},
    {UINT64_C(0x4024000000000000), "10"},
    {UINT64_C(0x3fb999999999999a), "0.1"},
    {UINT64_C(0x3fd3333333333334), "0.30000000000000004"},
    {UINT64_C(0x0010000000000000), "2.2250738585072014e-308"},
    {UINT64_C(0x000fffffffffffff), "2.225073858507201e-308"},
    {UINT64_C(0x4415af1d78b58c40), "100000000000000000000"},
    {UINT64_C(0xc08f400000000000), "-1000"},
};

START_TEST(a_number_is_printed_as_ecmascript_does)
{
	char text[CANONICAL_NUMBER];
	double value;

	memcpy(&value, &numbers[_i].bits, sizeof value);
	canonical_number(value, text);
	ck_assert_str_eq(text, numbers[_i].text);
}
END_TEST

/* Reads back as the same double, and nothing shorter does. */
START_TEST(any_number_is_the_shortest_that_reads_back)
{
	uint64_t state = 88172645463325252u;
	char text[CANONICAL_NUMBER], shorter[40];

	for (int i = 0; i < 200000; i++) {
		double value;
		size_t digits = 0;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		memcpy(&value, &state, sizeof value);
		if (value - value != 0) /* no number, or endless */
			continue;
		canonical_number(value, text);
		ck_assert_msg(strtod(text, NULL) == value, "%a is %s", value, text);
		for (const char *at = text; *at != '\0' && *at != 'e'; at++)
			digits += *at >= '0' && *at <= '9';
		if (strchr(text, 'e') == NULL || digits < 2)
			continue;
		snprintf(shorter, sizeof shorter, "%.*e", (int)digits - 2, value);
		ck_assert_msg(strtod(shorter, NULL) != value, "%s for %s", text, shorter);
	}
}
END_TEST

static const struct {
	const char *json, *canonical;
} forms[] = {
    {"{\"numbers\": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],\n"
     " \"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\n"
     " \"literals\": [null, true, false]}",
     "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
     "\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"},
    {"{\"\\u20ac\":\"Euro\",\"\\r\":\"CR\",\"\\ufb33\":\"Dalet\",\"1\":\"One\",\"\\ud83d\\ude00\":\"Face\",\"\\u0080\":"
     "\"Control\",\"\\u00f6\":\"o\"}",
     "{\"\\r\":\"CR\",\"1\":\"One\",\"\xc2\x80\":\"Control\",\"\xc3\xb6\":\"o\",\"\xe2\x82\xac\":\"Euro\","
     "\"\xf0\x9f\x98\x80\":\"Face\",\"\xef\xac\xb3\":\"Dalet\"}"},
    {"\t{ \"b\" :\r\n{\"d\":[ {\"z\":1,\"y\":2} ,[]],\"c\":{}} , \"a\" : -0.0 } \n",
     "{\"a\":0,\"b\":{\"c\":{},\"d\":[{\"y\":2,\"z\":1},[]]}}"},
    {"{\"\":1,\"a\":\"\\b\\t\\n\\f\\r\\u0001\\u001f\x7f\"}", "{\"\":1,\"a\":\"\\b\\t\\n\\f\\r\\u0001\\u001f\x7f\"}"},
    {"{\"aa\":1,\"a\":2,\"A\":3,\"ab\":4}", "{\"A\":3,\"a\":2,\"aa\":1,\"ab\":4}"},
    {"{\"\\uffff\":1,\"\\ud800\\udc00\":2,\"\\ue000\":3,\"\\ud7ff\":4}",
     "{\"\xed\x9f\xbf\":4,\"\xf0\x90\x80\x80\":2,\"\xee\x80\x80\":3,\"\xef\xbf\xbf\":1}"},
    {"{\"a\":9007199254740992,\"b\":-9007199254740992}", "{\"a\":9007199254740992,\"b\":-9007199254740992}"},
    {"{\"a\":1e-400}", "{\"a\":0}"},
};

START_TEST(it_is_the_key_of_the_canonical_form)
{
	ck_assert_msg(key(forms[_i].json, NULL, NULL, NULL) == ERR_NONE, "%s", err.text);
	is(forms[_i].canonical);
	ck_assert_int_eq(key(forms[_i].canonical, NULL, NULL, NULL), ERR_NONE); /* it is its own form */
	is(forms[_i].canonical);
}
END_TEST

START_TEST(the_locale_does_not_matter)
{
	char text[CANONICAL_NUMBER];

	/* Whatever of these is installed; the program itself never sets one. */
	canonical_number(0.5, text);
	ck_assert_str_eq(text, "0.5");
	ck_assert_str_eq(setlocale(LC_NUMERIC, NULL), "C");
}
END_TEST

/* ---- what is chosen ---- */

#define ORDER                                                                                                        \
	"{\"id\":7,\"customer\":{\"name\":\"x\",\"email\":\"a@b\"},\"amount\":2.675,\"tags\":[{\"a\":1}],\"a.b\":1," \
	"\"c,d:e\\\\f\":2}"

static const struct {
	const char *fields, *except, *round, *canonical;
} choices[] = {
    {"id", NULL, NULL, "{\"id\":7}"},
    {"id,customer.email", NULL, NULL, "{\"customer\":{\"email\":\"a@b\"},\"id\":7}"},
    {"customer.email,customer", NULL, NULL, "{\"customer\":{\"email\":\"a@b\",\"name\":\"x\"}}"},
    {"customer,customer.email", NULL, NULL, "{\"customer\":{\"email\":\"a@b\",\"name\":\"x\"}}"},
    {"tags", NULL, NULL, "{\"tags\":[{\"a\":1}]}"},
    {"a\\.b", NULL, NULL, "{\"a.b\":1}"},
    {"c\\,d\\:e\\\\f", NULL, NULL, "{\"c,d:e\\\\f\":2}"},
    {"customer,id", "customer.name,nothing,id.deeper", NULL, "{\"customer\":{\"email\":\"a@b\"},\"id\":7}"},
    {"customer,id", "customer", NULL, "{\"id\":7}"},
    {"customer,id", "customer.name,customer.email", NULL, "{\"customer\":{},\"id\":7}"},
    {"amount", NULL, "amount:2", "{\"amount\":2.67}"},
    {"amount", NULL, "amount:0", "{\"amount\":3}"},
    {"amount", NULL, "amount:15", "{\"amount\":2.675}"},
    {"id", NULL, "amount:1,id:1", "{\"id\":7}"},
};

START_TEST(only_what_is_chosen_counts)
{
	ck_assert_msg(key(ORDER, choices[_i].fields, choices[_i].except, choices[_i].round) == ERR_NONE, "%s",
		      err.text);
	is(choices[_i].canonical);
}
END_TEST

/* ---- what no key is made of ---- */

static const struct {
	const char *json, *says;
} refused[] = {
    {"", "malformed"},
    {"{", "malformed"},
    {"{}", "nothing is left"},
    {" { } ", "nothing is left"},
    {"[1]", "no object"},
    {"\"a\"", "no object"},
    {"1", "no object"},
    {"{\"a\":1}x", "does not belong there at octet 7"},
    {"{\"a\":1} {", "malformed"},
    {"{\"a\":1,}", "malformed"},
    {"{\"a\":1 \"b\":2}", "malformed"},
    {"{'a':1}", "does not belong"},
    {"{a:1}", "malformed"},
    {"{\"a\":tru}", "malformed"},
    {"{\"a\":NaN}", "does not belong"},
    {"{\"a\":Infinity}", "does not belong"},
    {"{\"a\":01}", "begins with 0"},
    {"{\"a\":-01}", "begins with 0"},
    {"{\"a\":1.}", "malformed number"},
    {"{\"a\":.5}", "does not belong"},
    {"{\"a\":+1}", "does not belong"},
    {"{\"a\":-}", "malformed number"},
    {"{\"a\":1e}", "malformed number"},
    {"{\"a\":1e+}", "malformed number"},
    {"{\"a\":0x10}", "does not belong"},
    {"{\"a\":1e309}", "too large"},
    {"{\"a\":-1e309}", "too large"},
    {"{\"a\":9007199254740993}", "beyond 2^53"},
    {"{\"a\":-9007199254740993}", "beyond 2^53"},
    {"{\"a\":10000000000000000}", "beyond 2^53"},
    {"{\"a\":0.1234567890123456789012345678901234567890123456789012345678901234}", "too many digits"},
    {"{\"a\":1,\"a\":2}", "\"a\" stands twice"},
    {"{\"b\":{\"a\":1,\"c\":2,\"\\u0061\":1}}", "\"a\" stands twice"},
    {"{\"b\":[{\"a\":1,\"a\":1}]}", "\"a\" stands twice"},
    {"{\"a\":\"\n\"}", "raw control character"},
    {"{\"a\":\"\x80\"}", "no UTF-8"},
    {"{\"a\":\"\xc0\xaf\"}", "no UTF-8"},
    {"{\"a\":\"\xe0\x9f\xbf\"}", "no UTF-8"},
    {"{\"a\":\"\xed\xa0\x80\"}", "no UTF-8"},
    {"{\"a\":\"\xf0\x8f\xbf\xbf\"}", "no UTF-8"},
    {"{\"a\":\"\xf4\x90\x80\x80\"}", "no UTF-8"},
    {"{\"a\":\"\xf8\x88\x80\x80\x80\"}", "no UTF-8"},
    {"{\"a\":\"\xe2\x82\"}", "no UTF-8"},
    {"{\"a\":\"\\ud800\"}", "malformed"},
    {"{\"a\":\"\\udc00\"}", "malformed"},
    {"{\"a\":\"\\ud800\\u0041\"}", "malformed"},
    {"{\"a\":\"\\x\"}", "unknown escape"},
    {"{\"a\":\"\\u12g4\"}", "four hex digits"},
    {"{\"a\":\"\\u0000\"}", "a NUL in a string"},
    {"{\"a\\u0000\":1}", "a NUL in a string"},
    {"{\"a\":\"", "string without an end"},
    {"{\"a\":\"\\\"}", "string without an end"},
    {"{\"a\":\"\\", "unknown escape"},
    {"\xef\xbb\xbf{\"a\":1}", "does not belong"},
    {"{\"a\":\v1}", "does not belong"},
    {"{\"a\":\f1}", "does not belong"},
};

START_TEST(no_key_is_made_of_it)
{
	ck_assert_msg(key(refused[_i].json, NULL, NULL, NULL) == ERR_BADKEY, "%s", refused[_i].json);
	ck_assert_msg(strstr(err.text, refused[_i].says) != NULL, "%s: %s", refused[_i].json, err.text);
}
END_TEST

START_TEST(a_raw_nul_is_refused)
{
	static const char between[] = "{\"a\":\0001}", inside[] = "{\"a\":\"\000\"}";
	struct content_key_ask ask = {.json = {between, sizeof between - 1}};

	ck_assert_int_eq(content_key(&ask, hex, &err), ERR_BADKEY);
	ask.json = (struct slice){inside, sizeof inside - 1};
	ck_assert_int_eq(content_key(&ask, hex, &err), ERR_BADKEY);
}
END_TEST

START_TEST(depth_has_a_limit)
{
	char json[400];

	for (int depth = 64; depth <= 65; depth++) {
		size_t len = 0;

		len += (size_t)sprintf(json, "{\"a\":");
		for (int i = 1; i < depth; i++)
			json[len++] = '[';
		for (int i = 1; i < depth; i++)
			json[len++] = ']';
		sprintf(json + len, "}");
		ck_assert_int_eq(key(json, NULL, NULL, NULL), depth == 64 ? ERR_NONE : ERR_BADKEY);
	}
	ck_assert_ptr_nonnull(strstr(err.text, "64 levels"));
}
END_TEST

static const struct {
	const char *fields, *except, *round;
	enum err code;
	const char *says;
} lists[] = {
    {"nothing", NULL, NULL, ERR_BADKEY, "no field \"nothing\""},
    {"id,customer.phone", NULL, NULL, ERR_BADKEY, "no field \"phone\""},
    {"id.deeper", NULL, NULL, ERR_BADKEY, "no field \"deeper\""},
    {"tags.a", NULL, NULL, ERR_BADKEY, "no field \"a\""},
    {"ID", NULL, NULL, ERR_BADKEY, "no field \"ID\""},
    {"a.b", NULL, NULL, ERR_BADKEY, "no field \"b\""},
    {NULL, NULL, "nothing:1", ERR_BADKEY, "no field \"nothing\""},
    {NULL, NULL, "customer:1", ERR_BADKEY, "no number \"customer\""},
    {NULL, "id,customer,amount,tags,a\\.b,c\\,d\\:e\\\\f", NULL, ERR_BADKEY, "nothing is left"},
    {"customer", "customer", NULL, ERR_BADKEY, "nothing is left"},
    {"id,", NULL, NULL, ERR_BADOPT, "fields= takes"},
    {",id", NULL, NULL, ERR_BADOPT, "fields= takes"},
    {"customer..email", NULL, NULL, ERR_BADOPT, "fields= takes"},
    {"id:2", NULL, NULL, ERR_BADOPT, "fields= takes"},
    {"id\\x", NULL, NULL, ERR_BADOPT, "fields= takes"},
    {"id\\", NULL, NULL, ERR_BADOPT, "fields= takes"},
    {NULL, "a:1", NULL, ERR_BADOPT, "except= takes"},
    {NULL, NULL, "amount", ERR_BADOPT, "round= takes"},
    {NULL, NULL, "amount:", ERR_BADOPT, "round= takes"},
    {NULL, NULL, "amount:x", ERR_BADOPT, "round= takes"},
    {NULL, NULL, "amount:16", ERR_BADOPT, "round= takes"},
    {NULL, NULL, "amount:-1", ERR_BADOPT, "round= takes"},
    {NULL, NULL, "amount:1,", ERR_BADOPT, "round= takes"},
};

START_TEST(a_list_that_does_not_fit_is_refused)
{
	ck_assert_int_eq(key(ORDER, lists[_i].fields, lists[_i].except, lists[_i].round), lists[_i].code);
	ck_assert_msg(strstr(err.text, lists[_i].says) != NULL, "%s", err.text);
}
END_TEST

START_TEST(lists_have_a_limit)
{
	char text[2 * CONTENT_KEY_PATHS + 3] = "";

	for (int i = 0; i < CONTENT_KEY_PATHS; i++)
		strcat(text, i == 0 ? "x" : ",x");
	ck_assert_int_eq(key(ORDER, NULL, text, NULL), ERR_NONE);
	strcat(text, ",x");
	ck_assert_int_eq(key(ORDER, NULL, text, NULL), ERR_BADOPT);
	ck_assert_ptr_nonnull(strstr(err.text, "at most 64 paths"));
}
END_TEST

START_TEST(each_allocation_may_fail)
{
	enum err code = ERR_BUSY;
	size_t nth;

	for (nth = 1; nth < 200 && code != ERR_NONE; nth++) {
		mem_fail_at(nth, 0);
		code = key(ORDER, "id,customer", "customer.name", NULL);
		mem_fail_at(0, 0);
		ck_assert_msg(code == ERR_NONE || code == ERR_BUSY, "%zu: %s", nth, err.text);
	}
	ck_assert_uint_gt(nth, 20);
	is("{\"customer\":{\"email\":\"a@b\"},\"id\":7}");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("content_key");
	TCase *tests = tcase_create("content_key");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, a_number_is_printed_as_ecmascript_does, 0, sizeof numbers / sizeof numbers[0]);
	tcase_add_test(tests, any_number_is_the_shortest_that_reads_back);
	tcase_add_loop_test(tests, it_is_the_key_of_the_canonical_form, 0, sizeof forms / sizeof forms[0]);
	tcase_add_test(tests, the_locale_does_not_matter);
	tcase_add_loop_test(tests, only_what_is_chosen_counts, 0, sizeof choices / sizeof choices[0]);
	tcase_add_loop_test(tests, no_key_is_made_of_it, 0, sizeof refused / sizeof refused[0]);
	tcase_add_test(tests, a_raw_nul_is_refused);
	tcase_add_test(tests, depth_has_a_limit);
	tcase_add_loop_test(tests, a_list_that_does_not_fit_is_refused, 0, sizeof lists / sizeof lists[0]);
	tcase_add_test(tests, lists_have_a_limit);
	tcase_add_test(tests, each_allocation_may_fail);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
