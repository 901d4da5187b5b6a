/* check_lease.c - when `claim run` renews, and when its command must be gone. */
#include "../client/lease.h"

#include <check.h>
#include <stdlib.h>

#define HOUR INT64_C(3600000)

START_TEST(counts_from_the_question)
{
	struct lease lease;
	lease_won(&lease, 1000, 30000, 24 * HOUR, 10000);
	ck_assert_int_eq(lease.until_ms, 31000);
	ck_assert_int_eq(lease_renew_at(&lease), 11000);
	ck_assert_int_eq(lease_wanted(&lease, 10999), 0);
	ck_assert_int_eq(lease_wanted(&lease, 11000), 30000);
	/* Asked at 12 s, answered whenever: it lasts from 12 s on, whatever more the store says. */
	lease_renewed(&lease, 12000, 99999);
	ck_assert_int_eq(lease.until_ms, 42000);
	ck_assert_int_eq(lease_renew_at(&lease), 22000);
	/* Less than was asked for counts as it is, but never shortens what was confirmed. */
	lease_renewed(&lease, 22000, 25000);
	ck_assert_int_eq(lease.until_ms, 47000);
	lease_renewed(&lease, 23000, 10);
	ck_assert_int_eq(lease.until_ms, 47000);
}
END_TEST

START_TEST(gone_before_the_end)
{
	static const int64_t leases[] = {1, 10, 100, 1000, 3000, 30000, 15 * 60000, 24 * HOUR};
	static const int64_t grace[] = {1, 1000, 10000, HOUR};
	for (size_t i = 0; i < sizeof(leases) / sizeof(leases[0]); i++)
		for (size_t j = 0; j < sizeof(grace) / sizeof(grace[0]); j++) {
			struct lease lease;
			lease_won(&lease, 5000, leases[i], 1000 * HOUR, grace[j]);
			ck_assert_int_lt(lease_kill_at(&lease), lease.until_ms);
			ck_assert_int_le(lease_term_at(&lease), lease_kill_at(&lease));
			ck_assert_int_le(lease_kill_at(&lease) - lease_term_at(&lease), grace[j]);
			/* There is time for a renewal and for two more before it is given up. */
			if (leases[i] >= 100)
				ck_assert_int_gt(lease_term_at(&lease), lease_renew_at(&lease) + leases[i] / 4);
		}
}
END_TEST

START_TEST(kill_after_is_cut_by_a_short_lease_only)
{
	struct lease lease;
	lease_won(&lease, 0, 15 * 60000, 24 * HOUR, 10000);
	ck_assert_int_eq(lease_kill_at(&lease) - lease_term_at(&lease), 10000);
	lease_won(&lease, 0, 4000, 24 * HOUR, 10000);
	ck_assert_int_eq(lease_kill_at(&lease) - lease_term_at(&lease), 1000);
}
END_TEST

START_TEST(hold_is_the_last_moment)
{
	struct lease lease;
	lease_won(&lease, 0, 30000, 50000, 10000);
	ck_assert_int_eq(lease_wanted(&lease, 10000), 30000);
	lease_renewed(&lease, 10000, 30000);
	/* 40 s are confirmed; up to 50 s may be asked for. */
	ck_assert_int_eq(lease_wanted(&lease, 20000), 30000);
	lease_renewed(&lease, 20000, 30000);
	ck_assert_int_eq(lease.until_ms, 50000);
	ck_assert_int_eq(lease_wanted(&lease, 30000), 0);
	ck_assert_int_eq(lease_renew_at(&lease), INT64_MAX);

	lease_won(&lease, 0, 30000, 35000, 10000);
	ck_assert_int_eq(lease_wanted(&lease, 10000), 25000);

	lease_won(&lease, 0, 30000, 0, 10000);
	ck_assert_int_eq(lease_renew_at(&lease), INT64_MAX);
	ck_assert_int_eq(lease_wanted(&lease, 10000), 0);
}
END_TEST

START_TEST(put_off)
{
	struct lease lease;
	lease_won(&lease, 0, 30000, 24 * HOUR, 10000);
	lease_again(&lease, 10000, 0);
	ck_assert_int_eq(lease_renew_at(&lease), 11000);
	lease_again(&lease, 10000, 5000);
	ck_assert_int_eq(lease_renew_at(&lease), 15000);
	/* Never at once again, and often enough for a short lease. */
	lease_won(&lease, 0, 100, 24 * HOUR, 10000);
	lease_again(&lease, 40, 0);
	ck_assert_int_eq(lease_renew_at(&lease), 45);
}
END_TEST

START_TEST(none_is_never_over)
{
	struct lease lease;
	lease_none(&lease);
	ck_assert_int_eq(lease_term_at(&lease), INT64_MAX);
	ck_assert_int_eq(lease_kill_at(&lease), INT64_MAX);
	ck_assert_int_eq(lease_renew_at(&lease), INT64_MAX);
	ck_assert_int_eq(lease_wanted(&lease, 1000 * HOUR), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lease");
	TCase *tcase = tcase_create("lease");
	tcase_add_test(tcase, counts_from_the_question);
	tcase_add_test(tcase, gone_before_the_end);
	tcase_add_test(tcase, kill_after_is_cut_by_a_short_lease_only);
	tcase_add_test(tcase, hold_is_the_last_moment);
	tcase_add_test(tcase, put_off);
	tcase_add_test(tcase, none_is_never_over);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
