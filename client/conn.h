/*
 * conn.h - inside libclaim: what its layers share. conn.c has the connection and its last answer, sync.c the calls that block, async.c
 * those that call back, grant.c the lines about a claim, once.c claim_once.
 */
#ifndef CLAIM_CONN_H
#define CLAIM_CONN_H

#include "claim.h"
#include "link.h"

/* A call that calls back. */
struct async {
	struct call call;
	struct async *next, **at; /* at: what points to it */
	int64_t deadline_ms;
	claim_callback *done;
	void *arg;
	claim_grant *grant; /* of a CLAIM, until it is taken; owned */
	bool won;           /* its answer is a WON that is good */
	bool unasked;       /* CLAIMD_DISABLED: it is answered without the daemon */
};

struct claim_conn {
	struct link link;
	int timeout_ms;
	int64_t deadline_ms;
	struct call call;          /* the one that blocks, or the last one */
	bool open;                 /* its last line has not come */
	const struct reply *reply; /* of the last call; NULL: none */
	struct errbuf detail;
	bool disabled; /* CLAIMD_DISABLED=1: nothing is asked, everything is allowed */

	struct async *first; /* in no order */
	uint64_t tags;
	bool blocking; /* a call waits for its answer */
	bool calling_back;
	bool closing;          /* claim_close from inside a callback */
	struct async *current; /* whose callback runs */
	uint64_t polled;       /* link.connects of the descriptor that is in link.epoll_fd, which claim_fd gave */
	short polled_for;      /* its events */
	bool unseen;           /* a call that blocked may have left answers, or a cut, that are not told yet */
	uint64_t listened;     /* link.connects of what the listener believes to be there; 0: nothing */
	claim_callback *event;
	void *event_arg;
};

struct claim_grant {
	int64_t fence;   /* 0: unguarded, there is no record of it */
	int64_t hold_ms; /* as asked for; 0: none. It and notify are asked for anew with each renewal */
	bool notify;
	char token[65]; /* "": the daemon's own */
	size_t key_len;
	char key[];
};

/* conn.c */

/* CLAIM_OK; else the connection cannot be used now (fork, or from inside a callback), and detail says why. */
int conn_usable(claim_conn *conn);
int conn_fail(claim_conn *conn, int code, const char *why);
/* Takes the answer of an event for the accessors; returns its code. */
int conn_answer(claim_conn *conn, const struct client_event *event);
/* Time is up, or there is nobody to ask; forgets the call. CLAIM_E_UNCERTAIN or CLAIM_E_UNREACHABLE. */
int conn_give_up(claim_conn *conn, struct call *call);
/* Nobody listens there, and waiting a moment would not change that. */
bool conn_nobody_there(const claim_conn *conn);
/* May this line be sent? `added`: it gets a tag or a body. */
bool conn_line_good(struct slice line, bool added);

/* async.c */

/* An event of the link that is not for the call that blocks. */
void async_take(claim_conn *conn, const struct client_event *event);
/* Where the connection was lost, however that came: who listens to events must know. */
void async_look(claim_conn *conn);
/* What the link waits for may be something else now. */
void async_watch(claim_conn *conn);
/* All are forgotten, without a callback. */
void async_release(claim_conn *conn);

/* grant.c */

#define GRANT_LINE PROTO_MAX_LINE
/* The line of a CLAIM, with a new grant for it. CLAIM_OK, CLAIM_E_INVAL or CLAIM_E_NOMEM. */
int grant_claim_line(struct writer *w, struct slice key, const struct claim_options *options, claim_grant **out);
/* The answer to it: the code, which is CLAIM_WON only with a grant that is good. */
int grant_won(claim_conn *conn, int code, claim_grant *grant);
void grant_line(struct writer *w, const claim_grant *grant, enum verb verb, int64_t lease_ms);
/* How much longer than others a CLAIM may take: its wait. */
int64_t grant_wait_ms(const struct claim_options *options);

#endif
