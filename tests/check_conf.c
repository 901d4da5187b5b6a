/*
 * check_conf.c - where settings come from, which source wins, and what is refused there.
 */
#include "settings.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../proto/mem.h"
#include "../server/env.h"

START_TEST(defaults)
{
	settings_add(envp, "HOME=/h/x");
	expect_run();
	ck_assert_str_eq(conf.socket, "/run/claimd/claimd.sock");
	ck_assert_uint_eq(conf.socket_mode, 0660);
	ck_assert_ptr_null(conf.socket_group);
	ck_assert_str_eq(conf.store, geteuid() == 0 ? "sqlite:/var/lib/claimd/claimd.sqlite"
						    : "sqlite:/h/x/.local/state/claimd/claimd.sqlite");
	ck_assert_ptr_null(conf.namespace);
	ck_assert_int_eq(conf.log_format, LOG_FORMAT_AUTO);
	ck_assert_int_eq(conf.log_level, LOG_LEVEL_INFO);
	ck_assert_int_eq(conf.log_keys, LOG_KEYS_HASH);
	ck_assert_int_eq(conf.lease_ms, 15 * 60 * 1000);
	ck_assert_int_eq(conf.ttl_ms, INT64_C(7) * 24 * 3600 * 1000);
	ck_assert_uint_eq(conf.max_body, PROTO_MAX_BODY);
	ck_assert_uint_eq(conf.max_connections, 10000);
	ck_assert_uint_eq(conf.max_in_flight, 256);
	ck_assert_int_eq(conf.request_timeout_ms, 10000);
	ck_assert_int_eq(conf.store_timeout_ms, 5000);
	ck_assert_int_eq(conf.drain_timeout_ms, 25000);
	ck_assert(conf.store_result);
	ck_assert_int_eq(conf.ready_fd, -1);
}
END_TEST

static void expect_default(char *got, const char *want)
{
	if (want)
		ck_assert_str_eq(got, want);
	else
		ck_assert_ptr_null(got);
	mem_free(got);
}

START_TEST(default_places)
{
	settings_add(envp, "HOME=/h/x");
	expect_default(conf_default_socket(envp, true, &err), "/run/claimd/claimd.sock");
	expect_default(conf_default_socket(envp, false, &err), "/run/claimd/claimd.sock");
	expect_default(conf_default_store(envp, true, &err), "sqlite:/var/lib/claimd/claimd.sqlite");
	expect_default(conf_default_store(envp, false, &err), "sqlite:/h/x/.local/state/claimd/claimd.sqlite");
	settings_add(envp, "XDG_RUNTIME_DIR=/run/user/7");
	settings_add(envp, "XDG_STATE_HOME=/h/x/state");
	expect_default(conf_default_socket(envp, true, &err), "/run/claimd/claimd.sock");
	expect_default(conf_default_socket(envp, false, &err), "/run/user/7/claimd/claimd.sock");
	expect_default(conf_default_store(envp, true, &err), "sqlite:/var/lib/claimd/claimd.sqlite");
	expect_default(conf_default_store(envp, false, &err), "sqlite:/h/x/state/claimd/claimd.sqlite");
	settings_add(envp, "STATE_DIRECTORY=/var/lib/private/a:/var/lib/private/b");
	expect_default(conf_default_store(envp, true, &err), "sqlite:/var/lib/private/a/claimd.sqlite");
	expect_default(conf_default_store(envp, false, &err), "sqlite:/var/lib/private/a/claimd.sqlite");
}
END_TEST

/* A folder that is empty or relative is none: it would put the socket where nobody looks. */
START_TEST(default_places_that_are_none)
{
	settings_add(envp, "XDG_RUNTIME_DIR=run");
	settings_add(envp, "XDG_STATE_HOME=");
	settings_add(envp, "STATE_DIRECTORY=");
	expect_default(conf_default_socket(envp, false, &err), "/run/claimd/claimd.sock");
	expect_default(conf_default_store(envp, true, &err), "sqlite:/var/lib/claimd/claimd.sqlite");
	expect_default(conf_default_store(envp, false, &err), NULL);
	ck_assert_ptr_nonnull(strstr(err.text, "--store"));
}
END_TEST

START_TEST(flags_over_environment_over_file)
{
	settings_add(envp, "HOME=/");
	settings_write(conf_path, "lease = 1m\nttl = 1h\nmax_body = 1k\n");
	settings_add(args, "--config");
	settings_add(args, conf_path);
	expect_run();
	ck_assert_int_eq(conf.lease_ms, 60000);
	ck_assert_int_eq(conf.origin[CONF_ID_lease].source, CONF_FROM_FILE);
	ck_assert_uint_eq(conf.origin[CONF_ID_max_body].line, 3);
	settings_add(envp, "CLAIMD_LEASE=2m");
	settings_add(envp, "CLAIMD_TTL=2h");
	expect_run();
	ck_assert_int_eq(conf.lease_ms, 120000);
	ck_assert_int_eq(conf.origin[CONF_ID_lease].source, CONF_FROM_ENV);
	settings_add(args, "--lease");
	settings_add(args, "3m");
	expect_run();
	ck_assert_int_eq(conf.lease_ms, 180000);
	ck_assert_int_eq(conf.origin[CONF_ID_lease].source, CONF_FROM_FLAG);
	ck_assert_int_eq(conf.ttl_ms, 7200000);
	ck_assert_uint_eq(conf.max_body, 1024);
	ck_assert_int_eq(conf.origin[CONF_ID_max_connections].source, CONF_FROM_DEFAULT);
}
END_TEST

/* A value that loses is still checked: the file is not right because today somebody set a variable. */
START_TEST(overridden_values_are_checked)
{
	settings_add(envp, "CLAIMD_LEASE=soon");
	settings_add(args, "--lease=3m");
	expect_bad("CLAIMD_LEASE: \"soon\"");
}
END_TEST

START_TEST(file_by_variable)
{
	settings_write(conf_path, "store = memory:\n");
	settings_write(other_path, "store = memory:other\n");
	char variable[128];

	snprintf(variable, sizeof(variable), "CLAIMD_CONFIG=%s", conf_path);
	settings_add(envp, variable);
	expect_run();
	ck_assert_str_eq(conf.store, "memory:");
	settings_add(args, "--config");
	settings_add(args, other_path);
	expect_run();
	ck_assert_str_eq(conf.store, "memory:other");
}
END_TEST

START_TEST(names_that_begin_alike)
{
	settings_add(envp, "CLAIMD_STORE_TIMEOUT=1s");
	settings_add(envp, "CLAIMD_SOCKET_MODE=0600");
	settings_add(envp, "HOME=/");
	expect_run();
	ck_assert_int_eq(conf.store_timeout_ms, 1000);
	ck_assert_int_eq(conf.origin[CONF_ID_store].source, CONF_FROM_DEFAULT);
	ck_assert_ptr_null(env_get(envp, "CLAIMD_STORE"));
	ck_assert_str_eq(env_get(envp, "CLAIMD_STORE_TIMEOUT"), "1s");
}
END_TEST

START_TEST(flags_in_both_forms)
{
	settings_add(args, "--store=memory:a=b");
	settings_add(args, "--store-timeout");
	settings_add(args, "9ms");
	settings_add(args, "--namespace");
	settings_add(args, "-x");
	expect_run();
	ck_assert_str_eq(conf.store, "memory:a=b");
	ck_assert_int_eq(conf.store_timeout_ms, 9);
	ck_assert_str_eq(conf.namespace, "-x");
}
END_TEST

static const struct {
	const char *one, *two, *says;
} bad_flags[] = {
    {"--leese", "3s", "no setting \"--leese\"; did you mean --lease?"},
    {"--store-time-out", "3s", "did you mean --store-timeout?"},
    {"--store_timeout", "3s", "did you mean --store-timeout?"},
    {"--chekc-config", NULL, "did you mean --check-config?"},
    {"--storefile", "x", "did you mean --store-file?"},
    {"--tlt", "3s", "no setting \"--tlt\"; did you mean --ttl?"},
    {"--foo", "3s", "no setting \"--foo\"; see --help"},
    {"--lease", NULL, "--lease: no value"},
    {"--lease=", NULL, "--lease: no value"},
    {"--lease", "", "--lease: no value"},
    {"--lease", "--ttl", "--lease: no value"},
    {"--config", NULL, "--config: no file given"},
    {"--config=", NULL, "--config: no file given"},
    {"--check-config=yes", NULL, "--check-config takes no value"},
    {"memory:", NULL, "\"memory:\" is not understood"},
    {"-x", NULL, "\"-x\" is not understood"},
    {"--", NULL, "\"--\" is not understood"},
    {"", NULL, "\"\" is not understood"},
    {"--lease=1s", "--lease=2s", "--lease: given twice"},
    {"--store=memory:", "--store-file=/x", "--store-file: given twice"},
    {"--config=/dev/null", "--config=/dev/null", "--config: given twice"},
    {"--lease=1x", NULL, "--lease: \"1x\" is no time"},
    {"--config=/nowhere/at/all", NULL, "/nowhere/at/all: No such file"},
    {"--config=/", NULL, "/: Is a directory"},
    {"--a-name-that-is-longer-than-any-name-of-a-setting-could-be", "1", "no setting \"--a-name-that-is-longer"},
};

START_TEST(refused_flags)
{
	settings_add(envp, "HOME=/");
	settings_add(args, bad_flags[_i].one);
	if (bad_flags[_i].two)
		settings_add(args, bad_flags[_i].two);
	expect_bad(bad_flags[_i].says);
}
END_TEST

START_TEST(refused_variables)
{
	static const char *const bad[][2] = {
	    {"CLAIMD_STORE=", "CLAIMD_STORE: no value"},
	    {"CLAIMD_STORE_FILE=", "CLAIMD_STORE_FILE: no value"},
	    {"CLAIMD_CONFIG=", "CLAIMD_CONFIG: no value"},
	    {"CLAIMD_LEASE=30", "CLAIMD_LEASE: \"30\" is no time"},
	    {"CLAIMD_NAMESPACE=pay\n", "CLAIMD_NAMESPACE: a control character in it"},
	    {"CLAIMD_NAMESPACE= pay", "CLAIMD_NAMESPACE: a control character in it, or a blank at its start"},
	    {"CLAIMD_NAMESPACE=pay\t", "CLAIMD_NAMESPACE: a control character in it, or a blank at its start or end"},
	    {"CLAIMD_NAMESPACE='pay'", "CLAIMD_NAMESPACE: values are written without quotes"},
	    {"CLAIMD_CONFIG=/nowhere/at/all", "/nowhere/at/all: No such file"},
	};

	settings_add(envp, bad[_i][0]);
	expect_bad(bad[_i][1]);
}
END_TEST

START_TEST(two_ways_in_one_source)
{
	settings_add(envp, "CLAIMD_STORE=memory:");
	settings_add(envp, "CLAIMD_STORE_FILE=/x");
	expect_bad("CLAIMD_STORE_FILE: given twice");
}
END_TEST

START_TEST(file_grammar)
{
	settings_write(conf_path, "# comment = 1\r\n"
				  "\n"
				  "  \t\r\n"
				  "  # another\n"
				  "lease=1m\r\n"
				  "\tttl\t =  never \t\n"
				  "socket = /run/a b#c=d\n"
				  "store = memory:");
	settings_add(args, "--config");
	settings_add(args, conf_path);
	expect_run();
	ck_assert_int_eq(conf.lease_ms, 60000);
	ck_assert_int_eq(conf.ttl_ms, PROTO_NEVER);
	ck_assert_str_eq(conf.socket, "/run/a b#c=d");
	ck_assert_str_eq(conf.store, "memory:");
}
END_TEST

static const struct {
	const char *text, *says;
	size_t len; /* 0: strlen */
} bad_files[] = {
    {"lease = 1m\n\nleasse = 2m\n", ":3: no setting \"leasse\"; did you mean lease?", 0},
    {"store_tiemout = 2m", ":1: no setting \"store_tiemout\"; did you mean store_timeout?", 0},
    {"frobnicate = 2m", ":1: no setting \"frobnicate\"", 0},
    {"Lease = 2m", ":1: no setting \"Lease\"; did you mean lease?", 0},
    {"config = /etc/x", ":1: no setting \"config\"", 0},
    {" = 2m", ":1: no setting \"\"", 0},
    {"lease = 1m\nlease = 2m\n", ":2: lease: given twice", 0},
    {"lease\n", ":1: not \"name = value\"", 0},
    {"[store]\n", ":1: not \"name = value\"; there are no sections", 0},
    {"lease =\n", ":1: lease: no value: give one, or leave it out", 0},
    {"lease = \"1m\"\n", ":1: lease: values are written without quotes", 0},
    {"socket = '/x'\n", ":1: socket: values are written without quotes", 0},
    {"lease = 1m # a minute\n",
     ":1: lease: \"1m # a minute\" is no time: a whole number with ms, s, m, h or d, such as 30s", 0},
    {"lease = 1m\nttl = 1\0h\n", ":2: a NUL", 21},
    {"socket_mode = 888\n", ":1: socket_mode: \"888\" is no mode: octal digits, at most 0777", 0},
    {"\nstore_timeout = 10s\n", ":2: store_timeout (10s) must be shorter than request_timeout (10s)", 0},
    {"\n\nrequest_timeout = 5s\n", ":3: store_timeout (5s) must be shorter than request_timeout (5s)", 0},
};

START_TEST(refused_files)
{
	size_t len = bad_files[_i].len ? bad_files[_i].len : strlen(bad_files[_i].text);

	settings_add(envp, "HOME=/");
	expect_bad_file(bad_files[_i].text, len, bad_files[_i].says);
}
END_TEST

/* One look shows all there is to mend. */
START_TEST(all_mistakes_are_told)
{
	static const char *const says[] = {":1: no setting \"leese\"", ":3: ttl: \"1\" is no time",
					   "CLAIMD_LEASE: \"2\"",      "--max-body: \"x\"",
					   "\"-y\" is not understood", "--store-file: /nowhere/at/all: No such file"};

	settings_write(conf_path, "leese = 1m\nsocket_mode = 600\nttl = 1\n");
	settings_add(args, "--config");
	settings_add(args, conf_path);
	settings_add(envp, "CLAIMD_LEASE=2");
	settings_add(args, "--max-body=x");
	settings_add(args, "-y");
	settings_add(args, "--store-file=/nowhere/at/all");
	ck_assert_int_eq(settings_load(), CONF_RUN);
	ck_assert_uint_eq(faults.count, sizeof(says) / sizeof(says[0]));
	for (size_t i = 0; i < faults.count; i++)
		ck_assert_msg(strstr(faults.at[i].text, says[i]) != NULL, "%s", faults.at[i].text);
	ck_assert_uint_eq(conf.socket_mode, 0600);
	ck_assert(conf.origin[CONF_ID_lease].refused);
	ck_assert(!conf.origin[CONF_ID_socket_mode].refused);
}
END_TEST

START_TEST(more_mistakes_are_counted)
{
	char text[2048] = "", *printed = NULL;
	size_t len = 0;
	FILE *out;

	for (int i = 0; i < FAULTS_SHOWN + 8; i++)
		strcat(text, "x\n");
	settings_write(conf_path, text);
	settings_add(args, "--config");
	settings_add(args, conf_path);
	settings_add(args, "--store=memory:");
	settings_load();
	ck_assert_uint_eq(faults.count, FAULTS_SHOWN + 8);
	out = open_memstream(&printed, &len);
	faults_print(&faults, out);
	fclose(out);
	ck_assert_ptr_nonnull(strstr(printed, ":32: not \"name = value\"\nclaimd: and 8 more\n"));
	free(printed);
}
END_TEST

/* A stronger source gives what is used; what a weaker one says is told all the same. */
START_TEST(a_mistake_that_is_overridden)
{
	settings_add(envp, "CLAIMD_STORE_TIMEOUT=soon");
	settings_add(args, "--store-timeout=1s");
	settings_add(args, "--store=memory:");
	settings_load();
	ck_assert_uint_eq(faults.count, 1);
	ck_assert(!conf.origin[CONF_ID_store_timeout].refused);
	ck_assert_int_eq(conf.store_timeout_ms, 1000);
}
END_TEST

/* Its default would not be what is meant. */
START_TEST(what_is_refused_is_held_against_nothing)
{
	settings_add(args, "--store=memory:");
	settings_add(args, "--store-timeout=soon");
	settings_add(args, "--request-timeout=3s");
	settings_load();
	ck_assert_uint_eq(faults.count, 1);
	args[2] = (char[]){"--store-timeout=1s"};
	args[3] = (char[]){"--request-timeout=soon"};
	settings_load();
	ck_assert_uint_eq(faults.count, 1);
}
END_TEST

START_TEST(file_at_its_limit)
{
	static char text[65537];

	memset(text, '#', sizeof(text));
	settings_add(envp, "HOME=/");
	settings_write_bytes(conf_path, text, 65536);
	settings_add(args, "--config");
	settings_add(args, conf_path);
	expect_run();
	expect_bad_file(text, 65537, ": above 65536 octets");
}
END_TEST

/* ---- secrets in files ---- */

START_TEST(secret_from_a_file)
{
	char line[128];

	settings_write(other_path, "memory:secret \r\n");
	snprintf(line, sizeof(line), "CLAIMD_STORE_FILE=%s", other_path);
	settings_add(envp, line);
	expect_run();
	ck_assert_str_eq(conf.store, "memory:secret");
	ck_assert_int_eq(conf.origin[CONF_ID_store].source, CONF_FROM_ENV);
	envp[0] = NULL;
	snprintf(line, sizeof(line), "store_file = %s\n", other_path);
	settings_write(conf_path, line);
	settings_add(args, "--config");
	settings_add(args, conf_path);
	expect_run();
	ck_assert_str_eq(conf.store, "memory:secret");
	args[1] = args[2] = NULL;
	settings_add(args, "--store-file");
	settings_add(args, other_path);
	expect_run();
	ck_assert_str_eq(conf.store, "memory:secret");
}
END_TEST

START_TEST(secret_file_refused)
{
	static const char *const bad[][2] = {
	    {"", ": no value"},
	    {"\n", ": no value"},
	    {"memory:\nmemory:\n", ": more than one line"},
	    {"\"memory:\"\n", ": values are written without quotes"},
	    {"nothing", ": no URL"},
	};
	char want[128];

	settings_write(other_path, bad[_i][0]);
	settings_add(args, "--store-file");
	settings_add(args, other_path);
	snprintf(want, sizeof(want), "%s%s", other_path, bad[_i][1]);
	expect_bad(want);
}
END_TEST

START_TEST(secret_file_missing)
{
	settings_add(args, "--store-file=/nowhere/secret");
	expect_bad("/nowhere/secret: No such file");
}
END_TEST

/* A weaker source's file need not be there. */
START_TEST(secret_file_overridden)
{
	settings_add(envp, "CLAIMD_STORE_FILE=/nowhere/secret");
	settings_add(args, "--store=memory:");
	expect_run();
	ck_assert_str_eq(conf.store, "memory:");
	ck_assert_ptr_null(conf.origin[CONF_ID_store].twin);
	settings_write(other_path, "memory:b");
	args[1] = NULL;
	envp[0] = (char[]){"CLAIMD_STORE=memory:a"};
	settings_add(args, "--store-file");
	settings_add(args, other_path);
	expect_run();
	ck_assert_str_eq(conf.store, "memory:b");
}
END_TEST

/* With the Nth allocation refused it is told, each time, and nothing is lost (the sanitizers look). */
START_TEST(out_of_memory)
{
	size_t nth;

	settings_write(conf_path, "lease = 2m\nttl = 2h\n");
	settings_write(other_path, "memory:\n");
	settings_add(args, "--config");
	settings_add(args, conf_path);
	settings_add(args, "--lease=3m");
	settings_add(args, "--store-file");
	settings_add(args, other_path);
	faults.count = 1;
	for (nth = 1; nth < 200 && faults.count > 0; nth++) {
		mem_fail_at(nth, 0);
		settings_load();
		mem_fail_at(0, 0);
		if (faults.count > 0)
			ck_assert_msg(strstr(faults.at[0].text, "out of memory") != NULL, "%zu: %s", nth,
				      faults.at[0].text);
	}
	ck_assert_uint_eq(faults.count, 0);
	ck_assert_uint_gt(nth, 15); /* at least the settings that have a default */
}
END_TEST

static void add_loop(TCase *tc, const TTest *test, size_t count)
{
	tcase_add_loop_test(tc, test, 0, (int)count);
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

int main(void)
{
	Suite *suite = suite_create("conf");
	TCase *tc = tcase_create("conf");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, settings_setup, settings_teardown);
	tcase_add_test(tc, defaults);
	tcase_add_test(tc, default_places);
	tcase_add_test(tc, default_places_that_are_none);
	tcase_add_test(tc, flags_over_environment_over_file);
	tcase_add_test(tc, overridden_values_are_checked);
	tcase_add_test(tc, file_by_variable);
	tcase_add_test(tc, names_that_begin_alike);
	tcase_add_test(tc, flags_in_both_forms);
	add_loop(tc, refused_flags, COUNT(bad_flags));
	add_loop(tc, refused_variables, 9);
	tcase_add_test(tc, two_ways_in_one_source);
	tcase_add_test(tc, file_grammar);
	add_loop(tc, refused_files, COUNT(bad_files));
	tcase_add_test(tc, all_mistakes_are_told);
	tcase_add_test(tc, more_mistakes_are_counted);
	tcase_add_test(tc, a_mistake_that_is_overridden);
	tcase_add_test(tc, what_is_refused_is_held_against_nothing);
	tcase_add_test(tc, file_at_its_limit);
	tcase_add_test(tc, secret_from_a_file);
	add_loop(tc, secret_file_refused, 5);
	tcase_add_test(tc, secret_file_missing);
	tcase_add_test(tc, secret_file_overridden);
	tcase_add_test(tc, out_of_memory);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
