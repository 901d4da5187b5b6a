/* cli_screen.h - a terminal taken over as a whole, and given back as it was. */
#ifndef CLAIM_CLI_SCREEN_H
#define CLAIM_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct screen {
	int fd;
	bool open;
	bool keyed; /* `before` is what its keys did */
	struct termios before;
};

/* Standard output is a terminal that can place its cursor. */
bool screen_possible(void);
/* Takes it over: a screen of its own, no cursor, keys come at once. May be called again, when somebody else had it. */
void screen_open(struct screen *screen);
void screen_close(struct screen *screen);
/* How large it is now; 80 by 24 where it does not know. */
void screen_size(const struct screen *screen, size_t *columns, size_t *lines);

#endif
