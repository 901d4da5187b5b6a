/*
 * cli_say.c - what the command says on standard error: what went wrong, and what to do next. Called by all its parts.
 */
#include <stdio.h>

#include "cli.h"
#include "cli_socket.h"
#include "cli_text.h"

#define SAY_MAX 4096

void cli_say(const char *format, ...)
{
	char text[SAY_MAX], shown[4 * SAY_MAX];
	struct writer w;
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	writer_init(&w, shown, sizeof(shown));
	writer_text(&w, "claim: ");
	write_shown(&w, slice_from(text));
	/* One write: lines of several commands on one terminal stay whole. */
	fprintf(stderr, "%.*s\n", (int)w.len, w.data);
}

/* Nobody answers: why, and what to do about it. */
static void say_unreachable(const char *socket, const char *what)
{
	struct socket_look look;
	cli_say("%s", what);
	socket_look(socket, &look);
	if (look.state == SOCKET_DENIED || look.state == SOCKET_OTHER || look.state == SOCKET_DEAF)
		cli_say("%s", look.what.text);
	if (look.next.text[0])
		cli_say("%s", look.next.text);
}

void cli_say_error(int code, const char *socket, const char *detail)
{
	const char *what = detail && *detail ? detail : claim_strerror(code);
	switch (code) {
	case CLAIM_E_UNREACHABLE:
		say_unreachable(socket, what);
		return;
	case CLAIM_E_REFUSED:
		cli_say("the daemon could not do it: %s. Nothing was done; try again, and look at `claim doctor`",
			what);
		return;
	case CLAIM_E_UNCERTAIN:
		cli_say("%s. It may have been done or not", what);
		return;
	case CLAIM_E_DENIED:
		cli_say("not allowed: %s", what);
		return;
	case CLAIM_E_PROTOCOL:
		cli_say("what answers at %s is no claimd: %s", socket, what);
		return;
	default:
		cli_say("%s", what);
	}
}
