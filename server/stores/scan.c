/*
 * scan.c - see scan.h. Called for each record of a walk; pure, nothing fails.
 */
#include "scan.h"

#include <string.h>

static bool state_matches(int choice, const struct record *rec, int64_t now)
{
	enum state shown = record_shown(rec, now);

	switch (choice) {
	case CHOICE_STATE_LIVE:
		return shown == STATE_CLAIMED && !record_lapsed(rec, now);
	case CHOICE_STATE_LAPSED:
		return shown == STATE_CLAIMED && record_lapsed(rec, now);
	case CHOICE_STATE_DONE:
		return shown == STATE_DONE;
	case CHOICE_STATE_FAILED:
		return shown == STATE_FAILED;
	case CHOICE_STATE_UNKNOWN:
		return shown == STATE_UNKNOWN;
	case CHOICE_STATE_FREE:
		return shown == STATE_FREE;
	default:
		return shown != STATE_ABSENT;
	}
}

bool scan_matches(const struct scan *scan, struct slice key, const struct record *rec, int64_t now)
{
	return slice_starts(key, scan->prefix) && state_matches(scan->state, rec, now) &&
	       (!scan->owner.data || (rec->owner.data && slice_equal(rec->owner, scan->owner))) &&
	       (!scan->older || now - rec->updated >= scan->older);
}

static void count_unknown(struct counts *counts, int64_t age_us)
{
	counts->unknown++;
	if (age_us > counts->oldest_unknown_us)
		counts->oldest_unknown_us = age_us;
}

void scan_count(struct counts *counts, const struct record *rec, int64_t now)
{
	switch (record_shown(rec, now)) {
	case STATE_ABSENT:
		counts->gone++;
		break;
	case STATE_CLAIMED:
		if (record_lapsed(rec, now))
			counts->lapsed++;
		else
			counts->live++;
		break;
	case STATE_DONE:
		counts->done++;
		break;
	case STATE_FAILED:
		counts->failed++;
		break;
	case STATE_UNKNOWN:
		count_unknown(counts, now - rec->updated);
		break;
	case STATE_FREE:
		counts->free++;
		break;
	}
}

struct slice scan_copy(char **to, struct slice text)
{
	struct slice copy = {*to, text.len};

	if (!text.data)
		return SLICE_ABSENT;
	memcpy(*to, text.data, text.len);
	*to += text.len;
	return copy;
}
