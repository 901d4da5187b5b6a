/*
 * check_peers.c - a real daemon and clients that are wrong, slow, greedy or gone. After each of them it must be alive, and a good
 * client be served as ever.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "spawn.h"

static struct spawn daemon_;

static void setup_memory(void)
{
	static const char *const args[] = {"--store", "memory:", NULL};

	spawn_init(&daemon_);
	spawn_start(&daemon_, args);
}

/* Here answers come turns after their requests, so that other things happen in between. */
static void setup_sqlite(void)
{
	static const char *const args[] = {"--store", "sqlite:@/db", NULL};

	spawn_init(&daemon_);
	spawn_start(&daemon_, args);
}

static void teardown(void)
{
	ck_assert_str_eq(wire_ask_once(&daemon_, "PING"), "OK");
	spawn_end(&daemon_);
}

static int dial(void)
{
	int fd = spawn_connect(&daemon_);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static void expect(int fd, const char *start)
{
	const char *line = wire_line(fd);

	ck_assert_ptr_nonnull(line);
	ck_assert_msg(strncmp(line, start, strlen(start)) == 0, "got \"%s\", not \"%s...\"", line, start);
}

static void ask(int fd, const char *line, const char *start)
{
	ck_assert(wire_say(fd, line));
	ck_assert(wire_say(fd, "\n"));
	expect(fd, start);
}

/* n octets of c between two texts. */
static char *stretched(const char *before, char c, size_t n, const char *after)
{
	char *text = malloc(strlen(before) + n + strlen(after) + 1);

	ck_assert_ptr_nonnull(text);
	memcpy(text, before, strlen(before));
	memset(text + strlen(before), c, n);
	memcpy(text + strlen(before) + n, after, strlen(after) + 1);
	return text;
}

/* What is wrong, what is answered; the stream stays in step: the PING behind it is answered too. */
static const struct {
	const char *line, *answer;
} refused[] = {
    {"NONSENSE", "ERR badverb retry=no"},
    {"BOGUS", "ERR badverb"},
    {"LIST state=unknown cursor=x", "ERR badopt"},
    {"KEY", "ERR badkey"},
    {"CLAIM", "ERR badkey"},
    {"CLAIM lease=30s", "ERR badkey"},
    {"CLAIM a=b", "ERR badkey"},
    {"CLAIM k hold=1", "ERR syntax"},
    {"CLAIM k hold=1m lease=99ms", "ERR badopt"},
    {"CLAIM k drop=release token=0123456789abcdef", "ERR badopt"},
    {"COMPLETE k fence=0", "ERR badopt"},
    {"STATUS wait=1s", "ERR badkey"},
    {"CLAIM k colour=red", "ERR badopt"},
    {"CLAIM k fp=a fp=b", "ERR badopt"},
    {"CLAIM k fp=", "ERR badopt"},
    {"CLAIM k lease=30", "ERR syntax"},
    {"CLAIM k lease=366d", "ERR badopt"},
    {"CLAIM k lease=0ms", "ERR badopt"},
    {"CLAIM k token=short", "ERR badopt"},
    {"CLAIM k%zz", "ERR syntax"},
    {"CLAIM k%4", "ERR syntax"},
    {"CLAIM k\x01", "ERR syntax"},
    {"COMPLETE k", "ERR badopt"},
    {"COMPLETE k fence=0", "ERR badopt"},
    {"COMPLETE k fence=9007199254740992", "ERR"},
    {"COMPLETE k fence=-1", "ERR"},
    {"RENEW k fence=5", "ERR badopt"},
    {"RESOLVE k", "ERR badopt"},
    {"RESOLVE k as=lost", "ERR badopt"},
    {"PING body=3\nabc", "ERR badopt"},
    {"COMPLETE k fence=5 result=x body=1\ny", "ERR badopt"},
    {"HELLO proto=2", "ERR badopt"},
    {"HELLO ns=a:b", "ERR badopt"},
};

START_TEST(refusals_keep_the_stream_in_step)
{
	int fd = dial();

	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		ask(fd, refused[i].line, refused[i].answer);
		ask(fd, "PING", "OK");
	}
	close(fd);
}
END_TEST

START_TEST(a_nul_is_refused)
{
	int fd = dial();

	ck_assert(wire_send(fd, "CLAIM a\0b\n", 10));
	expect(fd, "ERR syntax");
	ask(fd, "PING", "OK");
	close(fd);
}
END_TEST

START_TEST(lines_at_the_limit_and_beyond)
{
	int fd = dial();
	char *line = stretched("CLAIM ", 'k', 1024, "");

	ask(fd, line, "WON");
	free(line);
	line = stretched("CLAIM ", 'k', 1025, "");
	ask(fd, line, "ERR toolong");
	free(line);
	line = stretched("PING ", ' ', 8192 - 5, "");
	ask(fd, line, "OK");
	free(line);
	line = stretched("PING ", ' ', 8193 - 5, "\n");
	wire_say(fd, line); /* the daemon may close before it has all */
	expect(fd, "ERR toolong");
	free(line);
	ck_assert(wire_closed(fd));
	close(fd);
}
END_TEST

START_TEST(an_endless_line_is_cut_off)
{
	int fd = dial();
	char *line = stretched("CLAIM ", 'k', 9000, "");

	ck_assert(wire_say(fd, line));
	expect(fd, "ERR toolong");
	ck_assert(wire_closed(fd));
	free(line);
	close(fd);
}
END_TEST

static const char *const doubtful[] = {
    "COMPLETE k fence=5 body=x\n",     "COMPLETE k fence=5 body=\n",   "COMPLETE k fence=5 body=1 body=1\n",
    "COMPLETE k fence=5 body=3\nabcd", "COMPLETE k fence=5 body=-1\n", "PING body=99999999999999999999\n",
};

START_TEST(doubtful_framing_closes)
{
	for (size_t i = 0; i < sizeof doubtful / sizeof doubtful[0]; i++) {
		int fd = dial();

		ck_assert(wire_say(fd, doubtful[i]));
		expect(fd, "ERR");
		ck_assert_msg(wire_closed(fd), "%s", doubtful[i]);
		close(fd);
	}
}
END_TEST

START_TEST(results_at_the_limit_and_beyond)
{
	int fd = dial();
	char *body = stretched("", 'r', 65536, "\n");
	char line[128];
	long long fence;

	fence = wire_number(wire_ask(fd, "CLAIM fits"), "fence");
	snprintf(line, sizeof line, "COMPLETE fits fence=%lld body=65536", fence);
	ck_assert(wire_say(fd, line) && wire_say(fd, "\n") && wire_say(fd, body));
	expect(fd, "OK state=done");
	ask(fd, "STATUS fits result", "STATUS state=done");
	ck_assert_uint_eq(strlen(wire_line(fd)), 65536);
	fence = wire_number(wire_ask(fd, "CLAIM large"), "fence");
	snprintf(line, sizeof line, "COMPLETE large fence=%lld body=65537", fence);
	ck_assert(wire_say(fd, line) && wire_say(fd, "\nX") && wire_say(fd, body));
	{
		const char *answer = wire_line(fd);

		ck_assert_ptr_nonnull(answer);
		ck_assert(strncmp(answer, "OK state=done", 13) == 0);
		ck_assert_int_eq(wire_number(answer, "kept"), 0);
	}
	ask(fd, "CLAIM large", "DONE");
	ask(fd, "STATUS large result", "STATUS state=done");
	ask(fd, "PING", "OK");
	/* The record of a person is not settled without what the person said. */
	ask(fd, "CLAIM hand", "WON");
	ck_assert(wire_say(fd, "RESOLVE hand as=done force body=65537\nX") && wire_say(fd, body));
	expect(fd, "ERR toobig");
	ask(fd, "STATUS hand", "STATUS state=claimed");
	/* An oversize body without its LF leaves the stream in doubt. */
	body[65536] = 'x';
	ck_assert(wire_say(fd, "COMPLETE k fence=5 body=65537\nX") && wire_say(fd, body));
	expect(fd, "ERR syntax");
	ck_assert(wire_closed(fd));
	free(body);
	close(fd);
}
END_TEST

START_TEST(octet_by_octet)
{
	static const char text[] = "CLAIM drip\r\n\n  CLAIM   drip lease=5s\nCOMPLETE drip fence=1 body=2\nab\n";
	int fd = dial();

	for (size_t i = 0; i < sizeof text - 1; i++)
		ck_assert(wire_send(fd, text + i, 1));
	expect(fd, "WON");
	expect(fd, "HELD");
	expect(fd, "STALE");
	close(fd);
}
END_TEST

START_TEST(a_half_closed_client_gets_all_its_answers)
{
	int fd = dial();

	ck_assert(wire_say(fd, "CLAIM half\nSTATUS half\nPING\nCLAIM unfini"));
	shutdown(fd, SHUT_WR);
	expect(fd, "WON");
	expect(fd, "STATUS state=claimed");
	expect(fd, "OK");
	ck_assert_ptr_null(wire_line(fd));
	close(fd);
	ck_assert_str_eq(wire_ask_once(&daemon_, "STATUS unfini"), "NOTFOUND");
}
END_TEST

/* The daemon stands still while the client asks and goes, so that it finds both at once. */
static void ask_and_vanish(const char *line)
{
	int fd = dial();

	ck_assert_str_eq(wire_ask(fd, "PING"), "OK");
	kill(daemon_.pid, SIGSTOP);
	ck_assert(wire_say(fd, line));
	close(fd);
	kill(daemon_.pid, SIGCONT);
}

static bool becomes(const char *line, const char *start)
{
	long long deadline_ms = wait_now_ms() + SPAWN_WAIT_MS;

	while (strncmp(wire_ask_once(&daemon_, line), start, strlen(start)) != 0) {
		if (!wait_moment(deadline_ms))
			return false;
	}
	return true;
}

START_TEST(a_win_that_nobody_heard_is_given_back)
{
	ask_and_vanish("CLAIM vanished lease=1h\n");
	ck_assert(becomes("STATUS vanished", "STATUS state=free"));
	ck_assert(becomes("CLAIM vanished lease=1h", "WON"));
}
END_TEST

START_TEST(a_win_with_a_token_is_kept_for_its_retry)
{
	ask_and_vanish("CLAIM kept lease=1h token=0123456789abcdef\n");
	ck_assert(becomes("STATUS kept", "STATUS state=claimed"));
	ck_assert(strncmp(wire_ask_once(&daemon_, "CLAIM kept lease=1h"), "HELD", 4) == 0);
	ck_assert(strstr(wire_ask_once(&daemon_, "CLAIM kept lease=1h token=0123456789abcdef"), "was=own") != NULL);
}
END_TEST

START_TEST(a_win_that_was_heard_stays)
{
	int fd = dial();

	ask(fd, "CLAIM heard lease=1h", "WON");
	close(fd);
	ck_assert_str_eq(wire_ask_once(&daemon_, "PING"), "OK");
	ck_assert(strncmp(wire_ask_once(&daemon_, "STATUS heard"), "STATUS state=claimed", 20) == 0);
}
END_TEST

static long resident_kib(void)
{
	char path[64], line[256];
	long kib = -1;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/status", (int)daemon_.pid);
	file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof line, file) != NULL) {
		if (sscanf(line, "VmRSS: %ld kB", &kib) == 1)
			break;
	}
	fclose(file);
	return kib;
}

START_TEST(who_never_reads_is_not_read_either)
{
	int greedy = dial(), good;
	size_t sent = 0;
	long before = resident_kib();

	/* Until the daemon and both socket buffers take no more. */
	for (;;) {
		ssize_t n = send(greedy, "STATUS\n", 7, MSG_DONTWAIT | MSG_NOSIGNAL);
		long long settle_ms = wait_now_ms() + 300;

		while (n < 0 && wait_moment(settle_ms))
			n = send(greedy, "STATUS\n", 7, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			break;
		sent += (size_t)n;
		ck_assert_uint_lt(sent, 100 * 1000 * 1000);
	}
	good = dial();
	ask(good, "CLAIM good", "WON");
	close(good);
	ck_assert_int_lt(resident_kib() - before, 64 * 1024);
	/* And when it reads after all, nothing is missing. */
	for (size_t i = 0; i < sent / 7; i++)
		expect(greedy, "STATUS version=");
	close(greedy);
}
END_TEST

START_TEST(two_thousand_connections)
{
	enum { MANY = 2000 };
	static int fd[MANY];
	struct rlimit limit = {4096, 4096};

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int i = 0; i < MANY; i++) {
		char line[64];

		fd[i] = dial();
		snprintf(line, sizeof line, "CLAIM many%d\n", i / 2);
		ck_assert(wire_say(fd[i], line));
	}
	for (int i = 0; i < MANY; i++)
		expect(fd[i], i % 2 == 0 ? "WON" : "HELD");
	for (int i = 0; i < MANY; i++)
		close(fd[i]);
	ck_assert(becomes("STATUS", "STATUS"));
}
END_TEST

START_TEST(out_of_descriptors_it_pauses_and_recovers)
{
	enum { MANY = 80 };
	struct rlimit few = {60, 60};
	int fd[MANY], first = dial();

	ask(first, "PING", "OK");
	ck_assert_int_eq(prlimit(daemon_.pid, RLIMIT_NOFILE, &few, NULL), 0);
	for (int i = 0; i < MANY; i++) {
		fd[i] = dial(); /* into the kernel's queue at least */
		ck_assert(wire_say(fd[i], "PING\n"));
	}
	expect(fd[0], "OK");
	ask(first, "CLAIM good", "WON");
	/* Those that were served make room for those that wait: nobody was turned away. */
	for (int i = 0; i < MANY; i++) {
		if (i > 0)
			expect(fd[i], "OK");
		close(fd[i]);
	}
	ask(first, "CLAIM good", "HELD");
	close(first);
}
END_TEST

START_TEST(garbage_ends_nothing)
{
	unsigned seed = 20261201;
	int good = dial();

	for (int round = 0; round < 200; round++) {
		char octets[512];
		int fd = dial();

		for (size_t i = 0; i < sizeof octets; i++)
			octets[i] = (char)rand_r(&seed);
		wire_send(fd, octets, sizeof octets);
		close(fd);
		ask(good, "PING", "OK");
	}
	close(good);
}
END_TEST

START_TEST(connections_in_flight_are_bounded_and_in_order)
{
	enum { MANY = 3000 };
	int fd = dial();
	char line[64];

	for (int i = 0; i < MANY; i++) {
		snprintf(line, sizeof line, "CLAIM order%d fp=%d\n", i, i);
		ck_assert(wire_say(fd, line));
		snprintf(line, sizeof line, "CLAIM order%d fp=other\n", i);
		if (i % 100 == 0)
			ck_assert(wire_say(fd, line));
	}
	for (int i = 0; i < MANY; i++) {
		expect(fd, "WON");
		if (i % 100 == 0)
			expect(fd, "MISMATCH state=claimed");
	}
	close(fd);
}
END_TEST

static TCase *tests_on(const char *name, void (*setup)(void))
{
	TCase *tests = tcase_create(name);

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, refusals_keep_the_stream_in_step);
	tcase_add_test(tests, a_nul_is_refused);
	tcase_add_test(tests, lines_at_the_limit_and_beyond);
	tcase_add_test(tests, an_endless_line_is_cut_off);
	tcase_add_test(tests, doubtful_framing_closes);
	tcase_add_test(tests, results_at_the_limit_and_beyond);
	tcase_add_test(tests, octet_by_octet);
	tcase_add_test(tests, a_half_closed_client_gets_all_its_answers);
	tcase_add_test(tests, a_win_that_nobody_heard_is_given_back);
	tcase_add_test(tests, a_win_with_a_token_is_kept_for_its_retry);
	tcase_add_test(tests, a_win_that_was_heard_stays);
	tcase_add_test(tests, who_never_reads_is_not_read_either);
	tcase_add_test(tests, two_thousand_connections);
	tcase_add_test(tests, out_of_descriptors_it_pauses_and_recovers);
	tcase_add_test(tests, garbage_ends_nothing);
	tcase_add_test(tests, connections_in_flight_are_bounded_and_in_order);
	return tests;
}

int main(void)
{
	Suite *suite = suite_create("peers");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tests_on("memory", setup_memory));
	suite_add_tcase(suite, tests_on("sqlite", setup_sqlite));
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
