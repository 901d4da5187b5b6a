/*
 * client.c - the client's side of the protocol without I/O, against a made-up daemon.
 *
 * The input is what the daemon says, and between it what happens on the client's side:
 *
 *     ~0 ... ~7    this call of the list below is asked, where it is not out already
 *     ~f0 ... ~f7  it is forgotten
 *     ~s           the client sends all that it has to send
 *     ~o0 ... ~o9  it sends so many octets: 1, 2, 4 ...
 *     ~x           the connection is lost, and there is another one
 *
 * Three clients hear the same, one at once what stands between two of these, one octet by octet, one in pieces of other lengths: they
 * must tell the same. A call that was asked ends once (with the last line of its reply, CUT, or forgotten), and nothing is told of it
 * before an octet of it has left; one that may not be asked twice never leaves on two connections.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../client/conn.h"
#include "fuzz.h"

#define CALLS 8

static const struct plan {
	const char *line, *body;
	uint64_t tag;
	bool repeat;
} plans[CALLS] = {
    {"CLAIM k token=0123456789abcdef", NULL, 0, true},
    {"CLAIM k", NULL, 0, false},
    {"COMPLETE k fence=5", "ok", 0, true},
    {"CLAIM k wait=1s token=0123456789abcdef", NULL, 1, true},
    {"RENEW k fence=5 lease=1m", NULL, 2, true},
    {"LIST limit=3", NULL, 0, true},
    {"FORGET k", NULL, 0, false},
    {"RESOLVE k as=done fence=5", "", 3, false},
};

enum cut { CUT_NEVER, CUT_EACH, CUT_SOME };

struct run {
	struct claim_conn conn; /* only its client and its last answer are used */
	struct call call[CALLS];
	bool out[CALLS];
	int left_on[CALLS]; /* the first connection that an octet of it left on; 0: none */
	int connection;     /* its number, from 1 on */
	bool started;       /* an octet has left on it */
	enum cut cut;
	uint32_t dice;
	FILE *told;
};

/* ---- what the client says ---- */

static int index_of(const struct run *run, const struct call *call)
{
	must(call >= run->call && call < run->call + CALLS);
	return (int)(call - run->call);
}

static void end_call(struct run *run, int which)
{
	must(run->out[which]);
	run->out[which] = false;
	run->left_on[which] = 0;
	call_release(&run->call[which]);
}

static void tell_reply(struct run *run, const struct client_event *event)
{
	claim_conn *conn = &run->conn;
	const char *name, *value;
	const void *body;
	size_t len;

	/* This writes a NUL behind each piece, as for the callers of the library: the rest must not suffer from it. */
	fprintf(run->told, " %d %s", conn_answer(conn, event), claim_word(conn));
	for (size_t at = 0; (value = claim_field_at(conn, at, &name, &len)) != NULL; at++) {
		fprintf(run->told, " %s=", name);
		fwrite(value, 1, len, run->told);
		must(value[len] == '\0');
	}
	body = claim_body(conn, &len);
	fprintf(run->told, " body=%s%zu:", body == NULL ? "no" : "", len);
	if (len > 0)
		fwrite(body, 1, len, run->told);
}

static void lose(struct run *run)
{
	client_lost(&run->conn.link.client);
	run->connection++;
	run->started = false;
}

/* Takes all that the client knows. False: the connection was broken, and what it still had to say is lost. */
static bool listen(struct run *run)
{
	struct client *client = &run->conn.link.client;
	struct client_event event;

	while ((event = client_next(client)).kind != CLIENT_NOTHING) {
		int which = event.call != NULL ? index_of(run, event.call) : -1;

		fprintf(run->told, "\n%d %d %d", (int)event.kind, which, event.last);
		if (event.kind == CLIENT_BROKEN) {
			fprintf(run->told, " %s", client->why.text);
			must(client->why.text[0] != '\0');
			lose(run);
			return false;
		}
		if (event.kind != CLIENT_CUT)
			tell_reply(run, &event);
		must((which >= 0) == (event.kind != CLIENT_EVENT));
		must(which < 0 || (run->out[which] && run->left_on[which] > 0));
		must(event.kind != CLIENT_REPLY || run->call[which].sent > 0);
		if (event.last)
			end_call(run, which);
	}
	return true;
}

static void send_some(struct run *run, size_t most)
{
	struct client *client = &run->conn.link.client;
	struct slice out;

	while (most > 0 && (out = client_output(client)).len > 0) {
		size_t len = out.len < most ? out.len : most;

		must(run->started || slice_starts(out, SLICE_OF("HELLO ")));
		run->started = true;
		for (int i = 0; i < CALLS; i++) {
			if (!run->out[i] || out.data < run->call[i].frame ||
			    out.data >= run->call[i].frame + run->call[i].size)
				continue;
			if (run->left_on[i] == 0)
				run->left_on[i] = run->connection;
			must(plans[i].repeat || run->left_on[i] == run->connection);
			must(client->greeted);
		}
		client_sent(client, len, 1);
		most -= len;
	}
}

/* ---- what the input says ---- */

static void ask(struct run *run, int which)
{
	const struct plan *plan = &plans[which];

	if (run->out[which])
		return;
	must(call_init_tagged(&run->call[which], slice_from(plan->line), slice_from(plan->body), plan->tag));
	run->out[which] = true;
	client_ask(&run->conn.link.client, &run->call[which]);
}

static void forget(struct run *run, int which)
{
	if (!run->out[which])
		return;
	if (client_forget(&run->conn.link.client, &run->call[which])) /* the stream is out of step, as link.c knows */
		lose(run);
	end_call(run, which);
	listen(run);
}

static size_t piece(struct run *run, size_t left)
{
	size_t len = left;

	if (run->cut == CUT_EACH)
		len = 1;
	else if (run->cut == CUT_SOME)
		len = 1 + ((run->dice = run->dice * 1103515245 + 12345) >> 16) % 23;
	return len < left ? len : left;
}

static void hear(struct run *run, const char *data, size_t len)
{
	bool whole = true;

	while (len > 0 && whole) {
		size_t room, some = piece(run, len);
		char *space = client_space(&run->conn.link.client, &room);

		must(space != NULL && room > 0);
		if (some > room)
			some = room;
		memcpy(space, data, some);
		client_received(&run->conn.link.client, some);
		data += some;
		len -= some;
		whole = listen(run);
	}
}

static int digit(const char *at, const char *end)
{
	return at < end && *at >= '0' && *at <= '9' ? *at - '0' : -1;
}

/* What stands behind a "~"; how many octets that is, 0: it is none of these. */
static size_t directive(struct run *run, const char *at, const char *end)
{
	int number = digit(at + 1, end);

	if (at == end)
		return 0;
	if (digit(at, end) >= 0 && digit(at, end) < CALLS)
		ask(run, *at - '0');
	else if (*at == 's')
		send_some(run, SIZE_MAX);
	else if (*at == 'x')
		lose(run);
	else if (*at == 'f' && number >= 0 && number < CALLS)
		forget(run, number);
	else if (*at == 'o' && number >= 0)
		send_some(run, (size_t)1 << number);
	else
		return 0;
	if (*at == 'x')
		listen(run);
	return *at == 'f' || *at == 'o' ? 2 : 1;
}

static void end_all(struct run *run)
{
	struct client *client = &run->conn.link.client;
	size_t left = 0;

	lose(run);
	listen(run);
	for (const struct call *call = client->first; call != NULL; call = call->next)
		left++;
	for (int i = 0; i < CALLS; i++) {
		if (!run->out[i])
			continue;
		must(plans[i].repeat || run->left_on[i] == 0); /* else it is CUT */
		must(left-- > 0 && !client_forget(client, &run->call[i]));
		end_call(run, i);
	}
	must(left == 0 && client_idle(client));
}

/* What a client tells that hears the input so; to be freed. */
static char *play(const char *data, size_t size, enum cut cut, size_t *len)
{
	struct run *run = calloc(1, sizeof *run);
	const char *at = data, *from = data, *end = data + size;
	char *text;

	must(run != NULL && (run->told = open_memstream(&text, len)) != NULL);
	must(client_init(&run->conn.link.client, SLICE_OF("fuzz"), SLICE_ABSENT));
	run->connection = 1;
	run->cut = cut;
	while (at < end) {
		size_t taken = 0;

		if (*at == '~') {
			hear(run, from, (size_t)(at - from));
			from = at;
			taken = directive(run, at + 1, end);
		}
		if (taken > 0)
			from = at + 1 + taken;
		at += 1 + taken;
	}
	hear(run, from, (size_t)(end - from));
	end_all(run);
	client_release(&run->conn.link.client);
	fclose(run->told);
	free(run);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len, len_cut;
	char *whole = play((const char *)data, size, CUT_NEVER, &len);

	for (enum cut cut = CUT_EACH; cut <= CUT_SOME; cut++) {
		char *text = play((const char *)data, size, cut, &len_cut);

		must(len_cut == len && memcmp(text, whole, len) == 0);
		free(text);
	}
	free(whole);
	return 0;
}
