/*
 * cli_text.h - octets of others on a terminal: what cannot move the cursor, how wide it is, how a shell takes it.
 */
#ifndef CLAIM_CLI_TEXT_H
#define CLAIM_CLI_TEXT_H

#include <stdio.h>

#include "../proto/text.h"

/* "812ms" "9.1s" "3m12s" "2h5m" "6d23h" "never" */
struct duration_text {
	char text[24];
};
struct duration_text show_duration(int64_t ms);

/* One character as it is shown. */
struct glyph {
	struct slice octets;
	bool plain; /* else its octets are shown as \x1b: it is a control, turns the line around, or is no UTF-8 */
	size_t width;
};
/* Takes the next one off *text, which is not empty. */
struct glyph text_glyph(struct slice *text);
/* There is no octet in it that is not UTF-8, and no NUL. */
bool text_is_utf8(struct slice text);

/* Nothing of it can move the cursor or change a colour. */
void show_text(FILE *out, struct slice text);
void write_shown(struct writer *w, struct slice text);
/* Columns that show_text takes. */
size_t text_width(struct slice text);
/* In so many columns at most, with a "~" at the end when it was cut; returns how many. */
size_t show_cut(FILE *out, struct slice text, size_t columns);
/* In exactly so many columns: cut, or filled up with spaces. */
void show_fitted(FILE *out, struct slice text, size_t columns);

enum style { STYLE_PLAIN, STYLE_HEAD, STYLE_GOOD, STYLE_BUSY, STYLE_BAD, STYLE_DIM };
/* Standard output is a terminal that can do so, and nobody minds: NO_COLOR and TERM=dumb. */
bool colour_wanted(void);
/* The words of records, daemons and answers. */
enum style style_of(struct slice word);
/* Switches it on, STYLE_PLAIN: off. */
void show_style(FILE *out, bool colour, enum style style);

#endif
