/*
 * weather.h - what happened to processes, as far as the judge must know: whose connection ended when, and when daemons could not do
 * what they should. It is read from those events of a history that have no key.
 */
#ifndef CLAIMD_TESTS_STORM_WEATHER_H
#define CLAIMD_TESTS_STORM_WEATHER_H

#include "journal.h"

struct weather {
	const struct event *event; /* in the order of the sink */
	size_t count;
};

/* The first end of a connection of this process at or after that time; NULL: none is known. */
const struct event *weather_gone(const struct weather *weather, int64_t pid, int64_t from_us);
/* All daemons ran all the time. */
bool weather_calm(const struct weather *weather, int64_t from_us, int64_t to_us);

#endif
