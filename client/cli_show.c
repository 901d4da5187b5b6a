/*
 * cli_show.c - answers as text for people and as JSON for programs. Called by cli_verbs.c and cli_run.c.
 *
 * JSON: one object a line, "format":1 in each, the protocol's names for everything. Numbers are written with all their digits. What is no valid
 * UTF-8 (keys may be any octets) is given in base64 under its name with "_base64" behind it.
 */
#include "cli_show.h"

#include <inttypes.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "../proto/mem.h"

#define JSON_FORMAT 1

/* ---- text ---- */

/* "3m12s"; the second unit is left out when there is none of it. */
static void two_units(struct duration_text *out, int64_t n, int64_t small, const char *units)
{
	int len = snprintf(out->text, sizeof(out->text), "%" PRId64 "%c", n / small, units[0]);
	if (n % small != 0)
		snprintf(out->text + len, sizeof(out->text) - (size_t)len, "%" PRId64 "%c", n % small, units[1]);
}

struct duration_text show_duration(int64_t ms)
{
	struct duration_text out;
	int64_t s = ms / 1000;
	if (ms == PROTO_NEVER)
		snprintf(out.text, sizeof(out.text), "never");
	else if (ms < 1000)
		snprintf(out.text, sizeof(out.text), "%" PRId64 "ms", ms);
	else if (s < 60 && ms % 1000 >= 100)
		snprintf(out.text, sizeof(out.text), "%" PRId64 ".%" PRId64 "s", s, ms % 1000 / 100);
	else if (s < 60)
		snprintf(out.text, sizeof(out.text), "%" PRId64 "s", s);
	else if (s < 3600)
		two_units(&out, s, 60, "ms");
	else if (s < 86400)
		two_units(&out, s / 60, 60, "hm");
	else
		two_units(&out, s / 3600, 24, "dh");
	return out;
}

/* Octets of the UTF-8 character at text, 0 when there is none or it is a control. */
static size_t utf8_len(struct slice text)
{
	const unsigned char *c = (const unsigned char *)text.data;
	size_t n = c[0] < 0x80                   ? 1
		   : c[0] >= 0xc2 && c[0] < 0xe0 ? 2
		   : c[0] >= 0xe0 && c[0] < 0xf0 ? 3
		   : c[0] >= 0xf0 && c[0] < 0xf5 ? 4
						 : 0;
	if (n == 0 || n > text.len)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	/* overlong forms, surrogates, beyond the last one */
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] >= 0xa0) || (c[0] == 0xf0 && c[1] < 0x90) ||
	    (c[0] == 0xf4 && c[1] >= 0x90))
		return 0;
	return n;
}

static bool is_control(struct slice text)
{
	const unsigned char *c = (const unsigned char *)text.data;
	return c[0] < 0x20 || c[0] == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0);
}

void show_text(FILE *out, struct slice text)
{
	while (text.len > 0) {
		size_t n = utf8_len(text);
		if (n == 0 || is_control(text)) {
			n = n == 0 ? 1 : n;
			for (size_t i = 0; i < n; i++)
				fprintf(out, "\\x%02x", (unsigned char)text.data[i]);
		} else {
			fwrite(text.data, 1, n, out);
		}
		text.data += n;
		text.len -= n;
	}
}

/* A field for a person: what ends in _ms is a duration, and its name loses the unit. */
static void show_value(const char *name, struct slice value, bool *is_ms)
{
	size_t len = strlen(name);
	int64_t ms = PROTO_NEVER;
	*is_ms = len > 3 && strcmp(name + len - 3, "_ms") == 0 &&
		 (integer_parse(value, &ms) || slice_equal(value, SLICE_OF("never")));
	if (*is_ms)
		fputs(show_duration(ms).text, stdout);
	else
		show_text(stdout, value);
}

static int name_width(const char *name)
{
	size_t len = strlen(name);
	return (int)(len > 3 && strcmp(name + len - 3, "_ms") == 0 ? len - 3 : len);
}

void show_line(const claim_conn *conn)
{
	const char *name;
	struct slice value;
	bool is_ms;
	fputs(claim_word(conn), stdout);
	for (size_t i = 0; (value.data = claim_field_at(conn, i, &name, &value.len)); i++) {
		printf(" %.*s=", name_width(name), name);
		show_value(name, value, &is_ms);
	}
	size_t len;
	const char *body = claim_body(conn, &len);
	if (body)
		printf(" size=%zu", len);
	putchar('\n');
}

void show_table(const claim_conn *conn, const char *key)
{
	const char *name;
	struct slice value;
	bool is_ms;
	int width = 3;
	for (size_t i = 0; claim_field_at(conn, i, &name, &value.len); i++)
		width = name_width(name) > width ? name_width(name) : width;
	if (key) {
		printf("%-*s  ", width, "key");
		show_text(stdout, slice_from(key));
		putchar('\n');
	}
	for (size_t i = 0; (value.data = claim_field_at(conn, i, &name, &value.len)); i++) {
		printf("%-*.*s  ", width, name_width(name), name);
		show_value(name, value, &is_ms);
		putchar('\n');
	}
	size_t len;
	const char *body = claim_body(conn, &len);
	if (body) {
		printf("%-*s  ", width, "result");
		show_text(stdout, (struct slice){body, len < 200 ? len : 200});
		puts(len < 200 ? "" : "...");
	}
}

void show_item_head(void)
{
	printf("%-8s  %-16s  %8s  %8s  %-20s  %s\n", "STATE", "FENCE", "AGE", "LEFT", "OWNER", "KEY");
}

/* A field in a column; "-" where there is none. */
static void show_column(const claim_conn *conn, const char *name, int width)
{
	struct slice value;
	value.data = claim_field(conn, name, &value.len);
	if (!value.data)
		value = SLICE_OF("-");
	show_text(stdout, value);
	printf("%*s  ", value.len < (size_t)width ? width - (int)value.len : 0, "");
}

static void show_ms_column(const claim_conn *conn, const char *name)
{
	int64_t ms = claim_number(conn, name, -1);
	printf("%8s  ", ms < 0 ? "-" : show_duration(ms).text);
}

void show_item(const claim_conn *conn)
{
	struct slice key;
	bool lapsed = claim_number(conn, "lapsed", 0) != 0 && strcmp(claim_field(conn, "state", NULL), "claimed") == 0;
	if (lapsed)
		printf("%-8s  ", "lapsed"); /* the word that --state knows */
	else
		show_column(conn, "state", 8);
	show_column(conn, "fence", 16);
	show_ms_column(conn, "age_ms");
	show_ms_column(conn, "left_ms");
	show_column(conn, "owner", 20);
	key.data = claim_field(conn, "key", &key.len);
	if (key.data)
		show_text(stdout, key);
	putchar('\n');
}

/* ---- JSON ---- */

static bool is_utf8(struct slice text)
{
	while (text.len > 0) {
		size_t n = utf8_len(text);
		if (n == 0 || *text.data == '\0')
			return false;
		text.data += n;
		text.len -= n;
	}
	return true;
}

static char *base64(struct slice in)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *out = mem_alloc((in.len + 2) / 3 * 4 + 1), *at = out;
	if (!out)
		return NULL;
	for (size_t i = 0; i < in.len; i += 3) {
		uint32_t bits = 0;
		for (size_t j = 0; j < 3; j++)
			bits = bits << 8 | (i + j < in.len ? (unsigned char)in.data[i + j] : 0);
		for (size_t j = 0; j < 4; j++)
			*at++ = i + j > in.len ? '=' : digits[bits >> (18 - 6 * j) & 63];
	}
	*at = '\0';
	return out;
}

/* These hold what somebody chose: "42" is a text there. */
static bool is_text(const char *name)
{
	static const char *const names[] = {"key", "code",  "owner", "fp",     "msg",     "cursor", "state",
					    "was", "lapse", "ns",    "server", "version", "store"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void json_put(cJSON *object, const char *name, struct slice value)
{
	int64_t n;
	char other[64];
	if (!is_text(name) && strcmp(name, "result") != 0 && integer_parse(value, &n)) {
		/* Raw: a fence keeps all its digits. */
		snprintf(other, sizeof(other), "%" PRId64, n);
		cJSON_AddRawToObject(object, name, other);
		return;
	}
	bool plain = is_utf8(value);
	char *text = plain ? mem_copy(value.data, value.len) : base64(value);
	snprintf(other, sizeof(other), "%s%s", name, plain ? "" : "_base64");
	if (text)
		cJSON_AddStringToObject(object, other, text);
	mem_free(text);
}

static cJSON *json_new(const char *word, const char *key)
{
	cJSON *object = cJSON_CreateObject();
	cJSON_AddNumberToObject(object, "format", JSON_FORMAT);
	cJSON_AddStringToObject(object, "word", word);
	if (key)
		json_put(object, "key", slice_from(key));
	return object;
}

static void json_print(cJSON *object)
{
	char *text = cJSON_PrintUnformatted(object);
	if (text)
		puts(text);
	else
		cli_say("no memory to print JSON");
	cJSON_free(text);
	cJSON_Delete(object);
}

void show_json(const claim_conn *conn, const char *key)
{
	const char *name;
	struct slice value;
	cJSON *object = json_new(claim_word(conn), key);
	value.data = claim_field(conn, "code", &value.len);
	if (value.data)
		json_put(object, "code", value);
	for (size_t i = 0; (value.data = claim_field_at(conn, i, &name, &value.len)); i++)
		json_put(object, name, value);
	value.data = claim_body(conn, &value.len);
	if (value.data)
		json_put(object, "result", value);
	json_print(object);
}

void show_json_error(int code, const char *key, const char *detail)
{
	static const struct {
		int code;
		const char *name;
	} names[] = {
	    {CLAIM_E_UNREACHABLE, "unreachable"}, {CLAIM_E_UNCERTAIN, "uncertain"}, {CLAIM_E_PROTOCOL, "protocol"}};
	const char *name = "failed";
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].code == code)
			name = names[i].name;
	cJSON *object = json_new("ERR", key);
	cJSON_AddStringToObject(object, "code", name);
	json_put(object, "msg", slice_from(detail && *detail ? detail : claim_strerror(code)));
	json_print(object);
}
