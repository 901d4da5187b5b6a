/*
 * admin.h - the daemon's second socket (--admin): HTTP only, for probes and for Prometheus. Off unless it is set.
 *
 * It shows numbers and changes nothing, so it may be where the control socket must not: on a TCP port. What connects there is
 * a stranger: it gets ADMIN_MAX_HEADER octets for its request, ADMIN_DEADLINE_MS from beginning to end, and one of
 * ADMIN_MAX_CONNS places. Who comes when all are taken gets the place of whoever has been there longest, since a probe is
 * answered within a turn of the loop, and a slow client must not keep it out.
 */
#ifndef CLAIMD_SERVER_ADMIN_H
#define CLAIMD_SERVER_ADMIN_H

#include "listener.h"
#include "stats.h"

#define ADMIN_MAX_HEADER 8192
#define ADMIN_MAX_CONNS 16
#define ADMIN_DEADLINE_MS 5000

struct admin_conn;

/* What is shown. */
struct admin_source {
	const struct stats *stats;
	void (*look)(void *arg, struct stats_view *view);
	void *arg;
};

/* Zero is closed. */
struct admin {
	bool open;
	struct listener listener;
	struct admin_source source;
	struct admin_conn *first, *last; /* by age, the oldest first; those that are being closed are not in it */
	size_t count;                    /* of them */
	char shown[128];                 /* where it listens; with the port that the kernel chose, where that was 0 */
};

/* Listens on `at` (as address.h says) and answers from the next turn of the loop on. A Unix socket has these permissions. False:
 * *err says what to do. */
bool admin_open(struct admin *admin, uv_loop_t *loop, const struct listener_options *at,
		const struct admin_source *source, struct errbuf *err);
/* Ends connections that are over their deadline: once a second. */
void admin_expire(struct admin *admin, int64_t now_ms);
/* Leaves all connections, listens no more. The handles end with the loop. */
void admin_close(struct admin *admin);

#endif
