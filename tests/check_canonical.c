/*
 * check_canonical.c - the canonical form of RFC 8785: its examples, its numbers and more of them, the order of names; and what
 * json_strict lets through and what it does not.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../proto/mem.h"
#include "../server/canonical.h"
#include "../server/json_strict.h"

static struct errbuf err;

/* The canonical form, to be freed; NULL: refused. */
static char *canonical(const char *json)
{
	size_t len = strlen(json), cap = len * CANONICAL_GROWTH + 1;
	char *text = mem_copy(json, len), *out = NULL;
	cJSON *tree = NULL;
	struct writer w;

	ck_assert_ptr_nonnull(text);
	err.text[0] = '\0';
	if (json_strict(text, len, &err)) {
		tree = cJSON_ParseWithLength(text, len);
		ck_assert_msg(tree != NULL, "cJSON does not read what is fine: %s", json);
	}
	if (tree != NULL && canonical_sort(tree, &err) == ERR_NONE) {
		out = mem_alloc(cap);
		ck_assert_ptr_nonnull(out);
		writer_init(&w, out, cap - 1);
		if (!canonical_write(&w, tree, &err)) {
			mem_free(out);
			out = NULL;
		} else {
			ck_assert(!w.full);
			out[w.len] = '\0';
		}
	}
	cJSON_Delete(tree);
	mem_free(text);
	return out;
}

static void expect(const char *json, const char *want)
{
	char *got = canonical(json);

	ck_assert_msg(got != NULL, "%s: %s", json, err.text);
	ck_assert_str_eq(got, want);
	mem_free(got);
}

/* ---- numbers ---- */

static const char *number(double value)
{
	static char text[64];
	struct writer w;

	writer_init(&w, text, sizeof text - 1);
	canonical_number(&w, value);
	text[w.len] = '\0';
	return text;
}

static const struct {
	uint64_t bits;
	const char *text;
} numbers[] = {
    /* the table of the RFC */
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
    /* both sides of where the form changes, and of where an integer is exact */
    {UINT64_C(0x3ff0000000000000), "1"},
    {UINT64_C(0xbff0000000000000), "-1"},
    {UINT64_C(0x3fb999999999999a), "0.1"},
    {UINT64_C(0x3fd3333333333334), "0.30000000000000004"},
    {UINT64_C(0x3e7ad7f29abcaf48), "1e-7"},
    {UINT64_C(0x4415af1d78b58c40), "100000000000000000000"},
    {UINT64_C(0x433fffffffffffff), "9007199254740991"},
    {UINT64_C(0x4340000000000001), "9007199254740994"},
    {UINT64_C(0xc3abc16d674ec800), "-1000000000000000000"},
    {UINT64_C(0x43b0000000000000), "1152921504606847000"},
    {UINT64_C(0x43e0000000000000), "9223372036854776000"},
    {UINT64_C(0x4330000000000001), "4503599627370497"},
    {UINT64_C(0x4320000000000001), "2251799813685248.5"},
    /* the least normal number, and the one below it */
    {UINT64_C(0x0010000000000000), "2.2250738585072014e-308"},
    {UINT64_C(0x000fffffffffffff), "2.225073858507201e-308"},
    {UINT64_C(0x0000000000000002), "1e-323"},
    /* powers of two whose shortest text lies above, while the nearest of that length is another double's */
    {UINT64_C(0x3e70000000000000), "5.960464477539063e-8"},
    {UINT64_C(0x3d30000000000000), "5.684341886080802e-14"},
    {UINT64_C(0x0060000000000000), "7.120236347223045e-307"},
    {UINT64_C(0x4580000000000000), "6.189700196426902e+26"},
    {UINT64_C(0x7cf0000000000000), "6.386688990511104e+293"},
};

START_TEST(a_number_is_printed_as_ecmascript_does)
{
	double value;

	memcpy(&value, &numbers[_i].bits, sizeof value);
	ck_assert_str_eq(number(value), numbers[_i].text);
}
END_TEST

/* The significant digits of what was printed. */
static int digits_of(const char *text)
{
	int digits = 0, zeros = 0;

	for (; *text != '\0' && *text != 'e'; text++) {
		if (*text < '0' || *text > '9' || (*text == '0' && digits == 0))
			continue;
		digits++;
		zeros = *text == '0' ? zeros + 1 : 0;
	}
	return digits - zeros;
}

/* No text with one digit less reads back, neither the nearest nor its neighbours. */
static void expect_shortest(double value)
{
	const char *text = number(value);
	int digits = digits_of(text);
	char nearest[40];

	ck_assert_msg(strtod(text, NULL) == value, "%a is %s", value, text);
	if (digits < 2)
		return;
	snprintf(nearest, sizeof nearest, "%.*e", digits - 2, value);
	double at = strtod(nearest, NULL), step = pow(10, atoi(strchr(nearest, 'e') + 1) - (digits - 2));
	for (int i = -1; i <= 1; i++)
		ck_assert_msg(at + i * step != value, "%s, but %s and %d does it", text, nearest, i);
}

START_TEST(any_number_is_the_shortest_that_reads_back)
{
	uint64_t state = UINT64_C(88172645463325252);

	for (int i = 0; i < 100000; i++) {
		double value;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		memcpy(&value, &state, sizeof value);
		if (isfinite(value))
			ck_assert_msg(strtod(number(value), NULL) == value, "%a is %s", value, number(value));
		expect_shortest((double)(state >> 20) / 1000000);
	}
}
END_TEST

/* ---- the form ---- */

static const struct {
	const char *json, *canonical;
} forms[] = {
    /* the examples of the RFC */
    {"{\n  \"numbers\": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],\n"
     "  \"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\n"
     "  \"literals\": [null, true, false]\n}",
     "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
     "\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"},
    {"{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\",\"\\ufb33\":\"Hebrew Letter Dalet With Dagesh\","
     "\"1\":\"One\",\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\"\\u0080\":\"Control\","
     "\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}",
     "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\","
     "\"\xc3\xb6\":\"Latin Small Letter O With Diaeresis\",\"\xe2\x82\xac\":\"Euro Sign\","
     "\"\xf0\x9f\x98\x80\":\"Emoji: Grinning Face\",\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}"},
    {"{\"1\":{\"f\":{\"f\":\"hi\",\"F\":5},\"\\n\":56.0},\"10\":{},\"\":\"empty\",\"a\":{},\"111\":[{\"e\":\"yes\","
     "\"E\":\"no\"}],\"A\":{}}",
     "{\"\":\"empty\",\"1\":{\"\\n\":56,\"f\":{\"F\":5,\"f\":\"hi\"}},\"10\":{},\"111\":[{\"E\":\"no\",\"e\":\"yes\"}],"
     "\"A\":{},\"a\":{}}"},
    /* spaces, empty things, the order of an array */
    {"\t{ \"b\" :\r\n{\"d\":[ {\"z\":1,\"y\":2} ,[],\"\", [ ] ],\"c\":{ }} , \"a\" : -0.0 } \n",
     "{\"a\":0,\"b\":{\"c\":{},\"d\":[{\"y\":2,\"z\":1},[],\"\",[]]}}"},
    /* each escape, and what needs none */
    {"{\"a\":\"\\b\\t\\n\\f\\r\\u000b\\u0001\\u001F\\u007f\x7f\\u2028\\/\\u002f\"}",
     "{\"a\":\"\\b\\t\\n\\f\\r\\u000b\\u0001\\u001f\x7f\x7f\xe2\x80\xa8//\"}"},
    {"{\"\\\"\\\\\":\"\\u0008\\u0009\\u000A\\u000C\\u000D\"}", "{\"\\\"\\\\\":\"\\b\\t\\n\\f\\r\"}"},
    /* UTF-8 of each length, at both ends, raw and escaped: the same */
    {"{\"a\":\"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"}",
     "{\"a\":\"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"}"},
    {"{\"a\":\"\\u0080\\u07ff\\u0800\\ud7ff\\ue000\\uFFFF\\ud800\\udc00\\uDBFF\\uDFFF\"}",
     "{\"a\":\"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"}"},
    /* the same letter in two ways stays two names */
    {"{\"\xc3\xa9\":1,\"e\xcc\x81\":2}", "{\"e\xcc\x81\":2,\"\xc3\xa9\":1}"},
    {"{\"aa\":1,\"a\":2,\"A\":3,\"ab\":4,\"\":5}", "{\"\":5,\"A\":3,\"a\":2,\"aa\":1,\"ab\":4}"},
    {"{\"\\uffff\":1,\"\\ud800\\udc00\":2,\"\\ue000\":3,\"\\ud7ff\":4,\"\\udbff\\udfff\":5}",
     "{\"\xed\x9f\xbf\":4,\"\xf0\x90\x80\x80\":2,\"\xf4\x8f\xbf\xbf\":5,\"\xee\x80\x80\":3,\"\xef\xbf\xbf\":1}"},
    {"{\"a\":[1,1.0,10e-1,0.1E1,1e0,1E+0]}", "{\"a\":[1,1,1,1,1,1]}"},
    {"{\"a\":9007199254740992,\"b\":-9007199254740992}", "{\"a\":9007199254740992,\"b\":-9007199254740992}"},
    {"{\"a\":[1e-400,9007199254740993.0,9007199254740993e0,-0]}", "{\"a\":[0,9007199254740992,9007199254740992,0]}"},
    {"{\"a\":0.1234567890123456789012345678901234567890123456789012345678901}", "{\"a\":0.12345678901234568}"},
};

START_TEST(a_tree_is_written_in_the_canonical_form)
{
	expect(forms[_i].json, forms[_i].canonical);
	expect(forms[_i].canonical, forms[_i].canonical);
}
END_TEST

START_TEST(nothing_grows_by_more_than_the_factor)
{
	char json[4096] = "{\"\":[1e20";

	for (int i = 0; i < 700; i++)
		strcat(json, i % 7 == 0 ? ",1e9" : ",1e20");
	strcat(json, "]}");
	char *out = canonical(json); /* looks at w.full */
	ck_assert_ptr_nonnull(out);
	ck_assert_uint_gt(strlen(out), 3 * strlen(json));
	mem_free(out);
}
END_TEST

/* ---- order ---- */

START_TEST(any_two_strings_of_octets_differ_or_are_the_same)
{
	for (int i = 0; i < 256; i++) {
		for (int j = 0; j < 256; j++) {
			char a = (char)i, b = (char)j;
			int order = canonical_compare((struct slice){&a, 1}, (struct slice){&b, 1});
			int back = canonical_compare((struct slice){&b, 1}, (struct slice){&a, 1});

			ck_assert_int_eq(order == 0, i == j);
			ck_assert_int_eq(order > 0, back < 0);
		}
	}
	ck_assert_int_lt(canonical_compare(SLICE_OF("a"), SLICE_OF("ab")), 0);
	ck_assert_int_gt(canonical_compare(SLICE_OF("a\0b"), SLICE_OF("a")), 0);
	ck_assert_int_lt(canonical_compare(SLICE_OF("a\0z"), SLICE_OF("aa")), 0);
}
END_TEST

/* Would take hours if names were looked for one by one. */
START_TEST(many_members_are_sorted_and_a_double_is_found)
{
	enum { COUNT = 200000 };
	char *json = mem_alloc(COUNT * 16), *want = mem_alloc(COUNT * 16);
	size_t len = 0, want_len = 0;

	ck_assert(json != NULL && want != NULL);
	for (int i = 0; i < COUNT; i++) {
		len += (size_t)sprintf(json + len, "%c\"n%06d\":1", i == 0 ? '{' : ',', COUNT - 1 - i);
		want_len += (size_t)sprintf(want + want_len, "%c\"n%06d\":1", i == 0 ? '{' : ',', i);
	}
	strcpy(json + len, "}");
	strcpy(want + want_len, "}");
	expect(json, want);
	strcpy(json + len, ",\"n\\u0030\\u0030\\u0030\\u0030\\u0030\\u0037\":1}");
	ck_assert_ptr_null(canonical(json));
	ck_assert_str_eq(err.text, "the name \"n000007\" stands twice in one object; which one counts?");
	mem_free(json);
	mem_free(want);
}
END_TEST

START_TEST(a_sorted_tree_is_still_one_of_cjson)
{
	cJSON *tree = cJSON_Parse("{\"b\":1,\"c\":2,\"a\":3}");

	ck_assert_int_eq(canonical_sort(tree, &err), ERR_NONE);
	ck_assert_ptr_nonnull(cJSON_AddNullToObject(tree, "d"));
	char *text = cJSON_PrintUnformatted(tree);
	ck_assert_str_eq(text, "{\"a\":3,\"b\":1,\"c\":2,\"d\":null}");
	cJSON_free(text);
	cJSON_Delete(tree);
}
END_TEST

START_TEST(a_shown_name_is_cut_between_characters)
{
	char name[128];

	for (size_t at = 56; at < 64; at++) {
		memset(name, 'x', sizeof name);
		memcpy(name + at, "\xf0\x9f\x98\x80", 4);
		name[100] = '\0';
		int shown = canonical_shown(name);
		ck_assert_int_eq(shown, at > 56 && at < 60 ? (int)at : 60);
	}
	ck_assert_int_eq(canonical_shown("ab"), 2);
}
END_TEST

/* ---- what is refused ---- */

static const struct {
	const char *json, *says;
} refused[] = {
    {"", "octet 1 of the JSON: an object must stand here"},
    {"[1]", "octet 1 of the JSON: an object must stand here"},
    {"\"a\"", "octet 1 of the JSON: an object must stand here"},
    {"\xef\xbb\xbf{\"a\":1}", "octet 1 of the JSON: an object must stand here"},
    {"{", "octet 2 of the JSON: a name in double quotes"},
    {"{\"a\":1}x", "octet 8 of the JSON: nothing may stand behind"},
    {"{\"a\":1} {\"a\":1}", "octet 9 of the JSON: nothing may stand behind"},
    {"{\"a\":1,}", "octet 8 of the JSON: a name in double quotes"},
    {"{,}", "octet 2 of the JSON: a name in double quotes"},
    {"{\"a\":1 \"b\":2}", "octet 8 of the JSON: a , or } must"},
    {"{\"a\":1", "octet 7 of the JSON: a , or } must"},
    {"{\"a\":1]", "octet 7 of the JSON: a , or } must"},
    {"{\"a\"}", "octet 5 of the JSON: a : must"},
    {"{\"a\" 1}", "octet 6 of the JSON: a : must"},
    {"{\"a\":}", "octet 6 of the JSON: a value must"},
    {"{'a':1}", "a name in double quotes"},
    {"{a:1}", "a name in double quotes"},
    {"{1:1}", "a name in double quotes"},
    {"{\"a\":[1,]}", "octet 9 of the JSON: a value must"},
    {"{\"a\":[1}", "a , or ] must"},
    {"{\"a\":[1 2]}", "a , or ] must"},
    {"{\"a\":[}", "a value must"},
    {"{\"a\":tru}", "octet 6 of the JSON: only true"},
    {"{\"a\":True}", "a value must"},
    {"{\"a\":truefalse}", "a , or } must"},
    {"{\"a\":fals", "only true"},
    {"{\"a\":nul}", "only true"},
    {"{\"a\":NaN}", "a value must"},
    {"{\"a\":Infinity}", "a value must"},
    {"{\"a\":1}//", "nothing may stand behind"},
    {"{\"a\":/**/1}", "a value must"},
    {"{\"a\":\v1}", "a value must"},
    {"{\"a\":\f1}", "a value must"},
    {"{\"a\":\xc2\xa0"
     "1}",
     "a value must"},
    {"{\"a\":01}", "may not begin with 0"},
    {"{\"a\":-01}", "may not begin with 0"},
    {"{\"a\":00}", "may not begin with 0"},
    {"{\"a\":1.}", "behind the point"},
    {"{\"a\":1.e1}", "behind the point"},
    {"{\"a\":.5}", "a value must"},
    {"{\"a\":+1}", "a value must"},
    {"{\"a\":-}", "a digit must"},
    {"{\"a\":--1}", "a digit must"},
    {"{\"a\":-.5}", "a digit must"},
    {"{\"a\":1e}", "no digits"},
    {"{\"a\":1e+}", "no digits"},
    {"{\"a\":1e+-1}", "no digits"},
    {"{\"a\":1e1.5}", "a , or } must"},
    {"{\"a\":0x10}", "a , or } must"},
    {"{\"a\":0.12345678901234567890123456789012345678901234567890123456789012}", "more than 63 octets"},
    {"{\"a\":\"\n\"}", "octet 7 of the JSON: a control character"},
    {"{\"a\":\"\x1f\"}", "a control character"},
    {"{\"\t\":1}", "a control character"},
    {"{\"a\":\"\x80\"}", "octet 7 of the JSON: this is no UTF-8"},
    {"{\"a\":\"\xc0\xaf\"}", "no UTF-8"},
    {"{\"a\":\"\xc1\xbf\"}", "no UTF-8"},
    {"{\"a\":\"\xe0\x9f\xbf\"}", "no UTF-8"},
    {"{\"a\":\"\xed\xa0\x80\"}", "no UTF-8"},
    {"{\"a\":\"\xed\xa0\xbd\xed\xb8\x80\"}", "no UTF-8"},
    {"{\"a\":\"\xf0\x8f\xbf\xbf\"}", "no UTF-8"},
    {"{\"a\":\"\xf4\x90\x80\x80\"}", "no UTF-8"},
    {"{\"a\":\"\xf5\x80\x80\x80\"}", "no UTF-8"},
    {"{\"a\":\"\xf8\x88\x80\x80\x80\"}", "no UTF-8"},
    {"{\"a\":\"\xff\"}", "no UTF-8"},
    {"{\"a\":\"\xe2\x82\"}", "no UTF-8"},
    {"{\"a\":\"\xe2\x82", "no UTF-8"},
    {"{\"a\":\"\xf0\x9f\x98\"}", "no UTF-8"},
    {"{\"\xe9\":1}", "no UTF-8"},
    {"{\"a\":\"\\ud800\"}", "half of a surrogate pair"},
    {"{\"a\":\"\\udc00\"}", "half of a surrogate pair"},
    {"{\"a\":\"\\udc00\\ud800\"}", "half of a surrogate pair"},
    {"{\"a\":\"\\udc00\\udc00\"}", "half of a surrogate pair"},
    {"{\"a\":\"\\ud800\\ue000\"}", "half of a surrogate pair"},
    {"{\"a\":\"\\ud800\\u0041\"}", "half of a surrogate pair"},
    {"{\"a\":\"\\ud800\\ud800\"}", "half of a surrogate pair"},
    {"{\"a\":\"\\ud800x\"}", "half of a surrogate pair"},
    {"{\"a\":\"\\ud800\\n\"}", "half of a surrogate pair"},
    {"{\"a\":\"\\ud800\\udc0\"}", "half of a surrogate pair"},
    {"{\"\\uDFFF\":1}", "half of a surrogate pair"},
    {"{\"a\":\"\\x\"}", "no such escape"},
    {"{\"a\":\"\\v\"}", "no such escape"},
    {"{\"a\":\"\\'\"}", "no such escape"},
    {"{\"a\":\"\\U0041\"}", "no such escape"},
    {"{\"a\":\"\\u12g4\"}", "four hex digits"},
    {"{\"a\":\"\\u004\"}", "four hex digits"},
    {"{\"a\":\"\\u", "four hex digits"},
    {"{\"a\":\"\\u0000\"}", "a NUL"},
    {"{\"a\\u0000\":1}", "a NUL"},
    {"{\"a\":\"", "octet 7 of the JSON: the string has no end"},
    {"{\"a\":\"\\\"}", "the string has no end"},
    {"{\"a\":\"\\", "no such escape"},
    {"{\"a\":1,\"a\":2}", "the name \"a\" stands twice"},
    {"{\"a\":1,\"b\":1,\"a\":1}", "the name \"a\" stands twice"},
    {"{\"\":1,\"\":1}", "the name \"\" stands twice"},
    {"{\"b\":{\"a\":1,\"c\":2,\"\\u0061\":1}}", "the name \"a\" stands twice"},
    {"{\"b\":[1,[{\"a\":1,\"a\":1}]]}", "the name \"a\" stands twice"},
    {"{\"a\":1e309}", "\"a\" has an integer beyond 2^53"},
    {"{\"a\":-1e309}", "\"a\" has an integer"},
    {"{\"a\":9007199254740993}", "\"a\" has an integer"},
    {"{\"a\":-9007199254740993}", "\"a\" has an integer"},
    {"{\"a\":9010000000000000}", "\"a\" has an integer"},
    {"{\"a\":10000000000000000}", "\"a\" has an integer"},
    {"{\"a\":[{\"b\":2},[1,1234567890123456789012345678901234567890123456789012345678901234567890]]}", "\"a\" has an"},
    {"{\"a\":{\"b\":[12345678901234567]}}", "\"b\" has an integer"},
};

START_TEST(it_is_refused)
{
	ck_assert_msg(canonical(refused[_i].json) == NULL, "%s", refused[_i].json);
	ck_assert_msg(strstr(err.text, refused[_i].says) != NULL, "%s: %s", refused[_i].json, err.text);
}
END_TEST

/* The text lies in a block of its own size, so that a sanitizer sees a look beyond its end. */
START_TEST(no_part_of_json_is_json)
{
	static const char whole[] =
	    "{\"a\":[true,false,null,-1.5e+10,12345678901234567,\"\\ud83d\\ude00\xf0\x9f\x98\x80\\n\",{\"b\":{}}]}";

	for (size_t len = 0; len < sizeof whole; len++) {
		char *part = malloc(len > 0 ? len : 1);

		ck_assert_ptr_nonnull(part);
		memcpy(part, whole, len);
		ck_assert_msg(json_strict(part, len, &err) == (len == sizeof whole - 1), "%zu octets", len);
		free(part);
	}
}
END_TEST

/* Short, since not every version of cJSON reads a number of more than 63 octets. */
START_TEST(an_integer_beyond_2_53_becomes_a_short_one_that_is_infinite)
{
	char text[] = "{\"a\":[-12345678901234567,9007199254740992]}";

	ck_assert(json_strict(text, sizeof text - 1, &err));
	ck_assert_str_eq(text, "{\"a\":[-9e999            ,9007199254740992]}");
}
END_TEST

START_TEST(a_raw_nul_is_refused_anywhere)
{
	static const char whole[] = " {\"ab\" : [\"c\",1.5e1,true]} ";

	for (size_t at = 0; at < sizeof whole - 1; at++) {
		char text[sizeof whole];

		memcpy(text, whole, sizeof whole);
		text[at] = '\0';
		ck_assert_msg(!json_strict(text, sizeof whole - 1, &err), "at %zu", at);
	}
}
END_TEST

START_TEST(levels_have_a_limit)
{
	char json[400];

	for (int level = 64; level <= 65; level++) {
		size_t len = (size_t)sprintf(json, "{\"a\":");

		for (int i = 1; i < level; i++)
			len += (size_t)sprintf(json + len, i % 2 ? "[" : "{\"b\":");
		json[len++] = '1';
		for (int i = level - 1; i >= 1; i--)
			json[len++] = i % 2 ? ']' : '}';
		strcpy(json + len, "}");
		char *out = canonical(json);
		ck_assert_msg((out != NULL) == (level == 64), "%s", err.text);
		mem_free(out);
	}
	ck_assert_ptr_nonnull(strstr(err.text, "more than 64 levels"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("canonical");
	TCase *tests = tcase_create("canonical");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, a_number_is_printed_as_ecmascript_does, 0, sizeof numbers / sizeof numbers[0]);
	tcase_add_test(tests, any_number_is_the_shortest_that_reads_back);
	tcase_add_loop_test(tests, a_tree_is_written_in_the_canonical_form, 0, sizeof forms / sizeof forms[0]);
	tcase_add_test(tests, nothing_grows_by_more_than_the_factor);
	tcase_add_test(tests, any_two_strings_of_octets_differ_or_are_the_same);
	tcase_add_test(tests, many_members_are_sorted_and_a_double_is_found);
	tcase_add_test(tests, a_sorted_tree_is_still_one_of_cjson);
	tcase_add_test(tests, a_shown_name_is_cut_between_characters);
	tcase_add_loop_test(tests, it_is_refused, 0, sizeof refused / sizeof refused[0]);
	tcase_add_test(tests, no_part_of_json_is_json);
	tcase_add_test(tests, an_integer_beyond_2_53_becomes_a_short_one_that_is_infinite);
	tcase_add_test(tests, a_raw_nul_is_refused_anywhere);
	tcase_add_test(tests, levels_have_a_limit);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
