/* shared_store.c - see shared_store.h. */
#include "shared_store.h"

#include <string.h>

#include "../server/done_cache.h"

#define VERSIONS 20000
#define START_US INT64_C(1700000000000000)

/* A record of a key, as it was from that time on. */
struct version {
	int key, by; /* by: the engine through which it was made */
	bool settled_by_hand;
	int64_t from_us;
	struct record rec;
};

struct engine *engine[SHARED_ENGINES];
struct visit visit[SHARED_VISITS];
int64_t now_us;
size_t at_store;
bool alone;
static struct version version[VERSIONS];
static size_t version_count;

static struct slice key_name(int key)
{
	static const char names[] = "abcdefghijklmnop";

	return (struct slice){names + key, 1};
}

int64_t shared_ms(void)
{
	return now_us / 1000;
}

static const struct version *latest(int key)
{
	for (size_t i = version_count; i > 0; i--) {
		if (version[i - 1].key == key)
			return &version[i - 1];
	}
	return NULL;
}

struct record shared_record(int key)
{
	const struct version *now = latest(key);

	return now != NULL ? now->rec : (struct record){.state = STATE_ABSENT};
}

void shared_decide(struct visit *v)
{
	struct record rec = shared_record(v->key);

	op_decide(&v->op, &rec, START_US + now_us);
	v->decided = true;
	ck_assert_uint_lt(version_count, VERSIONS);
	if (v->op.verdict.effect != EFFECT_NONE)
		version[version_count++] =
		    (struct version){.key = v->key,
				     .by = v->engine,
				     .settled_by_hand = v->op.ask.verb == ASK_RESOLVE || v->op.ask.verb == ASK_FORGET,
				     .from_us = now_us,
				     .rec = rec};
}

/* ---- what an answer without the store must be ---- */

static bool same_answer(const struct record *rec, const struct op *op, int64_t us)
{
	struct record then = *rec;
	struct verdict verdict = record_apply(&then, &op->ask, START_US + us);

	return verdict.word == op->verdict.word && verdict.was == op->verdict.was && verdict.effect == EFFECT_NONE &&
	       then.state == op->record.state && then.fence == op->record.fence &&
	       then.attempts == op->record.attempts &&
	       (verdict.word != WORD_DONE || slice_equal(then.result, op->record.result));
}

/* Was it so at some time from then on? None of these answers becomes true by time passing. */
static bool was_so(const struct visit *v, int64_t from_us)
{
	for (size_t i = version_count; i > 0; i--) {
		const struct version *then = &version[i - 1];

		if (then->key != v->key)
			continue;
		if (same_answer(&then->rec, &v->op, then->from_us > from_us ? then->from_us : from_us))
			return true;
		if (then->from_us <= from_us)
			return false;
		if (v->op.verdict.word != WORD_HELD && then->settled_by_hand && then->by == v->engine)
			return false; /* that it has seen */
	}
	return false;
}

static void look_at(const struct visit *v)
{
	const struct op *op = &v->op;
	enum word word = op->verdict.word;
	bool settled = op->record.state == STATE_DONE || op->record.state == STATE_FAILED;
	int64_t ahead_us = op->now - START_US - now_us;

	ck_assert_int_eq(op->ask.verb, ASK_CLAIM);
	ck_assert(word == WORD_HELD || word == WORD_MISMATCH || word == WORD_DONE || word == WORD_FAILED ||
		  (word == WORD_WON && op->verdict.was == WAS_OWN));
	/* Its times are not behind: what is left is never said to be more. */
	ck_assert_int_ge(ahead_us, 0);
	ck_assert_msg(was_so(v, !settled ? v->from_us
				: alone  ? now_us
					 : now_us - DONE_CACHE_MAX_MS * 1000),
		      "%.*s: the store had no such record", (int)op->key.len, op->key.data);
}

/* ---- the engines' hooks ---- */

static struct visit *visit_of(struct op *op)
{
	return (struct visit *)(void *)op;
}

static void to_store(void *arg, struct op *op)
{
	(void)arg;
	at_store++;
	visit_of(op)->asked = true;
	visit_of(op)->decided = false;
}

static void on_answer(void *arg, struct op *op)
{
	struct visit *v = visit_of(op);

	(void)arg;
	if ((op->result == OP_APPLIED || op->result == OP_LOST) && !v->asked)
		look_at(v);
	v->busy = false;
	v->heard = true;
}

static void on_late(void *arg, struct op *op)
{
	(void)arg;
	(void)op;
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
	(void)op;
	return false;
}

void shared_open(size_t done_cache)
{
	struct engine_hooks hooks = {to_store, on_late, on_answer, on_changed, on_told, is_gone, NULL};
	struct engine_limits limits = {60000, 1000, 1000, done_cache};
	struct hash_seed seed = {1, 2};

	memset(visit, 0, sizeof visit);
	version_count = at_store = 0;
	alone = false;
	now_us = 0;
	for (int i = 0; i < SHARED_ENGINES; i++)
		ck_assert_ptr_nonnull(engine[i] = engine_new(&hooks, &limits, &seed));
}

static void leave(struct visit *v)
{
	op_release(&v->op);
	v->heard = false;
}

void shared_close(void)
{
	for (int i = 0; i < SHARED_VISITS; i++)
		leave(&visit[i]);
	for (int i = 0; i < SHARED_ENGINES; i++) {
		ck_assert_uint_eq(engine_pending(engine[i]), 0);
		engine_free(engine[i]);
	}
}

/* ---- calls ---- */

void shared_submit(struct visit *v, int through, int key, const struct ask *ask)
{
	leave(v);
	*v = (struct visit){.engine = through, .key = key, .busy = true, .from_us = now_us};
	op_init(&v->op, OP_RECORD, key_name(key));
	v->op.ask = *ask;
	if (!engine_recall(engine[through], &v->op, shared_ms()))
		ck_assert(engine_submit(engine[through], &v->op, shared_ms()));
	else
		on_answer(NULL, &v->op);
}

void shared_done(struct visit *v)
{
	ck_assert(v->asked && v->busy);
	if (!v->decided)
		shared_decide(v);
	engine_done(engine[v->engine], &v->op, shared_ms());
}
