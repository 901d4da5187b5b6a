/* ledger.c - see ledger.h. */
#include "ledger.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE 512
#define LARGE 9000 /* a result that needs pages of its own */

enum verb { CLAIM, COMPLETE, FAIL, RELEASE, DOUBT, RENEW, FORGET, FREE, STATUS, VERB__COUNT };

/* What a step makes of a record, where it is none that looks only. */
static const struct {
	const char *name;
	enum entry_state makes;
} verbs[VERB__COUNT] = {
    [CLAIM] = {"CLAIM", ENTRY_CLAIMED},  [COMPLETE] = {"COMPLETE", ENTRY_DONE}, [FAIL] = {"FAIL", ENTRY_FAILED},
    [RELEASE] = {"RELEASE", ENTRY_FREE}, [DOUBT] = {"DOUBT", ENTRY_UNKNOWN},    [RENEW] = {"RENEW", ENTRY_CLAIMED},
    [FORGET] = {"FORGET", ENTRY_ABSENT}, [FREE] = {"RESOLVE", ENTRY_FREE},      [STATUS] = {"STATUS", ENTRY_ABSENT},
};

static const char *const states[] = {"absent", "claimed", "done", "failed", "free", "unknown"};

/* The steps of one round are sent together, so that they may share a transaction; there is at most one for each key. */
struct step {
	int round, key;
	enum verb verb;
	size_t result_len;
};

static const struct step life[] = {
    {1, 0, CLAIM, 0},  {1, 1, CLAIM, 0},    {1, 2, CLAIM, 0},   {1, 3, CLAIM, 0},  {1, 4, CLAIM, 0},
    {1, 5, CLAIM, 0},  {2, 0, COMPLETE, 7}, {2, 1, RELEASE, 0}, {2, 2, DOUBT, 0},  {2, 3, FAIL, 0},
    {2, 4, RENEW, 0},  {2, 5, STATUS, 0},   {3, 0, CLAIM, 0},   {3, 1, CLAIM, 0},  {3, 2, COMPLETE, LARGE},
    {3, 3, CLAIM, 0},  {3, 4, STATUS, 0},   {3, 5, CLAIM, 0},   {4, 0, STATUS, 0}, {4, 1, COMPLETE, 3},
    {4, 2, STATUS, 0}, {4, 3, FORGET, 0},   {4, 4, RELEASE, 0}, {4, 5, DOUBT, 0},  {5, 0, CLAIM, 0},
    {5, 3, CLAIM, 0},  {5, 4, CLAIM, 0},    {5, 5, FREE, 0},
};
#define ROUNDS 5

#define MUST(condition, entry, reply)                                                                   \
	ck_assert_msg(condition, "%s: %s, known as %s fence %lld%s%s: %s", ledger->label, (entry)->key, \
		      states[(entry)->state], (long long)(entry)->fence, (entry)->doubt ? " or " : "",  \
		      (entry)->doubt ? states[(entry)->may] : "", reply)

/* ---- the wire ---- */

/* A line and its body, of which only the length counts. NULL: the connection is over. */
static const char *hear(int fd)
{
	static char line[LINE], body[LARGE + 1];
	const char *got = wire_line(fd);
	long long len;

	if (got == NULL)
		return NULL;
	snprintf(line, sizeof line, "%s", got);
	len = wire_number(line, "body");
	if (len >= 0 && (len > LARGE || recv(fd, body, (size_t)len + 1, MSG_WAITALL) != len + 1))
		return NULL;
	return line;
}

static bool says(const char *reply, const char *word)
{
	size_t len = strlen(word);

	return strncmp(reply, word, len) == 0 && (reply[len] == ' ' || reply[len] == '\0');
}

static bool has_state(const char *reply, enum entry_state state)
{
	char text[32];

	snprintf(text, sizeof text, " state=%s", states[state]);
	return strstr(reply, text) != NULL;
}

/* ---- steps ---- */

/* Could it be done, as the record is? */
static bool fits(const struct entry *entry, enum verb verb)
{
	switch (verb) {
	case CLAIM:
	case STATUS:
		return true;
	case COMPLETE:
	case FAIL:
	case RELEASE:
		return entry->state == ENTRY_CLAIMED || entry->state == ENTRY_UNKNOWN;
	case DOUBT:
	case RENEW:
		return entry->state == ENTRY_CLAIMED;
	case FORGET:
		return entry->state == ENTRY_FAILED;
	case FREE:
		return entry->state == ENTRY_UNKNOWN;
	case VERB__COUNT:
		break;
	}
	return false;
}

static bool step_send(int fd, struct entry *entry, const struct step *step)
{
	static char text[LARGE + LINE];
	int len;

	if (step->verb == CLAIM && entry->state != ENTRY_CLAIMED) /* a new try has a new token */
		snprintf(entry->token, sizeof entry->token, "token-%d-%08x", step->round, (unsigned)rand());
	len = snprintf(text, LINE, "%s %s", verbs[step->verb].name, entry->key);
	if (step->verb == CLAIM)
		len += snprintf(text + len, LINE, " token=%s", entry->token);
	else if (step->verb == FREE)
		len += snprintf(text + len, LINE, " as=free");
	else if (step->verb != STATUS && step->verb != FORGET)
		len += snprintf(text + len, LINE, " fence=%lld", (long long)entry->fence);
	if (step->verb == RENEW)
		len += snprintf(text + len, LINE, " lease=20m");
	if (step->result_len > 0) {
		len += snprintf(text + len, LINE, " body=%zu\n", step->result_len);
		memset(text + len, 'r', step->result_len);
		len += (int)step->result_len;
	}
	text[len++] = '\n';
	return wire_send(fd, text, (size_t)len);
}

/* It was not answered, or not surely. */
static void doubt(struct entry *entry, const struct step *step)
{
	if (step->verb == STATUS || (step->verb == CLAIM && entry->state != ENTRY_ABSENT && entry->state != ENTRY_FREE))
		return; /* changes nothing */
	entry->doubt = true;
	entry->may = verbs[step->verb].makes;
	entry->may_len = step->result_len;
}

static void learn_claim(struct ledger *ledger, struct entry *entry, const char *reply)
{
	static const char *const word[] = {"WON", "WON", "DONE", "FAILED", "WON", "UNKNOWN"};
	long long fence = wire_number(reply, "fence");

	MUST(says(reply, word[entry->state]), entry, reply);
	if (says(reply, "WON") && entry->state != ENTRY_CLAIMED)
		MUST(fence > entry->fence, entry, reply);
	else
		MUST(fence == entry->fence, entry, reply);
	if (says(reply, "WON"))
		entry->state = ENTRY_CLAIMED;
	entry->fence = fence;
}

static void learn_status(struct ledger *ledger, struct entry *entry, const char *reply)
{
	if (entry->state == ENTRY_ABSENT) {
		MUST(says(reply, "NOTFOUND"), entry, reply);
		return;
	}
	MUST(says(reply, "STATUS") && has_state(reply, entry->state), entry, reply);
	MUST(wire_number(reply, "fence") == entry->fence, entry, reply);
	if (strstr(reply, " body=") != NULL || entry->result_len > 0)
		MUST(wire_number(reply, "body") == (long long)entry->result_len, entry, reply);
}

static void learn(struct ledger *ledger, struct entry *entry, const struct step *step, const char *reply)
{
	if (says(reply, "ERR")) {
		MUST(says(reply, "ERR store") || says(reply, "ERR busy") || says(reply, "ERR timeout"), entry, reply);
		ledger->refused++;
		if (says(reply, "ERR timeout")) {
			ledger->uncertain++;
			doubt(entry, step);
		}
		return;
	}
	if (step->verb == CLAIM) {
		learn_claim(ledger, entry, reply);
		return;
	}
	if (step->verb == STATUS) {
		if (entry->state == ENTRY_DONE) /* the result was not asked for */
			MUST(says(reply, "STATUS") && has_state(reply, ENTRY_DONE), entry, reply);
		else
			learn_status(ledger, entry, reply);
		return;
	}
	MUST(says(reply, "OK"), entry, reply);
	entry->state = verbs[step->verb].makes;
	entry->fence += entry->state == ENTRY_FREE;
	entry->result_len = entry->state == ENTRY_DONE ? step->result_len : 0;
}

/* False: the connection is over. */
static bool round_play(struct ledger *ledger, int fd, int round)
{
	const struct step *sent[LEDGER_KEYS];
	size_t count = 0, heard;

	for (size_t i = 0; i < sizeof life / sizeof life[0]; i++) {
		struct entry *entry = &ledger->entry[life[i].key];

		if (life[i].round != round || entry->doubt || !fits(entry, life[i].verb))
			continue;
		sent[count++] = &life[i];
		if (!step_send(fd, entry, &life[i]))
			break;
	}
	for (heard = 0; heard < count; heard++) {
		const char *reply = hear(fd);

		if (reply == NULL)
			break;
		learn(ledger, &ledger->entry[sent[heard]->key], sent[heard], reply);
	}
	for (size_t i = heard; i < count; i++) {
		ledger->unanswered++;
		doubt(&ledger->entry[sent[i]->key], sent[i]);
	}
	return heard == count;
}

void ledger_init(struct ledger *ledger, const char *name)
{
	memset(ledger, 0, sizeof *ledger);
	snprintf(ledger->label, sizeof ledger->label, "%s", name);
	for (int i = 0; i < LEDGER_KEYS; i++) {
		snprintf(ledger->entry[i].key, sizeof ledger->entry[i].key, "%.40s-%d", name, i);
		for (char *at = ledger->entry[i].key; *at != '\0'; at++)
			if (*at == ' ')
				*at = '-';
	}
}

void ledger_play(struct ledger *ledger, const struct spawn *daemon)
{
	int fd = spawn_connect(daemon);

	for (int round = 1; fd >= 0 && round <= ROUNDS; round++)
		if (!round_play(ledger, fd, round))
			break;
	if (fd >= 0)
		close(fd);
}

/* ---- afterwards ---- */

static const char *ask(struct ledger *ledger, int fd, const struct entry *entry, const char *line)
{
	const char *reply = wire_say(fd, line) ? hear(fd) : NULL;

	MUST(reply != NULL, entry, "it does not answer");
	return reply;
}

/* What was in doubt is told by the record. */
static void settle_doubt(struct ledger *ledger, struct entry *entry, const char *reply)
{
	long long fence = wire_number(reply, "fence");
	bool done = entry->may == ENTRY_ABSENT ? says(reply, "NOTFOUND") : has_state(reply, entry->may);

	if (!done)
		return;
	if (entry->may == ENTRY_CLAIMED && entry->state != ENTRY_CLAIMED)
		MUST(fence > entry->fence, entry, reply);
	else
		fence = entry->fence + (entry->may == ENTRY_FREE);
	entry->state = entry->may;
	entry->fence = fence;
	entry->result_len = entry->may_len;
}

void ledger_check(struct ledger *ledger, const struct spawn *daemon, bool restarted)
{
	int fd = spawn_connect(daemon);

	for (int i = 0; i < LEDGER_KEYS; i++) {
		struct entry *entry = &ledger->entry[i], seen = *entry;
		const char *reply;
		char line[LINE];

		snprintf(line, sizeof line, "STATUS %s result\n", entry->key);
		reply = ask(ledger, fd, entry, line);
		if (entry->doubt)
			settle_doubt(ledger, &seen, reply);
		learn_status(ledger, &seen, reply);
		if (!restarted)
			continue;
		*entry = seen;
		entry->doubt = false;
	}
	close(fd);
}

void ledger_go_on(struct ledger *ledger, const struct spawn *daemon)
{
	int fd = spawn_connect(daemon);

	for (int i = 0; i < LEDGER_KEYS; i++) {
		struct entry *entry = &ledger->entry[i];
		char line[LINE];

		if (entry->state != ENTRY_CLAIMED)
			snprintf(entry->token, sizeof entry->token, "token-again-%08x", (unsigned)rand());
		snprintf(line, sizeof line, "CLAIM %s token=%s\n", entry->key, entry->token);
		learn_claim(ledger, entry, ask(ledger, fd, entry, line));
	}
	close(fd);
}

void ledger_wait_well(const struct spawn *daemon, const char *label)
{
	long long deadline_ms = wait_now_ms() + SPAWN_WAIT_MS;
	char reply[200];

	do {
		snprintf(reply, sizeof reply, "%s", wire_ask_once(daemon, "CLAIM well token=of-the-one-that-waits"));
		if (says(reply, "WON"))
			return;
	} while (wait_moment(deadline_ms));
	ck_abort_msg("%s: it does not heal: %s", label, reply);
}
