/*
 * child.h - the command that is run: started in a process group of its own, given the terminal, signalled, ended, reaped.
 *
 * The owner blocks the signals that it takes by signalfd (SIGCHLD, SIGTTOU, SIGTSTP among them) before child_fork,
 * so that none falls between fork and the first poll.
 */
#ifndef CLAIM_CHILD_H
#define CLAIM_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

#include "../proto/text.h"

struct child {
	pid_t pid; /* also its process group; 0: none */
	bool exited;
	int status;      /* as waitpid has it, once exited */
	int stop_signal; /* it stands still by this one; 0: it runs */
	int gate;        /* it waits for an octet here before it becomes the command */
	int error_fd;    /* why exec failed comes out here */
	int tty;         /* -1: none */
	bool has_tty;    /* the terminal is its own */
	struct termios modes;
};

struct child_spec {
	char **command;
	int stdin_fd, stdout_fd;             /* -1: ours */
	const sigset_t *mask;                /* what it starts with */
	const struct sigaction *pipe_action; /* its disposition of SIGPIPE */
};

/* Makes the process; it does nothing yet. False: *err says why. */
bool child_fork(struct child *child, const struct child_spec *spec, struct errbuf *err);
/* Lets it become the command. With want_tty it gets the terminal first, when that is ours to give. */
void child_go(struct child *child, bool want_tty);
/* Ends it before it became anything. */
void child_cancel(struct child *child);

/* To its whole group. */
void child_signal(const struct child *child, int signo);
/* Takes note of what SIGCHLD told: exited, status, stop_signal. */
void child_reap(struct child *child);
/* The errno of an exec that failed; 0: the command did run. Once exited. */
int child_exec_error(struct child *child);
/* Kills what is left of its group and waits (for seconds at most) until it is gone. */
void child_end_group(struct child *child);

/* The terminal is in our hands: the shell wants us to have it. */
bool child_tty_is_ours(const struct child *child);
void child_take_tty(struct child *child);
/* Lets it go on after a stop; with the terminal, if that is ours. */
void child_resume(struct child *child);
/* Stops ourselves as the command was stopped, until somebody continues us. False: nobody is there who could. */
bool child_stop_with(struct child *child);
/* Gives back everything. */
void child_release(struct child *child);

#endif
