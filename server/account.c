/*
 * account.c - what an answered op adds to the counters, to the claims that are live, and to the log. It decides nothing.
 * dispatch.c calls account_answer for every op that the engine hands back.
 */
#include "call.h"

#include "clock.h"
#include "dispatch.h"

#define US_PER_MS 1000

/* How much of its lease had passed when the holder came with this call. A renewal that comes late warns as a settlement does;
 * one that comes in time starts a lease anew, so that long work alone does not look like a short lease. */
static void note_lease(struct stats *stats, const struct grant *grant, int64_t now_ms)
{
	int64_t lease_ms = grant->until_ms - grant->since_ms;

	if (lease_ms > 0)
		stats_observe(stats, STATS_LEASE_USED, (now_ms - grant->since_ms) * 1000000 / lease_ms);
}

static void note_settlement(struct call *call)
{
	struct dispatch *dispatch = call->dispatch;
	const struct op *op = &call->op;
	struct grant grant;

	if (op->verdict.word != WORD_OK || !grants_settle(dispatch->grants, op->key, op->ask.fence, &grant))
		return;
	stats_observe(dispatch->stats, STATS_HOLD_DURATION, (call->start_us / US_PER_MS - grant.won_ms) * US_PER_MS);
	note_lease(dispatch->stats, &grant, call->start_us / US_PER_MS);
}

/* The lease as this daemon counts it: from when the request came, so never longer than the store's. */
static void note_grant(struct call *call)
{
	int64_t now_ms = call->start_us / US_PER_MS;

	grants_hold(call->dispatch->grants, call->op.key, call->op.record.fence, now_ms,
		    now_ms + record_left_ms(&call->op.record, call->op.now));
}

static void note_renewal(struct call *call)
{
	const struct op *op = &call->op;
	struct grant grant;

	if (op->verdict.word == WORD_STALE && !op->told_lost)
		call->dispatch->stats->leases_lost[LOST_REFUSED]++;
	if (op->verdict.word != WORD_OK)
		return;
	if (grants_find(call->dispatch->grants, op->key, op->ask.fence, &grant))
		note_lease(call->dispatch->stats, &grant, call->start_us / US_PER_MS);
	note_grant(call);
}

/* What an operator ended is no live claim of ours either. */
static void note_operator(struct call *call)
{
	const struct op *op = &call->op;
	struct grant grant;

	/* RESOLVE as=free has raised the fence by one. */
	if (op->verdict.word == WORD_OK)
		grants_settle(call->dispatch->grants, op->key, op->record.fence - (op->record.state == STATE_FREE),
			      &grant);
}

/* Who settled by hand what others asked for, and why. */
static void log_operator(const struct call *call)
{
	enum word word = call->op.verdict.word;
	bool resolve = call->verb == VERB_RESOLVE;
	const char *message = resolve ? "a record was settled by hand" : "a record was deleted by hand";

	if (word != WORD_OK)
		message = resolve ? "a settlement by hand was not done" : "a deletion by hand was not done";
	log_event(call->dispatch->log, LOG_LEVEL_INFO, resolve ? "resolve" : "forget", message,
		  (struct log_field[]){log_key("key", call->op.key), log_slice("answer", word_name(word)),
				       log_slice("state", state_name(call->op.record.state)),
				       log_int("fence", call->op.record.fence), log_int("pid", call->pid),
				       log_int("uid", call->uid), log_slice("reason", call->reason), log_end()});
}

static void log_sweep(const struct call *call)
{
	log_event(call->dispatch->log, LOG_LEVEL_INFO, "sweep", "records that had ended were deleted",
		  (struct log_field[]){log_int("deleted", call->op.deleted), log_int("pid", call->pid),
				       log_int("uid", call->uid), log_end()});
}

/* Somebody works without a record: each time is worth a line. */
static void log_unguarded(const struct call *call)
{
	call->dispatch->stats->unguarded++;
	log_event(call->dispatch->log, LOG_LEVEL_WARN, "unguarded",
		  "the store is down, so a claim was granted without it: its work may be done twice",
		  (struct log_field[]){log_key("key", call->op.key), log_slice("owner", call->op.ask.owner),
				       log_int("pid", call->pid), log_int("uid", call->uid),
				       log_text("why", call->op.why.text), log_end()});
}

/* How a settlement that was kept ended; its client is gone, or knows only that it was not done at once. */
static void log_kept(const struct call *call, enum word word)
{
	bool good = word == WORD_OK;

	log_event(
	    call->dispatch->log, good ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR,
	    good                 ? "kept_settled"
	    : word == WORD_STALE ? "kept_stale"
				 : "kept_lost",
	    good ? "a settlement that was kept is stored"
	    : word == WORD_STALE
		? "a settlement that was kept came too late: the key was taken over, its work may have been done twice"
		: "a settlement that was kept is given up: the work was done and that is not recorded",
	    (struct log_field[]){log_key("key", call->op.key), log_slice("verb", verb_info(call->verb)->name),
				 log_int("fence", call->op.ask.fence), log_end()});
}

static enum stats_histogram store_histogram(const struct op *op)
{
	if (op->kind != OP_RECORD)
		return STATS_STORE_WALK;
	switch (op->ask.verb) {
	case ASK_CLAIM:
		return STATS_STORE_CLAIM;
	case ASK_RENEW:
		return STATS_STORE_RENEW;
	case ASK_COMPLETE:
	case ASK_FAIL:
	case ASK_RELEASE:
	case ASK_DOUBT:
	case ASK_RESOLVE:
	case ASK_FORGET:
		return STATS_STORE_SETTLE;
	case ASK_CHECK:
	case ASK_STATUS:
		break;
	}
	return STATS_STORE_READ;
}

void account_answer(struct call *call)
{
	struct stats *stats = call->dispatch->stats;
	const struct op *op = &call->op;
	bool failed = (op->result == OP_REFUSED || op->result == OP_UNCERTAIN) && !call->unguarded;
	/* As its client was told; but how a kept settlement ended counts more than that it took its time. */
	enum word word = failed || (op->late && !op->kept) ? WORD_ERR : call->unguarded ? WORD_WON : op->verdict.word;

	if (op->store_us > 0)
		stats_observe(stats, store_histogram(op), op->store_us);
	if (op->late) /* that was counted when it was said */
		;
	else if (failed)
		stats->errors[op->err]++;
	else if (word == WORD_ERR)
		stats->errors[op->verdict.err]++;
	stats->unreadable_records += op->unreadable;
	if (op->kind == OP_SWEEP && !op->scan.dry && !failed)
		log_sweep(call);
	if (op->kind != OP_RECORD)
		return;
	switch (op->ask.verb) {
	case ASK_CLAIM:
		if (call->unguarded)
			log_unguarded(call);
		stats->claims[word]++;
		stats->takeovers += op->verdict.word == WORD_WON && op->verdict.was == WAS_LAPSED;
		stats_observe(stats, STATS_CLAIM_DURATION, clock_mono_us() - call->start_us);
		if (op->verdict.word == WORD_WON)
			note_grant(call);
		break;
	case ASK_RENEW:
		note_renewal(call);
		break;
	case ASK_RESOLVE:
	case ASK_FORGET:
		log_operator(call);
		note_operator(call);
		stats->settlements[call->verb][word]++;
		break;
	case ASK_COMPLETE:
	case ASK_FAIL:
	case ASK_RELEASE:
	case ASK_DOUBT:
		stats->settlements[call->verb][word]++;
		note_settlement(call);
		if (op->kept)
			log_kept(call, word);
		break;
	case ASK_CHECK:
	case ASK_STATUS:
		break;
	}
}

void account_notice(struct dispatch *dispatch, const struct notice *notice)
{
	int64_t now_ms = clock_mono_ms();
	struct grant grant;

	if (notice->kind == NOTICE_RENEWED) {
		if (grants_find(dispatch->grants, notice->key, notice->fence, &grant))
			note_lease(dispatch->stats, &grant, now_ms);
		grants_hold(dispatch->grants, notice->key, notice->fence, now_ms, now_ms + notice->left_ms);
		return;
	}
	if (notice->cause != LOST_DOUBT)
		grants_settle(dispatch->grants, notice->key, notice->fence, &grant);
	dispatch->stats->leases_lost[notice->cause]++;
	log_event(dispatch->log, LOG_LEVEL_WARN, "lease_lost", "a claim that is bound to a connection was lost",
		  (struct log_field[]){log_key("key", notice->key), log_int("fence", notice->fence),
				       log_slice("cause", lost_cause_name(notice->cause)), log_end()});
}

void account_denied(struct call *call, const char *why)
{
	struct dispatch *dispatch = call->dispatch;
	struct slice verb = call->verb == VERB__COUNT ? SLICE_ABSENT : verb_info(call->verb)->name;

	dispatch->stats->denied++;
	if (log_limit(&dispatch->denials, clock_mono_ms()))
		log_event(dispatch->log, LOG_LEVEL_WARN, "denied", "a client asked for what it may not have",
			  (struct log_field[]){log_text("why", why), log_slice("verb", verb), log_int("pid", call->pid),
					       log_int("uid", call->uid),
					       log_int("not_logged", (int64_t)dispatch->denials.suppressed),
					       log_end()});
	call_refuse(call, ERR_DENIED, why);
}
