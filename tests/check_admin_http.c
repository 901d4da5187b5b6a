/* check_admin_http.c - which first lines are HTTP, which of them get a page, and what the page says. */
#include "../server/admin_http.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct stats stats;
static struct stats_view moment;
static char text[ADMIN_HTTP_MAX + 1];

static void setup(void)
{
	memset(&stats, 0, sizeof(stats));
	moment = (struct stats_view){.version = "1", .store_up = true, .counts_age_ms = -1};
	stats.requests = 4711;
}

/* The answer as a string; NULL when there is none. */
static const char *answer(const char *line)
{
	struct admin_view view = {&stats, &moment};
	struct writer out;
	bool answered;

	writer_init(&out, text, ADMIN_HTTP_MAX);
	answered = admin_http_answer(slice_from(line), &view, &out);
	ck_assert_int_eq(answered, out.len > 0);
	text[out.len] = 0;
	return answered ? text : NULL;
}

/* Status line and body as said, and a head that says how long the body is. */
static void expect_page(const char *line, const char *status, const char *body)
{
	const char *got = answer(line);
	const char *end;
	char length[64];

	ck_assert_msg(got != NULL, "no answer to %s", line);
	ck_assert_msg(strncmp(got, status, strlen(status)) == 0, "%s got %s", line, got);
	end = strstr(got, "\r\n\r\n");
	ck_assert_ptr_nonnull(end);
	ck_assert_str_eq(end + 4, body);
	snprintf(length, sizeof(length), "\r\nContent-Length: %zu\r\n", strlen(body));
	ck_assert_ptr_nonnull(strstr(got, length));
	ck_assert_ptr_nonnull(strstr(got, "\r\nConnection: close\r\n"));
}

START_TEST(what_is_http)
{
	static const char *const yes[] = {"GET /metrics HTTP/1.1",
					  "GET /",
					  "HEAD / HTTP/1.0",
					  "POST /x HTTP/1.1",
					  "PUT / HTTP/1.1",
					  "DELETE /",
					  "OPTIONS *",
					  "PATCH /",
					  "CONNECT h:1",
					  "TRACE / HTTP/1.1",
					  "PRI * HTTP/2.0"};
	static const char *const no[] = {
	    "", "GET", "GETTER x", "PING", "CLAIM GET lease=1s", "get /", "HELLO HTTP/1.1=1", " GET / HTTP"};

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		ck_assert_msg(admin_http_is(slice_from(yes[i])), "%s", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		ck_assert_msg(!admin_http_is(slice_from(no[i])), "%s", no[i]);
	for (enum verb verb = 0; verb < VERB__COUNT; verb++) {
		char line[40];

		snprintf(line, sizeof(line), "%.*s x", (int)verb_info(verb)->name.len, verb_info(verb)->name.data);
		ck_assert_msg(!admin_http_is(slice_from(line)), "%s", line);
	}
}
END_TEST

START_TEST(pages)
{
	const char *got = answer("GET /metrics HTTP/1.1");
	const char *body;
	char length[64];

	ck_assert_ptr_nonnull(got);
	ck_assert_int_eq(strncmp(got, "HTTP/1.1 200 OK\r\n", 17), 0);
	ck_assert_ptr_nonnull(strstr(got, "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
	ck_assert_ptr_nonnull(strstr(got, "\nclaimd_requests_total 4711\n"));
	body = strstr(got, "\r\n\r\n") + 4;
	snprintf(length, sizeof(length), "\r\nContent-Length: %zu\r\n", strlen(body));
	ck_assert_ptr_nonnull(strstr(got, length));
	ck_assert_int_eq(strncmp(body, "# HELP", 6), 0);
	expect_page("GET /livez HTTP/1.1", "HTTP/1.1 200 OK\r\n", "ok\n");
	expect_page("GET /livez HTTP/1.0\r", "HTTP/1.1 200 OK\r\n", "ok\n");
	expect_page("GET /livez?verbose=1 HTTP/1.1", "HTTP/1.1 200 OK\r\n", "ok\n");
	expect_page("GET /readyz HTTP/1.1", "HTTP/1.1 200 OK\r\n", "ok\n");
}
END_TEST

START_TEST(not_ready)
{
	moment.store_up = false;
	expect_page("GET /readyz HTTP/1.1", "HTTP/1.1 503 ", "store down\n");
	expect_page("GET /livez HTTP/1.1", "HTTP/1.1 200 ", "ok\n");
	moment.draining = true;
	expect_page("GET /readyz HTTP/1.1", "HTTP/1.1 503 ", "draining\n");
	moment.store_up = true;
	expect_page("GET /readyz HTTP/1.1", "HTTP/1.1 503 ", "draining\n");
	expect_page("GET /livez HTTP/1.1", "HTTP/1.1 200 ", "ok\n");
}
END_TEST

/* HEAD says how long the page is, and leaves it out. */
START_TEST(head)
{
	const char *got = answer("HEAD /readyz HTTP/1.1");

	ck_assert_ptr_nonnull(got);
	ck_assert_ptr_nonnull(strstr(got, "\r\nContent-Length: 3\r\n"));
	ck_assert_str_eq(strstr(got, "\r\n\r\n"), "\r\n\r\n");
	got = answer("HEAD /metrics HTTP/1.1");
	ck_assert_ptr_nonnull(got);
	ck_assert_ptr_null(strstr(got, "Content-Length: 0"));
	ck_assert_str_eq(strstr(got, "\r\n\r\n"), "\r\n\r\n");
}
END_TEST

START_TEST(no_answer)
{
	static const char *const lines[] = {"GET / HTTP/1.1",
					    "GET /metric HTTP/1.1",
					    "GET /metrics/ HTTP/1.1",
					    "POST /metrics HTTP/1.1",
					    "PUT /livez HTTP/1.1",
					    "GET /metrics",
					    "GET /metrics HTTP/2.0",
					    "GET /metrics HTTP/1.1 x",
					    "GET  /metrics HTTP/1.1",
					    "OPTIONS * HTTP/1.1",
					    "GET ",
					    "",
					    "GET http://h/metrics HTTP/1.1"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		ck_assert_msg(answer(lines[i]) == NULL, "%s", lines[i]);
}
END_TEST

/* The largest page there can be fits, and less room than promised is refused. */
START_TEST(room)
{
	struct admin_view view = {&stats, &moment};
	struct slice line = SLICE_OF("GET /metrics HTTP/1.1");
	struct writer out;

	memset(&stats, 0xff, sizeof(stats));
	moment.counts_age_ms = INT64_MAX;
	ck_assert_ptr_nonnull(answer("GET /metrics HTTP/1.1"));
	writer_init(&out, text, ADMIN_HTTP_MAX - 1);
	ck_assert(!admin_http_answer(line, &view, &out));
	writer_init(&out, text, ADMIN_HTTP_MAX);
	writer_char(&out, 'x');
	ck_assert(!admin_http_answer(line, &view, &out));
	ck_assert_uint_eq(out.len, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("admin_http");
	TCase *tc = tcase_create("admin_http");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, what_is_http);
	tcase_add_test(tc, pages);
	tcase_add_test(tc, not_ready);
	tcase_add_test(tc, head);
	tcase_add_test(tc, no_answer);
	tcase_add_test(tc, room);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
