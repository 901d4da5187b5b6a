/*
 * run_answer.c - the answers that do not permit to run, and what a person does about them. See run.h. Called by cli_run.c.
 *
 * A duplicate gets what the first one got: its output and its status. Everything else is said on stderr, with the
 * command that helps. A word that this version does not know permits nothing.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli_show.h"
#include "error.h"
#include "hint.h"
#include "run.h"

/* False: not all of it could be written. */
static bool write_output(struct run *run, struct slice output)
{
	/* A reader that does not read must not make us immortal. */
	run_signals_close(run);
	while (output.len > 0) {
		ssize_t n = write(STDOUT_FILENO, output.data, output.len);
		if (n < 0 && errno != EINTR) {
			cli_say("cannot write the recorded output: %s", strerror(errno));
			return false;
		}
		output.data += n > 0 ? n : 0;
		output.len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* What was recorded, as the first one said it. Only `run` knows how; what others recorded is not an output. */
static int replay(struct run *run, const char *word, int exit_code)
{
	const struct run_config *config = run->config;
	struct slice output = SLICE_OF("");
	bool known = run_result_read(run->reply->body, &exit_code, &output);
	bool success = run->ask_code == CLAIM_DONE && exit_code == CLI_OK;
	report_word(&run->report, word);
	if (run->ask_code == CLAIM_FAILED) {
		struct duration_text age = show_duration(reply_integer(run->reply, "age_ms", 0));
		cli_say("this key was burned %s ago%s: not run. The exit status is %d", age.text,
			known ? "" : " by another client", exit_code);
		hint_say(config->cli, "to have it run again", "forget", reply_integer(run->reply, "fence", 0),
			 config->key);
	}
	if (success)
		exit_code = config->duplicate_exit;
	if (output.len > 0 && !write_output(run, output) && success)
		exit_code = CLI_OUTPUT;
	report_number(&run->report, "exit", exit_code);
	return exit_code;
}

void run_hint_unknown(const struct run *run, int64_t fence)
{
	const struct run_config *config = run->config;
	hint_say(config->cli, "if it was done", "resolve --as done", fence, config->key);
	hint_say(config->cli, "if it was not", "resolve --as free", fence, config->key);
}

static void say_no(const struct run *run, int code)
{
	struct slice owner = reply_field(run->reply, "owner");
	struct duration_text left = show_duration(reply_integer(run->reply, "left_ms", 0));
	struct duration_text age = show_duration(reply_integer(run->reply, "age_ms", 0));
	if (owner.len == 0)
		owner = SLICE_OF("somebody");
	if (code == CLAIM_HELD) {
		/* An exit of 0 is asked for where this is as good as done: cron would send a mail of each word. */
		if (run->config->held_exit == CLI_OK || say_kept_off(run->reply))
			return;
		cli_say("held by %.*s for %s; its lease ends in %s if it is not renewed", (int)owner.len, owner.data,
			age.text, left.text);
	} else if (code == CLAIM_MISMATCH) {
		cli_say("this key was used for another request: the fingerprints differ. Not run");
	} else if (code == CLAIM_UNKNOWN) {
		cli_say("nobody knows whether it was done (claimed %s ago by %.*s). Not run; find out, then settle it",
			age.text, (int)owner.len, owner.data);
		run_hint_unknown(run, reply_integer(run->reply, "fence", 0));
	} else if (code == CLAIM_DONE || code == CLAIM_FAILED) {
		cli_say("the key is %s: it was used with `claim run`, not as a lock. Not run",
			code == CLAIM_DONE ? "done" : "burned");
	} else {
		cli_say("the daemon answered %.*s, which this version does not know. Not run",
			(int)run->reply->word.len, run->reply->word.data);
	}
}

/* ERR. */
static int refused(struct run *run, int code)
{
	struct slice msg = reply_field(run->reply, "msg");
	struct errbuf why;
	int status = cli_exit_code(VERB_CLAIM, code);
	err_set(&why, "%.*s", (int)msg.len, msg.data ? msg.data : "");
	cli_say_error(code, run->link.path, why.text);
	report_word(&run->report, "ERR");
	report_number(&run->report, "exit", status);
	return status;
}

int run_not_won(struct run *run)
{
	static const char *const words[] = {[CLAIM_HELD] = "HELD",
					    [CLAIM_DONE] = "DONE",
					    [CLAIM_FAILED] = "FAILED",
					    [CLAIM_MISMATCH] = "MISMATCH",
					    [CLAIM_UNKNOWN] = "UNKNOWN"};
	const struct run_config *config = run->config;
	int code = run->ask_code, status;
	int64_t fence = reply_integer(run->reply, "fence", 0);
	if (code < 0)
		return refused(run, code);
	if (code == CLAIM_DONE && !config->lock) {
		status = replay(run, "DUPLICATE", CLI_OK);
	} else if (code == CLAIM_FAILED && !config->lock) {
		status = replay(run, "BURNED", CLI_NO);
	} else {
		say_no(run, code);
		/* A lock on a key that is settled is somebody's mistake, never an answer that permits to go on. */
		status = code == CLAIM_HELD                           ? config->held_exit
			 : code == CLAIM_UNKNOWN                      ? config->unknown_exit
			 : code == CLAIM_DONE || code == CLAIM_FAILED ? CLI_HELD
								      : cli_exit_code(VERB_CLAIM, code);
		report_word(&run->report, code > CLAIM_WON && code <= CLAIM_UNKNOWN ? words[code] : "ERR");
		report_number(&run->report, "exit", status);
	}
	if (fence > 0)
		report_number(&run->report, "fence", fence);
	return status;
}

static void say_unreachable(const struct run *run, int code)
{
	struct errbuf why;
	if (code != CLAIM_E_UNCERTAIN && code != CLAIM_E_UNREACHABLE)
		err_set(&why, "%s", run->link.why.text);
	else if (link_fd(&run->link) >= 0)
		err_set(&why, "no answer from %s", run->link.path);
	else
		err_set(&why, "cannot reach %s: %s", run->link.path, run->link.why.text);
	cli_say_error(code, run->link.path, why.text);
	cli_say("the command was not started");
	if (code == CLAIM_E_UNCERTAIN)
		hint_say(run->config->cli, "what is there now", "status", 0, run->config->key);
}

int run_no_answer(struct run *run)
{
	int code = run->ask.tried ? CLAIM_E_UNCERTAIN : CLAIM_E_UNREACHABLE;
	enum err hello = run->link.client.refused;
	int status = CLI_UNREACHABLE;
	if (hello != ERR_NONE) {
		code = error_from_hello(hello);
		status = cli_exit_code(VERB_CLAIM, code);
	}
	if (run->stop_signal != 0) {
		status = 128 + run->stop_signal;
		report_word(&run->report, "STOPPED");
		if (run->ask.tried)
			cli_say("stopped without an answer: if the key was won meanwhile, it is held until %s",
				run->token[0] ? "its lease ends" : "the daemon sees that we are gone");
	} else {
		say_unreachable(run, code);
		report_word(&run->report, "ERR");
	}
	report_number(&run->report, "exit", status);
	return status;
}
