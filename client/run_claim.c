/*
 * run_claim.c - asks for the claim. See run.h. Called by cli_run.c.
 *
 * Happy path: CLAIM, WON. Whatever is said to be safe to ask again is asked again, for a moment; so is what was cut
 * or left in doubt, as long as the token makes both one. Failure modes: no daemon or no store, a stop (a win that
 * comes meanwhile is given back by the caller).
 */
#include <stdio.h>
#include <string.h>

#include "run.h"

#define PATIENCE_MS 2000 /* for a daemon that restarts */

static void claim_line(const struct run *run, struct writer *w)
{
	const struct run_config *config = run->config;
	request_begin(w, VERB_CLAIM, config->key);
	request_duration(w, OPT_LEASE, config->lease_ms);
	if (config->ttl_ms > 0)
		request_duration(w, OPT_TTL, config->ttl_ms);
	request_bytes(w, OPT_FP, config->fp);
	if (config->drop == CHOICE_DROP_KEEP)
		request_bytes(w, OPT_TOKEN, slice_from(run->token));
	else
		request_choice(w, config->drop);
	request_bytes(w, OPT_OWNER, config->owner);
	if (config->wait_ms > 0)
		request_duration(w, OPT_WAIT, config->wait_ms);
	if (config->atleast_ms > 0)
		request_duration(w, OPT_ATLEAST, config->atleast_ms);
	request_flag(w, OPT_NOTIFY);
	request_choice(w, config->lapse_unknown ? CHOICE_LAPSE_UNKNOWN : CHOICE_LAPSE_RECLAIM);
}

/* The answer may come if we ask again: nothing was done, or the token makes it safe. */
static bool ask_again(const struct run *run)
{
	struct slice retry = run->reply ? reply_field(run->reply, "retry") : SLICE_ABSENT;
	return (run->ask_code == CLAIM_E_REFUSED && slice_equal(retry, SLICE_OF("safe"))) ||
	       (run->ask_code == CLAIM_E_UNCERTAIN && run->token[0]);
}

/* When we stop hoping for an answer. A wait is for the key; the daemon has to be there. */
static int64_t claim_until(const struct run *run, int64_t started_ms, int64_t stopped_ms)
{
	if (stopped_ms > 0 && run->ask.tried)
		return stopped_ms + (run->config->wait_ms > 0 ? RUN_LEAVING_MS : RUN_STOPPING_MS);
	if (stopped_ms > 0)
		return stopped_ms;
	if (run->link.client.greeted || run->ask.tried)
		return started_ms + run->config->wait_ms + RUN_ANSWER_MS;
	return started_ms + PATIENCE_MS;
}

bool run_claim(struct run *run)
{
	char line[PROTO_MAX_LINE];
	struct writer w;
	int64_t started = link_now_ms(), stopped = 0, again_at = INT64_MAX;
	writer_init(&w, line, sizeof(line));
	claim_line(run, &w);
	if (!run_ask(run, &w, SLICE_ABSENT))
		return false;
	for (;;) {
		bool answered = run_pump(run);
		int64_t now = link_now_ms();
		if (run->stop_signal != 0 && stopped == 0)
			stopped = now;
		if (answered && !ask_again(run))
			return true;
		if (answered) {
			int64_t after = run->reply ? reply_integer(run->reply, "after_ms", 0) : 0;
			again_at = now + link_jitter(&run->link, after + 100);
			if (again_at - started > PATIENCE_MS && run->ask_code == CLAIM_E_REFUSED)
				return true;
		}
		if (now >= claim_until(run, started, stopped) || run->link.client.refused != ERR_NONE)
			return false;
		if (!run->asking && now >= again_at) {
			again_at = INT64_MAX;
			if (!run_ask(run, &w, SLICE_ABSENT))
				return false;
		}
		int64_t until = claim_until(run, started, stopped);
		run_wait(run, again_at < until ? again_at : until);
	}
}

bool run_won(struct run *run)
{
	const struct run_config *config = run->config;
	struct slice was = reply_field(run->reply, "was");
	run->fence = reply_integer(run->reply, "fence", -1);
	run->attempts = reply_integer(run->reply, "attempts", 1);
	snprintf(run->was, sizeof(run->was), "%.*s", (int)was.len, was.data ? was.data : "");
	if (run->fence == 0 && reply_integer(run->reply, "guarded", 1) == 0) {
		lease_none(&run->lease);
		return true;
	}
	lease_won(&run->lease, run->ask.sent_ms, config->lease_ms, config->hold_ms, config->kill_after_ms);
	/* A repeated question that was won by its first copy: less may be left than was asked for. */
	int64_t left_ms = reply_integer(run->reply, "lease_ms", config->lease_ms);
	if (left_ms < config->lease_ms)
		run->lease.until_ms = run->ask.sent_ms + left_ms;
	run->held = run->fence > 0;
	run->bound = config->drop != CHOICE_DROP_KEEP;
	run->unsure = config->reconcile && strcmp(run->was, "lapsed") == 0;
	return run->held;
}

/* After a wait nobody here knows how long ago the win was. A renewal says what is left, counted from when it was sent. */
int run_confirm(struct run *run)
{
	const struct run_config *config = run->config;
	char line[PROTO_MAX_LINE];
	struct writer w;
	int64_t until = link_now_ms() + RUN_ANSWER_MS;
	writer_init(&w, line, sizeof(line));
	run_request(run, &w, VERB_RENEW);
	request_duration(&w, OPT_LEASE, config->lease_ms);
	bool answered = false;
	if (run_ask(run, &w, SLICE_ABSENT)) {
		while (!(answered = run_pump(run)) && run->stop_signal == 0 && link_now_ms() < until)
			run_wait(run, until);
	}
	if (answered && run->ask_code == CLAIM_OK) {
		lease_won(&run->lease, run->ask.sent_ms, config->lease_ms, config->hold_ms, config->kill_after_ms);
		return CLI_OK;
	}
	if (run->stop_signal != 0)
		return 128 + run->stop_signal;
	cli_say("the key was won after a wait, but what is left of its lease could not be confirmed: not started");
	return CLI_UNREACHABLE;
}
