/*
 * once.c - claim_once: claim, work, settle, in one call that blocks. See claim.h.
 *
 * Before the work: a claim whose lease may be over by our own clock is renewed first, and does not run where that fails. After the
 * work nothing may turn it into a retry: an outcome that cannot be recorded is tried again until settle_ms is over; then DOUBT
 * is tried, and the hook is told, not the caller's error path.
 */
#include "conn.h"

#include <poll.h>
#include <string.h>

#include "../proto/mem.h"

#define SETTLE_MS 60000
#define PAUSE_MIN_MS 50
#define PAUSE_MAX_MS 2000
#define LEASE_MS (15 * 60 * 1000) /* the daemon's default, where neither the caller nor the answer says */

struct claim_run {
	claim_conn *conn;
	claim_grant *grant;
	int64_t attempts;
	int64_t lease_ms;
	int64_t sure_until_ms; /* counted from before it was asked for */
	bool lost;
	void *result; /* from mem_copy; NULL: none */
	size_t result_len;
};

int64_t claim_run_fence(const claim_run *run)
{
	return run->grant->fence;
}

int64_t claim_run_attempts(const claim_run *run)
{
	return run->attempts;
}

int claim_run_result(claim_run *run, const void *result, size_t result_len)
{
	void *copy = mem_copy(result, result_len);
	if (!copy)
		return CLAIM_E_NOMEM;
	mem_free(run->result);
	run->result = copy;
	run->result_len = result_len;
	return CLAIM_OK;
}

int64_t claim_run_left_ms(const claim_run *run)
{
	int64_t now = link_now_ms();
	if (claim_unguarded(run->grant))
		return CLAIM_NEVER;
	return run->lost || now >= run->sure_until_ms ? 0 : run->sure_until_ms - now;
}

int claim_run_renew(claim_run *run)
{
	int64_t asked_ms = link_now_ms();
	if (run->lost)
		return CLAIM_STALE;
	if (claim_unguarded(run->grant) || asked_ms < run->sure_until_ms - run->lease_ms * 2 / 3)
		return CLAIM_OK;
	int code = claim_renew(run->conn, run->grant, run->lease_ms);
	if (code == CLAIM_OK)
		run->sure_until_ms = asked_ms + claim_number(run->conn, "left_ms", run->lease_ms);
	run->lost = code == CLAIM_STALE;
	return code;
}

/* ---- settling ---- */

static int settle(claim_run *run, enum claim_outcome outcome)
{
	switch (outcome) {
	case CLAIM_DID:
		return claim_complete(run->conn, run->grant, run->result, run->result_len);
	case CLAIM_NEVER_DO:
		return claim_fail(run->conn, run->grant, run->result, run->result_len);
	case CLAIM_TRY_AGAIN:
		return claim_release(run->conn, run->grant);
	case CLAIM_NOT_SURE:
	default: /* an outcome that we do not know is not to be guessed */
		return claim_doubt(run->conn, run->grant);
	}
}

/* It may still be recorded later. */
static bool worth_repeating(int code)
{
	return code == CLAIM_E_UNREACHABLE || code == CLAIM_E_REFUSED || code == CLAIM_E_UNCERTAIN ||
	       code == CLAIM_E_NOMEM;
}

/* The record refuses to be settled: at least nobody else shall run it. */
static int settle_not(claim_run *run, int code)
{
	struct errbuf why = run->conn->detail;
	claim_doubt(run->conn, run->grant);
	return conn_fail(run->conn, code, why.text);
}

static int settle_surely(claim_run *run, enum claim_outcome outcome, int64_t settle_ms)
{
	int64_t until_ms = time_add(link_now_ms(), settle_ms ? settle_ms : SETTLE_MS), pause_ms = PAUSE_MIN_MS;
	int code = settle(run, outcome);
	while (worth_repeating(code) && link_now_ms() < until_ms) {
		poll(NULL, 0, (int)link_jitter(&run->conn->link, pause_ms));
		pause_ms = pause_ms < PAUSE_MAX_MS / 2 ? 2 * pause_ms : PAUSE_MAX_MS;
		code = settle(run, outcome);
	}
	/* What is uncertain may be recorded yet. */
	if (code < 0 && code != CLAIM_E_UNCERTAIN && (outcome == CLAIM_DID || outcome == CLAIM_NEVER_DO))
		return settle_not(run, code);
	return code;
}

/* ---- the whole ---- */

static void tell(void (*hook)(claim_conn *conn, void *arg), claim_conn *conn, void *arg)
{
	if (hook)
		hook(conn, arg);
}

static int not_won(claim_conn *conn, const struct claim_once_options *once, int code)
{
	if (code == CLAIM_DONE)
		tell(once->duplicate, conn, once->arg);
	else if (code == CLAIM_HELD)
		tell(once->conflict, conn, once->arg);
	else if (code == CLAIM_MISMATCH)
		tell(once->mismatch, conn, once->arg);
	return code;
}

static void run_begin(claim_run *run, const struct claim_options *options, int64_t asked_ms)
{
	int64_t left_ms = claim_number(run->conn, "lease_ms", LEASE_MS);
	const char *was = claim_field(run->conn, "was", NULL);
	run->attempts = claim_number(run->conn, "attempts", 1);
	run->lease_ms = left_ms;
	if (options && options->lease_ms)
		run->lease_ms = options->lease_ms;
	else if (was && strcmp(was, "own") == 0) /* won by an earlier call: what is left is less than the lease */
		run->lease_ms = LEASE_MS;
	/* Where the claim had to wait it is more: a renewal says how much. */
	run->sure_until_ms = asked_ms + left_ms;
}

int claim_once(claim_conn *conn, const void *key, size_t key_len, struct claim_once_options *once, claim_work *work)
{
	claim_run run = {.conn = conn};
	if (once->size != sizeof(*once) || !work)
		return conn_fail(conn, CLAIM_E_INVAL,
				 "struct claim_once_options begins with CLAIM_ONCE_INIT, and there must be work");
	once->ran = 0;
	int64_t asked_ms = link_now_ms();
	int code = claim_acquire(conn, key, key_len, once->claim, &run.grant);
	if (code != CLAIM_WON)
		return not_won(conn, once, code);
	run_begin(&run, once->claim, asked_ms);
	if (claim_unguarded(run.grant))
		tell(once->unguarded, conn, once->arg);
	code = claim_run_renew(&run);
	if (code == CLAIM_OK || claim_run_left_ms(&run) > 0) {
		once->ran = 1;
		once->outcome = work(&run, once->arg);
		code = settle_surely(&run, once->outcome, once->settle_ms);
	} else if (code != CLAIM_STALE) {
		claim_release(conn, run.grant);
		code = conn_fail(conn, code, "it was won too late to be sure of it, and given back");
	}
	if (once->ran && code != CLAIM_OK && once->settle_failed)
		once->settle_failed(conn, code, once->arg);
	mem_free(run.result);
	claim_grant_free(run.grant);
	return code;
}
