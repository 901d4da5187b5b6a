/*
 * listener.h - the daemon's Unix socket: published at once and whole, kept apart from a second daemon, accepting.
 *
 * Of folders only the one that it is in is made. The path appears by rename, with its mode and group, when it already listens:
 * a client that sees it can connect. A lock file beside it (<path>.lock) says whose it is; a socket file that a dead daemon
 * left is replaced.
 */
#ifndef CLAIMD_SERVER_LISTENER_H
#define CLAIMD_SERVER_LISTENER_H

#include <sys/types.h>
#include <uv.h>

#include "faults.h"

/* The connected descriptor is the callee's. */
typedef void (*listener_cb)(void *arg, int fd);

struct listener {
	uv_poll_t poll, room;
	uv_timer_t retry;
	int fd;
	int lock_fd; /* -1: the socket was handed to us, or we gave it up */
	char *path;  /* NULL when it was handed to us */
	dev_t dev;   /* the socket file that is ours, so that another's is not removed */
	ino_t ino;
	bool held;    /* accepts nobody for now: listener_hold */
	bool starved; /* out of descriptors or memory: tried again by the timer */
	listener_cb accepted;
	void *arg;
};

struct listener_options {
	const char *path;
	unsigned mode;
	const char *group; /* NULL: leave it */
};

/* Makes, locks and publishes the socket. False: *err says what to do. */
bool listener_open(struct listener *listener, uv_loop_t *loop, const struct listener_options *options,
		   struct errbuf *err);
/* Would that work, as far as looking can tell? Another daemon that listens there is no reason against it: it may be asked
 * before that one is started anew. */
enum fit listener_check(const struct listener_options *options, struct errbuf *err);
/* Takes a socket that listens already (from a service manager). */
bool listener_adopt(struct listener *listener, uv_loop_t *loop, int fd, struct errbuf *err);
/* Sees to it that so many connections, whatever else is open, need no memory of libuv's: it ends the process where it finds none
 * for its table of descriptors. */
void listener_make_room(struct listener *listener, size_t connections);
void listener_start(struct listener *listener, listener_cb accepted, void *arg);
/* Stops or goes on accepting; clients wait in the kernel's queue meanwhile. */
void listener_hold(struct listener *listener, bool hold);
/* Removes the socket file if it is ours, and the lock. The handles end with the loop. */
void listener_close(struct listener *listener);

#endif
