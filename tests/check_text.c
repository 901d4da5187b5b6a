/* check_text.c - slices, the writer at its end, error texts, and allocations that are made to fail. */
#include "../proto/mem.h"
#include "../proto/text.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* ---- slices ---- */

START_TEST(slice_absent_and_empty)
{
	ck_assert_ptr_null(slice_from(NULL).data);
	ck_assert_ptr_nonnull(slice_from("").data);
	ck_assert_uint_eq(slice_from("abc").len, 3);
	ck_assert(slice_equal(SLICE_ABSENT, SLICE_OF("")));
	ck_assert(!slice_equal(SLICE_ABSENT, SLICE_OF("a")));
}
END_TEST

START_TEST(slices_are_cut_and_trimmed)
{
	struct slice text = SLICE_OF(" a\t=b=\r");

	ck_assert(slice_equal(slice_cut(&text, '='), SLICE_OF(" a\t")));
	ck_assert(slice_equal(slice_trim(slice_cut(&text, '=')), SLICE_OF("b")));
	ck_assert(slice_equal(text, SLICE_OF("\r")));
	ck_assert(slice_equal(slice_cut(&text, '='), SLICE_OF("\r"))); /* there is none */
	ck_assert_uint_eq(text.len, 0);
	ck_assert_uint_eq(slice_cut(&text, '=').len, 0);
	ck_assert(slice_equal(slice_trim(SLICE_OF(" \t a b\r ")), SLICE_OF("a b")));
	ck_assert_uint_eq(slice_trim(SLICE_OF(" \t\r")).len, 0);
}
END_TEST

START_TEST(slice_order_is_of_octets)
{
	ck_assert_int_eq(slice_compare(SLICE_OF("ab"), SLICE_OF("ab")), 0);
	ck_assert_int_lt(slice_compare(SLICE_OF("ab"), SLICE_OF("abc")), 0);
	ck_assert_int_gt(slice_compare(SLICE_OF("abc"), SLICE_OF("ab")), 0);
	ck_assert_int_lt(slice_compare(SLICE_OF("ab"), SLICE_OF("b")), 0);
	ck_assert_int_lt(slice_compare(SLICE_ABSENT, SLICE_OF("a")), 0);
	ck_assert_int_lt(slice_compare(SLICE_OF("a\0a"), SLICE_OF("a\0b")), 0);
	ck_assert_int_gt(slice_compare(SLICE_OF("\xFF"), SLICE_OF("a")), 0);
	ck_assert(!slice_equal(SLICE_OF("a\0a"), SLICE_OF("a\0b")));
}
END_TEST

START_TEST(slice_start_and_case)
{
	ck_assert(slice_starts(SLICE_OF("abc"), SLICE_OF("ab")));
	ck_assert(slice_starts(SLICE_OF("abc"), SLICE_OF("")));
	ck_assert(slice_starts(SLICE_OF("abc"), SLICE_ABSENT));
	ck_assert(!slice_starts(SLICE_OF("abc"), SLICE_OF("b")));
	ck_assert(!slice_starts(SLICE_OF("ab"), SLICE_OF("abc")));
	ck_assert(slice_equal_nocase(SLICE_OF("aZ[9"), SLICE_OF("Az[9")));
	ck_assert(!slice_equal_nocase(SLICE_OF("a"), SLICE_OF("ab")));
	/* The octets beside the letters have no case. */
	ck_assert(!slice_equal_nocase(SLICE_OF("@"), SLICE_OF("`")));
	ck_assert(!slice_equal_nocase(SLICE_OF("["), SLICE_OF("{")));
	ck_assert(!slice_equal_nocase(SLICE_OF("\xC4"), SLICE_OF("\xE4")));
}
END_TEST

/* ---- characters and words ---- */

START_TEST(characters_of_utf8)
{
	static const struct {
		const char *text;
		size_t octets;
	} row[] = {{"a", 1},
		   {"\x7f", 1},
		   {"\x80", 0}, /* the middle of one */
		   {"\xc1\xbf", 0},
		   {"\xc2\x80", 2},
		   {"\xc2", 0}, /* cut */
		   {"\xdf\xbf", 2},
		   {"\xe0\x9f\xbf", 0}, /* overlong */
		   {"\xe0\xa0\x80", 3},
		   {"\xe2\x82\xac.", 3},
		   {"\xe2\x82", 0},
		   {"\xe2\x82.", 0},
		   {"\xed\x9f\xbf", 3},
		   {"\xed\xa0\x80", 0}, /* a surrogate */
		   {"\xf0\x8f\xbf\xbf", 0},
		   {"\xf0\x90\x80\x80", 4},
		   {"\xf0\x9f\x98", 0},
		   {"\xf4\x8f\xbf\xbf", 4},
		   {"\xf4\x90\x80\x80", 0}, /* beyond the last one */
		   {"\xf5\x80\x80\x80", 0},
		   {"\xff", 0}};

	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
		ck_assert_msg(utf8_octets(slice_from(row[i].text)) == row[i].octets, "row %zu", i);
	ck_assert_uint_eq(utf8_octets(SLICE_OF("\0")), 1);
}
END_TEST

START_TEST(distances_of_words)
{
	static const struct {
		const char *a, *b;
		size_t distance;
	} row[] = {{"", "", 0},
		   {"status", "status", 0},
		   {"", "abc", 3},
		   {"claim", "clam", 1},
		   {"claim", "clxaim", 1},
		   {"claim", "cloim", 1},
		   {"claim", "calim", 1}, /* two that are swapped */
		   {"kitten", "sitting", 3},
		   {"ab", "ba", 1},
		   {"ca", "abc", 3}};
	char longer[TEXT_MAX_WORD + 1];

	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		struct slice a = slice_from(row[i].a), b = slice_from(row[i].b);

		ck_assert_uint_eq(word_distance(a, b), row[i].distance);
		ck_assert_uint_eq(word_distance(b, a), row[i].distance);
	}
	memset(longer, 'x', sizeof longer);
	ck_assert_uint_eq(word_distance(SLICE_OF("x"), (struct slice){longer, TEXT_MAX_WORD}), TEXT_MAX_WORD - 1);
	ck_assert(word_distance(SLICE_OF("x"), (struct slice){longer, sizeof longer}) == SIZE_MAX);
	ck_assert(word_distance((struct slice){longer, sizeof longer}, SLICE_OF("x")) == SIZE_MAX);
}
END_TEST

/* ---- the writer ---- */

START_TEST(writer_stops_at_its_end)
{
	char data[6];
	struct writer w;

	writer_init(&w, data, 5);
	data[5] = '#';
	writer_text(&w, "abc");
	writer_slice(&w, SLICE_OF("de"));
	ck_assert(!w.full);
	ck_assert(slice_equal(writer_done(&w), SLICE_OF("abcde")));
	writer_slice(&w, SLICE_ABSENT);
	ck_assert(!w.full);
	writer_char(&w, 'f');
	ck_assert(w.full);
	ck_assert_uint_eq(w.len, 5);
	ck_assert_int_eq(data[5], '#');
}
END_TEST

START_TEST(writer_takes_no_part_of_a_piece)
{
	char data[5];
	struct writer w;

	writer_init(&w, data, sizeof data);
	writer_text(&w, "abc");
	writer_text(&w, "def");
	ck_assert(w.full);
	ck_assert(slice_equal(writer_done(&w), SLICE_OF("abc")));
	/* Nor a later one that would fit: it would stand where it means something else. */
	writer_char(&w, 'g');
	ck_assert(slice_equal(writer_done(&w), SLICE_OF("abc")));
}
END_TEST

static void expect_int(int64_t n, const char *text)
{
	char data[20];
	struct writer w;

	writer_init(&w, data, sizeof data);
	writer_int(&w, n);
	ck_assert(!w.full);
	ck_assert_msg(slice_equal(writer_done(&w), slice_from(text)), "%s is \"%.*s\"", text, (int)w.len, data);
}

START_TEST(writer_integers)
{
	expect_int(0, "0");
	expect_int(7, "7");
	expect_int(10, "10");
	expect_int(-1, "-1");
	expect_int(INT64_MAX, "9223372036854775807");
	expect_int(INT64_MIN, "-9223372036854775808");
}
END_TEST

/* ---- error texts ---- */

START_TEST(error_prefixes)
{
	struct errbuf err;

	err_set(&err, "no %s", "space");
	err_prefix(&err, "write %d", 7);
	err_prefix(&err, "store");
	ck_assert_str_eq(err.text, "store: write 7: no space");
}
END_TEST

START_TEST(error_is_cut_at_its_end)
{
	struct errbuf err;
	char longer[600];

	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	err_set(&err, "%s", longer);
	ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
	err_prefix(&err, "why");
	ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
	ck_assert_int_eq(strncmp(err.text, "why: xxx", 8), 0);
	/* A prefix of every length near the end, where the ": " and the rest no longer fit. */
	for (int len = (int)sizeof err.text - 6; len < (int)sizeof err.text + 3; len++) {
		err_set(&err, "rest");
		err_prefix(&err, "%.*s", len, longer);
		size_t whole = (size_t)len + strlen(": rest");
		ck_assert_uint_eq(strlen(err.text), whole < sizeof err.text ? whole : sizeof err.text - 1);
	}
}
END_TEST

/* ---- memory ---- */

START_TEST(memory_is_given)
{
	char *zeros = mem_zero(64), *copy = mem_copy("a\0b", 3), *none = mem_alloc(0), *empty = mem_copy(NULL, 0);

	ck_assert_ptr_nonnull(zeros);
	for (int i = 0; i < 64; i++)
		ck_assert_int_eq(zeros[i], 0);
	ck_assert_int_eq(memcmp(copy, "a\0b", 4), 0);
	ck_assert_ptr_nonnull(none);
	ck_assert_str_eq(empty, "");
	ck_assert_ptr_null(mem_copy("", SIZE_MAX));
	mem_free(zeros);
	mem_free(copy);
	mem_free(none);
	mem_free(empty);
	mem_free(NULL);
}
END_TEST

/* Makes one allocation of each kind; returns a bit for each that failed. */
static unsigned allocate_each(void)
{
	char *old = malloc(8);
	char *alloc = mem_alloc(8), *zero = mem_zero(8), *copy = mem_copy("x", 1);
	char *resized;

	ck_assert_ptr_nonnull(old);
	memcpy(old, "1234567", 8);
	resized = mem_resize(old, 16);
	ck_assert_str_eq(resized != NULL ? resized : old, "1234567");
	unsigned failed = (alloc == NULL) | (unsigned)(zero == NULL) << 1 | (unsigned)(copy == NULL) << 2 |
			  (unsigned)(resized == NULL) << 3;
	free(resized != NULL ? resized : old);
	free(alloc);
	free(zero);
	free(copy);
	return failed;
}

START_TEST(memory_fails_at)
{
	mem_fail_at(0, 0);
	ck_assert_uint_eq(allocate_each(), 0);
	ck_assert_uint_eq(mem_fail_at(1, 0), 4);
	ck_assert_uint_eq(allocate_each(), 1);
	ck_assert_uint_eq(mem_fail_at(3, 0), 4);
	ck_assert_uint_eq(allocate_each(), 4);
	mem_fail_at(4, 0);
	ck_assert_uint_eq(allocate_each(), 8);
	ck_assert_uint_eq(allocate_each(), 0);
	ck_assert_uint_eq(mem_fail_at(2, 1), 8);
	ck_assert_uint_eq(allocate_each(), 14);
	ck_assert_uint_eq(allocate_each(), 15);
	mem_fail_at(0, 1);
	ck_assert_uint_eq(allocate_each(), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("text");
	TCase *tcase = tcase_create("all");
	SRunner *runner = srunner_create(suite);

	tcase_add_test(tcase, slice_absent_and_empty);
	tcase_add_test(tcase, slices_are_cut_and_trimmed);
	tcase_add_test(tcase, slice_order_is_of_octets);
	tcase_add_test(tcase, slice_start_and_case);
	tcase_add_test(tcase, characters_of_utf8);
	tcase_add_test(tcase, distances_of_words);
	tcase_add_test(tcase, writer_stops_at_its_end);
	tcase_add_test(tcase, writer_takes_no_part_of_a_piece);
	tcase_add_test(tcase, writer_integers);
	tcase_add_test(tcase, error_prefixes);
	tcase_add_test(tcase, error_is_cut_at_its_end);
	tcase_add_test(tcase, memory_is_given);
	tcase_add_test(tcase, memory_fails_at);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
