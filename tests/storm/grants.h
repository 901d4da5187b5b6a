/*
 * grants.h - the wins of one key, each with all that the history says of its fence.
 *
 * Made by the judge from the events of a key before it looks at any promise. Times are as in the journal. What is told
 * of a fence is true of it whenever it was told, since a fence belongs to one win.
 */
#ifndef CLAIMD_TESTS_STORM_GRANTS_H
#define CLAIMD_TESTS_STORM_GRANTS_H

#include "judge.h"
#include "weather.h"

/* The store counts in microseconds and tells milliseconds, rounded up or down: what is computed from
 * these may be off by so much. */
#define ROUNDING_US 2000

/* What may be asked with its fence. */
enum wish {
	WISH_COMPLETE,
	WISH_FAIL,
	WISH_RELEASE,
	WISH_DOUBT,
	WISH_AS_DONE,
	WISH_AS_FAILED,
	WISH_AS_FREE,
	WISH_RENEW,
	WISH__COUNT
};

struct grant {
	int64_t fence;
	bool won;             /* somebody heard WON; else others were told of it, or it was released */
	int64_t heard_us;     /* the first WON; INT64_MAX: none */
	int64_t seen_us;      /* the first answer of any kind that showed it; INT64_MAX: none */
	int64_t lease_end_us; /* it lasted so long at least: from when the request was sent */
	int64_t token;
	int64_t others; /* WON that were not the same call's once more */
	enum lapse lapse;
	int64_t pid, asked_us;     /* of the first WON */
	int64_t lease_ms, hold_ms; /* as asked for */
	enum drop drop;
	bool given_up;                  /* its holder was told that it is in doubt: the hold is over */
	int64_t gone_us;                /* the connection, or its whole process; INT64_MAX: not known to have ended */
	bool killed;                    /* by somebody else */
	int64_t wished_us[WISH__COUNT]; /* first sent; INT64_MAX: never */
	int64_t ttl_ms;
	bool settled; /* somebody was told that it is done or failed */
	bool doubted; /* somebody was told that it is unknown */
	int64_t starts;
	bool command; /* of `claim run`; and that command has come to its end */
	bool ended;
	bool fenced_out; /* its effect came to the sink after one with a higher fence */
};

struct grants {
	struct grant *grant; /* by fence, rising, after grants_read */
	size_t count, size;
};

/* What is asked for here; WISH__COUNT: none. */
enum wish wish_of(const struct event *event);
/* Goes over the events of one key in the order of the sink. `grants` is used again from key to key; zero it
 * before the first. False: no memory. */
bool grants_read(struct grants *grants, const struct weather *weather, const struct event *events, size_t count);
void grants_release(struct grants *grants);
/* NULL: nobody ever had this fence. */
struct grant *grants_find(const struct grants *grants, int64_t fence);
/* Its connection had ended by this time, and no settlement of it had come before: what drop says may have been done. */
bool grant_dropped(const struct grant *grant, enum drop drop, int64_t by_us);
/* Why the key of `grant` could be somebody else's at this time. REASON_NONE: it could not. */
enum reason grant_ended(const struct grant *grant, int64_t by_us);

#endif
