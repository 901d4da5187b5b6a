/* canonical.c - see canonical.h. Levels are few (json_strict), so trees are walked by recursion. */
#include "canonical.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../proto/mem.h"

int canonical_shown(const char *name)
{
	size_t len = strlen(name);

	if (len > 60)
		for (len = 60; (name[len] & 0xc0) == 0x80;)
			len--;
	return (int)len;
}

/* ---- order ---- */

/* In UTF-16 what is beyond U+FFFF (lead octets 0xf0 .. 0xf4) begins with a surrogate, which is below U+E000 .. U+FFFF
 * (0xee and 0xef); all else is in the order of UTF-8. */
static int rank(char c)
{
	unsigned char octet = (unsigned char)c;

	if (octet == 0xee || octet == 0xef)
		return octet + 5;
	return octet >= 0xf0 && octet <= 0xf4 ? octet - 2 : octet;
}

int canonical_compare(struct slice a, struct slice b)
{
	size_t same = 0;

	while (same < a.len && same < b.len && a.data[same] == b.data[same])
		same++;
	if (same == a.len || same == b.len)
		return (a.len > b.len) - (a.len < b.len);
	return rank(a.data[same]) - rank(b.data[same]);
}

static int compare_members(const void *a, const void *b)
{
	const cJSON *const *x = a, *const *y = b;

	return canonical_compare(slice_from((*x)->string), slice_from((*y)->string));
}

/* Links the members anew, as cJSON does: the first one's `prev` is the last. */
static void link_members(cJSON *object, cJSON **member, size_t count)
{
	object->child = member[0];
	for (size_t i = 0; i < count; i++) {
		member[i]->prev = member[i > 0 ? i - 1 : count - 1];
		member[i]->next = i + 1 < count ? member[i + 1] : NULL;
	}
}

static enum err sort_members(cJSON *object, struct errbuf *err)
{
	size_t count = 0;
	cJSON *child;

	for (child = object->child; child != NULL; child = child->next)
		count++;
	if (count < 2)
		return ERR_NONE;
	cJSON **member = mem_alloc(count * sizeof *member);
	if (member == NULL) {
		err_set(err, "out of memory; nothing was done, try again");
		return ERR_BUSY;
	}
	count = 0;
	for (child = object->child; child != NULL; child = child->next)
		member[count++] = child;
	qsort(member, count, sizeof *member, compare_members);
	link_members(object, member, count);
	mem_free(member);

	for (child = object->child; child->next != NULL; child = child->next) {
		if (strcmp(child->string, child->next->string) == 0) {
			err_set(err, "the name \"%.60s\" stands twice in one object; which one counts?", child->string);
			return ERR_BADKEY;
		}
	}
	return ERR_NONE;
}

enum err canonical_sort(cJSON *tree, struct errbuf *err)
{
	enum err code = cJSON_IsObject(tree) ? sort_members(tree, err) : ERR_NONE;

	for (cJSON *child = tree->child; child != NULL && code == ERR_NONE; child = child->next)
		code = canonical_sort(child, err);
	return code;
}

/* ---- numbers ---- */

/* The digits of a positive number, and how many of them stand before the point. */
struct decimal {
	char digits[24];
	int count, point;
};

/* `text` is as printf writes %e; the point is whatever the locale has for one. */
static void read_decimal(struct decimal *decimal, const char *text)
{
	decimal->count = 0;
	for (; *text != 'e'; text++)
		if (*text >= '0' && *text <= '9')
			decimal->digits[decimal->count++] = *text;
	decimal->point = (int)strtol(text + 1, NULL, 10) + 1;
	while (decimal->count > 1 && decimal->digits[decimal->count - 1] == '0')
		decimal->count--;
}

/* With one more in the last digit. Behind a 9 that would be a text with fewer digits, which was tried before. */
static bool next_up_reads_as(char *text, double value)
{
	char *last = text + strcspn(text, "e") - 1;

	if (*last == '9')
		return false;
	++*last;
	return strtod(text, NULL) == value;
}

/*
 * The fewest digits that read back as the same number, and of those the nearest, as ECMAScript asks.
 *
 * Up to 15 digits survive being a double, so that fewer show as zeros at the end of 15; where there is less precision
 * than that (below DBL_MIN) each count is tried. The nearest text of so many digits is the one, with one exception:
 * below a power of two doubles lie twice as close as above it, and when the nearest text lies below and is already
 * another double's, the next one above may still be this one's. 2^-24 is such a number.
 */
static void shortest(double value, struct decimal *decimal)
{
	int precision = value < DBL_MIN ? 1 : 15;
	char text[40];

	for (;; precision++) {
		snprintf(text, sizeof text, "%.*e", precision - 1, value);
		if (strtod(text, NULL) == value || precision == 17 || next_up_reads_as(text, value))
			break;
	}
	read_decimal(decimal, text);
}

static void write_zeros(struct writer *w, int count)
{
	while (count-- > 0)
		writer_char(w, '0');
}

void canonical_number(struct writer *w, double value)
{
	struct decimal decimal;

	if (value < 0)
		writer_char(w, '-');
	value = fabs(value);
	if (value <= 0x1p53 && value == floor(value)) { /* the most common ones by far, zero among them */
		writer_int(w, (int64_t)value);
		return;
	}
	shortest(value, &decimal);
	const char *digits = decimal.digits;
	int count = decimal.count, point = decimal.point;
	if (point > 21 || point < -5) {
		writer_char(w, digits[0]);
		if (count > 1)
			writer_char(w, '.');
		writer_bytes(w, digits + 1, (size_t)count - 1);
		writer_text(w, point > 0 ? "e+" : "e");
		writer_int(w, point - 1);
	} else if (point <= 0) {
		writer_text(w, "0.");
		write_zeros(w, -point);
		writer_bytes(w, digits, (size_t)count);
	} else if (point < count) {
		writer_bytes(w, digits, (size_t)point);
		writer_char(w, '.');
		writer_bytes(w, digits + point, (size_t)(count - point));
	} else {
		writer_bytes(w, digits, (size_t)count);
		write_zeros(w, point - count);
	}
}

/* ---- writing ---- */

static void write_string(struct writer *w, const char *text)
{
	static const char letters[] = "btn\0fr"; /* of \b (8) to \r (13); 11 has none */
	char escape[8];

	writer_char(w, '"');
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\' || (c >= '\b' && c <= '\r' && c != '\v')) {
			writer_char(w, '\\');
			writer_char(w, c >= 0x20 ? *text : letters[c - '\b']);
		} else if (c < 0x20) {
			snprintf(escape, sizeof escape, "\\u%04x", (unsigned)c);
			writer_text(w, escape);
		} else {
			writer_char(w, *text);
		}
	}
	writer_char(w, '"');
}

static bool write_value(struct writer *w, const cJSON *value, const char *name, struct errbuf *err);

/* `name` is that of the nearest member around. */
static bool write_children(struct writer *w, const cJSON *tree, const char *name, struct errbuf *err)
{
	for (const cJSON *child = tree->child; child != NULL; child = child->next) {
		if (child != tree->child)
			writer_char(w, ',');
		if (child->string != NULL) {
			write_string(w, child->string);
			writer_char(w, ':');
		}
		if (!write_value(w, child, child->string != NULL ? child->string : name, err))
			return false;
	}
	return true;
}

static bool write_value(struct writer *w, const cJSON *value, const char *name, struct errbuf *err)
{
	bool fine = true;

	if (cJSON_IsObject(value)) {
		writer_char(w, '{');
		fine = write_children(w, value, name, err);
		writer_char(w, '}');
	} else if (cJSON_IsArray(value)) {
		writer_char(w, '[');
		fine = write_children(w, value, name, err);
		writer_char(w, ']');
	} else if (cJSON_IsString(value)) {
		write_string(w, value->valuestring);
	} else if (!cJSON_IsNumber(value)) {
		writer_text(w, cJSON_IsTrue(value) ? "true" : cJSON_IsFalse(value) ? "false" : "null");
	} else if (isfinite(value->valuedouble)) {
		canonical_number(w, value->valuedouble);
	} else {
		err_set(err,
			"\"%.60s\" has an integer beyond 2^53, or a number too large for a "
			"double: two of them would "
			"look the same; make it a string, or leave it out with except=",
			name);
		fine = false;
	}
	return fine;
}

bool canonical_write(struct writer *w, const cJSON *tree, struct errbuf *err)
{
	return write_value(w, tree, "", err);
}
