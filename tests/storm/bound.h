/*
 * bound.h - what the judge expects of calls that wait, and of claims that are bound to a connection (hold, drop).
 *
 * Like all of the judge it speaks only where nothing else can have been the cause: not while daemons were struck, and not before those
 * who notice the end of a connection must have noticed. Each answers what is wrong; NULL: nothing, as far as can be seen.
 */
#ifndef CLAIMD_TESTS_STORM_BOUND_H
#define CLAIMD_TESTS_STORM_BOUND_H

#include "grants.h"

/* HELD came before the wait was over. */
const char *bound_cut_short(const struct event *answer);
/* The answer shows the claim `grant`, which should not be renewed any more. */
const char *bound_held_on(const struct grant *grant, const struct weather *weather, const struct event *answer);
/* The answer shows that the claim is still held, and it should have been dropped. */
const char *bound_not_dropped(const struct grant *grant, const struct weather *weather, const struct event *answer);
/* It was settled by this, after a time for which only the daemon can have renewed it. */
bool bound_was_held(const struct grant *grant, const struct event *answer);
/* A higher fence was there by `later_us`, and the claim was held. `answers`: those of its key. */
const char *bound_let_go(const struct grant *grant, const struct weather *weather, int64_t later_us,
			 const struct event *const *answers, size_t count);

#endif
