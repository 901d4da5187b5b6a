/*
 * lease.h - when to renew, and when the command must be gone: numbers only, no clock and no I/O.
 *
 * Times are those of one monotonic clock in ms. The store counts the lease from when it heard us, which is later than when we
 * asked; we count from when we asked, so ours ends first.
 */
#ifndef CLAIM_LEASE_H
#define CLAIM_LEASE_H

#include <stdint.h>

struct lease {
	int64_t lease_ms;      /* asked for each time */
	int64_t grace_ms;      /* from TERM to KILL */
	int64_t margin_ms;     /* from KILL to the end: the kernel's time to end a process */
	int64_t hold_until_ms; /* no renewal reaches past it */
	int64_t until_ms;      /* confirmed until then */
	int64_t renew_at_ms;   /* not before */
};

/* kill_after_ms is cut so that a short lease leaves time to work. hold_ms 0: no renewal. */
void lease_won(struct lease *lease, int64_t asked_ms, int64_t lease_ms, int64_t hold_ms, int64_t kill_after_ms);
/* There is no lease to be lost, and nothing to renew. */
void lease_none(struct lease *lease);
/* The store confirmed a RENEW that was sent at asked_ms and says left_ms. */
void lease_renewed(struct lease *lease, int64_t asked_ms, int64_t left_ms);
/* The store did not answer well: ask again a little later. */
void lease_again(struct lease *lease, int64_t now_ms, int64_t after_ms);
/* The lease to ask for now; 0: not (yet), or nothing to gain any more. */
int64_t lease_wanted(const struct lease *lease, int64_t now_ms);
/* When to ask next; INT64_MAX: never. */
int64_t lease_renew_at(const struct lease *lease);
/* With no further renewal: when the command is told to end, and when it is ended. */
int64_t lease_term_at(const struct lease *lease);
int64_t lease_kill_at(const struct lease *lease);

#endif
