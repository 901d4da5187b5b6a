/*
 * async.c - the calls of libclaim that call back, for programs with an event loop. See claim.h and conn.h.
 *
 * Every call has a tag, so that its answer may come when it is there: one that waits for a key holds up no other.
 * Happy path: claim_submit queues, claim_process connects, writes, reads and calls back. Failure modes are those of
 * sync.c, told to the callback: a call ends in exactly one last callback, or silently with claim_close.
 *
 * Callbacks run while the lists are in order, so they may submit; closing waits until the outermost of them is over.
 */
#include "conn.h"

#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

#include "../proto/mem.h"
#include "error.h"

/* ---- the list ---- */

static void list_add(claim_conn *conn, struct async *async)
{
	async->next = conn->first;
	async->at = &conn->first;
	if (async->next)
		async->next->at = &async->next;
	conn->first = async;
}

static void list_remove(struct async *async)
{
	*async->at = async->next;
	if (async->next)
		async->next->at = async->at;
}

static void free_async(struct async *async)
{
	call_release(&async->call);
	claim_grant_free(async->grant);
	mem_free(async);
}

void async_release(claim_conn *conn)
{
	struct async *async;
	while ((async = conn->first)) {
		list_remove(async);
		free_async(async);
	}
}

/* ---- calling back ---- */

static void call_back(claim_conn *conn, claim_callback *callback, int code, void *arg)
{
	bool outermost = !conn->calling_back;
	conn->calling_back = true;
	callback(conn, code, arg);
	conn->calling_back = !outermost;
	conn->reply = NULL;
}

static void tell(claim_conn *conn, struct async *async, int code, bool last)
{
	if (last)
		list_remove(async);
	conn->current = async;
	call_back(conn, async->done, code, async->arg);
	conn->current = NULL;
	if (last)
		free_async(async);
}

void async_take(claim_conn *conn, const struct client_event *event)
{
	struct async *async = (struct async *)(void *)event->call;
	if (event->kind == CLIENT_EVENT) {
		if (conn->event) {
			int code = conn_answer(conn, event);
			call_back(conn, conn->event, code, conn->event_arg);
		}
	} else if (event->kind == CLIENT_REPLY) {
		int code = conn_answer(conn, event);
		if (async->grant)
			code = grant_won(conn, code, async->grant);
		async->won = async->grant && code == CLAIM_WON;
		tell(conn, async, code, event->last);
	} else {
		tell(conn, async, conn_fail(conn, CLAIM_E_UNCERTAIN, conn->link.why.text), true);
	}
}

void async_look(claim_conn *conn)
{
	uint64_t now = link_fd(&conn->link) < 0 ? 0 : conn->link.connects;
	bool lost = conn->listened != 0 && conn->listened != now;
	conn->listened = now;
	if (lost && conn->event)
		call_back(conn, conn->event, conn_fail(conn, CLAIM_E_UNREACHABLE, conn->link.why.text),
			  conn->event_arg);
}

/* HELLO was refused for good: so is everything that was asked. */
static void refuse_all(claim_conn *conn)
{
	int code = error_from_hello(conn->link.client.refused);
	struct async *async;
	while ((async = conn->first) && !conn->closing) {
		link_forget(&conn->link, &async->call);
		tell(conn, async, conn_fail(conn, code, conn->link.why.text), true);
	}
}

/* Ends those that have had their time, and those that nobody is there for. */
static void end_overdue(claim_conn *conn, int64_t now)
{
	struct async *async = conn->first;
	while (async && !conn->closing) {
		async->won = async->unasked && async->grant;
		if (async->unasked) {
			tell(conn, async, async->won ? CLAIM_WON : CLAIM_OK, true);
		} else if (now >= async->deadline_ms || (conn_nobody_there(conn) && !async->call.tried)) {
			tell(conn, async, conn_give_up(conn, &async->call), true);
		} else {
			async = async->next;
			continue;
		}
		async = conn->first; /* the callback may have changed the list */
	}
}

static void process(claim_conn *conn)
{
	int64_t now = link_now_ms();
	bool goes_on = true;
	conn->unseen = false;
	conn->reply = NULL;
	if (conn->open) { /* a list that nobody reads to its end */
		link_forget(&conn->link, &conn->call);
		conn->open = false;
	}
	link_process(&conn->link, now);
	while (goes_on && !conn->closing) {
		struct client_event event = link_next(&conn->link);
		goes_on = event.kind != CLIENT_NOTHING;
		if (event.kind == CLIENT_BROKEN && conn->link.client.refused != ERR_NONE)
			refuse_all(conn);
		else if (goes_on && event.kind != CLIENT_BROKEN)
			async_take(conn, &event);
	}
	end_overdue(conn, now);
	if (!conn->closing)
		async_look(conn);
}

void async_watch(claim_conn *conn)
{
	short events = link_events(&conn->link);
	bool fresh = conn->polled != conn->link.connects;
	struct epoll_event wanted = {.events = (uint32_t)(events & POLLOUT ? EPOLLIN | EPOLLOUT : EPOLLIN)};
	if (conn->link.epoll_fd < 0 || link_fd(&conn->link) < 0 || (!fresh && events == conn->polled_for))
		return;
	if (epoll_ctl(conn->link.epoll_fd, fresh ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, link_fd(&conn->link), &wanted) != 0)
		return;
	conn->polled = conn->link.connects;
	conn->polled_for = events;
}

/* ---- claim.h ---- */

/* An epoll descriptor is readable when something in it is ready, and stays the same when the socket in it changes. */
int claim_fd(claim_conn *conn)
{
	if (conn->link.epoll_fd < 0) {
		conn->link.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		conn->polled = 0;
		async_watch(conn);
	}
	return conn->link.epoll_fd;
}

int claim_events(const claim_conn *conn)
{
	(void)conn;
	return POLLIN;
}

int claim_timeout_ms(const claim_conn *conn)
{
	int64_t due = link_due(&conn->link), now = link_now_ms();
	if (conn->unseen || conn->link.client.cut)
		return 0;
	for (const struct async *async = conn->first; async; async = async->next)
		if (async->deadline_ms < due)
			due = async->deadline_ms;
	if (due == INT64_MAX)
		return -1;
	return due <= now ? 0 : due - now < INT_MAX ? (int)(due - now) : INT_MAX;
}

void claim_process(claim_conn *conn)
{
	if (conn->calling_back || conn_usable(conn) != CLAIM_OK)
		return;
	process(conn);
	if (conn->closing)
		claim_close(conn);
	else
		async_watch(conn);
}

void claim_on_event(claim_conn *conn, claim_callback *event, void *arg)
{
	conn->event = event;
	conn->event_arg = arg;
}

/* What one submits, without the callback. */
struct submission {
	struct slice line, body;
	int64_t more_ms;    /* how much longer it may take than the connection's timeout */
	claim_grant *grant; /* of a CLAIM; taken over on success */
	bool guards;        /* it is about a claim: nothing that CLAIMD_DISABLED asks for */
};

static int submit(claim_conn *conn, const struct submission *what, claim_callback *done, void *arg)
{
	int code = conn_usable(conn);
	if (code != CLAIM_OK)
		return code;
	if (!conn_line_good(what->line, true) || !done)
		return conn_fail(conn, CLAIM_E_INVAL, "a request is one line of at most 8192 octets");
	struct async *async = mem_zero(sizeof(*async));
	if (!async || !call_init_tagged(&async->call, what->line, what->body, ++conn->tags)) {
		mem_free(async);
		return conn_fail(conn, CLAIM_E_NOMEM, claim_strerror(CLAIM_E_NOMEM));
	}
	async->deadline_ms = time_add(time_add(link_now_ms(), conn->timeout_ms), what->more_ms);
	async->unasked = what->guards && conn->disabled;
	if (async->unasked)
		async->deadline_ms = 0;
	async->done = done;
	async->arg = arg;
	async->grant = what->grant;
	list_add(conn, async);
	if (!async->unasked)
		client_ask(&conn->link.client, &async->call);
	async_watch(conn);
	return CLAIM_OK;
}

int claim_submit(claim_conn *conn, const void *line, size_t line_len, const void *body, size_t body_len,
		 claim_callback *done, void *arg)
{
	struct submission what = {{line, line_len}, {body, body_len}, 0, NULL, false};
	return submit(conn, &what, done, arg);
}

int claim_submit_acquire(claim_conn *conn, const void *key, size_t key_len, const struct claim_options *options,
			 claim_callback *done, void *arg)
{
	char line[GRANT_LINE];
	struct writer w;
	claim_grant *grant;
	writer_init(&w, line, sizeof(line));
	int code = grant_claim_line(&w, (struct slice){key, key_len}, options, &grant);
	if (code != CLAIM_OK)
		return conn_fail(conn, code, claim_strerror(code));
	struct submission what = {writer_done(&w), SLICE_ABSENT, grant_wait_ms(options), grant, true};
	code = submit(conn, &what, done, arg);
	if (code != CLAIM_OK)
		claim_grant_free(grant);
	return code;
}

claim_grant *claim_take_grant(claim_conn *conn)
{
	claim_grant *grant = conn->current && conn->current->won ? conn->current->grant : NULL;
	if (grant)
		conn->current->grant = NULL;
	return grant;
}

static int submit_holder(claim_conn *conn, struct slice line, struct slice body, claim_callback *done, void *arg)
{
	struct submission what = {line, body, 0, NULL, true};
	return submit(conn, &what, done, arg);
}

int claim_submit_verb(claim_conn *conn, const claim_grant *grant, enum claim_verb verb, const void *result,
		      size_t result_len, claim_callback *done, void *arg)
{
	static const enum verb verbs[] = {[CLAIM_COMPLETE] = VERB_COMPLETE,
					  [CLAIM_FAIL] = VERB_FAIL,
					  [CLAIM_RELEASE] = VERB_RELEASE,
					  [CLAIM_DOUBT] = VERB_DOUBT,
					  [CLAIM_CHECK] = VERB_CHECK};
	char line[GRANT_LINE];
	struct writer w;
	if ((size_t)verb >= sizeof(verbs) / sizeof(verbs[0]))
		return conn_fail(conn, CLAIM_E_INVAL, "that is none of the holder's verbs");
	writer_init(&w, line, sizeof(line));
	grant_line(&w, grant, verbs[verb], 0);
	return submit_holder(conn, writer_done(&w), (struct slice){result, result_len}, done, arg);
}

int claim_submit_renew(claim_conn *conn, const claim_grant *grant, int64_t lease_ms, claim_callback *done, void *arg)
{
	char line[GRANT_LINE];
	struct writer w;
	writer_init(&w, line, sizeof(line));
	grant_line(&w, grant, VERB_RENEW, lease_ms);
	return submit_holder(conn, writer_done(&w), SLICE_ABSENT, done, arg);
}
