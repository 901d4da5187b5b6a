/* canonical.c - see canonical.h. */
#include "canonical.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../proto/mem.h"

/* ---- numbers ---- */

/* The fewest digits that read back as the same number, without point and trailing zeros; its exponent is that of 0.DIGITS. */
static void shortest(double value, char digits[24], int *exponent)
{
	/* Fewer than 15 show as zeros at the end, but where there is less precision than that. */
	int precision = value < DBL_MIN ? 1 : 15;
	char text[40], *e;
	size_t len;

	do
		snprintf(text, sizeof text, "%.*e", precision - 1, value);
	while (strtod(text, NULL) != value && ++precision <= 17);
	e = strchr(text, 'e');
	*exponent = atoi(e + 1) + 1;
	digits[0] = text[0];
	len = e > text + 2 ? (size_t)(e - text) - 2 : 0;
	memcpy(digits + 1, text + 2, len);
	len++;
	while (len > 1 && digits[len - 1] == '0')
		len--;
	digits[len] = '\0';
}

void canonical_number(double value, char out[CANONICAL_NUMBER])
{
	const char *sign = value < 0 ? "-" : "";
	char digits[24];
	int n, k;

	if (value == 0) { /* -0 too */
		memcpy(out, "0", 2);
		return;
	}
	shortest(fabs(value), digits, &n);
	k = (int)strlen(digits);
	if (k <= n && n <= 21)
		snprintf(out, CANONICAL_NUMBER, "%s%s%.*s", sign, digits, n - k, "000000000000000000000");
	else if (0 < n && n <= 21)
		snprintf(out, CANONICAL_NUMBER, "%s%.*s.%s", sign, n, digits, digits + n);
	else if (-6 < n && n <= 0)
		snprintf(out, CANONICAL_NUMBER, "%s0.%.*s%s", sign, -n, "000000", digits);
	else
		snprintf(out, CANONICAL_NUMBER, "%s%c%s%se%+d", sign, digits[0], k > 1 ? "." : "", digits + 1, n - 1);
}

/* ---- sorting ---- */

/* By UTF-16 code units: as the octets of UTF-8, but that what is beyond U+FFFF (lead octets from 0xf0 on) comes before
 * U+E000 .. U+FFFF (0xee and 0xef), since its surrogates do. */
static int compare_names(const char *a, const char *b)
{
	unsigned char x, y;

	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	x = (unsigned char)*a;
	y = (unsigned char)*b;
	if (x >= 0xf0 && (y == 0xee || y == 0xef))
		return -1;
	if (y >= 0xf0 && (x == 0xee || x == 0xef))
		return 1;
	return x - y;
}

static int compare_members(const void *a, const void *b)
{
	const cJSON *const *x = a, *const *y = b;

	return compare_names((*x)->string, (*y)->string);
}

static enum err sort_members(cJSON *object, struct errbuf *err)
{
	size_t count = 0, i = 0;
	cJSON *child, **member;

	cJSON_ArrayForEach(child, object) count++;
	if (count < 2)
		return ERR_NONE;
	member = mem_alloc(count * sizeof(cJSON *));
	if (member == NULL) {
		err_set(err, "out of memory; nothing was done, try again");
		return ERR_BUSY;
	}
	cJSON_ArrayForEach(child, object) member[i++] = child;
	qsort(member, count, sizeof(cJSON *), compare_members);
	object->child = member[0];
	for (i = 0; i < count; i++) {
		/* As cJSON links them: the first one's `prev` is the last. */
		member[i]->prev = member[i == 0 ? count - 1 : i - 1];
		member[i]->next = i + 1 < count ? member[i + 1] : NULL;
	}
	for (i = 1; i < count && strcmp(member[i - 1]->string, member[i]->string) != 0; i++)
		;
	if (i < count)
		err_set(err, "the name \"%.60s\" stands twice in one object", member[i]->string);
	mem_free(member);
	return i < count ? ERR_BADKEY : ERR_NONE;
}

enum err canonical_sort(cJSON *tree, struct errbuf *err)
{
	enum err code = cJSON_IsObject(tree) ? sort_members(tree, err) : ERR_NONE;
	cJSON *child;

	cJSON_ArrayForEach(child, tree)
	{
		if (code == ERR_NONE)
			code = canonical_sort(child, err);
	}
	return code;
}

/* ---- writing ---- */

static bool put(struct canonical *out, const char *text, size_t len)
{
	if (len > out->cap - out->len) {
		size_t cap = out->cap == 0 ? 256 : out->cap;
		char *grown;

		while (len > cap - out->len)
			cap *= 2;
		grown = mem_resize(out->text, cap);
		if (grown == NULL)
			return false;
		out->text = grown;
		out->cap = cap;
	}
	memcpy(out->text + out->len, text, len);
	out->len += len;
	return true;
}

static bool put_text(struct canonical *out, const char *text)
{
	return put(out, text, strlen(text));
}

static bool put_escape(struct canonical *out, char c)
{
	static const char shorts[] = "b\bt\tn\nf\fr\r\"\"\\\\";
	char text[8];

	for (const char *at = shorts; *at != '\0'; at += 2) {
		if (at[1] == c)
			return put(out, (char[]){'\\', at[0]}, 2);
	}
	snprintf(text, sizeof text, "\\u%04x", (unsigned char)c);
	return put(out, text, 6);
}

static bool put_string(struct canonical *out, const char *text)
{
	if (!put(out, "\"", 1))
		return false;
	while (*text != '\0') {
		size_t plain = 0;

		while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' && text[plain] != '\\')
			plain++;
		if (!put(out, text, plain))
			return false;
		text += plain;
		if (*text != '\0' && !put_escape(out, *text++))
			return false;
	}
	return put(out, "\"", 1);
}

static bool put_members(struct canonical *out, const cJSON *tree)
{
	bool object = cJSON_IsObject(tree), first = true;
	const cJSON *child;

	cJSON_ArrayForEach(child, tree)
	{
		if (child->type & CANONICAL_SKIP)
			continue;
		if ((tree->type & (CANONICAL_PART | CANONICAL_KEEP)) == CANONICAL_PART &&
		    !(child->type & (CANONICAL_KEEP | CANONICAL_PART)))
			continue;
		if (!first && !put(out, ",", 1))
			return false;
		first = false;
		if (object && (!put_string(out, child->string) || !put(out, ":", 1)))
			return false;
		if (!canonical_write(out, child))
			return false;
	}
	return true;
}

bool canonical_write(struct canonical *out, const cJSON *tree)
{
	char number[CANONICAL_NUMBER];

	switch (tree->type & 0xff) {
	case cJSON_False:
		return put_text(out, "false");
	case cJSON_True:
		return put_text(out, "true");
	case cJSON_NULL:
		return put_text(out, "null");
	case cJSON_Number:
		canonical_number(tree->valuedouble, number);
		return put_text(out, number);
	case cJSON_String:
		return put_string(out, tree->valuestring);
	case cJSON_Array:
		return put(out, "[", 1) && put_members(out, tree) && put(out, "]", 1);
	default:
		return put(out, "{", 1) && put_members(out, tree) && put(out, "}", 1);
	}
}

void canonical_release(struct canonical *out)
{
	mem_free(out->text);
	*out = (struct canonical){0};
}
