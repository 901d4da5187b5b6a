/*
 * json.c - the daemon's reading of JSON and of the lists of KEY against made-up octets; `./dev fuzz` builds and runs it.
 *
 * The input is three lines, the lists (an empty one: absent), and then the JSON. What json_strict lets through cJSON must read;
 * a canonical form must be its own canonical form; no memory must be told as that and leave nothing behind. The
 * sanitizers watch the edges: the JSON and each list lie in a block of exactly their size.
 */
#include <stdlib.h>
#include <string.h>

#include "../../proto/mem.h"
#include "../../server/canonical.h"
#include "../../server/content_key.h"
#include "../../server/json_strict.h"
#include "fuzz.h"

static struct slice take_list(const char **at, const char *end)
{
	const char *from = *at, *line_end = from < end ? memchr(from, '\n', (size_t)(end - from)) : NULL;

	if (line_end == NULL)
		line_end = end;
	*at = line_end < end ? line_end + 1 : end;
	if (line_end == from)
		return SLICE_ABSENT;
	return (struct slice){exact_copy(from, (size_t)(line_end - from)), (size_t)(line_end - from)};
}

/* The canonical form, to be freed; absent: it has none. */
static struct slice canonical(struct slice json)
{
	char *text = exact_copy(json.data, json.len);
	struct slice out = SLICE_ABSENT;
	struct errbuf err = {""};
	struct writer w;

	if (!json_strict(text, json.len, &err)) {
		must(err.text[0] != '\0');
		free(text);
		return out;
	}
	cJSON *tree = cJSON_ParseWithLength(text, json.len);
	must(tree != NULL);
	free(text);
	if (canonical_sort(tree, &err) == ERR_NONE) {
		size_t cap = json.len * CANONICAL_GROWTH;
		char *written = malloc(cap);

		writer_init(&w, written, cap);
		if (canonical_write(&w, tree, &err))
			out = writer_done(&w);
		else
			free(written);
		must(!w.full);
	}
	must((out.data == NULL) == (err.text[0] != '\0'));
	cJSON_Delete(tree);
	return out;
}

/* What was written with an exponent may be an integer beyond 2^53 now, which nobody may write. */
static bool has_long_integer(struct slice text)
{
	size_t digits = 0;

	for (size_t i = 0; i < text.len; i++) {
		digits = text.data[i] >= '0' && text.data[i] <= '9' ? digits + 1 : 0;
		if (digits >= 16)
			return true;
	}
	return false;
}

static void check_form(struct slice json)
{
	struct slice once = canonical(json);

	if (once.data == NULL)
		return;
	struct slice twice = canonical(once);
	must(twice.data != NULL ? slice_equal(once, twice) : has_long_integer(once));
	free((void *)twice.data);
	free((void *)once.data);
}

static void check_key(const struct content_key_ask *ask, size_t fail_at)
{
	char hex[65] = "", again[65] = "";
	struct errbuf err = {""};
	enum err code = content_key(ask, hex, &err);

	must(code == ERR_NONE || code == ERR_BADKEY || code == ERR_BADOPT);
	must(code == ERR_NONE ? strspn(hex, "0123456789abcdef") == 64 && err.text[0] == '\0'
			      : hex[0] == '\0' && err.text[0] != '\0');
	mem_fail_at(fail_at, 0);
	enum err starved = content_key(ask, again, &err);
	mem_fail_at(0, 0);
	must(starved == ERR_BUSY ? again[0] == '\0' : starved == code && strcmp(again, hex) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size;
	struct content_key_ask ask = {.fields = take_list(&at, end)};

	ask.except = take_list(&at, end);
	ask.round = take_list(&at, end);
	ask.json = (struct slice){exact_copy(at, (size_t)(end - at)), (size_t)(end - at)};
	check_form(ask.json);
	check_key(&ask, 1 + size % 40);
	free((void *)ask.json.data);
	free((void *)ask.fields.data);
	free((void *)ask.except.data);
	free((void *)ask.round.data);
	return 0;
}
