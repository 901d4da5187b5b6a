/* check_grants.c - the claims that are live, against a plain list of them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "../server/grants.h"

#define KEYS 2000

static struct grants grants;
static int64_t until_ms[KEYS]; /* 0: not granted */
static char names[KEYS][16];

static void setup(void)
{
	struct hash_seed seed = {3, 4};

	grants_init(&grants, &seed);
	for (int i = 0; i < KEYS; i++) {
		snprintf(names[i], sizeof names[i], "key%d", i);
		until_ms[i] = 0;
	}
}

static void teardown(void)
{
	grants_release(&grants);
}

static size_t plain_live(int64_t now_ms)
{
	size_t live = 0;

	for (int i = 0; i < KEYS; i++)
		live += until_ms[i] > now_ms;
	return live;
}

START_TEST(the_count_is_that_of_a_plain_list)
{
	unsigned random = 11;
	struct grant grant;
	int64_t now_ms = 1000;

	for (int step = 0; step < 200000; step++) {
		int key = (int)((unsigned)rand_r(&random) % KEYS);

		switch (rand_r(&random) % 4) {
		case 0:
		case 1: /* won, or renewed */
			until_ms[key] = now_ms + 1 + rand_r(&random) % 500;
			grants_hold(&grants, slice_from(names[key]), 7, now_ms, until_ms[key]);
			break;
		case 2:
			if (until_ms[key] > now_ms)
				ck_assert(grants_settle(&grants, slice_from(names[key]), 7, &grant));
			else
				grants_settle(&grants, slice_from(names[key]), 7, &grant);
			until_ms[key] = 0;
			break;
		default:
			now_ms += rand_r(&random) % 3;
			break;
		}
		if (step % 50 == 0)
			ck_assert_uint_eq(grants_live(&grants, now_ms), plain_live(now_ms));
	}
	ck_assert_uint_eq(grants_live(&grants, now_ms + 500), 0);
}
END_TEST

START_TEST(another_fence_is_another_claim)
{
	struct grant grant;

	grants_hold(&grants, slice_from("k"), 7, 1000, 2000);
	ck_assert(!grants_settle(&grants, slice_from("k"), 8, &grant));
	ck_assert_uint_eq(grants_live(&grants, 1500), 1);
	ck_assert(grants_settle(&grants, slice_from("k"), 7, &grant));
	ck_assert_int_eq(grant.won_ms, 1000);
	ck_assert_int_eq(grant.until_ms, 2000);
	ck_assert_uint_eq(grants_live(&grants, 1500), 0);
}
END_TEST

/* A renewal starts the lease anew; the win stays where it was. */
START_TEST(a_renewal_starts_a_lease)
{
	struct grant grant;

	ck_assert(!grants_find(&grants, slice_from("k"), 7, &grant));
	grants_hold(&grants, slice_from("k"), 7, 1000, 2000);
	ck_assert(grants_find(&grants, slice_from("k"), 7, &grant));
	ck_assert_int_eq(grant.since_ms, 1000);
	grants_hold(&grants, slice_from("k"), 7, 1600, 2600);
	ck_assert(grants_find(&grants, slice_from("k"), 7, &grant));
	ck_assert_int_eq(grant.won_ms, 1000);
	ck_assert_int_eq(grant.since_ms, 1600);
	ck_assert_int_eq(grant.until_ms, 2600);
	ck_assert(!grants_find(&grants, slice_from("k"), 8, &grant));
	ck_assert_uint_eq(grants_live(&grants, 1700), 1);
}
END_TEST

/* A look at a million claims while none is over: it must not cost a walk over them. */
START_TEST(a_look_walks_over_nothing_that_is_not_over)
{
	for (int i = 0; i < KEYS; i++)
		grants_hold(&grants, slice_from(names[i]), 7, 1000, 5000);
	ck_assert_uint_eq(grants_live(&grants, 4999), KEYS);
	for (size_t i = 0; i < GRANTS_SHARDS; i++)
		ck_assert_int_eq(grants.shard[i].next_ms, grants.shard[i].count > 0 ? 5000 : 0);
	/* With the places taken away a walk would crash. */
	for (size_t i = 0; i < GRANTS_SHARDS; i++) {
		struct grants_shard *shard = &grants.shard[i];
		struct grant *place = shard->place;

		shard->place = NULL;
		ck_assert_uint_ge(grants_live(&grants, 4999), KEYS);
		shard->place = place;
	}
	ck_assert_uint_eq(grants_live(&grants, 5000), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("grants");
	TCase *tests = tcase_create("grants");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, the_count_is_that_of_a_plain_list);
	tcase_add_test(tests, another_fence_is_another_claim);
	tcase_add_test(tests, a_renewal_starts_a_lease);
	tcase_add_test(tests, a_look_walks_over_nothing_that_is_not_over);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
