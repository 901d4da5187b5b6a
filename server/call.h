/*
 * call.h - one request from its line to its answer: dispatch.c takes it through, plain.c answers what needs no store, fill.c makes
 * the op of the others, call.c has its memory, answer.c puts the store's answer into words, account.c counts it.
 *
 * One block of memory holds the turn on its connection, the op and a copy of every octet of the request that is needed. It
 * has two users, the engine (until it answers the op) and the connection (until the turn ends), and goes with the second.
 */
#ifndef CLAIMD_SERVER_CALL_H
#define CLAIMD_SERVER_CALL_H

#include "access.h"
#include "conn.h"
#include "events.h"
#include "op.h"

struct dispatch;

/* What is known of a connection's client. */
struct session {
	struct slice ns;      /* of the session, from mem_copy, with the colon behind it; absent: none */
	bool fresh;           /* nothing has come yet: HTTP is told from the protocol by the first line */
	bool ns_settled;      /* HELLO was said, or a verb with a key: the namespace stands */
	bool admitted;        /* it may ask for something at all */
	int64_t pid, uid;     /* of the peer; -1 where not known */
	struct conn *conn;    /* from its first request on */
	struct holder holder; /* what is bound to this connection */
	struct watcher watcher;
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
	bool unguarded;   /* the answer is a WON that no record stands behind */
	bool dropped;     /* there was a result, and it is not kept */
	bool want_result; /* STATUS result */
	size_t ns_len;    /* octets of the key that are the namespace's */
	struct slice tag, reason;
	int64_t pid, uid;   /* of the peer, for the log */
	int64_t start_us;   /* monotonic */
	struct call *spare; /* the next one of the reserve */
	char text[];
};

#define TOKEN_OCTETS 16 /* of a token that the daemon makes */
#define NO_MEMORY "out of memory; nothing was done, try again"

/* A session for a new connection on this socket, with its peer; ns: the daemon's own namespace, NULL: none. NULL: no memory. */
struct session *session_new(int fd, const char *ns, const struct access *access);
/* May it use the namespace that it has, or has not? */
bool session_may_use(const struct session *session, const struct access *access);
void session_free(struct session *session);
/* False: no memory, nothing has changed. */
bool session_take_namespace(struct session *session, struct slice ns);

/* A call with its turn on the connection and its tag, and room for text_len octets, of which the tag takes the first. NULL: no
 * memory; the client has been told ERR busy, or its connection closed. */
struct call *call_new(struct dispatch *dispatch, struct conn *conn, const struct request *req, size_t text_len);
void call_free(struct call *call);
/* An option's number or text; fallback or absent when it is not given. */
int64_t option_number(const struct request *req, enum option option, int64_t fallback);
struct slice option_text(const struct request *req, enum option option);
/* The key as it is stored: the session's namespace in front. */
struct slice call_key(char **at, const struct session *session, struct slice key);
/* Answers ERR. Only while its connection is there. */
void call_refuse(struct call *call, enum err code, const char *why);
/* A few calls put aside, for refusing when there is no memory. False: no memory for them. */
bool call_reserve(struct dispatch *dispatch);
void call_reserve_free(struct dispatch *dispatch);

/* fill.c: the op of a request. False: it was refused. */
bool fill_record(struct call *call, const struct request *req, bool oversize);
bool fill_scan(struct call *call, const struct request *req);

/* plain.c: requests that need no store, answered at once. */
void plain_hello(struct call *call, const struct request *req);
void plain_ok(struct call *call);
void plain_status(struct call *call); /* of the daemon */
void plain_watch(struct call *call, const struct request *req);
void plain_key(struct call *call, const struct request *req, bool oversize);
void plain_stats(struct call *call);
void plain_help(struct call *call, const struct request *req);
void plain_quit(struct call *call);
void plain_unguarded(struct call *call); /* a holder's verb for a claim that has no record */
void plain_shutdown(struct call *call, const struct request *req);

/* account.c: counts, and logs what operators did. */
void account_answer(struct call *call);
/* Answers ERR denied, counts and logs it. */
void account_denied(struct call *call, const char *why);
void account_notice(struct dispatch *dispatch, const struct notice *notice);

/* The answer to the call's op as the head of a reply (one line with its LF) and its body. At most ANSWER_HEAD octets. */
#define ANSWER_HEAD 4096
void answer_head(struct writer *w, const struct call *call, struct slice *body);
/* The answer to a LIST, in memory of its own. False: no memory. */
bool answer_page(const struct call *call, char **text, size_t *len);
/* A refusal; `why` is for a person. */
void answer_error(struct writer *w, struct slice tag, enum err code, const char *why);

#endif
