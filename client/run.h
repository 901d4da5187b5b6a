/*
 * run.h - what the parts of `claim run` and `claim lock` share: one struct, and one way to wait.
 *
 *     run_config.c     reads the options
 *     cli_run.c        the way through: calls the rest
 *     run_claim.c      asks for the claim
 *     run_answer.c     any answer that does not permit to run
 *     run_reconcile.c  asks whether it did happen, where nobody knows
 *     run_watch.c      starts the command and stays with it: renewals, signals, the terminal, the end of the lease
 *     run_settle.c     says how it ended
 *     run_wait.c       waiting: signals, daemon, output and time at once
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

#define RUN_RESULT_HEAD "claim-run 1 exit=" /* so begins what `run` records; then the exit code and LF */

struct run_config {
	const struct cli *cli;
	bool lock;
	struct slice key;
	int64_t lease_ms, ttl_ms, atleast_ms; /* ttl 0: the daemon's; atleast 0: none */
	int64_t hold_ms, kill_after_ms;
	int64_t timeout_ms, max_attempts; /* 0: none */
	int64_t wait_ms;                  /* for a key that is held; 0: do not */
	int64_t save_limit;               /* 0: the output is not kept */
	int held_exit, duplicate_exit, unknown_exit;
	bool lapse_unknown;
	enum choice drop; /* CHOICE_DROP_KEEP: the claim has nothing to do with its connection */
	bool fail_on[256];
	struct slice fp, owner; /* fp absent: none */
	const char *reconcile;  /* a line for /bin/sh; NULL: none */
	char **command;
	int stdin_fd; /* -1: ours */
	char fp_hex[65], owner_text[129];
};

enum run_cause { RUN_BY_ITSELF, RUN_TIMEOUT, RUN_LOST };

struct run {
	const struct run_config *config;
	struct link link;
	struct report report;

	/* the claim */
	char token[33]; /* empty where the claim is bound to its connection: it cannot be asked for twice */
	int64_t fence, attempts;
	char was[16];
	bool held;   /* there is a claim, and it is ours; else what runs is unguarded */
	bool unsure; /* what the holder before us did is not known: the key may not just be given back */
	struct lease lease;

	/* the command, or before it --reconcile */
	struct child child;
	struct tee tee;
	bool reconciling; /* it is --reconcile */
	enum run_cause cause;
	int64_t kill_at_ms; /* once it was told to end; the lease may cut it */
	bool killed;
	struct errbuf lost_why;

	/* calls: one question, and beside it the renewal */
	struct call ask, renew;
	bool asking, renewing;
	int ask_code;              /* enum claim_code of its answer */
	const struct reply *reply; /* its answer, until the next run_pump; NULL: there was none */
	bool lost;                 /* a renewal was refused, or the daemon told so */
	bool bound;                /* the claim ends with this connection */
	bool cut;                  /* and that has ended */

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

/* ---- run_config.c ---- */

/* False: it was said on stderr what is wrong. */
bool run_config_read(struct run_config *config, const struct cli *cli, const struct args *args);

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

/* ---- run_claim.c ---- */

/* Asks until there is an answer that counts; ask_code and reply have it. False: there was none. */
bool run_claim(struct run *run);
/* Takes the answer WON in. False: it is none that this version understands. */
bool run_won(struct run *run);
/* After a wait: makes sure how much is left of the lease. CLI_OK, or what to exit with. */
int run_confirm(struct run *run);

/* ---- run_answer.c ---- */

/* Any answer but WON: says it, reports it, and returns the exit code. */
int run_not_won(struct run *run);
/* The same where there was no answer. */
int run_no_answer(struct run *run);

/* ---- run_reconcile.c ---- */

/* We won what its holder before let lapse. True: it did not happen, run it; else *status is what to exit with. */
bool run_reconcile_lapsed(struct run *run, int *status);
/* The answer was UNKNOWN. True: ask for the claim again; else *status is what to exit with. */
bool run_reconcile_unknown(struct run *run, int *status);

/* ---- run_watch.c ---- */

/* Puts CLAIM_KEY and its like into our environment, for the command. */
void run_environment(const struct run *run);
/* Starts a process under the claim. CLI_OK; or what to exit with, and then it did not run. */
int run_spawn(struct run *run, const struct child_spec *spec, bool want_tty);
/* Starts the command. As run_spawn; the claim is still ours where it did not run. */
int run_start(struct run *run);
/* Stays with the process until it has ended. */
void run_watch(struct run *run);

/* ---- run_settle.c ---- */

/* One request of the holder, or RESOLVE, asked until there is an answer that counts, for as long as the lease
 * protects it: its code is in ask_code, below 0 with the reason in *why. */
void run_settle_line(struct run *run, const struct writer *line, struct slice body, struct errbuf *why);
/* Tells the daemon with VERB, and a person how that went. True: it is recorded. */
bool run_settle_with(struct run *run, enum verb verb, struct slice body);
/* Tells the daemon how the command ended, and returns the exit code. */
int run_settle(struct run *run);
/* Gives the claim back where the command never ran. */
void run_give_back(struct run *run);
/* Burns the key instead of one more attempt; returns the exit code. */
int run_burn(struct run *run);
/* A person has to find out: what to type then. */
void run_hint_unknown(const struct run *run, int64_t fence);
/* The body of a record made by `run`: its exit code and what it wrote. False: it is not one. */
bool run_result_read(struct slice body, int *exit_code, struct slice *output);

#endif
