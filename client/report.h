/*
 * report.h - what `run` and `lock` tell a program: one line of words and fields, in --report FILE or on --status-fd N.
 */
#ifndef CLAIM_REPORT_H
#define CLAIM_REPORT_H

#include "../proto/proto.h"

#define REPORT_FIELDS 12

struct report {
	int fd;           /* -1: nobody asked */
	const char *name; /* where it goes, for people */
	bool json;
	const char *word; /* RAN, DUPLICATE, BURNED, HELD, DONE, FAILED, MISMATCH, UNKNOWN, STOPPED, ERR */
	size_t count;
	struct {
		const char *name;
		const char *text; /* NULL: a number */
		int64_t number;
	} field[REPORT_FIELDS];
};

/* Opens the file, before anything is started. False: *err says why. name NULL: no report. */
bool report_open(struct report *report, const char *name, bool json, struct errbuf *err);
/* The same for a descriptor that our caller has opened. From 3 on it is ours alone then: the command does not get it. */
bool report_open_fd(struct report *report, int64_t fd, bool json, struct errbuf *err);
void report_word(struct report *report, const char *word);
void report_number(struct report *report, const char *name, int64_t number);
void report_text(struct report *report, const char *name, const char *text); /* static text */
/* Writes the line. A failure is said on stderr and changes nothing else: what happened has happened. */
void report_write(struct report *report);

#endif
