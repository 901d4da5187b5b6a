/*
 * check_daemon.c - the daemon as a process: a key's life over the wire, namespaces, tags, start, drain and end, restart, the
 * service manager's ways, HTTP.
 */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spawn.h"

static const char *const on_sqlite[] = {"--store", "sqlite:@/db", NULL};
static const char *const in_memory[] = {"--store", "memory:", NULL};
static struct spawn daemon_;

static void setup(void)
{
	spawn_init(&daemon_);
}

static void teardown(void)
{
	spawn_end(&daemon_);
}

static int dial(void)
{
	int fd = spawn_connect(&daemon_);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static void starts(const char *line, const char *start)
{
	ck_assert_ptr_nonnull(line);
	ck_assert_msg(strncmp(line, start, strlen(start)) == 0, "got \"%s\", not \"%s...\"", line, start);
}

static void has(const char *line, const char *part)
{
	ck_assert_ptr_nonnull(line);
	ck_assert_msg(strstr(line, part) != NULL, "got \"%s\", without \"%s\"", line, part);
}

/* "VERB key fence=N rest" */
static const char *ask_fence(int fd, const char *verb_key, long long fence, const char *rest)
{
	char line[512];

	snprintf(line, sizeof line, "%s fence=%lld %s", verb_key, fence, rest);
	return wire_ask(fd, line);
}

/* ---- the life of a key ---- */

static void live_through(const char *const *args)
{
	long long fence, second;
	int fd;

	spawn_start(&daemon_, args);
	fd = dial();
	starts(wire_ask(fd, "hello proto=1 client=test/1"), "OK proto=1 server=claimd/");
	fence = wire_number(wire_ask(fd, "CLAIM orders:42 lease=30s fp=9f2c owner=w7-1"), "fence");
	ck_assert_int_gt(fence, 1000000000000000LL);
	has(wire_ask(fd, "CLAIM orders:42"), "owner=w7-1");
	starts(wire_ask(fd, "CLAIM orders:42 fp=ffff"), "MISMATCH state=claimed");
	starts(ask_fence(fd, "CHECK orders:42", fence, ""), "OK state=claimed");
	starts(ask_fence(fd, "RENEW orders:42", fence, "lease=60s"), "OK state=claimed");
	starts(ask_fence(fd, "COMPLETE orders:42", fence + 1, "result=x"), "STALE fence=");
	starts(ask_fence(fd, "COMPLETE orders:42", fence, "body=17\n{\"charge\":\"ch_9\"}"), "OK state=done");
	starts(wire_ask(fd, "CLAIM orders:42 fp=9f2c"), "DONE fence=");
	ck_assert_str_eq(wire_line(fd), "{\"charge\":\"ch_9\"}");
	has(wire_ask(fd, "STATUS orders:42"), "size=17");
	starts(wire_ask(fd, "STATUS nobody"), "NOTFOUND");

	fence = wire_number(wire_ask(fd, "CLAIM r"), "fence");
	starts(ask_fence(fd, "RELEASE r", fence, ""), "OK state=free");
	starts(ask_fence(fd, "COMPLETE r", fence, ""), "STALE");
	second = wire_number(wire_ask(fd, "CLAIM r"), "fence");
	ck_assert_int_gt(second, fence);
	starts(ask_fence(fd, "DOUBT r", second, ""), "OK state=unknown");
	starts(wire_ask(fd, "CLAIM r"), "UNKNOWN");
	starts(wire_ask(fd, "LIST state=unknown"), "ITEM key=r state=unknown");
	starts(wire_line(fd), "END count=1");
	starts(ask_fence(fd, "RESOLVE r", second, "as=failed reason=provider%20said%20no"), "OK state=failed");
	starts(wire_ask(fd, "CLAIM r"), "FAILED");
	starts(wire_ask(fd, "FORGET r"), "OK deleted=1");
	starts(wire_ask(fd, "CLAIM r ttl=1ms lease=1ms"), "WON");
	starts(wire_ask(fd, "SWEEP"), "OK deleted=");
	close(fd);
}

START_TEST(a_key_lives_in_memory)
{
	live_through(in_memory);
}
END_TEST

START_TEST(a_key_lives_on_sqlite)
{
	live_through(on_sqlite);
}
END_TEST

START_TEST(tags_may_overtake)
{
	bool seen_tag = false;
	int fd;

	spawn_start(&daemon_, on_sqlite);
	fd = dial();
	ck_assert(wire_say(fd, "CLAIM slow tag=a\nPING tag=b\nPING\n"));
	/* The PING without a tag waits for nothing either: the CLAIM has a tag. */
	for (int i = 0; i < 3; i++) {
		const char *line = wire_line(fd);

		ck_assert_ptr_nonnull(line);
		seen_tag |= strstr(line, "tag=a") != NULL && strncmp(line, "WON", 3) == 0;
		if (i == 0)
			ck_assert_str_eq(line, "OK tag=b");
	}
	ck_assert(seen_tag);
	has(wire_ask(fd, "NONSENSE tag=c"), "tag=c");
	has(wire_ask(fd, "CLAIM x lease=1 tag=d"), "tag=d");
	close(fd);
}
END_TEST

START_TEST(namespaces_are_apart)
{
	int a, b, all;
	char line[1200];

	spawn_start(&daemon_, on_sqlite);
	a = dial();
	b = dial();
	all = dial();
	starts(wire_ask(a, "HELLO ns=a"), "OK");
	starts(wire_ask(b, "HELLO ns=b"), "OK");
	starts(wire_ask(a, "CLAIM k"), "WON");
	starts(wire_ask(b, "CLAIM k"), "WON");
	starts(wire_ask(a, "LIST"), "ITEM key=k ");
	starts(wire_line(a), "END count=1");
	starts(wire_ask(all, "LIST prefix=a:"), "ITEM key=a:k ");
	starts(wire_line(all), "END count=1");
	starts(wire_ask(all, "STATUS b:k"), "STATUS");
	starts(wire_ask(a, "HELLO ns=b"), "ERR denied");
	starts(wire_ask(all, "HELLO ns=b"), "ERR denied");
	memset(line, 'k', sizeof line);
	memcpy(line, "CLAIM ", 6);
	line[6 + 1022] = '\0';
	starts(wire_ask(a, line), "WON");
	line[6 + 1022] = 'k';
	line[6 + 1023] = '\0';
	starts(wire_ask(a, line), "ERR toolong");
	close(a);
	close(b);
	close(all);
}
END_TEST

START_TEST(the_daemon_may_have_a_namespace)
{
	static const char *const args[] = {"--store", "sqlite:@/db", "--namespace", "shop", NULL};

	spawn_start(&daemon_, args);
	starts(wire_ask_once(&daemon_, "CLAIM k"), "WON");
	starts(wire_ask_once(&daemon_, "HELLO ns=other"), "ERR denied");
	spawn_stop(&daemon_, SIGKILL);
	spawn_start(&daemon_, on_sqlite);
	starts(wire_ask_once(&daemon_, "STATUS shop:k"), "STATUS");
}
END_TEST

START_TEST(defaults_are_settings)
{
	static const char *const args[] = {"--store", "memory:",        "--lease", "7s", "--ttl",
					   "never",   "--store-result", "no",      NULL};
	long long fence;
	int fd;

	spawn_start(&daemon_, args);
	fd = dial();
	ck_assert(wire_say(fd, "CLAIM k\n"));
	{
		const char *won = wire_line(fd);

		has(won, "lease_ms=7000");
		fence = wire_number(won, "fence");
	}
	has(ask_fence(fd, "COMPLETE k", fence, "result=x"), "ttl_ms=never kept=0");
	close(fd);
}
END_TEST

/* ---- the store outlives the daemon ---- */

START_TEST(kill_9_forgets_nothing)
{
	long long fence;
	int fd;

	spawn_start(&daemon_, on_sqlite);
	fd = dial();
	fence = wire_number(wire_ask(fd, "CLAIM held lease=1h token=0123456789abcdef"), "fence");
	starts(ask_fence(fd, "COMPLETE done", wire_number(wire_ask(fd, "CLAIM done"), "fence"), "result=yes"), "OK");
	close(fd);
	ck_assert_int_eq(spawn_stop(&daemon_, SIGKILL), 128 + SIGKILL);
	spawn_start(&daemon_, on_sqlite);
	fd = dial();
	starts(wire_ask(fd, "CLAIM held lease=1h"), "HELD");
	has(wire_ask(fd, "CLAIM held lease=1h token=0123456789abcdef"), "was=own");
	starts(ask_fence(fd, "COMPLETE held", fence, "token=0123456789abcdef"), "OK state=done");
	starts(wire_ask(fd, "CLAIM done"), "DONE");
	ck_assert_str_eq(wire_line(fd), "yes");
	close(fd);
}
END_TEST

START_TEST(fences_never_come_back)
{
	long long before, after;

	spawn_start(&daemon_, in_memory);
	before = wire_number(wire_ask_once(&daemon_, "CLAIM k"), "fence");
	spawn_stop(&daemon_, SIGKILL);
	spawn_start(&daemon_, in_memory);
	after = wire_number(wire_ask_once(&daemon_, "CLAIM k"), "fence");
	ck_assert_int_gt(after, before);
}
END_TEST

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
	starts(wire_ask_once(&daemon_, "CLAIM k"), "WON");
	second = daemon_;
	snprintf(second.log, sizeof second.log, "%s/log2", daemon_.dir);
	spawn_launch(&second, in_memory);
	ck_assert_int_eq(spawn_wait(&second), 69);
	ck_assert(file_holds(second.log, "another claimd"));
	starts(wire_ask_once(&daemon_, "CLAIM k"), "HELD");
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

/* ---- the end ---- */

START_TEST(an_idle_daemon_leaves_when_asked)
{
	spawn_start(&daemon_, on_sqlite);
	ck_assert_int_eq(spawn_stop(&daemon_, SIGTERM), 0);
	ck_assert_int_ne(access(daemon_.socket, F_OK), 0);
	ck_assert(file_holds(daemon_.log, "why=\"nobody needs it\""));
}
END_TEST

START_TEST(draining_goes_on_answering)
{
	static const char *const args[] = {"--store", "memory:", "--drain-timeout", "20s", NULL};
	long long fence, deadline_ms = wait_now_ms() + SPAWN_WAIT_MS;
	int fd;

	spawn_start(&daemon_, args);
	fd = dial();
	fence = wire_number(wire_ask(fd, "CLAIM work lease=1h"), "fence");
	kill(daemon_.pid, SIGTERM);
	while (strstr(wire_ask(fd, "STATUS"), "phase=draining") == NULL)
		ck_assert(wait_moment(deadline_ms));
	starts(wire_ask_once(&daemon_, "CLAIM other lease=1ms"), "WON"); /* new connections and new claims too */
	starts(ask_fence(fd, "COMPLETE work", fence, "result=done"), "OK state=done");
	close(fd);
	ck_assert_int_eq(spawn_wait(&daemon_), 0);
	ck_assert(file_holds(daemon_.log, "why=\"nobody needs it\""));
}
END_TEST

START_TEST(a_live_claim_is_waited_for)
{
	static const char *const args[] = {"--store", "memory:", "--drain-timeout", "3s", NULL};

	spawn_start(&daemon_, args);
	starts(wire_ask_once(&daemon_, "CLAIM work lease=1h"), "WON");
	ck_assert_int_eq(spawn_stop(&daemon_, SIGTERM), 0);
	ck_assert(file_holds(daemon_.log, "why=drain_timeout"));
}
END_TEST

START_TEST(a_second_signal_leaves_at_once)
{
	long long deadline_ms = wait_now_ms() + SPAWN_WAIT_MS;
	int fd;

	spawn_start(&daemon_, on_sqlite);
	fd = dial();
	starts(wire_ask(fd, "CLAIM work lease=1h"), "WON");
	kill(daemon_.pid, SIGTERM);
	while (strstr(wire_ask(fd, "STATUS"), "phase=draining") == NULL)
		ck_assert(wait_moment(deadline_ms));
	ck_assert_int_eq(spawn_stop(&daemon_, SIGINT), 0);
	ck_assert(file_holds(daemon_.log, "asked for twice"));
	ck_assert(wire_closed(fd));
	close(fd);
}
END_TEST

/* Nobody can write to the SQLite file as long as this is open: the lock of its writer, in the file that holds the locks. */
static int block_store(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 120, .l_len = 1};
	char path[128];
	int fd;

	snprintf(path, sizeof path, "%s/db-shm", daemon_.dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_SETLK, &lock), 0);
	return fd;
}

static void wait_for_log(const char *text)
{
	long long deadline_ms = wait_now_ms() + SPAWN_WAIT_MS;

	while (!file_holds(daemon_.log, text))
		ck_assert(wait_moment(deadline_ms));
}

START_TEST(what_is_under_way_is_answered_before_it_leaves)
{
	static const char *const args[] = {"--store", "sqlite:@/db", "--store-timeout", "15s", "--request-timeout",
					   "16s",     NULL};
	long long later_ms;
	int fd, lock;

	spawn_start(&daemon_, args);
	starts(wire_ask_once(&daemon_, "CLAIM other"), "WON");
	fd = dial();
	lock = block_store();
	ck_assert(wire_say(fd, "CLAIM slow\n"));
	while (strstr(wire_ask_once(&daemon_, "STATUS"), "in_flight=0") != NULL)
		;
	kill(daemon_.pid, SIGTERM);
	wait_for_log("draining");
	kill(daemon_.pid, SIGTERM);
	wait_for_log("asked for twice");
	for (later_ms = wait_now_ms() + 1500;
	     wait_moment(later_ms);) /* longer than a client that does not read is given */
		;
	ck_assert(spawn_alive(&daemon_));
	close(lock);
	starts(wire_line(fd), "WON fence=");
	ck_assert(wire_closed(fd));
	ck_assert_int_eq(spawn_wait(&daemon_), 0);
	close(fd);
}
END_TEST

/* Asks without a pause while the daemon stops. True: it heard that the daemon is draining. */
static bool hears_draining(void)
{
	bool heard = false;
	int fd = dial();

	starts(wire_ask(fd, "PING"), "OK");
	kill(daemon_.pid, SIGTERM);
	wait_for_log("draining");
	kill(daemon_.pid, SIGTERM);
	for (;;) {
		const char *line = wire_ask(fd, "PING");

		if (*line == '\0')
			break;
		heard |= strncmp(line, "ERR draining retry=safe", 23) == 0;
	}
	close(fd);
	ck_assert_int_eq(spawn_wait(&daemon_), 0);
	return heard;
}

START_TEST(while_it_stops_it_says_so)
{
	bool heard = false;

	/* It is a tenth of a second long; a busy machine may not give it to us. */
	for (int i = 0; i < 20 && !heard; i++) {
		if (i > 0)
			unlink(daemon_.log);
		spawn_start(&daemon_, in_memory);
		heard = hears_draining();
	}
	ck_assert(heard);
}
END_TEST

START_TEST(counts_are_of_ones_own_namespace)
{
	static const char *const args[] = {"--store", "sqlite:@/db", "--namespace", "a", NULL};
	long long deadline_ms = wait_now_ms() + SPAWN_WAIT_MS;
	int fd;

	spawn_start(&daemon_, on_sqlite);
	fd = dial();
	starts(wire_ask(fd, "CLAIM a:k"), "WON");
	starts(wire_ask(fd, "CLAIM b:k"), "WON");
	starts(wire_ask(fd, "CLAIM b:l"), "WON");
	close(fd);
	spawn_stop(&daemon_, SIGKILL);
	spawn_start(&daemon_, on_sqlite);
	while (strstr(wire_ask_once(&daemon_, "STATUS"), " live=3 ") == NULL)
		ck_assert(wait_moment(deadline_ms));
	fd = dial();
	starts(wire_ask(fd, "HELLO ns=a"), "OK");
	ck_assert_ptr_null(strstr(wire_ask(fd, "STATUS"), "live=3"));
	close(fd);
	spawn_stop(&daemon_, SIGKILL);
	spawn_start(&daemon_, args);
	while (strstr(wire_ask_once(&daemon_, "STATUS"), "counts_age_ms=") == NULL)
		ck_assert(wait_moment(deadline_ms));
	has(wire_ask_once(&daemon_, "STATUS"), " live=1 ");
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
	starts(wire_ask_once(&daemon_, "CLAIM k"), "WON");
	http("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200", "");
	http("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200", "");
	http("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200", "claimd_claims_total{outcome=\"won\"} 1");
	http("POST /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "", "");
	starts(wire_ask_once(&daemon_, "PING"), "OK");
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
	starts(wire_ask_once(&daemon_, "PING"), "OK");
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
	starts(wire_ask_once(&daemon_, "CLAIM k"), "WON");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
END_TEST

START_TEST(the_log_tells_a_refusal_from_a_settlement)
{
	spawn_start(&daemon_, in_memory);
	starts(wire_ask_once(&daemon_, "CLAIM k"), "WON");
	starts(wire_ask_once(&daemon_, "RESOLVE k as=done"), "HELD");
	ck_assert(file_holds(daemon_.log, "a settlement by hand was not done"));
	ck_assert(!file_holds(daemon_.log, "a record was settled by hand"));
	starts(wire_ask_once(&daemon_, "RESOLVE k as=done force"), "OK");
	ck_assert(file_holds(daemon_.log, "a record was settled by hand"));
	starts(wire_ask_once(&daemon_, "FORGET k"), "OK deleted=1");
	ck_assert(file_holds(daemon_.log, "a record was deleted by hand"));
}
END_TEST

START_TEST(keys_are_hashed_in_the_log)
{
	spawn_start(&daemon_, in_memory);
	starts(wire_ask_once(&daemon_, "CLAIM alice@example.org"), "WON");
	starts(wire_ask_once(&daemon_, "RESOLVE alice@example.org as=done force reason=support%20ticket"), "OK");
	ck_assert(file_holds(daemon_.log, "resolve"));
	ck_assert(file_holds(daemon_.log, "support ticket"));
	ck_assert(!file_holds(daemon_.log, "alice"));
}
END_TEST

static void add_life(TCase *tests)
{
	tcase_add_test(tests, a_key_lives_in_memory);
	tcase_add_test(tests, a_key_lives_on_sqlite);
	tcase_add_test(tests, tags_may_overtake);
	tcase_add_test(tests, namespaces_are_apart);
	tcase_add_test(tests, the_daemon_may_have_a_namespace);
	tcase_add_test(tests, defaults_are_settings);
	tcase_add_test(tests, kill_9_forgets_nothing);
	tcase_add_test(tests, fences_never_come_back);
}

static void add_process(TCase *tests)
{
	tcase_add_test(tests, the_socket_has_its_mode);
	tcase_add_test(tests, a_second_daemon_is_refused);
	tcase_add_test(tests, what_is_no_socket_is_left_alone);
	tcase_add_test(tests, nor_is_what_stands_beside_it);
	tcase_add_test(tests, a_path_too_long_is_explained);
	tcase_add_test(tests, a_wrong_store_is_explained);
	tcase_add_test(tests, an_idle_daemon_leaves_when_asked);
	tcase_add_test(tests, draining_goes_on_answering);
	tcase_add_test(tests, a_live_claim_is_waited_for);
	tcase_add_test(tests, a_second_signal_leaves_at_once);
	tcase_add_test(tests, what_is_under_way_is_answered_before_it_leaves);
	tcase_add_test(tests, while_it_stops_it_says_so);
	tcase_add_test(tests, counts_are_of_ones_own_namespace);
	tcase_add_test(tests, http_is_answered);
	tcase_add_test(tests, not_ready_while_draining);
	tcase_add_test(tests, readiness_is_told);
	tcase_add_test(tests, a_passed_socket_is_used);
	tcase_add_test(tests, the_log_tells_a_refusal_from_a_settlement);
	tcase_add_test(tests, keys_are_hashed_in_the_log);
}

int main(void)
{
	Suite *suite = suite_create("daemon");
	TCase *tests = tcase_create("daemon");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	add_life(tests);
	add_process(tests);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
