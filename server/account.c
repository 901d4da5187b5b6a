/*
 * account.c - what an answered op adds to the counters, to the claims that are live, and to the log. It decides nothing.
 * dispatch.c calls account_answer for every op that the engine hands back.
 */
#include "call.h"

#include "clock.h"
#include "dispatch.h"

#define US_PER_MS 1000

static void note_settlement(struct call *call)
{
	struct dispatch *dispatch = call->dispatch;
	const struct op *op = &call->op;
	struct grant grant;
	int64_t now_ms = call->start_us / US_PER_MS;

	if (op->verdict.word != WORD_OK || !grants_settle(dispatch->grants, op->key, op->ask.fence, &grant))
		return;
	stats_observe(dispatch->stats, STATS_HOLD_DURATION, (now_ms - grant.won_ms) * US_PER_MS);
	if (grant.until_ms > grant.won_ms)
		stats_observe(dispatch->stats, STATS_LEASE_USED,
			      (now_ms - grant.won_ms) * 1000000 / (grant.until_ms - grant.won_ms));
}

/* The lease as this daemon counts it: from when the request came, so never longer than the store's. */
static void note_grant(struct call *call)
{
	int64_t now_ms = call->start_us / US_PER_MS;

	grants_hold(call->dispatch->grants, call->op.key, call->op.record.fence, now_ms,
		    now_ms + record_left_ms(&call->op.record, call->op.now));
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
				       log_int("fence", call->op.record.fence), log_int("pid", call->pid),
				       log_int("uid", call->uid), log_slice("reason", call->reason), log_end()});
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

void account_answer(struct call *call)
{
	struct stats *stats = call->dispatch->stats;
	const struct op *op = &call->op;
	bool failed = op->result == OP_REFUSED || op->result == OP_UNCERTAIN;
	/* As its client was told; but how a kept settlement ended counts more than that it took its time. */
	enum word word = failed || (op->late && !op->kept) ? WORD_ERR : op->verdict.word;

	if (op->store_us > 0)
		stats_observe(stats, STATS_STORE_DURATION, op->store_us);
	if (op->late) /* that was counted when it was said */
		;
	else if (failed)
		stats->errors[op->err]++;
	else if (word == WORD_ERR)
		stats->errors[op->verdict.err]++;
	stats->unreadable_records += op->unreadable;
	if (op->kind != OP_RECORD)
		return;
	switch (op->ask.verb) {
	case ASK_CLAIM:
		stats->claims[word]++;
		stats->takeovers += op->verdict.word == WORD_WON && op->verdict.was == WAS_LAPSED;
		stats_observe(stats, STATS_CLAIM_DURATION, clock_mono_us() - call->start_us);
		if (op->verdict.word == WORD_WON)
			note_grant(call);
		break;
	case ASK_RENEW:
		if (op->verdict.word == WORD_OK)
			note_grant(call);
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
