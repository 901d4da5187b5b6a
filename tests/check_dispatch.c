/*
 * check_dispatch.c - requests and answers in one process: connections on socket pairs, the dispatcher, the engine, and a store
 * that is one record and answers when the test wants it to. Late answers, wins that nobody heard of, no memory.
 */
#include <check.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../proto/mem.h"
#include "../server/clock.h"
#include "../server/dispatch.h"

#define TIMEOUT_MS 60000
#define WAITING 64
#define NOW INT64_C(1700000000000000) /* the store's */

static uv_loop_t loop;
static struct conn_set set;
static struct dispatch dispatch;
static struct stats stats;
static struct grants grants;
static struct log quiet;
static struct conf conf;
static struct op *waiting[WAITING];
static int waiting_count;
static struct access access_;
static struct session *last; /* of the connection that was opened last */
static bool stalled;         /* the store answers nothing */
static struct record stored;
static char stored_text[4][256];

static void to_store(void *arg, struct op *op)
{
	(void)arg;
	ck_assert_int_lt(waiting_count, WAITING);
	waiting[waiting_count++] = op;
}

static struct slice keep(int where, struct slice text)
{
	if (text.data == NULL)
		return SLICE_ABSENT;
	ck_assert_uint_le(text.len, sizeof stored_text[where]);
	memmove(stored_text[where], text.data, text.len);
	return (struct slice){stored_text[where], text.len};
}

static void store_answers(struct op *op)
{
	struct record rec = stored;

	if (op->kind == OP_LIST) {
		op->page = mem_zero(sizeof *op->page);
		if (op->page == NULL)
			op_refuse(op, ERR_BUSY, "no memory");
		else
			op->result = OP_APPLIED;
	} else if (op->kind == OP_RECORD) {
		op_decide(op, &rec, NOW);
		if (op->verdict.effect != EFFECT_NONE) {
			stored = rec;
			stored.fp = keep(0, rec.fp);
			stored.token = keep(1, rec.token);
			stored.owner = keep(2, rec.owner);
			stored.result = keep(3, rec.result);
		}
	} else {
		op->result = OP_APPLIED;
	}
	engine_done(dispatch.engine, op, 0);
}

static void turn_of_the_loop(void)
{
	uv_run(&loop, UV_RUN_NOWAIT);
	do {
		for (int i = 0; i < waiting_count && !stalled; i++) {
			struct op *op = waiting[i];

			memmove(waiting, waiting + 1, (size_t)--waiting_count * sizeof waiting[0]);
			i--;
			store_answers(op);
		}
	} while (conn_set_flush(&set) || set.dirty != NULL || (waiting_count > 0 && !stalled));
}

static void pump(void)
{
	for (int i = 0; i < 8; i++)
		turn_of_the_loop();
}

static void say_status(void *arg, struct slice ns, struct writer *w)
{
	(void)arg;
	reply_bytes(w, "ns", ns);
}

static void look(void *arg, struct stats_view *view)
{
	(void)arg;
	*view = (struct stats_view){.version = "1", .counts_age_ms = -1};
}

static void setup(void)
{
	struct engine_hooks hooks = {to_store,      dispatch_late, dispatch_answer, dispatch_changed,
				     dispatch_told, dispatch_gone, &dispatch};
	struct hash_seed seed = {1, 2};

	signal(SIGPIPE, SIG_IGN);
	waiting_count = 0;
	stalled = false;
	stored = (struct record){.state = STATE_ABSENT};
	memset(&set, 0, sizeof set);
	memset(&dispatch, 0, sizeof dispatch);
	memset(&stats, 0, sizeof stats);
	conf = (struct conf){.max_body = 100, .lease_ms = 60000, .ttl_ms = 60000, .store_result = true};
	log_init(&quiet, LOG_FORMAT_TEXT, LOG_LEVEL_ERROR, LOG_KEYS_HASH, STDERR_FILENO);
	grants_init(&grants, &seed);
	ck_assert_int_eq(uv_loop_init(&loop), 0);
	dispatch.engine = engine_new(&hooks, &(struct engine_limits){TIMEOUT_MS, 1000, 1000, 65536}, &seed);
	dispatch.conf = &conf;
	dispatch.stats = &stats;
	dispatch.grants = &grants;
	dispatch.log = &quiet;
	dispatch.access = &access_;
	access_ = (struct access){.own_uid = (int64_t)getuid()};
	last = NULL;
	dispatch.say_status = say_status;
	dispatch.look = look;
	ck_assert(dispatch_init(&dispatch));
	dispatch_handler(&dispatch, &set.handler);
	set.loop = &loop;
	set.limits = (struct conn_limits){.max_line = 8192, .max_body = 100, .max_turns = 32, .max_unread = 65536};
	ck_assert(conn_set_init(&set));
}

/* There where the tests run with the leak checker. */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static void teardown(void)
{
	stalled = false;
	while (set.count > 0) {
		conn_close(set.first);
		pump();
	}
	pump();
	conn_set_release(&set);
	dispatch_release(&dispatch);
	engine_free(dispatch.engine);
	grants_release(&grants);
	log_release(&quiet);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
	ck_assert(__lsan_do_recoverable_leak_check == NULL || __lsan_do_recoverable_leak_check() == 0);
}

/* The client's end; -1: there was no memory for it. */
static int open_pair(void)
{
	struct session *session;
	int fd[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	session = session_new(fd[0], NULL, &access_);
	if (session == NULL) {
		close(fd[0]);
	} else if (conn_open(&set, fd[0], session)) {
		last = session;
		stats.connections++;
		return fd[1];
	} else {
		session_free(session);
	}
	close(fd[1]);
	return -1;
}

/* What comes back to these octets, in a static buffer. */
static const char *exchange(int fd, const char *text)
{
	static char answer[65536];
	size_t len = 0;
	ssize_t n;

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	pump();
	while ((n = read(fd, answer + len, sizeof answer - 1 - len)) > 0)
		len += (size_t)n;
	answer[len] = '\0';
	return answer;
}

static void expect(int fd, const char *text, const char *start)
{
	const char *answer = exchange(fd, text);

	ck_assert_msg(strncmp(answer, start, strlen(start)) == 0 && (*start != '\0' || *answer == '\0'),
		      "got \"%s\", not \"%s\"", answer, start);
}

static size_t live(void)
{
	return grants_live(&grants, clock_mono_ms());
}

static void all_are_late(void)
{
	engine_tick(dispatch.engine, clock_mono_ms() + TIMEOUT_MS + 1);
}

/* ---- late answers ---- */

START_TEST(a_late_win_is_told_once_and_given_back)
{
	int fd = open_pair();

	stalled = true;
	expect(fd, "CLAIM k\n", "");
	all_are_late();
	expect(fd, "", "ERR timeout retry=maybe");
	stalled = false;
	expect(fd, "PING\n", "OK\n");
	ck_assert_int_eq(stored.state, STATE_FREE);
	ck_assert_uint_eq(live(), 0);
	ck_assert_uint_eq(engine_undone(dispatch.engine), 1);
	/* The metrics say what was answered. */
	ck_assert_uint_eq(stats.claims[WORD_ERR], 1);
	ck_assert_uint_eq(stats.claims[WORD_WON], 0);
	ck_assert_uint_eq(stats.errors[ERR_TIMEOUT], 1);
	close(fd);
}
END_TEST

START_TEST(a_late_win_with_a_token_is_kept)
{
	int fd = open_pair();

	stalled = true;
	expect(fd, "CLAIM k token=0123456789abcdef\n", "");
	all_are_late();
	stalled = false;
	expect(fd, "", "ERR timeout");
	ck_assert_int_eq(stored.state, STATE_CLAIMED);
	ck_assert_uint_eq(live(), 1);
	expect(fd, "CLAIM k token=0123456789abcdef\n", "WON fence=1700000000000000");
	close(fd);
}
END_TEST

START_TEST(a_late_refusal_is_counted_once)
{
	int fd = open_pair();

	stalled = true;
	expect(fd, "RELEASE k fence=5\n", "");
	all_are_late();
	ck_assert_int_eq(waiting_count, 1);
	op_refuse(waiting[0], ERR_STORE, "down");
	waiting_count = 0;
	engine_done(dispatch.engine, waiting[0], 0);
	expect(fd, "PING\n", "ERR timeout");
	ck_assert_uint_eq(stats.errors[ERR_TIMEOUT], 1);
	ck_assert_uint_eq(stats.errors[ERR_STORE], 0);
	ck_assert_uint_eq(stats.settlements[VERB_RELEASE][WORD_ERR], 1);
	close(fd);
}
END_TEST

START_TEST(a_late_answer_after_its_client_has_gone)
{
	int fd = open_pair();

	stalled = true;
	expect(fd, "CLAIM k\n", "");
	all_are_late();
	close(fd);
	pump();
	ck_assert_uint_eq(set.count, 0);
	stalled = false;
	pump();
	ck_assert_int_eq(stored.state, STATE_FREE);
	ck_assert_uint_eq(live(), 0);
}
END_TEST

/* ---- wins that nobody heard of ---- */

START_TEST(a_win_behind_an_answer_that_never_came)
{
	int fd = open_pair();
	struct op *first;

	stalled = true;
	expect(fd, "STATUS other\nCLAIM k\n", "");
	ck_assert_int_eq(waiting_count, 2);
	first = waiting[0];
	waiting[0] = waiting[1];
	waiting_count = 1;
	stalled = false;
	expect(fd, "", ""); /* won, and held back by its order */
	ck_assert_int_eq(stored.state, STATE_CLAIMED);
	ck_assert_uint_eq(live(), 1);
	shutdown(fd, SHUT_WR);
	pump();
	ck_assert_int_eq(stored.state, STATE_CLAIMED); /* it still reads */
	close(fd);
	conn_set_beat(&set);
	pump();
	ck_assert_int_eq(stored.state, STATE_FREE);
	store_answers(first);
	pump();
	ck_assert_uint_eq(live(), 0);
}
END_TEST

START_TEST(a_win_that_was_heard_is_kept)
{
	int fd = open_pair();

	expect(fd, "CLAIM k\n", "WON");
	close(fd);
	pump();
	ck_assert_int_eq(stored.state, STATE_CLAIMED);
	ck_assert_uint_eq(live(), 1);
}
END_TEST

/* ---- what is live ---- */

START_TEST(what_an_operator_ends_is_not_live)
{
	static const char *const ends[] = {"RESOLVE k as=done force\n", "RESOLVE k as=free force\n"};
	int fd = open_pair();

	for (size_t i = 0; i < 2; i++) {
		stored.state = STATE_ABSENT;
		expect(fd, "CLAIM k\n", "WON");
		ck_assert_uint_eq(live(), 1);
		expect(fd, ends[i], "OK state=");
		ck_assert_uint_eq(live(), 0);
	}
	stored.state = STATE_ABSENT;
	expect(fd, "CLAIM k\n", "WON");
	expect(fd, "FORGET k force\n", "ERR busy"); /* its clock stands still */
	stored.fence = 5;
	grants_hold(&grants, SLICE_OF("k"), 5, clock_mono_ms(), clock_mono_ms() + 60000);
	ck_assert_uint_eq(live(), 2);
	expect(fd, "FORGET k force\n", "OK deleted=1");
	ck_assert_uint_eq(live(), 1);
	close(fd);
}
END_TEST

START_TEST(pages_hold_back_what_comes_behind)
{
	int fd = open_pair();

	stalled = true;
	expect(fd, "LIST limit=1000\nPING\n", "");
	expect(fd, "LIST limit=1000\n", "");
	ck_assert_int_eq(waiting_count, 1);
	stalled = false;
	expect(fd, "", "END count=0\nOK\nEND count=0\n");
	close(fd);
}
END_TEST

/* ---- no memory ---- */

/* One of each; the answers are not all the same from run to run, their number is. */
static const char *const script[] = {"HELLO proto=1 ns=n\n",
				     "PING tag=t\n",
				     "CLAIM k owner=me fp=f tag=a\n",
				     "STATUS k\n",
				     "COMPLETE k fence=1700000000000000 body=3\nabc\n",
				     "CLAIM k\n",
				     "STATUS k result\n",
				     "LIST\n",
				     "SWEEP\n",
				     "STATUS\n",
				     "STATS\n",
				     "HELP CLAIM\n",
				     "NONSENSE\n",
				     "COMPLETE k fence=5 body=101\n"
				     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
				     "xxxxxxxxxxxxxxxxxxxxx\n",
				     "CLAIM k\nCLAIM k\nCLAIM k tag=x\nPI",
				     "NG\n"};

/* Whole lines come back, and a request that does not do what it should says busy or is not answered at all. */
static void run_script(size_t *refused, size_t *closed)
{
	int fd = open_pair();

	for (size_t i = 0; fd >= 0 && i < sizeof script / sizeof script[0]; i++) {
		const char *answer = exchange(fd, script[i]);
		bool gone = set.count == 0;

		*refused += strstr(answer, "ERR busy retry=safe") != NULL;
		*closed += gone;
		ck_assert_msg(strncmp(answer, "ERR internal", 12) != 0, "%s: %s", script[i], answer);
		ck_assert_msg(*answer == '\0' || answer[strlen(answer) - 1] == '\n', "%s: %s", script[i], answer);
		ck_assert_msg(gone || *answer != '\0' || i == 14, "%s was not answered", script[i]);
		if (gone)
			break;
	}
	if (fd >= 0)
		close(fd);
	*closed += fd < 0;
	pump();
	ck_assert_uint_eq(set.count, 0);
	ck_assert_uint_eq(engine_pending(dispatch.engine), 0);
	ck_assert_uint_eq(stats.connections, 0);
}

static void sweep(int onward)
{
	size_t refused = 0, closed = 0, made, at;

	stored.state = STATE_ABSENT;
	mem_fail_at(0, 0);
	run_script(&refused, &closed);
	made = mem_fail_at(0, 0);
	ck_assert_uint_eq(refused + closed, 0);
	ck_assert_uint_gt(made, 20);
	for (at = 1; at <= made; at++) {
		stored.state = STATE_ABSENT;
		mem_fail_at(at, onward);
		run_script(&refused, &closed);
		mem_fail_at(0, 0);
		/* A claim may be left, never one that nobody heard of and that nothing will end. */
		run_script(&(size_t){0}, &(size_t){0});
	}
	ck_assert_uint_gt(refused, 0);
	ck_assert_uint_gt(closed, 0);
}

START_TEST(each_allocation_may_fail)
{
	sweep(0);
}
END_TEST

START_TEST(all_allocations_may_fail_from_one_on)
{
	sweep(1);
}
END_TEST

/* Refusing costs memory too, and a reserve of it has an end. */
START_TEST(without_any_memory_the_connection_closes)
{
	int fd = open_pair(), good = open_pair();
	struct op *first;

	stalled = true;
	expect(fd, "STATUS k\n", "");
	expect(good, "PING\n", "OK\n");
	for (int i = 0; i < 30 && set.count == 2; i++) {
		mem_fail_at(1, 0);
		expect(fd, "PING\n", ""); /* refused, and held back by its order */
	}
	ck_assert_uint_eq(set.count, 1);
	mem_fail_at(1, 1);
	expect(good, "PING\n", "ERR busy retry=safe");
	mem_fail_at(0, 0);
	first = waiting[0];
	waiting_count = 0;
	store_answers(first);
	expect(good, "PING\n", "OK\n");
	close(fd);
	close(good);
}
END_TEST

/* ---- who may what ---- */

START_TEST(large_results_hold_back_what_comes_behind)
{
	char text[512];
	int fd = open_pair();

	set.limits.max_unread = 150;
	stalled = true;
	snprintf(text, sizeof text, "COMPLETE - fence=1 body=100\n%0100d\n", 0);
	for (char c = 'a'; c <= 'c'; c++) {
		text[9] = c;
		expect(fd, text, "");
	}
	ck_assert_int_eq(waiting_count, 2);
	stalled = false;
	expect(fd, "", "STALE state=absent\nSTALE state=absent\nSTALE state=absent\n");
	close(fd);
}
END_TEST

START_TEST(operators_verbs_are_for_operators)
{
	static const struct {
		const char *line, *others; /* what who is none is told */
	} row[] = {
	    {"RESOLVE k as=done\n", "ERR denied"},
	    {"RESOLVE k as=done fence=1 force\n", "ERR denied"},
	    {"RESOLVE k as=done fence=1\n", "NOTFOUND"},
	    {"FORGET k\n", "ERR denied"},
	    {"SWEEP\n", "ERR denied"},
	    {"SWEEP dry\n", "ERR denied"},
	    {"SHUTDOWN\n", "ERR denied"},
	    {"CLAIM k\n", "WON"},
	    {"LIST\n", "END"},
	    {"HELP FORGET\n", "OK"},
	};
	int fd = open_pair();

	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		last->uid = access_.own_uid + 1;
		expect(fd, row[i].line, row[i].others);
	}
	ck_assert_uint_eq(stats.denied, 6);
	last->uid = access_.own_uid;
	expect(fd, "FORGET k force\n", "ERR busy");
	close(fd);
}
END_TEST

START_TEST(who_may_not_enter_is_told_and_left)
{
	int fd = open_pair();

	last->admitted = false;
	expect(fd, "PING tag=a\n", "ERR denied retry=no");
	ck_assert_uint_eq(set.count, 0);
	close(fd);
	fd = open_pair();
	last->admitted = false;
	expect(fd, "GET /metrics HTTP/1.1\r\n\r\n", "");
	ck_assert_uint_eq(set.count, 0);
	close(fd);
}
END_TEST

START_TEST(a_namespace_may_be_tied_to_users)
{
	struct access_settings settings = {.namespace_uid = "billing:77,78 shop:79"};
	struct errbuf err;
	int fd = open_pair();

	ck_assert_msg(access_init(&access_, &settings, (int64_t)getuid(), &err), "%s", err.text);
	last->uid = 79;
	expect(fd, "CLAIM k\n", "ERR denied retry=no msg=without");
	expect(fd, "LIST\n", "ERR denied");
	expect(fd, "WATCH\n", "ERR denied");
	expect(fd, "STATUS\n", "STATUS");
	expect(fd, "HELLO ns=billing\n", "ERR denied");
	expect(fd, "HELLO ns=shop\n", "OK");
	expect(fd, "CLAIM k\n", "WON");
	close(fd);
	fd = open_pair(); /* an operator */
	last->uid = 0;
	expect(fd, "STATUS billing:k\n", "STATUS");
	expect(fd, "HELLO ns=billing\n", "ERR denied"); /* too late */
	close(fd);
	pump();
	access_release(&access_);
}
END_TEST

START_TEST(the_daemon_s_own_namespace_may_be_tied_too)
{
	struct access_settings settings = {.namespace_uid = "billing:77"};
	struct errbuf err;
	int fd = open_pair();

	ck_assert(access_init(&access_, &settings, (int64_t)getuid(), &err));
	ck_assert(session_take_namespace(last, slice_from("billing")));
	last->uid = 78;
	expect(fd, "CLAIM k\n", "ERR denied retry=no msg=the");
	last->uid = 77;
	expect(fd, "CLAIM k\n", "WON");
	close(fd);
	pump();
	access_release(&access_);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dispatch");
	TCase *tests = tcase_create("dispatch");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_late_win_is_told_once_and_given_back);
	tcase_add_test(tests, a_late_win_with_a_token_is_kept);
	tcase_add_test(tests, a_late_refusal_is_counted_once);
	tcase_add_test(tests, a_late_answer_after_its_client_has_gone);
	tcase_add_test(tests, a_win_behind_an_answer_that_never_came);
	tcase_add_test(tests, a_win_that_was_heard_is_kept);
	tcase_add_test(tests, what_an_operator_ends_is_not_live);
	tcase_add_test(tests, pages_hold_back_what_comes_behind);
	tcase_add_test(tests, each_allocation_may_fail);
	tcase_add_test(tests, without_any_memory_the_connection_closes);
	tcase_add_test(tests, all_allocations_may_fail_from_one_on);
	tcase_add_test(tests, large_results_hold_back_what_comes_behind);
	tcase_add_test(tests, operators_verbs_are_for_operators);
	tcase_add_test(tests, who_may_not_enter_is_told_and_left);
	tcase_add_test(tests, a_namespace_may_be_tied_to_users);
	tcase_add_test(tests, the_daemon_s_own_namespace_may_be_tied_too);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
