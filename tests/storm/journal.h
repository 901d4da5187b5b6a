/*
 * journal.h - what happened in a storm, one line each: the sink of all effects and the record of all answers.
 *
 * One file that everybody appends to, each line with one write, so that the order of its lines is the order in which the sink
 * saw them. Workers, the resolver and the driver write it; the resolver follows it to learn which effects
 * happened; the judge reads it as a whole. A line looks like a reply of the protocol and is read by its parser:
 *
 *     said at=52100 asked=51000 pid=7 verb=CLAIM key=k3.12 fence=.. word=WON shown=1764540021000123 ... whole
 *
 * Who is killed in the middle of a line leaves a part of it. Every line starts with a LF of its own and ends with the word
 * "whole", so such a part is seen and spoils no other line; it counts as something that did not get to the sink.
 *
 * Times are microseconds of CLOCK_BOOTTIME, which all processes share and nobody can set.
 */
#ifndef CLAIMD_TESTS_STORM_JOURNAL_H
#define CLAIMD_TESTS_STORM_JOURNAL_H

#include <sys/types.h>

#include "../../server/op.h"

#define KEY_SIZE 24
#define RESULT_SIZE 24

enum happening {
	HAPPENED_SENT,    /* a settlement is about to go out: from now on it may take effect */
	HAPPENED_SAID,    /* a call was answered */
	HAPPENED_START,   /* the sink: an effect begins, with the fence of its claim */
	HAPPENED_END,     /* the sink: it is complete */
	HAPPENED_RENEWED, /* a worker was told that its claim was renewed, */
	HAPPENED_LOST,    /* or is lost; the cause is in `result` */
	HAPPENED_GONE,    /* the connection of this worker is about to end, or its process is about to be killed */
	HAPPENED_TROUBLE, /* from asked_us to at_us daemons were killed or stopped, or the machine stood still */
	HAPPENED_AUDIT,   /* the storm is over, and every key is asked for once more */
	HAPPENED__COUNT
};

struct event {
	enum happening what;
	int64_t at_us;    /* sent, start, end, gone: just before; said: when the answer was there */
	int64_t asked_us; /* said: just before the request went out */
	int64_t pid;
	char key[KEY_SIZE];
	/* sent and said: what was asked for. Options that the verb does not have are 0 */
	enum verb verb;
	int64_t fence; /* start, end: that of the claim */
	int64_t token; /* 0: none */
	int64_t lease_ms;
	int64_t ttl_ms; /* of this key, also where the request did not say it */
	enum lapse lapse;
	int64_t wait_ms, hold_ms;
	enum drop drop;
	enum state as; /* RESOLVE */
	/* said: the answer */
	enum word word;
	enum err err;
	bool surely_nothing;      /* ERR with retry=safe */
	int64_t shown;            /* the fence in it; 0: none */
	enum state state;         /* what it shows the record to be; STATE_ABSENT also where it says nothing of one */
	bool absent;              /* it says that there is, or was, no record */
	bool own;                 /* WON was=own */
	bool command;             /* WON: told to the command of `claim run`, by that */
	int64_t left_ms;          /* of the lease, or of the settlement; -1: not said */
	int64_t age_ms;           /* -1: not said */
	char result[RESULT_SIZE]; /* sent: to be recorded; said: as recorded; "": none */
	bool killed;              /* gone: from outside, so that what it was about to say may not have been said */
	size_t place;             /* in the order of the sink; for the judge, not in the line */
};

int64_t journal_now_us(void);

/* For appending; -1 when it cannot be opened. */
int journal_append(const char *path);
/* False: it could not be written, and nobody will know of it. */
bool journal_write(int fd, const struct event *event);

/* Reading, from the start on. What is appended meanwhile is read too. */
struct journal {
	int fd;
	int64_t torn; /* parts of lines */
	size_t begin, end;
	char data[1 << 16];
};

bool journal_open(struct journal *journal, const char *path);
/* The next whole line; false when there is none now. */
bool journal_read(struct journal *journal, struct event *event);
void journal_close(struct journal *journal);
/* Reads one line (without LF), which is written to. False: it is a part, or no line of a journal. */
bool journal_parse(char *line, size_t len, struct event *event);

/* "done" and so on; STATE_ABSENT also for no name at all. */
enum state journal_state(struct slice name);

#endif
