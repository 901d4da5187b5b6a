/*
 * server.c - puts the parts together and runs the loop. main.c calls server_run; see server.h.
 *
 * A part that cannot start ends the daemon with its reason in the log; a store that is down does not, since it can heal.
 */
#include "config.h"

#include "server.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

#define BEAT_MS 1000
#define COUNT_EVERY_MS 60000
#define MAX_UNREAD (256 * 1024)
#define STORE_IN_FLIGHT 65536

/* ---- what comes up from the store ---- */

static void on_op_done(void *arg, struct op *op)
{
	struct server *server = arg;

	engine_done(server->engine, op, clock_mono_ms());
}

static void on_made(void *arg, const char *where)
{
	struct server *server = arg;

	log_event(
	    &server->log, LOG_LEVEL_WARN, "store_created",
	    "there was no store at this path, so a new and empty one was made: work done before is not known to it",
	    (struct log_field[]){log_text("path", where), log_end()});
}

static void on_health(void *arg, bool up, const char *why)
{
	struct server *server = arg;

	log_event(&server->log, up ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR, up ? "store_up" : "store_down",
		  up ? "the store answers" : "the store does not answer; claims are refused until it does",
		  (struct log_field[]){log_text("why", why), log_end()});
}

/* ---- the engine's hooks ---- */

static void to_store(void *arg, struct op *op)
{
	struct server *server = arg;

	store_submit(server->store, op);
}

static void on_late(void *arg, struct op *op)
{
	struct server *server = arg;

	if (op != &server->count_op)
		dispatch_late(&server->dispatch, op);
}

static void on_answer(void *arg, struct op *op)
{
	struct server *server = arg;

	if (op != &server->count_op) {
		dispatch_answer(&server->dispatch, op);
		return;
	}
	server->counting = false;
	if (op->result == OP_APPLIED) {
		server->counts = op->counts;
		server->counted_ms = clock_mono_ms();
	}
	op_release(op);
}

static void on_changed(void *arg, const struct op *op)
{
	struct server *server = arg;

	dispatch_changed(&server->dispatch, op);
}

static void on_told(void *arg, struct holder *holder, const struct notice *notice)
{
	struct server *server = arg;

	dispatch_told(&server->dispatch, holder, notice);
}

static bool is_gone(void *arg, const struct op *op)
{
	struct server *server = arg;

	return dispatch_gone(&server->dispatch, op);
}

static void on_shutdown(void *arg)
{
	struct server *server = arg;

	if (server->phase == PHASE_SERVING)
		server_stop_asked(server);
}

/* ---- the loop ---- */

static void on_deadline(uv_timer_t *timer)
{
	struct server *server = timer->data;

	server->armed_ms = INT64_MAX;
}

/* The timer is armed for the earliest deadline and left alone until it fires: most ops are answered long before. */
static void arm_deadlines(struct server *server)
{
	int64_t now_ms, next_ms;

	now_ms = clock_mono_ms();
	next_ms = engine_tick(server->engine, now_ms);
	if (next_ms >= server->armed_ms)
		return;
	uv_timer_start(&server->deadlines, on_deadline, next_ms > now_ms ? (uint64_t)(next_ms - now_ms) : 0, 0);
	server->armed_ms = next_ms;
}

static void on_prepare(uv_prepare_t *prepare)
{
	struct server *server = prepare->data;

	arm_deadlines(server);
	do {
		store_flush(server->store);
	} while (conn_set_flush(&server->conns) || server->conns.dirty != NULL);
	arm_deadlines(server);
	server_stop_step(server);
}

static void start_counting(struct server *server)
{
	if (server->counting || server->phase != PHASE_SERVING)
		return;
	op_init(&server->count_op, OP_COUNT, SLICE_ABSENT);
	server->count_op.scan.prefix = slice_from(server->scope);
	server->counting = engine_submit(server->engine, &server->count_op, clock_mono_ms());
}

static void on_beat(uv_timer_t *timer)
{
	struct server *server = timer->data;
	int64_t now_ms = clock_mono_ms();

	if (server->notify.watchdog_ms > 0)
		sdnotify_send(&server->notify, "WATCHDOG=1");
	conn_set_beat(&server->conns);
	admin_expire(&server->admin, now_ms);
	watch_remind(&server->dispatch.watchers);
	if (server->counted_ms == 0 || now_ms - server->counted_ms >= COUNT_EVERY_MS)
		start_counting(server);
}

static void on_signal(uv_signal_t *handle, int number)
{
	(void)number;
	server_stop_asked(handle->data);
}

/* Those who may not come in do not count. */
static bool is_full(const struct server *server)
{
	return server->conns.count - server->conns.strangers >= server->conf->max_connections;
}

static void on_accepted(void *arg, int fd)
{
	struct server *server = arg;
	struct session *session = session_new(fd, server->conf->namespace, &server->access);

	if (session == NULL) {
		close(fd);
		return;
	}
	if (session->admitted ? !conn_open(&server->conns, fd, session)
			      : !conn_open_stranger(&server->conns, fd, session)) {
		session_free(session);
		return;
	}
	server->stats.connections++;
	server->stats.connections_total++;
	if (is_full(server))
		listener_hold(&server->listener, true);
}

static void on_conn_gone(void *arg)
{
	struct server *server = arg;

	if (!is_full(server) && server->phase <= PHASE_DRAINING)
		listener_hold(&server->listener, false);
}

/* ---- the start ---- */

static bool start_loop(struct server *server, struct errbuf *err)
{
	uv_loop_t *loop = &server->loop;
	uint64_t beat_ms = BEAT_MS;

	if (server->notify.watchdog_ms > 0 && (uint64_t)server->notify.watchdog_ms < beat_ms)
		beat_ms = (uint64_t)server->notify.watchdog_ms;
	server->prepare.data = server->deadlines.data = server->beat.data = server;
	server->term.data = server->interrupt.data = server;
	uv_prepare_init(loop, &server->prepare);
	uv_timer_init(loop, &server->deadlines);
	uv_timer_init(loop, &server->beat);
	if (!server_stop_init(server) || uv_signal_init(loop, &server->term) != 0 ||
	    uv_signal_init(loop, &server->interrupt) != 0 || uv_signal_start(&server->term, on_signal, SIGTERM) != 0 ||
	    uv_signal_start(&server->interrupt, on_signal, SIGINT) != 0) {
		err_set(err, "cannot watch for signals");
		return false;
	}
	uv_prepare_start(&server->prepare, on_prepare);
	uv_timer_start(&server->beat, on_beat, 0, beat_ms);
	return true;
}

static bool start_access(struct server *server, struct errbuf *err)
{
	const struct conf *conf = server->conf;
	struct access_settings settings = {conf->allow_uid, conf->allow_gid, conf->operator_uid, conf->namespace_uid};

	return access_init(&server->access, &settings, (int64_t)geteuid(), err);
}

static bool start_engine(struct server *server, struct errbuf *err)
{
	struct engine_hooks hooks = {to_store, on_late, on_answer, on_changed, on_told, is_gone, server};
	struct engine_limits limits = {server->conf->request_timeout_ms, server->conf->lease_ms, server->conf->ttl_ms,
				       server->conf->done_cache};
	struct hash_seed seed;

	hash_seed_random(&seed);
	grants_init(&server->grants, &seed);
	server->engine = engine_new(&hooks, &limits, &seed);
	server->dispatch.conf = server->conf;
	server->dispatch.engine = server->engine;
	server->dispatch.stats = &server->stats;
	server->dispatch.grants = &server->grants;
	server->dispatch.log = &server->log;
	server->dispatch.access = &server->access;
	server->dispatch.say_status = server_say_status;
	server->dispatch.look = server_look;
	server->dispatch.shutdown = on_shutdown;
	server->dispatch.arg = server;
	dispatch_handler(&server->dispatch, &server->conns.handler);
	server->conns.loop = &server->loop;
	server->conns.limits =
	    (struct conn_limits){PROTO_MAX_LINE, server->conf->max_body, server->conf->max_in_flight, MAX_UNREAD};
	server->conns.emptied = on_conn_gone;
	server->conns.emptied_arg = server;
	if (server->engine == NULL || !dispatch_init(&server->dispatch) || !conn_set_init(&server->conns)) {
		err_set(err, "out of memory");
		return false;
	}
	return true;
}

static bool start_store(struct server *server, struct errbuf *err)
{
	struct store_options options = {server->conf->store_timeout_ms, STORE_IN_FLIGHT, conf_owns_store(server->conf)};
	struct store_events events = {on_op_done, on_made, on_health, server};

	return store_open(&server->store, server->conf->store, &options, &server->loop, &events, err);
}

static bool start_listener(struct server *server, char **envp, struct errbuf *err)
{
	const struct conf *conf = server->conf;
	struct listener_options options = {conf->socket, conf->socket_mode, conf->socket_group};
	int fd = sdnotify_listen_fd(envp, err);

	if (fd == SDNOTIFY_BAD_FD)
		return false;
	if (fd != SDNOTIFY_NO_FD)
		return listener_adopt(&server->listener, &server->loop, fd, err);
	return listener_open(&server->listener, &server->loop, &options, err);
}

static bool start_admin(struct server *server, struct errbuf *err)
{
	const struct conf *conf = server->conf;
	struct listener_options at = {conf->admin, conf->socket_mode, conf->socket_group};
	struct admin_source source = {&server->stats, server_look, server};

	if (conf->admin == NULL)
		return true;
	if (!admin_open(&server->admin, &server->loop, &at, &source, err)) {
		err_prefix(err, "admin");
		return false;
	}
	log_event(&server->log, LOG_LEVEL_INFO, "admin", "probes and metrics are answered over HTTP",
		  (struct log_field[]){log_text("at", server->admin.shown), log_end()});
	return true;
}

static void tell_ready(struct server *server)
{
	struct errbuf store;

	store_describe(server->store, &store);
	log_event(
	    &server->log, LOG_LEVEL_INFO, "ready", "claimd answers",
	    (struct log_field[]){log_text("version", PACKAGE_VERSION),
				 log_text("socket", server->listener.path != NULL ? server->listener.path
										  : "passed by the service manager"),
				 log_text("store", store.text), log_int("pid", getpid()), log_end()});
	sdnotify_send(&server->notify, "READY=1");
	if (server->conf->ready_fd >= 0) {
		ssize_t written = write(server->conf->ready_fd, "\n", 1);

		(void)written; /* who waits there sees the close as well */
		close(server->conf->ready_fd);
	}
}

static int could_not_start(struct server *server, const struct errbuf *err)
{
	log_event(&server->log, LOG_LEVEL_ERROR, "start_failed", "claimd cannot start",
		  (struct log_field[]){log_text("why", err->text), log_end()});
	return EXIT_UNAVAILABLE;
}

static void warn(void *arg, const char *text)
{
	log_event(arg, LOG_LEVEL_WARN, "setting", "a setting is probably not meant so",
		  (struct log_field[]){log_text("why", text), log_end()});
}

/* After a clean end: nothing is left that anybody waits for. */
static void release(struct server *server)
{
	uv_loop_close(&server->loop);
	engine_free(server->engine);
	dispatch_release(&server->dispatch);
	conn_set_release(&server->conns);
	grants_release(&server->grants);
	access_release(&server->access);
}

int server_run(struct server *server, const struct conf *conf, char **envp)
{
	struct errbuf err;
	int rc;

	memset(server, 0, sizeof *server);
	server->conf = conf;
	server->start_ms = clock_mono_ms();
	if (conf->namespace != NULL)
		snprintf(server->scope, sizeof server->scope, "%s:", conf->namespace);
	server->armed_ms = INT64_MAX;
	signal(SIGPIPE, SIG_IGN);
	log_init(&server->log, conf->log_format, conf->log_level, conf->log_keys, STDERR_FILENO);
	conf_warnings(conf, warn, &server->log);
	if (!sdnotify_open(&server->notify, envp, &err))
		warn(&server->log, err.text);
	if ((rc = uv_loop_init(&server->loop)) != 0) {
		err_set(&err, "cannot make the event loop: %s", uv_strerror(rc));
		return could_not_start(server, &err);
	}
	/* The store before the socket: who sees the socket finds a daemon that can answer. A start that fails ends the process,
	 * which frees what there is. */
	if (!start_access(server, &err) || !start_engine(server, &err) || !start_store(server, &err))
		return could_not_start(server, &err);
	if (!start_listener(server, envp, &err)) {
		uv_run(&server->loop,
		       UV_RUN_NOWAIT); /* what the store has to tell, a new one above all, is told all the same */
		return could_not_start(server, &err);
	}
	if (!start_admin(server, &err) || !start_loop(server, &err)) {
		admin_close(&server->admin);
		listener_close(&server->listener);
		return could_not_start(server, &err);
	}
	listener_make_room(&server->listener, conf->max_connections);
	listener_start(&server->listener, on_accepted, server);
	tell_ready(server);
	uv_run(&server->loop, UV_RUN_DEFAULT);
	log_event(&server->log, LOG_LEVEL_INFO, "stopped", "claimd leaves", NULL);
	if (server->store == NULL)
		release(server);
	sdnotify_close(&server->notify);
	log_release(&server->log);
	return 0;
}
