/*
 * client.h - the client's side of the protocol without I/O: calls in, octets out; octets in, replies out.
 *
 * It knows which call a reply belongs to, what may be asked again when the connection is cut, and nothing of
 * sockets or time. link.c carries its octets; a test can do so by hand.
 *
 *     client_ask -> client_output/client_sent -> (wire) -> client_space/client_received -> client_next
 */
#ifndef CLAIM_CLIENT_H
#define CLAIM_CLIENT_H

#include "../proto/proto.h"

#define CLIENT_MAX_LINE (2 * PROTO_MAX_LINE)       /* of a reply: a daemon may have raised its own limits */
#define CLIENT_MAX_BODY ((size_t)16 * 1024 * 1024) /* of a reply: the metrics, or a raised max_body */

/* One request on its way. The caller owns it and keeps it until its last reply or CLIENT_CUT has come, or client_forget. */
struct call {
	struct call *next;
	char *frame; /* line, LF, body, LF; freed by call_release */
	size_t size;
	size_t sent;     /* octets handed over on the connection of now */
	int64_t sent_ms; /* when the first of them was, by the clock given to client_sent */
	bool tried;      /* an octet of it has left on some connection: it may have been done */
	bool repeat;     /* may be asked again on another connection */
	bool started;    /* a line of its reply has come */
	uint64_t tag;    /* 0: none, its reply comes in the order of asking; else whenever it is there */
};

#define CALL_ADDS 64 /* octets for tag= and body= at most, which count for the length of the line */
/* line: without LF and without body=. Whether it may be repeated follows from the line. False: no memory. */
bool call_init(struct call *call, struct slice line, struct slice body);
/* The same with a tag of ours, so that the line must have none; tag: not 0, and no other call's on the connection. */
bool call_init_tagged(struct call *call, struct slice line, struct slice body, uint64_t tag);
void call_release(struct call *call);

enum client_kind {
	CLIENT_NOTHING, /* needs more octets */
	CLIENT_REPLY,   /* for `call`; `last` when it is the last line of it */
	CLIENT_EVENT,   /* a line that nobody asked for */
	CLIENT_CUT,     /* `call` was sent, the connection is gone, and it may not be asked again */
	CLIENT_BROKEN   /* the connection must be closed: client.why says why, client.refused whether for good */
};

struct client_event {
	enum client_kind kind;
	struct call *call;
	bool last;
	const struct reply *reply; /* until the next client_next, client_space or client_lost */
};

struct client {
	struct call hello;         /* goes first on each connection; nothing else is sent before its OK */
	bool greeted;              /* that OK is here */
	enum err refused;          /* HELLO was refused for good; else ERR_NONE */
	struct call *first, *last; /* calls without their last reply, in the order of asking */
	struct call *sending;      /* the first of them that has not left as a whole; NULL: all have */
	struct call *cut;          /* calls to be told of */
	char *in;
	size_t in_at, in_len, in_cap; /* octets in_at .. in_len are not consumed */
	struct frame frame;
	struct reply reply;
	int64_t max_body; /* the daemon's limit for results */
	struct errbuf why;
};

/* name: of the program, for the daemon's log. ns: absent for none. False: no memory. */
bool client_init(struct client *client, struct slice name, struct slice ns);
/* Calls that are still out are forgotten. */
void client_release(struct client *client);

/* Queues a call. */
void client_ask(struct client *client, struct call *call);
/* Takes a call out that will not be waited for. When it was sent, the connection is out of step: true, and it must be closed. */
bool client_forget(struct client *client, struct call *call);
bool client_idle(const struct client *client);

/* What goes out next; length 0: nothing. */
struct slice client_output(const struct client *client);
void client_sent(struct client *client, size_t count, int64_t now_ms);
/* Where to put what came in; at least 4 KiB, NULL: no memory. */
char *client_space(struct client *client, size_t *room);
void client_received(struct client *client, size_t count);
/* The connection is over: whatever is safe to ask again is asked again on the next one. */
void client_lost(struct client *client);
/* The next thing to know. */
struct client_event client_next(struct client *client);

#endif
