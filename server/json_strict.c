/* json_strict.c - see json_strict.h. One walk over the octets. */
#include "json_strict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../proto/proto.h"

#define NUMBER_OCTETS 63 /* more cJSON does not read */

struct walk {
	const char *at, *start, *end;
	int depth;
	struct errbuf *err;
};

static bool refuse(struct walk *walk, const char *what)
{
	err_set(walk->err, "the JSON has %s at octet %zu", what, (size_t)(walk->at - walk->start));
	return false;
}

static bool is_digit(const struct walk *walk)
{
	return walk->at < walk->end && *walk->at >= '0' && *walk->at <= '9';
}

static bool take(struct walk *walk, const char *any_of)
{
	if (walk->at == walk->end || *walk->at == '\0' || strchr(any_of, *walk->at) == NULL)
		return false;
	walk->at++;
	return true;
}

/* At least one digit. */
static bool take_digits(struct walk *walk)
{
	if (!is_digit(walk))
		return false;
	while (is_digit(walk))
		walk->at++;
	return true;
}

static bool take_number(struct walk *walk)
{
	const char *from = walk->at;
	char text[NUMBER_OCTETS + 1];
	bool whole = true;
	size_t len;
	double value;

	take(walk, "-");
	if (!take(walk, "0") && !take_digits(walk))
		return refuse(walk, "a malformed number");
	if (is_digit(walk))
		return refuse(walk, "a number that begins with 0");
	if (take(walk, ".")) {
		whole = false;
		if (!take_digits(walk))
			return refuse(walk, "a malformed number");
	}
	if (take(walk, "eE")) {
		whole = false;
		take(walk, "+-");
		if (!take_digits(walk))
			return refuse(walk, "a malformed number");
	}
	len = (size_t)(walk->at - from);
	if (len > NUMBER_OCTETS)
		return refuse(walk, "a number of too many digits");
	memcpy(text, from, len);
	text[len] = '\0';
	value = strtod(text, NULL);
	if (!isfinite(value))
		return refuse(walk, "a number that is too large");
	/* As text, since two of them may become one double. */
	if (whole) {
		const char *digits = text + (text[0] == '-');

		if (strlen(digits) > 16 || (strlen(digits) == 16 && strcmp(digits, "9007199254740992") > 0))
			return refuse(walk, "an integer beyond 2^53, where two would look the same (make it a string)");
	}
	return true;
}

/* How many octets a well-formed UTF-8 sequence has here; 0: it has none. */
static size_t utf8_len(const unsigned char *at, size_t left)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t len = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;

	if (len == 0 || len > left)
		return 0;
	/* Overlong forms, surrogates and what is beyond U+10FFFF show in the second octet. */
	if (at[0] == 0xe0)
		low = 0xa0;
	else if (at[0] == 0xed)
		high = 0x9f;
	else if (at[0] == 0xf0)
		low = 0x90;
	else if (at[0] == 0xf4)
		high = 0x8f;
	for (size_t i = 1; i < len; i++) {
		if (at[i] < low || at[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
	}
	return len;
}

/* Surrogates are left to cJSON, which pairs them or refuses. */
static bool take_escape(struct walk *walk)
{
	const char *from = walk->at++;

	if (!take(walk, "u"))
		return take(walk, "\"\\/bfnrt") || refuse(walk, "an unknown escape");
	for (int i = 0; i < 4; i++) {
		if (!take(walk, "0123456789abcdefABCDEF"))
			return refuse(walk, "an escape without its four hex digits");
	}
	return memcmp(from, "\\u0000", 6) != 0 || refuse(walk, "a NUL in a string");
}

static bool take_string(struct walk *walk)
{
	walk->at++;
	while (walk->at < walk->end && *walk->at != '"') {
		size_t len = utf8_len((const unsigned char *)walk->at, (size_t)(walk->end - walk->at));

		if (len == 0)
			return refuse(walk, "text that is no UTF-8");
		if ((unsigned char)*walk->at < 0x20)
			return refuse(walk, "a raw control character in a string");
		if (*walk->at != '\\')
			walk->at += len;
		else if (!take_escape(walk))
			return false;
	}
	if (walk->at == walk->end)
		return refuse(walk, "a string without an end");
	walk->at++;
	return true;
}

bool json_strict(struct slice text, struct errbuf *err)
{
	struct walk walk = {text.data, text.data, text.data + text.len, 0, err};

	while (walk.at < walk.end) {
		char c = *walk.at;

		if (c == '"') {
			if (!take_string(&walk))
				return false;
			continue;
		}
		if (c == '-' || (c >= '0' && c <= '9')) {
			if (!take_number(&walk))
				return false;
			continue;
		}
		if (strchr("{}[],:\t\n\r truefalsn", c) == NULL || c == '\0')
			return refuse(&walk, "something that does not belong there");
		if ((c == '{' || c == '[') && ++walk.depth > JSON_MAX_DEPTH)
			return refuse(&walk, "more than 64 levels");
		walk.depth -= c == '}' || c == ']';
		walk.at++;
	}
	return true;
}
