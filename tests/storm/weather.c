/* weather.c - see weather.h. */
#include "weather.h"

const struct event *weather_gone(const struct weather *weather, int64_t pid, int64_t from_us)
{
	const struct event *first = NULL;

	for (size_t i = 0; i < weather->count; i++) {
		const struct event *e = &weather->event[i];

		if (e->what == HAPPENED_GONE && e->pid == pid && e->at_us >= from_us &&
		    (first == NULL || e->at_us < first->at_us))
			first = e;
	}
	return first;
}

bool weather_calm(const struct weather *weather, int64_t from_us, int64_t to_us)
{
	for (size_t i = 0; i < weather->count; i++) {
		const struct event *e = &weather->event[i];

		if (e->what == HAPPENED_TROUBLE && e->asked_us <= to_us && e->at_us >= from_us)
			return false;
	}
	return true;
}
