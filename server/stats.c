/*
 * stats.c - see stats.h. The counters are added to by dispatch, conn and server; the text is asked for by STATS and by
 * GET /metrics. Pure: what is not in the two structs does not exist here.
 *
 * The text is bounded, since no label comes from outside: it cannot fail but for room.
 */
#include "stats.h"

#include <string.h>

#define MILLION 1000000

/* Upper bounds in millionths, rising; 0 ends them. */
static const int64_t call_bounds[STATS_MAX_BUCKETS + 1] = {
    100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000};
static const int64_t hold_bounds[STATS_MAX_BUCKETS + 1] = {10000,
							   100000,
							   500000,
							   1 * MILLION,
							   5 * MILLION,
							   15 * MILLION,
							   60 * MILLION,
							   300 * MILLION,
							   900 * MILLION,
							   INT64_C(3600) * MILLION,
							   INT64_C(14400) * MILLION,
							   INT64_C(86400) * MILLION};
static const int64_t ratio_bounds[STATS_MAX_BUCKETS + 1] = {10000,  50000,  100000, 250000,  500000,  750000,
							    800000, 900000, 950000, 1000000, 1500000, 5000000};

struct histogram_info {
	const char *name, *help;
	const int64_t *bounds;
};

static const struct histogram_info histogram_info[STATS_HISTOGRAMS] = {
    [STATS_CLAIM_DURATION] = {"claimd_claim_duration_seconds", "From a CLAIM to its answer.", call_bounds},
    [STATS_STORE_DURATION] = {"claimd_store_operation_duration_seconds",
			      "From an operation's start in the store to its answer.", call_bounds},
    [STATS_HOLD_DURATION] = {"claimd_hold_duration_seconds", "From a win to its settlement.", hold_bounds},
    [STATS_LEASE_USED] = {"claimd_lease_used_ratio",
			  "How much of its lease had passed when a claim was settled; near 1 the lease is too short.",
			  ratio_bounds},
};

void stats_observe(struct stats *stats, enum stats_histogram which, int64_t millionths)
{
	struct stats_buckets *buckets = &stats->histogram[which];
	const int64_t *bounds = histogram_info[which].bounds;
	size_t i = 0;

	if (millionths < 0)
		millionths = 0;
	while (bounds[i] && millionths > bounds[i])
		i++;
	buckets->count[i]++;
	buckets->total++;
	buckets->sum += (uint64_t)millionths;
}

/* ---- the text ---- */

static void write_unsigned(struct writer *w, uint64_t n)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	writer_bytes(w, digits + at, sizeof(digits) - at);
}

/* n / scale as a decimal without needless zeros; scale is a power of ten. */
static void write_scaled(struct writer *w, uint64_t n, uint64_t scale)
{
	uint64_t rest = n % scale;

	write_unsigned(w, n / scale);
	if (rest)
		writer_char(w, '.');
	while (rest) {
		scale /= 10;
		writer_char(w, (char)('0' + rest / scale));
		rest %= scale;
	}
}

static void write_lower(struct writer *w, struct slice name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.data[i];

		writer_char(w, (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c));
	}
}

static void write_about(struct writer *w, const char *name, const char *type, const char *help)
{
	writer_text(w, "# HELP ");
	writer_text(w, name);
	writer_char(w, ' ');
	writer_text(w, help);
	writer_text(w, "\n# TYPE ");
	writer_text(w, name);
	writer_char(w, ' ');
	writer_text(w, type);
	writer_char(w, '\n');
}

/* A family with one line and no label. */
static void write_single(struct writer *w, const char *name, const char *type, const char *help, uint64_t n,
			 uint64_t scale)
{
	write_about(w, name, type, help);
	writer_text(w, name);
	writer_char(w, ' ');
	write_scaled(w, n, scale);
	writer_char(w, '\n');
}

static void write_counter(struct writer *w, const char *name, const char *help, uint64_t n)
{
	write_single(w, name, "counter", help, n, 1);
}

/* Below 0 there is nothing that these gauges could mean. */
static void write_gauge(struct writer *w, const char *name, const char *help, int64_t n, uint64_t scale)
{
	write_single(w, name, "gauge", help, n > 0 ? (uint64_t)n : 0, scale);
}

/* `name{label="value"` or, with label NULL, `,` and so on for a second one: the caller closes the brace. */
static void write_label(struct writer *w, const char *open, const char *label, struct slice value)
{
	writer_text(w, open);
	writer_text(w, label);
	writer_text(w, "=\"");
	write_lower(w, value);
	writer_char(w, '"');
}

static void write_end(struct writer *w, uint64_t n)
{
	writer_text(w, "} ");
	write_unsigned(w, n);
	writer_char(w, '\n');
}

/* ERR is a word on the wire; here it is a result. */
static struct slice result_name(enum word word)
{
	return word == WORD_ERR ? SLICE_OF("error") : word_name(word);
}

static void write_claims(struct writer *w, const struct stats *stats)
{
	static const enum word outcome[] = {WORD_WON,      WORD_HELD,    WORD_DONE, WORD_FAILED,
					    WORD_MISMATCH, WORD_UNKNOWN, WORD_ERR};

	write_about(w, "claimd_claims_total", "counter", "CLAIMs by what was answered.");
	for (size_t i = 0; i < sizeof(outcome) / sizeof(outcome[0]); i++) {
		write_label(w, "claimd_claims_total{", "outcome", result_name(outcome[i]));
		write_end(w, stats->claims[outcome[i]]);
	}
}

/* What every settlement can be told is always there; what only an operator can be told, when it was. */
static void write_settlements(struct writer *w, const struct stats *stats)
{
	static const enum verb verb[] = {VERB_COMPLETE, VERB_FAIL, VERB_RELEASE, VERB_DOUBT, VERB_RESOLVE, VERB_FORGET};

	write_about(w, "claimd_settlements_total", "counter",
		    "Settlements of claims by verb and by what was answered.");
	for (size_t i = 0; i < sizeof(verb) / sizeof(verb[0]); i++) {
		for (enum word word = WORD_NONE + 1; word < WORD__COUNT; word++) {
			bool always = word == WORD_OK || word == WORD_STALE || word == WORD_ERR;

			if (!always && stats->settlements[verb[i]][word] == 0)
				continue;
			write_label(w, "claimd_settlements_total{", "verb", verb_info(verb[i])->name);
			write_label(w, ",", "result", result_name(word));
			write_end(w, stats->settlements[verb[i]][word]);
		}
	}
}

static void write_errors(struct writer *w, const struct stats *stats)
{
	write_about(w, "claimd_errors_total", "counter", "Requests that were answered ERR, by its code.");
	for (enum err err = ERR_NONE + 1; err < ERR__COUNT; err++) {
		write_label(w, "claimd_errors_total{", "code", err_name(err));
		write_end(w, stats->errors[err]);
	}
}

static void write_bucket(struct writer *w, const char *name, struct slice bound, uint64_t n)
{
	writer_text(w, name);
	writer_text(w, "_bucket{le=\"");
	writer_slice(w, bound);
	writer_text(w, "\"} ");
	write_unsigned(w, n);
	writer_char(w, '\n');
}

static void write_histogram(struct writer *w, const struct histogram_info *info, const struct stats_buckets *buckets)
{
	uint64_t below = 0;

	write_about(w, info->name, "histogram", info->help);
	for (size_t i = 0; info->bounds[i]; i++) {
		char text[32];
		struct writer bound;

		writer_init(&bound, text, sizeof(text));
		write_scaled(&bound, (uint64_t)info->bounds[i], MILLION);
		below += buckets->count[i];
		write_bucket(w, info->name, writer_done(&bound), below);
	}
	write_bucket(w, info->name, SLICE_OF("+Inf"), buckets->total);
	writer_text(w, info->name);
	writer_text(w, "_sum ");
	write_scaled(w, buckets->sum, MILLION);
	writer_char(w, '\n');
	writer_text(w, info->name);
	writer_text(w, "_count ");
	write_unsigned(w, buckets->total);
	writer_char(w, '\n');
}

static void write_store(struct writer *w, const struct stats_view *view)
{
	const struct {
		struct slice result;
		uint64_t n;
	} ended[] = {
	    {SLICE_OF("applied"), view->store_applied},
	    {SLICE_OF("lost"), view->store_lost},
	    {SLICE_OF("refused"), view->store_refused},
	    {SLICE_OF("uncertain"), view->store_uncertain},
	};

	write_gauge(w, "claimd_store_up", "1 while the store answers.", view->store_up, 1);
	write_gauge(w, "claimd_store_operations_in_flight", "Operations that the store has not answered.",
		    (int64_t)view->in_flight, 1);
	write_about(w, "claimd_store_operations_total", "counter",
		    "Operations by how they ended; lost: the record said no.");
	for (size_t i = 0; i < sizeof(ended) / sizeof(ended[0]); i++) {
		write_label(w, "claimd_store_operations_total{", "result", ended[i].result);
		write_end(w, ended[i].n);
	}
	if (view->counts_age_ms < 0)
		return;
	write_gauge(w, "claimd_live_claims", "Claims whose lease runs, when they were last counted.", view->live_claims,
		    1);
	write_gauge(w, "claimd_unresolved_records", "Records that wait for a person, when they were last counted.",
		    view->unresolved_records, 1);
	write_gauge(w, "claimd_oldest_unresolved_age_seconds", "Age of the oldest of them; 0: there is none.",
		    view->oldest_unresolved_age_ms, 1000);
	write_gauge(w, "claimd_counts_age_seconds", "How long ago records were counted.", view->counts_age_ms, 1000);
}

static void write_daemon(struct writer *w, const struct stats *stats, const struct stats_view *view)
{
	write_about(w, "claimd_build_info", "gauge", "The version that runs.");
	write_label(w, "claimd_build_info{", "version", slice_from(view->version));
	write_end(w, 1);
	write_gauge(w, "claimd_uptime_seconds", "Since the daemon started.", view->uptime_ms, 1000);
	write_gauge(w, "claimd_draining", "1 while the daemon is leaving.", view->draining, 1);
	write_gauge(w, "claimd_connections", "Clients that are connected.", (int64_t)stats->connections, 1);
	write_counter(w, "claimd_connections_total", "Connections that were accepted.", stats->connections_total);
	write_counter(w, "claimd_requests_total", "Requests that came in.", stats->requests);
	write_counter(w, "claimd_parse_refusals_total", "Requests that were not understood.", stats->parse_refusals);
	write_gauge(w, "claimd_waiters", "Calls that wait for a key to become free.", (int64_t)view->waiters, 1);
	write_gauge(w, "claimd_kept_settlements",
		    "Settlements that the store could not take yet and that are tried on.",
		    (int64_t)view->kept_settlements, 1);
	write_counter(w, "claimd_log_dropped_total", "Lines of the log that could not be written.", view->log_dropped);
}

size_t stats_format(const struct stats *stats, const struct stats_view *view, char *out, size_t cap)
{
	struct writer w;

	writer_init(&w, out, cap);
	write_daemon(&w, stats, view);
	write_store(&w, view);
	write_claims(&w, stats);
	write_settlements(&w, stats);
	write_errors(&w, stats);
	write_counter(&w, "claimd_takeovers_total", "Wins of a key whose last holder did not finish in its lease.",
		      stats->takeovers);
	write_counter(&w, "claimd_undone_wins_total", "Wins given back, since nobody can have heard of them.",
		      stats->undone_wins);
	write_counter(&w, "claimd_unreadable_records_total", "Answers refused because a record could not be read.",
		      stats->unreadable_records);
	for (size_t i = 0; i < STATS_HISTOGRAMS; i++)
		write_histogram(&w, &histogram_info[i], &stats->histogram[i]);
	return w.full ? 0 : w.len;
}
