/*
 * stats.h - what the daemon counts, and its text for Prometheus and whoever reads OpenMetrics.
 *
 * Counters are plain fields; who sees a thing happen adds to them. Nothing that a client chose (a key, an owner, a fence, a
 * message) ever becomes a label.
 */
#ifndef CLAIMD_SERVER_STATS_H
#define CLAIMD_SERVER_STATS_H

#include "../proto/proto.h"
#include "engine.h"

#define STATS_MAX_TEXT 49152 /* octets that the text can ever have */
#define STATS_MAX_BUCKETS 16

/* Those of one family stand together. */
enum stats_histogram {
	STATS_CLAIM_DURATION, /* a CLAIM from its line to its answer, microseconds */
	STATS_STORE_CLAIM,    /* from here: an op from submit to answer, microseconds */
	STATS_STORE_RENEW,
	STATS_STORE_SETTLE,  /* whatever ends a claim or deletes a record */
	STATS_STORE_READ,    /* one record */
	STATS_STORE_WALK,    /* many */
	STATS_HOLD_DURATION, /* from the win to the settlement, microseconds */
	STATS_LEASE_USED, /* how much of a lease had passed when it was renewed or settled, millionths; above 1: late */
	STATS_HISTOGRAMS
};

struct stats_buckets {
	uint64_t count[STATS_MAX_BUCKETS + 1]; /* each for itself, not summed up; the last one in use is "above all" */
	uint64_t total;
	uint64_t sum; /* in millionths of the unit that is shown */
};

struct stats {
	uint64_t claims[WORD__COUNT];                   /* by what was answered; WORD_ERR for a refusal */
	uint64_t settlements[VERB__COUNT][WORD__COUNT]; /* COMPLETE FAIL RELEASE DOUBT RESOLVE FORGET by answer */
	uint64_t errors[ERR__COUNT];                    /* every ERR that was answered, by code */
	uint64_t requests;                              /* lines that asked for something, refused ones too */
	uint64_t parse_refusals;                        /* of them, not understood */
	uint64_t connections_total;
	uint64_t connections;              /* now */
	uint64_t takeovers;                /* wins with was=lapsed: somebody did not finish */
	uint64_t unreadable_records;       /* answers that were refused because of one */
	uint64_t leases_lost[LOST__COUNT]; /* while their holder lived */
	uint64_t unguarded;                /* WON that no record stands behind: on_store_down=run-unguarded */
	uint64_t denied;                   /* connections and requests that were refused for who asked */
	struct stats_buckets histogram[STATS_HISTOGRAMS];
};

/* What is not counted but looked up when somebody asks. */
struct stats_view {
	const char *version;
	int64_t uptime_ms;
	bool store_up, draining;
	uint64_t store_applied, store_lost, store_refused, store_uncertain; /* ops, by how they ended */
	uint64_t store_errors[ERR__COUNT];                                  /* of the last two, why */
	uint64_t in_flight;                                                 /* ops that the store has */
	uint64_t log_dropped;                                               /* lines */
	uint64_t kept_settlements;                                          /* that the store could not take yet */
	uint64_t kept_given_up;                                             /* that it never took */
	uint64_t waiters;                                                   /* calls that wait for a key */
	uint64_t undone_wins; /* given back, since nobody can have heard of them */
	uint64_t collapsed;   /* CLAIMs answered by the answer to one before them */
	uint64_t done_cache_hits;
	int64_t counts_age_ms; /* of the three below; negative: not counted yet, they are left out */
	int64_t live_claims;
	int64_t unresolved_records;
	int64_t oldest_unresolved_age_ms; /* 0: there is none */
};

/* millionths: microseconds of a duration, millionths of a ratio; below 0 counts as 0. */
void stats_observe(struct stats *stats, enum stats_histogram which, int64_t millionths);

/* Upper bounds of the buckets in millionths, rising; 0 ends them. */
const int64_t *stats_bounds(enum stats_histogram which);

/* stats_text.c: the text into cap octets, in the format 0.0.4 of Prometheus or as OpenMetrics 1.0.0. STATS_MAX_TEXT are always
 * enough. Returns its length; 0 when it does not fit. */
size_t stats_format(const struct stats *stats, const struct stats_view *view, char *out, size_t cap);
size_t stats_format_open(const struct stats *stats, const struct stats_view *view, char *out, size_t cap);

#endif
