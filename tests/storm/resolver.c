/*
 * resolver.c - settles what is in doubt, as a program does that asks the receiver of the effects; and the audit at the end.
 *
 * It reads the sink to see whether the effect of a claim began and was completed. In between it also tries its luck with
 * claims that are still held, which must be refused.
 */
#include "worker.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "../../proto/mem.h"

#define LISTED_MAX 32
#define AUDIT_WAIT_MS 20000

/* The effect of one claim. Two keys may well have the same fence. */
struct mark {
	char key[KEY_SIZE];
	int64_t fence;
	bool ended;
};

struct sink {
	struct journal journal;
	struct mark *mark; /* in the order of the sink */
	size_t count, size;
};

static struct mark *sink_find(const struct sink *sink, const char *key, int64_t fence)
{
	for (size_t i = sink->count; i > 0; i--)
		if (sink->mark[i - 1].fence == fence && strcmp(sink->mark[i - 1].key, key) == 0)
			return &sink->mark[i - 1];
	return NULL;
}

static bool sink_add(struct sink *sink, const struct event *start)
{
	struct mark *added;

	if (sink->count == sink->size) {
		size_t size = sink->size > 0 ? 2 * sink->size : 1024;
		struct mark *mark = mem_resize(sink->mark, size * sizeof *mark);

		if (mark == NULL)
			return false;
		sink->mark = mark;
		sink->size = size;
	}
	added = &sink->mark[sink->count++];
	*added = (struct mark){.fence = start->fence};
	memcpy(added->key, start->key, sizeof added->key);
	return true;
}

static bool sink_follow(struct sink *sink)
{
	struct event event;

	while (journal_read(&sink->journal, &event)) {
		struct mark *mark;

		if (event.what == HAPPENED_START && !sink_add(sink, &event))
			return false;
		if (event.what == HAPPENED_END && (mark = sink_find(sink, event.key, event.fence)) != NULL)
			mark->ended = true;
	}
	return true;
}

static void resolve(struct client *client, const struct sink *sink, const struct listed *listed)
{
	struct event ask = {.verb = VERB_RESOLVE, .fence = listed->fence, .as = STATE_FREE}, said;
	const struct mark *mark = sink_find(sink, listed->key, listed->fence);
	unsigned slot, generation;

	if (sscanf(listed->key, "k%u.%u", &slot, &generation) != 2)
		return;
	key_name(&ask, slot, generation);
	if (mark != NULL && mark->ended)
		ask.as = STATE_DONE;
	else if (mark != NULL && client_chance(client, 50))
		ask.as = STATE_FAILED;
	if (ask.as != STATE_FREE)
		snprintf(ask.result, sizeof ask.result, "r%lld", (long long)listed->fence);
	client_ask(client, &ask, &said); /* where there is no answer it will be listed again */
}

void resolver_run(struct storm *storm, struct client *client, const char *sink_path)
{
	struct listed listed[LISTED_MAX];
	struct sink sink = {0};

	if (!journal_open(&sink.journal, sink_path))
		return;
	for (int phase; (phase = atomic_load(&storm->phase)) != PHASE_OVER; poll(NULL, 0, 10)) {
		const char *state = "unknown";
		int count;

		if (phase == PHASE_STORM && client_chance(client, 30))
			state = client_chance(client, 60) ? "lapsed" : "live";
		count = client_list(client, state, listed, LISTED_MAX);
		/* Only now: what had begun before is in the sink. */
		if (!sink_follow(&sink))
			break;
		for (int i = 0; i < count; i++)
			if (phase != PHASE_STORM || client_chance(client, 30))
				resolve(client, &sink, &listed[i]);
	}
	mem_free(sink.mark);
	journal_close(&sink.journal);
}

/* ---- the audit ---- */

static bool audit_key(struct client *client, struct event *ask, long long deadline_ms)
{
	struct event said;

	do {
		if (!client_insist(client, ask, &said, deadline_ms))
			return false;
		if (said.word == WORD_DONE || said.word == WORD_FAILED)
			return true;
		if (said.word == WORD_WON)
			break;
	} while (wait_moment(deadline_ms));
	if (said.word != WORD_WON)
		return false;
	client_effect(client, HAPPENED_START, ask->key, said.shown);
	client_effect(client, HAPPENED_END, ask->key, said.shown);
	ask->verb = VERB_COMPLETE;
	ask->fence = said.shown;
	ask->lease_ms = 0;
	snprintf(ask->result, sizeof ask->result, "d%lld", (long long)said.shown);
	return client_insist(client, ask, &said, deadline_ms) && said.word == WORD_OK;
}

bool audit_run(struct storm *storm, struct client *client)
{
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		for (unsigned generation = 0; generation <= atomic_load(&storm->generation[slot]); generation++) {
			struct event ask = {.verb = VERB_CLAIM, .lease_ms = 5000};

			key_name(&ask, slot, generation);
			ask.token = 1 + client_dice(client, PROTO_MAX_INTEGER);
			if (!audit_key(client, &ask, wait_now_ms() + AUDIT_WAIT_MS))
				return false;
		}
	}
	return true;
}
