/* server_view.c - what the daemon shows of itself: STATUS without a key, and the numbers behind the metrics. */
#include "config.h"

#include <string.h>

#include "clock.h"
#include "server.h"

static const char *phase_name(enum server_phase phase)
{
	return phase == PHASE_SERVING ? "serving" : phase == PHASE_DRAINING ? "draining" : "stopping";
}

static void say_text(struct writer *w, const char *name, const char *text)
{
	reply_bytes(w, name, slice_from(text));
}

/* What only a walk over the store can count, with its age. */
static void say_counts(struct writer *w, const struct server *server, int64_t now_ms)
{
	const struct counts *counts = &server->counts;

	if (server->counted_ms == 0)
		return;
	reply_ms(w, "counts_age_ms", now_ms - server->counted_ms);
	reply_number(w, "live", counts->live);
	reply_number(w, "lapsed", counts->lapsed);
	reply_number(w, "done", counts->done);
	reply_number(w, "failed", counts->failed);
	reply_number(w, "free", counts->free);
	reply_number(w, "unknown", counts->unknown);
	if (counts->unknown > 0)
		reply_ms(w, "oldest_unknown_ms", counts->oldest_unknown_us / 1000);
}

void server_say_status(void *arg, struct slice ns, struct writer *w)
{
	struct server *server = arg;
	int64_t now_ms = clock_mono_ms();
	struct errbuf store = {""};
	bool open = server->store != NULL;

	if (open)
		store_describe(server->store, &store);
	say_text(w, "version", PACKAGE_VERSION);
	say_text(w, "phase", phase_name(server->phase));
	say_text(w, "store", store.text);
	say_text(w, "store_up", open && store_up(server->store) ? "yes" : "no");
	say_text(w, "clock", "store");
	say_text(w, "namespace", server->conf->namespace);
	reply_ms(w, "up_ms", now_ms - server->start_ms);
	reply_number(w, "connections", (int64_t)server->conns.count);
	reply_number(w, "in_flight", (int64_t)engine_pending(server->engine));
	reply_number(w, "granted_live", (int64_t)grants_live(&server->grants, now_ms));
	reply_number(w, "waiting", (int64_t)engine_waiting(server->engine));
	reply_number(w, "kept", (int64_t)engine_kept(server->engine)->count);
	if (slice_equal(ns, slice_from(server->scope))) /* what others have is not for this client */
		say_counts(w, server, now_ms);
}

void server_look(void *arg, struct stats_view *view)
{
	struct server *server = arg;
	int64_t now_ms = clock_mono_ms();
	const struct store_stats *store = server->store != NULL ? store_stats(server->store) : NULL;

	*view = (struct stats_view){
	    .version = PACKAGE_VERSION,
	    .uptime_ms = now_ms - server->start_ms,
	    .store_up = store != NULL && store_up(server->store),
	    .draining = server->phase != PHASE_SERVING,
	    .log_dropped = server->log.dropped,
	    .waiters = engine_waiting(server->engine),
	    .undone_wins = engine_undone(server->engine),
	    .collapsed = engine_collapsed(server->engine),
	    .done_cache_hits = engine_recalled(server->engine),
	    .kept_settlements = engine_kept(server->engine)->count,
	    .kept_given_up = engine_kept(server->engine)->dropped,
	    .counts_age_ms = server->counted_ms != 0 ? now_ms - server->counted_ms : -1,
	    .live_claims = server->counts.live,
	    .unresolved_records = server->counts.unknown,
	    .oldest_unresolved_age_ms = server->counts.oldest_unknown_us / 1000,
	};
	if (store == NULL)
		return;
	view->store_applied = store->applied;
	view->store_lost = store->lost;
	view->store_refused = store->refused;
	view->store_uncertain = store->uncertain;
	memcpy(view->store_errors, store->errors, sizeof view->store_errors);
	view->in_flight = store->in_flight;
}
