/*
 * run_settle.c - says how it ended. See run.h.
 *
 * The effect has happened or not, and that does not change any more; so a settlement is repeated until it is
 * answered, for as long as the lease protects it. Failure modes: the claim is not ours any more, the daemon stays
 * away, the record refuses: all are said loudly, none changes the exit code of the command, none starts it again.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "../proto/mem.h"
#include "cli_show.h"
#include "hint.h"
#include "run.h"

#define AGAIN_MS 200

/* ---- the recorded result ---- */

bool run_result_read(struct slice body, int *exit_code, struct slice *output)
{
	int64_t n;
	const struct slice head = SLICE_OF(RUN_RESULT_HEAD);
	if (!body.data || !slice_starts(body, head))
		return false;
	const char *end = memchr(body.data, '\n', body.len);
	if (!end || !integer_parse((struct slice){body.data + head.len, (size_t)(end - body.data) - head.len}, &n) ||
	    n > 255)
		return false;
	*exit_code = (int)n;
	*output = (struct slice){end + 1, body.len - (size_t)(end + 1 - body.data)};
	return true;
}

/* The first line and what was kept of the output. data NULL: no memory. Free it with mem_free. */
static struct slice result_make(const struct run *run, int exit_code)
{
	struct slice saved = run->config->save_limit > 0 ? tee_saved(&run->tee) : SLICE_OF("");
	size_t cap = sizeof(RUN_RESULT_HEAD) + 8 + saved.len;
	char *data = mem_alloc(cap);
	struct writer w;
	if (run->config->save_limit > 0 && !saved.data)
		cli_say(
		    "the output is not recorded: it is above the limit of %zu octets, or could not be passed on whole",
		    run->tee.limit);
	if (!data)
		return SLICE_ABSENT;
	writer_init(&w, data, cap);
	writer_text(&w, RUN_RESULT_HEAD);
	writer_int(&w, exit_code);
	writer_char(&w, '\n');
	if (saved.data)
		writer_slice(&w, saved);
	return writer_done(&w);
}

/* ---- one settlement, to its answer ---- */

/* Asking again makes sense. */
static bool may_help(const struct run *run)
{
	struct slice retry = run->reply ? reply_field(run->reply, "retry") : SLICE_ABSENT;
	return run->ask_code == CLAIM_E_UNCERTAIN ||
	       (run->ask_code == CLAIM_E_REFUSED && !slice_equal(retry, SLICE_OF("no")));
}

static void say_trying(const struct run *run, struct errbuf *why, bool *said)
{
	struct slice msg = run->reply ? reply_field(run->reply, "msg") : slice_from(run->link.why.text);
	err_set(why, "%.*s", (int)msg.len, msg.data ? msg.data : "no answer");
	if (!*said)
		cli_say("how it ended is not recorded yet (%s); trying on", why->text);
	*said = true;
}

/* Until when it is tried: as long as the lease keeps others off, but not when we are asked to end. */
static int64_t patience(const struct run *run, int64_t started_ms, int64_t *stopped_ms)
{
	int64_t until = started_ms + RUN_ANSWER_MS;
	if (run->held && run->lease.until_ms > until)
		until = run->lease.until_ms;
	if (run->stop_signal == 0)
		return until;
	if (*stopped_ms == 0)
		*stopped_ms = link_now_ms();
	return *stopped_ms + RUN_STOPPING_MS < until ? *stopped_ms + RUN_STOPPING_MS : until;
}

void run_settle_line(struct run *run, const struct writer *line, struct slice body, struct errbuf *why)
{
	int64_t started = link_now_ms(), stopped = 0;
	bool said = false;
	/* Without memory to ask it is tried again like after a refusal. */
	int64_t again_at = run_ask(run, line, body) ? INT64_MAX : started + AGAIN_MS;
	for (;;) {
		bool answered = run_pump(run);
		int64_t now = link_now_ms(), until = patience(run, started, &stopped);
		if (answered && !may_help(run)) {
			struct slice msg = run->reply ? reply_field(run->reply, "msg") : SLICE_ABSENT;
			err_set(why, "%.*s", (int)msg.len, msg.data ? msg.data : "");
			return;
		}
		if (answered) {
			say_trying(run, why, &said);
			int64_t after_ms = run->reply ? reply_integer(run->reply, "after_ms", 0) : 0;
			again_at = now + link_jitter(&run->link, AGAIN_MS + after_ms);
		} else if (!run->asking && now >= again_at) {
			again_at = run_ask(run, line, body) ? INT64_MAX : now + AGAIN_MS;
		} else if (link_fd(&run->link) < 0 && run->link.failures > 3) {
			say_trying(run, why, &said);
		}
		if (now >= until)
			break;
		run_wait(run, again_at < until ? again_at : until);
	}
	run->ask_code = CLAIM_E_UNCERTAIN;
	if (!said)
		err_set(why, "no answer");
}

/* ---- what to say, and how it went ---- */

/* What the command calls them, which is also what the report says. */
static const char *const settlements[VERB__COUNT] = {
    [VERB_COMPLETE] = "complete", [VERB_FAIL] = "fail", [VERB_RELEASE] = "release", [VERB_DOUBT] = "doubt"};

/* The command may have got anywhere: it was killed, or told to end and did not end well. */
static bool fate_unknown(const struct run *run, int status)
{
	if (WIFSIGNALED(status))
		return true;
	return WEXITSTATUS(status) != 0 && (run->cause != RUN_BY_ITSELF || run->stop_signal != 0);
}

static enum verb choose(const struct run *run, int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	if (code == 0)
		return run->config->lock ? VERB_RELEASE : VERB_COMPLETE;
	if (code > 0 && run->config->fail_on[code])
		return VERB_FAIL;
	return run->config->lapse_unknown && fate_unknown(run, status) ? VERB_DOUBT : VERB_RELEASE;
}

static void settle(struct run *run, enum verb verb, struct slice body, struct errbuf *why)
{
	char line[PROTO_MAX_LINE];
	struct writer w;
	writer_init(&w, line, sizeof(line));
	run_request(run, &w, verb);
	run_settle_line(run, &w, body, why);
}

/* It was answered with OK. */
static void say_settled(const struct run *run, enum verb verb)
{
	const struct run_config *config = run->config;
	if (run->reply && reply_integer(run->reply, "kept", 1) == 0)
		cli_say("settled, but the result was too big or results are not kept: duplicates get none");
	if (verb == VERB_DOUBT) {
		cli_say("nobody knows whether it was done: find out, then settle it");
		run_hint_unknown(run, run->fence);
	} else if (verb == VERB_FAIL) {
		cli_say("the key is burned: it is not tried again");
		hint_say(config->cli, "to have it run again", "forget", run->fence, config->key);
	}
}

/* It was not; and what has happened does not change by that. The verbs of the holder are safe to repeat by hand. */
static void say_not_settled(const struct run *run, enum verb verb, const char *why)
{
	const struct run_config *config = run->config;
	const char *about = verb == VERB_COMPLETE ? (run->unsure ? "IT WAS DONE, BUT THAT IS NOT RECORDED"
								 : "THE COMMAND SUCCEEDED, BUT THAT IS NOT RECORDED")
			    : verb == VERB_FAIL   ? "IT FAILED FOR GOOD, BUT THAT IS NOT RECORDED"
			    : verb == VERB_DOUBT  ? "nobody knows whether it was done, but that is not recorded"
						  : "the claim could not be given back";
	if (run->ask_code == CLAIM_STALE && (verb == VERB_COMPLETE || verb == VERB_FAIL)) {
		cli_say("%s: the claim was taken over while it ran, it may have been done twice", about);
		hint_say(config->cli, "what is there now", "status", 0, config->key);
	} else if (run->ask_code == CLAIM_STALE) {
		cli_say("the claim was not ours any more when the command ended");
	} else {
		cli_say("%s (%s)%s", about, why, verb == VERB_RELEASE ? "; its lease ends by itself" : "");
		hint_say(config->cli, verb == VERB_RELEASE ? "to do it now" : "do not run it again; record it",
			 settlements[verb], run->fence, config->key);
	}
}

bool run_settle_with(struct run *run, enum verb verb, struct slice body)
{
	struct errbuf why;
	settle(run, verb, body, &why);
	int code = run->ask_code;
	if (code == CLAIM_OK)
		say_settled(run, verb);
	else
		say_not_settled(run, verb, why.text);
	/* The record refuses to be settled: at least nobody else shall run it. */
	if (code < 0 && code != CLAIM_E_UNCERTAIN && (verb == VERB_COMPLETE || verb == VERB_FAIL))
		settle(run, VERB_DOUBT, SLICE_ABSENT, &why);
	return code == CLAIM_OK;
}

static int exit_code(const struct run *run, int status, int exec_error)
{
	if (exec_error)
		return exec_error == ENOENT ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE;
	if (run->cause == RUN_TIMEOUT)
		return CLI_TIMEOUT;
	if (run->cause == RUN_LOST)
		return CLI_LOST;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void report_ran(struct run *run, enum verb verb, int code, bool recorded)
{
	int status = run->child.status;
	report_word(&run->report, "RAN");
	report_number(&run->report, "exit", code);
	report_number(&run->report, "fence", run->fence);
	if (run->held) {
		report_number(&run->report, "attempts", run->attempts);
		report_text(&run->report, "settled", settlements[verb]);
		report_number(&run->report, "recorded", recorded);
	} else {
		report_number(&run->report, "guarded", 0);
	}
	if (WIFSIGNALED(status))
		report_number(&run->report, "signal", WTERMSIG(status));
	else
		report_number(&run->report, "status", WEXITSTATUS(status));
	if (run->cause != RUN_BY_ITSELF)
		report_text(&run->report, "cause", run->cause == RUN_TIMEOUT ? "timeout" : "lost");
}

int run_settle(struct run *run)
{
	int status = run->child.status, exec_error = child_exec_error(&run->child);
	enum verb verb = exec_error ? VERB_RELEASE : choose(run, status);
	struct slice body = SLICE_ABSENT;
	if (exec_error)
		cli_say("%s: %s", run->config->command[0], strerror(exec_error));
	/* Nothing of an attempt that did not succeed may still be at work when somebody tries again. */
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		child_end_group(&run->child);
	if (run->held && (verb == VERB_COMPLETE || verb == VERB_FAIL))
		body = result_make(run, WEXITSTATUS(status));
	bool recorded = run->held && run_settle_with(run, verb, body);
	mem_free((void *)(uintptr_t)body.data);
	int code = exit_code(run, status, exec_error);
	report_ran(run, verb, code, recorded);
	return code;
}

void run_give_back(struct run *run)
{
	if (run->held)
		run_settle_with(run, run->unsure ? VERB_DOUBT : VERB_RELEASE, SLICE_ABSENT);
}

int run_burn(struct run *run)
{
	cli_say("this would be attempt %lld, and --max-attempts is %lld: burning the key", (long long)run->attempts,
		(long long)run->config->max_attempts);
	bool recorded = run_settle_with(run, VERB_FAIL, SLICE_OF(RUN_RESULT_HEAD "1\n"));
	report_word(&run->report, "BURNED");
	report_number(&run->report, "exit", CLI_NO);
	report_number(&run->report, "fence", run->fence);
	report_number(&run->report, "attempts", run->attempts);
	report_number(&run->report, "recorded", recorded);
	return CLI_NO;
}
