/*
 * proto.h - the line protocol as pure functions on octets; PROTOCOL.txt says what it means.
 *
 * Nothing here reads, writes, allocates or knows the time. The daemon parses requests and formats
 * replies, the library does the reverse, and both use the same framing:
 *
 *     octets -> frame_scan -> request_parse (daemon)  -> ... -> reply_begin/reply_* (daemon)
 *                          -> reply_parse   (library) <-        request_begin/request_* (library)
 */
#ifndef CLAIMD_PROTO_PROTO_H
#define CLAIMD_PROTO_PROTO_H

#include "text.h"

#define PROTO_VERSION 1
#define PROTO_MAX_LINE 8192  /* octets before the LF */
#define PROTO_MAX_KEY 1024   /* decoded, with its namespace */
#define PROTO_MAX_BODY 65536 /* default; a setting of the daemon */
#define PROTO_MAX_JSON 65536 /* of KEY, whatever the setting is: the daemon stands still while it makes one */
#define PROTO_MAX_FIELDS 32  /* options of a request, fields of a reply */
#define PROTO_MIN_TOKEN 16
/* As long as an address takes with ".new" behind it, under which the socket is made. */
#define PROTO_MAX_SOCKET_PATH 103

#define PROTO_MAX_INTEGER ((INT64_C(1) << 53) - 1)
#define PROTO_MAX_LEASE_MS (INT64_C(365) * 24 * 3600 * 1000)
#define PROTO_NEVER INT64_MAX /* a ttl in ms that never ends */

/* ---- the words (words.def) ---- */

enum verb {
#define VERB(id, options, operand, body, help) VERB_##id,
#include "words.def"
	VERB__COUNT
};

enum option {
#define OPTION(id, name, kind, limit, help) OPT_##id,
#include "words.def"
	OPT__COUNT
};

enum choice { /* numbered from 0 over all options: CHOICE_LAPSE_RECLAIM, CHOICE_AS_DONE ... */
#define CHOICE(option, id, name) CHOICE_##option##_##id,
#include "words.def"
	      CHOICE__COUNT
};

enum word {
	WORD_NONE,
#define WORD(id) WORD_##id,
#include "words.def"
	WORD__COUNT
};

/* Every failure that a client can be told of. Whoever talks to a library or the kernel translates
 * what that says into one of these. */
enum err {
	ERR_NONE,
#define ERROR(id, name, retry, meaning) ERR_##id,
#include "words.def"
	ERR__COUNT
};

enum operand { OPERAND_NONE, OPERAND_KEY, OPERAND_MAYBE_KEY, OPERAND_MAYBE_WORD };
enum option_kind { KIND_DURATION, KIND_TTL, KIND_INTEGER, KIND_FLAG, KIND_BYTES, KIND_CHOICE };

struct verb_info {
	struct slice name;
	uint32_t options; /* 1 << OPT_x; tag is understood by all and not in here */
	enum operand operand;
	bool body;
	const char *help;
};

struct option_info {
	struct slice name;
	enum option_kind kind;
	size_t limit; /* octets, for KIND_BYTES */
	const char *help;
};

/* The tables; the argument must be below __COUNT. */
const struct verb_info *verb_info(enum verb verb);
const struct option_info *option_info(enum option option);
/* Names; static storage. word_name(WORD_NONE) is empty. */
struct slice word_name(enum word word);
struct slice choice_name(enum choice choice);
enum option choice_option(enum choice choice); /* the option that takes it */
struct slice err_name(enum err err);
struct slice err_retry(enum err err); /* "no", "safe" or "maybe" */
const char *err_meaning(enum err err);
/* Case does not count. VERB__COUNT / WORD_NONE / ERR__COUNT when there is none of that name. */
enum verb verb_find(struct slice name);
enum word word_find(struct slice name);
enum err err_find(struct slice name);

/* ---- framing: the same for requests, replies and events ---- */

enum frame_state {
	FRAME_MORE,     /* not whole yet; read on and call again with the same frame and all the octets */
	FRAME_READY,    /* line and body (if any) are here; consume `size` octets */
	FRAME_OVERSIZE, /* the line is here and announces a body above max_body: hand the line to
	                   request_parse, then skip body_len octets and the LF that must follow */
	FRAME_BROKEN    /* err and errbuf say why; answer it and close: where a frame starts is in doubt */
};

/* Zero it before the first octet of each frame. Offsets count from where the frame starts, so that
 * the caller may move its buffer between calls. */
struct frame {
	size_t scanned;  /* octets known to hold no LF: a line that drips in is looked at once */
	size_t line_len; /* without LF or CRLF */
	size_t body_at;  /* where the body starts (just behind the line's LF) */
	size_t body_len;
	size_t size;   /* octets of line, LF, body and its LF */
	bool has_body; /* body= was there; it may be body=0 */
	enum err err;
};

/* data[0..len) starts at the frame's first octet. max_line octets before the LF at most. */
enum frame_state frame_scan(struct frame *frame, const char *data, size_t len, size_t max_line, size_t max_body,
			    struct errbuf *err);

/* ---- requests ---- */

struct request {
	enum verb verb;
	struct slice key;  /* decoded operand; absent when there is none */
	struct slice body; /* absent when none was announced (or it was oversize) */
	uint32_t given;    /* bit per option that was there */
	struct option_value {
		int64_t number;    /* DURATION in ms, TTL in ms or PROTO_NEVER, INTEGER, FLAG 1 (a flag of 0 is as if
		                      not given), CHOICE an enum choice */
		struct slice text; /* BYTES, decoded */
	} value[OPT__COUNT];       /* valid only where `given` has the bit */
};

/*
 * Reads one line (no LF) and checks it against the table. Percent-escapes are decoded in place, so the line
 * is written to, and the slices in *req point into it and are valid as long as it is.
 *
 * body: the frame's body; absent when none was announced, or when it was oversize and is not here.
 * Everything that needs no store is decided here: grammar, unknown or doubled options, units, ranges, limits,
 * a body where none is taken or KEY's is missing, body= and result= both, what excludes each other, the options a verb
 * cannot do without (fence for the holder's verbs, lease for RENEW, as for RESOLVE), HELP for a verb that there is not.
 * STATUS takes `result` as a flag. A fence of 0 passes for the holder's verbs: whether it may be is a setting.
 *
 * ERR_NONE; or what to answer, with the reason in *err. Even then req->given has the TAG bit and its value when the tag
 * itself was well formed, since the refusal must carry it, and req->verb is VERB__COUNT or the verb.
 * An oversize body is not refused here: toobig is for the caller, which settles without the result for COMPLETE and FAIL.
 */
enum err request_parse(struct request *req, char *line, size_t len, struct slice body, struct errbuf *err);

bool request_has(const struct request *req, enum option option);

/* Writing one. begin writes the verb and, where there is one, the escaped operand (absent: none). */
void request_begin(struct writer *w, enum verb verb, struct slice key);
void request_bytes(struct writer *w, enum option option, struct slice value); /* nothing when absent */
void request_integer(struct writer *w, enum option option, int64_t n);
void request_duration(struct writer *w, enum option option, int64_t ms); /* "250ms"; PROTO_NEVER: "never" */
void request_choice(struct writer *w, enum choice choice);               /* its option comes with it */
void request_flag(struct writer *w, enum option option);
/* Ends the line, announcing a body when it is not absent; the body and its LF follow from the caller or by
 * writer_slice and writer_char. */
void request_end(struct writer *w, struct slice body);

/* ---- replies and events ---- */

struct field {
	struct slice name, value; /* value decoded */
};

struct reply {
	bool event;        /* the line began with "*" */
	struct slice word; /* as it stood: a client may meet one that it does not know */
	enum word code;    /* WORD_NONE: an event, or never heard of, so do not run */
	enum err err;      /* for WORD_ERR: ERR__COUNT when the code is unknown */
	struct slice err_name;
	size_t count;
	struct field field[PROTO_MAX_FIELDS];
	struct slice body; /* absent when none was announced */
};

/* Reads one reply line (no LF), decoding in place as request_parse does. Fields it does not know are kept, but for
 * body=, and a bare name is "1"; a line it cannot read is false with the reason in *err. More than PROTO_MAX_FIELDS
 * fields: the rest are dropped. */
bool reply_parse(struct reply *reply, char *line, size_t len, struct slice body, struct errbuf *err);
/* The value of a field; absent when there is none. */
struct slice reply_field(const struct reply *reply, const char *name);
/* A field as an integer below 2^53; fallback when it is missing or is none. PROTO_NEVER for "never". */
int64_t reply_integer(const struct reply *reply, const char *name, int64_t fallback);

void reply_begin(struct writer *w, enum word word);
/* "ERR code retry=..."; retry absent: the table's. */
void reply_error(struct writer *w, enum err code, struct slice retry, int64_t after_ms /* 0: none */,
		 const char *message);
void reply_event(struct writer *w, const char *word);
void reply_bytes(struct writer *w, const char *name, struct slice value); /* escaped; nothing when absent or empty */
void reply_number(struct writer *w, const char *name, int64_t n);
void reply_ms(struct writer *w, const char *name, int64_t ms); /* PROTO_NEVER: "never" */
/* tag (absent: none), then body= (absent: none), then the LF. */
void reply_end(struct writer *w, struct slice tag, struct slice body);

/* ---- escapes and numbers, for the command's arguments too ---- */

/* Escapes what may not stand raw: controls, space, DEL, % and, in a key, "=". Escaped is up to 3 times as long. */
void escape_write(struct writer *w, struct slice text, bool is_key);
/* Decodes in place. False on a bad escape or an octet that may not stand raw. */
bool escape_decode(char *data, size_t len, size_t *out_len);
/* "250ms" "30s" "15m" "24h" "7d" to ms, at most PROTO_MAX_INTEGER; with allow_never also "never" -> PROTO_NEVER. */
bool duration_parse(struct slice text, bool allow_never, int64_t *ms);
/* A time and a duration, or two durations, in any unit; PROTO_NEVER where one is that or the sum is too far. */
int64_t time_add(int64_t a, int64_t b);
/* Decimal, no sign, no leading "+", 0 .. 2^53-1. */
bool integer_parse(struct slice text, int64_t *n);

#endif
