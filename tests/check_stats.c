/*
 * check_stats.c - the text of the metrics in both formats, read back by a small strict parser of its own.
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
}
END_TEST

START_TEST(counters_without_a_verb)
{
	stats.requests = 1;
	stats.parse_refusals = 2;
	stats.connections_total = 3;
	stats.connections = 4;
	stats.takeovers = 5;
	view.undone_wins = 6;
	view.collapsed = 13;
	view.done_cache_hits = 14;
	stats.unreadable_records = 7;
	stats.unguarded = 8;
	stats.denied = 9;
	stats.leases_lost[LOST_REFUSED] = 10;
	stats.leases_lost[LOST_DOUBT] = 11;
	stats.leases_lost[LOST_TAKEN] = 12;
	format();
	expect_line("claimd_requests_total 1");
	expect_line("claimd_parse_refusals_total 2");
	expect_line("claimd_accepted_connections_total 3");
	expect_line("claimd_connections 4");
	expect_line("claimd_takeovers_total 5");
	expect_line("claimd_undone_wins_total 6");
	expect_line("claimd_collapsed_claims_total 13");
	expect_line("claimd_done_cache_hits_total 14");
	expect_line("claimd_unreadable_records_total 7");
	expect_line("claimd_unguarded_total 8");
	expect_line("claimd_denied_total 9");
	expect_line("claimd_leases_lost_total{cause=\"refused\"} 10");
	expect_line("claimd_leases_lost_total{cause=\"doubt\"} 11");
	expect_line("claimd_leases_lost_total{cause=\"taken\"} 12");
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
				   .kept_given_up = 23,
				   .waiters = 22,
				   .counts_age_ms = 0,
				   .live_claims = 17,
				   .unresolved_records = 18,
				   .oldest_unresolved_age_ms = 19};
	view.store_errors[ERR_STORE] = 24;
	view.store_errors[ERR_TIMEOUT] = 25;
	view.store_errors[ERR_INTERNAL] = 26;
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
	expect_line("claimd_kept_settlements_given_up_total 23");
	expect_line("claimd_store_errors_total{error_type=\"store\"} 24");
	expect_line("claimd_store_errors_total{error_type=\"timeout\"} 25");
	expect_line("claimd_store_errors_total{error_type=\"internal\"} 26");
	expect_line("claimd_store_errors_total{error_type=\"busy\"} 0");
	ck_assert_ptr_null(strstr(text, "error_type=\"syntax\""));
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
	stats_observe(&stats, STATS_STORE_CLAIM, 2500);
	stats_observe(&stats, STATS_STORE_WALK, 2000000);
	stats_observe(&stats, STATS_HOLD_DURATION, INT64_C(86400000001));
	stats_observe(&stats, STATS_LEASE_USED, 790000);
	stats_observe(&stats, STATS_LEASE_USED, 1000000);
	format();
	expect_line("claimd_claim_duration_seconds_bucket{le=\"0.0001\"} 2");
	expect_line("claimd_claim_duration_seconds_bucket{le=\"0.00025\"} 3");
	expect_line("claimd_claim_duration_seconds_bucket{le=\"2.5\"} 3");
	expect_line("claimd_claim_duration_seconds_bucket{le=\"5.0\"} 4");
	expect_line("claimd_claim_duration_seconds_bucket{le=\"10.0\"} 4");
	expect_line("claimd_claim_duration_seconds_bucket{le=\"+Inf\"} 5");
	expect_line("claimd_claim_duration_seconds_sum 13.000202");
	expect_line("claimd_claim_duration_seconds_count 5");
	expect_line("claimd_store_operation_duration_seconds_bucket{op=\"claim\",le=\"0.001\"} 0");
	expect_line("claimd_store_operation_duration_seconds_bucket{op=\"claim\",le=\"0.0025\"} 1");
	expect_line("claimd_store_operation_duration_seconds_sum{op=\"claim\"} 0.0025");
	expect_line("claimd_store_operation_duration_seconds_count{op=\"renew\"} 0");
	expect_line("claimd_store_operation_duration_seconds_count{op=\"settle\"} 0");
	expect_line("claimd_store_operation_duration_seconds_count{op=\"read\"} 0");
	expect_line("claimd_store_operation_duration_seconds_sum{op=\"walk\"} 2");
	expect_line("claimd_store_operation_duration_seconds_count{op=\"walk\"} 1");
	expect_line("claimd_hold_duration_seconds_bucket{le=\"86400.0\"} 0");
	expect_line("claimd_hold_duration_seconds_bucket{le=\"+Inf\"} 1");
	expect_line("claimd_hold_duration_seconds_sum 86400.000001");
	expect_line("claimd_lease_used_ratio_bucket{le=\"0.75\"} 0");
	expect_line("claimd_lease_used_ratio_bucket{le=\"0.8\"} 1");
	expect_line("claimd_lease_used_ratio_bucket{le=\"1.0\"} 2");
	expect_line("claimd_lease_used_ratio_sum 1.79");
}
END_TEST

/* ---- the text as a whole ---- */

static bool is_label(const char *name, size_t len)
{
	static const char *const known[] = {"outcome", "verb",       "result", "code", "version",
					    "cause",   "error_type", "op",     "le"};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i]) == len && memcmp(known[i], name, len) == 0)
			return true;
	return false;
}

/* `name{label="value",...} number`, where name is of that family; leaves the value of le in *le. */
static void check_sample(const char *line, const char *name, bool histogram, double *le, double *value)
{
	size_t len = strlen(name);
	const char *at = line + len;
	char *end;

	ck_assert_msg(strncmp(line, name, len) == 0, "%s is not under its family %s", line, name);
	*le = NAN;
	if (histogram) {
		len = strcspn(at, "{ ");
		ck_assert(strncmp(at, "_bucket", len) == 0 || strncmp(at, "_sum", len) == 0 ||
			  strncmp(at, "_count", len) == 0);
		at += len;
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

static bool ends(const char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);

	return len >= n && strcmp(name + len - n, end) == 0;
}

/* The line says `what` of the family: returns what it says. */
static const char *said(const char *line, const char *what, const char *family)
{
	char start[128];

	ck_assert_ptr_nonnull(line);
	snprintf(start, sizeof(start), "# %s %s ", what, family);
	ck_assert_msg(strncmp(line, start, strlen(start)) == 0, "%s is not %s", line, start);
	return line + strlen(start);
}

/* What a family's samples are called: in OpenMetrics their suffix is not part of the family's name. */
static void sample_name(char name[96], const char *family, const char *type, bool open)
{
	bool counter = strcmp(type, "counter") == 0, info = strcmp(type, "info") == 0;

	ck_assert(counter || strcmp(type, "gauge") == 0 || strcmp(type, "histogram") == 0 || (open && info));
	ck_assert_int_eq(ends(family, "_total"), counter && !open);
	snprintf(name, 96, "%s%s", family, !open ? "" : counter ? "_total" : info ? "_info" : "");
}

/* Each family once, with its help, type and unit in front; names as is the custom; buckets that rise to their count. */
static void check_text(bool open)
{
	static char seen[STATS_MAX_TEXT];
	char *rest = text, *line;
	char family[80] = "", name[96] = "", once[96];
	bool histogram = false, eof = false;
	double le, value, last_le = -1, last_value = 0;

	strcpy(seen, "\n");
	while ((line = strsep(&rest, "\n")) && *line) {
		ck_assert(!eof);
		if (strcmp(line, "# EOF") == 0) {
			eof = true;
		} else if (line[0] == '#') {
			ck_assert_int_eq(sscanf(line, "# HELP %79s %*c", family), 1);
			ck_assert(strncmp(family, "claimd_", 7) == 0);
			snprintf(once, sizeof(once), "\n%s\n", family);
			ck_assert_msg(strstr(seen, once) == NULL, "twice: %s", family);
			strcat(strcat(seen, family), "\n");
			line = strsep(&rest, "\n");
			sample_name(name, family, said(line, "TYPE", family), open);
			histogram = ends(line, " histogram");
			if (open && ends(family, "_seconds"))
				ck_assert_str_eq(said(strsep(&rest, "\n"), "UNIT", family), "seconds");
			else if (open && ends(family, "_ratio"))
				ck_assert_str_eq(said(strsep(&rest, "\n"), "UNIT", family), "ratio");
			last_le = -1;
			last_value = 0;
		} else {
			check_sample(line, name, histogram, &le, &value);
			if (!isnan(le)) {
				ck_assert_msg(le > last_le && value >= last_value, "buckets fall: %s", line);
				last_le = le;
				last_value = value;
			} else if (histogram && strstr(line, "_count")) {
				ck_assert(isinf(last_le) && value == last_value);
				last_le = -1;
				last_value = 0;
			}
		}
	}
	ck_assert_msg(line && !rest, "an empty line, or the last one is not whole");
	ck_assert_int_eq(eof, open);
}

/* The samples of both, without what is said about them. */
static void same_samples(const char *a, const char *b)
{
	for (;;) {
		while (*a == '#')
			a = strchr(a, '\n') + 1;
		while (*b == '#')
			b = strchr(b, '\n') + 1;
		size_t len = strcspn(a, "\n");

		ck_assert_msg(strncmp(a, b, len + 1) == 0, "%.*s is not so in the other format", (int)len, a);
		if (*a == 0)
			return;
		a += len + 1;
		b += len + 1;
	}
}

static void check_both(void)
{
	static char other[STATS_MAX_TEXT + 1];
	size_t len = stats_format_open(&stats, &view, other, sizeof(other) - 1);

	ck_assert_uint_gt(len, 0);
	other[len] = 0;
	format();
	same_samples(text, other);
	check_text(false);
	memcpy(text, other, len + 1);
	check_text(true);
}

START_TEST(text_is_well_formed)
{
	check_both();
	view.counts_age_ms = 1;
	for (size_t i = 0; i < STATS_HISTOGRAMS; i++)
		for (int64_t n = 1; n < INT64_C(1) << 40; n = n * 3 / 2 + 1)
			stats_observe(&stats, (enum stats_histogram)i, n);
	memset(stats.settlements, 1, sizeof(stats.settlements));
	memset(view.store_errors, 1, sizeof(view.store_errors));
	check_both();
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
	memset(view.store_errors, 0xff, sizeof(view.store_errors));
	view.kept_settlements = view.kept_given_up = view.waiters = INT64_MAX;
	view.undone_wins = UINT64_MAX;
	ck_assert_uint_gt(stats_format_open(&stats, &view, text, STATS_MAX_TEXT), 0);
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
	tcase_add_test(tc, counters_without_a_verb);
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
