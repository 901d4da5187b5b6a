/* json_strict.c - see json_strict.h. Every function here starts at what it reads, and leaves `at` behind it or at what
 * is wrong. */
#include "json_strict.h"

#include <string.h>

struct scan {
	char *at;
	const char *start, *end;
	struct errbuf *err;
};

static bool refuse(struct scan *scan, const char *why)
{
	err_set(scan->err, "octet %zu of the JSON: %s", (size_t)(scan->at - scan->start) + 1, why);
	return false;
}

/* What stands here; NUL, which is never right, at the end. */
static char here(const struct scan *scan)
{
	return scan->at < scan->end ? *scan->at : '\0';
}

static bool take(struct scan *scan, char c)
{
	if (here(scan) != c)
		return false;
	scan->at++;
	return true;
}

static void skip_space(struct scan *scan)
{
	while (take(scan, ' ') || take(scan, '\t') || take(scan, '\n') || take(scan, '\r'))
		;
}

static bool scan_word(struct scan *scan, struct slice word)
{
	if (!slice_starts((struct slice){scan->at, (size_t)(scan->end - scan->at)}, word))
		return refuse(scan, "only true, false and null may stand without quotes");
	scan->at += word.len;
	return true;
}

/* ---- numbers ---- */

/* False: there is none. */
static bool take_digits(struct scan *scan)
{
	const char *from = scan->at;

	while (here(scan) >= '0' && here(scan) <= '9')
		scan->at++;
	return scan->at > from;
}

static bool is_beyond_exact(struct slice digits)
{
	struct slice limit = SLICE_OF("9007199254740992");

	return digits.len > limit.len || (digits.len == limit.len && slice_compare(digits, limit) > 0);
}

static bool scan_number(struct scan *scan)
{
	const char *from = scan->at;
	bool whole = true;

	take(scan, '-');
	char *digits = scan->at;
	if (!take(scan, '0') && !take_digits(scan))
		return refuse(scan, "a digit must stand here");
	if (*digits == '0' && take_digits(scan))
		return refuse(scan, "a number may not begin with 0");
	size_t count = (size_t)(scan->at - digits);
	if (take(scan, '.')) {
		whole = false;
		if (!take_digits(scan))
			return refuse(scan, "behind the point a digit must stand");
	}
	if (take(scan, 'e') || take(scan, 'E')) {
		whole = false;
		if (!take(scan, '+'))
			take(scan, '-');
		if (!take_digits(scan))
			return refuse(scan, "the exponent has no digits");
	}
	if (whole && is_beyond_exact((struct slice){digits, count})) {
		memset(digits, ' ', count);
		memcpy(digits, "9e999", 5);
	} else if (scan->at - from > JSON_MAX_NUMBER) {
		return refuse(scan, "the number before it has more than 63 octets; 17 "
				    "digits say all that counts");
	}
	return true;
}

/* ---- strings ---- */

static bool take_hex4(struct scan *scan, unsigned *code)
{
	static const char hex[] = "0123456789abcdef0123456789ABCDEF";

	*code = 0;
	for (int i = 0; i < 4; i++) {
		const char *digit = here(scan) != '\0' ? strchr(hex, here(scan)) : NULL;
		if (digit == NULL)
			return false;
		*code = *code << 4 | ((unsigned)(digit - hex) & 15);
		scan->at++;
	}
	return true;
}

/* Behind the backslash. */
static bool scan_escape(struct scan *scan)
{
	unsigned code, low;

	if (here(scan) != '\0' && strchr("\"\\/bfnrt", here(scan)) != NULL) {
		scan->at++;
		return true;
	}
	if (!take(scan, 'u'))
		return refuse(scan, "there is no such escape in JSON");
	if (!take_hex4(scan, &code))
		return refuse(scan, "\\u takes four hex digits");
	if (code == 0)
		return refuse(scan, "before it a NUL, which no string may have here");
	if (code < 0xd800 || code > 0xdfff)
		return true;
	if (code > 0xdbff || !take(scan, '\\') || !take(scan, 'u') || !take_hex4(scan, &low) || low < 0xdc00 ||
	    low > 0xdfff)
		return refuse(scan, "before it half of a surrogate pair, which is no character");
	return true;
}

static bool scan_string(struct scan *scan)
{
	scan->at++;
	while (scan->at < scan->end && *scan->at != '"') {
		size_t octets = utf8_octets((struct slice){scan->at, (size_t)(scan->end - scan->at)});

		if (octets == 0)
			return refuse(scan, "this is no UTF-8");
		if ((unsigned char)*scan->at < 0x20)
			return refuse(scan, "a control character in a string; write it as \\n or \\u000a");
		if (take(scan, '\\')) {
			if (!scan_escape(scan))
				return false;
			continue;
		}
		scan->at += octets;
	}
	return take(scan, '"') || refuse(scan, "the string has no end");
}

/* ---- objects and arrays ---- */

static bool scan_value(struct scan *scan, int level);

static bool scan_name(struct scan *scan)
{
	skip_space(scan);
	if (here(scan) != '"')
		return refuse(scan, "a name in double quotes must stand here");
	if (!scan_string(scan))
		return false;
	skip_space(scan);
	return take(scan, ':') || refuse(scan, "a : must stand behind the name");
}

/* The object or array that is the level-th around what is in it. */
static bool scan_members(struct scan *scan, char close, int level)
{
	if (level > JSON_MAX_LEVELS)
		return refuse(scan, "more than 64 levels of objects and arrays");
	scan->at++;
	skip_space(scan);
	if (take(scan, close))
		return true;
	do {
		if (close == '}' && !scan_name(scan))
			return false;
		if (!scan_value(scan, level + 1))
			return false;
		skip_space(scan);
	} while (take(scan, ','));
	return take(scan, close) ||
	       refuse(scan, close == '}' ? "a , or } must stand here" : "a , or ] must stand here");
}

static bool scan_value(struct scan *scan, int level)
{
	skip_space(scan);
	switch (here(scan)) {
	case '{':
		return scan_members(scan, '}', level);
	case '[':
		return scan_members(scan, ']', level);
	case '"':
		return scan_string(scan);
	case 't':
		return scan_word(scan, SLICE_OF("true"));
	case 'f':
		return scan_word(scan, SLICE_OF("false"));
	case 'n':
		return scan_word(scan, SLICE_OF("null"));
	default:
		if (here(scan) == '-' || (here(scan) >= '0' && here(scan) <= '9'))
			return scan_number(scan);
		return refuse(scan, "a value must stand here");
	}
}

bool json_strict(char *text, size_t len, struct errbuf *err)
{
	struct scan scan = {text, text, text + len, err};

	skip_space(&scan);
	if (here(&scan) != '{')
		return refuse(&scan, "an object must stand here: { ... }");
	if (!scan_value(&scan, 1))
		return false;
	skip_space(&scan);
	return scan.at == scan.end || refuse(&scan, "nothing may stand behind the object");
}
