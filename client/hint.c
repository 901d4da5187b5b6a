/*
 * hint.c - what a person may type next. See hint.h. Called by the parts of `claim run`.
 *
 * A key is anybody's octets, and the line goes to a terminal and from there into a shell: neither may take any of
 * them for more than an octet. A line that would not fit is left out; half a command is worse than none.
 */
#include "hint.h"

#include <stdio.h>
#include <string.h>

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("_-.,:/@%+=", c);
}

static bool is_visible(char c)
{
	return c >= ' ' && c < 0x7f;
}

static bool all_are(struct slice word, bool (*is)(char c))
{
	for (size_t i = 0; i < word.len; i++)
		if (!word.data[i] || !is(word.data[i]))
			return false;
	return word.len > 0;
}

/* word, 'it'\''s', or $'caf\303\251' where something in it is not visible. */
static void write_word(struct writer *w, struct slice word)
{
	if (all_are(word, is_plain)) {
		writer_slice(w, word);
		return;
	}
	bool visible = all_are(word, is_visible);
	writer_text(w, visible ? "'" : "$'");
	for (size_t i = 0; i < word.len; i++) {
		unsigned char c = (unsigned char)word.data[i];
		if (visible && c == '\'') {
			writer_text(w, "'\\''");
		} else if (visible || (is_visible((char)c) && c != '\'' && c != '\\')) {
			writer_char(w, (char)c);
		} else {
			writer_char(w, '\\');
			writer_char(w, (char)('0' + (c >> 6)));
			writer_char(w, (char)('0' + (c >> 3 & 7)));
			writer_char(w, (char)('0' + (c & 7)));
		}
	}
	writer_char(w, '\'');
}

static void write_option(struct writer *w, const char *name, const char *value)
{
	if (!value)
		return;
	writer_text(w, name);
	write_word(w, slice_from(value));
}

void hint_say(const struct cli *cli, const char *when, const char *command, int64_t fence, struct slice key)
{
	char line[8192];
	struct writer w;
	writer_init(&w, line, sizeof(line));
	writer_text(&w, "  ");
	writer_text(&w, when);
	writer_text(&w, ": claim");
	write_option(&w, " --socket ", cli->socket);
	write_option(&w, " --namespace ", cli->ns);
	writer_char(&w, ' ');
	writer_text(&w, command);
	if (fence > 0) {
		writer_text(&w, " --fence ");
		writer_int(&w, fence);
	}
	/* A key that looks like an option stands behind "--". */
	writer_text(&w, key.data[0] == '-' ? " -- " : " ");
	write_word(&w, key);
	if (!w.full)
		fprintf(stderr, "%.*s\n", (int)w.len, w.data);
}
