/*
 * conn_impl.h - the inside of a connection, for conn.c (its life), conn_in.c (reading) and conn_out.c (answering).
 */
#ifndef CLAIMD_SERVER_CONN_IMPL_H
#define CLAIMD_SERVER_CONN_IMPL_H

#include "conn.h"

#define CONN_SCRATCH 16384 /* octets of one read, and of one connection in a turn of the loop */

struct turn_list {
	struct turn *first, *last;
};

struct conn {
	uv_pipe_t pipe;
	struct conn_set *set;
	struct conn *prev, *next;
	struct conn *dirty_next, **dirty_link; /* dirty_link == NULL: not in the list */
	void *session;

	/* in */
	char *in; /* an unfinished frame, and what came behind it while held back */
	size_t in_len, in_cap;
	struct frame frame;
	struct slice kept;  /* the line of an oversize or HTTP request, from mem_copy */
	uint64_t drain;     /* octets of an oversize body to come, its LF included; 0: none */
	size_t header_left; /* of HEADER_LIMIT; 0: not in an HTTP header */
	bool reading;       /* libuv is asked to read */
	bool eof;           /* nothing more will come */
	bool finishing;     /* nothing more is read or taken */
	bool listening;     /* its end of input is no end */
	bool stranger;      /* see conn_open_stranger */
	struct conn **seat; /* its place among the strangers; NULL: none */
	unsigned nonsense;  /* that it has said since the last beat */

	/* out */
	char *out;
	size_t out_from, out_len, out_cap; /* the octets to be written are out_len, from out_from on */
	uint64_t out_at;                   /* where the first of them is in the stream */
	bool full;                         /* the kernel has no room: libuv waits for it with `octet` */
	char octet;                        /* the one in front of out_at */
	uv_write_t write;
	size_t held_octets; /* in turns that wait for their order */
	size_t expected;    /* of answers that are not given yet: turn_expect */

	struct turn_list open;  /* not answered, or answered out of order and waiting */
	struct turn_list loose; /* unordered, not answered */
	struct turn_list sent;  /* watched ones in the stream, by `at`; the kernel has nothing of them yet */
	size_t turns;           /* in open and loose */
	bool closing;
};

/* conn.c */
void turn_append(struct turn_list *list, struct turn *turn);
void turn_unlink(struct turn_list *list, struct turn *turn);
/* conn_set_flush will look at it. */
void dirty_mark(struct conn *conn);
/* Watched turns end of whose answers the kernel has an octet. */
void end_heard(struct conn *conn);
void turn_end(struct conn_set *set, struct turn *turn, bool heard);
/* Closes where something is still to be answered and nobody is there to hear it. */
void conn_end_gone(struct conn *conn);

/* conn_in.c */
/* The client does not take its answers, has too much under way, or talks nonsense. */
bool held_back(const struct conn *conn);
/* Asks libuv to read, where that may be. */
void read_on(struct conn *conn);
/* Goes on with the octets that were put by. */
void take_kept(struct conn *conn);

/* conn_out.c */
bool out_append(struct conn *conn, const char *data, size_t len); /* false: no memory */
/* How many octets of the stream the kernel has. */
uint64_t out_taken(const struct conn *conn);
void write_now(struct conn *conn);

#endif
