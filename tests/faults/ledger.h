/*
 * ledger.h - a life of a few keys, and what the daemon has acknowledged of it: to be held against the daemon, later or after its end.
 *
 * Only three things excuse a step that was not done: it was refused (ERR store, busy, ...: then surely nothing was written), its
 * answer is uncertain (ERR timeout), or no answer came. After the last two the key is in doubt: the one step may be there or not.
 * Any other answer than that of the table, a lower fence, or a record that is not as acknowledged, fails the test.
 */
#ifndef CLAIMD_TESTS_FAULTS_LEDGER_H
#define CLAIMD_TESTS_FAULTS_LEDGER_H

#include <stdint.h>

#include "../spawn.h"

#define LEDGER_KEYS 6

enum entry_state {
	ENTRY_ABSENT,
	ENTRY_CLAIMED,
	ENTRY_DONE,
	ENTRY_FAILED,
	ENTRY_FREE,
	ENTRY_UNKNOWN,
};

struct entry {
	char key[48];
	char token[32];
	enum entry_state state;
	int64_t fence; /* of the state; the highest that was heard where the record is absent */
	size_t result_len;
	bool doubt; /* `may` may have been done */
	enum entry_state may;
	size_t may_len; /* its result */
};

struct ledger {
	char label[160]; /* what went wrong here, for messages */
	struct entry entry[LEDGER_KEYS];
	size_t refused, uncertain, unanswered; /* steps */
};

/* The label is the name of what is tried; `name` goes in front of the keys. */
void ledger_init(struct ledger *ledger, const char *name);
/* Goes through the life over a connection of its own, as far as it gets. */
void ledger_play(struct ledger *ledger, const struct spawn *daemon);
/* The daemon runs and is well: all is there. With `restarted` doubt is over: nothing can be on its way any more. */
void ledger_check(struct ledger *ledger, const struct spawn *daemon, bool restarted);
/* Claims what is free, absent or in doubt: it is won, with a fence above all that were heard, or as its own. */
void ledger_go_on(struct ledger *ledger, const struct spawn *daemon);
/* Waits until a CLAIM is answered as if nothing had been. */
void ledger_wait_well(const struct spawn *daemon, const char *label);

#endif
