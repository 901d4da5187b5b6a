/*
 * run_watch.c - starts the command and stays with it. See run.h.
 *
 * Happy path: fork, the gate opens, the lease is renewed each third of it, SIGCHLD. Failure modes: a stop was asked
 * for before the gate opens (nothing runs), the lease is lost or the time is up (TERM, then KILL, the KILL always
 * before the store's lease ends), the command stops (so do we, and with us the shell's job).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../proto/sha256.h"
#include "run.h"

/* ---- start ---- */

static void env_text(const char *name, struct slice value)
{
	char text[PROTO_MAX_KEY + 1];
	struct writer w;
	writer_init(&w, text, sizeof(text));
	writer_slice(&w, value);
	writer_char(&w, '\0');
	if (!w.full)
		setenv(name, text, 1);
}

static void env_number(const char *name, int64_t n)
{
	char text[24];
	snprintf(text, sizeof(text), "%lld", (long long)n);
	setenv(name, text, 1);
}

/* A header or a URL must be able to carry it. */
static void env_idempotency_key(struct slice key)
{
	char hex[65];
	bool plain = key.len <= 255;
	for (size_t i = 0; i < key.len; i++)
		plain = plain && key.data[i] > 0x20 && key.data[i] < 0x7f;
	sha256_hex(key, hex);
	env_text("IDEMPOTENCY_KEY", plain ? key : slice_from(hex));
}

void run_environment(const struct run *run)
{
	env_text("CLAIM_KEY", run->config->key);
	env_number("CLAIM_FENCE", run->fence);
	env_text("CLAIM_TOKEN", slice_from(run->held ? run->token : ""));
	env_text("CLAIM_OWNER", run->config->owner);
	env_number("CLAIM_ATTEMPT", run->attempts);
	env_text("CLAIM_WAS", slice_from(run->was));
	env_number("CLAIM_LEASE_MS", run->config->lease_ms);
	env_text("CLAIMD_SOCKET", slice_from(run->link.path));
	env_idempotency_key(run->config->key);
}

/* Never more than the daemon would keep: with the first line it must fit. */
static size_t save_limit(const struct run *run)
{
	int64_t most = run->link.client.max_body - 32;
	return (size_t)(run->config->save_limit < most ? run->config->save_limit : most > 0 ? most : 0);
}

int run_spawn(struct run *run, const struct child_spec *spec, bool want_tty)
{
	struct errbuf err;
	if (!child_fork(&run->child, spec, &err)) {
		cli_say("%s", err.text);
		return CLI_NOT_EXECUTABLE;
	}
	/* The last look: from here on a signal goes to the process. */
	run_pump(run);
	int status = CLI_OK;
	if (run->stop_signal != 0) {
		status = 128 + run->stop_signal;
	} else if (run->lost || run->cut) {
		cli_say("the claim was lost before the command was started: not started");
		status = CLI_UNREACHABLE;
	} else if (link_now_ms() >= lease_term_at(&run->lease)) {
		cli_say("the claim took so long that its lease of %lld ms is nearly over: not started",
			(long long)run->lease.lease_ms);
		status = CLI_UNREACHABLE;
	}
	if (status != CLI_OK) {
		child_cancel(&run->child);
		return status;
	}
	child_go(&run->child, want_tty);
	run->forwarding = true;
	return CLI_OK;
}

int run_start(struct run *run)
{
	const struct run_config *config = run->config;
	struct errbuf err;
	if (config->save_limit > 0 && !tee_open(&run->tee, save_limit(run), &err)) {
		cli_say("%s", err.text);
		return CLI_NOT_EXECUTABLE;
	}
	run_environment(run);
	struct child_spec spec = {config->command, config->stdin_fd, run->tee.write_end, &run->mask_before,
				  &run->pipe_before};
	int status = run_spawn(run, &spec, isatty(STDIN_FILENO) && isatty(STDOUT_FILENO));
	tee_started(&run->tee);
	for (int i = 0; i < 2 && status == CLI_OK; i++)
		if (run->waiting[i])
			child_signal(&run->child, i == 0 ? SIGUSR1 : SIGUSR2);
	return status;
}

/* ---- stay ---- */

static void renew(struct run *run, int64_t now_ms)
{
	char line[PROTO_MAX_LINE];
	struct writer w;
	int64_t lease_ms = run->renewing || run->lost || run->cut ? 0 : lease_wanted(&run->lease, now_ms);
	if (lease_ms <= 0)
		return;
	writer_init(&w, line, sizeof(line));
	run_request(run, &w, VERB_RENEW);
	request_duration(&w, OPT_LEASE, lease_ms);
	/* After the daemon was restarted it is for this connection again. */
	request_flag(&w, OPT_NOTIFY);
	if (w.full || !call_init(&run->renew, writer_done(&w), SLICE_ABSENT)) {
		lease_again(&run->lease, now_ms, 1000);
		return;
	}
	run->renewing = true;
	client_ask(&run->link.client, &run->renew);
}

/* Tells the command to end, for the first reason there is. */
static void end_for(struct run *run, enum run_cause cause, int64_t now_ms)
{
	if (run->cause != RUN_BY_ITSELF)
		return;
	run->cause = cause;
	run->kill_at_ms = now_ms + run->config->kill_after_ms;
	if (cause == RUN_LOST && run->cut)
		err_set(&run->lost_why, "the connection was cut, and with --drop the claim goes with it");
	else if (cause == RUN_LOST && !run->lost)
		err_set(&run->lost_why, "it could not be renewed in time: %s",
			run->link.fd < 0 && run->link.why.text[0]  ? run->link.why.text
			: lease_renew_at(&run->lease) == INT64_MAX ? "it has been held as long as it may"
								   : "no answer");
	if (cause == RUN_LOST)
		cli_say("the lease is lost (%s): ending the command", run->lost_why.text);
	else
		cli_say("the command took longer than --timeout: ending it");
	child_signal(&run->child, SIGTERM);
	child_signal(&run->child, SIGCONT);
}

/* However long --kill-after is: gone before the store gives the key to somebody else. When our connection was cut
 * under drop=release it may have done so already. */
static int64_t kill_at(const struct run *run)
{
	if (run->cut && run->config->drop == CHOICE_DROP_RELEASE)
		return INT64_MIN;
	int64_t at = lease_kill_at(&run->lease);
	return run->kill_at_ms < at ? run->kill_at_ms : at;
}

/* Must the command end, and how hard? */
static void judge(struct run *run, int64_t now_ms, int64_t timeout_at_ms)
{
	if (run->lost || run->cut || now_ms >= lease_term_at(&run->lease))
		end_for(run, RUN_LOST, now_ms);
	if (now_ms >= timeout_at_ms)
		end_for(run, RUN_TIMEOUT, now_ms);
	if (run->cause != RUN_BY_ITSELF && now_ms >= kill_at(run) && !run->killed) {
		child_signal(&run->child, SIGKILL);
		run->killed = true;
	}
}

/* When judge and renew want to be called again. */
static int64_t next_look(const struct run *run, int64_t timeout_at_ms)
{
	int64_t due = lease_term_at(&run->lease);
	if (run->killed)
		due = INT64_MAX;
	else if (run->cause != RUN_BY_ITSELF)
		due = kill_at(run);
	else if (timeout_at_ms < due)
		due = timeout_at_ms;
	if (!run->renewing && !run->lost && !run->cut && lease_renew_at(&run->lease) < due)
		due = lease_renew_at(&run->lease);
	return due;
}

/* The command stands still. */
static void stopped(struct run *run)
{
	struct child *child = &run->child;
	int signo = child->stop_signal;
	bool wants_tty = signo == SIGTTIN || signo == SIGTTOU;
	/* It is told of once; whoever stopped it with SIGSTOP will continue it. */
	child->stop_signal = 0;
	if (wants_tty && child_tty_is_ours(child)) {
		run->resume = true;
	} else if (child->has_tty || signo == SIGTSTP || wants_tty) {
		/* Where nobody could continue us, the command cannot be left standing; the kernel ends such a one, too. */
		if (!child_stop_with(child) && wants_tty)
			child_signal(child, SIGHUP);
		run->resume = true;
	}
}

/*
 * ^C in a terminal is for the whole job: had we not given it away, the script around us would have got it too. A shell takes it
 * seriously only when we die of it as well, so cli_run does that at the very end.
 */
static void pass_on_interrupt(struct run *run)
{
	const struct child *child = &run->child;
	run->interrupted = child->has_tty && run->stop_signal == 0 && run->cause == RUN_BY_ITSELF &&
			   WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGINT;
	child_take_tty(&run->child);
	if (run->interrupted)
		kill(0, SIGINT);
}

void run_watch(struct run *run)
{
	int64_t timeout_at = run->config->timeout_ms > 0 ? link_now_ms() + run->config->timeout_ms : INT64_MAX;
	for (;;) {
		run_pump(run);
		if (run->child.exited)
			break;
		int64_t now = link_now_ms();
		judge(run, now, timeout_at);
		if (run->child.stop_signal != 0 && run->cause == RUN_BY_ITSELF) {
			/* We may have slept: look at everything again before it goes on. */
			stopped(run);
			continue;
		}
		if (run->resume && run->cause == RUN_BY_ITSELF)
			child_resume(&run->child);
		run->resume = false;
		renew(run, now);
		run_wait(run, next_look(run, timeout_at));
	}
	run->forwarding = false;
	pass_on_interrupt(run);
	tee_finish(&run->tee);
}
