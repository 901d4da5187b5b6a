/*
 * text.c - byte strings, the bounded writer and error texts; see text.h.
 *
 * Called by everything. Nothing here allocates, and nothing can fail but the writer, which says so in `full`.
 */
#include "text.h"

#include <stdio.h>
#include <string.h>

struct slice slice_from(const char *text)
{
	return text == NULL ? SLICE_ABSENT : (struct slice){text, strlen(text)};
}

/* An absent slice has no octets that memcmp might be shown. */
static int octets_compare(struct slice a, struct slice b, size_t len)
{
	return len == 0 ? 0 : memcmp(a.data, b.data, len);
}

bool slice_equal(struct slice a, struct slice b)
{
	return a.len == b.len && octets_compare(a, b, a.len) == 0;
}

int slice_compare(struct slice a, struct slice b)
{
	int order = octets_compare(a, b, a.len < b.len ? a.len : b.len);
	if (order != 0)
		return order;
	return (a.len > b.len) - (a.len < b.len);
}

bool slice_starts(struct slice text, struct slice prefix)
{
	return text.len >= prefix.len && octets_compare(text, prefix, prefix.len) == 0;
}

/* Not tolower: the locale has no say in a protocol. */
static char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

bool slice_equal_nocase(struct slice a, struct slice b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (ascii_lower(a.data[i]) != ascii_lower(b.data[i]))
			return false;
	return true;
}

struct slice slice_cut(struct slice *text, char end)
{
	const char *found = text->len > 0 ? memchr(text->data, end, text->len) : NULL;
	struct slice part = {text->data, found != NULL ? (size_t)(found - text->data) : text->len};
	size_t taken = part.len + (found != NULL);

	text->data += taken;
	text->len -= taken;
	return part;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

struct slice slice_copy(char **at, struct slice text)
{
	struct slice copy = {*at, text.len};

	if (text.data == NULL)
		return SLICE_ABSENT;
	memcpy(*at, text.data, text.len);
	*at += text.len;
	return copy;
}

struct slice slice_trim(struct slice text)
{
	while (text.len > 0 && is_blank(text.data[0])) {
		text.data++;
		text.len--;
	}
	while (text.len > 0 && is_blank(text.data[text.len - 1]))
		text.len--;
	return text;
}

/* Overlong forms, surrogates and what is beyond U+10FFFF show in the second octet. */
size_t utf8_octets(struct slice text)
{
	const unsigned char *s = (const unsigned char *)text.data;
	size_t octets = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
	unsigned char low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
	unsigned char high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;

	if (octets > text.len || (octets > 1 && (s[1] < low || s[1] > high)))
		return 0;
	for (size_t i = 2; i < octets; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return octets;
}

static size_t least(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

size_t word_distance(struct slice a, struct slice b)
{
	size_t row[3][TEXT_MAX_WORD + 1]; /* the last three rows of the table, in turn */

	if (a.len > TEXT_MAX_WORD || b.len > TEXT_MAX_WORD)
		return SIZE_MAX;
	for (size_t j = 0; j <= b.len; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= a.len; i++) {
		size_t *now = row[i % 3], *above = row[(i - 1) % 3], *above2 = row[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= b.len; j++) {
			bool same = a.data[i - 1] == b.data[j - 1];

			now[j] = least(above[j] + 1, now[j - 1] + 1, above[j - 1] + !same);
			if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1] &&
			    above2[j - 2] + 1 < now[j])
				now[j] = above2[j - 2] + 1;
		}
	}
	return row[a.len % 3][b.len];
}

void writer_init(struct writer *w, char *data, size_t cap)
{
	*w = (struct writer){.data = data, .cap = cap};
}

void writer_bytes(struct writer *w, const void *data, size_t len)
{
	if (w->full || len > w->cap - w->len) {
		w->full = true;
		return;
	}
	if (len > 0)
		memcpy(w->data + w->len, data, len);
	w->len += len;
}

void writer_slice(struct writer *w, struct slice text)
{
	writer_bytes(w, text.data, text.len);
}

void writer_text(struct writer *w, const char *text)
{
	writer_bytes(w, text, strlen(text));
}

void writer_char(struct writer *w, char c)
{
	writer_bytes(w, &c, 1);
}

void writer_int(struct writer *w, int64_t n)
{
	char digits[20]; /* 19 of them and a sign */
	size_t at = sizeof digits;
	/* In unsigned arithmetic the smallest integer has an absolute value too. */
	uint64_t left = n < 0 ? UINT64_C(0) - (uint64_t)n : (uint64_t)n;

	do {
		digits[--at] = (char)('0' + left % 10);
		left /= 10;
	} while (left > 0);
	if (n < 0)
		digits[--at] = '-';
	writer_bytes(w, digits + at, sizeof digits - at);
}

struct slice writer_done(const struct writer *w)
{
	return (struct slice){w->data, w->len};
}

void err_set(struct errbuf *err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
}

void err_prefix(struct errbuf *err, const char *format, ...)
{
	struct errbuf rest = *err;
	struct writer w;
	va_list args;

	va_start(args, format);
	vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);

	/* The writer refuses what does not fit whole; here the end is cut instead. */
	size_t used = strlen(err->text), room = sizeof err->text - 1 - used;
	size_t rest_len = strlen(rest.text);
	writer_init(&w, err->text + used, room);
	writer_bytes(&w, ": ", room < 2 ? room : 2);
	room -= w.len;
	writer_bytes(&w, rest.text, room < rest_len ? room : rest_len);
	err->text[used + w.len] = '\0';
}
