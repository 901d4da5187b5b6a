/*
 * check_client.c - the client without a daemon: octets by hand for the core, and for the blocking calls a peer that is a process of
 * this test and plays a script of lines.
 */
#include "../client/claim.h"
#include "../client/client.h"
#include "../proto/mem.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "play.h"

#define HELLO_OK "OK proto=1 max_body=1000\n"

/* ---- the core ---- */

static struct client client;

static void core_setup(void)
{
	ck_assert(client_init(&client, SLICE_OF("test/1"), SLICE_ABSENT));
}

static void core_teardown(void)
{
	client_release(&client);
}

static void ask(struct call *call, const char *line)
{
	ck_assert(call_init(call, slice_from(line), SLICE_ABSENT));
	client_ask(&client, call);
}

/* All that wants to go out, as a string. */
static const char *output(int64_t now_ms)
{
	static char text[8192];
	size_t len = 0;
	for (;;) {
		struct slice out = client_output(&client);
		if (out.len == 0)
			break;
		/* In two pieces, as a kernel might. */
		size_t n = out.len > 1 ? out.len / 2 : 1;
		memcpy(text + len, out.data, n);
		len += n;
		client_sent(&client, n, now_ms);
	}
	text[len] = '\0';
	return text;
}

static void input(const char *text)
{
	size_t len = strlen(text);
	while (len > 0) {
		size_t room;
		char *space = client_space(&client, &room);
		ck_assert_ptr_nonnull(space);
		size_t n = len < room ? len : room;
		memcpy(space, text, n);
		client_received(&client, n);
		text += n;
		len -= n;
	}
}

static void greet(void)
{
	ck_assert_str_eq(output(0), "HELLO proto=1 client=test/1\n");
	input(HELLO_OK);
	ck_assert_int_eq(client_next(&client).kind, CLIENT_NOTHING);
	ck_assert(client.greeted);
}

START_TEST(hello_goes_first_and_alone)
{
	struct call call;
	ask(&call, "CLAIM k token=0123456789abcdef");
	ck_assert_str_eq(output(1), "HELLO proto=1 client=test/1\n");
	ck_assert_str_eq(output(2), "");
	input(HELLO_OK);
	ck_assert_int_eq(client_next(&client).kind, CLIENT_NOTHING);
	ck_assert_int_eq(client.max_body, 1000);
	ck_assert_str_eq(output(3), "CLAIM k token=0123456789abcdef\n");
	ck_assert_int_eq(call.sent_ms, 3);
	call_release(&call);
}
END_TEST

START_TEST(a_greeting_before_hello_is_none)
{
	struct call call;
	ask(&call, "CLAIM k token=0123456789abcdef");
	input(HELLO_OK);
	ck_assert_int_eq(client_next(&client).kind, CLIENT_BROKEN);
	client_lost(&client);
	ck_assert_str_eq(output(1), "HELLO proto=1 client=test/1\n");
	call_release(&call);
}
END_TEST

START_TEST(nothing_is_asked_after_a_refused_hello)
{
	struct call call;
	ask(&call, "PING");
	output(1);
	input("ERR denied retry=no msg=no\n");
	ck_assert_int_eq(client_next(&client).kind, CLIENT_BROKEN);
	ck_assert_int_eq(client.refused, ERR_DENIED);
	client_lost(&client);
	output(1);
	input("ERR starting retry=safe msg=wait\n");
	client.refused = ERR_NONE;
	ck_assert_int_eq(client_next(&client).kind, CLIENT_BROKEN);
	ck_assert_int_eq(client.refused, ERR_NONE);
	ck_assert_str_eq(output(2), "");
	call_release(&call);
}
END_TEST

START_TEST(answers_find_their_questions)
{
	struct call one, two;
	greet();
	ask(&one, "STATUS a");
	ask(&two, "LIST");
	ck_assert_str_eq(output(1), "STATUS a\nLIST\n");
	/* One octet at a time. */
	const char *text = "STATUS state=done body=3\na\nb\n* LOST key=a\nITEM key=a\nITEM key=b\nEND count=2\n";
	struct client_event events[5];
	size_t count = 0;
	for (; *text; text++) {
		input((char[]){*text, '\0'});
		struct client_event event = client_next(&client);
		if (event.kind != CLIENT_NOTHING) {
			ck_assert_uint_lt(count, 5);
			events[count++] = event;
			if (count == 1)
				ck_assert(slice_equal(event.reply->body, SLICE_OF("a\nb")));
		}
	}
	ck_assert_uint_eq(count, 5);
	ck_assert(events[0].kind == CLIENT_REPLY && events[0].call == &one && events[0].last);
	ck_assert_int_eq(events[1].kind, CLIENT_EVENT);
	ck_assert(events[2].kind == CLIENT_REPLY && events[2].call == &two && !events[2].last);
	ck_assert(events[3].kind == CLIENT_REPLY && events[3].call == &two && !events[3].last);
	ck_assert(events[4].kind == CLIENT_REPLY && events[4].call == &two && events[4].last);
	ck_assert(client_idle(&client));
	call_release(&one);
	call_release(&two);
}
END_TEST

/* What may be asked twice: the line, and whether it may. */
static const struct {
	const char *line;
	bool repeats;
} repeats[] = {
    {"CLAIM k token=0123456789abcdef", true},
    {"claim k token=0123456789abcdef", true},
    {"CLAIM k lease=1s", false},
    {"CLAIM token%3D", false},
    {"CLAIM k owner=token", false},
    {"RENEW k fence=1 lease=1s", true},
    {"COMPLETE k fence=1", true},
    {"FAIL k fence=1", true},
    {"RELEASE k fence=1", true},
    {"DOUBT k fence=1", true},
    {"CHECK k fence=1", true},
    {"STATUS k", true},
    {"FORGET k", false},
    {"RESOLVE k as=done", false},
    {"SWEEP", true},
    {"PING", true},
    {"NEWVERB k", false},
    {"QUIT", false},
};

START_TEST(what_is_repeated_after_a_cut)
{
	struct call call;
	greet();
	ask(&call, repeats[_i].line);
	output(1);
	client_lost(&client);
	struct client_event event = client_next(&client);
	if (repeats[_i].repeats) {
		ck_assert_int_eq(event.kind, CLIENT_NOTHING);
		greet();
		ck_assert_int_eq(strncmp(output(2), repeats[_i].line, strlen(repeats[_i].line)), 0);
		ck_assert_int_eq(call.sent_ms, 2);
	} else {
		ck_assert(event.kind == CLIENT_CUT && event.call == &call);
		ck_assert(client_idle(&client));
	}
	ck_assert(call.tried);
	call_release(&call);
}
END_TEST

START_TEST(what_was_never_sent_is_always_asked)
{
	struct call call;
	ask(&call, "FORGET k");
	output(1);
	client_lost(&client);
	ck_assert_int_eq(client_next(&client).kind, CLIENT_NOTHING);
	ck_assert(!call.tried);
	greet();
	ck_assert_str_eq(output(2), "FORGET k\n");
	call_release(&call);
}
END_TEST

START_TEST(half_an_answer_is_none)
{
	struct call call;
	greet();
	ask(&call, "CLAIM k token=0123456789abcdef");
	output(1);
	input("WON fence=7 lease_ms=1");
	ck_assert_int_eq(client_next(&client).kind, CLIENT_NOTHING);
	client_lost(&client);
	greet();
	ck_assert_str_eq(output(2), "CLAIM k token=0123456789abcdef\n");
	input("HELD fence=7 left_ms=5\n");
	struct client_event event = client_next(&client);
	ck_assert_int_eq(event.reply->code, WORD_HELD);
	call_release(&call);
}
END_TEST

START_TEST(a_list_is_not_begun_twice)
{
	struct call call;
	greet();
	ask(&call, "LIST");
	output(1);
	input("ITEM key=a\n");
	ck_assert_int_eq(client_next(&client).kind, CLIENT_REPLY);
	client_lost(&client);
	ck_assert_int_eq(client_next(&client).kind, CLIENT_CUT);
	call_release(&call);
}
END_TEST

START_TEST(nonsense_ends_the_connection)
{
	static const char *const lines[] = {"OK unasked=1\n", "OK a=%zz\n", "OK body=x\n", "OK body=99999999\n"};
	greet();
	input(lines[_i]);
	ck_assert_int_eq(client_next(&client).kind, CLIENT_BROKEN);
	ck_assert(client.why.text[0]);
}
END_TEST

START_TEST(a_forgotten_question)
{
	struct call one, two, gone, next;
	greet();
	ask(&one, "PING");
	ask(&two, "PING");
	ck_assert(!client_forget(&client, &two));
	output(1);
	ck_assert(client_forget(&client, &one));
	ck_assert(client_idle(&client));
	client_lost(&client);
	greet();
	/* The next one to go out, before it went. */
	ask(&gone, "PING");
	ask(&next, "QUIT");
	ck_assert(!client_forget(&client, &gone));
	call_release(&gone);
	ck_assert_str_eq(output(1), "QUIT\n");
	call_release(&next);
	call_release(&one);
	call_release(&two);
}
END_TEST

/* ---- the blocking calls ---- */

static struct play peer;
static claim_conn *conn;

static void sync_setup(void)
{
	play_init(&peer);
	ck_assert_int_eq(claim_open(&conn, peer.path, NULL, 10000), CLAIM_OK);
}

static void sync_teardown(void)
{
	claim_close(conn);
	play_end(&peer);
}

static void serve(const char *const *script)
{
	play_start(&peer, script);
}

START_TEST(a_life)
{
	static const char *const script[] = {
	    "|",
	    "<CLAIM orders%20%3D lease=5000ms ttl=never fp=f owner=me lapse=unknown token=0123456789abcdef",
	    ">WON fence=1764540021000123 lease_ms=5000 attempts=1 was=new\n",
	    "<RENEW orders%20%3D fence=1764540021000123 token=0123456789abcdef lease=6000ms",
	    ">OK state=claimed fence=1764540021000123 left_ms=6000\n",
	    "<CHECK orders%20%3D fence=1764540021000123 token=0123456789abcdef",
	    ">STALE fence=9 state=claimed\n",
	    "<COMPLETE orders%20%3D fence=1764540021000123 token=0123456789abcdef body=0",
	    "<",
	    ">OK state=done fence=1764540021000123 ttl_ms=never kept=0\n",
	    "<FAIL orders%20%3D fence=1764540021000123",
	    ">STALE state=done\n",
	    "<RELEASE orders%20%3D fence=1764540021000123",
	    ">OK state=done\n",
	    "<DOUBT orders%20%3D fence=1764540021000123",
	    ">ERR store retry=safe after_ms=5 msg=disk%20full\n",
	    ".",
	    NULL};
	struct claim_options options = CLAIM_OPTIONS_INIT;
	claim_grant *grant;
	size_t len;
	serve(script);
	options.lease_ms = 5000;
	options.ttl_ms = CLAIM_NEVER;
	options.token = "0123456789abcdef";
	options.fp = "f";
	options.owner = "me";
	options.lapse_unknown = 1;
	ck_assert_int_eq(claim_acquire(conn, "orders =", 8, &options, &grant), CLAIM_WON);
	ck_assert_int_eq(claim_grant_fence(grant), INT64_C(1764540021000123));
	ck_assert_str_eq(claim_grant_token(grant), options.token);
	ck_assert_str_eq(claim_field(conn, "was", &len), "new");
	ck_assert_str_eq(claim_word(conn), "WON");
	ck_assert_int_eq(claim_renew(conn, grant, 6000), CLAIM_OK);
	ck_assert_int_eq(claim_number(conn, "left_ms", 0), 6000);
	ck_assert_int_eq(claim_check(conn, grant), CLAIM_STALE);
	ck_assert_int_eq(claim_complete(conn, grant, "", 0), CLAIM_OK);
	ck_assert_int_eq(claim_number(conn, "kept", 1), 0);
	ck_assert_int_eq(claim_number(conn, "ttl_ms", 1), CLAIM_NEVER);
	ck_assert_ptr_null(claim_body(conn, &len));
	ck_assert_int_eq(claim_fail(conn, grant, NULL, 0), CLAIM_STALE);
	ck_assert_int_eq(claim_release(conn, grant), CLAIM_OK);
	ck_assert_int_eq(claim_doubt(conn, grant), CLAIM_E_REFUSED);
	ck_assert_str_eq(claim_detail(conn), "store: disk full");
	claim_grant_free(grant);
}
END_TEST

START_TEST(answers_of_a_settled_key)
{
	static const char *const script[] = {"|",
					     "<CLAIM k token=",
					     ">DONE fence=7 age_ms=1 later owner=%20%00 body=3\na\nb\n",
					     "<CLAIM k token=",
					     ">ERR store retry=safe after_ms=5 msg=disk%20full\n",
					     "<CLAIM k token=",
					     ">WONDERFUL fence=7\n",
					     "<CLAIM k token=",
					     ">WON was=new\n",
					     ".",
					     NULL};
	claim_grant *grant = NULL;
	size_t len;
	serve(script);
	ck_assert_int_eq(claim_acquire(conn, "k", 1, NULL, &grant), CLAIM_DONE);
	ck_assert_int_eq(memcmp(claim_body(conn, &len), "a\nb", 4), 0);
	ck_assert_uint_eq(len, 3);
	ck_assert_int_eq(memcmp(claim_field(conn, "owner", &len), " \0", 3), 0);
	ck_assert_uint_eq(len, 2);
	ck_assert_str_eq(claim_field(conn, "later", &len), "1");
	ck_assert_uint_eq(len, 1);
	ck_assert_int_eq(claim_acquire(conn, "k", 1, NULL, &grant), CLAIM_E_REFUSED);
	ck_assert_str_eq(claim_detail(conn), "store: disk full");
	ck_assert_str_eq(claim_field(conn, "code", NULL), "store");
	ck_assert_int_eq(claim_acquire(conn, "k", 1, NULL, &grant), CLAIM_OTHER);
	ck_assert_int_eq(claim_acquire(conn, "k", 1, NULL, &grant), CLAIM_E_PROTOCOL);
	ck_assert_ptr_null(grant);
}
END_TEST

START_TEST(the_same_token_after_a_cut)
{
	static const char *const script[] = {"|",
					     "<CLAIM k token=0123456789abcdef",
					     "|",
					     "<CLAIM k token=0123456789abcdef",
					     ">WON fence=7 lease_ms=1 attempts=1 was=own\n",
					     "<RELEASE k fence=7 token=0123456789abcdef",
					     "|",
					     "<RELEASE k fence=7 token=0123456789abcdef",
					     ">OK state=free fence=8\n",
					     "<FORGET k",
					     "|",
					     "<PING",
					     ">OK\n",
					     ".",
					     NULL};
	struct claim_options options = CLAIM_OPTIONS_INIT;
	claim_grant *grant;
	serve(script);
	options.token = "0123456789abcdef";
	ck_assert_int_eq(claim_acquire(conn, "k", 1, &options, &grant), CLAIM_WON);
	ck_assert_int_eq(claim_release(conn, grant), CLAIM_OK);
	ck_assert_int_eq(claim_call(conn, "FORGET k", 8, NULL, 0), CLAIM_E_UNCERTAIN);
	ck_assert_int_eq(claim_call(conn, "PING", 4, NULL, 0), CLAIM_OK);
	claim_grant_free(grant);
}
END_TEST

START_TEST(a_list)
{
	static const char *const script[] = {
	    "|",     "<LIST",         ">ITEM key=a\nITEM key=b\nEND count=2 cursor=c\n",
	    "<LIST", ">ITEM key=a\n", "|",
	    "<PING", ">OK\n",         ".",
	    NULL};
	serve(script);
	ck_assert_int_eq(claim_call(conn, "LIST", 4, NULL, 0), CLAIM_ITEM);
	ck_assert_str_eq(claim_field(conn, "key", NULL), "a");
	ck_assert_int_eq(claim_next(conn), CLAIM_ITEM);
	ck_assert_str_eq(claim_field(conn, "key", NULL), "b");
	ck_assert_int_eq(claim_next(conn), CLAIM_END);
	ck_assert_str_eq(claim_field(conn, "cursor", NULL), "c");
	ck_assert_int_eq(claim_next(conn), CLAIM_END);
	/* A list that is left in the middle: the rest of it is not taken for the next answer. */
	ck_assert_int_eq(claim_call(conn, "LIST", 4, NULL, 0), CLAIM_ITEM);
	ck_assert_int_eq(claim_call(conn, "PING", 4, NULL, 0), CLAIM_OK);
}
END_TEST

START_TEST(no_answer_in_time)
{
	static const char *const script[] = {"|", "<COMPLETE k", ".", "|", "<PING", ">OK\n", ".", NULL};
	claim_conn *hasty;
	serve(script);
	ck_assert_int_eq(claim_open(&hasty, peer.path, NULL, 200), CLAIM_OK);
	ck_assert_int_eq(claim_call(hasty, "COMPLETE k fence=1", 18, NULL, 0), CLAIM_E_UNCERTAIN);
	claim_close(hasty);
	/* And on a connection that lives on: what is asked next has a new one, where no late answer can come. */
	ck_assert_int_eq(claim_call(conn, "PING", 4, NULL, 0), CLAIM_OK);
}
END_TEST

START_TEST(nobody_there)
{
	claim_grant *grant = NULL;
	ck_assert_int_eq(claim_acquire(conn, "k", 1, NULL, &grant), CLAIM_E_UNREACHABLE);
	ck_assert_ptr_nonnull(strstr(claim_detail(conn), "No such file"));
	ck_assert_ptr_null(grant);
}
END_TEST

START_TEST(what_is_refused_here)
{
	struct claim_options options = CLAIM_OPTIONS_INIT;
	claim_grant *grant = NULL;
	char key[1025] = {0}, longest[9000];
	claim_conn *none = NULL;
	memset(longest, 'x', sizeof(longest));
	ck_assert_int_eq(claim_acquire(conn, "", 0, NULL, &grant), CLAIM_E_INVAL);
	ck_assert_int_eq(claim_acquire(conn, key, sizeof(key), NULL, &grant), CLAIM_E_INVAL);
	options.token = "short";
	ck_assert_int_eq(claim_acquire(conn, "k", 1, &options, &grant), CLAIM_E_INVAL);
	options.token = NULL;
	options.fp = "";
	ck_assert_int_eq(claim_acquire(conn, "k", 1, &options, &grant), CLAIM_E_INVAL);
	ck_assert_int_eq(claim_call(conn, longest, 8193, NULL, 0), CLAIM_E_INVAL);
	ck_assert_int_eq(claim_call(conn, "PING\nPING", 9, NULL, 0), CLAIM_E_INVAL);
	ck_assert_int_eq(claim_call(conn, "", 0, NULL, 0), CLAIM_E_INVAL);
	longest[108] = '\0';
	ck_assert_int_eq(claim_open(&none, longest, NULL, 10), CLAIM_E_INVAL);
	ck_assert_int_eq(claim_open(&none, peer.path, "", 10), CLAIM_E_INVAL);
	ck_assert_int_eq(claim_open(&none, peer.path, NULL, 0), CLAIM_E_INVAL);
	ck_assert_ptr_null(none);
	for (int code = CLAIM_E_FORKED; code <= CLAIM_EVENT; code++)
		ck_assert_str_ne(claim_strerror(code), "an unknown code");
	ck_assert_str_eq(claim_strerror(CLAIM_E_FORKED - 1), "an unknown code");
	ck_assert_str_eq(claim_strerror(CLAIM_EVENT + 1), "an unknown code");
}
END_TEST

START_TEST(the_child_of_a_fork)
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(claim_call(conn, "PING", 4, NULL, 0) == CLAIM_E_FORKED ? 0 : 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* Each allocation fails in turn: a code comes back, nothing is leaked or lost. */
START_TEST(no_memory)
{
	static const char *const script[] = {"|", "<CLAIM k", ">DONE fence=7 age_ms=1 body=3\na\nb\n", ".", NULL};
	for (size_t nth = 1;; nth++) {
		claim_conn *poor = NULL;
		claim_grant *grant = NULL;
		int code;
		serve(script);
		mem_fail_at(nth, 0);
		code = claim_open(&poor, peer.path, NULL, 2000);
		if (code == CLAIM_OK)
			code = claim_acquire(poor, "k", 1, NULL, &grant);
		claim_close(poor);
		size_t made = mem_fail_at(0, 0);
		play_kill(&peer);
		/* A buffer that could not be had is tried again with the next connection. */
		ck_assert(code == CLAIM_E_NOMEM || code == CLAIM_DONE || code == CLAIM_E_UNCERTAIN ||
			  code == CLAIM_E_UNREACHABLE);
		if (made < nth) {
			ck_assert_int_eq(code, CLAIM_DONE);
			ck_assert_uint_gt(nth, 3);
			break;
		}
	}
}
END_TEST

static TCase *core_case(void)
{
	TCase *tcase = tcase_create("core");
	tcase_add_checked_fixture(tcase, core_setup, core_teardown);
	tcase_add_test(tcase, hello_goes_first_and_alone);
	tcase_add_test(tcase, a_greeting_before_hello_is_none);
	tcase_add_test(tcase, nothing_is_asked_after_a_refused_hello);
	tcase_add_test(tcase, answers_find_their_questions);
	tcase_add_loop_test(tcase, what_is_repeated_after_a_cut, 0, (int)(sizeof(repeats) / sizeof(repeats[0])));
	tcase_add_test(tcase, what_was_never_sent_is_always_asked);
	tcase_add_test(tcase, half_an_answer_is_none);
	tcase_add_test(tcase, a_list_is_not_begun_twice);
	tcase_add_loop_test(tcase, nonsense_ends_the_connection, 0, 4);
	tcase_add_test(tcase, a_forgotten_question);
	return tcase;
}

static TCase *sync_case(void)
{
	TCase *tcase = tcase_create("sync");
	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, sync_setup, sync_teardown);
	tcase_add_test(tcase, a_life);
	tcase_add_test(tcase, answers_of_a_settled_key);
	tcase_add_test(tcase, the_same_token_after_a_cut);
	tcase_add_test(tcase, a_list);
	tcase_add_test(tcase, no_answer_in_time);
	tcase_add_test(tcase, nobody_there);
	tcase_add_test(tcase, what_is_refused_here);
	tcase_add_test(tcase, the_child_of_a_fork);
	tcase_add_test(tcase, no_memory);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("client");
	suite_add_tcase(suite, core_case());
	suite_add_tcase(suite, sync_case());
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
