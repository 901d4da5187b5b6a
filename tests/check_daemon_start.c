/*
 * check_daemon_start.c - how the daemon starts and what it refuses to start on: its socket, a wrong store, the ways of a service
 * manager, and HTTP on the socket.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon_case.h"

static void setup(void)
{
	spawn_init(&daemon_);
}

static void teardown(void)
{
	spawn_end(&daemon_);
}

/* ---- the socket ---- */

START_TEST(the_socket_has_its_mode)
{
	static const char *const args[] = {"--store", "memory:", "--socket-mode", "0600", NULL};
	struct stat there;

	spawn_start(&daemon_, in_memory);
	ck_assert_int_eq(stat(daemon_.socket, &there), 0);
	ck_assert_int_eq(there.st_mode & 07777, 0660);
	spawn_stop(&daemon_, SIGKILL);
	spawn_start(&daemon_, args); /* and the file that was left is replaced */
	ck_assert_int_eq(stat(daemon_.socket, &there), 0);
	ck_assert_int_eq(there.st_mode & 07777, 0600);
}
END_TEST

START_TEST(a_second_daemon_is_refused)
{
	struct spawn second;

	spawn_start(&daemon_, in_memory);
	starts(ask("CLAIM k"), "WON");
	second = daemon_;
	snprintf(second.log, sizeof second.log, "%s/log2", daemon_.dir);
	spawn_launch(&second, in_memory);
	ck_assert_int_eq(spawn_wait(&second), 69);
	ck_assert(file_holds(second.log, "another claimd"));
	starts(ask("CLAIM k"), "HELD");
}
END_TEST

START_TEST(what_is_no_socket_is_left_alone)
{
	FILE *file = fopen(daemon_.socket, "w");

	ck_assert_ptr_nonnull(file);
	fputs("precious", file);
	fclose(file);
	spawn_launch(&daemon_, in_memory);
	ck_assert_int_eq(spawn_wait(&daemon_), 78);
	ck_assert(file_holds(daemon_.socket, "precious"));
	ck_assert(file_holds(daemon_.log, "is no socket"));
}
END_TEST

START_TEST(nor_is_what_stands_beside_it)
{
	char beside[300];
	FILE *file;

	snprintf(beside, sizeof beside, "%s.new", daemon_.socket);
	file = fopen(beside, "w");
	ck_assert_ptr_nonnull(file);
	fputs("precious", file);
	fclose(file);
	spawn_launch(&daemon_, in_memory);
	ck_assert_int_eq(spawn_wait(&daemon_), 78);
	ck_assert(file_holds(beside, "precious"));
	ck_assert(file_holds(daemon_.log, "is no socket"));
	unlink(beside);
	snprintf(beside, sizeof beside, "%s.lock", daemon_.socket);
	unlink(beside);
	ck_assert_int_eq(symlink("elsewhere", beside), 0);
	spawn_launch(&daemon_, in_memory);
	ck_assert_int_eq(spawn_wait(&daemon_), 69);
	snprintf(beside, sizeof beside, "%s/elsewhere", daemon_.dir);
	ck_assert_int_ne(access(beside, F_OK), 0);
}
END_TEST

START_TEST(a_path_too_long_is_explained)
{
	snprintf(daemon_.socket, sizeof daemon_.socket, "%s/%0120d", daemon_.dir, 1);
	spawn_launch(&daemon_, in_memory);
	ck_assert_int_eq(spawn_wait(&daemon_), 78);
	ck_assert(file_holds(daemon_.log, "octets"));
}
END_TEST

START_TEST(a_wrong_store_is_explained)
{
	static const char *const args[] = {"--store", "mongodb:x", NULL};

	spawn_launch(&daemon_, args);
	ck_assert_int_ne(spawn_wait(&daemon_), 0);
	ck_assert(file_holds(daemon_.log, "sqlite:PATH"));
}
END_TEST

/* ---- HTTP on the socket ---- */

static void http(const char *request, const char *start, const char *part)
{
	static char answer[65536];
	size_t len = 0;
	int fd = dial();
	ssize_t n;

	ck_assert(wire_say(fd, request));
	while ((n = recv(fd, answer + len, sizeof answer - 1 - len, 0)) > 0)
		len += (size_t)n;
	answer[len] = '\0';
	close(fd);
	starts(answer, start);
	has(answer, part);
}

START_TEST(http_is_answered)
{
	spawn_start(&daemon_, in_memory);
	starts(ask("CLAIM k"), "WON");
	http("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200", "");
	http("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200", "");
	http("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200", "claimd_claims_total{outcome=\"won\"} 1");
	http("POST /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "", "");
	starts(ask("PING"), "OK");
}
END_TEST

START_TEST(not_ready_while_draining)
{
	long long deadline_ms = wait_now_ms() + SPAWN_WAIT_MS;
	int fd;

	spawn_start(&daemon_, in_memory);
	fd = dial();
	kill(daemon_.pid, SIGTERM);
	while (strstr(wire_ask(fd, "STATUS"), "phase=draining") == NULL)
		ck_assert(wait_moment(deadline_ms));
	http("GET /readyz HTTP/1.1\r\n\r\n", "HTTP/1.1 503", "");
	http("GET /livez HTTP/1.1\r\n\r\n", "HTTP/1.1 200", "");
	close(fd);
}
END_TEST

/* ---- the service manager ---- */

START_TEST(readiness_is_told)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char text[256];
	ssize_t n;
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", daemon_.dir);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	spawn_launch(&daemon_, in_memory);
	n = recv(fd, text, sizeof text - 1, 0);
	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	has(text, "READY=1");
	starts(ask("PING"), "OK");
	kill(daemon_.pid, SIGTERM);
	n = recv(fd, text, sizeof text - 1, 0);
	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	has(text, "STOPPING=1");
	close(fd);
}
END_TEST

START_TEST(a_passed_socket_is_used)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	pid_t pid;

	snprintf(address.sun_path, sizeof address.sun_path, "%.100s", daemon_.socket);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(listen(fd, 10), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		const char *binary = getenv("TEST_CLAIMD") != NULL ? getenv("TEST_CLAIMD") : "./claimd";
		char number[16];

		dup2(fd, 3);
		snprintf(number, sizeof number, "%d", (int)getpid());
		setenv("LISTEN_FDS", "1", 1);
		setenv("LISTEN_PID", number, 1);
		execl(binary, binary, "--store", "memory:", (char *)NULL);
		_exit(127);
	}
	close(fd);
	starts(ask("CLAIM k"), "WON");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon_start");
	TCase *tests = tcase_create("daemon_start");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, the_socket_has_its_mode);
	tcase_add_test(tests, a_second_daemon_is_refused);
	tcase_add_test(tests, what_is_no_socket_is_left_alone);
	tcase_add_test(tests, nor_is_what_stands_beside_it);
	tcase_add_test(tests, a_path_too_long_is_explained);
	tcase_add_test(tests, a_wrong_store_is_explained);
	tcase_add_test(tests, http_is_answered);
	tcase_add_test(tests, not_ready_while_draining);
	tcase_add_test(tests, readiness_is_told);
	tcase_add_test(tests, a_passed_socket_is_used);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
