/*
 * value.c - escapes, integers and durations: what stands behind the "=" of an option or a field.
 *
 * Called by the parser and the formatter, and by the command for its arguments. Bad input is `false`, and what
 * the caller handed in to be filled is then as it was (but for octets decoded in place).
 */
#include "proto.h"

#include <string.h>

/* May not stand raw in a line: controls, the space that separates, DEL. */
static bool octet_is_bare(char c)
{
	unsigned char octet = (unsigned char)c;

	return octet > 0x20 && octet != 0x7F;
}

static void escape_octet(struct writer *w, char c)
{
	static const char hex[] = "0123456789ABCDEF";
	unsigned char octet = (unsigned char)c;
	char escaped[3] = {'%', hex[octet >> 4], hex[octet & 15]};

	writer_bytes(w, escaped, sizeof escaped);
}

void escape_write(struct writer *w, struct slice text, bool is_key)
{
	size_t before = w->len;
	size_t plain = 0; /* start of octets that stand as they are */

	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];
		if (octet_is_bare(c) && c != '%' && !(is_key && c == '='))
			continue;
		writer_bytes(w, text.data + plain, i - plain);
		escape_octet(w, c);
		plain = i + 1;
	}
	if (plain < text.len)
		writer_bytes(w, text.data + plain, text.len - plain);
	if (w->full)
		w->len = before;
}

/* 0..15, or -1. */
static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

bool escape_decode(char *data, size_t len, size_t *out_len)
{
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		if (!octet_is_bare(data[i]))
			return false;
		if (data[i] != '%') {
			data[out++] = data[i];
			continue;
		}
		if (len - i < 3)
			return false;
		int high = hex_value(data[i + 1]);
		int low = hex_value(data[i + 2]);
		if (high < 0 || low < 0)
			return false;
		data[out++] = (char)(high << 4 | low);
		i += 2;
	}
	*out_len = out;
	return true;
}

bool integer_parse(struct slice text, int64_t *n)
{
	int64_t value = 0;

	/* 2^53 - 1 has 16 digits, so that the sum cannot overflow before it is compared. */
	if (text.len == 0 || text.len > 16)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
		value = value * 10 + (text.data[i] - '0');
	}
	if (value > PROTO_MAX_INTEGER)
		return false;
	*n = value;
	return true;
}

/* What the letters of a unit come to in ms; 0: no unit. */
static int64_t unit_ms(struct slice unit)
{
	if (slice_equal(unit, SLICE_OF("ms")))
		return 1;
	if (unit.len != 1)
		return 0;
	switch (unit.data[0]) {
	case 's':
		return 1000;
	case 'm':
		return 60 * 1000;
	case 'h':
		return 3600 * 1000;
	case 'd':
		return 24 * 3600 * 1000;
	default:
		return 0;
	}
}

bool duration_parse(struct slice text, bool allow_never, int64_t *ms)
{
	size_t digits = 0;
	int64_t count;

	if (allow_never && slice_equal(text, SLICE_OF("never"))) {
		*ms = PROTO_NEVER;
		return true;
	}
	while (digits < text.len && text.data[digits] >= '0' && text.data[digits] <= '9')
		digits++;
	int64_t unit = unit_ms((struct slice){text.data + digits, text.len - digits});
	if (unit == 0 || !integer_parse((struct slice){text.data, digits}, &count) || count > PROTO_MAX_INTEGER / unit)
		return false;
	*ms = count * unit;
	return true;
}

int64_t time_add(int64_t a, int64_t b)
{
	if (a == PROTO_NEVER || b == PROTO_NEVER || (b > 0 && a > PROTO_NEVER - b))
		return PROTO_NEVER;
	return a + b;
}
