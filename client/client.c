/*
 * client.c - the client's side of the protocol without I/O. See client.h.
 *
 * Called by link.c. Happy path: HELLO goes out, its OK comes in, then the calls go out in the order of asking, and the replies
 * come in that order. Failure modes: the connection is cut (client_lost: each call is asked again or told as
 * cut), the other end talks nonsense (CLIENT_BROKEN), no memory (CLIENT_BROKEN or false).
 */
#include "client.h"

#include <string.h>

#include "../proto/mem.h"

#define SPACE_MIN 4096
#define OWN_TAG "lc" /* in front of the number of a tag that is ours; the caller's own lines may have tags too */

/* ---- calls ---- */

/*
 * May this line be asked twice? Every verb whose second asking changes nothing. Not so: a CLAIM without a token (the
 * second one would be told HELD by the first), FORGET and RESOLVE (in between somebody may have won the key, and
 * they would hit him), and what we do not know.
 */
static bool line_repeats(struct slice line)
{
	static const char token[] = " token=";
	size_t n = 0;
	while (n < line.len && line.data[n] != ' ')
		n++;
	switch ((int)verb_find((struct slice){line.data, n})) {
	case VERB_CLAIM:
		for (size_t at = n; at + sizeof(token) - 1 <= line.len; at++)
			if (memcmp(line.data + at, token, sizeof(token) - 1) == 0)
				return true;
		return false;
	case VERB_FORGET:
	case VERB_RESOLVE:
	case VERB_QUIT:
	case VERB__COUNT:
		return false;
	default:
		return true;
	}
}

bool call_init(struct call *call, struct slice line, struct slice body)
{
	return call_init_tagged(call, line, body, 0);
}

bool call_init_tagged(struct call *call, struct slice line, struct slice body, uint64_t tag)
{
	size_t cap = line.len + body.len + CALL_ADDS;
	char *frame = mem_alloc(cap);
	if (!frame)
		return false;
	struct writer w;
	writer_init(&w, frame, cap);
	writer_slice(&w, line);
	if (tag != 0) {
		writer_text(&w, " tag=" OWN_TAG);
		writer_int(&w, (int64_t)tag);
	}
	if (body.data) {
		writer_text(&w, " body=");
		writer_int(&w, (int64_t)body.len);
	}
	writer_char(&w, '\n');
	if (body.data) {
		writer_slice(&w, body);
		writer_char(&w, '\n');
	}
	*call = (struct call){.frame = frame, .size = w.len, .repeat = line_repeats(line), .tag = tag};
	return true;
}

void call_release(struct call *call)
{
	mem_free(call->frame);
	*call = (struct call){0};
}

/* ---- life ---- */

bool client_init(struct client *client, struct slice name, struct slice ns)
{
	char line[1024];
	struct writer w;
	memset(client, 0, sizeof(*client));
	client->max_body = PROTO_MAX_BODY;
	writer_init(&w, line, sizeof(line));
	request_begin(&w, VERB_HELLO, SLICE_ABSENT);
	request_integer(&w, OPT_PROTO, PROTO_VERSION);
	request_bytes(&w, OPT_CLIENT, name);
	request_bytes(&w, OPT_NS, ns);
	return !w.full && call_init(&client->hello, writer_done(&w), SLICE_ABSENT);
}

void client_release(struct client *client)
{
	call_release(&client->hello);
	mem_free(client->in);
	memset(client, 0, sizeof(*client));
}

bool client_idle(const struct client *client)
{
	return !client->first;
}

/* ---- asking ---- */

void client_ask(struct client *client, struct call *call)
{
	call->next = NULL;
	call->sent = 0;
	if (client->last)
		client->last->next = call;
	else
		client->first = call;
	client->last = call;
	if (!client->sending)
		client->sending = call;
}

static void list_remove(struct client *client, struct call *call)
{
	struct call **at = &client->first, *before = NULL;
	while (*at && *at != call) {
		before = *at;
		at = &before->next;
	}
	if (!*at)
		return;
	*at = call->next;
	if (client->last == call)
		client->last = before;
	if (client->sending == call)
		client->sending = call->next;
	call->next = NULL;
}

bool client_forget(struct client *client, struct call *call)
{
	struct call **at = &client->cut;
	while (*at && *at != call)
		at = &(*at)->next;
	if (*at) {
		*at = call->next;
		return false;
	}
	list_remove(client, call);
	/* An answer with a tag that nobody waits for is passed over. */
	return call->sent > 0 && (call->tag == 0 || call->sent < call->size);
}

/* The call whose octets go next. */
static struct call *call_sending(const struct client *client)
{
	struct call *hello = (struct call *)&client->hello;
	if (!client->greeted)
		return hello->sent < hello->size ? hello : NULL;
	return client->sending;
}

struct slice client_output(const struct client *client)
{
	const struct call *call = call_sending(client);
	return call ? (struct slice){call->frame + call->sent, call->size - call->sent} : (struct slice){"", 0};
}

void client_sent(struct client *client, size_t count, int64_t now_ms)
{
	struct call *call = call_sending(client);
	if (!call || count == 0)
		return;
	if (call->sent == 0)
		call->sent_ms = now_ms;
	call->sent += count;
	call->tried = true;
	if (call == client->sending && call->sent == call->size)
		client->sending = call->next;
}

/* ---- answers ---- */

char *client_space(struct client *client, size_t *room)
{
	if (client->in_at > 0) {
		memmove(client->in, client->in + client->in_at, client->in_len - client->in_at);
		client->in_len -= client->in_at;
		client->in_at = 0;
	}
	if (client->in_cap - client->in_len < SPACE_MIN) {
		size_t cap = client->in_cap ? 2 * client->in_cap : 4 * SPACE_MIN;
		char *in = mem_resize(client->in, cap);
		if (!in)
			return NULL;
		client->in = in;
		client->in_cap = cap;
	}
	*room = client->in_cap - client->in_len;
	return client->in + client->in_len;
}

void client_received(struct client *client, size_t count)
{
	client->in_len += count;
}

void client_lost(struct client *client)
{
	struct call *call = client->first, **cut = &client->cut;
	while (*cut)
		cut = &(*cut)->next;
	while (call) {
		struct call *next = call->next;
		if (call->sent > 0 && (call->started || !call->repeat)) {
			list_remove(client, call);
			*cut = call;
			cut = &call->next;
		}
		call->sent = 0;
		call = next;
	}
	client->sending = client->first;
	client->hello.sent = 0;
	client->greeted = false;
	client->in_at = client->in_len = 0;
	client->frame = (struct frame){0};
}

static struct client_event broken(struct client *client)
{
	return (struct client_event){.kind = CLIENT_BROKEN, .reply = &client->reply};
}

/* The answer to HELLO: nothing may be asked in a namespace that was refused. */
static struct client_event greeted(struct client *client, bool *go_on)
{
	const struct reply *reply = &client->reply;
	if (reply->code == WORD_OK) {
		client->greeted = true;
		client->refused = ERR_NONE;
		client->max_body = reply_integer(reply, "max_body", PROTO_MAX_BODY);
		*go_on = true;
		return (struct client_event){0};
	}
	if (reply->code != WORD_ERR) {
		err_set(&client->why, "that is no claimd: it says %.*s", (int)reply->word.len, reply->word.data);
		return broken(client);
	}
	struct slice msg = reply_field(reply, "msg"), retry = reply_field(reply, "retry");
	err_set(&client->why, "the daemon refused HELLO: %.*s: %.*s", (int)reply->err_name.len, reply->err_name.data,
		(int)msg.len, msg.data ? msg.data : "");
	if (slice_equal(retry, SLICE_OF("no")))
		client->refused = reply->err < ERR__COUNT ? reply->err : ERR_INTERNAL;
	return broken(client);
}

/* The call that the reply is for; NULL: none that was sent. *passed: its call was forgotten. */
static struct call *call_answered(const struct client *client, bool *passed)
{
	struct slice text = reply_field(&client->reply, "tag");
	int64_t tag = 0;
	if (slice_starts(text, SLICE_OF(OWN_TAG)))
		integer_parse((struct slice){text.data + strlen(OWN_TAG), text.len - strlen(OWN_TAG)}, &tag);
	struct call *call = client->first;
	while (call && call->tag != (uint64_t)tag)
		call = call->next;
	*passed = tag != 0 && !call;
	return call && call->sent > 0 ? call : NULL;
}

/* Gives the reply to whom it belongs. */
static struct client_event route(struct client *client, bool *go_on)
{
	const struct reply *reply = &client->reply;
	if (reply->event)
		return (struct client_event){.kind = CLIENT_EVENT, .reply = reply};
	/* An OK that came before HELLO had left would have the calls sent without it, and in no namespace. */
	if (!client->greeted && client->hello.sent == client->hello.size)
		return greeted(client, go_on);
	bool passed;
	struct call *call = call_answered(client, &passed);
	if (passed) {
		*go_on = true;
		return (struct client_event){0};
	}
	if (!call) {
		err_set(&client->why, "an answer that nobody asked for: %.*s", (int)reply->word.len, reply->word.data);
		return broken(client);
	}
	bool last = reply->code != WORD_ITEM;
	call->started = true;
	if (last)
		list_remove(client, call);
	return (struct client_event){.kind = CLIENT_REPLY, .call = call, .last = last, .reply = reply};
}

/* Takes one frame off the input. CLIENT_NOTHING with *go_on: look again. */
static struct client_event take(struct client *client, bool *go_on)
{
	size_t len = client->in_len - client->in_at;
	*go_on = false;
	if (len == 0)
		return (struct client_event){0};
	char *data = client->in + client->in_at;
	switch (frame_scan(&client->frame, data, len, CLIENT_MAX_LINE, CLIENT_MAX_BODY, &client->why)) {
	case FRAME_MORE:
		return (struct client_event){0};
	case FRAME_READY:
		break;
	case FRAME_OVERSIZE:
		err_set(&client->why, "an answer of %zu octets is too much", client->frame.body_len);
		return broken(client);
	case FRAME_BROKEN:
	default:
		return broken(client);
	}
	struct frame frame = client->frame;
	struct slice body = frame.has_body ? (struct slice){data + frame.body_at, frame.body_len} : SLICE_ABSENT;
	client->in_at += frame.size;
	client->frame = (struct frame){0};
	if (frame.line_len == 0) {
		*go_on = true;
		return (struct client_event){0};
	}
	if (!reply_parse(&client->reply, data, frame.line_len, body, &client->why))
		return broken(client);
	return route(client, go_on);
}

struct client_event client_next(struct client *client)
{
	if (client->cut) {
		struct call *call = client->cut;
		client->cut = call->next;
		call->next = NULL;
		return (struct client_event){.kind = CLIENT_CUT, .call = call, .last = true};
	}
	bool go_on = true;
	struct client_event event = {0};
	while (go_on)
		event = take(client, &go_on);
	return event;
}
