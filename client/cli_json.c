/*
 * cli_json.c - answers as JSON for programs. See cli_json.h. Called by the verbs.
 *
 * Numbers are written with all their digits. What is no valid UTF-8 (keys may be any octets) is given in base64 under its name with
 * "_base64" behind it. Where there is no memory the command ends: half a document would look like a whole one.
 */
#include "cli_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../proto/mem.h"
#include "cli_text.h"

#define JSON_FORMAT 1

static void *json_alloc(size_t size)
{
	void *block = mem_alloc(size);
	if (block)
		return block;
	cli_say("no memory to print JSON");
	exit(CLI_UNREACHABLE);
}

void json_init(void)
{
	cJSON_InitHooks(&(cJSON_Hooks){json_alloc, mem_free});
}

static char *base64(struct slice in)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *out = json_alloc((in.len + 2) / 3 * 4 + 1), *at = out;
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

static char *text_copy(struct slice in)
{
	char *out = json_alloc(in.len + 1);
	if (in.len > 0)
		memcpy(out, in.data, in.len);
	out[in.len] = '\0';
	return out;
}

/* These hold what somebody chose: "42" is a text there. */
static bool is_text(const char *name)
{
	static const char *const names[] = {"key",     "code",  "owner", "fp",        "msg", "cursor",
					    "state",   "was",   "lapse", "namespace", "ns",  "server",
					    "version", "store", "phase", "result"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

void json_put_text(cJSON *object, const char *name, struct slice value)
{
	char other[80];
	bool plain = text_is_utf8(value);
	char *text = plain ? text_copy(value) : base64(value);
	snprintf(other, sizeof(other), "%s%s", name, plain ? "" : "_base64");
	cJSON_AddStringToObject(object, other, text);
	mem_free(text);
}

void json_put_number(cJSON *object, const char *name, int64_t n)
{
	/* Raw: a double does not hold all fences. */
	char digits[24];
	snprintf(digits, sizeof(digits), "%" PRId64, n);
	cJSON_AddRawToObject(object, name, digits);
}

void json_put(cJSON *object, const char *name, struct slice value)
{
	int64_t n;
	if (!is_text(name) && integer_parse(value, &n))
		json_put_number(object, name, n);
	else
		json_put_text(object, name, value);
}

cJSON *json_new(const char *word)
{
	cJSON *object = cJSON_CreateObject();
	cJSON_AddNumberToObject(object, "format", JSON_FORMAT);
	if (word)
		cJSON_AddStringToObject(object, "word", word);
	return object;
}

void json_print(FILE *out, cJSON *object)
{
	char *text = cJSON_PrintUnformatted(object);
	fprintf(out, "%s\n", text);
	cJSON_free(text);
	cJSON_Delete(object);
}

void json_put_reply(cJSON *object, const struct reply *reply)
{
	if (reply->code == WORD_ERR)
		json_put(object, "code", reply->err_name);
	for (size_t i = 0; i < reply->count; i++) {
		char name[64];
		snprintf(name, sizeof(name), "%.*s", (int)reply->field[i].name.len, reply->field[i].name.data);
		json_put(object, name, reply->field[i].value);
	}
	if (reply->body.data)
		json_put(object, "result", reply->body);
}

void show_json(FILE *out, const struct reply *reply, const char *key)
{
	char word[64];
	snprintf(word, sizeof(word), "%.*s", (int)reply->word.len, reply->word.data);
	cJSON *object = json_new(word);
	if (key)
		json_put_text(object, "key", slice_from(key));
	json_put_reply(object, reply);
	json_print(out, object);
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
	cJSON *object = json_new("ERR");
	if (key)
		json_put_text(object, "key", slice_from(key));
	cJSON_AddStringToObject(object, "code", name);
	json_put_text(object, "msg", slice_from(detail && *detail ? detail : claim_strerror(code)));
	json_print(stdout, object);
}
