/*
 * check_top.c - `claim top` as text: whatever the size and whatever the keys, it stays within the screen; what is
 * shown first; how long a lease is taken to be.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../client/cli_text.h"
#include "../client/top_draw.h"

static const struct top_daemon daemon_up = {.version = "0.1.0",
					    .phase = "serving",
					    .store = "memory",
					    .store_up = true,
					    .up_ms = 1000,
					    .connections = 3,
					    .waiting = 2,
					    .kept = 1,
					    .counts_age_ms = 5000,
					    .done = 1234567,
					    .failed = 7,
					    .seen_ms = 100};

/* line: an ITEM; its words are decoded in place. */
static void add(struct top_rows *rows, enum top_kind kind, const char *line, int64_t now_ms)
{
	char text[2048];
	struct reply reply;
	struct errbuf err;
	snprintf(text, sizeof(text), "%s", line);
	ck_assert(reply_parse(&reply, text, strlen(text), SLICE_ABSENT, &err));
	ck_assert(top_rows_add(rows, kind, &reply, now_ms));
}

static struct top_rows sample(void)
{
	struct top_rows rows = {0}, none = {0};
	add(&rows, TOP_LIVE, "ITEM key=young fence=5 age_ms=10 left_ms=1000 attempts=1 owner=a", 100);
	add(&rows, TOP_LIVE, "ITEM key=old fence=3 age_ms=99999 left_ms=0 attempts=1", 100);
	add(&rows, TOP_UNKNOWN, "ITEM key=%1b[31m%ff fence=4 age_ms=5 owner=%e3%82%ad%e3%83%bc%07", 100);
	add(&rows, TOP_UNKNOWN, "ITEM key=%e3%82%ad%e3%83%bc%e3%82%ad%e3%83%bc%e3%82%ad fence=2 age_ms=6 owner=b", 100);
	add(&rows, TOP_LAPSED, "ITEM key=e%cc%81e%cc%81%f0%9f%98%80%e2%80%ae%c2%9b31m fence=1 age_ms=50 left_ms=0",
	    100);
	rows.more[TOP_LIVE] = true;
	top_rows_finish(&rows, &none);
	return rows;
}

static char *drawn(const struct top_view *view, const struct top_size *size)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	ck_assert_ptr_nonnull(out);
	top_draw(out, view, size);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

/* Lines and the widest of them; every octet must be one that shows. */
static void measure(const char *text, size_t *lines, size_t *widest)
{
	*lines = *widest = 0;
	while (*text) {
		struct slice line = {text, strcspn(text, "\n")};
		for (struct slice rest = line; rest.len > 0;)
			ck_assert_msg(text_glyph(&rest).plain, "an octet that does not show");
		if (text_width(line) > *widest)
			*widest = text_width(line);
		++*lines;
		text += line.len + (text[line.len] == '\n');
	}
}

START_TEST(any_size)
{
	static const char *const troubles[] = {"", "cannot reach /run/claimd/claimd.sock: Connection refused"};
	struct top_rows rows = sample();
	for (size_t columns = 1; columns <= 140; columns++)
		for (size_t most = 1; most <= 12; most++)
			for (size_t t = 0; t < 2; t++) {
				struct top_view view = {&daemon_up, &rows, troubles[t], 0, 150};
				struct top_size size = {.columns = columns, .lines = most};
				size_t lines, widest;
				char *text = drawn(&view, &size);
				measure(text, &lines, &widest);
				ck_assert_uint_le(lines, most);
				ck_assert_uint_le(widest, columns);
				free(text);
			}
	top_rows_release(&rows);
}
END_TEST

/* On a screen each line is placed and emptied first, and none is placed below the last. */
START_TEST(on_a_screen)
{
	struct top_rows rows = sample();
	struct top_view view = {&daemon_up, &rows, "", 0, 150};
	for (size_t most = 1; most <= 12; most++) {
		struct top_size size = {.columns = 80, .lines = most, .screen = true};
		char place[32], *text = drawn(&view, &size);
		for (size_t line = 1; line <= most; line++) {
			snprintf(place, sizeof(place), "\033[%zu;1H\033[2K", line);
			ck_assert_ptr_nonnull(strstr(text, place));
		}
		snprintf(place, sizeof(place), "\033[%zu;1H", most + 1);
		ck_assert_ptr_null(strstr(text, place));
		ck_assert_ptr_null(strchr(text, '\n'));
		free(text);
	}
	top_rows_release(&rows);
}
END_TEST

START_TEST(order)
{
	struct top_rows rows = sample();
	static const int64_t fences[] = {2, 4, 1, 3, 5};
	ck_assert_uint_eq(rows.count, 5);
	for (size_t i = 0; i < 5; i++)
		ck_assert_int_eq(rows.row[i].fence, fences[i]);
	top_rows_release(&rows);
}
END_TEST

/* The bar shows what is left of the longest that was seen of this win; another win of the key has a lease of its own. */
START_TEST(leases)
{
	struct top_rows before = {0}, none = {0}, now = {0};
	add(&before, TOP_LIVE, "ITEM key=a fence=7 age_ms=10 left_ms=1000", 0);
	add(&before, TOP_LIVE, "ITEM key=b fence=9 age_ms=10 left_ms=1000", 0);
	top_rows_finish(&before, &none);
	add(&now, TOP_LIVE, "ITEM key=a fence=7 age_ms=110 left_ms=300", 100);
	add(&now, TOP_LIVE, "ITEM key=b fence=11 age_ms=5 left_ms=300", 100);
	top_rows_finish(&now, &before);
	ck_assert_int_eq(now.row[0].fence, 7);
	ck_assert_int_eq(now.row[0].lease_ms, 1000);
	ck_assert_int_eq(now.row[1].lease_ms, 300);
	struct top_view view = {&daemon_up, &now, "", 0, 100};
	struct top_size size = {.columns = 100, .lines = 20};
	char *text = drawn(&view, &size);
	ck_assert_ptr_nonnull(strstr(text, "###.......  -"));
	ck_assert_ptr_nonnull(strstr(text, "##########  -"));
	free(text);
	view.now_ms = 300; /* nothing new was heard for 200 ms */
	text = drawn(&view, &size);
	ck_assert_ptr_nonnull(strstr(text, "100ms  #.........  -"));
	free(text);
	top_rows_release(&before);
	top_rows_release(&now);
}
END_TEST

START_TEST(scrolled)
{
	struct top_rows rows = sample();
	struct top_view view = {&daemon_up, &rows, "", 3, 150};
	struct top_size size = {.columns = 100, .lines = 6, .screen = true};
	ck_assert_uint_eq(top_room(&size), 2);
	char *text = drawn(&view, &size);
	ck_assert_ptr_nonnull(strstr(text, "old"));
	ck_assert_ptr_nonnull(strstr(text, "4 to 5 of 5"));
	ck_assert_ptr_nonnull(strstr(text, "2+ live"));
	free(text);
	top_rows_release(&rows);
}
END_TEST

START_TEST(widths)
{
	static const struct {
		const char *text;
		size_t width;
	} cases[] = {{"abc", 3},           {"\xe3\x82\xad", 2},     {"e\xcc\x81", 1}, {"\x1b[1m", 7}, {"\xff", 4},
		     {"\xe2\x80\xae", 12}, {"\xf0\x9f\x98\x80", 2}, {"\xc2\x9b", 8},  {"", 0}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_uint_eq(text_width(slice_from(cases[i].text)), cases[i].width);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("top");
	TCase *tcase = tcase_create("top");
	tcase_add_test(tcase, any_size);
	tcase_add_test(tcase, on_a_screen);
	tcase_add_test(tcase, order);
	tcase_add_test(tcase, leases);
	tcase_add_test(tcase, scrolled);
	tcase_add_test(tcase, widths);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
