/*
 * cli_watch.c - `claim watch`: a line for each change that the daemon makes, until somebody ends it. Called by cli.c.
 *
 * Happy path: WATCH, its OK, then events as they come. While the reader of our output does not read we do not read
 * either; the daemon does not wait for us and says how much we MISSED. Failure modes: nobody there at first (said,
 * 69), a refusal, the connection is lost later (said; asked again until it is there, and said again: what happened
 * in between nobody saw), the reader of our output goes away or a signal comes (the end, 0).
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli_ask.h"
#include "cli_json.h"
#include "cli_show.h"
#include "error.h"
#include "link.h"

#define BATCH ((size_t)32768)
#define PIECE ((size_t)4096) /* a pipe with room takes so much without blocking */

struct watch {
	const struct cli *cli;
	const struct args *args;
	struct link link;
	struct call call;
	bool asking;   /* `call` is out */
	bool watching; /* it was answered, on the connection of now */
	bool lost;     /* it was, and that connection is gone */
	int64_t give_up_ms;
	int signal_fd;
	char *text; /* what is to be printed; from open_memstream */
	size_t len, at;
	bool over;
	int status;
};

static void end(struct watch *watch, int status)
{
	watch->over = true;
	watch->status = status;
}

static void fail(struct watch *watch, int code, const char *why)
{
	if (watch->cli->json)
		show_json_error(code, NULL, why);
	cli_say_error(code, watch->link.path, why);
	end(watch, cli_exit_code(VERB_WATCH, code));
}

/* ---- what comes ---- */

static void ask(struct watch *watch)
{
	char line[PROTO_MAX_LINE];
	struct writer w;
	call_release(&watch->call);
	writer_init(&w, line, sizeof(line));
	write_request(&w, watch->args);
	if (w.full || !call_init(&watch->call, writer_done(&w), SLICE_ABSENT)) {
		fail(watch, CLAIM_E_NOMEM, NULL);
		return;
	}
	watch->asking = true;
	client_ask(&watch->link.client, &watch->call);
}

static void answered(struct watch *watch, const struct reply *reply)
{
	int code = error_from_reply(reply);
	watch->asking = false;
	if (code == CLAIM_OK) {
		if (watch->lost)
			cli_say("watching again; what happened in between was not seen");
		watch->watching = true;
		watch->lost = false;
		return;
	}
	if (watch->cli->json)
		show_json(stdout, reply, NULL);
	struct slice msg = reply_field(reply, "msg");
	struct errbuf why;
	err_set(&why, "%.*s", (int)msg.len, msg.data ? msg.data : "");
	cli_say_error(code, watch->link.path, why.text);
	end(watch, cli_exit_code(VERB_WATCH, code));
}

static void broken(struct watch *watch)
{
	enum err refused = watch->link.client.refused;
	if (refused != ERR_NONE || (!watch->watching && !watch->lost))
		fail(watch, error_from_hello(refused), watch->link.why.text);
}

static void show_event(const struct watch *watch, FILE *out, const struct reply *event)
{
	if (watch->cli->json)
		show_json(out, event, NULL);
	else
		show_line(out, watch->cli->colour, event);
}

/* Everything that is here already, as long as it is not too much at once. */
static void take(struct watch *watch)
{
	if (watch->text)
		return;
	FILE *out = open_memstream(&watch->text, &watch->len);
	struct client_event event = {.kind = CLIENT_EVENT};
	while (out && !watch->over && watch->len < BATCH && event.kind != CLIENT_NOTHING) {
		event = link_next(&watch->link);
		if (event.kind == CLIENT_EVENT)
			show_event(watch, out, event.reply);
		else if (event.kind == CLIENT_REPLY)
			answered(watch, event.reply);
		else if (event.kind == CLIENT_BROKEN)
			broken(watch);
		fflush(out);
	}
	if (!out || fclose(out) != 0)
		fail(watch, CLAIM_E_NOMEM, NULL);
	watch->at = 0;
	if (watch->len == 0) {
		free(watch->text);
		watch->text = NULL;
	}
}

/* The connection: there, lost, or not to be had. */
static void tend(struct watch *watch)
{
	struct link *link = &watch->link;
	int64_t now_ms = link_now_ms();
	if (!watch->text)
		link_process(link, now_ms);
	if (link_fd(link) >= 0 && (watch->watching || now_ms < watch->give_up_ms))
		return;
	if (!watch->watching && !watch->lost) {
		struct errbuf why;
		err_set(&why, "cannot reach %s: %s", link->path, link_fd(link) < 0 ? link->why.text : "no answer");
		if (now_ms >= watch->give_up_ms || (link->sys_errno != 0 && link->sys_errno != EAGAIN))
			fail(watch, CLAIM_E_UNREACHABLE, why.text);
		return;
	}
	if (watch->watching)
		cli_say("%s: changes are missed from here on, until the daemon is there again", link->why.text);
	watch->watching = false;
	watch->lost = true;
	if (!watch->asking)
		ask(watch);
}

/* ---- what goes ---- */

static void print(struct watch *watch)
{
	size_t rest = watch->len - watch->at;
	ssize_t n = write(STDOUT_FILENO, watch->text + watch->at, rest < PIECE ? rest : PIECE);
	if (n > 0)
		watch->at += (size_t)n;
	if (n < 0 && errno == EPIPE) {
		end(watch, CLI_OK);
	} else if (n < 0 && errno != EINTR && errno != EAGAIN) {
		cli_say("cannot write to standard output: %s", strerror(errno));
		end(watch, CLI_OUTPUT);
	}
	if (watch->at == watch->len) {
		free(watch->text);
		watch->text = NULL;
	}
}

static void wait_more(struct watch *watch)
{
	const struct link *link = &watch->link;
	struct pollfd fds[] = {{.fd = watch->signal_fd, .events = POLLIN},
			       {.fd = STDOUT_FILENO, .events = watch->text ? POLLOUT : 0},
			       {.fd = watch->text ? -1 : link_fd(link), .events = link_events(link)}};
	int64_t due = link_due(link), now_ms = link_now_ms();
	if (!watch->watching && !watch->lost && watch->give_up_ms < due)
		due = watch->give_up_ms;
	int wait_ms = due == INT64_MAX || watch->text ? -1 : due > now_ms ? (int)(due - now_ms) : 0;
	if (poll(fds, 3, wait_ms) < 0)
		return;
	/* The other end of a pipe is gone: nobody reads on, also where nothing more happens. */
	if (fds[0].revents || fds[1].revents & (POLLERR | POLLHUP | POLLNVAL))
		end(watch, CLI_OK);
	else if (fds[1].revents & POLLOUT)
		print(watch);
}

static bool signals_open(struct watch *watch)
{
	sigset_t mask;
	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	watch->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC);
	return watch->signal_fd >= 0 && sigprocmask(SIG_BLOCK, &mask, NULL) == 0 && signal(SIGPIPE, SIG_IGN) != SIG_ERR;
}

int cli_watch(struct cli *cli, const struct args *args)
{
	struct watch watch = {.cli = cli, .args = args, .signal_fd = -1, .link.fd = -1};
	char path[sizeof(watch.link.path)];
	if (!cli_socket_path(cli, path, sizeof(path)))
		return CLI_USAGE;
	if (!signals_open(&watch) ||
	    !link_init(&watch.link, slice_from(path), SLICE_OF("claim/1"), slice_from(cli->ns))) {
		cli_say("cannot start watching: %s", strerror(errno));
		return CLI_UNREACHABLE;
	}
	watch.give_up_ms = link_now_ms() + CLI_ANSWER_MS;
	ask(&watch);
	while (!watch.over) {
		take(&watch);
		if (!watch.over)
			tend(&watch);
		take(&watch);
		if (!watch.over)
			wait_more(&watch);
	}
	free(watch.text);
	call_release(&watch.call);
	link_release(&watch.link);
	close(watch.signal_fd);
	return watch.status;
}
