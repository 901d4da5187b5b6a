/*
 * content_key.c - see content_key.h.
 *
 *     json_strict -> cJSON -> canonical_sort -> marks of fields, except and round -> canonical_write -> SHA-256
 *
 * Every path is looked up by walking the members of each object on its way, so a list has a limit.
 */
#include "content_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../proto/mem.h"
#include "../proto/sha256.h"
#include "canonical.h"
#include "json_strict.h"

#define NAME_OCTETS 1024
#define DIGITS_MAX 15
#define FIXED_OCTETS 400 /* the largest double with all its digits, and some behind the point */

enum list { LIST_FIELDS, LIST_EXCEPT, LIST_ROUND };

/* ---- paths ---- */

/* The next name of a path, without escapes; what ended it ('.', ',', ':' or NUL for the end) in *end. False: malformed. */
static bool take_name(struct slice *text, char name[NAME_OCTETS], char *end)
{
	size_t len = 0, at = 0;

	*end = '\0';
	while (at < text->len) {
		char c = text->data[at++];

		if (c == '.' || c == ',' || c == ':') {
			*end = c;
			break;
		}
		if (c == '\\') {
			if (at == text->len || strchr(".,:\\", text->data[at]) == NULL)
				return false;
			c = text->data[at++];
		}
		if (c == '\0' || len == NAME_OCTETS - 1)
			return false;
		name[len++] = c;
	}
	name[len] = '\0';
	*text = (struct slice){text->data + at, text->len - at};
	return len > 0;
}

static cJSON *member(const cJSON *object, const char *name)
{
	return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

/* ---- what a list asks for ---- */

static bool round_number(cJSON *number, struct slice *text, char *end)
{
	char fixed[FIXED_OCTETS];
	int64_t digits;
	size_t len = 0;

	while (len < text->len && text->data[len] != ',')
		len++;
	if (!integer_parse((struct slice){text->data, len}, &digits) || digits > DIGITS_MAX)
		return false;
	*end = len < text->len ? ',' : '\0';
	len += *end == ',';
	*text = (struct slice){text->data + len, text->len - len};
	if (number != NULL) {
		snprintf(fixed, sizeof fixed, "%.*f", (int)digits, number->valuedouble);
		number->valuedouble = strtod(fixed, NULL);
	}
	return true;
}

static enum err malformed(enum list list, struct errbuf *err)
{
	static const char *const says[] = {
	    [LIST_FIELDS] = "fields= takes paths with commas between them: id,customer.email",
	    [LIST_EXCEPT] = "except= takes paths with commas between them: message_id,publish_time",
	    [LIST_ROUND] = "round= takes paths with a number of digits, 0 to 15, commas between them: amount:2",
	};

	err_set(err, "%s; before a . , : or \\ in a name stands a \\", says[list]);
	return ERR_BADOPT;
}

/* One path: finds what it names and does with it what the list is for. *end is what came behind it. */
static enum err path_apply(cJSON *tree, enum list list, struct slice *text, char *end, struct errbuf *err)
{
	char name[NAME_OCTETS];
	cJSON *node = tree;

	do {
		if (!take_name(text, name, end))
			return malformed(list, err);
		if (list == LIST_FIELDS && node != NULL)
			node->type |= CANONICAL_PART;
		node = member(node, name);
	} while (*end == '.');
	if ((*end == ':') != (list == LIST_ROUND))
		return malformed(list, err);
	if (list == LIST_ROUND && !round_number(cJSON_IsNumber(node) ? node : NULL, text, end))
		return malformed(list, err);
	if (list == LIST_EXCEPT) {
		if (node != NULL)
			node->type |= CANONICAL_SKIP;
		return ERR_NONE;
	}
	if (node == NULL || (list == LIST_ROUND && !cJSON_IsNumber(node))) {
		err_set(err, "the JSON has no %s \"%.60s\" where %s= looks for it", node == NULL ? "field" : "number",
			name, list == LIST_FIELDS ? "fields" : "round");
		return ERR_BADKEY;
	}
	if (list == LIST_FIELDS)
		node->type |= CANONICAL_KEEP;
	return ERR_NONE;
}

static enum err list_apply(cJSON *tree, enum list list, struct slice text, struct errbuf *err)
{
	enum err code = ERR_NONE;
	char end = ',';
	int count;

	if (text.data == NULL)
		return ERR_NONE;
	for (count = 0; code == ERR_NONE && end == ','; count++) {
		if (count == CONTENT_KEY_PATHS) {
			err_set(err, "a list has at most %d paths", CONTENT_KEY_PATHS);
			return ERR_BADOPT;
		}
		code = path_apply(tree, list, &text, &end, err);
	}
	return code;
}

/* ---- the key ---- */

/* cJSON does not say why there is no tree, and its hooks have no argument: the one thing here that belongs to nobody. */
static bool starved;

static void *alloc_for_cjson(size_t size)
{
	void *p = mem_alloc(size);

	starved |= p == NULL;
	return p;
}

static enum err no_memory(struct errbuf *err)
{
	err_set(err, "out of memory; nothing was done, try again");
	return ERR_BUSY;
}

static enum err parse(struct slice json, cJSON **tree, struct errbuf *err)
{
	const char *end = NULL, *last = json.data + json.len;
	cJSON_Hooks hooks = {alloc_for_cjson, mem_free};

	if (!json_strict(json, err))
		return ERR_BADKEY;
	cJSON_InitHooks(&hooks);
	starved = false;
	*tree = cJSON_ParseWithLengthOpts(json.data, json.len, &end, 0);
	if (*tree == NULL && starved)
		return no_memory(err);
	while (*tree != NULL && end < last && strchr(" \t\r\n", *end) != NULL)
		end++;
	if (*tree == NULL || end != last) {
		err_set(err, "the JSON is malformed at octet %zu", (size_t)(end - json.data));
		return ERR_BADKEY;
	}
	if (!cJSON_IsObject(*tree)) {
		err_set(err, "the JSON is no object");
		return ERR_BADKEY;
	}
	return ERR_NONE;
}

static enum err hash(const cJSON *tree, char out[65], struct errbuf *err)
{
	struct canonical text = {0};
	enum err code = ERR_NONE;

	if (!canonical_write(&text, tree)) {
		code = no_memory(err);
	} else if (text.len == 2) { /* {} */
		err_set(err, "nothing is left of the JSON: a key of nothing would be the same for every job");
		code = ERR_BADKEY;
	} else {
		sha256_hex((struct slice){text.text, text.len}, out);
	}
	canonical_release(&text);
	return code;
}

enum err content_key(const struct content_key_ask *ask, char out[65], struct errbuf *err)
{
	cJSON *tree = NULL;
	enum err code = parse(ask->json, &tree, err);

	if (code == ERR_NONE)
		code = canonical_sort(tree, err);
	if (code == ERR_NONE)
		code = list_apply(tree, LIST_FIELDS, ask->fields, err);
	if (code == ERR_NONE)
		code = list_apply(tree, LIST_EXCEPT, ask->except, err);
	if (code == ERR_NONE)
		code = list_apply(tree, LIST_ROUND, ask->round, err);
	if (code == ERR_NONE)
		code = hash(tree, out, err);
	cJSON_Delete(tree);
	return code;
}
