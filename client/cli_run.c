/*
 * cli_run.c - `claim run` and `claim lock`: the way from the options to the exit code. See run.h.
 *
 * Happy path: options, CLAIM, WON, run_start, run_watch, run_settle. Whatever else the daemon says, the command is
 * not started, and the exit code says why. Failure modes: no daemon or no store (after a moment of patience: 69), a
 * stop before the win (128 + the signal; a win that comes meanwhile is given back).
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

/* The command was not started. */
static int give_up(struct run *run, int status)
{
	run_give_back(run);
	report_word(&run->report, run->stop_signal != 0 ? "STOPPED" : "ERR");
	report_number(&run->report, "exit", status);
	return status;
}

/* Asks for the claim until it is won. False: *status is what to exit with, and all was said. */
static bool win(struct run *run, int *status)
{
	bool asked = false; /* --reconcile settles what nobody knows, once */
	for (;;) {
		if (!run_claim(run) || !run->reply) {
			*status = run_no_answer(run);
			return false;
		}
		if (run->ask_code == CLAIM_WON && run_won(run))
			return true;
		if (run->ask_code == CLAIM_WON) {
			cli_say("the daemon answered WON without a fence. Not run");
			*status = give_up(run, CLI_UNREACHABLE);
			return false;
		}
		if (run->ask_code != CLAIM_UNKNOWN || !run->config->reconcile || asked) {
			*status = run_not_won(run);
			return false;
		}
		asked = true;
		if (!run_reconcile_unknown(run, status))
			return false;
	}
}

/* Runs it under the claim, or without one. */
static int work(struct run *run)
{
	int status = run_start(run);
	if (status != CLI_OK)
		return give_up(run, status);
	run_watch(run);
	return run_settle(run);
}

static int claim_and_run(struct run *run)
{
	const struct run_config *config = run->config;
	int status;
	if (!win(run, &status))
		return status;
	if (!run->held)
		cli_say("THE STORE IS DOWN, NOTHING IS CLAIMED: the daemon has the command run unguarded. Others may "
			"run it too");
	/* A stop is looked at in run_spawn, at the last moment: that is the one place. */
	if (run->held && config->wait_ms > 0) {
		status = run_confirm(run);
		if (status != CLI_OK)
			return give_up(run, status);
	}
	if (run->unsure && !run_reconcile_lapsed(run, &status))
		return status;
	if (config->max_attempts > 0 && run->attempts > config->max_attempts)
		return run_burn(run);
	return work(run);
}

/* CLAIMD_DISABLED=1: no daemon, no claim, the command itself. */
static int run_disabled(struct run *run)
{
	cli_say("CLAIMD_DISABLED=1: NOTHING IS CLAIMED, the command runs unguarded");
	memcpy(run->was, "new", sizeof("new"));
	run->attempts = 1;
	lease_none(&run->lease);
	return work(run);
}

/* Where it is told what happened. False: it was said what is wrong. */
static bool open_report(struct run *run, const struct cli *cli, const struct args *args)
{
	struct errbuf err;
	bool good;
	if (arg_given(args, ARG_REPORT) && arg_given(args, ARG_STATUS_FD)) {
		cli_say("--report and --status-fd at once");
		return false;
	}
	if (arg_given(args, ARG_STATUS_FD))
		good = report_open_fd(&run->report, args->number[ARG_STATUS_FD], cli->json, &err);
	else
		good = report_open(&run->report, args->text[ARG_REPORT], cli->json, &err);
	if (!good)
		cli_say("%s", err.text);
	return good;
}

/* The connection and the token. CLI_OK, or what to exit with. */
static int open_link(struct run *run, const struct cli *cli)
{
	char path[sizeof(run->link.path)];
	if (!cli_socket_path(cli, path, sizeof(path)))
		return CLI_USAGE;
	if (!link_init(&run->link, slice_from(path), SLICE_OF("claim/1"), slice_from(cli->ns)) ||
	    (run->config->drop == CHOICE_DROP_KEEP && !link_token(run->token))) {
		cli_say("no memory, or no random numbers");
		return CLI_UNREACHABLE;
	}
	return CLI_OK;
}

static int run_all(struct run *run, bool disabled)
{
	struct errbuf err;
	if (!run_signals_open(run, &err)) {
		cli_say("%s", err.text);
		return CLI_UNREACHABLE;
	}
	int status = disabled ? run_disabled(run) : claim_and_run(run);
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
	const char *disabled = getenv("CLAIMD_DISABLED");
	run.tee.in = run.tee.write_end = run.child.gate = run.child.error_fd = run.child.tty = -1;
	if (disabled && *disabled && strcmp(disabled, "0") != 0 && strcmp(disabled, "1") != 0) {
		cli_say("CLAIMD_DISABLED is \"%.20s\": it may be 1, 0 or empty", disabled);
		return CLI_CONFIG;
	}
	/* The report first: its descriptor must not be one that we have opened ourselves. */
	if (!open_report(&run, cli, args) || !run_config_read(&config, cli, args))
		return CLI_USAGE;
	int status = open_link(&run, cli);
	if (status == CLI_OK)
		status = run_all(&run, disabled && strcmp(disabled, "1") == 0);
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
