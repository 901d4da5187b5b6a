/* lease.c - when to renew, and when the command must be gone. See lease.h. Called by cli_run.c. */
#include "lease.h"

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void lease_won(struct lease *lease, int64_t asked_ms, int64_t lease_ms, int64_t hold_ms, int64_t kill_after_ms)
{
	lease->lease_ms = lease_ms;
	lease->margin_ms = max(1, min(500, lease_ms / 20));
	lease->grace_ms = min(kill_after_ms, lease_ms / 4);
	lease->hold_until_ms = asked_ms + hold_ms;
	lease->until_ms = asked_ms;
	lease_renewed(lease, asked_ms, lease_ms);
}

void lease_none(struct lease *lease)
{
	*lease = (struct lease){.until_ms = INT64_MAX};
}

void lease_renewed(struct lease *lease, int64_t asked_ms, int64_t left_ms)
{
	/* Never more than was asked for: what the store says is left may have been counted from a later moment. */
	lease->until_ms = max(lease->until_ms, asked_ms + min(left_ms, lease->lease_ms));
	lease->renew_at_ms = asked_ms + lease->lease_ms / 3;
}

void lease_again(struct lease *lease, int64_t now_ms, int64_t after_ms)
{
	lease->renew_at_ms = now_ms + max(after_ms, max(1, min(1000, lease->lease_ms / 20)));
}

int64_t lease_wanted(const struct lease *lease, int64_t now_ms)
{
	int64_t wanted = min(lease->lease_ms, lease->hold_until_ms - now_ms);
	return now_ms >= lease->renew_at_ms && now_ms + wanted > lease->until_ms ? wanted : 0;
}

int64_t lease_renew_at(const struct lease *lease)
{
	return lease->hold_until_ms > lease->until_ms ? lease->renew_at_ms : INT64_MAX;
}

int64_t lease_kill_at(const struct lease *lease)
{
	return lease->until_ms - lease->margin_ms;
}

int64_t lease_term_at(const struct lease *lease)
{
	return lease_kill_at(lease) - lease->grace_ms;
}
