/*
 * claim.h - libclaim: talk to claimd, the daemon that lets exactly one of many do a piece of work.
 *
 *     claim_conn *conn;
 *     claim_grant *grant;
 *     if (claim_open(&conn, NULL, NULL, 10000) == CLAIM_OK &&
 *         claim_acquire(conn, "orders:42", 9, NULL, &grant) == CLAIM_WON) {
 *             place_order();
 *             if (claim_complete(conn, grant, "ok", 2) != CLAIM_OK)
 *                     log("done, but not recorded: %s", claim_detail(conn));
 *             claim_grant_free(grant);
 *     }
 *     claim_close(conn);
 *
 * Or, with one call for all of that: claim_once, at the end. For a program with an event loop: claim_submit and claim_process.
 *
 * Rules
 *   Only CLAIM_WON permits the work. On any other answer, also one that is not listed here: do not run.
 *   After the work never report a failure of claim_complete as a failure of the work: repeat claim_complete.
 *
 * Units       Names end in _ms for milliseconds. Byte strings are pointer and length and may hold any octet; text is UTF-8 or
 *             whatever you like, with a NUL.
 * Ownership   Arguments are copied. What claim_field, claim_body and claim_detail return belongs to the connection
 *             and is valid until the next call on it.
 * Errors      Calls return an enum claim_code: zero and above are answers of the daemon, below zero is an error. claim_detail
 *             says it in words. A call returns within the connection's timeout.
 * Repeats     When the connection is cut, the call reconnects (with jitter) and asks again, but only what is safe to
 *             ask twice: a CLAIM only with its token, FORGET and RESOLVE never. What was not asked again and may have been
 *             done is CLAIM_E_UNCERTAIN.
 * Threads     A connection may be used by one thread at a time. There is no global state.
 * Disabled    With CLAIMD_DISABLED=1 in the environment when a connection is opened nothing is guarded (for tests of the work
 *             itself) and no daemon is needed: claims win at once with fence 0, settling does nothing, a content key is that of the
 *             octets. claim_unguarded and the hook `unguarded` say so each time. Lines of claim_call and claim_submit
 *             are sent as ever.
 * Fork        A connection does not survive fork in the child: calls there return CLAIM_E_FORKED; claim_close is allowed.
 * Signals     None is handled, changed or raised (sockets are written with MSG_NOSIGNAL). Descriptors are close-on-exec.
 */
#ifndef CLAIM_H
#define CLAIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CLAIM_API __attribute__((visibility("default")))
#else
#define CLAIM_API
#endif

typedef struct claim_conn claim_conn;   /* a connection to the daemon, which heals by itself */
typedef struct claim_grant claim_grant; /* a claim that was won: its key, fence and token */

enum claim_code {
	CLAIM_OK = 0,   /* the holder's verbs: it is so now */
	CLAIM_WON,      /* CLAIM: the key is yours; do the work */
	CLAIM_HELD,     /* CLAIM: somebody works on it; field left_ms */
	CLAIM_DONE,     /* CLAIM: it was done before; claim_body has the result */
	CLAIM_FAILED,   /* CLAIM: it was burned before and will never be done */
	CLAIM_MISMATCH, /* CLAIM: the key was used for another request (fingerprints differ) */
	CLAIM_UNKNOWN,  /* CLAIM: nobody knows whether it was done; a person must settle it */
	CLAIM_STALE,    /* it is not yours any more; fields fence and state say whose */
	CLAIM_NOTFOUND, /* there is no such record */
	CLAIM_STATUS,   /* STATUS: the record is in the fields */
	CLAIM_ITEM,     /* LIST: one record; ask claim_next for the next one */
	CLAIM_END,      /* LIST: the page is over; field cursor when there are more */
	CLAIM_OTHER,    /* a word that this library has never heard of: do not run */
	CLAIM_EVENT,    /* a line that comes by itself, for claim_on_event */

	CLAIM_E_NOMEM = -1,       /* no memory; nothing was asked */
	CLAIM_E_INVAL = -2,       /* the request is wrong: an argument is empty, too long or out of range */
	CLAIM_E_DENIED = -3,      /* this user may not do that */
	CLAIM_E_UNREACHABLE = -4, /* the daemon is not there; nothing was done */
	CLAIM_E_REFUSED = -5,     /* the daemon or its store could not do it now; nothing was done, ask again later */
	CLAIM_E_UNCERTAIN = -6, /* no answer: it may have been done or not. A holder's verb may be repeated as it is */
	CLAIM_E_PROTOCOL = -7,  /* the other end does not speak this protocol */
	CLAIM_E_FORKED = -8     /* the connection belongs to the parent process */
};

/* A short text for a code; static, never NULL. */
CLAIM_API const char *claim_strerror(int code);

/*
 * Makes a connection. The daemon is contacted by the first call, not here.
 *   path        of the socket; NULL: $CLAIMD_SOCKET, else $XDG_RUNTIME_DIR/claimd/claimd.sock, else (and for root)
 *               /run/claimd/claimd.sock
 *   ns          namespace of all keys; NULL: none
 *   timeout_ms  how long one call may take, connecting and repeating included; 1 or more
 * CLAIM_OK; CLAIM_E_INVAL (path or ns too long or empty, timeout_ms < 1) or CLAIM_E_NOMEM, and then *out is untouched.
 */
CLAIM_API int claim_open(claim_conn **out, const char *path, const char *ns, int timeout_ms);
/* Ends it. NULL is allowed. Claims that were won stay until they are settled or their lease ends (but see drop). Calls under way
 * end without calling back. */
CLAIM_API void claim_close(claim_conn *conn);
/* The path of its socket. */
CLAIM_API const char *claim_socket(const claim_conn *conn);
/* What the last call met, in words for a person; "" when nothing went wrong. */
CLAIM_API const char *claim_detail(const claim_conn *conn);

/* What a claim may say beyond its key. Start from CLAIM_OPTIONS_INIT; what is 0 or NULL takes the daemon's default. */
struct claim_options {
	size_t size;      /* sizeof(struct claim_options): set by CLAIM_OPTIONS_INIT, so that the struct may grow */
	int64_t lease_ms; /* nobody else takes the key for so long; 1 ms .. 365 days */
	int64_t ttl_ms;   /* how long a settled record suppresses; CLAIM_NEVER: for ever */
	/* 16 to 64 characters, the same on each repeat of one claim and never for another one. NULL: the library makes one for its own
	 * repeats; with one of your own you can ask again after CLAIM_E_UNCERTAIN, and are told of a win that was yours. */
	const char *token;
	const char *fp; /* fingerprint of the request, up to 128 characters: another one with this key is a MISMATCH */
	const char *owner; /* who holds it, for people, up to 128 characters */
	int lapse_unknown; /* not 0: when the lease lapses, nobody takes over and a person must settle it */
	/* Waits so long for a key that is held; the call may take that longer than the connection's timeout. */
	int64_t wait_ms;
	int64_t atleast_ms; /* the key stays taken for so long after the win, even when it is settled or released */
	/* These bind the claim to the connection: they are over when it is cut, even where it is made anew. claim_renew brings hold_ms
	 * and notify back. */
	int64_t hold_ms; /* the daemon renews the lease while the connection lives, until so long after the win */
	/* An enum claim_drop. With another than CLAIM_DROP_KEEP there is no token, so that a CLAIM which is cut is not repeated:
	 * CLAIM_E_UNCERTAIN. */
	int drop;
	int notify; /* not 0: events RENEWED and LOST, see claim_on_event */
};
/* What becomes of a claim whose connection ends before a settlement. */
enum claim_drop {
	CLAIM_DROP_KEEP,    /* the lease runs out */
	CLAIM_DROP_RELEASE, /* it did not happen: somebody may try again at once */
	CLAIM_DROP_UNKNOWN  /* nobody knows: a person must settle it */
};
#define CLAIM_NEVER INT64_MAX
#define CLAIM_OPTIONS_INIT                                                             \
	{                                                                              \
		sizeof(struct claim_options), 0, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0 \
	}

/*
 * Asks for the right to do the work of a key (1 to 1024 octets). options may be NULL.
 * Only on CLAIM_WON *out is set; free it with claim_grant_free, which does not give the claim back.
 */
CLAIM_API int claim_acquire(claim_conn *conn, const void *key, size_t key_len, const struct claim_options *options,
			    claim_grant **out);
CLAIM_API void claim_grant_free(claim_grant *grant);
CLAIM_API int64_t claim_grant_fence(const claim_grant *grant);
/* "" where the claim has none (drop). */
CLAIM_API const char *claim_grant_token(const claim_grant *grant);
/* Not 0: nothing stands behind this win, since the daemon is allowed to go on without its store (on_store_down=run-unguarded),
 * or CLAIMD_DISABLED=1 is set. The work may be done twice. */
CLAIM_API int claim_unguarded(const claim_grant *grant);

/* The holder's verbs: CLAIM_OK, CLAIM_STALE when it is not ours any more, or an error. All may be repeated. */
/* It happened. result NULL: none is recorded; "" with 0 is an empty one. Field kept=0: it was too big and is not kept. */
CLAIM_API int claim_complete(claim_conn *conn, const claim_grant *grant, const void *result, size_t result_len);
/* It will never happen: burns the key. */
CLAIM_API int claim_fail(claim_conn *conn, const claim_grant *grant, const void *result, size_t result_len);
/* It did not happen: somebody may try again. */
CLAIM_API int claim_release(claim_conn *conn, const claim_grant *grant);
/* We do not know whether it happened: the key stays shut until a person settles it. */
CLAIM_API int claim_doubt(claim_conn *conn, const claim_grant *grant);
/* Holds on for lease_ms from now; hold_ms and notify of the claim go on from here, over the connection of now. */
CLAIM_API int claim_renew(claim_conn *conn, const claim_grant *grant, int64_t lease_ms);
/* Is it still ours, and not lapsed? Field left_ms. */
CLAIM_API int claim_check(claim_conn *conn, const claim_grant *grant);

/*
 * Any request: one line of the protocol without its LF, and a body where body is not NULL (its length is announced here, so the
 * line has no body= of its own). The line has at most 8192 octets, 64 of them kept free where there is a body.
 * Returns the code of the answer's first line; after LIST call claim_next until it is not CLAIM_ITEM.
 */
CLAIM_API int claim_call(claim_conn *conn, const char *line, size_t line_len, const void *body, size_t body_len);
CLAIM_API int claim_next(claim_conn *conn);

/* The last answer. */
/* Its first word as it stood; "" when there is none. */
CLAIM_API const char *claim_word(const claim_conn *conn);
/* A field by its name, decoded, with a NUL behind it; NULL when it is not there. len may be NULL. The code of an ERR
 * is "code". */
CLAIM_API const char *claim_field(const claim_conn *conn, const char *name, size_t *len);
/* The field at a place, 0 and up; NULL past the end. */
CLAIM_API const char *claim_field_at(const claim_conn *conn, size_t at, const char **name, size_t *len);
/* A field as a number; fallback when it is missing or is none. CLAIM_NEVER for "never". */
CLAIM_API int64_t claim_number(const claim_conn *conn, const char *name, int64_t fallback);
/* The body and its length; NULL when there was none, which is not the same as an empty one. A NUL stands behind it. */
CLAIM_API const void *claim_body(const claim_conn *conn, size_t *len);

/*
 * ---- for an event loop: nothing here blocks ----
 *
 * Poll claim_fd for claim_events (of poll(2)), claim_timeout_ms at the longest, then call claim_process. The time-out
 * may be another one after each call on the connection. Many calls may be under way, each is answered when its answer is there, in any
 * order, or ends with the connection's timeout. The blocking calls above may be mixed in, but not from inside a callback (they are
 * CLAIM_E_INVAL there); callbacks of other calls then run while they block.
 */

/* One answer: `code` as the calls above return it; claim_field and the others read it, until the callback returns. After
 * CLAIM_ITEM more follow; with anything else the call is over. Runs inside claim_process (or a call that blocks), never inside
 * claim_submit. It may submit more, and inside claim_process it may close the connection (while a call blocks that has no
 * effect: whoever blocks still needs it). */
typedef void claim_callback(claim_conn *conn, int code, void *arg);

/* One descriptor for as long as the connection is open, however often the daemon is connected anew, so that a loop adds it
 * once. -1: there are no descriptors left. */
CLAIM_API int claim_fd(claim_conn *conn);
CLAIM_API int claim_events(const claim_conn *conn);
/* Milliseconds until claim_process must be called even if nothing happens; -1: never. */
CLAIM_API int claim_timeout_ms(const claim_conn *conn);
/* Connects, writes, reads, and calls back. conn may have been closed by a callback: then it is gone when this returns. */
CLAIM_API void claim_process(claim_conn *conn);

/* Asks; `done` is called with each answer. CLAIM_OK, CLAIM_E_INVAL, CLAIM_E_NOMEM or CLAIM_E_FORKED: on an error nothing
 * was asked and `done` is not called. The line as for claim_call, with 64 octets kept free, and without tag=. */
CLAIM_API int claim_submit(claim_conn *conn, const void *line, size_t line_len, const void *body, size_t body_len,
			   claim_callback *done, void *arg);
/* As claim_acquire. In the callback with CLAIM_WON claim_take_grant gives the grant, which is then the caller's. */
CLAIM_API int claim_submit_acquire(claim_conn *conn, const void *key, size_t key_len,
				   const struct claim_options *options, claim_callback *done, void *arg);
/* NULL: nothing was won here, or it has been taken. */
CLAIM_API claim_grant *claim_take_grant(claim_conn *conn);

/* What a holder says. */
enum claim_verb { CLAIM_COMPLETE, CLAIM_FAIL, CLAIM_RELEASE, CLAIM_DOUBT, CLAIM_CHECK };
/* As claim_complete and its like; the result is for CLAIM_COMPLETE and CLAIM_FAIL. The grant may be freed at once. */
CLAIM_API int claim_submit_verb(claim_conn *conn, const claim_grant *grant, enum claim_verb verb, const void *result,
				size_t result_len, claim_callback *done, void *arg);
CLAIM_API int claim_submit_renew(claim_conn *conn, const claim_grant *grant, int64_t lease_ms, claim_callback *done,
				 void *arg);

/* What comes by itself. `code` is CLAIM_EVENT, and claim_word is RENEWED, LOST, or what WATCH tells, each with fields key and
 * fence; or it is CLAIM_E_UNREACHABLE: the connection was cut, so that WATCH, hold and notify of it are over. Ask again: with
 * WATCH, and with claim_submit_renew for each claim. NULL: nobody is told. */
CLAIM_API void claim_on_event(claim_conn *conn, claim_callback *event, void *arg);

/* ---- content keys ---- */

/* The same key for the same JSON object, whatever its order and spaces, in every language: the daemon's KEY. fields, except, round
 * as in claim-protocol(7), NULL: none. out gets 64 hex digits and a NUL, with CLAIM_OK only. Else why not (CLAIM_E_INVAL: no key
 * can be made of it; claim_detail says what is wrong). */
CLAIM_API int claim_key_json(claim_conn *conn, const void *json, size_t json_len, const char *fields,
			     const char *except, const char *round, char out[65]);
/* SHA-256 of octets, as 64 hex digits and a NUL. Asks nobody. */
CLAIM_API void claim_key_bytes(const void *data, size_t len, char out[65]);

/* ---- all in one call ---- */

typedef struct claim_run claim_run; /* a claim while its work runs */

/* What the work came to. */
enum claim_outcome {
	CLAIM_DID,       /* it happened: COMPLETE */
	CLAIM_NEVER_DO,  /* it will never happen: FAIL */
	CLAIM_TRY_AGAIN, /* it did not happen: RELEASE */
	CLAIM_NOT_SURE   /* nobody knows: DOUBT */
};

/* The work. Called in the thread of claim_once, only where the key was won. May call what is below, and not use the connection. */
typedef enum claim_outcome claim_work(claim_run *run, void *arg);

CLAIM_API int64_t claim_run_fence(const claim_run *run);
/* Is it the first attempt (1), or what one is it? */
CLAIM_API int64_t claim_run_attempts(const claim_run *run);
/* What to record with CLAIM_DID or CLAIM_NEVER_DO; copied. CLAIM_OK or CLAIM_E_NOMEM. */
CLAIM_API int claim_run_result(claim_run *run, const void *result, size_t result_len);
/*
 * Holds on to the claim: call it whenever you like, more often than a third of the lease; it asks the daemon only when that is
 * over. CLAIM_OK: go on. CLAIM_STALE: it is lost, stop before you do harm. An error: it could not be renewed now;
 * claim_run_left_ms says how long you are still safe.
 */
CLAIM_API int claim_run_renew(claim_run *run);
/* How long the lease surely lasts, by our own clock; 0: it may be over. */
CLAIM_API int64_t claim_run_left_ms(const claim_run *run);

/* What claim_once is told and tells. Start from CLAIM_ONCE_INIT. Hooks may be NULL; the answer is read from conn with claim_field. */
struct claim_once_options {
	size_t size;                       /* sizeof(struct claim_once_options), set by CLAIM_ONCE_INIT */
	const struct claim_options *claim; /* NULL: the daemon's defaults */
	int64_t settle_ms;                 /* how long recording the outcome is tried; 0: 60 s, below: once */
	void *arg;                         /* for the work and the hooks */
	void (*duplicate)(claim_conn *conn, void *arg); /* it was done before: claim_body has the result */
	void (*conflict)(claim_conn *conn, void *arg);  /* somebody works on it: try again after retry_ms */
	void (*mismatch)(claim_conn *conn, void *arg);  /* the key was used for another request */
	void (*unguarded)(claim_conn *conn, void *arg); /* it is about to run, and nothing guards it */
	/* It ran, and that is not recorded: log it loudly, and never report it as a failure of the work. */
	void (*settle_failed)(claim_conn *conn, int code, void *arg);
	int ran;                    /* out: not 0 when the work was called */
	enum claim_outcome outcome; /* out: where it was, what it came to */
};
#define CLAIM_ONCE_INIT                                                                                      \
	{                                                                                                    \
		sizeof(struct claim_once_options), NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, CLAIM_DID \
	}

/*
 * Claims the key, does the work if it was won, and records its outcome, which is repeated until the daemon has it. `ran` says
 * whether the work was called, whatever else went wrong.
 *   CLAIM_OK       it ran, and its outcome is recorded (where the hook `unguarded` was called there is no record). Whether the
 *                  job is over says `outcome`: not with CLAIM_TRY_AGAIN or CLAIM_NOT_SURE
 *   CLAIM_DONE     it was done before; claim_body has the result. CLAIM_FAILED: it was burned before
 *   CLAIM_HELD, CLAIM_MISMATCH, CLAIM_UNKNOWN, CLAIM_OTHER, or an error with ran = 0: it did not run. Among them is a claim that
 *                  was won, but so late that its lease may be over, and could not be renewed: it is given back
 *   CLAIM_STALE    somebody else has the key now, since it took longer than its lease; with ran = 1 perhaps both did it
 *   an error with ran = 1: it ran, and that could not be recorded within settle_ms. The key is put in doubt, if that is possible
 */
CLAIM_API int claim_once(claim_conn *conn, const void *key, size_t key_len, struct claim_once_options *once,
			 claim_work *work);

#ifdef __cplusplus
}
#endif

#endif
