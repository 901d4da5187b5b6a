/*
 * log.c - see log.h. Called by the server from the loop's thread only.
 *
 * A line is built in one buffer of a fixed size and written at once: to a socket without waiting, to a pipe or a
 * terminal through a descriptor of our own that does not block (making the shared one non-blocking would surprise
 * whoever shares it), to a file as it is.
 *
 * Failure modes: the reader of the pipe is slow or gone, the disk is full, the terminal is stopped: the line is dropped
 * and counted. A line of which only a part got out is ended before the next one. A value that is too long is
 * cut; a field that does not fit into the line is left out, and the line says so with cut=1.
 */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../proto/sha256.h"
#include "clock.h"

#define RESERVE 32 /* octets of the line kept back for its end: cut=1, a brace, the LF */
#define KEY_DIGITS 12

struct log_field log_text(const char *name, const char *text)
{
	return log_slice(name, slice_from(text));
}

struct log_field log_slice(const char *name, struct slice text)
{
	return (struct log_field){LOG_TEXT, name, text, 0};
}

struct log_field log_int(const char *name, int64_t number)
{
	return (struct log_field){LOG_INT, name, SLICE_ABSENT, number};
}

struct log_field log_key(const char *name, struct slice key)
{
	return (struct log_field){LOG_KEY, name, key, 0};
}

struct log_field log_end(void)
{
	return (struct log_field){LOG_END, NULL, SLICE_ABSENT, 0};
}

/* ---- where lines go ---- */

/* The journal tells the services that it reads from: JOURNAL_STREAM is "device:inode" of their standard error. */
static bool is_journal(const struct stat *info)
{
	const char *want = getenv("JOURNAL_STREAM");
	char have[64];

	snprintf(have, sizeof(have), "%ju:%ju", (uintmax_t)info->st_dev, (uintmax_t)info->st_ino);
	return want && strcmp(want, have) == 0;
}

/* A second way to the same pipe or terminal, which does not block; -1 when there is none. */
static int open_again(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

void log_init(struct log *log, enum log_format format, enum log_level level, enum log_keys keys, int fd)
{
	struct stat info;
	int again;

	*log = (struct log){.format = format, .level = level, .keys = keys, .fd = fd};
	if (format == LOG_FORMAT_AUTO)
		log->format = LOG_FORMAT_TEXT;
	if (fstat(fd, &info) != 0)
		return;
	log->journal = format == LOG_FORMAT_AUTO && is_journal(&info);
	log->socket = S_ISSOCK(info.st_mode);
	if (!S_ISFIFO(info.st_mode) && !S_ISCHR(info.st_mode))
		return;
	again = open_again(fd);
	if (again >= 0) {
		log->fd = again;
		log->own_fd = true;
	}
}

void log_release(struct log *log)
{
	if (log->own_fd)
		close(log->fd);
	*log = (struct log){.fd = -1};
}

/* True when all of it is out. */
static bool put(struct log *log, const char *data, size_t len)
{
	ssize_t n;

	do {
		if (log->socket)
			n = send(log->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		else
			n = write(log->fd, data, len);
	} while (n < 0 && errno == EINTR);
	if (n > 0)
		log->torn = data[n - 1] != '\n';
	return n == (ssize_t)len;
}

static bool put_line(struct log *log, const char *data, size_t len)
{
	if (log->torn && !put(log, "\n", 1))
		return false;
	return put(log, data, len);
}

/* ---- what is in a line ---- */

static void write_time(struct writer *w)
{
	int64_t now = clock_wall_us();
	time_t seconds = (time_t)(now / 1000000);
	char text[32], fraction[8];
	struct tm tm;

	if (!gmtime_r(&seconds, &tm))
		return;
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(fraction, sizeof(fraction), ".%03dZ", (int)(now % 1000000 / 1000));
	writer_text(w, text);
	writer_text(w, fraction);
}

/* How many octets at `text` are one character of UTF-8 that may be shown; 0: none. */
static size_t shown_utf8(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t size = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t code;

	if (s[0] < 0xc2 || s[0] > 0xf4 || len < size)
		return 0;
	code = s[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < 0xa0 || (size == 3 && code < 0x800) || (size == 4 && code < 0x10000))
		return 0; /* a control character, or longer than it need be */
	if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	if ((code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069))
		return 0; /* ends a line, or turns the direction of what follows */
	return size;
}

/* One character of a value, with its quotes' escapes; returns how many octets of it were used. */
static size_t write_char(struct writer *w, struct slice left, bool json)
{
	unsigned char c = (unsigned char)left.data[0];
	char escape[8];
	size_t size = 1;

	if (c == '"' || c == '\\') {
		snprintf(escape, sizeof(escape), "\\%c", c);
		writer_text(w, escape);
	} else if (c >= 0x20 && c < 0x7f) {
		writer_char(w, (char)c);
	} else if ((size = shown_utf8(left.data, left.len)) > 0) {
		writer_bytes(w, left.data, size);
	} else {
		/* JSON has no octets: one that is no character becomes the character of the same number. */
		snprintf(escape, sizeof(escape), json ? "\\u00%02x" : "\\x%02x", c);
		writer_text(w, escape);
		size = 1;
	}
	return size;
}

static void write_quoted(struct writer *w, struct slice text, bool json)
{
	size_t from = w->len;
	size_t at = 0;

	writer_char(w, '"');
	while (at < text.len && !w->full && w->len - from < LOG_MAX_VALUE - 8)
		at += write_char(w, (struct slice){text.data + at, text.len - at}, json);
	if (at < text.len)
		writer_text(w, "...");
	writer_char(w, '"');
}

static bool is_plain(struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c <= 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '=')
			return false;
	}
	return text.len > 0 && text.len < LOG_MAX_VALUE;
}

static void write_value(struct writer *w, struct slice text, bool json)
{
	if (!json && is_plain(text))
		writer_slice(w, text);
	else
		write_quoted(w, text, json);
}

static void write_name(struct writer *w, const char *name, bool json)
{
	writer_text(w, json ? ",\"" : " ");
	writer_text(w, name);
	writer_text(w, json ? "\":" : "=");
}

static void write_field(struct writer *w, const struct log *log, const struct log_field *field)
{
	bool json = log->format == LOG_FORMAT_JSON;
	struct slice text = field->text;
	char hash[65];

	if (field->kind == LOG_INT) {
		write_name(w, field->name, json);
		writer_int(w, field->number);
		return;
	}
	if (!text.data || (field->kind == LOG_KEY && log->keys == LOG_KEYS_NONE))
		return;
	if (field->kind == LOG_KEY && log->keys == LOG_KEYS_HASH) {
		sha256_hex(text, hash);
		text = (struct slice){hash, KEY_DIGITS};
	}
	write_name(w, field->name, json);
	write_value(w, text, json);
}

static void write_head(struct writer *w, const struct log *log, enum log_level level, const char *event,
		       const char *message)
{
	static const char *const text_level[] = {"debug", "info ", "warn ", "error"};
	static const char *const json_level[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
	static const char *const journal_level[] = {"<7>", "<6>", "<4>", "<3>"};

	if (log->format == LOG_FORMAT_JSON) {
		writer_text(w, "{\"severity\":\"");
		writer_text(w, json_level[level]);
		writer_text(w, "\",\"time\":\"");
		write_time(w);
		writer_text(w, "\",\"event\":\"");
		writer_text(w, event);
		writer_text(w, "\",\"message\":\"");
		writer_text(w, message);
		writer_char(w, '"');
		return;
	}
	if (log->journal) {
		writer_text(w, journal_level[level]);
	} else {
		write_time(w);
		writer_char(w, ' ');
		writer_text(w, text_level[level]);
		writer_char(w, ' ');
	}
	writer_text(w, event);
	writer_char(w, ' ');
	writer_text(w, message);
}

/* The whole line; true: it is out. */
static bool write_line(struct log *log, enum log_level level, const char *event, const char *message,
		       const struct log_field *fields)
{
	char line[LOG_MAX_LINE];
	struct writer w;
	bool cut = false;

	writer_init(&w, line, sizeof(line) - RESERVE);
	write_head(&w, log, level, event, message);
	for (; fields && fields->kind != LOG_END; fields++) {
		size_t before = w.len;

		write_field(&w, log, fields);
		if (w.full) {
			w.len = before;
			w.full = false;
			cut = true;
		}
	}
	w.cap = sizeof(line);
	if (cut) {
		write_name(&w, "cut", log->format == LOG_FORMAT_JSON);
		writer_int(&w, 1);
	}
	writer_text(&w, log->format == LOG_FORMAT_JSON ? "}\n" : "\n");
	return put_line(log, line, w.len);
}

void log_event(struct log *log, enum log_level level, const char *event, const char *message,
	       const struct log_field *fields)
{
	if (level < log->level)
		return;
	if (log->dropped > log->told) {
		struct log_field lost[] = {log_int("lines", (int64_t)(log->dropped - log->told)), log_end()};

		if (write_line(log, LOG_LEVEL_WARN, "log_dropped", "lines of this log could not be written", lost))
			log->told = log->dropped;
	}
	if (!write_line(log, level, event, message, fields))
		log->dropped++;
}

bool log_limit(struct log_limit *limit, int64_t now_ms)
{
	if (limit->used == 0 || now_ms - limit->since_ms >= limit->interval_ms) {
		limit->since_ms = now_ms;
		limit->used = 0;
	}
	if (limit->used >= limit->burst) {
		limit->held_back++;
		return false;
	}
	limit->used++;
	limit->suppressed = limit->held_back;
	limit->held_back = 0;
	return true;
}
