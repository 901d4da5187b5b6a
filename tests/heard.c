/* heard.c - for tests of the calls that call back. See heard.h. */
#include "heard.h"

#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "spawn.h"

claim_conn *conn;
claim_grant *grant;
struct heard heard[HEARD_MAX];
int heard_count;

void heard_reset(void)
{
	heard_count = 0;
	grant = NULL;
}

void heard_done(claim_conn *from, int code, void *arg)
{
	ck_assert_ptr_eq(from, conn);
	ck_assert_int_lt(heard_count, HEARD_MAX);
	struct heard *now = &heard[heard_count++];
	*now = (struct heard){.code = code, .ticket = (int)(intptr_t)arg};
	snprintf(now->word, sizeof(now->word), "%s", claim_word(from));
	claim_grant *taken = claim_take_grant(from);
	ck_assert_int_eq(taken != NULL, code == CLAIM_WON);
	ck_assert_ptr_null(claim_take_grant(from));
	if (taken) {
		claim_grant_free(grant);
		grant = taken;
	}
}

void *heard_ticket(int n)
{
	return (void *)(intptr_t)n;
}

void heard_until(int count)
{
	long long deadline_ms = wait_now_ms() + SPAWN_WAIT_MS;
	while (heard_count < count) {
		struct pollfd look = {.fd = claim_fd(conn), .events = (short)claim_events(conn)};
		int timeout_ms = claim_timeout_ms(conn);
		ck_assert_msg(wait_now_ms() < deadline_ms, "only %d of %d were called back", heard_count, count);
		poll(&look, 1, timeout_ms < 0 || timeout_ms > 100 ? 100 : timeout_ms);
		claim_process(conn);
	}
}

void heard_strictly_until(int count)
{
	struct pollfd look = {.fd = claim_fd(conn), .events = (short)claim_events(conn)};
	while (heard_count < count) {
		ck_assert_msg(poll(&look, 1, claim_timeout_ms(conn) < 0 ? SPAWN_WAIT_MS : claim_timeout_ms(conn)) > 0 ||
				  claim_timeout_ms(conn) >= 0,
			      "nothing wakes it");
		claim_process(conn);
	}
}

int heard_acquire(const char *key, const struct claim_options *options, int n)
{
	return claim_submit_acquire(conn, key, strlen(key), options, heard_done, heard_ticket(n));
}

void heard_is(int at, int code, int n)
{
	ck_assert_msg(heard[at].code == code && heard[at].ticket == n, "at %d: %d for %d, not %d for %d", at,
		      heard[at].code, heard[at].ticket, code, n);
}
