/*
 * run_wait.c - waiting: signals, daemon, output and time at once. See run.h.
 *
 * All signals that matter are blocked and read from a descriptor, so that there is no moment, before or after fork,
 * in which one is lost. Time is a timer on the clock that goes on while the machine sleeps: after a night with the
 * lid closed the lease is over at once.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "error.h"
#include "run.h"

/* ---- signals ---- */

bool run_signals_open(struct run *run, struct errbuf *err)
{
	static const int taken[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP};
	struct sigaction action, plain = {.sa_handler = SIG_DFL}, ignore = {.sa_handler = SIG_IGN};
	sigset_t mask;
	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		/* What our caller ignores (nohup) stays ignored, by us and by the command. */
		if (sigaction(taken[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(&mask, taken[i]);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGCONT);
	run->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	run->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	/* Not read: blocked only, so that we may take the terminal back from the background. */
	sigaddset(&mask, SIGTTOU);
	if (run->signal_fd < 0 || run->timer_fd < 0 || sigprocmask(SIG_BLOCK, &mask, &run->mask_before) != 0) {
		err_set(err, "cannot wait for signals: %s", strerror(errno));
		return false;
	}
	/* A caller that ignores SIGCHLD would have the kernel throw away how the command ended. */
	sigaction(SIGCHLD, &plain, NULL);
	sigaction(SIGPIPE, &ignore, &run->pipe_before);
	return true;
}

void run_signals_close(struct run *run)
{
	if (run->signal_fd >= 0)
		close(run->signal_fd);
	if (run->timer_fd >= 0)
		close(run->timer_fd);
	run->signal_fd = run->timer_fd = -1;
	sigprocmask(SIG_SETMASK, &run->mask_before, NULL);
}

/* Before the command is there, and after it has ended, a stop is kept in mind and USR1 and USR2 wait for it.
 * --reconcile gets the stop only. */
static void take_signal(struct run *run, int signo)
{
	switch (signo) {
	case SIGCHLD:
		child_reap(&run->child);
		return;
	case SIGCONT:
		run->resume = run->forwarding;
		return;
	case SIGTSTP:
		if (run->forwarding)
			child_signal(&run->child, SIGTSTP);
		else
			child_stop_with(&run->child);
		return;
	case SIGUSR1:
	case SIGUSR2:
		if (!run->forwarding || run->reconciling) {
			run->waiting[signo == SIGUSR2] = true;
			return;
		}
		break;
	default:
		if (run->stop_signal == 0)
			run->stop_signal = signo;
		break;
	}
	if (run->forwarding)
		child_signal(&run->child, signo);
}

static void take_signals(struct run *run)
{
	struct signalfd_siginfo info;
	while (read(run->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		take_signal(run, (int)info.ssi_signo);
}

/* ---- calls ---- */

void run_request(const struct run *run, struct writer *w, enum verb verb)
{
	request_begin(w, verb, run->config->key);
	request_integer(w, OPT_FENCE, run->fence);
	if (run->token[0])
		request_bytes(w, OPT_TOKEN, slice_from(run->token));
}

bool run_ask(struct run *run, const struct writer *line, struct slice body)
{
	if (run->asking)
		link_forget(&run->link, &run->ask);
	call_release(&run->ask);
	run->asking = !line->full && call_init(&run->ask, writer_done(line), body);
	if (run->asking)
		client_ask(&run->link.client, &run->ask);
	else
		err_set(&run->link.why, "no memory");
	return run->asking;
}

static void renew_answered(struct run *run, const struct client_event *event, int code)
{
	run->renewing = false;
	if (code == CLAIM_OK) {
		lease_renewed(&run->lease, run->renew.sent_ms,
			      reply_integer(event->reply, "left_ms", run->lease.lease_ms));
	} else if (code == CLAIM_STALE || code == CLAIM_NOTFOUND) {
		struct slice state = reply_field(event->reply, "state");
		run->lost = true;
		err_set(&run->lost_why, "the daemon refused to renew it: it is %.*s with fence %lld now",
			(int)(state.data ? state.len : 4), state.data ? state.data : "gone",
			(long long)reply_integer(event->reply, "fence", 0));
	} else {
		int64_t after_ms = event->kind == CLIENT_REPLY ? reply_integer(event->reply, "after_ms", 0) : 0;
		lease_again(&run->lease, link_now_ms(), after_ms);
	}
	call_release(&run->renew);
}

/* "* LOST": somebody else has the key, or settled it. What was lost before by other means was told before. */
static void take_event(struct run *run, const struct reply *reply)
{
	if (!slice_equal(reply->word, SLICE_OF("LOST")) || run->lost || run->fence == 0 ||
	    reply_integer(reply, "fence", 0) != run->fence || !slice_equal(reply_field(reply, "key"), run->config->key))
		return;
	struct slice cause = reply_field(reply, "cause");
	run->lost = true;
	err_set(&run->lost_why, "the daemon says so: %.*s", (int)cause.len, cause.data ? cause.data : "");
}

/* A claim that is bound to its connection ends with it, and on the next one nothing could be told from before. */
static void look_for_cut(struct run *run)
{
	if (run->bound && link_fd(&run->link) < 0)
		run->cut = true;
}

/* What the daemon said. True: the answer to the question. */
static bool take_events(struct run *run)
{
	for (;;) {
		struct client_event event = link_next(&run->link);
		if (event.kind == CLIENT_NOTHING)
			return false;
		if (event.kind == CLIENT_EVENT)
			take_event(run, event.reply);
		int code = event.kind == CLIENT_REPLY ? error_from_reply(event.reply) : CLAIM_E_UNCERTAIN;
		/* Ours have one line; a list is no answer to them, and its rest is not waited for. */
		if (event.kind == CLIENT_REPLY && !event.last) {
			link_forget(&run->link, event.call);
			code = CLAIM_OTHER;
		}
		if (event.call == &run->renew && run->renewing)
			renew_answered(run, &event, code);
		if (event.call != &run->ask || !run->asking)
			continue;
		run->asking = false;
		run->reply = event.kind == CLIENT_REPLY ? event.reply : NULL;
		run->ask_code = code;
		return true;
	}
}

bool run_pump(struct run *run)
{
	run->reply = NULL;
	take_signals(run);
	/* First what has come: link_process may find the end of the connection, and what was not taken is lost with it. */
	bool answered = take_events(run);
	look_for_cut(run);
	if (answered)
		return true;
	link_process(&run->link, link_now_ms());
	answered = take_events(run);
	look_for_cut(run);
	return answered;
}

void run_wait(struct run *run, int64_t due_ms)
{
	int64_t due = link_due(&run->link) < due_ms ? link_due(&run->link) : due_ms;
	struct itimerspec at = {0};
	uint64_t times;
	struct pollfd fds[5] = {{.fd = run->signal_fd, .events = POLLIN}, {.fd = run->timer_fd, .events = POLLIN}};
	fds[2] = (struct pollfd){.fd = link_fd(&run->link), .events = link_events(&run->link)};
	tee_poll(&run->tee, &fds[3]);
	if (due < 1)
		due = 1; /* 0 would switch the timer off */
	if (due != INT64_MAX) {
		at.it_value.tv_sec = (time_t)(due / 1000);
		at.it_value.tv_nsec = (long)(due % 1000) * 1000000;
	}
	timerfd_settime(run->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
	if (poll(fds, 5, -1) <= 0)
		return;
	if (read(run->timer_fd, &times, sizeof(times)) < 0)
		times = 0;
	tee_process(&run->tee, &fds[3]);
}
