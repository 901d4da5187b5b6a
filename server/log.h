/*
 * log.h - one line an event, each with a fixed name: the daemon's log on standard error.
 *
 *     log_event(log, LOG_LEVEL_INFO, "store_up", "the store answers again",
 *               (struct log_field[]){log_text("store", what), log_int("down_ms", ms), log_end()});
 *
 * It never blocks and never ends the daemon: a line that cannot be written at once is dropped and
 * counted, and the next line that can be written says how many were lost. It does not allocate.
 */
#ifndef CLAIMD_SERVER_LOG_H
#define CLAIMD_SERVER_LOG_H

#include "../proto/text.h"

#define LOG_MAX_LINE 4096  /* octets with the LF: what a pipe takes whole or not at all */
#define LOG_MAX_VALUE 1024 /* octets of one value as written; cut there */

enum log_format {
	LOG_FORMAT_AUTO, /* text, made for the journal where standard error is connected to it */
	LOG_FORMAT_TEXT,
	LOG_FORMAT_JSON
};

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };

/* Keys can be personal data. HASH writes the first 12 hex digits of the SHA-256 of the whole key (its namespace and a
 * colon in front, where it has one); to look for a key: printf %s KEY | sha256sum | cut -c1-12 */
enum log_keys { LOG_KEYS_HASH, LOG_KEYS_FULL, LOG_KEYS_NONE };

enum log_kind { LOG_END, LOG_TEXT, LOG_INT, LOG_KEY };

/* Made by the five functions below. Names are ours: a lower-case word that needs no escape. */
struct log_field {
	enum log_kind kind;
	const char *name;
	struct slice text;
	int64_t number;
};

struct log_field log_text(const char *name, const char *text);   /* NULL: the field is left out */
struct log_field log_slice(const char *name, struct slice text); /* absent: the field is left out */
struct log_field log_int(const char *name, int64_t number);
struct log_field log_key(const char *name, struct slice key); /* hashed, whole or left out, as configured */
struct log_field log_end(void);

struct log {
	enum log_format format; /* never AUTO */
	enum log_level level;   /* below it nothing is written */
	enum log_keys keys;
	int fd;
	bool own_fd;      /* fd is a second way to the same pipe or terminal, opened by log_init */
	bool socket;      /* fd is a socket */
	bool journal;     /* lines begin with <N>; the journal knows the time itself */
	bool torn;        /* the last line got out only in part */
	uint64_t dropped; /* lines lost since the start */
	uint64_t told;    /* of them, how many the log has admitted */
};

/* fd stays the caller's (2, mostly) and must outlive the log. With AUTO the variable JOURNAL_STREAM is read. SIGPIPE must
 * be ignored by the process. Cannot fail: when fd is no good, lines are dropped. */
void log_init(struct log *log, enum log_format format, enum log_level level, enum log_keys keys, int fd);
void log_release(struct log *log);

/* event: a fixed name for programs, snake_case. message: a fixed text for people. Both ours, without control characters or
 * quotes. fields: ends with log_end(); NULL for none. Octets in values are escaped: a peer cannot write a line or drive a
 * terminal. */
void log_event(struct log *log, enum log_level level, const char *event, const char *message,
	       const struct log_field *fields);

/* For events that a peer or a fault may cause without end. Zero it but for the first two. */
struct log_limit {
	unsigned burst; /* so many in each interval */
	int64_t interval_ms;
	int64_t since_ms; /* when the interval began */
	unsigned used;
	uint64_t held_back;  /* kept from the log since the last one that was let through */
	uint64_t suppressed; /* after `true`: how many were held back before this one, to be logged with it */
};

/* May this one be logged? now_ms on the monotonic clock. */
bool log_limit(struct log_limit *limit, int64_t now_ms);

#endif
