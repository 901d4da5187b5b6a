/*
 * server.h - the daemon: all its state in one struct, its loop, its start and its end.
 *
 * One turn of the loop: readers parse requests into ops; the prepare handle then flushes the store, writes what was
 * answered, and sees when the next deadline is. Nothing else waits or blocks.
 */
#ifndef CLAIMD_SERVER_SERVER_H
#define CLAIMD_SERVER_SERVER_H

#include <uv.h>

#include "admin.h"
#include "dispatch.h"
#include "listener.h"
#include "sdnotify.h"
#include "stores/store.h"

#define EXIT_UNAVAILABLE 69 /* could not start, which may pass */

enum server_phase {
	PHASE_SERVING,
	PHASE_DRAINING, /* a stop was asked for; everything goes on until nobody needs us */
	PHASE_STOPPING, /* new requests are refused, those under way are answered; then clients are left */
	PHASE_CLOSING   /* the store is being closed */
};

struct server {
	const struct conf *conf;
	struct log log;
	struct stats stats;
	struct grants grants;
	struct engine *engine;
	struct access access;
	struct dispatch dispatch;
	struct conn_set conns;
	struct listener listener;
	struct admin admin;
	struct store *store; /* NULL once it is closed */
	struct sdnotify notify;

	uv_loop_t loop;
	uv_prepare_t prepare; /* flushes */
	uv_timer_t deadlines; /* the engine's */
	int64_t armed_ms;     /* monotonic; when it fires; INT64_MAX: it does not */
	uv_timer_t beat;      /* once a second: watchdog, counting */
	uv_timer_t drain;     /* while a stop goes on */
	uv_signal_t term, interrupt;

	enum server_phase phase;
	int64_t start_ms, phase_ms; /* monotonic: when the daemon and this phase began */
	int64_t quiet_ms;           /* draining: since when nobody needs us; 0: somebody does */
	bool finished;              /* stopping: nothing more is read */

	char scope[CONF_MAX_NAMESPACE + 2]; /* the daemon's namespace with its colon; "": none */
	struct op count_op;                 /* walks the store for the metrics, in the background */
	bool counting;
	struct counts counts; /* the last ones */
	int64_t counted_ms;   /* when; 0: never */
};

/* Runs the daemon until it is told to stop. The exit status: 0, or EXIT_UNAVAILABLE with a logged reason. */
int server_run(struct server *server, const struct conf *conf, char **envp);

/* server_view.c: what STATUS and the metrics show. For dispatch; arg is the server. */
void server_say_status(void *arg, struct slice ns, struct writer *w);
void server_look(void *arg, struct stats_view *view);

/* server_stop.c */
void server_stop_asked(struct server *server);
/* Called in each turn while a stop goes on. */
void server_stop_step(struct server *server);
bool server_stop_init(struct server *server);

#endif
