/*
 * cli_top.c - `claim top`: a look at what is held that goes on. Called by cli.c.
 *
 * Happy path: round after round asks STATUS, then LIST for the unknown, the lapsed and the live, page by page, and
 * draws what it has; each second, but never more than a fifth of the time, so that a store with a million records is
 * not busy with us. Without a terminal one round is printed. Failure modes: nobody there at first (said, 69), the
 * connection is lost later (shown, and made again), the terminal goes away (the end).
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "../proto/mem.h"
#include "cli_json.h"
#include "cli_screen.h"
#include "error.h"
#include "link.h"
#include "top_draw.h"

#define ROUND_MS 1000
#define PAGE 1000
#define REST 4 /* after an answer, times what it took */

enum step { STEP_STATUS, STEP_UNKNOWN, STEP_LAPSED, STEP_LIVE, STEP_DONE };

struct top {
	const struct cli *cli;
	const struct args *args;
	struct link link;
	struct call call;
	bool asking;
	enum step step;
	int64_t round_ms, due_ms; /* when the round began; when the next question is asked */
	char cursor[PROTO_MAX_LINE];
	size_t cursor_len;
	bool collected; /* there was a whole round */

	struct top_daemon daemon;
	cJSON *status_json;         /* for --json: what it was made of */
	struct top_rows rows, next; /* shown; being collected */
	struct errbuf trouble;

	bool live; /* on a screen */
	struct screen screen;
	size_t skip;
	bool stale; /* must be drawn */
	int signal_fd;
	bool over;
	int status;
};

static void end(struct top *top, int status)
{
	top->over = true;
	top->status = status;
}

/* ---- asking ---- */

static enum top_kind kind_of(enum step step)
{
	return step == STEP_UNKNOWN ? TOP_UNKNOWN : step == STEP_LAPSED ? TOP_LAPSED : TOP_LIVE;
}

static void write_list(struct writer *w, const struct top *top)
{
	static const enum choice state[] = {CHOICE_STATE_UNKNOWN, CHOICE_STATE_LAPSED, CHOICE_STATE_LIVE};
	size_t have = top->next.of_kind[kind_of(top->step)];
	request_begin(w, VERB_LIST, SLICE_ABSENT);
	request_choice(w, state[kind_of(top->step)]);
	request_bytes(w, OPT_PREFIX, slice_from(top->args->text[ARG_PREFIX]));
	request_integer(w, OPT_LIMIT, TOP_ROWS_MAX - have < PAGE ? (int64_t)(TOP_ROWS_MAX - have) : PAGE);
	if (top->cursor_len > 0)
		request_bytes(w, OPT_CURSOR, (struct slice){top->cursor, top->cursor_len});
}

static void ask(struct top *top, int64_t now_ms)
{
	char line[2 * PROTO_MAX_LINE];
	struct writer w;
	writer_init(&w, line, sizeof(line));
	if (top->step == STEP_STATUS) {
		top->round_ms = now_ms;
		request_begin(&w, VERB_STATUS, SLICE_ABSENT);
	} else {
		write_list(&w, top);
	}
	call_release(&top->call);
	top->asking = !w.full && call_init(&top->call, writer_done(&w), SLICE_ABSENT);
	if (top->asking)
		client_ask(&top->link.client, &top->call);
	else
		top->due_ms = now_ms + ROUND_MS;
}

static void round_restart(struct top *top, int64_t due_ms)
{
	top_rows_release(&top->next);
	top->step = STEP_STATUS;
	top->cursor_len = 0;
	top->due_ms = due_ms;
}

static void round_end(struct top *top)
{
	top_rows_finish(&top->next, &top->rows);
	top_rows_release(&top->rows);
	top->rows = top->next;
	top->next = (struct top_rows){0};
	top->trouble.text[0] = '\0';
	top->collected = top->stale = true;
	int64_t due_ms = top->round_ms + ROUND_MS;
	round_restart(top, due_ms > top->due_ms ? due_ms : top->due_ms);
}

/* The last line of an answer: where to go on. */
static void step_on(struct top *top, const struct reply *reply, int64_t now_ms)
{
	struct slice cursor = reply_field(reply, "cursor");
	size_t have = top->step == STEP_STATUS ? 0 : top->next.of_kind[kind_of(top->step)];
	top->cursor_len = 0;
	if (cursor.data && cursor.len <= sizeof(top->cursor) && have < TOP_ROWS_MAX) {
		memcpy(top->cursor, cursor.data, cursor.len);
		top->cursor_len = cursor.len;
	} else {
		if (top->step != STEP_STATUS)
			top->next.more[kind_of(top->step)] = cursor.data || have >= TOP_ROWS_MAX;
		top->step++;
	}
	top->due_ms = now_ms + (top->live ? REST * (now_ms - top->call.sent_ms) : 0);
	if (top->step == STEP_DONE)
		round_end(top);
}

/* ---- answers ---- */

static void fail(struct top *top, int code, const char *why)
{
	screen_close(&top->screen);
	if (top->cli->json)
		show_json_error(code, NULL, why);
	cli_say_error(code, top->link.path, why);
	end(top, cli_exit_code(VERB_STATUS, code));
}

static void refused(struct top *top, const struct reply *reply, int64_t now_ms)
{
	struct slice msg = reply_field(reply, "msg");
	err_set(&top->trouble, "%.*s: %.*s", (int)reply->err_name.len, reply->err_name.data, (int)msg.len,
		msg.data ? msg.data : "");
	top->stale = true;
	if (top->live)
		round_restart(top, now_ms + ROUND_MS);
	else
		fail(top, error_from_reply(reply), top->trouble.text);
}

static void take_reply(struct top *top, const struct client_event *event, int64_t now_ms)
{
	const struct reply *reply = event->reply;
	if (event->last)
		top->asking = false;
	if (reply->code == WORD_ITEM && top->step != STEP_STATUS) {
		if (!top_rows_add(&top->next, kind_of(top->step), reply, now_ms))
			err_set(&top->trouble, "no memory: claims are left out");
	} else if (reply->code == WORD_STATUS && top->step == STEP_STATUS) {
		top_daemon_read(&top->daemon, reply, now_ms);
		if (top->cli->json) {
			cJSON_Delete(top->status_json);
			json_put_reply(top->status_json = cJSON_CreateObject(), reply);
		}
		step_on(top, reply, now_ms);
	} else if (reply->code == WORD_END && top->step != STEP_STATUS) {
		step_on(top, reply, now_ms);
	} else {
		refused(top, reply, now_ms);
	}
}

static void take(struct top *top)
{
	struct client_event event = {.kind = CLIENT_REPLY};
	int64_t now_ms = link_now_ms();
	while (!top->over && event.kind != CLIENT_NOTHING) {
		event = link_next(&top->link);
		if (event.kind == CLIENT_REPLY) {
			take_reply(top, &event, now_ms);
		} else if (event.kind == CLIENT_CUT) { /* in the middle of a page */
			top->asking = false;
			round_restart(top, now_ms);
		} else if (event.kind == CLIENT_BROKEN && (!top->collected || top->link.client.refused != ERR_NONE)) {
			fail(top, error_from_hello(top->link.client.refused), top->link.why.text);
		}
	}
}

static void tend(struct top *top)
{
	struct link *link = &top->link;
	int64_t now_ms = link_now_ms();
	if (!top->asking && now_ms >= top->due_ms)
		ask(top, now_ms);
	link_process(link, now_ms);
	if (link_fd(link) >= 0 || !link->why.text[0])
		return;
	struct errbuf why;
	err_set(&why, "cannot reach %s: %s", link->path, link->why.text);
	if (!top->collected && link->sys_errno != 0 && link->sys_errno != EAGAIN) {
		fail(top, CLAIM_E_UNREACHABLE, why.text);
	} else if (strcmp(why.text, top->trouble.text) != 0) {
		top->trouble = why;
		top->stale = true;
	}
}

/* ---- showing ---- */

static void draw(struct top *top)
{
	struct top_size size = {.screen = true, .colour = top->cli->colour};
	struct top_view view = {&top->daemon, &top->rows, top->trouble.text, 0, link_now_ms()};
	char *text;
	size_t len, at = 0;
	screen_size(&top->screen, &size.columns, &size.lines);
	size_t room = top_room(&size), most = top->rows.count > room ? top->rows.count - room : 0;
	top->skip = view.skip = top->skip < most ? top->skip : most;
	top->stale = false;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return;
	top_draw(out, &view, &size);
	if (fclose(out) == 0)
		while (at < len && !top->over) {
			ssize_t n = write(STDOUT_FILENO, text + at, len - at);
			if (n < 0 && errno != EINTR)
				end(top, CLI_OK); /* the terminal is gone */
			at += n > 0 ? (size_t)n : 0;
		}
	free(text);
}

static void print_json(const struct top *top)
{
	cJSON *object = json_new("TOP"), *claims;
	const struct top_rows *rows = &top->rows;
	cJSON_AddItemToObject(object, "daemon", cJSON_Duplicate(top->status_json, true));
	claims = cJSON_AddArrayToObject(object, "claims");
	for (size_t i = 0; i < rows->count; i++) {
		const struct top_row *row = &rows->row[i];
		cJSON *claim = cJSON_CreateObject();
		json_put(claim, "key", row->key);
		cJSON_AddStringToObject(claim, "state", top_kind_name(row->kind));
		json_put_number(claim, "fence", row->fence);
		json_put_number(claim, "attempts", row->attempts);
		json_put_number(claim, "age_ms", row->age_ms);
		json_put_number(claim, "left_ms", row->left_ms);
		if (row->owner.data)
			json_put(claim, "owner", row->owner);
		cJSON_AddItemToArray(claims, claim);
	}
	json_put_number(object, "more", top_rows_more(rows));
	json_print(stdout, object);
}

/* Not on a screen: one look. */
static void print(struct top *top)
{
	static const struct top_size size = {.columns = SIZE_MAX, .lines = SIZE_MAX};
	struct top_view view = {&top->daemon, &top->rows, top->trouble.text, 0, link_now_ms()};
	if (top->cli->json)
		print_json(top);
	else
		top_draw(stdout, &view, &size);
	end(top, CLI_OK);
}

/* ---- keys and signals ---- */

static void scroll(struct top *top, size_t lines, bool down)
{
	top->skip = down ? top->skip + lines : top->skip > lines ? top->skip - lines : 0;
	top->stale = true;
}

static void take_keys(struct top *top)
{
	static const struct {
		const char *key;
		bool page, down;
	} keys[] = {{" ", true, true},        {"f", true, true},        {"b", true, false},
		    {"\033[6~", true, true},  {"\033[5~", true, false}, {"\033[B", false, true},
		    {"\033[A", false, false}, {"j", false, true},       {"k", false, false}};
	char typed[64];
	struct top_size size = {0};
	ssize_t n = read(STDIN_FILENO, typed, sizeof(typed) - 1);
	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			end(top, CLI_OK);
		return;
	}
	screen_size(&top->screen, &size.columns, &size.lines);
	typed[n] = '\0';
	for (const char *at = typed; *at && !top->over;) {
		size_t taken = 1;
		if (*at == 'q' || *at == 'Q')
			end(top, CLI_OK);
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (strncmp(at, keys[i].key, strlen(keys[i].key)) == 0) {
				scroll(top, keys[i].page ? top_room(&size) : 1, keys[i].down);
				taken = strlen(keys[i].key);
			}
		at += taken;
	}
}

static void take_signal(struct top *top)
{
	struct signalfd_siginfo info;
	if (read(top->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	switch (info.ssi_signo) {
	case SIGTSTP:
		screen_close(&top->screen);
		raise(SIGSTOP);
		return;
	case SIGCONT: /* the shell had the terminal */
		if (top->live)
			screen_open(&top->screen);
		top->stale = true;
		return;
	case SIGWINCH:
		top->stale = true;
		return;
	default:
		end(top, CLI_OK);
	}
}

static void wait_more(struct top *top)
{
	struct pollfd fds[] = {{.fd = top->signal_fd, .events = POLLIN},
			       {.fd = top->live && isatty(STDIN_FILENO) ? STDIN_FILENO : -1, .events = POLLIN},
			       {.fd = link_fd(&top->link), .events = link_events(&top->link)}};
	int64_t now_ms = link_now_ms(), due = link_due(&top->link);
	if (!top->asking && top->due_ms < due)
		due = top->due_ms;
	if (poll(fds, 3, due == INT64_MAX ? -1 : due > now_ms ? (int)(due - now_ms) : 0) < 0)
		return;
	if (fds[0].revents)
		take_signal(top);
	if (fds[1].revents)
		take_keys(top);
}

static bool signals_open(struct top *top)
{
	static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
	sigset_t mask;
	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigaddset(&mask, taken[i]);
	top->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC);
	return top->signal_fd >= 0 && sigprocmask(SIG_BLOCK, &mask, NULL) == 0;
}

static void look_on(struct top *top)
{
	while (!top->over) {
		take(top);
		if (!top->over)
			tend(top);
		take(top);
		if (!top->over && top->collected && !top->live)
			print(top);
		if (!top->over && top->live && top->stale)
			draw(top);
		if (!top->over)
			wait_more(top);
	}
}

int cli_top(struct cli *cli, const struct args *args)
{
	struct top *top = mem_zero(sizeof(*top));
	char path[sizeof(top->link.path)];
	int status = CLI_UNREACHABLE;
	if (!top || !cli_socket_path(cli, path, sizeof(path)))
		goto done;
	*top = (struct top){.cli = cli, .args = args, .signal_fd = -1, .link.fd = -1};
	top->live = !cli->json && screen_possible();
	if (!signals_open(top) || !link_init(&top->link, slice_from(path), SLICE_OF("claim/1"), slice_from(cli->ns))) {
		cli_say("cannot start: %s", strerror(errno));
		goto done;
	}
	if (top->live)
		screen_open(&top->screen);
	look_on(top);
	screen_close(&top->screen);
	status = top->status;
	cJSON_Delete(top->status_json);
	top_rows_release(&top->rows);
	top_rows_release(&top->next);
	call_release(&top->call);
	link_release(&top->link);
	close(top->signal_fd);
done:
	mem_free(top);
	return status;
}
