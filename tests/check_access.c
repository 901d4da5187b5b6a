/* check_access.c - who may enter, who is an operator, whose a namespace is, and how the settings for it read. */
#include <check.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../proto/mem.h"
#include "../server/access.h"

#define OWN 500

static struct access access_;
static struct errbuf err;

static void given(struct access_settings settings)
{
	ck_assert_msg(access_init(&access_, &settings, OWN, &err), "%s", err.text);
}

static void teardown(void)
{
	access_release(&access_);
}

static bool enters(int64_t uid, int64_t gid, gid_t group)
{
	struct peer peer = {1, uid, gid, &group, 1};

	return access_enter(&access_, &peer);
}

START_TEST(without_a_list_everybody_may_enter)
{
	given((struct access_settings){0});
	ck_assert(enters(1, 1, 1));
	ck_assert(enters(-1, -1, 1));
}
END_TEST

START_TEST(a_list_of_users_lets_in_those_and_operators)
{
	given((struct access_settings){.allow_uid = "7,root,9"});
	ck_assert(enters(7, 1, 1));
	ck_assert(enters(9, 1, 1));
	ck_assert(!enters(8, 7, 7));
	ck_assert(!enters(-1, -1, 1));
	ck_assert(enters(OWN, 1, 1));
	ck_assert(enters(0, 1, 1));
}
END_TEST

START_TEST(a_list_of_groups_lets_in_members)
{
	given((struct access_settings){.allow_gid = "7"});
	ck_assert(enters(1, 7, 1));
	ck_assert(enters(1, 1, 7));
	ck_assert(!enters(7, 1, 1));
}
END_TEST

START_TEST(both_lists_let_in_either)
{
	given((struct access_settings){.allow_gid = "7", .allow_uid = "8"});
	ck_assert(enters(8, 1, 1));
	ck_assert(enters(1, 7, 1));
	ck_assert(!enters(1, 1, 1));
}
END_TEST

START_TEST(operators_are_root_and_its_own_user)
{
	given((struct access_settings){0});
	ck_assert(access_operator(&access_, 0));
	ck_assert(access_operator(&access_, OWN));
	ck_assert(!access_operator(&access_, 7));
	ck_assert(!access_operator(&access_, -1));
}
END_TEST

START_TEST(or_those_who_are_named)
{
	given((struct access_settings){.operator_uid = "7", .allow_uid = "8"});
	ck_assert(access_operator(&access_, 7));
	ck_assert(!access_operator(&access_, 0));
	ck_assert(!access_operator(&access_, OWN));
	ck_assert(enters(7, 1, 1));
	ck_assert(!enters(0, 1, 1));
}
END_TEST

START_TEST(a_namespace_is_for_its_users)
{
	struct slice billing = slice_from("billing"), other = slice_from("other");

	given((struct access_settings){.namespace_uid = " billing:7,8  shop:9"});
	ck_assert(access_namespace(&access_, 7, billing));
	ck_assert(access_namespace(&access_, 8, billing));
	ck_assert(!access_namespace(&access_, 9, billing));
	ck_assert(access_namespace(&access_, 9, slice_from("shop")));
	ck_assert(access_namespace(&access_, 9, other));
	ck_assert(!access_namespace(&access_, 9, SLICE_ABSENT));
	ck_assert(access_namespace(&access_, 0, billing));
	ck_assert(access_namespace(&access_, 0, SLICE_ABSENT));
}
END_TEST

START_TEST(a_namespace_may_have_two_rules)
{
	given((struct access_settings){.namespace_uid = "billing:7 shop:9 billing:8"});
	ck_assert(access_namespace(&access_, 7, slice_from("billing")));
	ck_assert(access_namespace(&access_, 8, slice_from("billing")));
	ck_assert(!access_namespace(&access_, 9, slice_from("billing")));
}
END_TEST

START_TEST(without_rules_a_namespace_is_everybody_s)
{
	given((struct access_settings){0});
	ck_assert(access_namespace(&access_, 9, SLICE_ABSENT));
	ck_assert(access_namespace(&access_, 9, slice_from("billing")));
}
END_TEST

START_TEST(what_is_wrong_is_refused)
{
	static const struct {
		struct access_settings settings;
		const char *says;
	} row[] = {
	    {{.allow_uid = "no-such-user-here"}, "there is no user \"no-such-user-here\""},
	    {{.allow_gid = "no-such-group-here"}, "there is no group \"no-such-group-here\""},
	    {{.allow_uid = "1,,2"}, "there is no user \"\""},
	    {{.allow_uid = ",1"}, "there is no user \"\""},
	    {{.operator_uid = "4294967295"}, "there is no user \"4294967295\""}, /* the uid that means none */
	    {{.operator_uid = "1 2"}, "there is no user \"1 2\""},
	    {{.namespace_uid = "billing"}, "write a namespace"},
	    {{.namespace_uid = "billing:"}, "write a namespace"},
	    {{.namespace_uid = ":7"}, "write a namespace"},
	    {{.namespace_uid = "a:1 b:no-such-user-here"}, "there is no user"},
	};
	const int i = _i;

	ck_assert(!access_init(&access_, &row[i].settings, OWN, &err));
	ck_assert_msg(strncmp(err.text, row[i].says, strlen(row[i].says)) == 0, "%s", err.text);
}
END_TEST

START_TEST(without_memory_it_is_refused)
{
	struct access_settings settings = {.allow_uid = "1", .namespace_uid = "a:1 b:2"};

	for (size_t at = 1; at <= 4; at++) {
		mem_fail_at(at, 1);
		ck_assert(!access_init(&access_, &settings, OWN, &err));
		mem_fail_at(0, 0);
		ck_assert_str_eq(err.text, "out of memory");
	}
}
END_TEST

/* The kernel knows the groups of whoever made the socket: here this process. */
START_TEST(the_kernel_says_who_it_is)
{
	gid_t groups[64];
	int fd[2], count = getgroups(64, groups);
	int64_t pid, uid;
	char list[32];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	given((struct access_settings){0});
	ck_assert(access_admit(&access_, fd[0], &pid, &uid));
	ck_assert_int_eq(pid, getpid());
	ck_assert_int_eq(uid, (int64_t)getuid());
	access_release(&access_);
	/* As nobody knows it: neither root nor its own user. */
	given((struct access_settings){.allow_gid = "4294967290", .operator_uid = "4294967290"});
	ck_assert(!access_admit(&access_, fd[0], &pid, &uid));
	for (int i = 0; i < count; i++) {
		access_release(&access_);
		snprintf(list, sizeof list, "%u", groups[i]);
		given((struct access_settings){.allow_gid = list, .operator_uid = "4294967290"});
		ck_assert(access_admit(&access_, fd[0], &pid, &uid));
	}
	close(fd[0]);
	close(fd[1]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("access");
	TCase *tests = tcase_create("access");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tests, NULL, teardown);
	tcase_add_test(tests, without_a_list_everybody_may_enter);
	tcase_add_test(tests, a_list_of_users_lets_in_those_and_operators);
	tcase_add_test(tests, a_list_of_groups_lets_in_members);
	tcase_add_test(tests, both_lists_let_in_either);
	tcase_add_test(tests, operators_are_root_and_its_own_user);
	tcase_add_test(tests, or_those_who_are_named);
	tcase_add_test(tests, a_namespace_is_for_its_users);
	tcase_add_test(tests, a_namespace_may_have_two_rules);
	tcase_add_test(tests, without_rules_a_namespace_is_everybody_s);
	tcase_add_loop_test(tests, what_is_wrong_is_refused, 0, 10);
	tcase_add_test(tests, without_memory_it_is_refused);
	tcase_add_test(tests, the_kernel_says_who_it_is);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
