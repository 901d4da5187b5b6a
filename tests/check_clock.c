/* check_clock.c - the three clocks are in the units that their names say, and the right ones. */
#include "../server/clock.h"

#include <check.h>
#include <stdlib.h>
#include <time.h>

static int64_t us(clockid_t clock)
{
	struct timespec now;

	ck_assert_int_eq(clock_gettime(clock, &now), 0);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Between two looks at the clock that it is. */
START_TEST(units)
{
	for (int i = 0; i < 1000; i++) {
		int64_t before = us(CLOCK_BOOTTIME);
		int64_t mono_us = clock_mono_us();
		int64_t mono_ms = clock_mono_ms();
		int64_t after = us(CLOCK_BOOTTIME);

		ck_assert_int_le(before, mono_us);
		ck_assert_int_le(mono_us / 1000, mono_ms);
		ck_assert_int_le(mono_ms, after / 1000);
	}
}
END_TEST

START_TEST(wall_clock)
{
	int64_t before = us(CLOCK_REALTIME);
	int64_t wall = clock_wall_us();

	/* A step of the wall clock just here may spoil one look, hardly two. */
	if (wall < before || wall > us(CLOCK_REALTIME)) {
		before = us(CLOCK_REALTIME);
		wall = clock_wall_us();
	}
	ck_assert_int_le(before, wall);
	ck_assert_int_le(wall, us(CLOCK_REALTIME));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("clock");
	TCase *tc = tcase_create("clock");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, units);
	tcase_add_test(tc, wall_clock);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
