/*
 * engine_rig.h - an engine on plain numbers, for the tests of the engine: its store is a list of what it handed over, to be
 * answered by the test when it likes. No real time passes. What does not fit fails the test.
 */
#ifndef CLAIMD_TESTS_ENGINE_RIG_H
#define CLAIMD_TESTS_ENGINE_RIG_H

#include <check.h>

#include "../server/engine.h"

#define RIG_MAX 256

/* One engine at a time, and what it said, in order. */
extern struct engine *engine;
extern struct op *at_store[RIG_MAX], *answered[RIG_MAX], *late[RIG_MAX];
extern int at_store_count, answered_count, late_count;
extern const struct op *dead; /* its client is gone, and its connection has not told yet */
extern int64_t now_ms;        /* when the test calls the engine; set before engine_rig_open */

/* An engine to which nothing has happened. The hooks `changed` and `told` may be NULL: nobody listens. */
void engine_rig_open(const struct engine_limits *limits, void (*changed)(void *arg, const struct op *op),
		     void (*told)(void *arg, struct holder *holder, const struct notice *notice));
/* Everything must have been answered. */
void engine_rig_close(void);

#endif
