/*
 * check_stats.c - the text of the metrics, read back by a small parser of its own.
 *
 * Every counter has a number of its own here, so that two that were mixed up show.
 */
#include "../server/stats.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct stats stats;
static struct stats_view view;
static char text[STATS_MAX_TEXT + 1];

static void setup(void)
{
	memset(&stats, 0, sizeof(stats));
	view = (struct stats_view){.version = "1.2.3", .counts_age_ms = -1};
}

static void format(void)
{
	size_t len = stats_format(&stats, &view, text, sizeof(text) - 1);

	ck_assert_uint_gt(len, 0);
	text[len] = 0;
}

/* A whole line of the text. */
static void expect_line(const char *line)
{
	size_t len = strlen(line);

	for (const char *at = text; (at = strstr(at, line)); at++)
		if ((at == text || at[-1] == '\n') && at[len] == '\n')
			return;
	ck_abort_msg("no line \"%s\" in:\n%s", line, text);
}

START_TEST(counters)
{
	static const enum verb settles[] = {VERB_COMPLETE, VERB_FAIL,    VERB_RELEASE,
					    VERB_DOUBT,    VERB_RESOLVE, VERB_FORGET};
	static const char *const verb[] = {"complete", "fail", "release", "doubt", "resolve", "forget"};
	char line[160];
	unsigned n = 100;

	for (enum word word = 0; word < WORD__COUNT; word++)
		stats.claims[word] = n++;
	for (size_t i = 0; i < 6; i++)
		for (enum word word = 0; word < WORD__COUNT; word++)
			stats.settlements[settles[i]][word] = n++;
	for (enum err err = 0; err < ERR__COUNT; err++)
		stats.errors[err] = n++;
	stats.requests = n++;
	stats.parse_refusals = n++;
	stats.connections_total = n++;
	stats.connections = n++;
	stats.takeovers = n++;
	stats.undone_wins = n++;
	stats.unreadable_records = n;
	format();
	n = 100;
	snprintf(line, sizeof(line), "claimd_claims_total{outcome=\"won\"} %u", n + WORD_WON);
	expect_line(line);
	snprintf(line, sizeof(line), "claimd_claims_total{outcome=\"mismatch\"} %u", n + WORD_MISMATCH);
	expect_line(line);
	snprintf(line, sizeof(line), "claimd_claims_total{outcome=\"error\"} %u", n + WORD_ERR);
	expect_line(line);
	n += WORD__COUNT;
	for (size_t i = 0; i < 6; i++) {
		snprintf(line, sizeof(line), "claimd_settlements_total{verb=\"%s\",result=\"ok\"} %u", verb[i],
			 n + WORD_OK);
		expect_line(line);
		snprintf(line, sizeof(line), "claimd_settlements_total{verb=\"%s\",result=\"error\"} %u", verb[i],
			 n + WORD_ERR);
		expect_line(line);
		snprintf(line, sizeof(line), "claimd_settlements_total{verb=\"%s\",result=\"held\"} %u", verb[i],
			 n + WORD_HELD);
		expect_line(line);
		n += WORD__COUNT;
	}
	for (enum err err = 1; err < ERR__COUNT; err++) {
		snprintf(line, sizeof(line), "claimd_errors_total{code=\"%.*s\"} %u", (int)err_name(err).len,
			 err_name(err).data, n + err);
		expect_line(line);
	}
	n += ERR__COUNT;
	static const char *const single[] = {"claimd_requests_total %u",          "claimd_parse_refusals_total %u",
					     "claimd_connections_total %u",       "claimd_connections %u",
					     "claimd_takeovers_total %u",         "claimd_undone_wins_total %u",
					     "claimd_unreadable_records_total %u"};
	for (size_t i = 0; i < 7; i++) {
		char *at;

		strcpy(line, single[i]);
		at = strchr(line, '%');
		snprintf(at, 16, "%u", n++);
		expect_line(line);
	}
}
END_TEST

START_TEST(fresh_daemon)
{
	format();
	expect_line("claimd_claims_total{outcome=\"won\"} 0");
	expect_line("claimd_settlements_total{verb=\"complete\",result=\"ok\"} 0");
	expect_line("claimd_settlements_total{verb=\"complete\",result=\"stale\"} 0");
	expect_line("claimd_settlements_total{verb=\"complete\",result=\"error\"} 0");
	expect_line("claimd_claim_duration_seconds_bucket{le=\"+Inf\"} 0");
	expect_line("claimd_claim_duration_seconds_sum 0");
	expect_line("claimd_build_info{version=\"1.2.3\"} 1");
	ck_assert_ptr_null(strstr(text, "result=\"held\""));
}
END_TEST

START_TEST(view_of_the_moment)
{
	view = (struct stats_view){.version = "1.2.3",
				   .uptime_ms = 61250,
				   .store_up = true,
				   .draining = true,
				   .store_applied = 11,
				   .store_lost = 12,
				   .store_refused = 13,
				   .store_uncertain = 14,
				   .in_flight = 15,
				   .log_dropped = 16,
				   .kept_settlements = 21,
				   .waiters = 22,
				   .counts_age_ms = 0,
				   .live_claims = 17,
				   .unresolved_records = 18,
				   .oldest_unresolved_age_ms = 19};
	format();
	expect_line("claimd_uptime_seconds 61.25");
	expect_line("claimd_store_up 1");
	expect_line("claimd_draining 1");
	expect_line("claimd_store_operations_total{result=\"applied\"} 11");
	expect_line("claimd_store_operations_total{result=\"lost\"} 12");
	expect_line("claimd_store_operations_total{result=\"refused\"} 13");
	expect_line("claimd_store_operations_total{result=\"uncertain\"} 14");
	expect_line("claimd_store_operations_in_flight 15");
	expect_line("claimd_log_dropped_total 16");
	expect_line("claimd_kept_settlements 21");
	expect_line("claimd_waiters 22");
	expect_line("claimd_live_claims 17");
	expect_line("claimd_unresolved_records 18");
	expect_line("claimd_oldest_unresolved_age_seconds 0.019");
	expect_line("claimd_counts_age_seconds 0");
	view.store_up = view.draining = false;
	format();
	expect_line("claimd_store_up 0");
	expect_line("claimd_draining 0");
}
END_TEST

/* What was never counted is not zero: an alert on it must not fall silent. */
START_TEST(not_counted_yet)
{
	view.live_claims = view.unresolved_records = 5;
	format();
	ck_assert_ptr_null(strstr(text, "live_claims"));
	ck_assert_ptr_null(strstr(text, "unresolved"));
	ck_assert_ptr_null(strstr(text, "counts_age"));
}
END_TEST

START_TEST(histograms)
{
	stats_observe(&stats, STATS_CLAIM_DURATION, 100); /* a bound belongs to its bucket */
	stats_observe(&stats, STATS_CLAIM_DURATION, 101);
	stats_observe(&stats, STATS_CLAIM_DURATION, -5);
	stats_observe(&stats, STATS_CLAIM_DURATION, 3000000);
	stats_observe(&stats, STATS_CLAIM_DURATION, 10000001);
	stats_observe(&stats, STATS_STORE_DURATION, 2500);
	stats_observe(&stats, STATS_HOLD_DURATION, INT64_C(86400000001));
	stats_observe(&stats, STATS_LEASE_USED, 790000);
	stats_observe(&stats, STATS_LEASE_USED, 1000000);
	format();
	expect_line("claimd_claim_duration_seconds_bucket{le=\"0.0001\"} 2");
	expect_line("claimd_claim_duration_seconds_bucket{le=\"0.00025\"} 3");
	expect_line("claimd_claim_duration_seconds_bucket{le=\"2.5\"} 3");
	expect_line("claimd_claim_duration_seconds_bucket{le=\"5\"} 4");
	expect_line("claimd_claim_duration_seconds_bucket{le=\"10\"} 4");
	expect_line("claimd_claim_duration_seconds_bucket{le=\"+Inf\"} 5");
	expect_line("claimd_claim_duration_seconds_sum 13.000202");
	expect_line("claimd_claim_duration_seconds_count 5");
	expect_line("claimd_store_operation_duration_seconds_bucket{le=\"0.001\"} 0");
	expect_line("claimd_store_operation_duration_seconds_bucket{le=\"0.0025\"} 1");
	expect_line("claimd_hold_duration_seconds_bucket{le=\"86400\"} 0");
	expect_line("claimd_hold_duration_seconds_bucket{le=\"+Inf\"} 1");
	expect_line("claimd_hold_duration_seconds_sum 86400.000001");
	expect_line("claimd_lease_used_ratio_bucket{le=\"0.75\"} 0");
	expect_line("claimd_lease_used_ratio_bucket{le=\"0.8\"} 1");
	expect_line("claimd_lease_used_ratio_bucket{le=\"1\"} 2");
	expect_line("claimd_lease_used_ratio_sum 1.79");
}
END_TEST

/* ---- the text as a whole ---- */

static bool is_label(const char *name, size_t len)
{
	static const char *const known[] = {"outcome", "verb", "result", "code", "version", "le"};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i]) == len && memcmp(known[i], name, len) == 0)
			return true;
	return false;
}

/* `name{label="value",...} number`; leaves the last value of le in *le. */
static void check_sample(const char *line, const char *family, const char *type, double *le, double *value)
{
	size_t len = strlen(family);
	const char *at = line + len;
	char *end;

	ck_assert_msg(strncmp(line, family, len) == 0, "%s is not under its family %s", line, family);
	*le = NAN;
	if (strcmp(type, "histogram") == 0) {
		ck_assert(strncmp(at, "_bucket{", 8) == 0 || strncmp(at, "_sum ", 5) == 0 ||
			  strncmp(at, "_count ", 7) == 0);
		at += strcspn(at, "{ ");
	}
	if (*at == '{') {
		do {
			const char *equals = strchr(++at, '=');

			ck_assert_ptr_nonnull(equals);
			ck_assert_msg(is_label(at, (size_t)(equals - at)), "a new label: %s", line);
			ck_assert_int_eq(equals[1], '"');
			if (strncmp(at, "le=", 3) == 0)
				*le = strtod(equals + 2, NULL);
			at = strchr(equals + 2, '"') + 1;
		} while (*at == ',');
		ck_assert_int_eq(*at++, '}');
	}
	ck_assert_int_eq(*at++, ' ');
	*value = strtod(at, &end);
	ck_assert_msg(end > at && *end == 0 && *value >= 0, "no number: %s", line);
}

/* Each family once, with its help and type in front; names as is the custom; buckets that rise to their count. */
static void check_text(void)
{
	static char seen[STATS_MAX_TEXT];
	char *rest, *line;
	char family[80] = "", type[16] = "", once[96];
	double le, value, last_le = -1, last_value = 0;

	strcpy(seen, "\n");
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, "# HELP ", 7) == 0) {
			ck_assert_int_eq(sscanf(line, "# HELP %79s %*c", family), 1);
			ck_assert(strncmp(family, "claimd_", 7) == 0);
			snprintf(once, sizeof(once), "\n%s\n", family);
			ck_assert_msg(strstr(seen, once) == NULL, "twice: %s", family);
			strcat(strcat(seen, family), "\n");
			line = strtok_r(NULL, "\n", &rest);
			snprintf(once, sizeof(once), "# TYPE %s %%15s", family);
			ck_assert_int_eq(strncmp(line, once, strlen(once) - 5), 0);
			strcpy(type, strrchr(line, ' ') + 1);
			ck_assert(strcmp(type, "counter") == 0 || strcmp(type, "gauge") == 0 ||
				  strcmp(type, "histogram") == 0);
			ck_assert_int_eq(strcmp(type, "counter") == 0,
					 strcmp(family + strlen(family) - strlen("_total"), "_total") == 0);
			last_le = -1;
			last_value = 0;
			continue;
		}
		check_sample(line, family, type, &le, &value);
		if (!isnan(le)) {
			ck_assert_msg(le > last_le && value >= last_value, "buckets fall: %s", line);
			last_le = le;
			last_value = value;
		} else if (strcmp(type, "histogram") == 0 && strstr(line, "_count ")) {
			ck_assert(isinf(last_le) && value == last_value);
		}
	}
}

START_TEST(text_is_well_formed)
{
	format();
	check_text();
	view.counts_age_ms = 1;
	for (size_t i = 0; i < STATS_HISTOGRAMS; i++)
		for (int64_t n = 1; n < INT64_C(1) << 40; n = n * 3 / 2 + 1)
			stats_observe(&stats, (enum stats_histogram)i, n);
	memset(stats.settlements, 1, sizeof(stats.settlements));
	format();
	check_text();
}
END_TEST

/* STATS_MAX_TEXT is promised to be enough, and less is refused rather than cut. */
START_TEST(room)
{
	static char small[STATS_MAX_TEXT + 1];
	size_t len;

	memset(&stats, 0xff, sizeof(stats));
	view = (struct stats_view){.version = "10.20.30-rc40",
				   .uptime_ms = INT64_MAX,
				   .store_applied = UINT64_MAX,
				   .store_lost = UINT64_MAX,
				   .store_refused = UINT64_MAX,
				   .store_uncertain = UINT64_MAX,
				   .in_flight = INT64_MAX,
				   .log_dropped = UINT64_MAX,
				   .counts_age_ms = INT64_MAX,
				   .live_claims = INT64_MAX,
				   .unresolved_records = INT64_MAX,
				   .oldest_unresolved_age_ms = INT64_MAX};
	len = stats_format(&stats, &view, text, STATS_MAX_TEXT);
	ck_assert_uint_gt(len, 0);
	for (size_t cap = 0; cap < len; cap++) {
		small[cap] = '!';
		ck_assert_uint_eq(stats_format(&stats, &view, small, cap), 0);
		ck_assert_int_eq(small[cap], '!');
	}
	ck_assert_uint_eq(stats_format(&stats, &view, small, len), len);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stats");
	TCase *tc = tcase_create("stats");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, counters);
	tcase_add_test(tc, fresh_daemon);
	tcase_add_test(tc, view_of_the_moment);
	tcase_add_test(tc, not_counted_yet);
	tcase_add_test(tc, histograms);
	tcase_add_test(tc, text_is_well_formed);
	tcase_add_test(tc, room);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
