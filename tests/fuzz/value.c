/*
 * value.c - escapes, numbers, durations and the cutting of text, against made-up octets and what they mean said a second time.
 *
 * The whole input is one text. What is read must be what the plain definition says, what is refused must leave the result alone,
 * and what is written must be read again as it was.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../proto/proto.h"
#include "fuzz.h"

#define UNTOUCHED INT64_C(-7)

/* Digits alone, 16 at most, up to 2^53-1. */
static bool reads_as_integer(const char *text, size_t len, int64_t *n)
{
	char digits[17];

	if (len == 0 || len > 16)
		return false;
	memcpy(digits, text, len);
	digits[len] = '\0';
	if (strspn(digits, "0123456789") != len)
		return false;
	*n = strtoll(digits, NULL, 10);
	return *n <= (INT64_C(1) << 53) - 1;
}

static bool reads_as_duration(struct slice text, int64_t *ms)
{
	static const struct {
		const char *name;
		int64_t ms;
	} unit[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};

	for (size_t i = 0; i < sizeof unit / sizeof unit[0]; i++) {
		size_t len = strlen(unit[i].name), digits = text.len - len;
		int64_t n;

		if (text.len <= len || memcmp(text.data + digits, unit[i].name, len) != 0 ||
		    !reads_as_integer(text.data, digits, &n))
			continue;
		if ((long double)n * (long double)unit[i].ms > 9007199254740991.0L)
			return false;
		*ms = n * unit[i].ms;
		return true;
	}
	return false;
}

static void check_numbers(struct slice text)
{
	int64_t meant = UNTOUCHED, read = UNTOUCHED;
	bool never = slice_equal(text, SLICE_OF("never"));

	must(integer_parse(text, &read) == reads_as_integer(text.data, text.len, &meant));
	must(read == UNTOUCHED || read == meant);
	for (int allowed = 0; allowed < 2; allowed++) {
		bool good = reads_as_duration(text, &meant);

		if (allowed && never) {
			good = true;
			meant = PROTO_NEVER;
		}
		read = UNTOUCHED;
		must(duration_parse(text, allowed, &read) == good);
		must(read == (good ? meant : UNTOUCHED));
	}
}

/* As PROTOCOL.txt has it. false: an octet that may not stand raw, or no escape behind a "%". */
static bool decode(struct slice text, char *out, size_t *len)
{
	*len = 0;
	for (size_t i = 0; i < text.len; i++) {
		char hex[3] = "", *end;

		if ((unsigned char)text.data[i] <= 0x20 || text.data[i] == 0x7F)
			return false;
		if (text.data[i] != '%') {
			out[(*len)++] = text.data[i];
			continue;
		}
		memcpy(hex, text.data + i + 1, text.len - i - 1 < 2 ? text.len - i - 1 : 2);
		if (strspn(hex, "0123456789abcdefABCDEF") != 2)
			return false;
		out[(*len)++] = (char)strtol(hex, &end, 16);
		i += 2;
	}
	return true;
}

static void check_decoding(struct slice text)
{
	char *meant = exact_copy(text.data, text.len), *read = exact_copy(text.data, text.len);
	size_t meant_len = 0, read_len = SIZE_MAX;
	bool good = decode(text, meant, &meant_len);

	must(escape_decode(read, text.len, &read_len) == good);
	must(good ? read_len == meant_len && memcmp(read, meant, meant_len) == 0 : read_len == SIZE_MAX);
	free(read);
	free(meant);
}

/* Written into `room` octets, and read again. */
static void check_escaping(struct slice text, bool is_key, size_t room)
{
	char *out = malloc(room + 1);
	struct writer w;
	size_t len;

	must(out != NULL);
	writer_init(&w, out, room);
	writer_char(&w, '<');
	escape_write(&w, text, is_key);
	must(room > 3 * text.len ? !w.full : w.len <= room);
	must(!w.full || w.len == (room > 0));
	if (!w.full) {
		must(!is_key || memchr(out, '=', w.len) == NULL);
		for (size_t i = 0; i < w.len; i++)
			must((unsigned char)out[i] > 0x20 && out[i] != 0x7F);
		must(escape_decode(out, w.len, &len) && len == text.len + 1 &&
		     memcmp(out + 1, text.data, text.len) == 0);
	}
	free(out);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void check_cutting(struct slice text)
{
	struct slice rest = text, trimmed = slice_trim(text);
	size_t taken = 0, ends = 0;

	while (rest.len > 0) {
		struct slice piece = slice_cut(&rest, ',');

		must(piece.data == text.data + taken && memchr(piece.data, ',', piece.len) == NULL);
		taken += piece.len;
		if (taken < text.len) {
			must(text.data[taken++] == ',');
			ends++;
		}
	}
	must(taken == text.len);
	for (size_t i = 0; i < text.len; i++)
		ends -= text.data[i] == ',';
	must(ends == 0);
	must(trimmed.len == 0 || (!is_space(trimmed.data[0]) && !is_space(trimmed.data[trimmed.len - 1])));
	must(trimmed.len <= text.len);
	for (size_t i = 0; i < text.len; i++)
		must((trimmed.len > 0 && text.data + i >= trimmed.data && text.data + i < trimmed.data + trimmed.len) ||
		     is_space(text.data[i]));
}

static void check_writing(struct slice text)
{
	char meant[32], out[32];
	struct writer w;
	int64_t n = 0;

	memcpy(&n, text.data, text.len < sizeof n ? text.len : sizeof n);
	for (size_t room = 0; room < 24; room++) {
		size_t len = (size_t)snprintf(meant, sizeof meant, "%" PRId64, n);

		writer_init(&w, out, room);
		writer_int(&w, n);
		must(w.full == (len > room));
		must(w.full ? w.len == 0 : w.len == len && memcmp(out, meant, len) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = {exact_copy(data, size), size};

	check_numbers(text);
	check_decoding(text);
	for (int is_key = 0; is_key < 2; is_key++) {
		check_escaping(text, is_key, 3 * size + 1);
		check_escaping(text, is_key, size);
	}
	check_cutting(text);
	check_writing(text);
	free((void *)(uintptr_t)text.data);
	return 0;
}
