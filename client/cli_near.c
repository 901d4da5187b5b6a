/*
 * cli_near.c - "did you mean". See cli_near.h. Called where a verb or an option is not known. It cannot fail.
 */
#include "cli_near.h"

void near_offer(struct near *near, const char *word)
{
	struct slice text = slice_from(word), meant = near->meant;
	if (meant.len < 2)
		return;
	/* A word of which it is the start is near, too: "stat" for "status". */
	size_t n = slice_starts(text, meant) ? 1 : word_distance(meant, text);
	if (n <= 1 + meant.len / 4 && (!near->word || n < near->distance)) {
		near->word = word;
		near->distance = n;
	}
}
