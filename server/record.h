/*
 * record.h - the transition table of the product as one pure function.
 *
 * The engine and every store follow it. The memory and SQLite stores call it; a store that decides on its own
 * server implements the same rows in its own language and is tested against this one, step for step.
 * Nothing here allocates, reads a clock or does I/O.
 *
 * Times are microseconds of the store's own clock (since 1970), durations are microseconds too; TIME_NEVER is
 * later than every time, and sums stop there instead of overflowing.
 */
#ifndef CLAIMD_SERVER_RECORD_H
#define CLAIMD_SERVER_RECORD_H

#include "../proto/proto.h"

#define TIME_NEVER PROTO_NEVER

enum state {
	STATE_ABSENT, /* there is no record */
	STATE_CLAIMED,
	STATE_DONE,
	STATE_FAILED,
	STATE_UNKNOWN,
	STATE_FREE
};

enum lapse { LAPSE_RECLAIM, LAPSE_UNKNOWN };

/* One key's record. The slices belong to whoever filled it in: the store's memory, or the call's. */
struct record {
	enum state state; /* as stored: "lapsed" and "gone" are computed from the times */
	enum lapse lapse;
	int32_t attempts;    /* how often this occurrence was won */
	int64_t fence;       /* 1 .. 2^53-1 */
	int64_t lease_until; /* claimed: nobody else may take it before */
	int64_t ttl;         /* duration or TIME_NEVER: the claim's own */
	int64_t keep_until;  /* done, failed: suppresses until then; or TIME_NEVER */
	int64_t earliest;    /* not taken again before, after RELEASE or COMPLETE; 0: absent */
	int64_t created;
	int64_t updated; /* when it entered its present state */
	struct slice fp, token, owner;
	struct slice result; /* absent: none kept; empty is a result */
};

enum ask_verb {
	ASK_CLAIM,
	ASK_RENEW,
	ASK_COMPLETE,
	ASK_FAIL,
	ASK_RELEASE,
	ASK_DOUBT,
	ASK_CHECK,
	ASK_STATUS,
	ASK_RESOLVE,
	ASK_FORGET
};

/* What one call wants of one record. Fields that its verb does not use are ignored. */
struct ask {
	enum ask_verb verb;
	int64_t fence;    /* 0: none given (RESOLVE, FORGET); the holder's verbs always have one */
	int64_t lease;    /* CLAIM, RENEW */
	int64_t ttl;      /* CLAIM, COMPLETE, FAIL, RESOLVE; 0: none given, take the claim's */
	int64_t atleast;  /* CLAIM; 0: none */
	enum lapse lapse; /* CLAIM */
	enum state as;    /* RESOLVE: STATE_DONE, STATE_FAILED or STATE_FREE */
	bool force;       /* RESOLVE, FORGET */
	bool undo;        /* RELEASE: nobody can have heard of the win, so `earliest` goes too */
	struct slice fp, token, owner;
	struct slice result;
};

enum was { WAS_NONE, WAS_NEW, WAS_OWN, WAS_FREE, WAS_LAPSED };

enum effect { EFFECT_NONE, EFFECT_WRITE, EFFECT_DELETE };

/* What the table says. */
struct verdict {
	enum word word; /* WORD_ERR: see err */
	enum err err;
	const char *why;    /* for WORD_ERR: static text */
	int64_t after_ms;   /* for WORD_ERR: when to ask again; 0: not said */
	enum was was;       /* for WORD_WON */
	enum effect effect; /* what to do with the record in the store */
};

/*
 * Applies `ask` at store time `now` to *rec and says what to answer.
 *
 * *rec is the record as stored, gone or not, or STATE_ABSENT. Afterwards it is the record as it now reads, for the answer
 * and, under EFFECT_WRITE, for the store; where it reads as absent its state is STATE_ABSENT. Under EFFECT_DELETE its fence is that
 * of the record that was deleted; nothing else is left of it.
 * Its slices then point into the old record or into *ask: a store copies before it lets go of either.
 *
 * A record that is gone but still there gives its fence to the new one as a lower bound, so that no clock can
 * make a fence come back.
 */
struct verdict record_apply(struct record *rec, const struct ask *ask, int64_t now);

/* It has ended by itself and reads as absent. */
bool record_gone(const struct record *rec, int64_t now);
/* When it will be gone by itself, unless something happens; TIME_NEVER: never. */
int64_t record_end(const struct record *rec);
/* Gone, and the clock is past its fence: a store may delete it. */
bool record_sweepable(const struct record *rec, int64_t now);
/* Claimed, and its lease is over. */
bool record_lapsed(const struct record *rec, int64_t now);
/* The state that people and STATUS are shown: gone is absent, a lapsed claim under lapse=unknown is unknown. */
enum state record_shown(const struct record *rec, int64_t now);
/* Left of the lease (or of `earliest` where it is free) in ms, rounded up so that a client never asks too early; >= 0. */
int64_t record_left_ms(const struct record *rec, int64_t now);
/* Microseconds until `until` as ms, rounded up; PROTO_NEVER for TIME_NEVER; never below 0. */
int64_t time_left_ms(int64_t until, int64_t now);

/* "absent" "claimed" "done" "failed" "unknown" "free". */
struct slice state_name(enum state state);
struct slice was_name(enum was was);
struct slice lapse_name(enum lapse lapse);

#endif
