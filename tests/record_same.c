/* record_same.c - see record_same.h. */
#include "record_same.h"

#include <check.h>

static void same_slice(const char *what, struct slice got, struct slice want)
{
	ck_assert_msg((got.data == NULL) == (want.data == NULL) && slice_equal(got, want),
		      "%s: got '%.*s', want '%.*s'", what, (int)got.len, got.data ? got.data : "(absent)",
		      (int)want.len, want.data ? want.data : "(absent)");
}

void record_same(const struct record *got, const struct record *want)
{
	ck_assert_int_eq(got->state, want->state);
	ck_assert_int_eq(got->lapse, want->lapse);
	ck_assert_int_eq(got->attempts, want->attempts);
	ck_assert_int_eq(got->fence, want->fence);
	ck_assert_int_eq(got->lease_until, want->lease_until);
	ck_assert_int_eq(got->ttl, want->ttl);
	ck_assert_int_eq(got->keep_until, want->keep_until);
	ck_assert_int_eq(got->earliest, want->earliest);
	ck_assert_int_eq(got->created, want->created);
	ck_assert_int_eq(got->updated, want->updated);
	same_slice("fp", got->fp, want->fp);
	same_slice("token", got->token, want->token);
	same_slice("owner", got->owner, want->owner);
	same_slice("result", got->result, want->result);
}
