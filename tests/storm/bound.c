/* bound.c - see bound.h. */
#include "bound.h"

/* A daemon looks each second whether a connection whose client is silent has ended; then comes the store. */
#define NOTICED_US 2500000
/* A renewal asks for what is left of the hold, counted from when the store gets to it: within its timeout, see storm.c. */
#define STORE_US 1000000

const char *bound_cut_short(const struct event *e)
{
	if (e->wait_ms == 0 || e->word != WORD_HELD || e->at_us - e->asked_us >= e->wait_ms * 1000 - ROUNDING_US)
		return NULL;
	return "its wait was not over";
}

/* It says that the claim is live, and how long. */
static bool shows_lease(const struct grant *grant, const struct event *e)
{
	return grant->won && e->shown == grant->fence && e->state == STATE_CLAIMED && e->word != WORD_STALE &&
	       e->left_ms > 0;
}

const char *bound_held_on(const struct grant *grant, const struct weather *weather, const struct event *e)
{
	int64_t longest_us = grant->hold_ms * 1000 + STORE_US;
	int64_t until_us = e->asked_us + e->left_ms * 1000 - ROUNDING_US, noticed_us;

	if (grant->hold_ms == 0 || !shows_lease(grant, e) || grant->wished_us[WISH_RENEW] != INT64_MAX)
		return NULL;
	if (until_us > grant->heard_us + longest_us)
		return "its hold was to end before";
	if (grant->gone_us == INT64_MAX)
		return NULL;
	noticed_us = grant->gone_us + NOTICED_US;
	if (until_us > noticed_us + grant->lease_ms * 1000 && weather_calm(weather, grant->gone_us, noticed_us))
		return "its connection had ended long before";
	return NULL;
}

const char *bound_not_dropped(const struct grant *grant, const struct weather *weather, const struct event *e)
{
	if (grant->drop == DROP_KEEP || !shows_lease(grant, e) || grant->gone_us == INT64_MAX)
		return NULL;
	if (!grant_dropped(grant, grant->drop, grant->gone_us) || e->asked_us < grant->gone_us + NOTICED_US)
		return NULL;
	/* A daemon that was killed drops nothing. */
	if (!weather_calm(weather, grant->asked_us, grant->gone_us + NOTICED_US))
		return NULL;
	return "its connection had ended long before";
}

bool bound_was_held(const struct grant *grant, const struct event *e)
{
	return grant->hold_ms != 0 && grant->wished_us[WISH_RENEW] == INT64_MAX && e->verb == VERB_COMPLETE &&
	       e->word == WORD_OK && e->asked_us > grant->heard_us + grant->lease_ms * 1000 + ROUNDING_US;
}

/* Its holder was still connected then, and had read what it was told before. */
static bool listened(const struct grant *grant, int64_t later_us, const struct event *const *answers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (answers[i]->pid == grant->pid && answers[i]->asked_us >= later_us &&
		    answers[i]->at_us < grant->gone_us)
			return true;
	return false;
}

const char *bound_let_go(const struct grant *grant, const struct weather *weather, int64_t later_us,
			 const struct event *const *answers, size_t count)
{
	if (grant->given_up || later_us >= grant->asked_us + grant->hold_ms * 1000 - ROUNDING_US)
		return NULL;
	if (!listened(grant, later_us, answers, count) || !weather_calm(weather, grant->asked_us, later_us))
		return NULL;
	return "its holder was connected, and was not told of a doubt";
}
