/*
 * cli_run.c - `claim run` and `claim lock`: asks for the claim, answers a duplicate, runs the command. See run.h.
 *
 * Happy path: options, CLAIM, WON, run_start, run_watch, run_settle. Whatever else the daemon says, the command is not started, and the exit
 * code says why. Failure modes: no daemon or no store (after a moment of patience: 69), a stop before the win (128 + the
 * signal; a win that comes meanwhile is given back).
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../proto/mem.h"
#include "../proto/sha256.h"
#include "cli_file.h"
#include "cli_show.h"
#include "error.h"
#include "owner.h"
#include "run.h"

#define PATIENCE_MS 2000 /* for a daemon that restarts */
#define WAIT_FOR_EVER_MS (INT64_C(10) * 365 * 24 * 3600 * 1000)

/* ---- options ---- */

/* "2,65,100-110" */
static bool codes_parse(const char *text, bool codes[256])
{
	for (const char *at = text; *at; at++) {
		char *end;
		long first = strtol(at, &end, 10), last = first;
		if (end == at || *at == '-' || *at == '+' || *at == ' ')
			return false;
		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			last = strtol(end + 1, &end, 10);
		if (first < 1 || last > 255 || first > last || (*end && (*end != ',' || !end[1])))
			return false;
		for (long code = first; code <= last; code++)
			codes[code] = true;
		at = *end ? end : end - 1;
	}
	return true;
}

/* The fingerprint of a file. From standard input it is read whole, and the command gets what was read. */
static bool config_fp(struct run_config *config, const struct args *args, char hex[65])
{
	size_t len;
	const char *name = args->text[ARG_FP_FILE];
	if (!name)
		return true;
	char *data = file_read(name, &len);
	if (!data)
		return false;
	sha256_hex((struct slice){data, len}, hex);
	config->fp = slice_from(hex);
	bool good = true;
	if (strcmp(name, "-") == 0) {
		config->stdin_fd = file_of(data, len);
		good = config->stdin_fd >= 0;
	}
	if (!good)
		cli_say("cannot keep standard input for the command: %s", strerror(errno));
	mem_free(data);
	return good;
}

static int64_t number_or(const struct args *args, enum arg arg, int64_t standard)
{
	return arg_given(args, arg) ? args->number[arg] : standard;
}

static bool config_read(struct run_config *config, const struct args *args, char *owner, size_t owner_size)
{
	*config = (struct run_config){
	    .lock = strcmp(args->sub->name, "lock") == 0,
	    .key = slice_from(args->key),
	    .lease_ms = number_or(args, ARG_LEASE, 30 * 1000),
	    .ttl_ms = number_or(args, ARG_TTL, 0),
	    .hold_ms = number_or(args, ARG_HOLD, INT64_C(24) * 3600 * 1000),
	    .kill_after_ms = number_or(args, ARG_KILL_AFTER, 10 * 1000),
	    .timeout_ms = number_or(args, ARG_TIMEOUT, 0),
	    .max_attempts = number_or(args, ARG_MAX_ATTEMPTS, 0),
	    .wait_ms =
		arg_given(args, ARG_WAIT) && !args->text[ARG_WAIT] ? WAIT_FOR_EVER_MS : number_or(args, ARG_WAIT, 0),
	    .lapse_unknown = arg_given(args, ARG_LAPSE) && strcmp(args->text[ARG_LAPSE], "unknown") == 0,
	    .command = args->command,
	    .stdin_fd = -1,
	};
	if (arg_given(args, ARG_SAVE_OUTPUT))
		config->save_limit = args->text[ARG_SAVE_OUTPUT] ? args->number[ARG_SAVE_OUTPUT] : PROTO_MAX_BODY;
	if (arg_given(args, ARG_NO_HOLD)) {
		if (arg_given(args, ARG_HOLD)) {
			cli_say("--hold and --no-hold at once");
			return false;
		}
		config->hold_ms = 0;
	}
	if (arg_given(args, ARG_FAIL_ON) && !codes_parse(args->text[ARG_FAIL_ON], config->fail_on)) {
		cli_say("--fail-on takes exit codes from 1 to 255: 2,65,100-110");
		return false;
	}
	config->owner =
	    arg_given(args, ARG_OWNER) ? slice_from(args->text[ARG_OWNER]) : owner_default(owner, owner_size, getpid());
	if (config->owner.len > option_info(OPT_OWNER)->limit) {
		cli_say("--owner has more than %zu octets", option_info(OPT_OWNER)->limit);
		return false;
	}
	return true;
}

/* ---- the claim ---- */

static void claim_line(const struct run *run, struct writer *w)
{
	const struct run_config *config = run->config;
	request_begin(w, VERB_CLAIM, config->key);
	request_duration(w, OPT_LEASE, config->lease_ms);
	if (config->ttl_ms > 0)
		request_duration(w, OPT_TTL, config->ttl_ms);
	request_bytes(w, OPT_FP, config->fp);
	request_bytes(w, OPT_TOKEN, slice_from(run->token));
	request_bytes(w, OPT_OWNER, config->owner);
	if (config->wait_ms > 0)
		request_duration(w, OPT_WAIT, config->wait_ms);
	request_choice(w, config->lapse_unknown ? CHOICE_LAPSE_UNKNOWN : CHOICE_LAPSE_RECLAIM);
}

/* The answer may come if we ask again: nothing was done, or the token makes it safe. */
static bool ask_again(const struct run *run)
{
	struct slice retry = run->reply ? reply_field(run->reply, "retry") : SLICE_ABSENT;
	return (run->ask_code == CLAIM_E_REFUSED && slice_equal(retry, SLICE_OF("safe"))) ||
	       run->ask_code == CLAIM_E_UNCERTAIN;
}

/* When we stop hoping for an answer. */
static int64_t claim_until(const struct run *run, int64_t started_ms, int64_t stopped_ms)
{
	if (stopped_ms > 0 && run->ask.tried)
		return stopped_ms + (run->config->wait_ms > 0 ? RUN_LEAVING_MS : RUN_STOPPING_MS);
	if (stopped_ms > 0)
		return stopped_ms;
	return started_ms + run->config->wait_ms +
	       (run->link.client.greeted || run->ask.tried ? RUN_ANSWER_MS : PATIENCE_MS);
}

/* Asks until there is an answer that counts; ask_code and reply have it. False: there was none. */
static bool claim_ask(struct run *run)
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

/* ---- answers that do not permit to run ---- */

/* What was recorded, as the first one said it. Only `run` knows how; what others recorded is not an output. */
static int replay(struct run *run, const char *word, int exit_code)
{
	struct slice output = SLICE_OF("");
	report_word(&run->report, word);
	if (run_result_read(run->reply->body, &exit_code, &output) && output.len > 0) {
		/* A reader that does not read must not make us immortal. */
		run_signals_close(run);
		while (output.len > 0) {
			ssize_t n = write(STDOUT_FILENO, output.data, output.len);
			if (n < 0 && errno != EINTR) {
				cli_say("cannot write the recorded output: %s", strerror(errno));
				exit_code = exit_code == 0 ? CLI_OUTPUT : exit_code;
				break;
			}
			output.data += n > 0 ? n : 0;
			output.len -= n > 0 ? (size_t)n : 0;
		}
	}
	report_number(&run->report, "exit", exit_code);
	return exit_code;
}

static void say_no(const struct run *run, int code)
{
	struct slice owner = reply_field(run->reply, "owner");
	struct duration_text left = show_duration(reply_integer(run->reply, "left_ms", 0));
	struct duration_text age = show_duration(reply_integer(run->reply, "age_ms", 0));
	char shown[129] = "somebody";
	/* Whoever claimed it chose the text; it goes to a terminal. */
	for (size_t i = 0; owner.data && i < owner.len && i < sizeof(shown) - 1; i++) {
		shown[i] = owner.data[i] > ' ' && owner.data[i] < 0x7f ? owner.data[i] : '?';
		shown[i + 1] = '\0';
	}
	if (code == CLAIM_HELD)
		cli_say("held by %s for %s; its lease ends in %s if it is not renewed", shown, age.text, left.text);
	else if (code == CLAIM_MISMATCH)
		cli_say("this key was used for another request: the fingerprints differ. Not run");
	else if (code == CLAIM_UNKNOWN)
		cli_say("nobody knows whether it was done (claimed %s ago by %s): find out, then `claim resolve KEY "
			"--as done|failed|free`",
			age.text, shown);
	else if (code == CLAIM_DONE || code == CLAIM_FAILED)
		cli_say("the key is %s: it was used with `claim run`, not as a lock. Not run",
			code == CLAIM_DONE ? "done" : "burned");
	else
		cli_say("the daemon answered %.*s, which this version does not know. Not run",
			(int)run->reply->word.len, run->reply->word.data);
}

/* Any answer but WON. */
static int not_won(struct run *run)
{
	static const char *const words[] = {[CLAIM_HELD] = "HELD",
					    [CLAIM_DONE] = "DONE",
					    [CLAIM_FAILED] = "FAILED",
					    [CLAIM_MISMATCH] = "MISMATCH",
					    [CLAIM_UNKNOWN] = "UNKNOWN"};
	int code = run->ask_code, status;
	int64_t fence = reply_integer(run->reply, "fence", 0);
	if (code == CLAIM_DONE && !run->config->lock) {
		status = replay(run, "DUPLICATE", CLI_OK);
	} else if (code == CLAIM_FAILED && !run->config->lock) {
		status = replay(run, "BURNED", CLI_NO);
	} else if (code < 0) {
		struct slice msg = reply_field(run->reply, "msg");
		struct errbuf why;
		err_set(&why, "%.*s", (int)msg.len, msg.data ? msg.data : "");
		cli_say_error(code, run->link.path, why.text);
		report_word(&run->report, "ERR");
		status = cli_exit_code(VERB_CLAIM, code);
		report_number(&run->report, "exit", status);
		return status;
	} else {
		say_no(run, code);
		/* A lock on a key that is settled is somebody's mistake, never an answer that permits to go on. */
		status = code == CLAIM_DONE || code == CLAIM_FAILED ? CLI_HELD : cli_exit_code(VERB_CLAIM, code);
		report_word(&run->report, code > CLAIM_WON && code <= CLAIM_UNKNOWN ? words[code] : "ERR");
		report_number(&run->report, "exit", status);
	}
	if (fence > 0)
		report_number(&run->report, "fence", fence);
	return status;
}

static int no_answer(struct run *run)
{
	int code = run->ask.tried ? CLAIM_E_UNCERTAIN : CLAIM_E_UNREACHABLE;
	struct errbuf why;
	enum err refused = run->link.client.refused;
	int status = CLI_UNREACHABLE;
	if (refused != ERR_NONE) {
		code = error_from_hello(refused);
		status = cli_exit_code(VERB_CLAIM, code);
	}
	if (run->stop_signal != 0) {
		status = 128 + run->stop_signal;
		report_word(&run->report, "STOPPED");
		if (run->ask.tried)
			cli_say(
			    "stopped without an answer: if the key was won meanwhile, it is held until its lease ends");
	} else {
		if (refused != ERR_NONE)
			err_set(&why, "%s", run->link.why.text);
		else if (link_fd(&run->link) >= 0)
			err_set(&why, "no answer from %s", run->link.path);
		else
			err_set(&why, "cannot reach %s: %s", run->link.path, run->link.why.text);
		cli_say_error(code, run->link.path, why.text);
		cli_say("the command was not started");
		report_word(&run->report, "ERR");
	}
	report_number(&run->report, "exit", status);
	return status;
}

/* ---- the way through ---- */

static bool won(struct run *run)
{
	struct slice was = reply_field(run->reply, "was");
	run->fence = reply_integer(run->reply, "fence", 0);
	run->attempts = reply_integer(run->reply, "attempts", 1);
	memcpy(run->was, was.data ? was.data : "", was.len < sizeof(run->was) ? was.len : 0);
	lease_won(&run->lease, run->ask.sent_ms, run->config->lease_ms, run->config->hold_ms,
		  run->config->kill_after_ms);
	/* A repeated question that was won by its first copy: less may be left than was asked for. */
	int64_t left_ms = reply_integer(run->reply, "lease_ms", run->config->lease_ms);
	if (left_ms < run->config->lease_ms)
		run->lease.until_ms = run->ask.sent_ms + left_ms;
	return run->fence > 0;
}

/* After a wait nobody here knows how long ago the win was. A renewal says what is left, counted from when it was sent.
 * CLI_OK, or what to exit with. */
static int confirm(struct run *run)
{
	char line[PROTO_MAX_LINE];
	struct writer w;
	int64_t until = link_now_ms() + RUN_ANSWER_MS;
	writer_init(&w, line, sizeof(line));
	run_request(run, &w, VERB_RENEW);
	request_duration(&w, OPT_LEASE, run->config->lease_ms);
	bool answered = false;
	if (run_ask(run, &w, SLICE_ABSENT)) {
		while (!(answered = run_pump(run)) && run->stop_signal == 0 && link_now_ms() < until)
			run_wait(run, until);
	}
	if (answered && run->ask_code == CLAIM_OK) {
		lease_won(&run->lease, run->ask.sent_ms, run->config->lease_ms, run->config->hold_ms,
			  run->config->kill_after_ms);
		return CLI_OK;
	}
	if (run->stop_signal != 0)
		return 128 + run->stop_signal;
	cli_say("the key was won after a wait, but what is left of its lease could not be confirmed: not started");
	return CLI_UNREACHABLE;
}

static int claim_and_run(struct run *run)
{
	if (!claim_ask(run))
		return no_answer(run);
	if (run->ask_code != CLAIM_WON)
		return not_won(run);
	if (!won(run)) {
		cli_say("the daemon answered WON without a fence. Not run");
		return CLI_UNREACHABLE;
	}
	/* A stop is looked at in run_start, at the last moment: that is the one place. */
	int status = run->config->wait_ms > 0 ? confirm(run) : CLI_OK;
	if (status == CLI_OK && run->config->max_attempts > 0 && run->attempts > run->config->max_attempts)
		return run_burn(run);
	if (status == CLI_OK)
		status = run_start(run);
	if (status == CLI_OK) {
		run_watch(run);
		return run_settle(run);
	}
	run_give_back(run);
	report_word(&run->report, run->stop_signal != 0 ? "STOPPED" : "ERR");
	report_number(&run->report, "exit", status);
	return status;
}

/* CLAIMD_DISABLED=1: no daemon, no claim, the command itself. */
static int run_unguarded(struct run *run, const struct args *args)
{
	cli_say("CLAIMD_DISABLED=1: NOTHING IS CLAIMED, the command runs unguarded");
	memcpy(run->was, "new", sizeof("new"));
	run->attempts = 1;
	run_environment(run);
	if (run->config->stdin_fd >= 0)
		dup2(run->config->stdin_fd, STDIN_FILENO);
	execvp(args->command[0], args->command);
	cli_say("%s: %s", args->command[0], strerror(errno));
	return errno == ENOENT ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE;
}

/* The connection, the token and the report. CLI_OK, or what to exit with. */
static int run_open(struct run *run, const struct cli *cli, const struct args *args)
{
	char path[4096];
	struct errbuf err;
	struct slice where = slice_from(cli->socket ? cli->socket : link_default_path(path, sizeof(path)) ? path : "");
	if (where.len == 0 || where.len >= sizeof(run->link.path)) {
		cli_say("the socket's path is too long: it has at most 107 octets");
		return CLI_USAGE;
	}
	if (!link_init(&run->link, where, SLICE_OF("claim/1"), slice_from(cli->ns)) || !link_token(run->token)) {
		cli_say("no memory, or no random numbers");
		return CLI_UNREACHABLE;
	}
	if (!report_open(&run->report, args->text[ARG_REPORT], cli->json, &err)) {
		cli_say("%s", err.text);
		return CLI_USAGE;
	}
	return CLI_OK;
}

static int run_all(struct run *run)
{
	struct errbuf err;
	if (!run_signals_open(run, &err)) {
		cli_say("%s", err.text);
		return CLI_UNREACHABLE;
	}
	int status = claim_and_run(run);
	if (run->interrupted) /* it is for the end, when all else is done */
		signal(SIGINT, SIG_IGN);
	run_signals_close(run);
	tee_flush(&run->tee);
	if (run->tee.out_errno)
		cli_say("cannot write to standard output: %s", strerror(run->tee.out_errno));
	return status;
}

int cli_run(struct cli *cli, const struct args *args)
{
	struct run_config config;
	struct run run = {.report.fd = -1, .signal_fd = -1, .timer_fd = -1, .config = &config, .link.fd = -1};
	char owner[129], fp[65];
	const char *disabled = getenv("CLAIMD_DISABLED");
	run.tee.in = run.tee.write_end = run.child.gate = run.child.error_fd = run.child.tty = -1;
	if (disabled && *disabled && strcmp(disabled, "0") != 0 && strcmp(disabled, "1") != 0) {
		cli_say("CLAIMD_DISABLED is \"%.20s\": it may be 1, 0 or empty", disabled);
		return CLI_CONFIG;
	}
	if (!config_read(&config, args, owner, sizeof(owner)) || !config_fp(&config, args, fp))
		return CLI_USAGE;
	int status = run_open(&run, cli, args);
	if (status == CLI_OK)
		status = disabled && strcmp(disabled, "1") == 0 ? run_unguarded(&run, args) : run_all(&run);
	report_write(&run.report);
	child_release(&run.child);
	tee_release(&run.tee);
	call_release(&run.ask);
	call_release(&run.renew);
	link_release(&run.link);
	if (run.interrupted) {
		signal(SIGINT, SIG_DFL);
		raise(SIGINT);
	}
	return status;
}
