/*
 * check_sdnotify.c - what a service manager hears, and which passed sockets are taken.
 *
 * The manager is a datagram socket of the test's own. Passed descriptors have number 3, which the test's own tools may have
 * in use: those tests do it in a child, which answers by its exit status.
 */
#include "../server/sdnotify.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], path[96], variable[160];
static int manager;
static struct sdnotify notify;
static struct errbuf err;

static void setup(void)
{
	strcpy(folder, "/tmp/check_sdnotify.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/notify", folder);
	manager = -1;
	notify.fd = -1;
	err.text[0] = 0;
}

static void teardown(void)
{
	sdnotify_close(&notify);
	if (manager >= 0)
		close(manager);
	unlink(path);
	rmdir(folder);
}

/* A socket at a path or, with @, at a name without a file. */
static int bind_at(const char *at, int type)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	memcpy(address.sun_path, at, strlen(at));
	if (at[0] == '@')
		address.sun_path[0] = 0;
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(at) + (at[0] != '@'))),
			 0);
	return fd;
}

static void expect_message(const char *want)
{
	char text[256];
	ssize_t n = recv(manager, text, sizeof(text) - 1, 0);

	ck_assert_msg(n >= 0, "nothing came instead of %s", want);
	text[n] = 0;
	ck_assert_str_eq(text, want);
}

static void check_messages(const char *at)
{
	char *envp[] = {variable, NULL};

	manager = bind_at(at, SOCK_DGRAM);
	snprintf(variable, sizeof(variable), "NOTIFY_SOCKET=%s", at);
	ck_assert_msg(sdnotify_open(&notify, envp, &err), "%s", err.text);
	ck_assert(sdnotify_send(&notify, "READY=1"));
	ck_assert(sdnotify_send(&notify, "STOPPING=1\nSTATUS=3 clients"));
	expect_message("READY=1");
	expect_message("STOPPING=1\nSTATUS=3 clients");
	ck_assert_int_eq(fcntl(notify.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

START_TEST(at_a_path)
{
	check_messages(path);
}
END_TEST

START_TEST(at_a_name_without_a_file)
{
	char name[64];

	snprintf(name, sizeof(name), "@check_sdnotify.%d", (int)getpid());
	check_messages(name);
}
END_TEST

START_TEST(nobody_wants_to_know)
{
	char *envp[] = {(char[]){"NOTIFY_SOCKETS=/x"}, NULL};

	ck_assert(sdnotify_open(&notify, envp, &err));
	ck_assert_int_eq(notify.fd, -1);
	ck_assert(sdnotify_send(&notify, "READY=1"));
}
END_TEST

START_TEST(unusable)
{
	static const char *const bad[] = {"", "relative", "@", "/", "/nowhere/at/all", "vsock:2:1"};
	char longest[140] = "/";
	char *envp[] = {variable, NULL};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(variable, sizeof(variable), "NOTIFY_SOCKET=%s", bad[i]);
		ck_assert_msg(!sdnotify_open(&notify, envp, &err), "%s was taken", bad[i]);
		ck_assert_ptr_nonnull(strstr(err.text, "NOTIFY_SOCKET"));
		ck_assert(sdnotify_send(&notify, "READY=1"));
	}
	memset(longest + 1, 'x', 107);
	snprintf(variable, sizeof(variable), "NOTIFY_SOCKET=%s", longest);
	ck_assert(!sdnotify_open(&notify, envp, &err));
	ck_assert_ptr_nonnull(strstr(err.text, "at most 107 octets"));
}
END_TEST

/* A manager that does not read must not stop the daemon. */
START_TEST(never_blocks)
{
	char *envp[] = {variable, NULL};
	int sent = 0;

	manager = bind_at(path, SOCK_DGRAM);
	snprintf(variable, sizeof(variable), "NOTIFY_SOCKET=%s", path);
	ck_assert(sdnotify_open(&notify, envp, &err));
	while (sent < 100000 && sdnotify_send(&notify, "WATCHDOG=1"))
		sent++;
	ck_assert_int_lt(sent, 100000);
	close(manager);
	manager = -1;
	ck_assert(!sdnotify_send(&notify, "WATCHDOG=1"));
}
END_TEST

static int64_t watchdog(const char *usec, const char *pid)
{
	char usec_text[64] = "X=", pid_text[64] = "Y=";
	char *envp[] = {variable, usec_text, pid_text, NULL};

	snprintf(variable, sizeof(variable), "NOTIFY_SOCKET=%s", path);
	if (usec)
		snprintf(usec_text, sizeof(usec_text), "WATCHDOG_USEC=%s", usec);
	if (pid)
		snprintf(pid_text, sizeof(pid_text), "WATCHDOG_PID=%s", pid);
	sdnotify_close(&notify);
	ck_assert(sdnotify_open(&notify, envp, &err));
	return notify.watchdog_ms;
}

START_TEST(watchdogs)
{
	char own[32];

	snprintf(own, sizeof(own), "%d", (int)getpid());
	manager = bind_at(path, SOCK_DGRAM);
	ck_assert_int_eq(watchdog("30000000", NULL), 15000);
	ck_assert_int_eq(watchdog("30000000", own), 15000);
	ck_assert_int_eq(watchdog("30000000", "1"), 0);
	ck_assert_int_eq(watchdog("30000000", "x"), 0);
	ck_assert_int_eq(watchdog("1000", NULL), 1);
	ck_assert_int_eq(watchdog("0", NULL), 0);
	ck_assert_int_eq(watchdog("x", NULL), 0);
	ck_assert_int_eq(watchdog("-1", NULL), 0);
	ck_assert_int_eq(watchdog(NULL, NULL), 0);
}
END_TEST

/* ---- passed sockets ---- */

enum answer { ANSWER_TAKEN = 10, ANSWER_NONE, ANSWER_BAD, ANSWER_NO_CLOEXEC, ANSWER_OTHER };

static int classify(int fd)
{
	if (fd == SDNOTIFY_NO_FD)
		return ANSWER_NONE;
	if (fd == SDNOTIFY_BAD_FD)
		return strncmp(err.text, "LISTEN_FDS", 10) == 0 ? ANSWER_BAD : ANSWER_OTHER;
	if (fd != 3)
		return ANSWER_OTHER;
	return fcntl(fd, F_GETFD) & FD_CLOEXEC ? ANSWER_TAKEN : ANSWER_NO_CLOEXEC;
}

/* What sdnotify_listen_fd says in a process with `fd` as number 3 (-1: nothing there) and these variables; pid NULL: its own. */
static int answer(int fd, const char *fds, const char *pid)
{
	char fds_text[64] = "X=", pid_text[64];
	char *envp[] = {fds_text, pid_text, NULL};
	int status;
	pid_t child = fork();

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		if (fds)
			snprintf(fds_text, sizeof(fds_text), "LISTEN_FDS=%s", fds);
		snprintf(pid_text, sizeof(pid_text), "LISTEN_PID=%d", (int)getpid());
		if (pid)
			snprintf(pid_text, sizeof(pid_text), "%s", pid);
		if (fd == -1)
			close(3);
		else if (fd != 3)
			dup2(fd, 3);
		else
			fcntl(3, F_SETFD, 0);
		_exit(classify(sdnotify_listen_fd(envp, &err)));
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(passed_listener)
{
	manager = bind_at(path, SOCK_STREAM);
	ck_assert_int_eq(listen(manager, 1), 0);
	ck_assert_int_eq(answer(manager, "1", NULL), ANSWER_TAKEN);
	ck_assert_int_eq(answer(manager, NULL, NULL), ANSWER_NONE);
	ck_assert_int_eq(answer(manager, "0", NULL), ANSWER_NONE);
	ck_assert_int_eq(answer(manager, "1", "LISTEN_PID=1"), ANSWER_NONE);
	ck_assert_int_eq(answer(manager, "1", "LISTEN_PID="), ANSWER_NONE);
	ck_assert_int_eq(answer(manager, "1", "Y="), ANSWER_NONE);
	ck_assert_int_eq(answer(manager, "2", NULL), ANSWER_BAD);
	ck_assert_int_eq(answer(manager, "", NULL), ANSWER_BAD);
	ck_assert_int_eq(answer(manager, "x", NULL), ANSWER_BAD);
	ck_assert_int_eq(answer(-1, "1", NULL), ANSWER_BAD);
}
END_TEST

START_TEST(passed_something_else)
{
	int other;

	manager = bind_at(path, SOCK_STREAM); /* does not listen */
	ck_assert_int_eq(answer(manager, "1", NULL), ANSWER_BAD);
	close(manager);
	unlink(path);
	manager = bind_at(path, SOCK_DGRAM);
	ck_assert_int_eq(answer(manager, "1", NULL), ANSWER_BAD);
	close(manager);
	unlink(path);
	manager = bind_at(path, SOCK_SEQPACKET);
	ck_assert_int_eq(listen(manager, 1), 0);
	ck_assert_int_eq(answer(manager, "1", NULL), ANSWER_BAD);
	other = socket(AF_INET, SOCK_STREAM, 0);
	if (other >= 0) { /* a machine may have no IP at all */
		ck_assert_int_eq(listen(other, 1), 0);
		ck_assert_int_eq(answer(other, "1", NULL), ANSWER_BAD);
		close(other);
	}
	other = open("/dev/null", O_RDONLY);
	ck_assert_int_eq(answer(other, "1", NULL), ANSWER_BAD);
	close(other);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sdnotify");
	TCase *tc = tcase_create("sdnotify");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, at_a_path);
	tcase_add_test(tc, at_a_name_without_a_file);
	tcase_add_test(tc, nobody_wants_to_know);
	tcase_add_test(tc, unusable);
	tcase_add_test(tc, never_blocks);
	tcase_add_test(tc, watchdogs);
	tcase_add_test(tc, passed_listener);
	tcase_add_test(tc, passed_something_else);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
