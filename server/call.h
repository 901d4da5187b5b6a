/*
 * call.h - one request from its line to its answer: dispatch.c takes it through, call.c has its memory, answer.c puts the
 * answer into words, account.c counts it.
 *
 * One block of memory holds the turn on its connection, the op and a copy of every octet of the request that is needed. It
 * has two users, the engine (until it answers the op) and the connection (until the turn ends), and goes with the second.
 */
#ifndef CLAIMD_SERVER_CALL_H
#define CLAIMD_SERVER_CALL_H

#include "conn.h"
#include "op.h"

struct dispatch;

/* What is known of a connection's client. */
struct session {
	struct slice ns;  /* of the session, from mem_copy, with the colon behind it; absent: none */
	bool fresh;       /* nothing has come yet: HTTP is told from the protocol by the first line */
	bool ns_settled;  /* HELLO was said, or a verb with a key: the namespace stands */
	int64_t pid, uid; /* of the peer; -1 where not known */
};

struct call {
	struct turn turn;
	struct op op;
	struct dispatch *dispatch;
	enum verb verb;
	bool with_engine; /* the engine has the op */
	bool own_token;   /* the CLAIM brought its token: its win is never undone, since a retry may find it again */
	bool granted;     /* the answer was a WON that is this call's own and may be undone */
	bool reserve;     /* from the reserve for want of memory */
	bool dropped;     /* there was a result, and it is not kept */
	bool want_result; /* STATUS result */
	size_t ns_len;    /* octets of the key that are the namespace's */
	struct slice tag, reason;
	int64_t pid, uid;   /* of the peer, for the log */
	int64_t start_us;   /* monotonic */
	struct call *spare; /* the next one of the reserve */
	char text[];
};

#define NO_MEMORY "out of memory; nothing was done, try again"

/* A session for a new connection on this socket, with its peer; ns: the daemon's own namespace, NULL: none. NULL: no memory. */
struct session *session_new(int fd, const char *ns);
void session_free(struct session *session);
/* False: no memory, nothing has changed. */
bool session_take_namespace(struct session *session, struct slice ns);

/* A call with its turn on the connection and its tag, and room for text_len octets, of which the tag takes the first. NULL: no memory; the client has been told ERR
 * busy, or its connection closed. */
struct call *call_new(struct dispatch *dispatch, struct conn *conn, const struct request *req, size_t text_len);
void call_free(struct call *call);
/* Copies text to *at, which moves on: absent stays absent. */
struct slice call_copy(char **at, struct slice text);
/* The key as it is stored: the session's namespace in front. */
struct slice call_key(char **at, const struct session *session, struct slice key);
/* Answers ERR. Only while its connection is there. */
void call_refuse(struct call *call, enum err code, const char *why);
/* A few calls put aside, for refusing when there is no memory. False: no memory for them. */
bool call_reserve(struct dispatch *dispatch);
void call_reserve_free(struct dispatch *dispatch);

/* account.c: counts, and logs what operators did. */
void account_answer(struct call *call);

/* The answer to the call's op as the head of a reply (one line with its LF) and its body. At most ANSWER_HEAD octets. */
#define ANSWER_HEAD 4096
void answer_head(struct writer *w, const struct call *call, struct slice *body);
/* The answer to a LIST, in memory of its own. False: no memory. */
bool answer_page(const struct call *call, char **text, size_t *len);
/* A refusal; `why` is for a person. */
void answer_error(struct writer *w, struct slice tag, enum err code, const char *why);
/* When to ask again after a HELD with so much time left: a fraction of it, with jitter. */
int64_t answer_retry_ms(int64_t left_ms, uint64_t random);

#endif
