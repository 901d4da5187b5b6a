/*
 * cli_near.c - "did you mean". See cli_near.h. Called where a verb or an option is not known. It cannot fail.
 */
#include "cli_near.h"

#include <string.h>

#define WORD_MAX 32

static size_t least(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;
	return ab < c ? ab : c;
}

/* How many letters must be put in, taken out, changed or swapped with the next one to make b of a; a and b are short. */
static size_t distance(struct slice a, struct slice b)
{
	size_t row[3][WORD_MAX + 1];
	for (size_t j = 0; j <= b.len; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= a.len; i++) {
		size_t *now = row[i % 3], *before = row[(i - 1) % 3], *older = row[(i + 1) % 3];
		now[0] = i;
		for (size_t j = 1; j <= b.len; j++) {
			bool same = a.data[i - 1] == b.data[j - 1];
			now[j] = least(before[j] + 1, now[j - 1] + 1, before[j - 1] + !same);
			if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1] &&
			    older[j - 2] + 1 < now[j])
				now[j] = older[j - 2] + 1;
		}
	}
	return row[a.len % 3][b.len];
}

void near_offer(struct near *near, const char *word)
{
	struct slice text = slice_from(word), meant = near->meant;
	if (text.len > WORD_MAX || meant.len > WORD_MAX || meant.len < 2)
		return;
	/* A word of which it is the start is near, too: "stat" for "status". */
	size_t n = slice_starts(text, meant) ? 1 : distance(meant, text);
	if (n <= 1 + meant.len / 4 && (!near->word || n < near->distance)) {
		near->word = word;
		near->distance = n;
	}
}
