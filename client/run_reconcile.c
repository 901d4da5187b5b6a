/*
 * run_reconcile.c - --reconcile CMD: where nobody knows whether the effect happened, CMD asks the one who must know
 * (the provider). See run.h. Called by cli_run.c.
 *
 * CMD exits with 0: it did happen, and is settled as done. 1: it did not, and the way is free. Anything else, a
 * signal included: still unknown, and the key stays shut. There are two occasions. The claim is ours, and its holder
 * before let it lapse: CMD runs under it, with renewals, and the claim is never just given back while the question
 * is open, since the next one to win it would not know that there is one. Or the answer was UNKNOWN: nobody holds
 * it, so CMD runs without a claim, and what it says is settled by RESOLVE with the fence that was told, and then the
 * claim is asked for again.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hint.h"
#include "run.h"

enum verdict { HAPPENED, NOT_HAPPENED, STILL_UNKNOWN };

/* Runs CMD to its end. Its input is empty and its output goes to stderr: both of ours belong to the command. */
static enum verdict ask_provider(struct run *run)
{
	char *command[] = {"/bin/sh", "-c", (char *)(uintptr_t)run->config->reconcile, NULL};
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct child_spec spec = {command, null_fd, STDERR_FILENO, &run->mask_before, &run->pipe_before};
	enum verdict verdict = STILL_UNKNOWN;
	run_environment(run);
	run->reconciling = true;
	if (null_fd >= 0 && run_spawn(run, &spec, false) == CLI_OK) {
		run_watch(run);
		int status = run->child.status;
		child_end_group(&run->child);
		if (run->cause == RUN_BY_ITSELF && WIFEXITED(status) && WEXITSTATUS(status) <= 1)
			verdict = WEXITSTATUS(status) == 0 ? HAPPENED : NOT_HAPPENED;
		if (verdict == STILL_UNKNOWN)
			cli_say("--reconcile ended with %s %d: still nobody knows whether it was done",
				WIFSIGNALED(status) ? "signal" : "status",
				WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
	if (null_fd >= 0)
		close(null_fd);
	child_release(&run->child);
	run->reconciling = false;
	return verdict;
}

static int report(struct run *run, const char *word, int status, bool recorded)
{
	report_word(&run->report, word);
	report_number(&run->report, "exit", status);
	report_number(&run->report, "fence", run->fence);
	report_text(&run->report, "cause", "reconcile");
	report_number(&run->report, "recorded", recorded);
	return status;
}

bool run_reconcile_lapsed(struct run *run, int *status)
{
	const struct run_config *config = run->config;
	cli_say("the one who had the key before did not finish: asking --reconcile whether it was done");
	switch (ask_provider(run)) {
	case HAPPENED:
		*status = report(run, "DUPLICATE", config->duplicate_exit,
				 run_settle_with(run, VERB_COMPLETE, SLICE_OF(RUN_RESULT_HEAD "0\n")));
		return false;
	case NOT_HAPPENED:
		run->unsure = false;
		return true;
	case STILL_UNKNOWN:
	default:
		*status = run->cause == RUN_LOST ? CLI_LOST : config->unknown_exit;
		report(run, "UNKNOWN", *status, run_settle_with(run, VERB_DOUBT, SLICE_ABSENT));
		return false;
	}
}

/* Settles by hand what nobody holds. As ask_code. */
static int resolve(struct run *run, enum choice as, struct slice body, struct errbuf *why)
{
	char line[PROTO_MAX_LINE];
	struct writer w;
	writer_init(&w, line, sizeof(line));
	request_begin(&w, VERB_RESOLVE, run->config->key);
	request_choice(&w, as);
	request_integer(&w, OPT_FENCE, run->fence);
	request_bytes(&w, OPT_REASON, SLICE_OF("claim run --reconcile"));
	run_settle_line(run, &w, body, why);
	return run->ask_code;
}

bool run_reconcile_unknown(struct run *run, int *status)
{
	const struct run_config *config = run->config;
	struct errbuf why;
	run->fence = reply_integer(run->reply, "fence", 0);
	run->attempts = 0;
	memcpy(run->was, "unknown", sizeof("unknown"));
	lease_none(&run->lease);
	cli_say("nobody knows whether it was done: asking --reconcile");
	enum verdict verdict = ask_provider(run);
	if (verdict == STILL_UNKNOWN) {
		run_hint_unknown(run, run->fence);
		*status = report(run, "UNKNOWN", config->unknown_exit, true);
		return false;
	}
	int code = resolve(run, verdict == HAPPENED ? CHOICE_AS_DONE : CHOICE_AS_FREE,
			   verdict == HAPPENED ? SLICE_OF(RUN_RESULT_HEAD "0\n") : SLICE_ABSENT, &why);
	if (code < 0 || (code != CLAIM_OK && verdict == HAPPENED)) {
		cli_say("--reconcile says that it was %s, BUT THAT IS NOT RECORDED (%s)",
			verdict == HAPPENED ? "done" : "not done",
			code < 0 ? why.text : "somebody else changed the record meanwhile");
		hint_say(config->cli, "what is there now", "status", 0, config->key);
	}
	if (verdict == HAPPENED) {
		*status = report(run, "DUPLICATE", config->duplicate_exit, code == CLAIM_OK);
		return false;
	}
	if (code < 0) {
		*status = report(run, "UNKNOWN", config->unknown_exit, false);
		return false;
	}
	/* Whatever else was answered: who asks for the claim is told how it stands. */
	return true;
}
