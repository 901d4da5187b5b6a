/*
 * format.c - writes requests (for the library) and replies (for the daemon).
 *
 * Each call appends one piece to the caller's writer. When something did not fit, the writer is `full` and the
 * caller throws the line away; what is there is never half an option.
 */
#include "proto.h"

#include <string.h>

/* " name=", at one go: there are several in every answer. */
static void name_write(struct writer *w, struct slice name)
{
	char *to = w->data + w->len;

	if (w->full || name.len + 2 > w->cap - w->len) {
		w->full = true;
		return;
	}
	to[0] = ' ';
	memcpy(to + 1, name.data, name.len);
	to[name.len + 1] = '=';
	w->len += name.len + 2;
}

static void ms_write(struct writer *w, int64_t ms, const char *unit)
{
	if (ms == PROTO_NEVER) {
		writer_text(w, "never");
		return;
	}
	writer_int(w, ms);
	writer_text(w, unit);
}

/* body= (absent: none) and the LF that ends the line. */
static void line_end(struct writer *w, struct slice body)
{
	if (body.data != NULL) {
		name_write(w, SLICE_OF("body"));
		writer_int(w, (int64_t)body.len);
	}
	writer_char(w, '\n');
}

void request_begin(struct writer *w, enum verb verb, struct slice key)
{
	writer_slice(w, verb_info(verb)->name);
	if (key.data != NULL) {
		writer_char(w, ' ');
		escape_write(w, key, true);
	}
}

void request_bytes(struct writer *w, enum option option, struct slice value)
{
	if (value.data == NULL)
		return;
	name_write(w, option_info(option)->name);
	escape_write(w, value, false);
}

void request_integer(struct writer *w, enum option option, int64_t n)
{
	name_write(w, option_info(option)->name);
	writer_int(w, n);
}

void request_duration(struct writer *w, enum option option, int64_t ms)
{
	name_write(w, option_info(option)->name);
	ms_write(w, ms, "ms");
}

void request_choice(struct writer *w, enum choice choice)
{
	name_write(w, option_info(choice_option(choice))->name);
	writer_slice(w, choice_name(choice));
}

void request_flag(struct writer *w, enum option option)
{
	writer_char(w, ' ');
	writer_slice(w, option_info(option)->name);
}

void request_end(struct writer *w, struct slice body)
{
	line_end(w, body);
}

void reply_begin(struct writer *w, enum word word)
{
	writer_slice(w, word_name(word));
}

void reply_error(struct writer *w, enum err code, struct slice retry, int64_t after_ms, const char *message)
{
	writer_slice(w, word_name(WORD_ERR));
	writer_char(w, ' ');
	writer_slice(w, err_name(code));
	reply_bytes(w, "retry", retry.data != NULL ? retry : err_retry(code));
	if (after_ms > 0)
		reply_number(w, "after_ms", after_ms);
	reply_bytes(w, "msg", slice_from(message));
}

void reply_event(struct writer *w, const char *word)
{
	writer_text(w, "* ");
	writer_text(w, word);
}

void reply_bytes(struct writer *w, const char *name, struct slice value)
{
	if (value.len == 0)
		return;
	name_write(w, slice_from(name));
	escape_write(w, value, false);
}

void reply_number(struct writer *w, const char *name, int64_t n)
{
	name_write(w, slice_from(name));
	writer_int(w, n);
}

void reply_ms(struct writer *w, const char *name, int64_t ms)
{
	name_write(w, slice_from(name));
	ms_write(w, ms, "");
}

void reply_end(struct writer *w, struct slice tag, struct slice body)
{
	reply_bytes(w, "tag", tag);
	line_end(w, body);
}
