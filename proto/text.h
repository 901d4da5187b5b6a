/*
 * text.h - byte strings, a bounded writer, and the text of an error.
 *
 * Everything in claimd that is made of octets is a slice: a pointer and a length, never a NUL.
 * The daemon, the library and the tests share this file.
 */
#ifndef CLAIMD_PROTO_TEXT_H
#define CLAIMD_PROTO_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Octets that somebody else owns. data == NULL means "absent"; an empty string has data != NULL
 * and len == 0. The two differ: a result may be absent or empty. */
struct slice {
	const char *data;
	size_t len;
};

#define SLICE_ABSENT ((struct slice){NULL, 0})
#define SLICE_OF(literal) ((struct slice){"" literal, sizeof(literal) - 1})

/* The slice of a NUL-terminated string; absent for NULL. */
struct slice slice_from(const char *text);
bool slice_equal(struct slice a, struct slice b);
/* Order by octets, the shorter first where one is the start of the other; as memcmp. */
int slice_compare(struct slice a, struct slice b);
bool slice_starts(struct slice text, struct slice prefix);
/* As slice_equal without regard to the case of ASCII letters. */
bool slice_equal_nocase(struct slice a, struct slice b);
/* Takes what is before the first `end` off *text, and the end with it; all of it when there is none. */
struct slice slice_cut(struct slice *text, char end);
/* A copy of its octets at *at, which moves on behind them; absent stays absent. */
struct slice slice_copy(char **at, struct slice text);
/* Without spaces, tabs and CR on either side. */
struct slice slice_trim(struct slice text);

/* How many octets the character of UTF-8 has with which the text begins; 0: it begins with none. The text is not empty. */
size_t utf8_octets(struct slice text);

#define TEXT_MAX_WORD 63
/* How many octets must be put in, taken out, changed or swapped with the next one to make b of a. SIZE_MAX where one of
 * the two has more than TEXT_MAX_WORD octets. */
size_t word_distance(struct slice a, struct slice b);

/* Writes into storage of a fixed size and never past it. When something did not fit, `full`
 * is set, nothing of that piece is written, and later pieces are refused too. */
struct writer {
	char *data;
	size_t len, cap;
	bool full;
};

void writer_init(struct writer *w, char *data, size_t cap);
void writer_bytes(struct writer *w, const void *data, size_t len);
void writer_slice(struct writer *w, struct slice text);
void writer_text(struct writer *w, const char *text);
void writer_char(struct writer *w, char c);
/* Decimal, with a sign where negative. */
void writer_int(struct writer *w, int64_t n);
struct slice writer_done(const struct writer *w);

/* What went wrong, in words for a person, cut at the end when it does not fit. Fixed storage so
 * that an error can be told when there is no memory. */
struct errbuf {
	char text[240];
};

__attribute__((format(printf, 2, 3))) void err_set(struct errbuf *err, const char *format, ...);
/* Puts "<prefix>: " in front: called on the way up, by who knows the larger thing that failed. */
__attribute__((format(printf, 2, 3))) void err_prefix(struct errbuf *err, const char *format, ...);

#endif
