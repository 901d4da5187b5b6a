/*
 * load.c - see load.h.
 *
 * Happy path: every client fills its window with requests in one write; each answer that comes makes room for one more, and
 * what one read brings leaves in one write. Answers come in the order of the requests, since none has a tag. The lines
 * are put together and taken apart by hand, so that what is measured is the daemon.
 *
 * It fails at an answer that may not be, at the end of a connection, and when nothing comes for a while.
 */
#include "load.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define STUCK_MS 20000 /* nothing at all was answered for so long */
#define KEY_DIGITS 9
#define TOKEN_DIGITS 27
#define IN_SIZE 16384
#define LINE_SIZE 192 /* of a request */

enum verb { VERB_CLAIM, VERB_COMPLETE, VERB_RELEASE, VERB_RENEW };

struct asked {
	enum verb verb;
	size_t key;
	uint64_t serial; /* its token */
	int64_t sent_ns;
};

struct peer {
	int fd;
	size_t number;
	struct asked *window; /* a ring of load->depth */
	size_t first, asked;
	struct asked holds; /* PLAN_LOCK, with its fence; 0: nothing */
	int64_t fence;
	char *out;
	size_t out_len;
	size_t in_len;
	char in[IN_SIZE];
};

/* ---- the lines ---- */

static char *put_text(char *to, const char *text)
{
	size_t len = strlen(text);

	memcpy(to, text, len);
	return to + len;
}

/* With zeros in front, so that all lines of a verb are of one length. */
static char *put_number(char *to, uint64_t number, int digits)
{
	for (int i = digits - 1; i >= 0; i--) {
		to[i] = (char)('0' + number % 10);
		number /= 10;
	}
	return to + digits;
}

/* A key of 24 octets and a token of 32, as libclaim's are. */
static void ask(struct load *load, struct peer *peer, const struct asked *asked, int64_t fence)
{
	static const char *const names[] = {"CLAIM", "COMPLETE", "RELEASE", "RENEW"};
	char *start = peer->out + peer->out_len, *to = put_text(start, names[asked->verb]);

	to = put_number(put_text(to, " orders:payment:"), asked->key, KEY_DIGITS);
	if (asked->verb != VERB_CLAIM)
		to = put_number(put_text(to, " fence="), (uint64_t)fence, 16);
	if (asked->verb == VERB_CLAIM || asked->verb == VERB_RENEW)
		to = put_text(to, " lease=600s");
	to = put_number(put_text(to, " token=bench"), asked->serial, TOKEN_DIGITS);
	*to++ = '\n';
	peer->out_len += (size_t)(to - start);
	peer->window[(peer->first + peer->asked++) % load->depth] = *asked;
	load->owing++;
}

static void flush(struct peer *peer)
{
	if (peer->out_len > 0)
		peer_send(peer->fd, peer->out, peer->out_len);
	peer->out_len = 0;
}

static int64_t fence_of(const char *line, size_t len, size_t at)
{
	int64_t fence = 0;

	for (; at < len && line[at] >= '0' && line[at] <= '9'; at++)
		fence = fence * 10 + (line[at] - '0');
	return fence;
}

static bool begins(const char *line, size_t len, const char *text)
{
	size_t n = strlen(text);

	return len >= n && memcmp(line, text, n) == 0;
}

/* ---- the plans ---- */

/* Goes over all keys, and not in their order. */
static size_t scattered(const struct load *load, size_t n)
{
	return n * UINT64_C(2654435761) % load->keys;
}

/* The next request with the plan's first verb, if one is left. */
static void begin(struct load *load, struct peer *peer, int64_t now)
{
	struct asked asked = {.verb = VERB_CLAIM, .sent_ns = now};
	size_t n = load->begun;

	if (n == load->count)
		return;
	load->begun++;
	switch (load->plan) {
	case PLAN_CLAIM:
	case PLAN_CYCLE:
		asked.key = load->first + n;
		break;
	case PLAN_AGAIN:
		asked.key = scattered(load, n);
		break;
	case PLAN_LOCK:
		asked.key = peer->number % load->keys;
		break;
	case PLAN_RENEW:
		asked.verb = VERB_RENEW;
		asked.key = scattered(load, n);
		break;
	}
	/* A key has the token that it was claimed with, unless it is claimed more than once. */
	asked.serial = load->plan == PLAN_LOCK || load->plan == PLAN_AGAIN ? ++load->serial : asked.key;
	ask(load, peer, &asked, asked.verb == VERB_RENEW ? grants_fence(load->grants, asked.key) : 0);
}

static void won(struct load *load, struct peer *peer, const struct asked *asked, int64_t fence)
{
	struct asked next = *asked;

	if (load->grants != NULL)
		grants_won(load->grants, asked->key, fence);
	if (load->plan == PLAN_CLAIM) {
		begin(load, peer, next.sent_ns);
		return;
	}
	if (load->plan == PLAN_LOCK) {
		peer->holds = next;
		peer->fence = fence;
		return;
	}
	next.verb = VERB_COMPLETE;
	ask(load, peer, &next, fence);
}

/* Gives back what was won, once all that was there to be read has been: a second holder would have shown itself. */
static void give_back(struct load *load, struct peer *peer)
{
	if (peer->fence == 0)
		return;
	grants_given_back(load->grants, peer->holds.key);
	peer->holds.verb = VERB_RELEASE;
	ask(load, peer, &peer->holds, peer->fence);
	peer->fence = 0;
	flush(peer);
}

/* False: this may not be the answer. */
static bool answered_claim(struct load *load, struct peer *peer, const struct asked *asked, const char *line,
			   size_t len)
{
	if (load->plan != PLAN_AGAIN && begins(line, len, "WON fence=")) {
		won(load, peer, asked, fence_of(line, len, strlen("WON fence=")));
		return true;
	}
	if (load->plan == PLAN_AGAIN && begins(line, len, "DONE fence="))
		grants_settled(load->grants, asked->key, fence_of(line, len, strlen("DONE fence=")));
	else if (load->plan != PLAN_LOCK || !begins(line, len, "HELD fence="))
		return false;
	begin(load, peer, asked->sent_ns);
	return true;
}

static void answer(struct load *load, struct peer *peer, const char *line, size_t len, int64_t now)
{
	struct asked asked = peer->window[peer->first];
	bool first = asked.verb == VERB_CLAIM || asked.verb == VERB_RENEW, right;

	if (peer->asked == 0)
		die("an answer to nothing: %.*s", (int)len, line);
	peer->first = (peer->first + 1) % load->depth;
	peer->asked--;
	load->owing--;
	load->answers++;
	if (first) {
		times_add(&load->times, now - asked.sent_ns);
		load->ended++;
	}
	asked.sent_ns = now;
	if (asked.verb == VERB_CLAIM) {
		right = answered_claim(load, peer, &asked, line, len);
	} else {
		right = begins(line, len, "OK ");
		begin(load, peer, now);
	}
	if (!right)
		die("key %zu was answered with %.*s", asked.key, (int)len, line);
}

/* ---- the connections ---- */

static void take(struct load *load, struct peer *peer)
{
	ssize_t n = recv(peer->fd, peer->in + peer->in_len, sizeof peer->in - peer->in_len, 0);
	char *line = peer->in, *end, *lf;
	int64_t now = now_ns();

	if (n <= 0)
		die("a connection was closed");
	end = peer->in + peer->in_len + n;
	while ((lf = memchr(line, '\n', (size_t)(end - line))) != NULL) {
		answer(load, peer, line, (size_t)(lf - line), now);
		line = lf + 1;
	}
	peer->in_len = (size_t)(end - line);
	memmove(peer->in, line, peer->in_len);
	flush(peer);
}

void load_open(struct load *load, const char *path, size_t clients, size_t depth)
{
	*load = (struct load){
	    .clients = clients, .depth = depth, .serial = UINT64_C(1) << 40, .epoll = epoll_create1(EPOLL_CLOEXEC)};
	load->peer = zeros(clients, sizeof *load->peer);
	for (size_t i = 0; i < clients; i++) {
		struct peer *peer = &load->peer[i];
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};

		peer->number = i;
		peer->window = zeros(depth, sizeof *peer->window);
		peer->out = zeros(depth, LINE_SIZE);
		peer->fd = peer_connect(path);
		if (peer->fd < 0 || epoll_ctl(load->epoll, EPOLL_CTL_ADD, peer->fd, &event) != 0)
			die("cannot connect");
	}
	load->pid = peer_pid(load->peer[0].fd);
}

void load_close(struct load *load)
{
	for (size_t i = 0; i < load->clients; i++) {
		close(load->peer[i].fd);
		free(load->peer[i].window);
		free(load->peer[i].out);
	}
	free(load->peer);
	close(load->epoll);
	times_release(&load->times);
}

void load_run(struct load *load, enum plan plan, size_t first, size_t count)
{
	struct epoll_event events[64];
	int64_t start = now_ns(), cpu = cpu_ns(load->pid);

	times_release(&load->times);
	times_init(&load->times, count);
	load->plan = plan;
	load->first = first;
	load->count = count;
	load->begun = load->ended = load->answers = 0;
	for (size_t i = 0; i < load->clients; i++) {
		for (size_t n = 0; n < load->depth; n++)
			begin(load, &load->peer[i], now_ns());
		flush(&load->peer[i]);
	}
	while (load->owing > 0) {
		int ready = epoll_wait(load->epoll, events, sizeof events / sizeof *events, STUCK_MS);

		if (ready == 0)
			die("nothing was answered for %d s", STUCK_MS / 1000);
		for (int i = 0; i < ready; i++)
			take(load, events[i].data.ptr);
		for (int i = 0; plan == PLAN_LOCK && i < ready; i++)
			give_back(load, events[i].data.ptr);
	}
	load->took_s = (double)(now_ns() - start) / 1e9;
	load->cpu_us = (double)(cpu_ns(load->pid) - cpu) / 1e3 / (double)load->answers;
}
