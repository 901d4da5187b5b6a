/* check_admin_http.c - which first lines are HTTP, which requests get a page, and what the page says. */
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

/* ---- on --admin ---- */

/* The whole answer to a request as a string. */
static const char *reply(const char *header)
{
	struct admin_view view = {&stats, &moment};
	struct writer out;

	writer_init(&out, text, ADMIN_HTTP_MAX);
	admin_http_reply(slice_from(header), &view, &out);
	ck_assert_uint_gt(out.len, 0);
	text[out.len] = 0;
	return text;
}

/* The answer begins and ends so, and says how long its body is. */
static void expect_reply(const char *header, const char *status, const char *body)
{
	const char *got = reply(header), *end = strstr(got, "\r\n\r\n");
	char length[64];

	ck_assert_msg(strncmp(got, status, strlen(status)) == 0, "%s got %s", header, got);
	ck_assert_ptr_nonnull(end);
	ck_assert_msg(strncmp(end + 4, body, strlen(body)) == 0, "%s got %s", header, got);
	snprintf(length, sizeof(length), "\r\nContent-Length: %zu\r\n", strlen(end + 4));
	ck_assert_ptr_nonnull(strstr(got, length));
	ck_assert_ptr_nonnull(strstr(got, "\r\nConnection: close\r\n"));
}

START_TEST(every_request_is_answered)
{
	static const char *const bad[] = {"",
					  "\r\n\r\n",
					  "GET /livez\r\n\r\n",
					  "GET  /livez HTTP/1.1\r\n\r\n",
					  "GET /livez HTTP/2.0\r\n\r\n",
					  "PRI * HTTP/2.0\r\n\r\n",
					  "GET /livez HTTP/1.1 x\r\n\r\n",
					  "CLAIM k\n\n"};

	expect_reply("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK\r\n", "ok\n");
	expect_reply("GET /livez HTTP/1.0\n\n", "HTTP/1.1 200 OK\r\n", "ok\n");
	expect_reply("GET /readyz?x=1 HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n", "ok\n");
	expect_reply("GET /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n", "# HELP claimd_build_info ");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_reply(bad[i], "HTTP/1.1 400 ", "claimd has /metrics, /livez and /readyz");
	expect_reply("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ", "claimd has");
	expect_reply("GET /livez/ HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ", "claimd has");
	expect_reply("POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD\r\n",
		     "claimd has");
	moment.store_up = false;
	expect_reply("GET /readyz HTTP/1.1\r\n\r\n", "HTTP/1.1 503 ", "store down\n");
}
END_TEST

START_TEST(head_has_no_body)
{
	ck_assert_str_eq(strstr(reply("HEAD /metrics HTTP/1.1\r\n\r\n"), "\r\n\r\n"), "\r\n\r\n");
	ck_assert_ptr_null(strstr(text, "Content-Length: 0"));
	ck_assert_str_eq(strstr(reply("HEAD / HTTP/1.1\r\n\r\n"), "\r\n\r\n"), "\r\n\r\n");
}
END_TEST

START_TEST(the_scraper_chooses)
{
	/* The first two are what Prometheus 2 and 3 send. */
	static const char *const open[] = {
	    "Accept: application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
	    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
	    "Accept: application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
	    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
	    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
	    "accept:application/openmetrics-text",
	    "Host: x\r\nACCEPT:\ttext/plain ; q=0.999 , APPLICATION/OpenMetrics-Text ; Q=1.000 \r\nX: y",
	};
	static const char *const plain[] = {
	    "Host: x",
	    "Accept: */*",
	    "Accept:",
	    "Accept: ,;,;=,",
	    "Accept: text/plain;version=0.0.4;q=1,*/*;q=0.1",
	    "Accept: text/plain, application/openmetrics-text;q=0.9",
	    "Accept: application/openmetrics-text;q=0",
	    "Accept: application/openmetrics-text;q=0.000",
	    "Accept: application/openmetrics-text2",
	    "X-Accept: application/openmetrics-text",
	};
	char header[512];

	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
		snprintf(header, sizeof(header), "GET /metrics HTTP/1.1\r\n%s\r\n\r\n", open[i]);
		expect_reply(header, "HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0; ",
			     "# HELP claimd_build ");
		ck_assert_str_eq(text + strlen(text) - 7, "\n# EOF\n");
	}
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		snprintf(header, sizeof(header), "GET /metrics HTTP/1.1\r\n%s\r\n\r\n", plain[i]);
		expect_reply(header, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; ",
			     "# HELP claimd_build_info ");
		ck_assert_ptr_null(strstr(text, "# EOF"));
	}
}
END_TEST

START_TEST(too_long)
{
	struct writer out;

	writer_init(&out, text, ADMIN_HTTP_MAX);
	admin_http_too_long(&out);
	ck_assert_int_eq(strncmp(text, "HTTP/1.1 431 ", 13), 0);
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
	reply("GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n");
	ck_assert_str_eq(text + strlen(text) - 7, "\n# EOF\n");
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
	tcase_add_test(tc, every_request_is_answered);
	tcase_add_test(tc, head_has_no_body);
	tcase_add_test(tc, the_scraper_chooses);
	tcase_add_test(tc, too_long);
	tcase_add_test(tc, room);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
