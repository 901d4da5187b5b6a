/*
 * run.h - what the parts of `claim run` and `claim lock` share: one struct, and one way to wait.
 *
 *     cli_run.c     asks for the claim, answers a duplicate, and calls the rest
 *     run_watch.c   starts the command and stays with it: renewals, signals, the terminal, the end of the lease
 *     run_settle.c  says how it ended
 *     run_wait.c    waiting: signals, daemon, output and time at once
 */
#ifndef CLAIM_RUN_H
#define CLAIM_RUN_H

#include "child.h"
#include "cli.h"
#include "lease.h"
#include "link.h"
#include "report.h"
#include "tee.h"

#define RUN_ANSWER_MS 12000  /* for one answer: longer than the daemon takes (10 s) */
#define RUN_STOPPING_MS 3000 /* when somebody wants us to end */
#define RUN_LEAVING_MS 300   /* the same, when all that we do is wait for the key */

struct run_config {
	bool lock;
	struct slice key;
	int64_t lease_ms, ttl_ms; /* ttl 0: the daemon's */
	int64_t hold_ms, kill_after_ms;
	int64_t timeout_ms, max_attempts; /* 0: none */
	int64_t wait_ms;                  /* for a key that is held; 0: do not */
	int64_t save_limit;               /* 0: the output is not kept */
	bool lapse_unknown;
	bool fail_on[256];
	struct slice fp, owner; /* fp absent: none */
	char **command;
	int stdin_fd; /* -1: ours */
};

enum run_cause { RUN_BY_ITSELF, RUN_TIMEOUT, RUN_LOST };

struct run {
	const struct run_config *config;
	struct link link;
	struct report report;

	/* the claim */
	char token[33];
	int64_t fence, attempts;
	char was[16];
	struct lease lease;

	/* the command */
	struct child child;
	struct tee tee;
	enum run_cause cause;
	int64_t kill_at_ms; /* once it was told to end; the lease may cut it */
	bool killed;
	struct errbuf lost_why;

	/* calls: one question, and beside it the renewal */
	struct call ask, renew;
	bool asking, renewing;
	int ask_code;              /* enum claim_code of its answer */
	const struct reply *reply; /* its answer, until the next run_pump; NULL: there was none */
	bool lost;                 /* a renewal was refused */

	/* signals */
	int signal_fd, timer_fd;
	sigset_t mask_before;
	struct sigaction pipe_before;
	bool forwarding;  /* the command is there to get them */
	bool interrupted; /* the terminal's ^C ended the command */
	bool resume;      /* somebody continued us: so shall the command be */
	int stop_signal;  /* the first of TERM INT HUP QUIT; 0: none */
	bool waiting[2];  /* USR1, USR2 that came before the command was there */
};

/* ---- run_wait.c ---- */

/* Takes over the signals. False: *err says why. */
bool run_signals_open(struct run *run, struct errbuf *err);
/* Everything is as it was before; signals that came meanwhile take effect. */
void run_signals_close(struct run *run);
/* Queues a question, and forgets the one before. False: no memory. */
bool run_ask(struct run *run, const struct writer *line, struct slice body);
/* Takes what there is without waiting. True: the question is answered, see ask_code and reply. */
bool run_pump(struct run *run);
/* Waits until there is something to take, or until due_ms. */
void run_wait(struct run *run, int64_t due_ms);
/* Starts "VERB key fence= token=". */
void run_request(const struct run *run, struct writer *w, enum verb verb);

/* ---- run_watch.c ---- */

/* Puts CLAIM_KEY and its like into our environment, for the command. */
void run_environment(const struct run *run);
/* Starts the command. CLI_OK; or what to exit with, and then it did not run and the claim is still ours. */
int run_start(struct run *run);
/* Stays with the command until it has ended. */
void run_watch(struct run *run);

/* ---- run_settle.c ---- */

/* Tells the daemon how it ended, and returns the exit code. */
int run_settle(struct run *run);
/* Gives the claim back where the command never ran. */
void run_give_back(struct run *run);
/* Burns the key instead of one more attempt; returns the exit code. */
int run_burn(struct run *run);
/* The body of a record made by `run`: its exit code and what it wrote. False: it is not one. */
bool run_result_read(struct slice body, int *exit_code, struct slice *output);

#endif
