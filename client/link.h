/*
 * link.h - a connection to the daemon that never blocks and heals by itself: client.h over a Unix socket.
 *
 * The caller polls link_fd for link_events until link_due at the latest, then calls link_process and takes what
 * link_next has. sync.c does it for one call at a time, `claim run` among its other waiting.
 */
#ifndef CLAIM_LINK_H
#define CLAIM_LINK_H

#include <sys/types.h>

#include "client.h"

struct link {
	struct client client;
	char path[108];      /* as long as sun_path */
	int fd;              /* -1: not connected */
	int epoll_fd;        /* its caller's, where fd is in; -1: none */
	bool deaf;           /* the other end does not take any more; its last words are still read */
	uint64_t connects;   /* how often it was connected: a new descriptor may have the number of the old one */
	unsigned failures;   /* attempts in a row that brought no greeting */
	int64_t retry_at_ms; /* not before this is the next one made */
	uint64_t random;     /* state of the jitter */
	pid_t pid;           /* who opened it */
	int sys_errno;       /* of the last connect that failed; 0: it failed otherwise */
	struct errbuf why;   /* why it is not connected */
};

/* The path that daemon and command agree on: $CLAIMD_SOCKET, else in $XDG_RUNTIME_DIR, for root and without it in /run. */
bool link_default_path(char *path, size_t size);
/* False: the path does not fit, or there is no memory. Nothing is connected yet. */
bool link_init(struct link *link, struct slice path, struct slice name, struct slice ns);
void link_release(struct link *link);

/* Monotonic, also while the machine sleeps: a lease goes on there too. */
int64_t link_now_ms(void);

/* Connects when there is something to ask and it is time, reads and writes what there is. Take everything that link_next has
 * before calling it again: when the connection ends, what was not taken is lost with it. */
void link_process(struct link *link, int64_t now_ms);
struct client_event link_next(struct link *link);
/* -1 while there is no connection. */
int link_fd(const struct link *link);
short link_events(const struct link *link); /* POLLIN, POLLOUT */
/* When link_process wants to be called even if nothing happens; INT64_MAX: never. */
int64_t link_due(const struct link *link);
/* Stops waiting for a call. */
void link_forget(struct link *link, struct call *call);
/* A token for one CLAIM and its repeats: 32 hex digits. False: the kernel gives no random numbers. */
bool link_token(char token[33]);
/* n with jitter: between a half of it and all. */
int64_t link_jitter(struct link *link, int64_t n);

#endif
