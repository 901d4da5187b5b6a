/*
 * vectors.c - reads the files of proto/vectors; see vectors.h.
 *
 * A mistake in a file ends the program: these are our own files, and a case that is skipped looks like one that passed.
 */
#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../proto/mem.h"

_Noreturn static void die(const char *file, struct slice name, const char *why)
{
	fprintf(stderr, "vectors: %s: case \"%.*s\": %s\n", file, (int)name.len, name.data != NULL ? name.data : "",
		why);
	exit(99);
}

static char *file_read(const char *name, size_t *len)
{
	const char *srcdir = getenv("srcdir");
	char path[1024];

	snprintf(path, sizeof path, "%s/proto/vectors/%s", srcdir != NULL ? srcdir : ".", name);
	FILE *f = fopen(path, "rb");
	if (f == NULL || fseek(f, 0, SEEK_END) != 0)
		die(path, SLICE_ABSENT, "cannot be read");
	long size = ftell(f);
	rewind(f);
	char *data = mem_alloc((size_t)size);
	if (data == NULL || fread(data, 1, (size_t)size, f) != (size_t)size)
		die(path, SLICE_ABSENT, "cannot be read");
	fclose(f);
	*len = (size_t)size;
	return data;
}

static int hex_digit(char c)
{
	const char *digits = "0123456789ABCDEF";
	const char *found = c != '\0' ? strchr(digits, c) : NULL;

	return found != NULL ? (int)(found - digits) : -1;
}

/* Undoes one escape, the backslash of which is behind *at. Appends to w; false: not in the notation. */
static bool notation_escape(const char **at, const char *end, struct writer *w)
{
	switch (*(*at)++) {
	case '\\':
		writer_char(w, '\\');
		return true;
	case 'n':
		writer_char(w, '\n');
		return true;
	case 'r':
		writer_char(w, '\r');
		return true;
	case 'x':
		if (end - *at < 2 || hex_digit((*at)[0]) < 0 || hex_digit((*at)[1]) < 0)
			return false;
		writer_char(w, (char)(hex_digit((*at)[0]) << 4 | hex_digit((*at)[1])));
		*at += 2;
		return true;
	default:
		return false;
	}
}

static bool notation_read(struct slice raw, struct writer *w);

/* N{text}, behind \*. */
static bool notation_repeat(const char **at, const char *end, struct writer *w)
{
	const char *open = memchr(*at, '{', (size_t)(end - *at));
	const char *close = open != NULL ? memchr(open, '}', (size_t)(end - open)) : NULL;
	int64_t times;

	if (close == NULL || !integer_parse((struct slice){*at, (size_t)(open - *at)}, &times))
		return false;
	for (int64_t i = 0; i < times; i++)
		if (!notation_read((struct slice){open + 1, (size_t)(close - open) - 1}, w))
			return false;
	*at = close + 1;
	return true;
}

static bool notation_read(struct slice raw, struct writer *w)
{
	const char *at = raw.data, *end = raw.data + raw.len;

	while (at < end) {
		char c = *at++;
		if (c != '\\') {
			writer_char(w, c);
			continue;
		}
		if (at == end)
			return false;
		if (*at == '*') {
			at++;
			if (!notation_repeat(&at, end, w))
				return false;
		} else if (!notation_escape(&at, end, w)) {
			return false;
		}
	}
	return !w->full;
}

/* "keyword text" into the next line of the vector; in and raw go into its input. */
static void line_add(const char *file, struct vector *vector, struct slice line)
{
	static char scratch[100000];
	const char *space = memchr(line.data, ' ', line.len);
	struct slice keyword = {line.data, space != NULL ? (size_t)(space - line.data) : line.len};
	struct slice raw = {line.data + keyword.len, line.len - keyword.len};
	struct writer w;

	writer_init(&w, scratch, sizeof scratch);
	if (space != NULL)
		raw = (struct slice){raw.data + 1, raw.len - 1};
	bool input = slice_equal(keyword, SLICE_OF("in")) || slice_equal(keyword, SLICE_OF("raw"));
	if (input)
		writer_slice(&w, vector->input);
	if (!notation_read(raw, &w))
		die(file, vector->name, "a line is not in the notation");
	if (slice_equal(keyword, SLICE_OF("in")))
		writer_char(&w, '\n');
	if (w.full || vector->count == VECTOR_MAX_LINES)
		die(file, vector->name, "too long");

	struct slice text = {mem_copy(scratch, w.len), w.len};
	if (input) {
		mem_free((void *)vector->input.data);
		vector->input = text;
	} else {
		vector->line[vector->count++] = (struct vector_line){keyword, text};
	}
}

void vectors_load(struct vectors *vectors, const char *name)
{
	const struct slice starts = SLICE_OF("case ");
	size_t len, cap = 0;

	vectors->file = file_read(name, &len);
	vectors->count = 0;
	vectors->vector = NULL;
	bool open = false;
	for (const char *at = vectors->file, *end = at + len; at < end;) {
		const char *lf = memchr(at, '\n', (size_t)(end - at));
		struct slice line = {at, (size_t)((lf != NULL ? lf : end) - at)};
		at += line.len + 1;
		if (line.len == 0 || line.data[0] == '#') {
			open = open && line.len > 0;
			continue;
		}
		if (open) {
			line_add(name, &vectors->vector[vectors->count - 1], line);
			continue;
		}
		if (!slice_starts(line, starts))
			die(name, line, "a case starts with \"case NAME\"");
		if (vectors->count == cap) {
			cap = cap * 2 + 64;
			vectors->vector = mem_resize(vectors->vector, cap * sizeof *vectors->vector);
		}
		struct slice title = {line.data + starts.len, line.len - starts.len};
		vectors->vector[vectors->count++] = (struct vector){.name = title, .input = {mem_copy("", 0), 0}};
		open = true;
	}
	if (vectors->count == 0)
		die(name, SLICE_ABSENT, "has no cases");
}

void vectors_release(struct vectors *vectors)
{
	for (size_t i = 0; i < vectors->count; i++) {
		for (size_t j = 0; j < vectors->vector[i].count; j++)
			mem_free((void *)vectors->vector[i].line[j].text.data);
		mem_free((void *)vectors->vector[i].input.data);
	}
	mem_free(vectors->vector);
	mem_free(vectors->file);
}

const struct vector_line *vector_find(const struct vector *vector, const char *keyword)
{
	for (size_t i = 0; i < vector->count; i++)
		if (slice_equal(vector->line[i].keyword, slice_from(keyword)))
			return &vector->line[i];
	return NULL;
}
