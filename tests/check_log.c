/*
 * check_log.c - what a line looks like, what a peer cannot put into it, and that nothing makes the log wait or end.
 *
 * Lines go into a pipe, a socket or a file of the test's own. A write that would block hangs the test until check ends it,
 * which is a failure.
 */
#include "../proto/sha256.h"
#include "../server/log.h"

#include <cjson/cJSON.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int ends[2]; /* what is logged to [1] is read from [0] */
static struct log logger;
static char text[1 << 17];

static void setup(void)
{
	unsetenv("JOURNAL_STREAM");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
}

static void teardown(void)
{
	log_release(&logger);
	close(ends[0]);
	close(ends[1]);
}

/* Everything that was logged since the last time, as a string. */
static const char *logged(void)
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(ends[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = 0;
	return text;
}

static void expect_match(const char *line, const char *pattern)
{
	regex_t re;

	ck_assert_int_eq(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
	ck_assert_msg(regexec(&re, line, 0, NULL, 0) == 0, "\"%s\" is not like %s", line, pattern);
	regfree(&re);
}

/* What a field looks like at the end of a line. */
static void expect_field(struct log_field field, const char *want)
{
	const char *line;
	const char *start;

	log_event(&logger, LOG_LEVEL_ERROR, "e", "m", (struct log_field[]){field, log_end()});
	line = logged();
	start = strstr(line, " e m");
	ck_assert_ptr_nonnull(start);
	ck_assert_str_eq(start + 4, want);
}

#define TIME "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3}Z"

START_TEST(text_line)
{
	log_init(&logger, LOG_FORMAT_TEXT, LOG_LEVEL_DEBUG, LOG_KEYS_FULL, ends[1]);
	log_event(&logger, LOG_LEVEL_INFO, "store_up", "the store answers",
		  (struct log_field[]){log_text("store", "sqlite"), log_int("down_ms", -12),
				       log_key("key", SLICE_OF("a:b")), log_end()});
	expect_match(logged(), "^" TIME " info  store_up the store answers store=sqlite down_ms=-12 key=a:b\n$");
	log_event(&logger, LOG_LEVEL_ERROR, "x", "y", NULL);
	expect_match(logged(), "^" TIME " error x y\n$");
	log_event(&logger, LOG_LEVEL_WARN, "x", "y", NULL);
	expect_match(logged(), "^" TIME " warn  x y\n$");
	log_event(&logger, LOG_LEVEL_DEBUG, "x", "y", NULL);
	expect_match(logged(), "^" TIME " debug x y\n$");
}
END_TEST

START_TEST(levels)
{
	for (int level = LOG_LEVEL_DEBUG; level <= LOG_LEVEL_ERROR; level++) {
		int lines = 0;

		log_init(&logger, LOG_FORMAT_TEXT, (enum log_level)level, LOG_KEYS_FULL, ends[1]);
		for (int of = LOG_LEVEL_DEBUG; of <= LOG_LEVEL_ERROR; of++)
			log_event(&logger, (enum log_level)of, "e", "m", NULL);
		for (const char *at = logged(); (at = strchr(at, '\n')); at++)
			lines++;
		ck_assert_int_eq(lines, LOG_LEVEL_ERROR - level + 1);
		log_release(&logger);
	}
}
END_TEST

START_TEST(text_values)
{
	log_init(&logger, LOG_FORMAT_TEXT, LOG_LEVEL_INFO, LOG_KEYS_FULL, ends[1]);
	expect_field(log_text("v", "plain,{}'%<>"), " v=plain,{}'%<>\n");
	expect_field(log_text("v", ""), " v=\"\"\n");
	expect_field(log_text("v", NULL), "\n");
	expect_field(log_slice("v", SLICE_ABSENT), "\n");
	expect_field(log_text("v", "two words"), " v=\"two words\"\n");
	expect_field(log_text("v", "a=b"), " v=\"a=b\"\n");
	expect_field(log_text("v", "a\"b\\c"), " v=\"a\\\"b\\\\c\"\n");
	expect_field(log_slice("v", SLICE_OF("a\0b")), " v=\"a\\x00b\"\n");
	expect_field(log_int("v", INT64_MIN), " v=-9223372036854775808\n");
	expect_field(log_int("v", INT64_MAX), " v=9223372036854775807\n");
}
END_TEST

/* Whoever names an owner or a client shall not write lines, move a cursor or turn text around. */
START_TEST(text_injection)
{
	log_init(&logger, LOG_FORMAT_TEXT, LOG_LEVEL_INFO, LOG_KEYS_FULL, ends[1]);
	expect_field(log_text("v", "x\n2030-01-01T00:00:00.000Z info won"),
		     " v=\"x\\x0a2030-01-01T00:00:00.000Z info won\"\n");
	expect_field(log_text("v", "\x1b[2J\r\x7f"), " v=\"\\x1b[2J\\x0d\\x7f\"\n");
	expect_field(log_text("v", "\xc2\x9b"), " v=\"\\xc2\\x9b\"\n");
	expect_field(log_text("v", "\xe2\x80\xae\xe2\x80\xa8\xe2\x81\xa6"),
		     " v=\"\\xe2\\x80\\xae\\xe2\\x80\\xa8\\xe2\\x81\\xa6\"\n");
	expect_field(log_text("v", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
		     " v=\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\"\n");
	/* no UTF-8: alone, cut short, too long a form, a surrogate, above the last */
	expect_field(log_text("v", "\xff\x80"), " v=\"\\xff\\x80\"\n");
	expect_field(log_text("v", "\xe2\x82"), " v=\"\\xe2\\x82\"\n");
	expect_field(log_text("v", "\xe2\x82z"), " v=\"\\xe2\\x82z\"\n");
	expect_field(log_text("v", "\xc0\x8a\xe0\x80\x8a\xf0\x80\x80\x8a"),
		     " v=\"\\xc0\\x8a\\xe0\\x80\\x8a\\xf0\\x80\\x80\\x8a\"\n");
	expect_field(log_text("v", "\xe0\x9f\xbf\xf0\x8f\xbf\xbf"), " v=\"\\xe0\\x9f\\xbf\\xf0\\x8f\\xbf\\xbf\"\n");
	expect_field(log_text("v", "\xed\xa0\x80"), " v=\"\\xed\\xa0\\x80\"\n");
	expect_field(log_text("v", "\xf4\x90\x80\x80\xf5"), " v=\"\\xf4\\x90\\x80\\x80\\xf5\"\n");
}
END_TEST

START_TEST(keys)
{
	struct slice key = SLICE_OF("ns:orders 42");
	char hash[65], want[80];

	log_init(&logger, LOG_FORMAT_TEXT, LOG_LEVEL_INFO, LOG_KEYS_FULL, ends[1]);
	expect_field(log_key("key", key), " key=\"ns:orders 42\"\n");
	log_release(&logger);
	log_init(&logger, LOG_FORMAT_TEXT, LOG_LEVEL_INFO, LOG_KEYS_NONE, ends[1]);
	expect_field(log_key("key", key), "\n");
	expect_field(log_text("owner", "w1"), " owner=w1\n");
	log_release(&logger);
	log_init(&logger, LOG_FORMAT_TEXT, LOG_LEVEL_INFO, LOG_KEYS_HASH, ends[1]);
	sha256_hex(key, hash);
	snprintf(want, sizeof(want), " key=%.12s\n", hash);
	expect_field(log_key("key", key), want);
	/* as people compute it: printf %s orders:42 | sha256sum | cut -c1-12 */
	expect_field(log_key("key", SLICE_OF("orders:42")), " key=8a5f217ddb0c\n");
	expect_field(log_key("key", SLICE_ABSENT), "\n");
}
END_TEST

static cJSON *logged_json(void)
{
	const char *line = logged();
	cJSON *json = cJSON_Parse(line);

	ck_assert_msg(json != NULL, "no JSON: %s", line);
	ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
	return json;
}

static void expect_string(const cJSON *json, const char *name, const char *want)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, name);

	ck_assert_msg(cJSON_IsString(item), "no %s", name);
	ck_assert_str_eq(item->valuestring, want);
}

START_TEST(json_line)
{
	static const char *const severity[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
	cJSON *json;

	log_init(&logger, LOG_FORMAT_JSON, LOG_LEVEL_DEBUG, LOG_KEYS_FULL, ends[1]);
	for (int level = LOG_LEVEL_DEBUG; level <= LOG_LEVEL_ERROR; level++) {
		log_event(&logger, (enum log_level)level, "claim_lost", "a lease is over",
			  (struct log_field[]){log_text("owner", "w \"1\"\\\n\x01"), log_int("fence", 1764540021000123),
					       log_key("key", SLICE_OF("k\0\xff\xc3\xbc")), log_text("none", NULL),
					       log_end()});
		json = logged_json();
		expect_string(json, "severity", severity[level]);
		expect_string(json, "event", "claim_lost");
		expect_string(json, "message", "a lease is over");
		expect_match(cJSON_GetObjectItem(json, "time")->valuestring, "^" TIME "$");
		expect_string(json, "owner", "w \"1\"\\\n\x01");
		ck_assert(strstr(text, "\"fence\":1764540021000123") != NULL);
		ck_assert(strstr(text, "\"key\":\"k\\u0000\\u00ff\xc3\xbc\"") != NULL);
		ck_assert_int_eq(cJSON_GetArraySize(json), 7);
		cJSON_Delete(json);
	}
}
END_TEST

/* ---- sizes ---- */

static void check_sizes(enum log_format format)
{
	struct log_field fields[20];
	static char big[3000];
	size_t count = sizeof(fields) / sizeof(fields[0]);

	log_init(&logger, format, LOG_LEVEL_INFO, LOG_KEYS_FULL, ends[1]);
	for (size_t kind = 0; kind < 3; kind++) {
		static const char octet[] = {'x', ' ', '\x01'};

		memset(big, octet[kind], sizeof(big));
		for (size_t len = 0; len < sizeof(big); len += 7) {
			for (size_t i = 0; i < count - 1; i++)
				fields[i] = log_slice("name", (struct slice){big, len});
			fields[count - 1] = log_end();
			log_event(&logger, LOG_LEVEL_INFO, "e", "m", fields);
			logged();
			ck_assert_uint_le(strlen(text), LOG_MAX_LINE);
			ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
			if (format == LOG_FORMAT_JSON) {
				cJSON *json = cJSON_Parse(text);

				ck_assert_ptr_nonnull(json);
				cJSON_Delete(json);
			}
		}
		/* Not all of twenty long values are in there, and it says so. */
		ck_assert_ptr_nonnull(strstr(text, format == LOG_FORMAT_JSON ? ",\"cut\":1}\n" : " cut=1\n"));
	}
	ck_assert_uint_eq(logger.dropped, 0);
}

START_TEST(sizes_of_text)
{
	check_sizes(LOG_FORMAT_TEXT);
}
END_TEST

START_TEST(sizes_of_json)
{
	check_sizes(LOG_FORMAT_JSON);
}
END_TEST

START_TEST(long_value_is_cut)
{
	static char big[5000];

	memset(big, 'x', sizeof(big));
	log_init(&logger, LOG_FORMAT_TEXT, LOG_LEVEL_INFO, LOG_KEYS_FULL, ends[1]);
	log_event(&logger, LOG_LEVEL_INFO, "e", "m",
		  (struct log_field[]){log_slice("a", (struct slice){big, sizeof(big)}), log_int("b", 7), log_end()});
	ck_assert_ptr_nonnull(strstr(logged(), "xxx...\" b=7\n"));
	ck_assert_uint_lt(strlen(text), LOG_MAX_VALUE + 80);
	ck_assert_ptr_null(strstr(text, "cut="));
}
END_TEST

/* ---- where it goes ---- */

static void expect_dropped_line(unsigned lines)
{
	char pattern[128];

	snprintf(pattern, sizeof(pattern), " warn  log_dropped [a-z ]+ lines=%u\n[^\n]* after m\n$", lines);
	expect_match(text, pattern);
}

START_TEST(full_pipe_does_not_block)
{
	unsigned long lost;

	log_init(&logger, LOG_FORMAT_TEXT, LOG_LEVEL_INFO, LOG_KEYS_FULL, ends[1]);
	while (logger.dropped < 3)
		log_event(&logger, LOG_LEVEL_INFO, "fill", "m", NULL);
	lost = logger.dropped;
	logged();
	ck_assert_ptr_null(strstr(text, "log_dropped"));
	ck_assert_int_eq(text[strlen(text) - 1], '\n');
	log_event(&logger, LOG_LEVEL_INFO, "after", "m", NULL);
	logged();
	expect_dropped_line((unsigned)lost);
	log_event(&logger, LOG_LEVEL_INFO, "after", "m", NULL);
	ck_assert_ptr_null(strstr(logged(), "log_dropped"));
}
END_TEST

/* Others have the same standard error and expect it to wait for them. */
START_TEST(shared_descriptor_is_left_alone)
{
	log_init(&logger, LOG_FORMAT_TEXT, LOG_LEVEL_INFO, LOG_KEYS_FULL, ends[1]);
	log_event(&logger, LOG_LEVEL_INFO, "e", "m", NULL);
	ck_assert_int_eq(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
	log_release(&logger);
	ck_assert_int_ne(fcntl(ends[1], F_GETFL), -1);
	ck_assert_uint_gt(strlen(logged()), 0);
}
END_TEST

START_TEST(reader_is_gone)
{
	log_init(&logger, LOG_FORMAT_TEXT, LOG_LEVEL_INFO, LOG_KEYS_FULL, ends[1]);
	close(ends[0]);
	log_event(&logger, LOG_LEVEL_INFO, "e", "m", NULL);
	ck_assert_uint_eq(logger.dropped, 1);
	ends[0] = open("/dev/null", O_RDONLY);
}
END_TEST

START_TEST(no_descriptor)
{
	log_init(&logger, LOG_FORMAT_AUTO, LOG_LEVEL_INFO, LOG_KEYS_FULL, 1000000);
	log_event(&logger, LOG_LEVEL_INFO, "e", "m", NULL);
	ck_assert_uint_eq(logger.dropped, 1);
}
END_TEST

START_TEST(disk_is_full)
{
	int full = open("/dev/full", O_WRONLY);

	ck_assert_int_ge(full, 0);
	log_init(&logger, LOG_FORMAT_TEXT, LOG_LEVEL_INFO, LOG_KEYS_FULL, full);
	log_event(&logger, LOG_LEVEL_INFO, "e", "m", NULL);
	log_event(&logger, LOG_LEVEL_INFO, "e", "m", NULL);
	ck_assert_uint_eq(logger.dropped, 2);
	close(full);
}
END_TEST

START_TEST(full_socket_does_not_block)
{
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	close(ends[0]);
	ends[0] = pair[0];
	ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	log_init(&logger, LOG_FORMAT_TEXT, LOG_LEVEL_INFO, LOG_KEYS_FULL, pair[1]);
	while (logger.dropped < 3)
		log_event(&logger, LOG_LEVEL_INFO, "fill", "m", NULL);
	do
		logged();
	while (text[0]);
	log_event(&logger, LOG_LEVEL_INFO, "after", "m", NULL);
	logged();
	expect_dropped_line(3);
	close(pair[1]);
}
END_TEST

/* A file may take a part of a line and no more. The next line must not become a part of that one. */
START_TEST(torn_line_is_ended)
{
	char path[] = "/tmp/check_log.XXXXXX";
	int file = mkstemp(path);
	struct rlimit limit, small;
	const char *second;

	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = limit;
	small.rlim_cur = 20;
	log_init(&logger, LOG_FORMAT_TEXT, LOG_LEVEL_INFO, LOG_KEYS_FULL, file);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	log_event(&logger, LOG_LEVEL_INFO, "torn", "m", NULL);
	log_event(&logger, LOG_LEVEL_INFO, "lost", "m", NULL);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_uint_eq(logger.dropped, 2);
	log_event(&logger, LOG_LEVEL_INFO, "after", "m", NULL);
	close(ends[0]);
	ends[0] = open(path, O_RDONLY);
	logged();
	unlink(path);
	close(file);
	second = strchr(text, '\n');
	ck_assert_ptr_eq(second, text + 20);
	memmove(text, second, strlen(second) + 1);
	expect_dropped_line(2);
}
END_TEST

START_TEST(journal)
{
	struct stat info;
	char stream[64];

	ck_assert_int_eq(fstat(ends[1], &info), 0);
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)info.st_dev, (uintmax_t)info.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_init(&logger, LOG_FORMAT_AUTO, LOG_LEVEL_DEBUG, LOG_KEYS_FULL, ends[1]);
	log_event(&logger, LOG_LEVEL_DEBUG, "e", "m", NULL);
	log_event(&logger, LOG_LEVEL_INFO, "e", "m", (struct log_field[]){log_int("n", 1), log_end()});
	log_event(&logger, LOG_LEVEL_WARN, "e", "m", NULL);
	log_event(&logger, LOG_LEVEL_ERROR, "e", "m", NULL);
	ck_assert_str_eq(logged(), "<7>e m\n<6>e m n=1\n<4>e m\n<3>e m\n");
	log_release(&logger);
	log_init(&logger, LOG_FORMAT_TEXT, LOG_LEVEL_DEBUG, LOG_KEYS_FULL, ends[1]);
	log_event(&logger, LOG_LEVEL_INFO, "e", "m", NULL);
	expect_match(logged(), "^" TIME " info  e m\n$");
	log_release(&logger);
	setenv("JOURNAL_STREAM", "1:1", 1); /* of another descriptor: a child of a service, say */
	log_init(&logger, LOG_FORMAT_AUTO, LOG_LEVEL_DEBUG, LOG_KEYS_FULL, ends[1]);
	log_event(&logger, LOG_LEVEL_INFO, "e", "m", NULL);
	expect_match(logged(), "^" TIME " info  e m\n$");
}
END_TEST

START_TEST(limits)
{
	struct log_limit limit = {.burst = 2, .interval_ms = 1000};

	ck_assert(log_limit(&limit, 5000));
	ck_assert(log_limit(&limit, 5001));
	ck_assert(!log_limit(&limit, 5002));
	ck_assert(!log_limit(&limit, 5999));
	ck_assert(log_limit(&limit, 6000));
	ck_assert_uint_eq(limit.suppressed, 2);
	ck_assert(log_limit(&limit, 6999));
	ck_assert_uint_eq(limit.suppressed, 0);
	ck_assert(!log_limit(&limit, 6999));
	ck_assert(log_limit(&limit, 90000));
	ck_assert_uint_eq(limit.suppressed, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tc = tcase_create("log");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, text_line);
	tcase_add_test(tc, levels);
	tcase_add_test(tc, text_values);
	tcase_add_test(tc, text_injection);
	tcase_add_test(tc, keys);
	tcase_add_test(tc, json_line);
	tcase_add_test(tc, sizes_of_text);
	tcase_add_test(tc, sizes_of_json);
	tcase_add_test(tc, long_value_is_cut);
	tcase_add_test(tc, full_pipe_does_not_block);
	tcase_add_test(tc, shared_descriptor_is_left_alone);
	tcase_add_test(tc, reader_is_gone);
	tcase_add_test(tc, no_descriptor);
	tcase_add_test(tc, disk_is_full);
	tcase_add_test(tc, full_socket_does_not_block);
	tcase_add_test(tc, torn_line_is_ended);
	tcase_add_test(tc, journal);
	tcase_add_test(tc, limits);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
