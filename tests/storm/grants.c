/* grants.c - see grants.h. */
#include "grants.h"

#include <stdlib.h>
#include <string.h>

#include "../../proto/mem.h"

enum wish wish_of(const struct event *e)
{
	if (e->verb == VERB_COMPLETE)
		return WISH_COMPLETE;
	if (e->verb == VERB_FAIL)
		return WISH_FAIL;
	if (e->verb == VERB_RELEASE)
		return WISH_RELEASE;
	if (e->verb == VERB_DOUBT)
		return WISH_DOUBT;
	if (e->verb == VERB_RENEW)
		return WISH_RENEW;
	if (e->verb != VERB_RESOLVE)
		return WISH__COUNT;
	return e->as == STATE_DONE ? WISH_AS_DONE : e->as == STATE_FAILED ? WISH_AS_FAILED : WISH_AS_FREE;
}

/* Finds or adds; NULL: no memory. Unsorted while events are read. */
static struct grant *grant_of(struct grants *grants, int64_t fence)
{
	struct grant *grant;

	for (size_t i = grants->count; i > 0; i--)
		if (grants->grant[i - 1].fence == fence)
			return &grants->grant[i - 1];
	if (grants->count == grants->size) {
		size_t size = grants->size > 0 ? 2 * grants->size : 64;

		grant = mem_resize(grants->grant, size * sizeof *grant);
		if (grant == NULL)
			return NULL;
		grants->grant = grant;
		grants->size = size;
	}
	grant = &grants->grant[grants->count++];
	*grant = (struct grant){.fence = fence, .heard_us = INT64_MAX, .seen_us = INT64_MAX, .gone_us = INT64_MAX};
	for (int wish = 0; wish < WISH__COUNT; wish++)
		grant->wished_us[wish] = INT64_MAX;
	return grant;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void lease_runs(struct grant *grant, const struct event *e)
{
	int64_t end_us = e->asked_us + e->left_ms * 1000 - ROUNDING_US;

	if (e->left_ms >= 0 && end_us > grant->lease_end_us)
		grant->lease_end_us = end_us;
}

static void grant_won(struct grant *grant, const struct event *e)
{
	if (!grant->won) {
		grant->token = e->token;
		grant->lapse = e->lapse;
		grant->pid = e->pid;
		grant->asked_us = e->asked_us;
		grant->lease_ms = e->lease_ms;
		grant->hold_ms = e->own ? 0 : e->hold_ms; /* it began at a time that is not known */
		grant->drop = e->drop;
	}
	/* Once more is for the same token only, and one call in all is told that the win is its. */
	if (!e->own || e->token == 0 || grant->token != e->token)
		grant->others++;
	grant->won = true;
	grant->command |= e->command;
	grant->heard_us = earlier(grant->heard_us, e->at_us);
	grant->ttl_ms = e->ttl_ms;
	lease_runs(grant, e);
}

static void grant_sent(struct grant *grant, const struct event *e)
{
	enum wish wish = wish_of(e);

	if (wish == WISH__COUNT)
		return;
	grant->wished_us[wish] = earlier(grant->wished_us[wish], e->at_us);
	grant->ttl_ms = e->ttl_ms;
}

static bool read_said(struct grants *grants, const struct event *e)
{
	struct grant *grant;

	if (e->word == WORD_ERR || e->shown == 0)
		return true;
	grant = grant_of(grants, e->shown);
	if (grant == NULL)
		return false;
	grant->seen_us = earlier(grant->seen_us, e->at_us);
	grant->settled |= e->state == STATE_DONE || e->state == STATE_FAILED;
	grant->doubted |= e->state == STATE_UNKNOWN;
	if (e->word == WORD_WON)
		grant_won(grant, e);
	else if (e->word == WORD_OK && (e->verb == VERB_RENEW || e->verb == VERB_CHECK))
		lease_runs(grant, e);
	return true;
}

static bool read_event(struct grants *grants, const struct event *e, int64_t *sink_fence)
{
	struct grant *grant;

	if (e->what == HAPPENED_SAID)
		return read_said(grants, e);
	if (e->what != HAPPENED_SENT && e->what != HAPPENED_START && e->what != HAPPENED_END &&
	    e->what != HAPPENED_LOST)
		return true;
	grant = grant_of(grants, e->fence);
	if (grant == NULL)
		return false;
	if (e->what == HAPPENED_SENT) {
		grant_sent(grant, e);
		return true;
	}
	if (e->what == HAPPENED_LOST) {
		grant->given_up |= strcmp(e->result, "doubt") == 0;
		return true;
	}
	if (e->what == HAPPENED_END) {
		grant->ended = true;
		return true;
	}
	grant->starts++;
	if (e->fence < *sink_fence)
		grant->fenced_out = true;
	else
		*sink_fence = e->fence;
	return true;
}

static int by_fence(const void *a, const void *b)
{
	const struct grant *x = a, *y = b;

	return (x->fence > y->fence) - (x->fence < y->fence);
}

static void read_end(struct grant *grant, const struct weather *weather)
{
	const struct event *gone = NULL;

	if (grant->won && (grant->hold_ms != 0 || grant->drop != DROP_KEEP))
		gone = weather_gone(weather, grant->pid, grant->heard_us);
	if (gone == NULL)
		return;
	grant->gone_us = gone->at_us;
	grant->killed = gone->killed;
}

bool grants_read(struct grants *grants, const struct weather *weather, const struct event *events, size_t count)
{
	int64_t sink_fence = 0;

	grants->count = 0;
	for (size_t i = 0; i < count; i++)
		if (!read_event(grants, &events[i], &sink_fence))
			return false;
	for (size_t i = 0; i < grants->count; i++)
		read_end(&grants->grant[i], weather);
	if (grants->count > 0)
		qsort(grants->grant, grants->count, sizeof *grants->grant, by_fence);
	return true;
}

void grants_release(struct grants *grants)
{
	mem_free(grants->grant);
}

struct grant *grants_find(const struct grants *grants, int64_t fence)
{
	for (size_t i = grants->count; i > 0; i--)
		if (grants->grant[i - 1].fence == fence)
			return &grants->grant[i - 1];
	return NULL;
}

/* The first wish for a settlement that suppresses. */
static int64_t settling_us(const struct grant *grant)
{
	const int64_t *wished = grant->wished_us;

	return earlier(earlier(wished[WISH_COMPLETE], wished[WISH_FAIL]),
		       earlier(wished[WISH_AS_DONE], wished[WISH_AS_FAILED]));
}

/* A settlement that was sent before is done first, whatever comes of it. One that was about to be sent by somebody who was killed may
 * not have left. */
bool grant_dropped(const struct grant *grant, enum drop drop, int64_t by_us)
{
	const int64_t *wished = grant->wished_us;
	int64_t settled_us = earlier(earlier(wished[WISH_COMPLETE], wished[WISH_FAIL]),
				     earlier(wished[WISH_RELEASE], wished[WISH_DOUBT]));

	return grant->drop == drop && grant->gone_us <= by_us && (grant->killed || grant->gone_us < settled_us);
}

enum reason grant_ended(const struct grant *grant, int64_t by_us)
{
	bool open = grant->wished_us[WISH_DOUBT] <= by_us || grant->lease_end_us <= by_us ||
		    grant_dropped(grant, DROP_UNKNOWN, by_us);
	int64_t settling = settling_us(grant);

	if (settling != INT64_MAX && settling + grant->ttl_ms * 1000 - ROUNDING_US <= by_us)
		return REASON_EXPIRED;
	if (grant->settled)
		return REASON_NONE;
	/* Nobody writes down when `claim run` gives back what its command did not do. */
	if (grant->wished_us[WISH_RELEASE] <= by_us || (grant->command && !grant->ended))
		return REASON_RELEASED;
	if (grant_dropped(grant, DROP_RELEASE, by_us))
		return REASON_DROPPED;
	if (grant->wished_us[WISH_AS_FREE] <= by_us && open)
		return REASON_RESOLVED;
	if (!grant->doubted && grant->lapse == LAPSE_RECLAIM && grant->lease_end_us <= by_us)
		return REASON_LAPSED;
	return REASON_NONE;
}
