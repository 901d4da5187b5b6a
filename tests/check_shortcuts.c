/*
 * check_shortcuts.c - answers without the store: CLAIMs that are answered by the answer to one before them, and outcomes that are
 * remembered. The store is one record a key and the table of transitions, at times of the test's choice; random histories go through
 * one engine, and through two on one store, and whatever was answered without the store is compared with what the store had.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../server/done_cache.h"
#include "../server/engine.h"
#include "history.h"

#define ENGINES 2
#define OPS 64
#define VERSIONS 20000
#define STEPS 20000
#define START_US INT64_C(1700000000000000)
#define CACHE_OCTETS 65536

/* One call. */
struct visit {
	struct op op;
	int engine, key;
	bool busy, asked, decided; /* on its way; with the store; the store has said what it will say */
	bool heard;                /* answered, and left for the test to look at */
	int64_t from_us;           /* the store's time when it was submitted */
};

/* A record of a key, as it was from that time on. */
struct version {
	int key, by; /* by: the engine through which it was made */
	bool settled_by_hand;
	int64_t from_us;
	struct record rec;
};

static struct engine *engine[ENGINES];
static struct visit visit[OPS];
static struct version version[VERSIONS];
static size_t version_count;
static int64_t now_us; /* since START_US, of all clocks */
static size_t at_store;
static bool alone; /* nobody but engine 0 works on the store */

static struct slice key_name(int key)
{
	static const char names[] = "abcdefghijklmnop";

	return (struct slice){names + key, 1};
}

static int64_t mono_ms(void)
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

static struct record record_of(int key)
{
	const struct version *now = latest(key);

	return now != NULL ? now->rec : (struct record){.state = STATE_ABSENT};
}

static void decide(struct visit *v)
{
	struct record rec = record_of(v->key);

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

static void setup_with(size_t cache)
{
	struct engine_hooks hooks = {to_store, on_late, on_answer, on_changed, on_told, is_gone, NULL};
	struct engine_limits limits = {60000, 1000, 1000, cache};
	struct hash_seed seed = {1, 2};

	memset(visit, 0, sizeof visit);
	version_count = at_store = 0;
	alone = false;
	now_us = 0;
	for (int i = 0; i < ENGINES; i++)
		ck_assert_ptr_nonnull(engine[i] = engine_new(&hooks, &limits, &seed));
}

static void setup(void)
{
	setup_with(CACHE_OCTETS);
}

static void leave(struct visit *v)
{
	op_release(&v->op);
	v->heard = false;
}

static void teardown(void)
{
	for (int i = 0; i < OPS; i++)
		leave(&visit[i]);
	for (int i = 0; i < ENGINES; i++) {
		ck_assert_uint_eq(engine_pending(engine[i]), 0);
		engine_free(engine[i]);
	}
}

/* ---- calls ---- */

static void submit(struct visit *v, int through, int key, const struct ask *ask)
{
	leave(v);
	*v = (struct visit){.engine = through, .key = key, .busy = true, .from_us = now_us};
	op_init(&v->op, OP_RECORD, key_name(key));
	v->op.ask = *ask;
	if (!engine_recall(engine[through], &v->op, mono_ms()))
		ck_assert(engine_submit(engine[through], &v->op, mono_ms()));
	else
		on_answer(NULL, &v->op);
}

static struct ask claim_of(const char *token, const char *fp)
{
	return (struct ask){.verb = ASK_CLAIM,
			    .lease = 10 * 1000 * MS,
			    .ttl = 3600 * 1000 * MS,
			    .token = slice_from(token),
			    .fp = fp != NULL ? slice_from(fp) : SLICE_ABSENT};
}

static void claim(int at, const char *token)
{
	struct ask ask = claim_of(token, NULL);

	submit(&visit[at], 0, 0, &ask);
}

static void settle(int at, enum ask_verb verb, enum state as, const char *result)
{
	struct ask ask = {.verb = verb,
			  .as = as,
			  .force = true,
			  .fence = record_of(0).fence,
			  .ttl = 3600 * 1000 * MS,
			  .result = slice_from(result)};

	submit(&visit[at], 0, 0, &ask);
}

static void done(int at)
{
	ck_assert(visit[at].asked && visit[at].busy);
	if (!visit[at].decided)
		decide(&visit[at]);
	engine_done(engine[visit[at].engine], &visit[at].op, mono_ms());
}

static void expect(int at, enum word word)
{
	ck_assert(visit[at].heard);
	ck_assert_int_eq(visit[at].op.verdict.word, word);
}

/* Key 0 is done: it was won, and settled with this result. */
static void make_done(const char *fp)
{
	struct ask ask = claim_of("the first of all", fp);

	submit(&visit[0], 0, 0, &ask);
	done(0);
	settle(0, ASK_COMPLETE, STATE_DONE, "paid");
	done(0);
}

/* ---- collapse ---- */

START_TEST(a_hot_key_costs_two_operations)
{
	char token[OPS][20];

	for (int i = 0; i < OPS; i++) {
		snprintf(token[i], sizeof token[i], "token-number-%04d", i);
		claim(i, token[i]);
	}
	done(0);
	expect(0, WORD_WON);
	done(1); /* the others were there when the store was asked for it */
	for (int i = 1; i < OPS; i++)
		expect(i, WORD_HELD);
	ck_assert_uint_eq(at_store, 2);
	ck_assert_uint_eq(engine_collapsed(engine[0]), OPS - 2);
}
END_TEST

START_TEST(nobody_hears_of_a_time_before_the_own_question)
{
	claim(0, "token-number-0000");
	decide(&visit[0]);
	claim(1, "token-number-0001");
	done(0);
	ck_assert(visit[1].asked);
	done(1);
	expect(1, WORD_HELD);
	ck_assert_uint_eq(engine_collapsed(engine[0]), 0);
}
END_TEST

/* Three claims of which the last one asks as `ask` says; the second has been answered so much later. */
static void third_asks(struct ask ask, int64_t later_us)
{
	claim(0, "token-number-0000");
	claim(1, "token-number-0001");
	submit(&visit[2], 0, 0, &ask);
	done(0);
	decide(&visit[1]);
	now_us += later_us;
	done(1);
	expect(1, WORD_HELD);
}

START_TEST(a_lease_that_is_over_is_for_the_store)
{
	third_asks(claim_of("token-number-0002", NULL), 10 * 1000 * MS);
	ck_assert(visit[2].asked);
	done(2);
	expect(2, WORD_WON);
}
END_TEST

START_TEST(the_own_token_hears_of_its_win)
{
	third_asks(claim_of("token-number-0000", NULL), 4 * 1000 * MS);
	ck_assert(!visit[2].asked);
	expect(2, WORD_WON);
	ck_assert_int_eq(visit[2].op.verdict.was, WAS_OWN);
	ck_assert_int_eq(record_left_ms(&visit[2].op.record, visit[2].op.now), 5999);
	ck_assert_int_eq(visit[2].op.sent_ms, mono_ms());
}
END_TEST

START_TEST(another_fp_is_a_mismatch)
{
	struct ask first = claim_of("token-number-0000", "A"), other = claim_of("token-number-0002", "B");

	submit(&visit[0], 0, 0, &first);
	claim(1, "token-number-0001");
	submit(&visit[2], 0, 0, &other);
	done(0);
	done(1);
	ck_assert(!visit[2].asked);
	expect(2, WORD_MISMATCH);
}
END_TEST

START_TEST(what_changes_the_record_ends_it)
{
	claim(0, "token-number-0000");
	claim(1, "token-number-0001");
	done(0);
	settle(2, ASK_RELEASE, STATE_FREE, "");
	claim(3, "token-number-0003");
	done(1);
	ck_assert(visit[2].asked);
	done(2);
	ck_assert(visit[3].asked);
	done(3);
	expect(3, WORD_WON);
}
END_TEST

START_TEST(what_is_not_known_answers_nobody)
{
	claim(0, "token-number-0000");
	claim(1, "token-number-0001");
	claim(2, "token-number-0002");
	op_doubt(&visit[0].op, ERR_TIMEOUT, "no answer");
	engine_done(engine[0], &visit[0].op, mono_ms());
	op_refuse(&visit[1].op, ERR_STORE, "down");
	engine_done(engine[0], &visit[1].op, mono_ms());
	ck_assert(visit[2].asked);
	done(2);
	expect(2, WORD_WON);
}
END_TEST

/* Its connection ends while those before it are being answered. */
START_TEST(one_that_leaves_then_is_answered_once)
{
	claim(0, "token-number-0000");
	claim(1, "token-number-0001");
	claim(2, "token-number-0002");
	done(0);
	visit[1].op.deadline_ms = 0;
	done(1);
	expect(2, WORD_HELD);
	engine_leave(engine[0], &visit[2].op);
	ck_assert_uint_eq(engine_pending(engine[0]), 0);
}
END_TEST

/* ---- what is remembered ---- */

START_TEST(a_redelivery_is_answered_from_memory)
{
	make_done(NULL);
	for (int i = 1; i < 4; i++) {
		claim(i, "token-number-0001");
		if (i == 1)
			done(i);
		expect(i, WORD_DONE);
		ck_assert(slice_equal(visit[i].op.record.result, slice_from("paid")));
		now_us += 1000 * MS;
	}
	ck_assert_uint_eq(at_store, 3);
	ck_assert_uint_eq(engine_recalled(engine[0]), 2);
}
END_TEST

START_TEST(nothing_is_remembered_of_a_settlement_itself)
{
	make_done(NULL);
	claim(1, "token-number-0001");
	ck_assert(visit[1].asked);
	done(1);
}
END_TEST

START_TEST(another_fp_is_a_mismatch_here_too)
{
	struct ask other = claim_of("token-number-0002", "B");

	make_done("A");
	claim(1, "token-number-0001");
	done(1);
	submit(&visit[2], 0, 0, &other);
	ck_assert(!visit[2].asked);
	expect(2, WORD_MISMATCH);
}
END_TEST

START_TEST(who_settles_by_hand_here_is_seen_at_once)
{
	static const enum ask_verb verbs[] = {ASK_RESOLVE, ASK_FORGET};

	for (size_t i = 0; i < 2; i++) {
		make_done(NULL);
		claim(1, "token-number-0001");
		done(1);
		settle(2, verbs[i], STATE_FREE, "");
		claim(3, "token-number-0003"); /* behind it */
		now_us += 1000;
		/* It was done, and nobody heard of that. */
		decide(&visit[2]);
		op_doubt(&visit[2].op, ERR_TIMEOUT, "no answer");
		engine_done(engine[0], &visit[2].op, mono_ms());
		ck_assert(visit[3].asked);
		done(3);
		expect(3, WORD_WON);
		settle(3, ASK_FORGET, STATE_FREE, "");
		done(3);
	}
}
END_TEST

START_TEST(elsewhere_it_is_seen_within_a_minute)
{
	struct ask forget = {.verb = ASK_FORGET, .force = true};

	make_done(NULL);
	claim(1, "token-number-0001");
	done(1);
	now_us += 1000;
	submit(&visit[2], 1, 0, &forget);
	done(2);
	now_us += DONE_CACHE_MAX_MS * 1000 - 2000;
	claim(3, "token-number-0003");
	expect(3, WORD_DONE);
	now_us += 2000;
	claim(4, "token-number-0004");
	ck_assert(visit[4].asked);
	done(4);
	expect(4, WORD_WON);
}
END_TEST

START_TEST(it_ends_with_the_record)
{
	make_done(NULL);
	now_us += 3600 * 1000 * MS - 5 * 1000 * MS;
	claim(1, "token-number-0001");
	done(1);
	now_us += 5 * 1000 * MS - 2000;
	claim(2, "token-number-0002");
	expect(2, WORD_DONE);
	now_us += 2000;
	claim(3, "token-number-0003");
	ck_assert(visit[3].asked);
	done(3);
	expect(3, WORD_WON);
}
END_TEST

START_TEST(with_nothing_to_remember_in_all_ask)
{
	teardown();
	setup_with(0);
	make_done(NULL);
	for (int i = 1; i < 3; i++) {
		claim(i, "token-number-0001");
		ck_assert(visit[i].asked);
		done(i);
		expect(i, WORD_DONE);
	}
}
END_TEST

/* Outcomes of many keys and lengths, in any order: the newest are there, and never more octets than wanted. */
START_TEST(the_memory_is_bounded)
{
	struct done_cache cache;
	struct hash_seed seed = {1, 2};
	static char result[CACHE_OCTETS / 8];
	char name[16];
	struct op op;

	done_cache_init(&cache, CACHE_OCTETS, &seed);
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof name, "key-%d", i * 7919 % 3000);
		op_init(&op, OP_RECORD, slice_from(name));
		op.ask = claim_of("token-number-0001", NULL);
		op.record = (struct record){.state = STATE_DONE, .fence = 1 + i, .keep_until = TIME_NEVER};
		op.record.result = (struct slice){result, (size_t)(i % 10 == 0 ? i % (CACHE_OCTETS / 8) : i % 50)};
		done_cache_put(&cache, &op);
		ck_assert_uint_le(cache.octets, CACHE_OCTETS);
		if (cache.octets == 0 || op.record.result.len > CACHE_OCTETS / 32)
			continue;
		ck_assert(done_cache_answers(&cache, &op, 0));
		ck_assert_int_eq(op.record.fence, 1 + i);
		op_release(&op);
	}
	ck_assert_uint_gt(cache.octets, CACHE_OCTETS / 2);
	done_cache_release(&cache);
	ck_assert_uint_eq(cache.octets, 0);
	ck_assert_uint_eq(cache.count, 0);
}
END_TEST

/* ---- histories ---- */

static struct step step[STEPS];

static uint64_t chance_state;

static size_t chance(size_t below)
{
	chance_state ^= chance_state << 13;
	chance_state ^= chance_state >> 7;
	chance_state ^= chance_state << 17;
	return (size_t)((chance_state >> 11) % below);
}

static int64_t fence_for(const struct step *s, int key)
{
	int64_t fence = record_of(key).fence;

	return s->fence == FENCE_NOW     ? fence
	       : s->fence == FENCE_BELOW ? fence - 1
	       : s->fence == FENCE_NONE  ? 0
					 : fence + 1;
}

/* Some of what is with the store gets on: it is decided, or its answer comes back. */
static void store_works(size_t times)
{
	for (size_t i = 0; i < times; i++) {
		struct visit *v = &visit[chance(OPS)];

		if (!v->busy || !v->asked)
			continue;
		if (!v->decided)
			decide(v);
		else
			engine_done(engine[v->engine], &v->op, mono_ms());
	}
}

static void play(uint64_t seed, size_t engines, int keys)
{
	chance_state = seed * 7919 + 1;
	steps_make(step, STEPS, seed);
	for (size_t i = 0; i < STEPS; i++) {
		struct visit *v = &visit[chance(OPS)];
		int key = step[i].key % keys;

		store_works(chance(24));
		now_us += step[i].pause_us + (int64_t)chance(50) + (chance(2000) == 0 ? 40 * 1000 * 1000 : 0);
		if (v->busy || step[i].kind != STEP_ASK)
			continue;
		step[i].ask.fence = fence_for(&step[i], key);
		submit(v, (int)chance(engines), key, &step[i].ask);
	}
	for (int i = 0; i < 100; i++)
		store_works(10 * OPS);
	for (int i = 0; i < OPS; i++)
		ck_assert(!visit[i].busy);
}

START_TEST(one_daemon)
{
	alone = true;
	play((uint64_t)_i + 1, 1, 3);
	ck_assert_uint_gt(engine_collapsed(engine[0]), 30);
	ck_assert_uint_gt(engine_recalled(engine[0]), 30);
}
END_TEST

START_TEST(two_daemons_on_one_store)
{
	play((uint64_t)_i + 100, 2, 3);
	ck_assert_uint_gt(engine_collapsed(engine[1]), 30);
	ck_assert_uint_gt(engine_recalled(engine[1]), 30);
}
END_TEST

START_TEST(nothing_remembered)
{
	teardown();
	setup_with(0);
	play((uint64_t)_i + 200, 2, 3);
	ck_assert_uint_gt(engine_collapsed(engine[1]), 30);
	ck_assert_uint_eq(engine_recalled(engine[1]), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shortcuts");
	TCase *tests = tcase_create("shortcuts");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_hot_key_costs_two_operations);
	tcase_add_test(tests, nobody_hears_of_a_time_before_the_own_question);
	tcase_add_test(tests, a_lease_that_is_over_is_for_the_store);
	tcase_add_test(tests, the_own_token_hears_of_its_win);
	tcase_add_test(tests, another_fp_is_a_mismatch);
	tcase_add_test(tests, what_changes_the_record_ends_it);
	tcase_add_test(tests, what_is_not_known_answers_nobody);
	tcase_add_test(tests, one_that_leaves_then_is_answered_once);
	tcase_add_test(tests, a_redelivery_is_answered_from_memory);
	tcase_add_test(tests, nothing_is_remembered_of_a_settlement_itself);
	tcase_add_test(tests, another_fp_is_a_mismatch_here_too);
	tcase_add_test(tests, who_settles_by_hand_here_is_seen_at_once);
	tcase_add_test(tests, elsewhere_it_is_seen_within_a_minute);
	tcase_add_test(tests, it_ends_with_the_record);
	tcase_add_test(tests, with_nothing_to_remember_in_all_ask);
	tcase_add_test(tests, the_memory_is_bounded);
	tcase_add_loop_test(tests, one_daemon, 0, 10);
	tcase_add_loop_test(tests, two_daemons_on_one_store, 0, 10);
	tcase_add_loop_test(tests, nothing_remembered, 0, 3);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
