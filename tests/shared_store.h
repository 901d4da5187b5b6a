/*
 * shared_store.h - two engines on one store, on plain numbers, for the tests of answers without the store. The store is one record a
 * key and the table of transitions; the test says when it decides, and when an answer comes back. Whatever an engine
 * answers without the store is compared with what the store has had, and fails the test where that was not so.
 */
#ifndef CLAIMD_TESTS_SHARED_STORE_H
#define CLAIMD_TESTS_SHARED_STORE_H

#include <check.h>

#include "../server/engine.h"

#define SHARED_ENGINES 2
#define SHARED_VISITS 64

/* One call. */
struct visit {
	struct op op;
	int engine, key;
	bool busy, asked, decided; /* on its way; with the store; the store has said what it will say */
	bool heard;                /* answered, and left for the test to look at */
	int64_t from_us;           /* now_us when it was submitted */
};

extern struct engine *engine[SHARED_ENGINES];
extern struct visit visit[SHARED_VISITS];
extern int64_t now_us;  /* the test's to move: of all clocks, since they were opened */
extern size_t at_store; /* so often the store was asked */
extern bool alone;      /* nobody but engine 0 works on the store: what it remembers is never old */

/* Engines to which nothing has happened, with so many octets for outcomes, and an empty store. */
void shared_open(size_t done_cache);
/* Everything must have been answered. */
void shared_close(void);

/* As a daemon does it. The slices of the ask are of static storage. Key 0 to 15. */
void shared_submit(struct visit *v, int through, int key, const struct ask *ask);
/* The store decides it. */
void shared_decide(struct visit *v);
/* Its answer comes back, decided now if that has not been done. */
void shared_done(struct visit *v);
/* The record as it is now. */
struct record shared_record(int key);
/* The engines' clock. */
int64_t shared_ms(void);

#endif
