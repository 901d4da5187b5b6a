/*
 * check_shortcuts_history.c - random histories through one engine, through two on one store, and through two that remember nothing:
 * whatever was answered without the store must be what the store had; see shared_store.h.
 */
#include <stdlib.h>

#include "history.h"
#include "shared_store.h"

#define STEPS 20000
#define CACHE_OCTETS 65536

static void setup(void)
{
	shared_open(CACHE_OCTETS);
}

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
	int64_t fence = shared_record(key).fence;

	return s->fence == FENCE_NOW     ? fence
	       : s->fence == FENCE_BELOW ? fence - 1
	       : s->fence == FENCE_NONE  ? 0
					 : fence + 1;
}

/* Some of what is with the store gets on: it is decided, or its answer comes back. */
static void store_works(size_t times)
{
	for (size_t i = 0; i < times; i++) {
		struct visit *v = &visit[chance(SHARED_VISITS)];

		if (!v->busy || !v->asked)
			continue;
		if (!v->decided)
			shared_decide(v);
		else
			shared_done(v);
	}
}

static void play(uint64_t seed, size_t engines, int keys)
{
	chance_state = seed * 7919 + 1;
	steps_make(step, STEPS, seed);
	for (size_t i = 0; i < STEPS; i++) {
		struct visit *v = &visit[chance(SHARED_VISITS)];
		int key = step[i].key % keys;

		store_works(chance(24));
		now_us += step[i].pause_us + (int64_t)chance(50) + (chance(2000) == 0 ? 40 * 1000 * 1000 : 0);
		if (v->busy || step[i].kind != STEP_ASK)
			continue;
		step[i].ask.fence = fence_for(&step[i], key);
		shared_submit(v, (int)chance(engines), key, &step[i].ask);
	}
	for (int i = 0; i < 100; i++)
		store_works(10 * SHARED_VISITS);
	for (int i = 0; i < SHARED_VISITS; i++)
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
	shared_close();
	shared_open(0);
	play((uint64_t)_i + 200, 2, 3);
	ck_assert_uint_gt(engine_collapsed(engine[1]), 30);
	ck_assert_uint_eq(engine_recalled(engine[1]), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shortcuts_history");
	TCase *tests = tcase_create("shortcuts");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tests, setup, shared_close);
	tcase_add_loop_test(tests, one_daemon, 0, 10);
	tcase_add_loop_test(tests, two_daemons_on_one_store, 0, 10);
	tcase_add_loop_test(tests, nothing_remembered, 0, 3);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
