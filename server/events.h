/*
 * events.h - lines that go to a client between answers: what happens to its own claims (notify), and every change that this
 * daemon makes (WATCH). dispatch.c calls this from the engine's hooks.
 *
 * A reader that is too slow for WATCH misses events and is told how many; nothing waits for it.
 */
#ifndef CLAIMD_SERVER_EVENTS_H
#define CLAIMD_SERVER_EVENTS_H

#include "conn.h"
#include "engine.h"

/* What is watched. */
struct watch_ask {
	struct slice prefix; /* of whole keys; absent: all */
	size_t ns_len;       /* octets of each key that are the namespace's and are not shown */
	int state;           /* an enum choice of STATE; -1: any */
};

/* A connection that watches. Its owner zeroes it and ends it with the connection. */
struct watcher {
	struct watcher *prev, *next;
	struct conn *conn;    /* NULL: it does not watch */
	struct watch_ask ask; /* the prefix is from mem_copy */
	uint64_t missed;      /* events that it was not told */
};

/* Zero is empty. */
struct watchers {
	struct watcher *first;
	size_t count;
};

/* From now on this is watched, in place of what was. The prefix is copied. False: no memory, nothing has changed. */
bool watch_start(struct watchers *watchers, struct watcher *watcher, struct conn *conn, const struct watch_ask *ask);
void watch_end(struct watchers *watchers, struct watcher *watcher);
/* The op has changed its record. */
void watch_tell(struct watchers *watchers, const struct op *op);
/* Who missed something and reads again is told so. Now and then. */
void watch_remind(struct watchers *watchers);

/* A notice for the holder of a claim. */
void notice_tell(struct conn *conn, size_t ns_len, const struct notice *notice);
struct slice lost_cause_name(enum lost_cause cause);

#endif
