/*
 * content_key.c - see content_key.h; plain.c calls it for each KEY.
 *
 *     json_strict -> cJSON -> canonical_sort -> fields, except, round -> is anything left? -> canonical_write -> SHA-256
 *
 * Members and paths are in the same order, so that each list is done in one walk over the tree.
 */
#include "content_key.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../proto/mem.h"
#include "../proto/sha256.h"
#include "canonical.h"
#include "json_strict.h"

#define MAX_DIGITS 15
#define FIXED_OCTETS 400 /* the largest double in full, and MAX_DIGITS behind the point */

static enum err no_memory(struct errbuf *err)
{
	err_set(err, "out of memory; nothing was done, try again");
	return ERR_BUSY;
}

/* ---- reading a list of paths ---- */

/* Names without their escapes, each with a NUL behind it. NUL is below all else, so paths are sorted name by name. */
struct path {
	const char *start, *end;
	const char *at; /* the name that counts on the level under way */
	int digits;     /* for round */
};

struct list {
	enum option option; /* OPT_FIELDS, OPT_EXCEPT or OPT_ROUND */
	struct errbuf *err;
	struct slice left; /* what is not read yet */
	bool more;         /* a comma was read: a path must follow */
	char *text;        /* from mem_alloc: the names */
	char *to;          /* where their next octet goes */
	size_t count;
	struct path path[CONTENT_KEY_PATHS];
};

/* Takes a name, and what ends it along: . : or a comma, which also stands for the end of the list. NUL: malformed. */
static char take_name(struct list *list)
{
	const char *at = list->left.data, *end = at + list->left.len, *from = list->to;
	char ended = ',';

	for (; at < end; at++) {
		if (*at == '.' || *at == ',' || *at == ':' || *at == '\0') {
			ended = *at;
			break;
		}
		if (*at == '\\' && (++at == end || *at == '\0' || strchr(".,:\\", *at) == NULL))
			return '\0';
		*list->to++ = *at;
	}
	if (list->to == from)
		return '\0';
	*list->to++ = '\0';
	list->more = at < end;
	at += list->more;
	list->left = (struct slice){at, (size_t)(end - at)};
	return ended;
}

static bool take_digits(struct list *list, int *digits)
{
	struct slice *left = &list->left;
	int64_t number;
	size_t len = 0;

	while (len < left->len && left->data[len] != ',')
		len++;
	if (!integer_parse((struct slice){left->data, len}, &number) || number > MAX_DIGITS)
		return false;
	*digits = (int)number;
	list->more = len < left->len;
	len += list->more;
	*left = (struct slice){left->data + len, left->len - len};
	return true;
}

static bool take_path(struct list *list)
{
	struct path *path = &list->path[list->count++];
	char ended;

	path->start = path->at = list->to;
	do
		ended = take_name(list);
	while (ended == '.');
	path->end = list->to;
	return list->option == OPT_ROUND ? ended == ':' && take_digits(list, &path->digits) : ended == ',';
}

static struct slice path_text(const struct path *path)
{
	return (struct slice){path->start, (size_t)(path->end - path->start)};
}

static int compare_paths(const void *a, const void *b)
{
	return canonical_compare(path_text(a), path_text(b));
}

static enum err malformed(const struct list *list, const char *why)
{
	err_set(list->err, "%s= %s; it takes paths with commas between, %s, and \\ before a . , : or \\ in a name",
		option_info(list->option)->name.data, why,
		list->option == OPT_ROUND ? "each with 0 to 15 digits: amount:2,tax.rate:4"
					  : "as in id,customer.email");
	return ERR_BADOPT;
}

static enum err list_read(struct list *list)
{
	list->text = list->to = mem_alloc(list->left.len + 1);
	if (list->text == NULL)
		return no_memory(list->err);
	do {
		if (list->count == CONTENT_KEY_PATHS)
			return malformed(list, "has more than 64 paths");
		if (!take_path(list))
			return malformed(list, "cannot be read");
	} while (list->more);
	qsort(list->path, list->count, sizeof list->path[0], compare_paths);
	/* In this order, what lies inside of a path comes right behind it. */
	for (size_t i = 1; i < list->count; i++)
		if (slice_starts(path_text(&list->path[i]), path_text(&list->path[i - 1])))
			return malformed(list, "has a path twice, or one inside of another");
	return ERR_NONE;
}

/* ---- doing what a list says ---- */

static enum err missing(const struct list *list, const struct path *path, const char *what)
{
	char text[61];
	size_t len = 0;

	if (list->option == OPT_EXCEPT)
		return ERR_NONE;
	for (const char *at = path->start; at < path->end - 1 && len < sizeof text - 1; at++)
		text[len++] = *at == '\0' ? '.' : *at;
	text[len] = '\0';
	err_set(list->err,
		"%s= names \"%.*s\", and there is no such %s in the JSON; a path leads through objects only, and case "
		"counts",
		option_info(list->option)->name.data, canonical_shown(text), text, what);
	return ERR_BADKEY;
}

/* To the nearest number of so many digits; a half, which only a binary fraction can be, to the even one. */
static enum err round_number(const struct list *list, const struct path *path, cJSON *number)
{
	char fixed[FIXED_OCTETS];

	if (!cJSON_IsNumber(number))
		return missing(list, path, "number");
	snprintf(fixed, sizeof fixed, "%.*f", path->digits, number->valuedouble);
	number->valuedouble = strtod(fixed, NULL);
	return ERR_NONE;
}

static enum err apply(struct list *list, cJSON *object, struct path *path, size_t count);

/* `count` paths go through this member of the object, or end at it. */
static enum err apply_member(struct list *list, cJSON *object, cJSON *member, struct path *path, size_t count)
{
	bool ends = count > 0 && path->at + strlen(path->at) + 1 == path->end; /* then it is the only one */

	if (ends && list->option == OPT_ROUND)
		return round_number(list, path, member);
	if (ends ? list->option == OPT_EXCEPT : count == 0 && list->option == OPT_FIELDS)
		cJSON_Delete(cJSON_DetachItemViaPointer(object, member));
	if (ends || count == 0)
		return ERR_NONE;
	if (!cJSON_IsObject(member))
		return missing(list, path, "field");
	for (size_t i = 0; i < count; i++)
		path[i].at += strlen(path[i].at) + 1;
	return apply(list, member, path, count);
}

/* `count` paths go on in this object. */
static enum err apply(struct list *list, cJSON *object, struct path *path, size_t count)
{
	const struct path *end = path + count;
	enum err code = ERR_NONE;
	cJSON *member, *next;

	for (member = object->child; member != NULL && code == ERR_NONE; member = next) {
		struct slice name = slice_from(member->string);
		size_t same = 0;

		next = member->next;
		while (path < end && canonical_compare(slice_from(path->at), name) < 0 && code == ERR_NONE)
			code = missing(list, path++, "field");
		while (path + same < end && slice_equal(slice_from(path[same].at), name))
			same++;
		if (code == ERR_NONE)
			code = apply_member(list, object, member, path, same);
		path += same;
	}
	return code == ERR_NONE && path < end ? missing(list, path, "field") : code;
}

static enum err choose(cJSON *tree, enum option option, struct slice text, struct errbuf *err)
{
	struct list list = {.option = option, .err = err, .left = text};

	if (text.data == NULL)
		return ERR_NONE;
	enum err code = list_read(&list);
	if (code == ERR_NONE)
		code = apply(&list, tree, list.path, list.count);
	mem_free(list.text);
	return code;
}

/* ---- the key ---- */

static enum err read_tree(struct slice json, cJSON **tree, struct errbuf *err)
{
	cJSON_Hooks hooks = {mem_alloc, mem_free};
	char *text = mem_copy(json.data, json.len);

	if (text == NULL)
		return no_memory(err);
	if (!json_strict(text, json.len, err)) {
		mem_free(text);
		return ERR_BADKEY;
	}
	cJSON_InitHooks(&hooks);
	*tree = cJSON_ParseWithLength(text, json.len);
	mem_free(text);
	return *tree != NULL ? canonical_sort(*tree, err) : no_memory(err);
}

/* Every job that lacks what makes it different would have the same key. */
static bool is_nothing(const cJSON *value)
{
	if (cJSON_IsString(value))
		return value->valuestring[0] == '\0';
	if (!cJSON_IsObject(value) && !cJSON_IsArray(value))
		return cJSON_IsNull(value);
	for (const cJSON *child = value->child; child != NULL; child = child->next)
		if (!is_nothing(child))
			return false;
	return true;
}

/* `cap`: room that is enough for the canonical form. */
static enum err hash(const cJSON *tree, size_t cap, char out[65], struct errbuf *err)
{
	enum err code = ERR_NONE;
	char *text = mem_alloc(cap);
	struct writer w;

	if (text == NULL)
		return no_memory(err);
	writer_init(&w, text, cap);
	if (canonical_write(&w, tree, err)) {
		assert(!w.full);
		sha256_hex(writer_done(&w), out);
	} else {
		code = ERR_BADKEY;
	}
	mem_free(text);
	return code;
}

enum err content_key(const struct content_key_ask *ask, char out[65], struct errbuf *err)
{
	cJSON *tree = NULL;
	enum err code;

	if (ask->json.len > PROTO_MAX_JSON) {
		err_set(err, "KEY takes at most %d octets of JSON: send only what tells one job from another",
			PROTO_MAX_JSON);
		return ERR_TOOBIG;
	}
	code = read_tree(ask->json, &tree, err);
	if (code == ERR_NONE)
		code = choose(tree, OPT_FIELDS, ask->fields, err);
	if (code == ERR_NONE)
		code = choose(tree, OPT_EXCEPT, ask->except, err);
	if (code == ERR_NONE)
		code = choose(tree, OPT_ROUND, ask->round, err);
	if (code == ERR_NONE && is_nothing(tree)) {
		err_set(err,
			"nothing is left of the JSON but null, \"\", [] or {}: each such job would have the same key; "
			"choose a field that differs");
		code = ERR_BADKEY;
	}
	if (code == ERR_NONE)
		code = hash(tree, ask->json.len * CANONICAL_GROWTH, out, err);
	cJSON_Delete(tree);
	return code;
}
