/*
 * record_samples.h - records and calls to start from, and how to say what one makes of the other: for the tests of the table.
 */
#ifndef CLAIMD_TESTS_RECORD_SAMPLES_H
#define CLAIMD_TESTS_RECORD_SAMPLES_H

#include "../server/record.h"

#define NOW INT64_C(1764540021000123)
#define SECOND INT64_C(1000000)
#define LEASE (30 * SECOND)
#define TTL (3600 * SECOND)
#define FENCE (NOW - 5 * SECOND)

#define TOKEN SLICE_OF("token-of-the-holder")
#define OTHER SLICE_OF("token-of-the-other!")
#define FP SLICE_OF("fp-one")
#define FP2 SLICE_OF("fp-two")

/* Records, all with FENCE, FP and TOKEN. */
struct record absent(void);
struct record claimed(void);
struct record lapsed(void); /* at this very moment */
struct record lapsed_unknown(void);
struct record in_state(enum state state);
struct record freed(void); /* released: FENCE + 1, no fp */

/* Calls. holder: with FENCE and TOKEN. */
struct ask claim_by(struct slice token);
struct ask holder(enum ask_verb verb);
struct ask resolve_as(enum state as);
/* The record that claim_by(token) makes of nothing. */
struct record won_by(struct slice token);

/* Applies `ask` at NOW; all fields of the record must be as `want` afterwards. */
struct verdict becomes(struct record rec, struct ask ask, enum word word, enum effect effect, struct record want);
/* The answer is `word` and nothing has changed. */
struct verdict stays(struct record rec, struct ask ask, enum word word);

#endif
