/*
 * client.h - how a worker of the storm talks to the daemons: one connection to any of them, one request at a time, everything
 * written down.
 *
 * It keeps the rules of the protocol for clients: a deadline on each reply, after which the connection is closed, and
 * a repeated CLAIM has the token of the first. What is acknowledged must be there after a kill of the daemon, so the
 * best moment to kill it is when the acknowledgement has just come.
 */
#ifndef CLAIMD_TESTS_STORM_CLIENT_H
#define CLAIMD_TESTS_STORM_CLIENT_H

#include <stdatomic.h>

#include "../spawn.h"
#include "journal.h"

#define DAEMONS_MAX 4

struct client {
	const struct spawn *daemon; /* any of them will do */
	unsigned daemons;
	int sink; /* where everything is written down */
	uint64_t dice;
	atomic_llong *kills;    /* of daemons, at the moment when something was acknowledged; NULL: it kills none */
	const atomic_int *calm; /* but none while this is set */
	int fd;                 /* -1: no connection */
	bool bound;             /* there may be claims that end with the connection */
	size_t begin, end;
	char in[1 << 16];
};

void client_init(struct client *client, const struct spawn *daemon, unsigned daemons, int sink, uint64_t seed);
void client_close(struct client *client);
/* 0 .. below-1, or with false from the seed alone. */
int64_t client_dice(struct client *client, int64_t below);
bool client_chance(struct client *client, int percent);

/* Sends it and waits for the answer. False: there was none, and nobody knows whether it was done; the connection is closed. */
bool client_ask(struct client *client, const struct event *ask, struct event *said);
/* Again and again while there is no answer, or one that says to try again, until `deadline_ms` (of wait_now_ms). */
bool client_insist(struct client *client, const struct event *ask, struct event *said, long long deadline_ms);
/* Sends it and does not wait; for those who are about to die. */
void client_say(struct client *client, const struct event *ask);

/* LIST: the first keys in this state. Returns how many, or -1: no answer. */
struct listed {
	char key[KEY_SIZE];
	int64_t fence;
};
int client_list(struct client *client, const char *state, struct listed *out, int max);

/* The process is about to end itself. */
void client_part(struct client *client);
/* Writes start or end of an effect. */
void client_effect(struct client *client, enum happening what, const char *key, int64_t fence);

#endif
