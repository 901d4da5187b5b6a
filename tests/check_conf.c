/*
 * check_conf.c - where settings come from, which of them wins, what is refused and how it is said.
 *
 * Each test gives its own arguments and environment; files are in a folder of its own.
 */
#include "../proto/mem.h"
#include "../server/conf.h"
#include "../server/env.h"
#include "../server/setting.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ARGS 16

static char folder[64];
static char conf_path[96], other_path[96];
static struct conf conf;
static struct errbuf err;
static char name_of_program[] = "claimd";
static char *args[MAX_ARGS], *envp[MAX_ARGS];

static void setup(void)
{
	strcpy(folder, "/tmp/check_conf.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(conf_path, sizeof(conf_path), "%s/conf", folder);
	snprintf(other_path, sizeof(other_path), "%s/other", folder);
	memset(args, 0, sizeof(args));
	memset(envp, 0, sizeof(envp));
	args[0] = name_of_program;
	memset(&conf, 0, sizeof(conf));
}

static void teardown(void)
{
	conf_release(&conf);
	unlink(conf_path);
	unlink(other_path);
	rmdir(folder);
}

static void add(char **list, const char *text)
{
	size_t n = 0;

	while (list[n])
		n++;
	ck_assert_uint_lt(n, MAX_ARGS - 1);
	list[n] = (char *)(uintptr_t)text;
}

static void write_bytes(const char *path, const char *data, size_t len)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(data, 1, len, file), len);
	ck_assert_int_eq(fclose(file), 0);
}

static void write_text(const char *path, const char *text)
{
	write_bytes(path, text, strlen(text));
}

static enum conf_action load(void)
{
	int argc = 0;

	while (args[argc])
		argc++;
	conf_release(&conf);
	return conf_load(&conf, argc, args, envp, &err);
}

static void expect_run(void)
{
	enum conf_action action = load();

	ck_assert_msg(action == CONF_RUN, "refused: %s", err.text);
}

/* Refused, with a message that has `part` in it. */
static void expect_bad(const char *part)
{
	ck_assert_msg(load() == CONF_BAD, "not refused, but it should say: %s", part);
	ck_assert_msg(strstr(err.text, part) != NULL, "\"%s\" has no \"%s\" in it", err.text, part);
}

/* The same for a configuration file; `part` is what follows the file's name. */
static void expect_bad_file(const char *text, size_t len, const char *part)
{
	char want[240];

	write_bytes(conf_path, text, len);
	snprintf(want, sizeof(want), "%s%s", conf_path, part);
	memset(args + 1, 0, sizeof(args) - sizeof(args[0]));
	add(args, "--config");
	add(args, conf_path);
	ck_assert_msg(load() == CONF_BAD, "not refused, but it should say: %s", part);
	ck_assert_str_eq(err.text, want);
}

START_TEST(defaults)
{
	add(envp, "HOME=/home/x");
	expect_run();
	ck_assert_str_eq(conf.socket, "/run/claimd/claimd.sock");
	ck_assert_uint_eq(conf.socket_mode, 0660);
	ck_assert_ptr_null(conf.socket_group);
	ck_assert_str_eq(conf.store, geteuid() == 0 ? "sqlite:/var/lib/claimd/claimd.sqlite"
						    : "sqlite:/home/x/.local/state/claimd/claimd.sqlite");
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
	add(envp, "HOME=/home/x");
	expect_default(conf_default_socket(envp, true, &err), "/run/claimd/claimd.sock");
	expect_default(conf_default_socket(envp, false, &err), "/run/claimd/claimd.sock");
	expect_default(conf_default_store(envp, true, &err), "sqlite:/var/lib/claimd/claimd.sqlite");
	expect_default(conf_default_store(envp, false, &err), "sqlite:/home/x/.local/state/claimd/claimd.sqlite");
	add(envp, "XDG_RUNTIME_DIR=/run/user/7");
	add(envp, "XDG_STATE_HOME=/home/x/state");
	expect_default(conf_default_socket(envp, true, &err), "/run/claimd/claimd.sock");
	expect_default(conf_default_socket(envp, false, &err), "/run/user/7/claimd/claimd.sock");
	expect_default(conf_default_store(envp, true, &err), "sqlite:/var/lib/claimd/claimd.sqlite");
	expect_default(conf_default_store(envp, false, &err), "sqlite:/home/x/state/claimd/claimd.sqlite");
	add(envp, "STATE_DIRECTORY=/var/lib/private/a:/var/lib/private/b");
	expect_default(conf_default_store(envp, true, &err), "sqlite:/var/lib/private/a/claimd.sqlite");
	expect_default(conf_default_store(envp, false, &err), "sqlite:/var/lib/private/a/claimd.sqlite");
}
END_TEST

/* A folder that is empty or relative is none: it would put the socket where nobody looks. */
START_TEST(default_places_that_are_none)
{
	add(envp, "XDG_RUNTIME_DIR=run");
	add(envp, "XDG_STATE_HOME=");
	add(envp, "STATE_DIRECTORY=");
	expect_default(conf_default_socket(envp, false, &err), "/run/claimd/claimd.sock");
	expect_default(conf_default_store(envp, true, &err), "sqlite:/var/lib/claimd/claimd.sqlite");
	expect_default(conf_default_store(envp, false, &err), NULL);
	ck_assert_ptr_nonnull(strstr(err.text, "--store"));
}
END_TEST

START_TEST(flags_over_environment_over_file)
{
	add(envp, "HOME=/");
	write_text(conf_path, "lease = 1m\nttl = 1h\nmax_body = 1k\n");
	add(args, "--config");
	add(args, conf_path);
	expect_run();
	ck_assert_int_eq(conf.lease_ms, 60000);
	ck_assert_int_eq(conf.origin[CONF_ID_lease].source, CONF_FROM_FILE);
	ck_assert_uint_eq(conf.origin[CONF_ID_max_body].line, 3);
	add(envp, "CLAIMD_LEASE=2m");
	add(envp, "CLAIMD_TTL=2h");
	expect_run();
	ck_assert_int_eq(conf.lease_ms, 120000);
	ck_assert_int_eq(conf.origin[CONF_ID_lease].source, CONF_FROM_ENV);
	add(args, "--lease");
	add(args, "3m");
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
	add(envp, "CLAIMD_LEASE=soon");
	add(args, "--lease=3m");
	expect_bad("CLAIMD_LEASE: \"soon\"");
}
END_TEST

START_TEST(file_by_variable)
{
	write_text(conf_path, "store = memory:\n");
	write_text(other_path, "store = memory:other\n");
	char variable[128];

	snprintf(variable, sizeof(variable), "CLAIMD_CONFIG=%s", conf_path);
	add(envp, variable);
	expect_run();
	ck_assert_str_eq(conf.store, "memory:");
	add(args, "--config");
	add(args, other_path);
	expect_run();
	ck_assert_str_eq(conf.store, "memory:other");
}
END_TEST

START_TEST(names_that_begin_alike)
{
	add(envp, "CLAIMD_STORE_TIMEOUT=1s");
	add(envp, "CLAIMD_SOCKET_MODE=0600");
	add(envp, "HOME=/");
	expect_run();
	ck_assert_int_eq(conf.store_timeout_ms, 1000);
	ck_assert_int_eq(conf.origin[CONF_ID_store].source, CONF_FROM_DEFAULT);
	ck_assert_ptr_null(env_get(envp, "CLAIMD_STORE"));
	ck_assert_str_eq(env_get(envp, "CLAIMD_STORE_TIMEOUT"), "1s");
}
END_TEST

START_TEST(flags_in_both_forms)
{
	add(args, "--store=memory:a=b");
	add(args, "--store-timeout");
	add(args, "9ms");
	add(args, "--namespace");
	add(args, "-x");
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
	add(envp, "HOME=/");
	add(args, bad_flags[_i].one);
	if (bad_flags[_i].two)
		add(args, bad_flags[_i].two);
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
	    {"CLAIMD_CONFIG=/nowhere/at/all", "/nowhere/at/all: No such file"},
	};

	add(envp, bad[_i][0]);
	expect_bad(bad[_i][1]);
}
END_TEST

START_TEST(two_ways_in_one_source)
{
	add(envp, "CLAIMD_STORE=memory:");
	add(envp, "CLAIMD_STORE_FILE=/x");
	expect_bad("CLAIMD_STORE_FILE: given twice");
}
END_TEST

START_TEST(file_grammar)
{
	write_text(conf_path, "# comment = 1\r\n"
			      "\n"
			      "  \t\r\n"
			      "  # another\n"
			      "lease=1m\r\n"
			      "\tttl\t =  never \t\n"
			      "socket = /run/a b#c=d\n"
			      "store = memory:");
	add(args, "--config");
	add(args, conf_path);
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

	add(envp, "HOME=/");
	expect_bad_file(bad_files[_i].text, len, bad_files[_i].says);
}
END_TEST

START_TEST(file_at_its_limit)
{
	static char text[65537];

	memset(text, '#', sizeof(text));
	add(envp, "HOME=/");
	write_bytes(conf_path, text, 65536);
	add(args, "--config");
	add(args, conf_path);
	expect_run();
	expect_bad_file(text, 65537, ": above 65536 octets");
}
END_TEST

/* ---- secrets in files ---- */

START_TEST(secret_from_a_file)
{
	char line[128];

	write_text(other_path, "memory:secret \r\n");
	snprintf(line, sizeof(line), "CLAIMD_STORE_FILE=%s", other_path);
	add(envp, line);
	expect_run();
	ck_assert_str_eq(conf.store, "memory:secret");
	ck_assert_int_eq(conf.origin[CONF_ID_store].source, CONF_FROM_ENV);
	envp[0] = NULL;
	snprintf(line, sizeof(line), "store_file = %s\n", other_path);
	write_text(conf_path, line);
	add(args, "--config");
	add(args, conf_path);
	expect_run();
	ck_assert_str_eq(conf.store, "memory:secret");
	args[1] = args[2] = NULL;
	add(args, "--store-file");
	add(args, other_path);
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
	    {"nothing", ": no URL"},
	};
	char want[128];

	write_text(other_path, bad[_i][0]);
	add(args, "--store-file");
	add(args, other_path);
	snprintf(want, sizeof(want), "%s%s", other_path, bad[_i][1]);
	expect_bad(want);
}
END_TEST

START_TEST(secret_file_missing)
{
	add(args, "--store-file=/nowhere/secret");
	expect_bad("/nowhere/secret: No such file");
}
END_TEST

/* A weaker source's file need not be there. */
START_TEST(secret_file_overridden)
{
	add(envp, "CLAIMD_STORE_FILE=/nowhere/secret");
	add(args, "--store=memory:");
	expect_run();
	ck_assert_str_eq(conf.store, "memory:");
	ck_assert_ptr_null(conf.origin[CONF_ID_store].twin);
	write_text(other_path, "memory:b");
	args[1] = NULL;
	envp[0] = (char[]){"CLAIMD_STORE=memory:a"};
	add(args, "--store-file");
	add(args, other_path);
	expect_run();
	ck_assert_str_eq(conf.store, "memory:b");
}
END_TEST

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
    GOOD("--max-connections=1", max_connections, 1),
    GOOD("--max-connections=1000000", max_connections, 1000000),
    GOOD("--max-in-flight=7", max_in_flight, 7),
    GOOD("--request-timeout=5001ms", request_timeout_ms, 5001),
    GOOD("--store-timeout=9999ms", store_timeout_ms, 9999),
    GOOD("--drain-timeout=1ms", drain_timeout_ms, 1),
    GOOD("--ready-fd=3", ready_fd, 3),
    GOOD("--ready-fd=2147483647", ready_fd, INT32_MAX),
    GOOD("--store-result=no", store_result, 0),
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

	add(envp, "HOME=/");
	add(args, good_values[_i].flag);
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
    {"--max-body=k", "no size"},
    {"--max-connections=0", "out of range: 1 to 1000000"},
    {"--max-connections=1000001", "out of range"},
    {"--max-connections=1k", "no whole number"},
    {"--max-in-flight=-1", "no whole number"},
    {"--store-result=true", "\"true\" is not no or yes"},
    {"--log-format=xml", "\"xml\" is not auto, text or json"},
    {"--log-level=INFO", "is not debug, info, warn or error"},
    {"--log-keys=plain", "is not hash, full or none"},
    {"--ready-fd=2", "no descriptor: a whole number from 3"},
    {"--ready-fd=2147483648", "no descriptor"},
    {"--ready-fd=x", "no descriptor"},
    {"--namespace=a:b", "no colon"},
    {"--store=/var/lib/x.sqlite", "no URL"},
    {"--store=:memory:", "no URL"},
    {"--store-timeout=10s", "store_timeout (10s) must be shorter than request_timeout (10s)"},
    {"--request-timeout=5s", "store_timeout (5s) must be shorter than request_timeout (5s)"},
};

START_TEST(values_beyond)
{
	add(envp, "HOME=/");
	add(args, bad_values[_i][0]);
	expect_bad(bad_values[_i][1]);
}
END_TEST

START_TEST(lengths)
{
	char text[300] = "--socket=";

	add(envp, "HOME=/");
	memset(text + strlen(text), 'x', 107);
	add(args, text);
	expect_run();
	text[9 + 107] = 'x';
	expect_bad("a path of 108 octets; a socket's path has at most 107");
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
	add(args, "--store=REDIS://user:hunter2@h");
	expect_bad("no URL");
	ck_assert_ptr_null(strstr(err.text, "hunter2"));
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
	    {"--check-config", "--lease=2", CONF_BAD},
	    {"--print-config", "--lease=2", CONF_BAD},
	};

	add(envp, "HOME=/");
	add(args, list[_i].one);
	if (list[_i].two)
		add(args, list[_i].two);
	ck_assert_int_eq(load(), list[_i].action);
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
	static const char *const flags[] = {"--socket=/run/x",  "--socket-mode=600",   "--socket-group=staff",
					    "--store=memory:x", "--namespace=ns",      "--log-format=json",
					    "--ttl=never",      "--store-result=no",   "--ready-fd=9",
					    "--max-body=2k",    "--max-connections=12"};
	struct conf first;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		add(args, flags[i]);
	expect_run();
	first = conf;
	text = printed();
	write_text(conf_path, text);
	memset(args + 1, 0, sizeof(args) - sizeof(args[0]));
	memset(&conf, 0, sizeof(conf));
	add(args, "--config");
	add(args, conf_path);
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

	write_text(conf_path, "\nttl = 1h\n");
	add(args, "--config");
	add(args, conf_path);
	add(args, "--lease=2m");
	add(envp, "CLAIMD_STORE=redis://u:hunter2@h");
	add(envp, "CLAIMD_MAX_BODY=3k");
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

	write_text(other_path, "redis://u:hunter2@h\n");
	add(args, "--store-file");
	add(args, other_path);
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
	add(envp, "HOME=/");
	ck_assert_int_eq(count_warnings(), 0);
	add(args, "--lease=10s");
	ck_assert_int_eq(count_warnings(), 0);
	add(args, "--ttl=10s");
	ck_assert_int_eq(count_warnings(), 0);
	args[2] = (char[]){"--ttl=9999ms"};
	ck_assert_int_eq(count_warnings(), 1);
	ck_assert_ptr_nonnull(strstr(warnings, "ttl (9999ms) is shorter than lease (10s)"));
	args[2] = (char[]){"--ttl=never"};
	args[1] = (char[]){"--lease=9999ms"};
	ck_assert_int_eq(count_warnings(), 1);
	ck_assert_ptr_nonnull(strstr(warnings, "lease (9999ms) is below twice store_timeout (5s)"));
}
END_TEST

START_TEST(warnings_of_variables)
{
	add(envp, "HOME=/");
	add(envp, "CLAIMD_LEASE=15m");
	add(envp, "CLAIMD_DISABLED=1");
	add(envp, "CLAIM_KEY=x");
	add(envp, "XCLAIMD_LEASE=x");
	ck_assert_int_eq(count_warnings(), 0);
	add(envp, "CLAIMD_LEASSE=1");
	add(envp, "CLAIMD_PORT_80_TCP_ADDR=10.0.0.1");
	add(envp, "CLAIMD_LEASE_FILE=/x");
	ck_assert_int_eq(count_warnings(), 3);
	ck_assert_ptr_nonnull(
	    strstr(warnings, "CLAIMD_LEASSE is not known and not used; did you mean CLAIMD_LEASE?\n"));
	ck_assert_ptr_nonnull(strstr(warnings, "CLAIMD_PORT_80_TCP_ADDR is not known and not used\n"));
	ck_assert_ptr_nonnull(strstr(warnings, "CLAIMD_LEASE_FILE is not known"));
	add(envp, "CLAIMD_CONFIG=/dev/null");
	add(envp, "CLAIMD_CONFG=/dev/null");
	ck_assert_int_eq(count_warnings(), 4);
	ck_assert_ptr_nonnull(strstr(warnings, "did you mean CLAIMD_CONFIG?\n"));
}
END_TEST

/* With the Nth allocation refused it is CONF_BAD, each time, and nothing is lost (the sanitizers look). */
START_TEST(out_of_memory)
{
	enum conf_action action = CONF_BAD;
	size_t nth;

	write_text(conf_path, "lease = 2m\nttl = 2h\n");
	write_text(other_path, "memory:\n");
	add(args, "--config");
	add(args, conf_path);
	add(args, "--lease=3m");
	add(args, "--store-file");
	add(args, other_path);
	for (nth = 1; nth < 200 && action == CONF_BAD; nth++) {
		mem_fail_at(nth, 0);
		action = load();
		mem_fail_at(0, 0);
		if (action == CONF_BAD)
			ck_assert_msg(strstr(err.text, "out of memory") != NULL, "%zu: %s", nth, err.text);
	}
	ck_assert_int_eq(action, CONF_RUN);
	ck_assert_uint_gt(nth, CONF__COUNT);
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

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, defaults);
	tcase_add_test(tc, default_places);
	tcase_add_test(tc, default_places_that_are_none);
	tcase_add_test(tc, flags_over_environment_over_file);
	tcase_add_test(tc, overridden_values_are_checked);
	tcase_add_test(tc, file_by_variable);
	tcase_add_test(tc, names_that_begin_alike);
	tcase_add_test(tc, flags_in_both_forms);
	add_loop(tc, refused_flags, COUNT(bad_flags));
	add_loop(tc, refused_variables, 5);
	tcase_add_test(tc, two_ways_in_one_source);
	tcase_add_test(tc, file_grammar);
	add_loop(tc, refused_files, COUNT(bad_files));
	tcase_add_test(tc, file_at_its_limit);
	tcase_add_test(tc, secret_from_a_file);
	add_loop(tc, secret_file_refused, 4);
	tcase_add_test(tc, secret_file_missing);
	tcase_add_test(tc, secret_file_overridden);
	add_loop(tc, values_at_their_limits, COUNT(good_values));
	add_loop(tc, values_beyond, COUNT(bad_values));
	tcase_add_test(tc, lengths);
	tcase_add_test(tc, refusals_keep_secrets);
	add_loop(tc, actions, 9);
	tcase_add_test(tc, redacting);
	tcase_add_test(tc, print_reads_back);
	tcase_add_test(tc, print_says_where_from);
	tcase_add_test(tc, print_of_a_secret_file);
	tcase_add_test(tc, help_has_everything);
	tcase_add_test(tc, warnings_of_times);
	tcase_add_test(tc, warnings_of_variables);
	tcase_add_test(tc, out_of_memory);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
