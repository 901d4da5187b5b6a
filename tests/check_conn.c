/*
 * check_conn.c - connections on socket pairs in this process: what was heard, what waits, what a client can make them keep.
 *
 * The handler only takes turns; the tests answer them.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../server/conn_impl.h"

#define TURNS 70000
#define MANY_OCTETS (1 << 20) /* more than the kernel takes for one who does not read */

struct seen {
	struct turn turn; /* first, so that the one is the other */
	bool ended, heard, gone;
};

static uv_loop_t loop;
static struct conn_set set;
static struct seen seen[TURNS];
static int seen_count, closed_count;
static char http_line[256];
static bool watch, answer_at_once;
static char large[MANY_OCTETS];

static void on_request(void *arg, struct conn *conn, struct slice line, struct slice body, bool oversize)
{
	struct seen *s = &seen[seen_count++];

	(void)arg;
	(void)body;
	if (oversize && slice_starts(line, SLICE_OF("GET "))) {
		seen_count--;
		conn_await_header(conn, line);
		return;
	}
	turn_open(&s->turn, conn, true);
	if (slice_equal(line, SLICE_OF("nonsense")))
		conn_nonsense(conn);
	s->turn.watched = watch;
	if (answer_at_once)
		turn_answer(&s->turn, SLICE_OF("OK\n"), SLICE_ABSENT);
}

static void on_broken(void *arg, struct conn *conn, enum err code, const char *why)
{
	(void)arg;
	(void)conn;
	ck_abort_msg("broken: %d %s", (int)code, why);
}

static void on_http(void *arg, struct conn *conn, struct slice line)
{
	(void)arg;
	snprintf(http_line, sizeof http_line, "%.*s", (int)line.len, line.data);
	conn_close(conn);
}

static void on_ended(void *arg, struct turn *turn, bool heard)
{
	struct seen *s = (struct seen *)(void *)turn;

	(void)arg;
	ck_assert(!s->ended);
	s->ended = true;
	s->heard = heard;
}

static void on_gone(void *arg, struct turn *turn)
{
	(void)arg;
	((struct seen *)(void *)turn)->gone = true;
}

static void on_closed(void *arg, void *session)
{
	(void)arg;
	(void)session;
	closed_count++;
}

static void setup(void)
{
	signal(SIGPIPE, SIG_IGN);
	memset(&set, 0, sizeof set);
	memset(seen, 0, sizeof seen);
	memset(large, 'x', sizeof large);
	seen_count = closed_count = 0;
	http_line[0] = '\0';
	watch = true;
	answer_at_once = false;
	ck_assert_int_eq(uv_loop_init(&loop), 0);
	set.loop = &loop;
	set.handler = (struct conn_handler){on_request, on_broken, on_http, on_ended, on_gone, on_closed, NULL};
	set.limits = (struct conn_limits){.max_line = 8192, .max_body = 100, .max_turns = 256, .max_unread = 65536};
	ck_assert(conn_set_init(&set));
}

static void turn_of_the_loop(void)
{
	uv_run(&loop, UV_RUN_NOWAIT);
	while (conn_set_flush(&set) || set.dirty != NULL)
		;
}

static void pump(void)
{
	for (int i = 0; i < 10; i++)
		turn_of_the_loop();
}

/* There where the tests run with the leak checker. */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static void teardown(void)
{
	while (set.count > 0) {
		conn_close(set.first);
		pump();
	}
	conn_set_release(&set);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
	ck_assert(__lsan_do_recoverable_leak_check == NULL || __lsan_do_recoverable_leak_check() == 0);
}

/* The client's end. */
static int open_pair(void)
{
	int fd[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	ck_assert(conn_open(&set, fd[0], NULL));
	return fd[1];
}

static void say(int fd, const char *text)
{
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	pump();
}

static void answer(int which, const char *text, size_t len)
{
	turn_answer(&seen[which].turn, (struct slice){text, len}, SLICE_ABSENT);
}

/* ---- heard or not ---- */

START_TEST(what_the_kernel_did_not_take_was_not_heard)
{
	int fd = open_pair();

	say(fd, "a\nb\nc\n");
	answer(0, large, sizeof large);
	answer(1, "WON\n", 4);
	answer(2, "WON\n", 4);
	pump();
	ck_assert(seen[0].ended && seen[0].heard); /* an octet of it is enough */
	ck_assert(!seen[1].ended && !seen[2].ended);
	say(fd, "d\n"); /* held back: it is not read any more, and the end shows when it is written to */
	ck_assert_int_eq(seen_count, 3);
	close(fd);
	pump();
	ck_assert_int_eq(closed_count, 1);
	ck_assert(seen[1].ended && !seen[1].heard);
	ck_assert(seen[2].ended && !seen[2].heard);
}
END_TEST

/* How much of one large answer the kernel takes from the start. */
static size_t kernel_takes(void)
{
	static char text[MANY_OCTETS];
	size_t got = 0;
	int fd = open_pair();
	ssize_t n;

	say(fd, "a\n");
	answer(seen_count - 1, large, sizeof large);
	pump();
	while ((n = read(fd, text, sizeof text)) > 0)
		got += (size_t)n;
	close(fd);
	pump();
	return got;
}

START_TEST(the_first_octet_decides)
{
	size_t room = kernel_takes();
	int fd = open_pair(), first = seen_count;

	say(fd, "a\nb\n");
	answer(first, large, room);
	answer(first + 1, large, sizeof large);
	pump();
	ck_assert(seen[first].heard);
	ck_assert(!seen[first + 1].ended); /* its first octet is with libuv */
	say(fd, "c\n");
	close(fd);
	pump();
	ck_assert(seen[first + 1].ended && !seen[first + 1].heard);
	fd = open_pair();
	first = seen_count;
	say(fd, "a\nb\n");
	answer(first, large, room);
	answer(first + 1, large, sizeof large);
	pump();
	while (read(fd, large, sizeof large) > 0)
		;
	pump();
	ck_assert(seen[first + 1].heard);
	close(fd);
}
END_TEST

START_TEST(what_the_kernel_took_was_heard)
{
	int fd = open_pair();

	say(fd, "a\nb\n");
	answer(1, "WON\n", 4);
	pump();
	ck_assert(!seen[1].ended);
	answer(0, "WON\n", 4);
	pump();
	ck_assert(seen[0].heard && seen[1].heard);
	close(fd);
}
END_TEST

START_TEST(an_answer_behind_one_that_never_came_was_not_heard)
{
	int fd = open_pair();

	say(fd, "a\nb\n");
	answer(1, "WON\n", 4);
	pump();
	conn_close(set.first);
	ck_assert(seen[1].ended && !seen[1].heard);
	ck_assert(!seen[0].ended && seen[0].turn.conn == NULL);
	close(fd);
}
END_TEST

/* Whoever does not care is not kept until the client reads: the memory of a call is more than that of its answer. */
START_TEST(what_is_not_watched_ends_at_once)
{
	int fd = open_pair();

	say(fd, "a\n");
	answer(0, large, sizeof large);
	watch = false;
	pump();
	while (read(fd, large, sizeof large) > 0)
		pump();
	say(fd, "b\nc\n");
	answer(1, large, sizeof large);
	ck_assert(seen[1].ended);
	answer(2, "OK\n", 3);
	ck_assert(seen[2].ended);
	close(fd);
}
END_TEST

/* ---- every octet, in order, whatever the client takes at once ---- */

static char octet_at(size_t at)
{
	return (char)('a' + (at * 2654435761u >> 7) % 26);
}

START_TEST(a_slow_reader_gets_all_of_it)
{
	int fd = open_pair();
	size_t asked = 0, written = 0, got = 0, total = 3 * sizeof large;
	unsigned seed = 7;

	while (got < total) {
		static char text[70000];
		size_t len = 1 + (size_t)rand_r(&seed) % (sizeof text - 1);
		ssize_t n;

		if (written < total && asked < TURNS) {
			say(fd, "a\n");
			if ((size_t)seen_count > asked) {
				len = len < total - written ? len : total - written;
				for (size_t i = 0; i < len; i++)
					text[i] = octet_at(written + i);
				answer((int)asked++, text, len);
				written += len;
			}
		}
		pump();
		n = read(fd, text, 1 + (size_t)rand_r(&seed) % (sizeof text - 1));
		for (ssize_t i = 0; i < n; i++)
			ck_assert_int_eq(text[i], octet_at(got + (size_t)i));
		got += n > 0 ? (size_t)n : 0;
	}
	pump();
	for (size_t i = 0; i < asked; i++)
		ck_assert(seen[i].heard);
	close(fd);
}
END_TEST

START_TEST(who_is_always_behind_costs_no_more_for_it)
{
	static char text[30000];
	int fd = open_pair(), answered = 0;

	watch = false;
	set.limits.max_unread = sizeof large;
	for (int i = 0; i < 300; i++) {
		say(fd, "a\n");
		while (answered < seen_count)
			answer(answered++, large, sizeof text);
		pump();
		if (set.first->out_len > 5 * sizeof text)
			ck_assert_int_gt(read(fd, text, sizeof text), 0);
	}
	ck_assert_uint_gt(set.first->out_at, 100 * sizeof text);
	ck_assert_uint_gt(set.first->out_len, 0);
	ck_assert_uint_lt(set.first->out_cap, 3 * sizeof large);
	close(fd);
}
END_TEST

/* ---- back-pressure ---- */

START_TEST(a_large_answer_to_come_holds_back)
{
	int fd = open_pair();

	say(fd, "a\n");
	turn_expect(&seen[0].turn, 100000);
	say(fd, "b\n");
	say(fd, "c\n");
	ck_assert_int_eq(seen_count, 1);
	answer(0, "OK\n", 3);
	pump();
	ck_assert_int_eq(seen_count, 3);
	close(fd);
}
END_TEST

START_TEST(who_sends_without_end_takes_turns)
{
	int greedy = open_pair(), other = open_pair();
	ssize_t n;

	answer_at_once = true;
	watch = false;
	set.limits.max_unread = sizeof large;
	for (size_t i = 0; i < sizeof large; i += 2)
		memcpy(large + i, "a\n", 2);
	n = write(greedy, large, 100000);
	ck_assert_int_ge(n, 50000);
	ck_assert_int_eq(write(other, "b\n", 2), 2);
	turn_of_the_loop();
	ck_assert_int_gt(seen_count, 0);
	ck_assert_int_lt(seen_count, n / 4);
	for (int i = 0; i < 20; i++)
		turn_of_the_loop();
	ck_assert_int_eq(seen_count, n / 2 + 1);
	close(greedy);
	close(other);
}
END_TEST

/* ---- clients that are gone ---- */

/* The store is flushed behind this, and must not be asked on behalf of the dead. */
START_TEST(who_is_gone_is_let_go_where_that_is_read)
{
	int whole = open_pair(), unfinished = open_pair();

	say(whole, "a\n");
	say(unfinished, "b\nunfini");
	close(whole);
	close(unfinished);
	uv_run(&loop, UV_RUN_NOWAIT);
	ck_assert(seen[0].gone && seen[1].gone);
}
END_TEST

START_TEST(half_closed_and_then_gone_is_found)
{
	int fd = open_pair();

	say(fd, "a\n");
	shutdown(fd, SHUT_WR);
	pump();
	conn_set_beat(&set);
	ck_assert(!seen[0].gone);
	close(fd);
	pump();
	ck_assert(!seen[0].gone); /* libuv does not tell */
	conn_set_beat(&set);
	ck_assert(seen[0].gone);
}
END_TEST

START_TEST(gone_while_held_back_is_found)
{
	int fd = open_pair();

	set.limits.max_turns = 1;
	say(fd, "a\nb\n");
	conn_set_beat(&set);
	ck_assert(!seen[0].gone);
	close(fd);
	pump();
	ck_assert(!seen[0].gone);
	conn_set_beat(&set);
	ck_assert(seen[0].gone);
}
END_TEST

/* One who floods is read on from second to second; what he sends with sense in it then waits, and others do not. */
START_TEST(nonsense_is_not_read_on_at_once)
{
	int fd = open_pair(), other = open_pair();

	answer_at_once = true;
	for (int i = 0; i < CONN_NONSENSE + 20; i++)
		ck_assert_int_eq(send(fd, "nonsense\n", 9, 0), 9);
	say(fd, "a\n");
	ck_assert_int_eq(seen_count, CONN_NONSENSE);
	say(other, "b\n");
	ck_assert_int_eq(seen_count, CONN_NONSENSE + 1);
	conn_set_beat(&set);
	pump();
	ck_assert_int_eq(seen_count, CONN_NONSENSE + 22);
	/* With sense in it it is never too much. */
	for (int i = 0; i < 3 * CONN_NONSENSE; i++)
		say(fd, "a\n");
	ck_assert_int_eq(seen_count, 4 * CONN_NONSENSE + 22);
	close(fd);
	close(other);
}
END_TEST

START_TEST(gone_after_its_last_request_is_found)
{
	int fd = open_pair();

	say(fd, "a\n");
	conn_finish(set.first);
	say(fd, "b\n"); /* from here on nothing is read */
	conn_set_beat(&set);
	ck_assert(!seen[0].gone);
	close(fd);
	pump();
	ck_assert(!seen[0].gone);
	conn_set_beat(&set);
	ck_assert(seen[0].gone);
}
END_TEST

/* ---- strangers ---- */

static int open_stranger(void)
{
	int fd[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	ck_assert(conn_open_stranger(&set, fd[0], NULL));
	return fd[1];
}

static bool is_closed(int fd)
{
	char octet;

	return read(fd, &octet, 1) == 0;
}

START_TEST(strangers_make_room_for_each_other)
{
	int friend = open_pair(), fd[3 * CONN_STRANGERS];

	for (int i = 0; i < 3 * CONN_STRANGERS; i++) {
		fd[i] = open_stranger();
		pump();
		ck_assert_uint_le(set.strangers, CONN_STRANGERS);
		ck_assert_uint_eq(set.count, set.strangers + 1);
	}
	for (int i = 0; i < 3 * CONN_STRANGERS; i++)
		ck_assert_int_eq(is_closed(fd[i]), i < 2 * CONN_STRANGERS);
	ck_assert(!is_closed(friend));
	/* Who goes leaves a place that the next one takes. */
	close(fd[2 * CONN_STRANGERS]);
	pump();
	ck_assert_uint_eq(set.strangers, CONN_STRANGERS - 1);
	fd[0] = open_stranger();
	pump();
	ck_assert_uint_eq(set.strangers, CONN_STRANGERS);
	ck_assert(!is_closed(fd[2 * CONN_STRANGERS + 1]));
}
END_TEST

START_TEST(the_bodies_of_strangers_are_not_kept)
{
	int fd = open_stranger();

	say(fd, "a body=90\nxxxxxxxxxx");
	ck_assert_uint_eq(set.first->in_len, 0);
	ck_assert_uint_eq(set.first->drain, 81);
	close(fd);
}
END_TEST

/* ---- HTTP ---- */

START_TEST(http_with_a_large_body_keeps_its_line)
{
	int fd = open_pair();

	say(fd, "GET /x body=101 HTTP/1.1\n");
	memset(large, 'x', 101);
	large[101] = '\n';
	large[102] = '\0';
	say(fd, large);
	ck_assert_int_eq(closed_count, 0);
	say(fd, "Host: x\r\n\r\n");
	ck_assert_str_eq(http_line, "GET /x body=101 HTTP/1.1");
	ck_assert_int_eq(closed_count, 1);
	close(fd);
}
END_TEST

/* ---- leaving ---- */

START_TEST(who_waits_for_an_answer_is_not_left)
{
	int waiting = open_pair(), deaf;
	char text[8];

	say(waiting, "a\n");
	deaf = open_pair();
	say(deaf, "b\n");
	answer(1, large, sizeof large);
	pump();
	conn_set_finish_all(&set);
	pump();
	ck_assert_int_eq(closed_count, 0);
	conn_set_close_answered(&set);
	pump();
	ck_assert_int_eq(closed_count, 1);
	answer(0, "OK\n", 3);
	conn_set_close_answered(&set); /* between the answer and the moment of writing */
	ck_assert_int_eq(closed_count, 1);
	pump();
	ck_assert_int_eq(read(waiting, text, sizeof text), 3);
	ck_assert_int_eq(closed_count, 2);
	close(waiting);
	close(deaf);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("conn");
	TCase *tests = tcase_create("conn");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, what_the_kernel_did_not_take_was_not_heard);
	tcase_add_test(tests, the_first_octet_decides);
	tcase_add_test(tests, what_the_kernel_took_was_heard);
	tcase_add_test(tests, an_answer_behind_one_that_never_came_was_not_heard);
	tcase_add_test(tests, what_is_not_watched_ends_at_once);
	tcase_add_test(tests, a_slow_reader_gets_all_of_it);
	tcase_add_test(tests, who_is_always_behind_costs_no_more_for_it);
	tcase_add_test(tests, a_large_answer_to_come_holds_back);
	tcase_add_test(tests, who_sends_without_end_takes_turns);
	tcase_add_test(tests, who_is_gone_is_let_go_where_that_is_read);
	tcase_add_test(tests, half_closed_and_then_gone_is_found);
	tcase_add_test(tests, gone_while_held_back_is_found);
	tcase_add_test(tests, nonsense_is_not_read_on_at_once);
	tcase_add_test(tests, gone_after_its_last_request_is_found);
	tcase_add_test(tests, strangers_make_room_for_each_other);
	tcase_add_test(tests, the_bodies_of_strangers_are_not_kept);
	tcase_add_test(tests, http_with_a_large_body_keeps_its_line);
	tcase_add_test(tests, who_waits_for_an_answer_is_not_left);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
