/*
 * command.c - see command.h.
 *
 * What `claim run` says to the daemon nobody writes down, so the judge knows less of these claims: when the win was asked for at the
 * earliest, and that a command which did not come to its end may have had its claim given back. Its recorded result is that of
 * `claim run`. $TEST_CLAIM is the program, else ./claim.
 */
#include "command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NUMBER_SIZE 24

struct numbers {
	char ttl[NUMBER_SIZE], lease[NUMBER_SIZE], asked[NUMBER_SIZE], work[NUMBER_SIZE];
};

/* ---- the command ---- */

static void append(int sink, struct event *event, enum happening what)
{
	event->what = what;
	event->at_us = journal_now_us();
	event->pid = getpid();
	if (!journal_write(sink, event))
		_exit(2);
}

int command_effect(char **args)
{
	const char *fence = getenv("CLAIM_FENCE"), *was = getenv("CLAIM_WAS");
	int sink = journal_append(args[0]);
	struct event e = {.verb = VERB_CLAIM, .word = WORD_WON, .state = STATE_CLAIMED, .age_ms = -1, .command = true};
	int64_t work_ms = strtoll(args[5], NULL, 10);

	if (sink < 0 || fence == NULL || was == NULL)
		return 2;
	/* To be ended by SIGKILL only, so that what is written down is what has happened. */
	signal(SIGTERM, SIG_IGN);
	snprintf(e.key, sizeof e.key, "%s", args[1]);
	e.ttl_ms = strtoll(args[2], NULL, 10);
	e.left_ms = e.lease_ms = strtoll(args[3], NULL, 10);
	e.asked_us = e.token = strtoll(args[4], NULL, 10);
	e.shown = strtoll(fence, NULL, 10);
	e.own = strcmp(was, "own") == 0;
	append(sink, &e, HAPPENED_SAID);
	e = (struct event){.verb = VERB_COMPLETE, .fence = e.shown, .ttl_ms = e.ttl_ms, .left_ms = -1, .age_ms = -1};
	snprintf(e.key, sizeof e.key, "%s", args[1]);
	append(sink, &e, HAPPENED_START);
	poll(NULL, 0, (int)work_ms);
	if (work_ms % 10 == 0)
		return 1; /* it failed, and is given back */
	append(sink, &e, HAPPENED_SENT);
	append(sink, &e, HAPPENED_END);
	_exit(0); /* at once: killed from here on, it would have done what nobody says of it */
}

/* ---- who starts it ---- */

static pid_t start(struct client *client, const char *program, const char *sink_path, const struct event *ask,
		   int64_t work_ms)
{
	const char *claim = getenv("TEST_CLAIM") != NULL ? getenv("TEST_CLAIM") : "./claim";
	const char *socket = client->daemon[client_dice(client, client->daemons)].socket;
	struct numbers n;
	pid_t pid, parent = getpid();
	int null;

	snprintf(n.ttl, sizeof n.ttl, "%lldms", (long long)ask->ttl_ms);
	snprintf(n.lease, sizeof n.lease, "%lldms", (long long)ask->lease_ms);
	snprintf(n.asked, sizeof n.asked, "%lld", (long long)journal_now_us());
	snprintf(n.work, sizeof n.work, "%lld", (long long)work_ms);
	pid = fork();
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	null = open("/dev/null", O_RDWR);
	if (getppid() != parent || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		_exit(127);
	execl(claim, claim, "run", "--socket", socket, "--ttl", n.ttl, "--lease", n.lease,
	      client_chance(client, 20) ? "--wait=300ms" : "--wait=1ms", ask->key, "--", program, "--effect", sink_path,
	      ask->key, n.ttl, n.lease, n.asked, n.work, (char *)NULL);
	_exit(127);
}

/* Its exit status; -1: a signal. */
static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) != pid)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Stops it beyond its lease, or kills it, or lets it be. */
static void interfere(struct client *client, pid_t pid, int64_t lease_ms)
{
	int64_t kind = client_dice(client, 100);

	if (kind >= 20)
		return;
	poll(NULL, 0, (int)client_dice(client, 150));
	if (kind < 8) {
		kill(pid, SIGKILL);
		return;
	}
	kill(pid, SIGSTOP);
	poll(NULL, 0, (int)(lease_ms + client_dice(client, 300)));
	kill(pid, SIGCONT);
}

void command_run(struct storm *storm, struct client *client, const char *program, const char *sink_path)
{
	while (atomic_load(&storm->phase) == PHASE_STORM) {
		unsigned slot = (unsigned)client_dice(client, SLOTS - SLOTS_BOUND);
		unsigned generation = atomic_load(&storm->generation[slot]);
		struct event ask = {.lease_ms = 300 + client_dice(client, 300)};
		pid_t pid;
		int status;

		key_name(&ask, slot, generation);
		pid =
		    start(client, program, sink_path, &ask, client_dice(client, client_chance(client, 70) ? 30 : 800));
		if (pid < 0)
			continue;
		interfere(client, pid, ask.lease_ms);
		status = wait_for(pid);
		if (status == 127)
			exit(2); /* there is no such program */
		if (status == 0 && client_chance(client, 40))
			atomic_compare_exchange_strong(&storm->generation[slot], &generation, generation + 1);
	}
}
