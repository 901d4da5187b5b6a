/*
 * check_admin.c - the --admin socket in this process, with its loop turned by hand: places, deadlines, no memory, a client that
 * reads late. admin.sh has what it answers.
 */
#include "../server/admin.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../proto/mem.h"
#include "../server/clock.h"

#define WAIT_MS 20000
#define GET "GET /livez HTTP/1.1\r\n\r\n"

static uv_loop_t loop;
static struct admin admin;
static struct stats stats;

static void look(void *arg, struct stats_view *view)
{
	(void)arg;
	*view = (struct stats_view){.version = "1", .store_up = true, .counts_age_ms = -1};
}

static void setup(void)
{
	struct listener_options at = {.path = "127.0.0.1:0"};
	struct admin_source source = {&stats, look, NULL};
	struct errbuf err;

	memset(&admin, 0, sizeof admin);
	ck_assert_int_eq(uv_loop_init(&loop), 0);
	ck_assert_msg(admin_open(&admin, &loop, &at, &source, &err), "%s", err.text);
}

static void teardown(void)
{
	mem_fail_at(0, 0);
	admin_close(&admin);
	uv_run(&loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
}

/* A connection with little room for what it does not read. */
static int dial(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), room = 2048;

	to.sin_port = htons((in_port_t)atoi(strchr(admin.shown, ':') + 1));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
	ck_assert_int_eq(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* A turn of the loop; fails after WAIT_MS. */
static void turn(int64_t since_ms)
{
	ck_assert(clock_mono_ms() - since_ms < WAIT_MS);
	uv_run(&loop, UV_RUN_NOWAIT);
	usleep(1000);
}

/* Turns the loop until so many connections are open. */
static void until_count(size_t count)
{
	int64_t since_ms = clock_mono_ms();

	while (admin.count != count)
		turn(since_ms);
}

/* Turns the loop until the daemon has closed this connection, and closes it. What came, as a string; NULL: the end was not
 * in order, and a client might lose what came. */
static const char *hear_all(int fd)
{
	static char text[ADMIN_MAX_HEADER * 8];
	int64_t since_ms = clock_mono_ms();
	size_t len = 0;
	ssize_t n;

	while ((n = recv(fd, text + len, sizeof text - 1 - len, MSG_DONTWAIT)) != 0 &&
	       (n > 0 || errno == EAGAIN || errno == EWOULDBLOCK)) {
		len += n > 0 ? (size_t)n : 0;
		turn(since_ms);
	}
	text[len] = '\0';
	close(fd);
	return n == 0 ? text : NULL;
}

static void is_served(void)
{
	int fd = dial();

	say(fd, GET);
	ck_assert_int_eq(strncmp(hear_all(fd), "HTTP/1.1 200 OK\r\n", 17), 0);
}

START_TEST(the_oldest_loses_its_place)
{
	int fd[ADMIN_MAX_CONNS + 2];

	for (size_t i = 0; i < ADMIN_MAX_CONNS; i++) {
		fd[i] = dial();
		until_count(i + 1);
	}
	fd[ADMIN_MAX_CONNS] = dial();
	hear_all(fd[0]);
	fd[ADMIN_MAX_CONNS + 1] = dial();
	hear_all(fd[1]);
	ck_assert_uint_eq(admin.count, ADMIN_MAX_CONNS);
	for (size_t i = 2; i < ADMIN_MAX_CONNS + 2; i++) {
		say(fd[i], GET);
		ck_assert_int_eq(strncmp(hear_all(fd[i]), "HTTP/1.1 200 OK\r\n", 17), 0);
	}
	until_count(0);
}
END_TEST

START_TEST(a_connection_has_its_time)
{
	int64_t before_ms = clock_mono_ms(), after_ms;
	int silent = dial(), half, answered;

	until_count(1);
	half = dial();
	say(half, "GET /livez HTTP/1.1\r\nX:");
	answered = dial();
	say(answered, GET "GET");
	until_count(3);
	after_ms = clock_mono_ms();
	admin_expire(&admin, before_ms + ADMIN_DEADLINE_MS - 1);
	ck_assert_uint_eq(admin.count, 3);
	admin_expire(&admin, after_ms + ADMIN_DEADLINE_MS);
	ck_assert_uint_eq(admin.count, 0);
	ck_assert_str_eq(hear_all(silent), "");
	hear_all(half);
	hear_all(answered);
	is_served();
}
END_TEST

/* No memory for the connection (1) or for its answer (2) ends that connection. */
START_TEST(no_memory)
{
	int fd;

	mem_fail_at((size_t)_i, 0);
	fd = dial();
	say(fd, GET);
	hear_all(fd);
	until_count(0);
	is_served();
}
END_TEST

START_TEST(a_client_that_reads_late_gets_all)
{
	int fd, room = 2048;
	int64_t since_ms = clock_mono_ms();
	const char *text;

	/* Connections inherit it. */
	ck_assert_int_eq(setsockopt(admin.listener.fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
	fd = dial();
	say(fd, "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n");
	until_count(1);
	for (int i = 0; i < 20; i++)
		turn(since_ms);
	is_served(); /* the others do not wait for it */
	until_count(1);
	text = hear_all(fd);
	ck_assert_uint_gt(strlen(text), 10000);
	ck_assert_str_eq(text + strlen(text) - 7, "\n# EOF\n");
	until_count(0);
}
END_TEST

/* What comes behind the header is not read before the answer, and does not cost it. */
START_TEST(a_body_is_thrown_away)
{
	static char request[ADMIN_MAX_HEADER * 3] = "POST /livez HTTP/1.1\r\n\r\n";
	const char *text;
	int fd = dial();

	memset(request + strlen(request), 'x', sizeof request - 1 - strlen(request));
	say(fd, request);
	text = hear_all(fd);
	ck_assert_ptr_nonnull(text);
	ck_assert_int_eq(strncmp(text, "HTTP/1.1 405 ", 13), 0);
}
END_TEST

/* A header may come in any pieces, and has ADMIN_MAX_HEADER octets. */
START_TEST(headers_in_pieces)
{
	static char header[ADMIN_MAX_HEADER + 1] = "GET /livez HTTP/1.1\r\nX: ";
	int64_t since_ms;
	int fd = dial();

	for (const char *at = GET; *at; at++) {
		since_ms = clock_mono_ms();
		ck_assert_int_eq(send(fd, at, 1, MSG_NOSIGNAL), 1);
		turn(since_ms);
	}
	ck_assert_int_eq(strncmp(hear_all(fd), "HTTP/1.1 200 OK\r\n", 17), 0);
	memset(header + strlen(header), 'x', sizeof header - 1 - strlen(header));
	memcpy(header + sizeof header - 5, "\r\n\r\n", 4);
	fd = dial();
	say(fd, header);
	ck_assert_int_eq(strncmp(hear_all(fd), "HTTP/1.1 200 OK\r\n", 17), 0);
	header[sizeof header - 2] = 'x';
	fd = dial();
	say(fd, header);
	ck_assert_int_eq(strncmp(hear_all(fd), "HTTP/1.1 431 ", 13), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("admin");
	TCase *tc = tcase_create("admin");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, the_oldest_loses_its_place);
	tcase_add_test(tc, a_connection_has_its_time);
	tcase_add_loop_test(tc, no_memory, 1, 3);
	tcase_add_test(tc, a_client_that_reads_late_gets_all);
	tcase_add_test(tc, a_body_is_thrown_away);
	tcase_add_test(tc, headers_in_pieces);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
