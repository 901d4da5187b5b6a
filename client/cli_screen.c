/*
 * cli_screen.c - a terminal taken over. See cli_screen.h. Called by cli_top.c.
 *
 * Plain control sequences that every terminal of the last decades knows. Lines are not broken at the right edge, so
 * that a character that is wider than we believe spoils one line and not the picture. Failure modes: a terminal that
 * is gone, which the next read or write tells.
 */
#include "cli_screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void screen_write(const struct screen *screen, const char *text)
{
	size_t len = strlen(text);
	while (len > 0) {
		ssize_t n = write(screen->fd, text, len);
		if (n < 0 && errno != EINTR)
			return;
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
}

bool screen_possible(void)
{
	const char *term = getenv("TERM");
	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

void screen_open(struct screen *screen)
{
	struct termios keys;
	screen->fd = STDOUT_FILENO;
	if (tcgetattr(STDIN_FILENO, &keys) == 0) {
		if (!screen->keyed)
			screen->before = keys;
		screen->keyed = true;
		keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		keys.c_iflag &= ~(tcflag_t)IXON; /* a stopped terminal would stop us, and then nothing ends us */
		keys.c_cc[VMIN] = 1;
		keys.c_cc[VTIME] = 0;
		tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
	}
	screen_write(screen, "\033[?1049h\033[?25l\033[?7l\033[2J");
	screen->open = true;
}

void screen_close(struct screen *screen)
{
	if (!screen->open)
		return;
	screen_write(screen, "\033[0m\033[?7h\033[?25h\033[?1049l");
	if (screen->keyed)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &screen->before);
	screen->keyed = screen->open = false;
}

void screen_size(const struct screen *screen, size_t *columns, size_t *lines)
{
	struct winsize size = {0};
	ioctl(screen->fd, TIOCGWINSZ, &size);
	*columns = size.ws_col ? size.ws_col : 80;
	*lines = size.ws_row ? size.ws_row : 24;
}
