/* cli_socket.h - why nobody answers at a socket, and what to do about it. */
#ifndef CLAIM_CLI_SOCKET_H
#define CLAIM_CLI_SOCKET_H

#include "../proto/text.h"

enum socket_state {
	SOCKET_GOOD,    /* it takes a connection */
	SOCKET_LONG,    /* the path does not fit an address */
	SOCKET_MISSING, /* the file, or a folder above it */
	SOCKET_OTHER,   /* there is something else */
	SOCKET_DENIED,  /* this user may not */
	SOCKET_DEAF,    /* nobody listens */
	SOCKET_FULL,    /* somebody does, but takes nobody */
	SOCKET_FAILED
};

struct socket_look {
	enum socket_state state;
	struct errbuf what;
	struct errbuf next; /* "" when there is nothing to do */
};

/* Looks by itself, with a connection that is closed at once. */
void socket_look(const char *path, struct socket_look *look);

#endif
