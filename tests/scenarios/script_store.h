/*
 * script_store.h - the store of a scenario: records that outlive the daemon, and answers that come, or do not, as the script says.
 *
 * It takes the place of the store "memory:" in the program, behind the daemon's own store.c. Each op is decided by the real table.
 */
#ifndef CLAIMD_TESTS_SCENARIOS_SCRIPT_STORE_H
#define CLAIMD_TESTS_SCENARIOS_SCRIPT_STORE_H

#include <uv.h>

#include "../../server/record.h"

enum manner {
	MANNER_ANSWERS,
	MANNER_HOLDS,       /* keeps ops until the manner changes */
	MANNER_REFUSES,     /* surely not applied */
	MANNER_CUTS_BEFORE, /* in doubt, and not applied */
	MANNER_CUTS_AFTER   /* in doubt, and applied */
};

/* Called at the end of each turn of the daemon's loop, while a store is open. */
typedef void (*script_turn_cb)(uv_loop_t *loop);
void script_store_init(script_turn_cb turn);

/* From now on, also for what it holds. once: for the next op alone (or the first that it holds), then as before. */
void script_store_manner(enum manner manner, bool once);
/* The daemon is killed: what it had asked for and was not answered is forgotten. */
void script_store_forget(void);
/* Another daemon on the same store asks. */
void script_store_ask(struct slice key, const struct ask *ask);

/* How long the loop would sleep now, if it could; -1: until something comes. */
int script_store_sleep_ms(const uv_loop_t *loop);

/* What the daemon has asked for since the last script_store_clear, one line each, in the form of a reply. NULL: no more. */
const char *script_store_next(void);
void script_store_clear(void);
/* The record as it is stored, in the form of a reply. */
void script_store_show(struct slice key, struct writer *w);

#endif
