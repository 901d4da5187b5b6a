/*
 * stats_text.c - the counters as text; see stats.h. Asked for by STATS and by GET /metrics. Pure: what is not in the two
 * structs does not exist here.
 *
 * Prometheus' own format and OpenMetrics differ in how a family is called (a counter's without its _total), in units, in
 * the last line, and in nothing else. The samples are the same to the octet, so that a series does not break when the
 * scraper asks for the other one; hence bounds like "1.0", which OpenMetrics wants.
 *
 * The text is bounded, since no label comes from outside: it cannot fail but for room.
 */
#include "stats.h"

#include <string.h>

#include "events.h"

#define MILLION 1000000

struct text {
	struct writer w;
	bool open; /* OpenMetrics */
};

enum family { COUNTER, GAUGE, HISTOGRAM, INFO };

struct histogram_info {
	const char *name, *help;
	const char *op; /* a label; NULL: none */
};

#define STORE_DURATION \
	"claimd_store_operation_duration_seconds", "From an operation's start in the store to its answer."

static const struct histogram_info histogram_info[STATS_HISTOGRAMS] = {
    [STATS_CLAIM_DURATION] = {"claimd_claim_duration_seconds", "From a CLAIM to its answer.", NULL},
    [STATS_STORE_CLAIM] = {STORE_DURATION, "claim"},
    [STATS_STORE_RENEW] = {STORE_DURATION, "renew"},
    [STATS_STORE_SETTLE] = {STORE_DURATION, "settle"},
    [STATS_STORE_READ] = {STORE_DURATION, "read"},
    [STATS_STORE_WALK] = {STORE_DURATION, "walk"},
    [STATS_HOLD_DURATION] = {"claimd_hold_duration_seconds", "From a win to its settlement.", NULL},
    [STATS_LEASE_USED] = {"claimd_lease_used_ratio",
			  "How much of a lease had passed when it was renewed or settled; near 1 it is too short.",
			  NULL},
};

/* ---- numbers and names ---- */

static void write_unsigned(struct text *t, uint64_t n)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	writer_bytes(&t->w, digits + at, sizeof(digits) - at);
}

/* n / scale as a decimal without needless zeros; scale is a power of ten. */
static void write_scaled(struct text *t, uint64_t n, uint64_t scale)
{
	uint64_t rest = n % scale;

	write_unsigned(t, n / scale);
	if (rest)
		writer_char(&t->w, '.');
	while (rest) {
		scale /= 10;
		writer_char(&t->w, (char)('0' + rest / scale));
		rest %= scale;
	}
}

static void write_lower(struct text *t, struct slice name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.data[i];

		writer_char(&t->w, (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c));
	}
}

/* ---- lines ---- */

static bool slice_ends(struct slice text, struct slice end)
{
	return text.len >= end.len && memcmp(text.data + text.len - end.len, end.data, end.len) == 0;
}

static void write_comment(struct text *t, const char *what, struct slice family, struct slice says)
{
	writer_text(&t->w, what);
	writer_slice(&t->w, family);
	writer_char(&t->w, ' ');
	writer_slice(&t->w, says);
	writer_char(&t->w, '\n');
}

/* What stands above the samples of a family. `name` is that of its samples, or what their names begin with. */
static void write_about(struct text *t, const char *name, enum family type, const char *help)
{
	static const char *const type_name[] = {"counter", "gauge", "histogram", "info"};
	static const struct slice suffix[] = {SLICE_OF("_total"), {"", 0}, {"", 0}, SLICE_OF("_info")};
	static const struct slice unit[] = {SLICE_OF("seconds"), SLICE_OF("ratio")};
	struct slice family = slice_from(name);

	if (t->open)
		family.len -= suffix[type].len;
	else if (type == INFO)
		type = GAUGE;
	write_comment(t, "# HELP ", family, slice_from(help));
	write_comment(t, "# TYPE ", family, slice_from(type_name[type]));
	for (size_t i = 0; t->open && i < sizeof(unit) / sizeof(unit[0]); i++)
		if (slice_ends(family, unit[i]))
			write_comment(t, "# UNIT ", family, unit[i]);
}

/* A family with one line and no label. */
static void write_single(struct text *t, const char *name, enum family type, const char *help, uint64_t n,
			 uint64_t scale)
{
	write_about(t, name, type, help);
	writer_text(&t->w, name);
	writer_char(&t->w, ' ');
	write_scaled(t, n, scale);
	writer_char(&t->w, '\n');
}

static void write_counter(struct text *t, const char *name, const char *help, uint64_t n)
{
	write_single(t, name, COUNTER, help, n, 1);
}

/* Below 0 there is nothing that these gauges could mean. */
static void write_gauge(struct text *t, const char *name, const char *help, int64_t n, uint64_t scale)
{
	write_single(t, name, GAUGE, help, n > 0 ? (uint64_t)n : 0, scale);
}

/* `open` is "name{" or, for a second label, ",": the caller closes the brace. */
static void write_label(struct text *t, const char *open, const char *label, struct slice value)
{
	writer_text(&t->w, open);
	writer_text(&t->w, label);
	writer_text(&t->w, "=\"");
	write_lower(t, value);
	writer_char(&t->w, '"');
}

static void write_end(struct text *t, uint64_t n)
{
	writer_text(&t->w, "} ");
	write_unsigned(t, n);
	writer_char(&t->w, '\n');
}

/* ---- families ---- */

/* ERR is a word on the wire; here it is a result. */
static struct slice result_name(enum word word)
{
	return word == WORD_ERR ? SLICE_OF("error") : word_name(word);
}

static void write_claims(struct text *t, const struct stats *stats)
{
	static const enum word outcome[] = {WORD_WON,      WORD_HELD,    WORD_DONE, WORD_FAILED,
					    WORD_MISMATCH, WORD_UNKNOWN, WORD_ERR};

	write_about(t, "claimd_claims_total", COUNTER, "CLAIMs by what was answered.");
	for (size_t i = 0; i < sizeof(outcome) / sizeof(outcome[0]); i++) {
		write_label(t, "claimd_claims_total{", "outcome", result_name(outcome[i]));
		write_end(t, stats->claims[outcome[i]]);
	}
}

/* What every settlement can be told is always there; what only an operator can be told, when it was. */
static void write_settlements(struct text *t, const struct stats *stats)
{
	static const enum verb verb[] = {VERB_COMPLETE, VERB_FAIL, VERB_RELEASE, VERB_DOUBT, VERB_RESOLVE, VERB_FORGET};

	write_about(t, "claimd_settlements_total", COUNTER, "Settlements of claims by verb and by what was answered.");
	for (size_t i = 0; i < sizeof(verb) / sizeof(verb[0]); i++) {
		for (enum word word = WORD_NONE + 1; word < WORD__COUNT; word++) {
			bool always = word == WORD_OK || word == WORD_STALE || word == WORD_ERR;

			if (!always && stats->settlements[verb[i]][word] == 0)
				continue;
			write_label(t, "claimd_settlements_total{", "verb", verb_info(verb[i])->name);
			write_label(t, ",", "result", result_name(word));
			write_end(t, stats->settlements[verb[i]][word]);
		}
	}
}

static void write_errors(struct text *t, const struct stats *stats)
{
	write_about(t, "claimd_errors_total", COUNTER, "Requests that were answered ERR, by its code.");
	for (enum err err = ERR_NONE + 1; err < ERR__COUNT; err++) {
		write_label(t, "claimd_errors_total{", "code", err_name(err));
		write_end(t, stats->errors[err]);
	}
}

/* What went wrong while somebody held a key, or was about to. */
static void write_trouble(struct text *t, const struct stats *stats, const struct stats_view *view)
{
	write_counter(t, "claimd_takeovers_total", "Wins of a key whose last holder did not finish in its lease.",
		      stats->takeovers);
	write_about(t, "claimd_leases_lost_total", COUNTER, "Claims that were lost while their holder lived, by how.");
	for (size_t i = 0; i < LOST__COUNT; i++) {
		write_label(t, "claimd_leases_lost_total{", "cause", lost_cause_name((enum lost_cause)i));
		write_end(t, stats->leases_lost[i]);
	}
	write_counter(t, "claimd_unguarded_total", "WON that no record stands behind, since the store was down.",
		      stats->unguarded);
	write_counter(t, "claimd_denied_total", "Connections and requests that were refused for who asked.",
		      stats->denied);
	write_counter(t, "claimd_undone_wins_total", "Wins given back, since nobody can have heard of them.",
		      view->undone_wins);
	write_counter(t, "claimd_unreadable_records_total", "Answers refused because a record could not be read.",
		      stats->unreadable_records);
}

static void write_bucket(struct text *t, const struct histogram_info *info, int64_t bound, uint64_t n)
{
	writer_text(&t->w, info->name);
	writer_text(&t->w, "_bucket{");
	if (info->op) {
		write_label(t, "", "op", slice_from(info->op));
		writer_char(&t->w, ',');
	}
	writer_text(&t->w, "le=\"");
	if (bound == 0)
		writer_text(&t->w, "+Inf");
	else
		write_scaled(t, (uint64_t)bound, MILLION);
	if (bound && bound % MILLION == 0)
		writer_text(&t->w, ".0");
	writer_char(&t->w, '"');
	write_end(t, n);
}

/* "name_sum{op="claim"} " and the like. */
static void write_part(struct text *t, const struct histogram_info *info, const char *part)
{
	writer_text(&t->w, info->name);
	writer_text(&t->w, part);
	if (info->op) {
		write_label(t, "{", "op", slice_from(info->op));
		writer_char(&t->w, '}');
	}
	writer_char(&t->w, ' ');
}

static void write_histogram(struct text *t, enum stats_histogram which, const struct stats_buckets *buckets)
{
	const struct histogram_info *info = &histogram_info[which];
	const int64_t *bound = stats_bounds(which);
	uint64_t below = 0;

	if (which == 0 || strcmp(info->name, info[-1].name) != 0)
		write_about(t, info->name, HISTOGRAM, info->help);
	for (size_t i = 0; bound[i]; i++) {
		below += buckets->count[i];
		write_bucket(t, info, bound[i], below);
	}
	write_bucket(t, info, 0, buckets->total);
	write_part(t, info, "_sum");
	write_scaled(t, buckets->sum, MILLION);
	writer_char(&t->w, '\n');
	write_part(t, info, "_count");
	write_unsigned(t, buckets->total);
	writer_char(&t->w, '\n');
}

/* Why ops failed: what a store says is always there; anything else, when it was. */
static void write_store_errors(struct text *t, const struct stats_view *view)
{
	write_about(t, "claimd_store_errors_total", COUNTER, "Operations that the store refused or left uncertain.");
	for (enum err err = ERR_NONE + 1; err < ERR__COUNT; err++) {
		bool always = err == ERR_STORE || err == ERR_TIMEOUT || err == ERR_BUSY;

		if (!always && view->store_errors[err] == 0)
			continue;
		write_label(t, "claimd_store_errors_total{", "error_type", err_name(err));
		write_end(t, view->store_errors[err]);
	}
}

static void write_store(struct text *t, const struct stats_view *view)
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

	write_gauge(t, "claimd_store_up", "1 while the store answers.", view->store_up, 1);
	write_gauge(t, "claimd_store_operations_in_flight", "Operations that the store has not answered.",
		    (int64_t)view->in_flight, 1);
	write_about(t, "claimd_store_operations_total", COUNTER,
		    "Operations by how they ended; lost: the record said no.");
	for (size_t i = 0; i < sizeof(ended) / sizeof(ended[0]); i++) {
		write_label(t, "claimd_store_operations_total{", "result", ended[i].result);
		write_end(t, ended[i].n);
	}
	write_store_errors(t, view);
	write_gauge(t, "claimd_kept_settlements",
		    "Settlements that the store could not take yet and that are tried on.",
		    (int64_t)view->kept_settlements, 1);
	write_counter(t, "claimd_kept_settlements_given_up_total",
		      "Settlements that the store never took: work was done and that is not recorded.",
		      view->kept_given_up);
}

/* Records as they were last counted. Before that there is nothing to say: a 0 would calm somebody. */
static void write_counts(struct text *t, const struct stats_view *view)
{
	if (view->counts_age_ms < 0)
		return;
	write_gauge(t, "claimd_live_claims", "Claims whose lease runs, when they were last counted.", view->live_claims,
		    1);
	write_gauge(t, "claimd_unresolved_records", "Records that wait for a person, when they were last counted.",
		    view->unresolved_records, 1);
	write_gauge(t, "claimd_oldest_unresolved_age_seconds", "Age of the oldest of them; 0: there is none.",
		    view->oldest_unresolved_age_ms, 1000);
	write_gauge(t, "claimd_counts_age_seconds", "How long ago records were counted.", view->counts_age_ms, 1000);
}

static void write_daemon(struct text *t, const struct stats *stats, const struct stats_view *view)
{
	write_about(t, "claimd_build_info", INFO, "The version that runs.");
	write_label(t, "claimd_build_info{", "version", slice_from(view->version));
	write_end(t, 1);
	write_gauge(t, "claimd_uptime_seconds", "Since the daemon started.", view->uptime_ms, 1000);
	write_gauge(t, "claimd_draining", "1 while the daemon is leaving.", view->draining, 1);
	write_gauge(t, "claimd_connections", "Clients that are connected.", (int64_t)stats->connections, 1);
	/* Not claimd_connections_total: to OpenMetrics that is of the family above. */
	write_counter(t, "claimd_accepted_connections_total", "Connections that were accepted.",
		      stats->connections_total);
	write_counter(t, "claimd_requests_total", "Requests that came in.", stats->requests);
	write_counter(t, "claimd_parse_refusals_total", "Requests that were not understood.", stats->parse_refusals);
	write_gauge(t, "claimd_waiters", "Calls that wait for a key to become free.", (int64_t)view->waiters, 1);
	write_counter(t, "claimd_collapsed_claims_total", "CLAIMs answered by the answer to one before them.",
		      view->collapsed);
	write_counter(t, "claimd_done_cache_hits_total", "CLAIMs of settled keys answered without the store.",
		      view->done_cache_hits);
	write_counter(t, "claimd_log_dropped_total", "Lines of the log that could not be written.", view->log_dropped);
}

static size_t write_all(struct text *t, const struct stats *stats, const struct stats_view *view)
{
	write_daemon(t, stats, view);
	write_store(t, view);
	write_counts(t, view);
	write_claims(t, stats);
	write_settlements(t, stats);
	write_errors(t, stats);
	write_trouble(t, stats, view);
	for (enum stats_histogram i = 0; i < STATS_HISTOGRAMS; i++)
		write_histogram(t, i, &stats->histogram[i]);
	if (t->open)
		writer_text(&t->w, "# EOF\n");
	return t->w.full ? 0 : t->w.len;
}

size_t stats_format(const struct stats *stats, const struct stats_view *view, char *out, size_t cap)
{
	struct text t = {.open = false};

	writer_init(&t.w, out, cap);
	return write_all(&t, stats, view);
}

size_t stats_format_open(const struct stats *stats, const struct stats_view *view, char *out, size_t cap)
{
	struct text t = {.open = true};

	writer_init(&t.w, out, cap);
	return write_all(&t, stats, view);
}
