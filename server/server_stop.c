/*
 * server_stop.c - how the daemon leaves.
 *
 * TERM: it goes on as ever, since the worker beside it may still have claims to settle. When no connection, no live claim
 * of ours, no call that waits and no kept settlement has been there for two seconds, or drain_timeout is over, it stops: new
 * requests are refused with ERR draining while those under way are answered, then clients are left and the store is closed. A
 * second signal skips the waiting.
 */
#include "clock.h"
#include "server.h"

#define LOOK_MS 100        /* how often it looks whether somebody needs us */
#define QUIET_MS 2000      /* nobody does for so long: leave */
#define LAST_WORDS_MS 1000 /* clients that do not read their answers are left after this */

static void enter(struct server *server, enum server_phase phase)
{
	server->phase = phase;
	server->phase_ms = clock_mono_ms();
}

static void on_store_closed(void *arg)
{
	struct server *server = arg;

	server->store = NULL;
	admin_close(&server->admin); /* last, so that it is seen to leave */
	uv_prepare_stop(&server->prepare);
	uv_close((uv_handle_t *)&server->prepare, NULL);
	uv_close((uv_handle_t *)&server->deadlines, NULL);
	uv_close((uv_handle_t *)&server->beat, NULL);
	uv_close((uv_handle_t *)&server->drain, NULL);
	uv_close((uv_handle_t *)&server->term, NULL);
	uv_close((uv_handle_t *)&server->interrupt, NULL);
}

static void stop(struct server *server, const char *why)
{
	log_event(&server->log, LOG_LEVEL_INFO, "stopping", "no more requests are taken",
		  (struct log_field[]){log_text("why", why), log_int("connections", (int64_t)server->conns.count),
				       log_end()});
	enter(server, PHASE_STOPPING);
	server->dispatch.stopping = true;
	listener_close(&server->listener);
	engine_abandon(server->engine, clock_mono_ms());
}

static void look_whether_needed(struct server *server)
{
	int64_t now_ms = clock_mono_ms();

	/* Who only watches would never leave; nor would one who may not come in. */
	if (server->conns.count - server->conns.strangers > server->dispatch.watchers.count ||
	    grants_live(&server->grants, now_ms) > 0 || engine_kept(server->engine)->count > 0 ||
	    engine_waiting(server->engine) > 0)
		server->quiet_ms = 0;
	else if (server->quiet_ms == 0)
		server->quiet_ms = now_ms;
	if (server->quiet_ms != 0 && now_ms - server->quiet_ms >= QUIET_MS)
		stop(server, "nobody needs it");
	else if (now_ms - server->phase_ms >= server->conf->drain_timeout_ms)
		stop(server, "drain_timeout");
}

/* What clients had sent when the stop began is read and answered by the next look. Then nothing more is read; who still waits
 * for an answer gets it. */
static void leave_clients(struct server *server)
{
	int64_t since_ms = clock_mono_ms() - server->phase_ms;

	if (since_ms >= LOOK_MS && !server->finished)
		conn_set_finish_all(&server->conns);
	server->finished = since_ms >= LOOK_MS;
	if (since_ms >= LAST_WORDS_MS)
		conn_set_close_answered(&server->conns);
}

void server_stop_step(struct server *server)
{
	if (server->phase != PHASE_STOPPING)
		return;
	if (server->conns.count == 0 && engine_pending(server->engine) == 0) {
		enter(server, PHASE_CLOSING);
		store_close(server->store, on_store_closed, server);
	}
}

static void on_look(uv_timer_t *timer)
{
	struct server *server = timer->data;

	if (server->phase == PHASE_DRAINING)
		look_whether_needed(server);
	else if (server->phase == PHASE_STOPPING)
		leave_clients(server);
}

void server_stop_asked(struct server *server)
{
	switch (server->phase) {
	case PHASE_SERVING:
		log_event(
		    &server->log, LOG_LEVEL_INFO, "draining", "a stop was asked for; it goes on until nobody needs it",
		    (struct log_field[]){log_int("connections", (int64_t)server->conns.count),
					 log_int("live_claims", (int64_t)grants_live(&server->grants, clock_mono_ms())),
					 log_int("drain_timeout_ms", server->conf->drain_timeout_ms), log_end()});
		enter(server, PHASE_DRAINING);
		sdnotify_send(&server->notify, "STOPPING=1");
		uv_timer_start(&server->drain, on_look, 0, LOOK_MS);
		break;
	case PHASE_DRAINING:
		stop(server, "asked for twice");
		break;
	case PHASE_STOPPING:
	case PHASE_CLOSING:
		/* Whatever holds it up is the store. What it acknowledged is safe there. */
		uv_stop(&server->loop);
		break;
	}
}

bool server_stop_init(struct server *server)
{
	server->drain.data = server;
	return uv_timer_init(&server->loop, &server->drain) == 0;
}
