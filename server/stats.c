/*
 * stats.c - counting; see stats.h. Plain counters are added to where the thing happens (dispatch, account, server); here are
 * the histograms. Pure, and nothing can fail.
 */
#include "stats.h"

#define MILLION 1000000

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

const int64_t *stats_bounds(enum stats_histogram which)
{
	if (which == STATS_HOLD_DURATION)
		return hold_bounds;
	return which == STATS_LEASE_USED ? ratio_bounds : call_bounds;
}

void stats_observe(struct stats *stats, enum stats_histogram which, int64_t millionths)
{
	struct stats_buckets *buckets = &stats->histogram[which];
	const int64_t *bounds = stats_bounds(which);
	size_t i = 0;

	if (millionths < 0)
		millionths = 0;
	while (bounds[i] && millionths > bounds[i])
		i++;
	buckets->count[i]++;
	buckets->total++;
	buckets->sum += (uint64_t)millionths;
}
