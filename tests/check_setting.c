/*
 * check_setting.c - what each setting may be, at its limits and beyond, and what is said of settings: print, help, warnings.
 */
#include "settings.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "../server/setting.h"

/* ---- values ---- */

static const struct {
	const char *flag;
	size_t at;
	uint64_t want;
	size_t size;
} good_values[] = {
#define GOOD(flag, field, want)                                                                \
	{                                                                                      \
		flag, offsetof(struct conf, field), want, sizeof(((struct conf *)NULL)->field) \
	}
    GOOD("--socket-mode=0", socket_mode, 0),
    GOOD("--socket-mode=777", socket_mode, 0777),
    GOOD("--socket-mode=00000600", socket_mode, 0600),
    GOOD("--lease=1ms", lease_ms, 1),
    GOOD("--lease=365d", lease_ms, PROTO_MAX_LEASE_MS),
    GOOD("--ttl=1ms", ttl_ms, 1),
    GOOD("--ttl=never", ttl_ms, PROTO_NEVER),
    GOOD("--ttl=3650d", ttl_ms, UINT64_C(3650) * 24 * 3600 * 1000),
    GOOD("--max-body=1", max_body, 1),
    GOOD("--max-body=2k", max_body, 2048),
    GOOD("--max-body=16M", max_body, 16777216),
    GOOD("--max-body=16777216", max_body, 16777216),
    GOOD("--done-cache=0", done_cache, 0),
    GOOD("--done-cache=1024M", done_cache, 1 << 30),
    GOOD("--max-connections=1", max_connections, 1),
    GOOD("--max-connections=1000000", max_connections, 1000000),
    GOOD("--max-in-flight=7", max_in_flight, 7),
    GOOD("--request-timeout=5001ms", request_timeout_ms, 5001),
    GOOD("--store-timeout=9999ms", store_timeout_ms, 9999),
    GOOD("--drain-timeout=1ms", drain_timeout_ms, 1),
    GOOD("--ready-fd=3", ready_fd, 3),
    GOOD("--ready-fd=2147483647", ready_fd, INT32_MAX),
    GOOD("--store-result=no", store_result, 0),
    GOOD("--on-store-down=refuse", run_unguarded, 0),
    GOOD("--on-store-down=run-unguarded", run_unguarded, 1),
    GOOD("--store-result=yes", store_result, 1),
    GOOD("--log-format=auto", log_format, LOG_FORMAT_AUTO),
    GOOD("--log-format=text", log_format, LOG_FORMAT_TEXT),
    GOOD("--log-format=json", log_format, LOG_FORMAT_JSON),
    GOOD("--log-level=debug", log_level, LOG_LEVEL_DEBUG),
    GOOD("--log-level=info", log_level, LOG_LEVEL_INFO),
    GOOD("--log-level=warn", log_level, LOG_LEVEL_WARN),
    GOOD("--log-level=error", log_level, LOG_LEVEL_ERROR),
    GOOD("--log-keys=hash", log_keys, LOG_KEYS_HASH),
    GOOD("--log-keys=full", log_keys, LOG_KEYS_FULL),
    GOOD("--log-keys=none", log_keys, LOG_KEYS_NONE),
};

START_TEST(values_at_their_limits)
{
	uint64_t got = 0;

	settings_add(envp, "HOME=/");
	settings_add(args, good_values[_i].flag);
	expect_run();
	/* Numbers of this machine: the low octets first, or all of them. */
	if (good_values[_i].size == 1)
		got = *(unsigned char *)((char *)&conf + good_values[_i].at);
	else if (good_values[_i].size == 4)
		got = *(uint32_t *)(void *)((char *)&conf + good_values[_i].at);
	else
		got = *(uint64_t *)(void *)((char *)&conf + good_values[_i].at);
	ck_assert_uint_eq(got, good_values[_i].want);
}
END_TEST

static const char *const bad_values[][2] = {
    {"--socket-mode=1000", "at most 0777"},
    {"--socket-mode=rw", "octal digits"},
    {"--socket-mode=66666666666666666666660", "at most 0777"},
    {"--lease=30", "\"30\" is no time"},
    {"--lease=0s", "out of range: 1ms to 365d"},
    {"--lease=31536000001ms", "out of range"},
    {"--lease=never", "is no time"},
    {"--lease=-1s", "is no time"},
    {"--lease=1.5s", "is no time"},
    {"--lease=99999999999999999999s", "is no time"},
    {"--ttl=0s", "out of range: from 1ms"},
    {"--ttl=forever", "or never"},
    {"--max-body=0", "out of range: 1 to 16M"},
    {"--max-body=16777217", "out of range"},
    {"--max-body=17M", "out of range"},
    {"--max-body=16385k", "out of range"},
    {"--max-body=64K", "no size"},
    {"--done-cache=1025M", "out of range: 0 to 1024M"},
    {"--done-cache=-1", "no size"},
    {"--max-body=k", "no size"},
    {"--max-connections=0", "out of range: 1 to 1000000"},
    {"--max-connections=1000001", "out of range"},
    {"--max-connections=1k", "no whole number"},
    {"--max-in-flight=-1", "no whole number"},
    {"--store-result=true", "\"true\" is not no or yes"},
    {"--on-store-down=run", "\"run\" is not refuse or run-unguarded"},
    {"--socket-group=no-such-group-here", "there is no group \"no-such-group-here\""},
    {"--allow-uid=no-such-user-here", "there is no user \"no-such-user-here\""},
    {"--allow-gid=no-such-group-here", "there is no group \"no-such-group-here\""},
    {"--operator-uid=1,", "there is no user \"\""},
    {"--namespace-uid=billing", "write a namespace, a colon and its users"},
    {"--log-format=xml", "\"xml\" is not auto, text or json"},
    {"--log-level=INFO", "is not debug, info, warn or error"},
    {"--log-keys=plain", "is not hash, full or none"},
    {"--ready-fd=2", "no descriptor: a whole number from 3"},
    {"--ready-fd=2147483648", "no descriptor"},
    {"--ready-fd=x", "no descriptor"},
    {"--namespace=a:b", "no colon"},
    {"--store=/var/lib/x.sqlite", "no URL"},
    {"--store=:memory:", "no URL"},
    {"--admin=localhost:9464", "is no address: 127.0.0.1:9464"},
    {"--admin=:9464", "is no address"},
    {"--store-timeout=10s", "store_timeout (10s) must be shorter than request_timeout (10s)"},
    {"--request-timeout=5s", "store_timeout (5s) must be shorter than request_timeout (5s)"},
};

START_TEST(values_beyond)
{
	settings_add(envp, "HOME=/");
	settings_add(args, bad_values[_i][0]);
	expect_bad(bad_values[_i][1]);
}
END_TEST

START_TEST(lengths)
{
	char text[300] = "--socket=";

	settings_add(envp, "HOME=/");
	memset(text + strlen(text), 'x', 103);
	settings_add(args, text);
	expect_run();
	text[9 + 103] = 'x';
	expect_bad("a path of 104 octets; a socket's path has at most 103");
	memset(text, 0, sizeof(text));
	strcpy(text, "--namespace=");
	memset(text + strlen(text), 'x', 255);
	expect_run();
	text[12 + 255] = 'x';
	expect_bad("at most 255");
}
END_TEST

/* A wrong URL may be a right password. */
START_TEST(refusals_keep_secrets)
{
	settings_add(args, "--store=REDIS://user:hunter2@h");
	expect_bad("no URL");
	ck_assert_ptr_null(strstr(faults.at[0].text, "hunter2"));
}
END_TEST

/* ---- what is said ---- */

START_TEST(actions)
{
	static const struct {
		const char *one, *two;
		enum conf_action action;
	} list[] = {
	    {"--help", NULL, CONF_HELP},
	    {"-h", NULL, CONF_HELP},
	    {"--version", NULL, CONF_VERSION},
	    {"-V", NULL, CONF_VERSION},
	    {"--check-config", NULL, CONF_CHECK},
	    {"--print-config", NULL, CONF_PRINT},
	    {"--lease=2s", "--check-config", CONF_CHECK},
	};

	settings_add(envp, "HOME=/");
	settings_add(args, list[_i].one);
	if (list[_i].two)
		settings_add(args, list[_i].two);
	ck_assert_int_eq(settings_load(), list[_i].action);
}
END_TEST

START_TEST(redacting)
{
	static const char *const list[][2] = {
	    {"sqlite:/var/lib/claimd/claimd.sqlite", "sqlite:/var/lib/claimd/claimd.sqlite"},
	    {"redis://h:6379/0", "redis://h:6379/0"},
	    {"redis://u@h:6379/0", "redis://u@h:6379/0"},
	    {"redis://u:pw@h:6379/0", "redis://u:***@h:6379/0"},
	    {"redis://:pw@h", "redis://:***@h"},
	    {"redis://u:p@w/?:#x@h:1", "redis://u:***@h:1"},
	    {"redis://u:@h", "redis://u:***@h"},
	    {"postgres://h/db?user=u&password=pw&x=1", "postgres://h/db?user=u&password=***&x=1"},
	    {"postgres://h/db?Password=pw", "postgres://h/db?Password=***"},
	    {"postgres://h/db?sslpassword=pw password=b", "postgres://h/db?sslpassword=*** password=***"},
	    {"postgres://h/db?password=", "postgres://h/db?password=***"},
	};
	char longer[600];
	struct errbuf out;

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		conf_redact(list[i][0], &out);
		ck_assert_str_eq(out.text, list[i][1]);
	}
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	conf_redact(longer, &out);
	ck_assert_uint_eq(strlen(out.text), sizeof(out.text) - 1);
	memcpy(longer, "redis://u:", 10);
	memcpy(longer + 500, "@h", 2);
	conf_redact(longer, &out);
	ck_assert_ptr_nonnull(strstr(out.text, "redis://u:***@h"));
	ck_assert_ptr_null(strstr(out.text, "***a"));
}
END_TEST

static char *printed(void)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	ck_assert_ptr_nonnull(out);
	conf_print(&conf, out);
	fclose(out);
	return text;
}

/* What is printed, read as a file, makes the same settings and prints the same but for the sources. */
START_TEST(print_reads_back)
{
	char *text;
	static const char *const flags[] = {"--socket=/run/x",
					    "--socket-mode=600",
					    "--socket-group=staff",
					    "--store=memory:x",
					    "--namespace=ns",
					    "--log-format=json",
					    "--ttl=never",
					    "--store-result=no",
					    "--ready-fd=9",
					    "--max-body=2k",
					    "--max-connections=12",
					    "--admin=[::1]:1",
					    "--allow-uid=root,7",
					    "--allow-gid=7",
					    "--operator-uid=8",
					    "--namespace-uid=a:1,2 b:3",
					    "--on-store-down=run-unguarded"};
	struct conf first;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		settings_add(args, flags[i]);
	expect_run();
	first = conf;
	text = printed();
	settings_write(conf_path, text);
	memset(args + 1, 0, sizeof(args) - sizeof(args[0]));
	memset(&conf, 0, sizeof(conf));
	settings_add(args, "--config");
	settings_add(args, conf_path);
	expect_run();
	for (enum conf_id id = 0; id < CONF__COUNT; id++) {
		ck_assert_int_eq(conf.origin[id].source, CONF_FROM_FILE);
		ck_assert_str_eq(conf.origin[id].text, first.origin[id].text);
	}
	ck_assert_str_eq(conf.socket_group, "staff");
	ck_assert_int_eq(conf.ready_fd, 9);
	free(text);
	conf_release(&first);
}
END_TEST

START_TEST(print_says_where_from)
{
	char *text;
	char want[160];

	settings_write(conf_path, "\nttl = 1h\n");
	settings_add(args, "--config");
	settings_add(args, conf_path);
	settings_add(args, "--lease=2m");
	settings_add(envp, "CLAIMD_STORE=redis://u:hunter2@h");
	settings_add(envp, "CLAIMD_MAX_BODY=3k");
	expect_run();
	text = printed();
	snprintf(want, sizeof(want), "# %s:2\nttl = 1h\n", conf_path);
	ck_assert_ptr_nonnull(strstr(text, want));
	ck_assert_ptr_nonnull(strstr(text, "# --lease\nlease = 2m\n"));
	ck_assert_ptr_nonnull(strstr(text, "# CLAIMD_MAX_BODY\nmax_body = 3k\n"));
	ck_assert_ptr_nonnull(strstr(text, "# default\nstore_timeout = 5s\n"));
	ck_assert_ptr_nonnull(strstr(text, "# not set\n# namespace =\n"));
	ck_assert_ptr_nonnull(strstr(text, "# CLAIMD_STORE\nstore = redis://u:***@h\n"));
	ck_assert_ptr_null(strstr(text, "hunter2"));
	free(text);
}
END_TEST

START_TEST(print_of_a_secret_file)
{
	char *text;
	char want[160];

	settings_write(other_path, "redis://u:hunter2@h\n");
	settings_add(args, "--store-file");
	settings_add(args, other_path);
	expect_run();
	text = printed();
	snprintf(want, sizeof(want), "# --store-file\n# redis://u:***@h\nstore_file = %s\n", other_path);
	ck_assert_ptr_nonnull(strstr(text, want));
	ck_assert_ptr_null(strstr(text, "hunter2"));
	free(text);
}
END_TEST

START_TEST(help_has_everything)
{
	char *text = NULL, *line, *rest;
	char want[64];
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	conf_help(out);
	fclose(out);
	for (enum conf_id id = 0; id < CONF__COUNT; id++) {
		setting_name(setting_at(id)->name, false, SETTING_AS_FLAG, want);
		strcat(want, " ");
		ck_assert_msg(strstr(text, want) != NULL, "no %s in --help", want);
	}
	ck_assert_ptr_nonnull(strstr(text, "--store-file "));
	ck_assert_ptr_nonnull(strstr(text, "--config "));
	ck_assert_ptr_nonnull(strstr(text, "--check-config "));
	ck_assert_ptr_nonnull(strstr(text, "--print-config "));
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		ck_assert_msg(strlen(line) <= 80, "too wide: %s", line);
	free(text);
}
END_TEST

static char warnings[2000];

static void keep_warning(void *arg, const char *text)
{
	(*(int *)arg)++;
	strcat(strcat(warnings, text), "\n");
}

static int count_warnings(void)
{
	int count = 0;

	warnings[0] = 0;
	expect_run();
	conf_warnings(&conf, keep_warning, &count);
	return count;
}

START_TEST(warnings_of_times)
{
	settings_add(envp, "HOME=/");
	ck_assert_int_eq(count_warnings(), 0);
	settings_add(args, "--lease=10s");
	ck_assert_int_eq(count_warnings(), 0);
	settings_add(args, "--ttl=10s");
	ck_assert_int_eq(count_warnings(), 0);
	args[2] = (char[]){"--ttl=9999ms"};
	ck_assert_int_eq(count_warnings(), 1);
	ck_assert_ptr_nonnull(strstr(warnings, "ttl (9999ms) is shorter than lease (10s)"));
	args[2] = (char[]){"--ttl=never"};
	args[1] = (char[]){"--lease=9999ms"};
	ck_assert_int_eq(count_warnings(), 1);
	ck_assert_ptr_nonnull(strstr(warnings, "lease (9999ms) is below twice store_timeout (5s)"));
	args[1] = (char[]){"--on-store-down=refuse"};
	ck_assert_int_eq(count_warnings(), 0);
	args[1] = (char[]){"--on-store-down=run-unguarded"};
	ck_assert_int_eq(count_warnings(), 1);
	ck_assert_ptr_nonnull(strstr(warnings, "on_store_down is run-unguarded"));
}
END_TEST

START_TEST(warnings_of_variables)
{
	settings_add(envp, "HOME=/");
	settings_add(envp, "CLAIMD_LEASE=15m");
	settings_add(envp, "CLAIMD_DISABLED=1");
	settings_add(envp, "CLAIM_KEY=x");
	settings_add(envp, "XCLAIMD_LEASE=x");
	ck_assert_int_eq(count_warnings(), 0);
	settings_add(envp, "CLAIMD_LEASSE=1");
	settings_add(envp, "CLAIMD_PORT_80_TCP_ADDR=10.0.0.1");
	settings_add(envp, "CLAIMD_LEASE_FILE=/x");
	settings_add(envp, "CLAIMD_SERVICE_HOST=10.0.0.1");
	settings_add(envp, "CLAIMD_SERVICE_PORT_HTTP=80");
	settings_add(envp, "CLAIMD_WEB_PORT=tcp://10.0.0.1:80");
	settings_add(envp, "CLAIMD_ADMIN_PORT=9464");
	ck_assert_int_eq(count_warnings(), 3);
	ck_assert_ptr_nonnull(
	    strstr(warnings, "CLAIMD_LEASSE is no setting and is not used; did you mean CLAIMD_LEASE?\n"));
	ck_assert_ptr_nonnull(strstr(warnings, "CLAIMD_ADMIN_PORT is no setting and is not used\n"));
	ck_assert_ptr_nonnull(strstr(warnings, "CLAIMD_LEASE_FILE is no setting"));
	settings_add(envp, "CLAIMD_CONFIG=/dev/null");
	settings_add(envp, "CLAIMD_CONFG=/dev/null");
	ck_assert_int_eq(count_warnings(), 4);
	ck_assert_ptr_nonnull(strstr(warnings, "did you mean CLAIMD_CONFIG?\n"));
}
END_TEST

static void add_loop(TCase *tc, const TTest *test, size_t count)
{
	tcase_add_loop_test(tc, test, 0, (int)count);
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

int main(void)
{
	Suite *suite = suite_create("setting");
	TCase *tc = tcase_create("setting");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, settings_setup, settings_teardown);
	add_loop(tc, values_at_their_limits, COUNT(good_values));
	add_loop(tc, values_beyond, COUNT(bad_values));
	tcase_add_test(tc, lengths);
	tcase_add_test(tc, refusals_keep_secrets);
	add_loop(tc, actions, 7);
	tcase_add_test(tc, redacting);
	tcase_add_test(tc, print_reads_back);
	tcase_add_test(tc, print_says_where_from);
	tcase_add_test(tc, print_of_a_secret_file);
	tcase_add_test(tc, help_has_everything);
	tcase_add_test(tc, warnings_of_times);
	tcase_add_test(tc, warnings_of_variables);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
