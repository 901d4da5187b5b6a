/* check_address.c - what is read as an address, what is refused, and which addresses other hosts reach. */
#include "../server/address.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

START_TEST(numbers)
{
	static const struct {
		const char *text;
		bool local;
	} good[] = {
	    {"127.0.0.1:9464", true},    {"127.1.2.3:0", true},
	    {"0.0.0.0:65535", false},    {"192.0.2.7:80", false},
	    {"[::1]:9464", true},        {"[::]:1", false},
	    {"[2001:db8::7]:80", false}, {"[::ffff:127.0.0.1]:9", false}, /* not of the loopback to IPv6 */
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct address address;
		struct errbuf err;
		char shown[ADDRESS_MAX_TEXT];

		ck_assert_msg(address_parse(&address, good[i].text, &err), "%s: %s", good[i].text, err.text);
		ck_assert_uint_gt(address.len, 0);
		ck_assert_msg(address.local == good[i].local, "%s", good[i].text);
		address_show(&address, shown);
		ck_assert_str_eq(shown, good[i].text);
	}
}
END_TEST

START_TEST(paths)
{
	struct address address;
	struct errbuf err;
	char path[200] = "/";

	ck_assert(address_parse(&address, "./admin.sock", &err) && address.len == 0 && address.local);
	memset(path + 1, 'x', sizeof(path) - 2);
	path[103] = '\0';
	ck_assert(address_parse(&address, path, &err));
	path[103] = 'x';
	path[104] = '\0';
	ck_assert(!address_parse(&address, path, &err));
	ck_assert_ptr_nonnull(strstr(err.text, "at most 103"));
}
END_TEST

START_TEST(refused)
{
	static const char *const bad[] = {"",
					  "9464",
					  ":9464",
					  "localhost:9464",
					  "127.0.0.1",
					  "127.0.0.1:",
					  "127.0.0.1:65536",
					  "127.0.0.1:999999",
					  "127.0.0.1:-1",
					  "127.0.0.1: 1",
					  "127.0.0.1:0x10",
					  "127.0.1:1",
					  "256.0.0.1:1",
					  "::1:9464",
					  "[::1]9464",
					  "[::1:9464",
					  "[]:1",
					  "[:1",
					  "[127.0.0.1]:1",
					  "admin.sock",
					  "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:1"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct address address;
		struct errbuf err;

		ck_assert_msg(!address_parse(&address, bad[i], &err), "%s", bad[i]);
		ck_assert_ptr_nonnull(strstr(err.text, "127.0.0.1:9464"));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("address");
	TCase *tc = tcase_create("address");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, numbers);
	tcase_add_test(tc, paths);
	tcase_add_test(tc, refused);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
