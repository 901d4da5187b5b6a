/*
 * tee.h - the command's standard output passes through us: written to ours as it comes, and kept up to a limit.
 *
 * Never waits for a slow reader of our output, so that renewals and signals go on meanwhile.
 */
#ifndef CLAIM_TEE_H
#define CLAIM_TEE_H

#include <poll.h>
#include <stdbool.h>

#include "../proto/text.h"

struct tee {
	int in;        /* from the command; -1: closed */
	int write_end; /* for the command; -1: handed over */
	int out_errno; /* our output failed with this; 0: it did not */
	bool cut;      /* something is missing in what is kept: too much, or no memory */
	char *pending; /* read and not written yet: at .. len */
	size_t at, len, cap;
	char *saved;
	size_t saved_len, limit;
};

/* False: *err says why. */
bool tee_open(struct tee *tee, size_t limit, struct errbuf *err);
/* The command has its end now. */
void tee_started(struct tee *tee);
/* What to poll for: fd -1 where there is nothing. fds[0] reads, fds[1] writes. */
void tee_poll(const struct tee *tee, struct pollfd fds[2]);
void tee_process(struct tee *tee, const struct pollfd fds[2]);
/* The command has ended: reads what is still in the pipe, not waiting for processes that it left behind. */
void tee_finish(struct tee *tee);
/* Writes the rest, and waits for it. */
void tee_flush(struct tee *tee);
/* What was kept; absent when something of it is missing. */
struct slice tee_saved(const struct tee *tee);
void tee_release(struct tee *tee);

#endif
