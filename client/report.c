/*
 * report.c - what `run` and `lock` tell a program. See report.h. Called by cli_run.c, run_answer.c, run_reconcile.c
 * and run_settle.c.
 *
 * The line is written at the very end, with one write: an empty file says that we did not get so far. A full disk is
 * said loudly and never changes the exit code.
 */
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

bool report_open(struct report *report, const char *name, bool json, struct errbuf *err)
{
	*report = (struct report){.fd = -1, .name = name, .json = json};
	if (!name)
		return true;
	report->fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (report->fd < 0)
		err_set(err, "--report %s: %s", name, strerror(errno));
	return report->fd >= 0;
}

bool report_open_fd(struct report *report, int64_t fd, bool json, struct errbuf *err)
{
	*report = (struct report){.fd = -1, .name = "--status-fd", .json = json};
	int flags = fd <= INT_MAX ? fcntl((int)fd, F_GETFL) : -1;
	if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
		report->fd = fcntl((int)fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (report->fd < 0)
		err_set(err, "--status-fd %lld: it is not open for writing", (long long)fd);
	else if (fd > STDERR_FILENO)
		close((int)fd);
	return report->fd >= 0;
}

void report_word(struct report *report, const char *word)
{
	report->word = word;
	report->count = 0;
}

static void put(struct report *report, const char *name, const char *text, int64_t number)
{
	if (report->count == REPORT_FIELDS)
		return;
	report->field[report->count].name = name;
	report->field[report->count].text = text;
	report->field[report->count++].number = number;
}

void report_number(struct report *report, const char *name, int64_t number)
{
	put(report, name, NULL, number);
}

void report_text(struct report *report, const char *name, const char *text)
{
	put(report, name, text, 0);
}

/* The texts are words of ours: nothing in them needs an escape, in the line or in JSON. */
static void write_fields(const struct report *report, struct writer *w)
{
	for (size_t i = 0; i < report->count; i++) {
		writer_text(w, report->json ? ",\"" : " ");
		writer_text(w, report->field[i].name);
		writer_text(w, report->json ? "\":" : "=");
		if (!report->field[i].text) {
			writer_int(w, report->field[i].number);
			continue;
		}
		writer_text(w, report->json ? "\"" : "");
		writer_text(w, report->field[i].text);
		writer_text(w, report->json ? "\"" : "");
	}
}

void report_write(struct report *report)
{
	char line[1024];
	struct writer w;
	if (report->fd < 0 || !report->word)
		return;
	writer_init(&w, line, sizeof(line));
	writer_text(&w, report->json ? "{\"format\":1,\"word\":\"" : "");
	writer_text(&w, report->word);
	writer_text(&w, report->json ? "\"" : "");
	write_fields(report, &w);
	writer_text(&w, report->json ? "}\n" : "\n");
	ssize_t n = write(report->fd, w.data, w.len);
	if (n != (ssize_t)w.len)
		cli_say("the report could not be written to %s: %s. It would say: %.*s", report->name,
			n < 0 ? strerror(errno) : "it is full", (int)w.len - 1, w.data);
	close(report->fd);
	report->fd = -1;
}
