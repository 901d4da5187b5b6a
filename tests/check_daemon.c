/*
 * check_daemon.c - the daemon as a process: a key's life over the wire, namespaces, tags, restart, and what the log shows of it.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
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

/* "VERB key fence=N rest" */
static const char *ask_fence(int fd, const char *verb_key, long long fence, const char *rest)
{
	return wire_ask(fd, with(verb_key, fence, rest));
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
	starts(ask("CLAIM k"), "WON");
	starts(ask("HELLO ns=other"), "ERR denied");
	spawn_stop(&daemon_, SIGKILL);
	spawn_start(&daemon_, on_sqlite);
	starts(ask("STATUS shop:k"), "STATUS");
}
END_TEST

START_TEST(counts_are_of_ones_own_namespace)
{
	static const char *const args[] = {"--store", "sqlite:@/db", "--namespace", "a", NULL};
	int fd;

	spawn_start(&daemon_, on_sqlite);
	fd = dial();
	starts(wire_ask(fd, "CLAIM a:k"), "WON");
	starts(wire_ask(fd, "CLAIM b:k"), "WON");
	starts(wire_ask(fd, "CLAIM b:l"), "WON");
	close(fd);
	spawn_stop(&daemon_, SIGKILL);
	spawn_start(&daemon_, on_sqlite);
	becomes("STATUS", " live=3 ");
	fd = dial();
	starts(wire_ask(fd, "HELLO ns=a"), "OK");
	ck_assert_ptr_null(strstr(wire_ask(fd, "STATUS"), "live=3"));
	close(fd);
	spawn_stop(&daemon_, SIGKILL);
	spawn_start(&daemon_, args);
	becomes("STATUS", "counts_age_ms=");
	has(ask("STATUS"), " live=1 ");
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
	before = wire_number(ask("CLAIM k"), "fence");
	spawn_stop(&daemon_, SIGKILL);
	spawn_start(&daemon_, in_memory);
	after = wire_number(ask("CLAIM k"), "fence");
	ck_assert_int_gt(after, before);
}
END_TEST

/* ---- the log ---- */

START_TEST(the_log_tells_a_refusal_from_a_settlement)
{
	spawn_start(&daemon_, in_memory);
	starts(ask("CLAIM k"), "WON");
	starts(ask("RESOLVE k as=done"), "HELD");
	ck_assert(file_holds(daemon_.log, "a settlement by hand was not done"));
	ck_assert(!file_holds(daemon_.log, "a record was settled by hand"));
	starts(ask("RESOLVE k as=done force"), "OK");
	ck_assert(file_holds(daemon_.log, "a record was settled by hand"));
	starts(ask("FORGET k"), "OK deleted=1");
	ck_assert(file_holds(daemon_.log, "a record was deleted by hand"));
}
END_TEST

START_TEST(keys_are_hashed_in_the_log)
{
	spawn_start(&daemon_, in_memory);
	starts(ask("CLAIM alice@example.org"), "WON");
	starts(ask("RESOLVE alice@example.org as=done force reason=support%20ticket"), "OK");
	ck_assert(file_holds(daemon_.log, "resolve"));
	ck_assert(file_holds(daemon_.log, "support ticket"));
	ck_assert(!file_holds(daemon_.log, "alice"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon");
	TCase *tests = tcase_create("daemon");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_key_lives_in_memory);
	tcase_add_test(tests, a_key_lives_on_sqlite);
	tcase_add_test(tests, tags_may_overtake);
	tcase_add_test(tests, namespaces_are_apart);
	tcase_add_test(tests, the_daemon_may_have_a_namespace);
	tcase_add_test(tests, counts_are_of_ones_own_namespace);
	tcase_add_test(tests, defaults_are_settings);
	tcase_add_test(tests, kill_9_forgets_nothing);
	tcase_add_test(tests, fences_never_come_back);
	tcase_add_test(tests, the_log_tells_a_refusal_from_a_settlement);
	tcase_add_test(tests, keys_are_hashed_in_the_log);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
