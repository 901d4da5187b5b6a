/*
 * judge.h - reads the history of a storm and says which promises were broken.
 *
 * Pure: events in, a judgement out. It does not trust the order in which answers were written down. What it knows is what
 * everybody outside knows: a call took effect at some moment between its request and its answer, and a settlement without
 * an answer took effect at some moment after it was sent, or never. It speaks only where every such moment breaks a
 * promise, so each finding is a real one.
 */
#ifndef CLAIMD_TESTS_STORM_JUDGE_H
#define CLAIMD_TESTS_STORM_JUDGE_H

#include "journal.h"

/* INVARIANT(id, name, what it says) */
#define INVARIANTS(INVARIANT)                                                                                         \
	INVARIANT(NO_OVERLAP, "no_overlap", "nobody is given a key inside the lease of another")                      \
	INVARIANT(SETTLED_SUPPRESSES, "settled_suppresses", "no WON after an acknowledged DONE or FAILED")            \
	INVARIANT(SETTLED_IS_FINAL, "settled_is_final", "later claims hear the same word, fence and result")          \
	INVARIANT(SETTLED_AS_ASKED, "settled_as_asked", "what is recorded is what somebody with that fence said")     \
	INVARIANT(NO_EFFECT_AFTER, "no_effect_after", "no effect begins after an acknowledged DONE or FAILED")        \
	INVARIANT(UNKNOWN_STAYS, "unknown_stays", "what is in doubt is given to nobody before it is resolved")        \
	INVARIANT(FENCES_RISE, "fences_rise", "each win has a higher fence than all that was seen before")            \
	INVARIANT(FENCE_ONCE, "fence_once", "no fence is granted twice but to the same call")                         \
	INVARIANT(STALE_REFUSED, "stale_refused", "an old fence settles nothing")                                     \
	INVARIANT(OWNER_ACCEPTED, "owner_accepted", "a holder that was not replaced can settle")                      \
	INVARIANT(RELEASE_RAISES, "release_raises", "RELEASE raises the fence")                                       \
	INVARIANT(NOTHING_LOST, "nothing_lost", "what was acknowledged is there until its ttl is over")               \
	INVARIANT(LEASE_AS_ASKED, "lease_as_asked", "a win has the lease that was asked for")                         \
	INVARIANT(EFFECTS_GRANTED, "effects_granted", "each effect has a win of its own")                             \
	INVARIANT(DOUBLES_EXPLAINED, "doubles_explained", "each doubled effect has a reason")                         \
	INVARIANT(NO_STRANGE_ERROR, "no_strange_error", "no error but those of a daemon that stops, starts or waits") \
	INVARIANT(HELD_KEPT, "held_kept", "while the daemon holds a key for somebody nobody else is given it")        \
	INVARIANT(HOLD_ENDS, "hold_ends", "a hold ends where it was to end, and with its connection")                 \
	INVARIANT(DROP_DONE, "drop_done", "a claim is dropped soon after its connection has ended")                   \
	INVARIANT(WAITS_LONG, "waits_long", "who waits is told HELD only when the wait is over")                      \
	INVARIANT(KEYS_END, "keys_end", "afterwards every key can be had or is settled")

enum invariant {
#define INVARIANT(id, name, says) BROKEN_##id,
	INVARIANTS(INVARIANT)
#undef INVARIANT
	    INVARIANT__COUNT
};

/* Why a key could be won again. */
enum reason {
	REASON_NONE,
	REASON_LAPSED,
	REASON_RELEASED,
	REASON_RESOLVED,
	REASON_EXPIRED,
	REASON_DROPPED,
	REASON__COUNT
};

#define EXAMPLE_SIZE 320

struct judgement {
	int64_t broken[INVARIANT__COUNT];
	char example[INVARIANT__COUNT][EXAMPLE_SIZE]; /* the first of each */
	int64_t answers, errors, keys, wins, reaffirmed, suppressed, held, stale, settled;
	int64_t commands;               /* wins of `claim run` */
	int64_t waited;                 /* wins of calls that waited */
	int64_t renewals, losses;       /* that were told */
	int64_t held_on;                /* claims that were held beyond their first lease and settled then */
	int64_t drop_doubts;            /* claims that are in doubt since their connection ended */
	int64_t effects;                /* that the sink took */
	int64_t fenced_out;             /* that it refused, since it had seen a higher fence */
	int64_t again[REASON__COUNT];   /* wins after another win, by reason */
	int64_t doubled[REASON__COUNT]; /* effects after another one of the same occurrence, by reason */
};

const char *invariant_name(enum invariant invariant);
const char *invariant_says(enum invariant invariant);

/* Reorders the events. False: no memory. */
bool judge_history(struct event *events, size_t count, struct judgement *out);

#endif
