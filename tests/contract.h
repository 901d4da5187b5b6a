/*
 * contract.h - what the parts of the contract suite share: the store under test, keys of this test alone, calls in one line.
 */
#ifndef CLAIMD_TESTS_CONTRACT_H
#define CLAIMD_TESTS_CONTRACT_H

#include "rig.h"

#include <check.h>

#define LONG (3600 * 1000 * MS)
#define TOKEN SLICE_OF("token-of-the-holder")
#define OTHER SLICE_OF("token-of-the-other!")
#define FP SLICE_OF("fp-one")
#define FP2 SLICE_OF("fp-two")

extern struct rig *rig;                /* open while a test runs */
extern const char *rig_url;            /* of the store under test */
bool contract_shared(void);            /* more than one can be open on it at once */
struct slice key_of(const char *name); /* in this test's own corner of the store; lives as long as the test */
struct slice key_bytes(const void *data, size_t len);
struct slice corner(void); /* the prefix of all keys of this test */

/* Asks. Leases and ttls are long unless a test sets them. */
struct ask ask_claim(struct slice token);
struct ask ask_holder(enum ask_verb verb, int64_t fence);
struct ask ask_resolve(enum state as, bool force);
struct ask ask_forget(bool force);

/* Asks, and the word must be this one; the answer lives as long as the test. */
const struct op *expect(struct slice key, struct ask ask, enum word word);
/* As expect, and afterwards the record is as it was. */
const struct op *expect_no_change(struct slice key, struct ask ask, enum word word);
/* The record, or one that is absent. */
const struct op *status(struct slice key);
/* Waits until the store's clock has reached this time; returns the record at that moment. */
const struct op *wait_until(struct slice key, int64_t time_us);
/* Claims with TOKEN for an hour, for two hours' ttl; returns the fence. */
int64_t won(struct slice key);
/* Claims with TOKEN and waits for the lease to be over. */
int64_t won_and_lapsed(struct slice key, enum lapse lapse);
/* FORGET with force, as often as the store's clock needs it. */
void forget(struct slice key);
/* Brings a new key into this state, with TOKEN and FP; "claimed" is live. Returns the record. */
const struct record *make_state(struct slice key, enum state state);

void same_record(const struct record *got, const struct record *want);

/* The parts. */
TCase *contract_claim(void);
TCase *contract_holder(void);
TCase *contract_operator(void);
TCase *contract_walks(void);
TCase *contract_race(bool shared);

#endif
