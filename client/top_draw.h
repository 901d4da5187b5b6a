/* top_draw.h - `claim top` as lines of text, for a screen of any size or for a pipe. */
#ifndef CLAIM_TOP_DRAW_H
#define CLAIM_TOP_DRAW_H

#include <stdio.h>

#include "top_rows.h"

struct top_view {
	const struct top_daemon *daemon;
	const struct top_rows *rows;
	const char *trouble; /* "": none */
	size_t skip;         /* rows that were scrolled away */
	int64_t now_ms;
};

struct top_size {
	size_t columns, lines; /* SIZE_MAX: as many as it takes */
	bool screen;           /* lines are placed, not ended */
	bool colour;
};

/* Never writes more lines, nor wider ones. */
void top_draw(FILE *out, const struct top_view *view, const struct top_size *size);
/* How many claims fit. */
size_t top_room(const struct top_size *size);

#endif
