/* engine_rig.c - see engine_rig.h. */
#include "engine_rig.h"

struct engine *engine;
struct op *at_store[RIG_MAX], *answered[RIG_MAX], *late[RIG_MAX];
int at_store_count, answered_count, late_count;
const struct op *dead;
int64_t now_ms;

static void to_store(void *arg, struct op *op)
{
	(void)arg;
	ck_assert_int_lt(at_store_count, RIG_MAX);
	at_store[at_store_count++] = op;
}

static void on_late(void *arg, struct op *op)
{
	(void)arg;
	ck_assert_int_lt(late_count, RIG_MAX);
	late[late_count++] = op;
}

static void on_answer(void *arg, struct op *op)
{
	(void)arg;
	ck_assert_int_lt(answered_count, RIG_MAX);
	answered[answered_count++] = op;
}

static void on_changed(void *arg, const struct op *op)
{
	(void)arg;
	(void)op;
}

static void on_told(void *arg, struct holder *holder, const struct notice *notice)
{
	(void)arg;
	(void)holder;
	(void)notice;
}

static bool is_gone(void *arg, const struct op *op)
{
	(void)arg;
	return op == dead;
}

void engine_rig_open(const struct engine_limits *limits, void (*changed)(void *arg, const struct op *op),
		     void (*told)(void *arg, struct holder *holder, const struct notice *notice))
{
	struct engine_hooks hooks = {
	    to_store, on_late, on_answer, changed != NULL ? changed : on_changed, told != NULL ? told : on_told,
	    is_gone,  NULL};
	struct hash_seed seed = {1, 2};

	dead = NULL;
	at_store_count = answered_count = late_count = 0;
	engine = engine_new(&hooks, limits, &seed);
	ck_assert_ptr_nonnull(engine);
}

void engine_rig_close(void)
{
	ck_assert_uint_eq(engine_pending(engine), 0);
	engine_free(engine);
	engine = NULL;
}
