/*
 * dispatch.h - between connections and the engine: a request becomes an op, an answered op becomes a reply.
 *
 * It implements conn's handler and the engine's hooks for answers. Requests that need no store are answered at
 * once, in their turn.
 */
#ifndef CLAIMD_SERVER_DISPATCH_H
#define CLAIMD_SERVER_DISPATCH_H

#include "call.h"
#include "conf.h"
#include "engine.h"
#include "grants.h"
#include "log.h"
#include "stats.h"

#define DISPATCH_RANDOM 1024

struct dispatch {
	/* set by the owner before dispatch_init */
	const struct conf *conf;
	struct engine *engine;
	struct stats *stats;
	struct grants *grants;
	struct log *log;
	const struct access *access;
	/* The fields of STATUS without a key, behind its first word, for a client of that namespace (with its colon). */
	void (*say_status)(void *arg, struct slice ns, struct writer *w);
	/* What /metrics, /readyz and STATS show now. */
	void (*look)(void *arg, struct stats_view *view);
	/* A client asks the daemon to leave. */
	void (*shutdown)(void *arg);
	void *arg;

	struct watchers watchers;
	struct log_limit denials;              /* of the lines about them */
	bool stopping;                         /* everything is refused with ERR draining */
	struct call *reserve;                  /* for refusing when there is no memory */
	unsigned char random[DISPATCH_RANDOM]; /* octets for tokens, taken from the end */
	size_t random_left;
};

/* False: no memory. */
bool dispatch_init(struct dispatch *dispatch);
void dispatch_release(struct dispatch *dispatch);

/* The functions for conn_set.handler, whose arg must be the dispatch. */
void dispatch_handler(struct dispatch *dispatch, struct conn_handler *handler);
/* The engine's hooks: arg must be the dispatch. */
void dispatch_late(void *arg, struct op *op);
void dispatch_answer(void *arg, struct op *op);
void dispatch_changed(void *arg, const struct op *op);
void dispatch_told(void *arg, struct holder *holder, const struct notice *notice);
bool dispatch_gone(void *arg, const struct op *op);

#endif
