/* client.c - see client.h. */
#include "client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPLY_WAIT_MS 1500

void client_init(struct client *client, const struct spawn *daemon, unsigned daemons, int sink, uint64_t seed)
{
	client->daemon = daemon;
	client->daemons = daemons;
	client->sink = sink;
	client->dice = seed;
	client->kills = NULL;
	client->calm = NULL;
	client->fd = -1;
	client->bound = false;
	client->begin = client->end = 0;
}

/* splitmix64 */
int64_t client_dice(struct client *client, int64_t below)
{
	uint64_t x = client->dice += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (int64_t)((x ^ (x >> 31)) % (uint64_t)below);
}

bool client_chance(struct client *client, int percent)
{
	return client_dice(client, 100) < percent;
}

static void moment(int64_t ms)
{
	poll(NULL, 0, (int)ms);
}

static void note(struct client *client, struct event *event, enum happening what)
{
	event->what = what;
	event->pid = getpid();
	if (!journal_write(client->sink, event)) {
		fprintf(stderr, "storm: cannot write down what happens: %s\n", strerror(errno));
		_exit(2);
	}
}

void client_part(struct client *client)
{
	struct event event = {.at_us = journal_now_us(), .left_ms = -1, .age_ms = -1};

	note(client, &event, HAPPENED_GONE);
}

void client_close(struct client *client)
{
	if (client->fd >= 0 && client->bound)
		client_part(client);
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
	client->bound = false;
	client->begin = client->end = 0;
}

void client_effect(struct client *client, enum happening what, const char *key, int64_t fence)
{
	struct event event = {.at_us = journal_now_us(), .fence = fence, .left_ms = -1, .age_ms = -1};

	snprintf(event.key, sizeof event.key, "%s", key);
	note(client, &event, what);
}

/* ---- there ---- */

static void write_options(struct writer *w, const struct event *ask, char token[17])
{
	if (ask->fence != 0)
		request_integer(w, OPT_FENCE, ask->fence);
	if (ask->token != 0) {
		snprintf(token, 17, "%016llx", (unsigned long long)ask->token);
		request_bytes(w, OPT_TOKEN, slice_from(token));
	}
	if (ask->lease_ms != 0)
		request_duration(w, OPT_LEASE, ask->lease_ms);
	if (ask->verb == VERB_CLAIM || ask->verb == VERB_COMPLETE || ask->verb == VERB_FAIL ||
	    (ask->verb == VERB_RESOLVE && ask->as != STATE_FREE))
		request_duration(w, OPT_TTL, ask->ttl_ms);
	if (ask->lapse == LAPSE_UNKNOWN)
		request_choice(w, CHOICE_LAPSE_UNKNOWN);
	if (ask->wait_ms != 0)
		request_duration(w, OPT_WAIT, ask->wait_ms);
	if (ask->hold_ms != 0) {
		request_duration(w, OPT_HOLD, ask->hold_ms);
		request_flag(w, OPT_NOTIFY);
	}
	if (ask->drop != DROP_KEEP)
		request_choice(w, ask->drop == DROP_RELEASE ? CHOICE_DROP_RELEASE : CHOICE_DROP_UNKNOWN);
	if (ask->verb == VERB_RESOLVE)
		request_choice(w, ask->as == STATE_DONE     ? CHOICE_AS_DONE
				  : ask->as == STATE_FAILED ? CHOICE_AS_FAILED
							    : CHOICE_AS_FREE);
}

static bool send_request(struct client *client, const struct event *ask)
{
	struct slice body = ask->result[0] != '\0' ? slice_from(ask->result) : SLICE_ABSENT;
	char data[512], token[17];
	struct writer w;

	client->bound |= ask->hold_ms != 0 || ask->drop != DROP_KEEP;
	writer_init(&w, data, sizeof data);
	request_begin(&w, ask->verb, slice_from(ask->key));
	write_options(&w, ask, token);
	request_end(&w, body);
	if (body.data != NULL) {
		writer_slice(&w, body);
		writer_char(&w, '\n');
	}
	return !w.full && wire_send(client->fd, w.data, w.len);
}

static bool be_connected(struct client *client)
{
	if (client->fd < 0)
		client->fd = spawn_connect(&client->daemon[client_dice(client, client->daemons)]);
	return client->fd >= 0;
}

/* From now on a settlement may take effect. */
static void note_sent(struct client *client, const struct event *ask)
{
	struct event sent = *ask;

	if (ask->verb == VERB_CLAIM || ask->verb == VERB_CHECK)
		return;
	sent.at_us = journal_now_us();
	sent.asked_us = 0;
	note(client, &sent, HAPPENED_SENT);
}

/* ---- and back ---- */

/* One whole frame, in place in the buffer. False: the connection is over, or it takes too long. */
static bool read_frame(struct client *client, struct reply *reply, long long deadline_ms)
{
	struct frame frame = {0};
	enum frame_state state;
	struct errbuf err;

	memmove(client->in, client->in + client->begin, client->end - client->begin);
	client->end -= client->begin;
	client->begin = 0;
	while ((state = frame_scan(&frame, client->in, client->end, PROTO_MAX_LINE, 1024, &err)) == FRAME_MORE) {
		struct pollfd look = {.fd = client->fd, .events = POLLIN};
		long long left_ms = deadline_ms - wait_now_ms();
		ssize_t got;

		if (left_ms <= 0 || (poll(&look, 1, (int)left_ms) < 1 && errno != EINTR))
			return false;
		got = recv(client->fd, client->in + client->end, sizeof client->in - client->end, MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		client->end += got > 0 ? (size_t)got : 0;
	}
	if (state != FRAME_READY)
		return false;
	client->begin = frame.size;
	return reply_parse(reply, client->in, frame.line_len,
			   frame.has_body ? (struct slice){client->in + frame.body_at, frame.body_len} : SLICE_ABSENT,
			   &err);
}

static void read_event(struct client *client, const struct reply *told)
{
	bool lost = slice_equal(told->word, SLICE_OF("LOST"));
	struct slice key = reply_field(told, "key"), cause = reply_field(told, "cause");
	struct event event = {.at_us = journal_now_us(), .left_ms = reply_integer(told, "left_ms", -1), .age_ms = -1};

	snprintf(event.key, sizeof event.key, "%.*s", (int)key.len, key.data);
	event.fence = reply_integer(told, "fence", 0);
	if (lost)
		snprintf(event.result, sizeof event.result, "%.*s", (int)cause.len, cause.data);
	note(client, &event, lost ? HAPPENED_LOST : HAPPENED_RENEWED);
}

/* One whole reply; what is told in front of it is written down. False: as above. */
static bool read_reply(struct client *client, struct reply *reply, int64_t wait_ms)
{
	long long deadline_ms = wait_now_ms() + wait_ms;

	while (read_frame(client, reply, deadline_ms)) {
		if (!reply->event)
			return true;
		read_event(client, reply);
	}
	return false;
}

static enum state shown_state(const struct reply *reply)
{
	static const enum state by_word[WORD__COUNT] = {
	    [WORD_WON] = STATE_CLAIMED,   [WORD_HELD] = STATE_CLAIMED,    [WORD_DONE] = STATE_DONE,
	    [WORD_FAILED] = STATE_FAILED, [WORD_UNKNOWN] = STATE_UNKNOWN,
	};

	return by_word[reply->code] != STATE_ABSENT ? by_word[reply->code] : journal_state(reply_field(reply, "state"));
}

static void read_answer(struct event *said, const struct reply *reply)
{
	struct slice was = reply_field(reply, "was");

	said->word = reply->code;
	said->err = reply->code == WORD_ERR ? reply->err : ERR_NONE;
	said->surely_nothing = slice_equal(reply_field(reply, "retry"), SLICE_OF("safe"));
	said->shown = reply_integer(reply, "fence", 0);
	said->state = shown_state(reply);
	said->own = slice_equal(was, SLICE_OF("own"));
	said->absent = slice_equal(was, SLICE_OF("new")) || reply->code == WORD_NOTFOUND ||
		       (reply->code == WORD_STALE && said->state == STATE_ABSENT);
	said->left_ms = reply_integer(reply, "left_ms", -1);
	if (said->left_ms < 0)
		said->left_ms = reply_integer(reply, "lease_ms", -1);
	if (said->left_ms < 0)
		said->left_ms = reply_integer(reply, "ttl_ms", -1);
	said->age_ms = reply_integer(reply, "age_ms", -1);
	snprintf(said->result, sizeof said->result, "%.*s", (int)reply->body.len,
		 reply->body.data != NULL ? reply->body.data : "");
}

/* Before the daemon can do anything more about what it has just acknowledged. It is not reaped before the driver looks,
 * so the number is still its own. */
static void kill_daemon(struct client *client, const struct event *said)
{
	bool recorded = said->word == WORD_WON || said->word == WORD_OK;
	struct event trouble = {.left_ms = -1, .age_ms = -1};
	struct ucred peer;
	socklen_t len = sizeof peer;

	if (client->kills == NULL || atomic_load(client->calm) || !recorded || client_dice(client, 60) != 0)
		return;
	if (getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		return;
	trouble.at_us = trouble.asked_us = journal_now_us();
	note(client, &trouble, HAPPENED_TROUBLE);
	atomic_fetch_add(client->kills, 1);
	kill(peer.pid, SIGKILL);
	trouble.at_us = journal_now_us();
	note(client, &trouble, HAPPENED_TROUBLE);
}

bool client_ask(struct client *client, const struct event *ask, struct event *said)
{
	struct reply reply;

	if (!be_connected(client))
		return false;
	*said = *ask;
	note_sent(client, ask);
	said->asked_us = journal_now_us();
	if (!send_request(client, ask) || !read_reply(client, &reply, REPLY_WAIT_MS + ask->wait_ms)) {
		client_close(client);
		return false;
	}
	said->at_us = journal_now_us();
	read_answer(said, &reply);
	kill_daemon(client, said);
	note(client, said, HAPPENED_SAID);
	return true;
}

void client_say(struct client *client, const struct event *ask)
{
	if (!be_connected(client))
		return;
	note_sent(client, ask);
	send_request(client, ask);
}

bool client_insist(struct client *client, const struct event *ask, struct event *said, long long deadline_ms)
{
	for (;;) {
		bool answered = client_ask(client, ask, said);

		if (answered && (said->word != WORD_ERR || said->err == ERR_BADOPT))
			return true;
		if (wait_now_ms() >= deadline_ms)
			return false;
		moment(1 + client_dice(client, 20));
	}
}

int client_list(struct client *client, const char *state, struct listed *out, int max)
{
	char line[96];
	int count = 0;

	snprintf(line, sizeof line, "LIST state=%s limit=%d\n", state, max);
	if (!be_connected(client) || !wire_say(client->fd, line))
		goto fail;
	for (;;) {
		struct reply reply;
		struct slice key;

		if (!read_reply(client, &reply, REPLY_WAIT_MS) || reply.code == WORD_ERR)
			goto fail;
		if (reply.code == WORD_END)
			return count;
		if (count == max)
			continue;
		key = reply_field(&reply, "key");
		snprintf(out[count].key, sizeof out[count].key, "%.*s", (int)key.len, key.data);
		out[count++].fence = reply_integer(&reply, "fence", 0);
	}

fail:
	client_close(client);
	return -1;
}
