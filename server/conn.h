/*
 * conn.h - one client's connection: octets in, frames up, answers in order, octets out. It knows no verbs.
 *
 * The order of answers is kept here: each request takes a `turn` when it arrives, and its answer leaves when all ordered turns
 * before it have left. A turn of a tagged request is not ordered and leaves as soon as it is answered.
 *
 * A turn ends once, by handler->ended. One that is `watched` ends when it is known whether the client can have heard the
 * answer: from the moment the kernel was handed the first octet of it, yes; one that was never handed over was surely not
 * heard. Any other ends as soon as its answer is in the stream: that costs nothing while a client does not read.
 *
 * Back-pressure: a connection is not read while its client does not read, or has too many requests under way. Nor is
 * it read twice in a turn of the loop, so that who sends without end does not keep the others waiting.
 */
#ifndef CLAIMD_SERVER_CONN_H
#define CLAIMD_SERVER_CONN_H

#include <uv.h>

#include "../proto/proto.h"

#define CONN_STRANGERS 16
#define CONN_NONSENSE 100

struct conn;

/* A place in the order of a connection's answers. Embedded in whatever the owner makes of a request. */
struct turn {
	struct turn *prev, *next;
	struct conn *conn; /* NULL: the connection has ended */
	bool ordered;
	bool answered;
	bool watched;    /* the owner's, before the answer: it wants to know whether that was heard */
	size_t expected; /* see turn_expect */
	char *held;      /* an answer that waits for those before it; from mem_alloc */
	size_t held_len;
	uint64_t at; /* where in the connection's output it starts */
};

struct conn_handler {
	/* A request: one line (may be written to) and its body (absent: none). oversize: it had a body above the limit, which
	 * has been drained. The octets are valid during the call. */
	void (*request)(void *arg, struct conn *conn, struct slice line, struct slice body, bool oversize);
	/* The framing is in doubt: answer this; the connection then reads no more and closes when all is answered. */
	void (*broken)(void *arg, struct conn *conn, enum err code, const char *why);
	/* After conn_await_header: the header of an HTTP request has been read. `line` is its first line. */
	void (*http)(void *arg, struct conn *conn, struct slice line);
	/* See above; heard means nothing where the turn was not watched. The turn is its owner's again. */
	void (*ended)(void *arg, struct turn *turn, bool heard);
	/* The connection has ended and the turn was not answered: it stays its owner's, who answers it no more. */
	void (*gone)(void *arg, struct turn *turn);
	/* The connection is gone; `session` (see conn_open) is to be freed. */
	void (*closed)(void *arg, void *session);
	void *arg;
};

struct conn_limits {
	size_t max_line, max_body;
	size_t max_turns;  /* open requests, above which it is not read */
	size_t max_unread; /* octets of answers that the client has not taken, above which it is not read */
};

/* What all connections of a server share. Zero it, set the first three, call conn_set_init. */
struct conn_set {
	uv_loop_t *loop;
	struct conn_handler handler;
	struct conn_limits limits;
	struct conn *first;      /* all connections */
	struct conn *dirty;      /* those with something to write or to take up again, linked */
	size_t count, strangers; /* all, and those of them that are strangers */
	struct conn *seat[CONN_STRANGERS];
	size_t seat_next;           /* whoever has it came first */
	char *scratch;              /* the octets of one read */
	void (*emptied)(void *arg); /* a connection is gone */
	void *emptied_arg;
};

bool conn_set_init(struct conn_set *set); /* false: no memory */
void conn_set_release(struct conn_set *set);

/* Takes over the connected socket fd and starts reading. session: the owner's, from handler's side. False: no memory or
 * descriptor; the fd is closed and the session still the caller's. */
bool conn_open(struct conn_set *set, int fd, void *session);
/* The same for one who is let in only to hear that he may not come in. The one who came CONN_STRANGERS before him ends, and his
 * bodies are not kept: so a flood of them takes nothing from the others. */
bool conn_open_stranger(struct conn_set *set, int fd, void *session);
void *conn_session(struct conn *conn);
/* Each second. Ends the connections whose peer is gone although something is still to be answered: of a peer that is not read, since
 * its input has ended or is held back, libuv says nothing, and one that only closed its writing half still reads. Reads on where
 * conn_nonsense has stopped it. Walks over all. */
void conn_set_beat(struct conn_set *set);
/* From inside handler->request: that was no request. Who says more of that than CONN_NONSENSE in a second is not read for the rest of
 * it, so that a flood of it takes no time from the others. */
void conn_nonsense(struct conn *conn);

/* The peer has closed both halves, whether or not libuv has told. A call of the kernel. */
bool conn_gone(const struct conn *conn);

void turn_open(struct turn *turn, struct conn *conn, bool ordered);
/* The answer may be so large: until it is given the client counts as not having taken these octets. Once, before the answer. */
void turn_expect(struct turn *turn, size_t octets);
/* Gives the answer, whole lines with their bodies; the octets are copied. Only while turn->conn is there. Not to be touched
 * afterwards: `ended` may be called from inside. Without memory the connection closes. */
void turn_answer(struct turn *turn, struct slice head, struct slice body);

/* A whole line that nobody asked for goes out between two answers. False: the client does not read what it is sent; nothing
 * was taken. Never ends the connection from inside. */
bool conn_tell(struct conn *conn, struct slice line);
/* The same for what must be told: without memory for it the connection ends soon. */
void conn_must_tell(struct conn *conn, struct slice line);
/* The client listens: it stays connected when it has only closed its writing half. */
void conn_listens(struct conn *conn);

/* From inside handler->request: `line` begins an HTTP request. Reads on to the empty line, then calls handler->http. */
void conn_await_header(struct conn *conn, struct slice line);
/* Closes when everything that was asked has been answered and written (QUIT, HTTP). Reads no more. */
void conn_finish(struct conn *conn);
/* Writes outside any turn, then finishes: for HTTP. */
void conn_write_last(struct conn *conn, struct slice text);
/* Ends it at once; what was not written is lost. */
void conn_close(struct conn *conn);

/* Writes what has gathered and takes up reading where it was held back: once per turn of the loop, after the store's flush.
 * True: requests were taken up, so flush the store again. */
bool conn_set_flush(struct conn_set *set);
void conn_set_finish_all(struct conn_set *set);
/* Ends those that wait for nothing but their client to read. */
void conn_set_close_answered(struct conn_set *set);

#endif
