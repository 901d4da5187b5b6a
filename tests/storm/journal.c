/* journal.c - see journal.h. */
#include "journal.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct slice what_names[HAPPENED__COUNT] = {
    [HAPPENED_SENT] = {"sent", 4}, [HAPPENED_SAID] = {"said", 4},   [HAPPENED_START] = {"start", 5},
    [HAPPENED_END] = {"end", 3},   [HAPPENED_AUDIT] = {"audit", 5}, [HAPPENED_RENEWED] = {"renewed", 7},
    [HAPPENED_LOST] = {"lost", 4}, [HAPPENED_GONE] = {"gone", 4},   [HAPPENED_TROUBLE] = {"trouble", 7},
};
static const char *const state_names[] = {
    [STATE_ABSENT] = "absent", [STATE_CLAIMED] = "claimed", [STATE_DONE] = "done",
    [STATE_FAILED] = "failed", [STATE_UNKNOWN] = "unknown", [STATE_FREE] = "free",
};

int64_t journal_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

enum state journal_state(struct slice name)
{
	for (size_t i = 0; i < sizeof state_names / sizeof state_names[0]; i++)
		if (slice_equal(name, slice_from(state_names[i])))
			return (enum state)i;
	return STATE_ABSENT;
}

/* ---- writing ---- */

static void number(struct writer *w, const char *name, int64_t n)
{
	if (n != 0)
		reply_number(w, name, n);
}

static void flag(struct writer *w, const char *name, bool set)
{
	number(w, name, set);
}

static void state(struct writer *w, const char *name, enum state value)
{
	if (value != STATE_ABSENT)
		reply_bytes(w, name, slice_from(state_names[value]));
}

static void write_ask(struct writer *w, const struct event *e)
{
	reply_bytes(w, "verb", verb_info(e->verb)->name);
	number(w, "token", e->token);
	number(w, "lease", e->lease_ms);
	number(w, "ttl", e->ttl_ms);
	flag(w, "unknown", e->lapse == LAPSE_UNKNOWN);
	number(w, "wait", e->wait_ms);
	number(w, "hold", e->hold_ms);
	number(w, "drop", e->drop);
	state(w, "as", e->as);
	reply_bytes(w, "result", slice_from(e->result));
}

static void write_answer(struct writer *w, const struct event *e)
{
	reply_bytes(w, "word", word_name(e->word));
	if (e->word == WORD_ERR)
		reply_bytes(w, "err", e->err < ERR__COUNT ? err_name(e->err) : SLICE_OF("new"));
	flag(w, "safe", e->surely_nothing);
	number(w, "shown", e->shown);
	state(w, "state", e->state);
	flag(w, "absent", e->absent);
	flag(w, "own", e->own);
	flag(w, "command", e->command);
	if (e->left_ms >= 0)
		reply_number(w, "left", e->left_ms);
	if (e->age_ms >= 0)
		reply_number(w, "age", e->age_ms);
}

int journal_append(const char *path)
{
	return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

bool journal_write(int fd, const struct event *e)
{
	char line[768];
	struct writer w;

	writer_init(&w, line, sizeof line);
	writer_char(&w, '\n');
	writer_slice(&w, what_names[e->what]);
	reply_number(&w, "at", e->at_us);
	reply_number(&w, "pid", e->pid);
	reply_bytes(&w, "key", slice_from(e->key));
	number(&w, "fence", e->fence);
	number(&w, "asked", e->asked_us);
	flag(&w, "killed", e->killed);
	if (e->what == HAPPENED_SENT || e->what == HAPPENED_SAID)
		write_ask(&w, e);
	if (e->what == HAPPENED_LOST)
		reply_bytes(&w, "result", slice_from(e->result));
	if (e->what == HAPPENED_SAID)
		write_answer(&w, e);
	writer_text(&w, " whole\n");
	return !w.full && write(fd, w.data, w.len) == (ssize_t)w.len;
}

/* ---- reading ---- */

/* Cut to fit: names of ours always do. */
static void text(const struct reply *line, const char *name, char *out, size_t size)
{
	struct slice value = reply_field(line, name);
	size_t len = value.len < size - 1 ? value.len : size - 1;

	if (len > 0)
		memcpy(out, value.data, len);
	out[len] = '\0';
}

static bool set(const struct reply *line, const char *name)
{
	return reply_field(line, name).data != NULL;
}

bool journal_parse(char *data, size_t len, struct event *e)
{
	struct reply line;
	struct errbuf err;
	size_t what = 0;

	if (len == 0 || !reply_parse(&line, data, len, SLICE_ABSENT, &err) || !set(&line, "whole"))
		return false;
	while (what < HAPPENED__COUNT && !slice_equal(line.word, what_names[what]))
		what++;
	if (what == HAPPENED__COUNT)
		return false;
	memset(e, 0, sizeof *e);
	e->what = (enum happening)what;
	e->at_us = reply_integer(&line, "at", 0);
	e->asked_us = reply_integer(&line, "asked", 0);
	e->pid = reply_integer(&line, "pid", 0);
	text(&line, "key", e->key, sizeof e->key);
	e->verb = verb_find(reply_field(&line, "verb"));
	e->fence = reply_integer(&line, "fence", 0);
	e->token = reply_integer(&line, "token", 0);
	e->lease_ms = reply_integer(&line, "lease", 0);
	e->ttl_ms = reply_integer(&line, "ttl", 0);
	e->lapse = set(&line, "unknown") ? LAPSE_UNKNOWN : LAPSE_RECLAIM;
	e->wait_ms = reply_integer(&line, "wait", 0);
	e->hold_ms = reply_integer(&line, "hold", 0);
	e->drop = (enum drop)reply_integer(&line, "drop", DROP_KEEP);
	e->killed = set(&line, "killed");
	e->as = journal_state(reply_field(&line, "as"));
	e->word = word_find(reply_field(&line, "word"));
	e->err = e->word == WORD_ERR ? err_find(reply_field(&line, "err")) : ERR_NONE;
	e->surely_nothing = set(&line, "safe");
	e->shown = reply_integer(&line, "shown", 0);
	e->state = journal_state(reply_field(&line, "state"));
	e->absent = set(&line, "absent");
	e->own = set(&line, "own");
	e->command = set(&line, "command");
	e->left_ms = reply_integer(&line, "left", -1);
	e->age_ms = reply_integer(&line, "age", -1);
	text(&line, "result", e->result, sizeof e->result);
	return true;
}

bool journal_open(struct journal *journal, const char *path)
{
	journal->fd = open(path, O_RDONLY | O_CLOEXEC);
	journal->torn = 0;
	journal->begin = journal->end = 0;
	return journal->fd >= 0;
}

void journal_close(struct journal *journal)
{
	close(journal->fd);
}

/* More octets behind those that are there. False: there are none now. */
static bool fill(struct journal *journal)
{
	ssize_t got;

	memmove(journal->data, journal->data + journal->begin, journal->end - journal->begin);
	journal->end -= journal->begin;
	journal->begin = 0;
	got = read(journal->fd, journal->data + journal->end, sizeof journal->data - journal->end);
	if (got <= 0)
		return false;
	journal->end += (size_t)got;
	return true;
}

bool journal_read(struct journal *journal, struct event *event)
{
	for (;;) {
		char *line = journal->data + journal->begin;
		char *end = memchr(line, '\n', journal->end - journal->begin);
		size_t len;

		if (end == NULL) {
			if (!fill(journal))
				return false;
			continue;
		}
		len = (size_t)(end - line);
		journal->begin += len + 1;
		if (journal_parse(line, len, event))
			return true;
		journal->torn += len > 0;
	}
}
