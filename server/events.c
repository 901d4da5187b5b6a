/* events.c - see events.h. */
#include "events.h"

#include "../proto/mem.h"

#define EVENT_OCTETS 4096 /* a word, a key of 1024 octets all escaped, and some numbers */

/* ---- watching ---- */

bool watch_start(struct watchers *watchers, struct watcher *watcher, struct conn *conn, const struct watch_ask *ask)
{
	struct slice prefix = ask->prefix;

	if (prefix.data != NULL && (prefix.data = mem_copy(prefix.data, prefix.len)) == NULL)
		return false;
	watch_end(watchers, watcher);
	*watcher = (struct watcher){.next = watchers->first, .conn = conn, .ask = *ask};
	watcher->ask.prefix = prefix;
	if (watchers->first != NULL)
		watchers->first->prev = watcher;
	watchers->first = watcher;
	watchers->count++;
	return true;
}

void watch_end(struct watchers *watchers, struct watcher *watcher)
{
	if (watcher->conn == NULL)
		return;
	if (watcher->prev != NULL)
		watcher->prev->next = watcher->next;
	else
		watchers->first = watcher->next;
	if (watcher->next != NULL)
		watcher->next->prev = watcher->prev;
	watchers->count--;
	mem_free((void *)(uintptr_t)watcher->ask.prefix.data);
	watcher->conn = NULL;
}

/* The word for what the record has become, and the state that `state=` names. NULL: nothing that is told. */
static const char *word_of(const struct op *op, int *state)
{
	*state = -1;
	switch (op->record.state) {
	case STATE_CLAIMED:
		*state = CHOICE_STATE_LIVE;
		return op->ask.verb == ASK_CLAIM && op->verdict.was != WAS_OWN ? "WON" : NULL;
	case STATE_DONE:
		*state = CHOICE_STATE_DONE;
		return "DONE";
	case STATE_FAILED:
		*state = CHOICE_STATE_FAILED;
		return "FAILED";
	case STATE_UNKNOWN:
		*state = CHOICE_STATE_UNKNOWN;
		return "UNKNOWN";
	case STATE_FREE:
		*state = CHOICE_STATE_FREE;
		return "FREE";
	case STATE_ABSENT:
		break;
	}
	return "GONE";
}

static void begin(struct writer *w, const char *word, struct slice key, size_t ns_len, int64_t fence)
{
	reply_event(w, word);
	reply_bytes(w, "key", (struct slice){key.data + ns_len, key.len - ns_len});
	reply_number(w, "fence", fence);
}

static bool tell_missed(struct watcher *watcher)
{
	char line[128];
	struct writer w;

	if (watcher->missed == 0)
		return true;
	writer_init(&w, line, sizeof line);
	reply_event(&w, "MISSED");
	reply_number(&w, "count", (int64_t)watcher->missed);
	reply_end(&w, SLICE_ABSENT, SLICE_ABSENT);
	if (!conn_tell(watcher->conn, writer_done(&w)))
		return false;
	watcher->missed = 0;
	return true;
}

void watch_tell(struct watchers *watchers, const struct op *op)
{
	int state;
	const char *word = word_of(op, &state);
	char line[EVENT_OCTETS];
	struct writer w;

	if (word == NULL)
		return;
	for (struct watcher *watcher = watchers->first; watcher != NULL; watcher = watcher->next) {
		const struct watch_ask *ask = &watcher->ask;

		if (!slice_starts(op->key, ask->prefix) || (ask->state != -1 && ask->state != state))
			continue;
		writer_init(&w, line, sizeof line);
		begin(&w, word, op->key, ask->ns_len, op->record.fence);
		reply_end(&w, SLICE_ABSENT, SLICE_ABSENT);
		if (!tell_missed(watcher) || !conn_tell(watcher->conn, writer_done(&w)))
			watcher->missed++;
	}
}

void watch_remind(struct watchers *watchers)
{
	for (struct watcher *watcher = watchers->first; watcher != NULL; watcher = watcher->next)
		tell_missed(watcher);
}

/* ---- notices ---- */

struct slice lost_cause_name(enum lost_cause cause)
{
	static const char *const names[LOST__COUNT] = {"refused", "taken", "doubt"};

	return slice_from(names[cause]);
}

void notice_tell(struct conn *conn, size_t ns_len, const struct notice *notice)
{
	bool lost = notice->kind == NOTICE_LOST;
	char line[EVENT_OCTETS];
	struct writer w;

	writer_init(&w, line, sizeof line);
	begin(&w, lost ? "LOST" : "RENEWED", notice->key, ns_len, notice->fence);
	if (lost)
		reply_bytes(&w, "cause", lost_cause_name(notice->cause));
	else
		reply_ms(&w, "left_ms", notice->left_ms);
	reply_end(&w, SLICE_ABSENT, SLICE_ABSENT);
	if (lost)
		conn_must_tell(conn, writer_done(&w));
	else
		conn_tell(conn, writer_done(&w));
}
