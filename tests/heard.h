/*
 * heard.h - for tests of the calls that call back: one connection, what was called back on it, and the loop that waits for that.
 */
#ifndef CLAIMD_TESTS_HEARD_H
#define CLAIMD_TESTS_HEARD_H

#include "../client/claim.h"

#define HEARD_MAX 64

struct heard {
	int code, ticket;
	char word[32];
};

extern claim_conn *conn;              /* the test opens and closes it */
extern claim_grant *grant;            /* the last one that was won */
extern struct heard heard[HEARD_MAX]; /* in order */
extern int heard_count;

/* For the start of a test: nothing was heard. */
void heard_reset(void);
/* The callback; its argument is a ticket. */
void heard_done(claim_conn *from, int code, void *arg);
void *heard_ticket(int n);
/* Turns the loop until so many were called back. */
void heard_until(int count);
/* The same without looking at the connection more often than a loop that was told once: each turn must be one that it asked for. */
void heard_strictly_until(int count);
/* What was called back at this place, 0 and up. */
void heard_is(int at, int code, int ticket);
/* Claims, to be called back with the ticket. */
int heard_acquire(const char *key, const struct claim_options *options, int ticket);

#endif
