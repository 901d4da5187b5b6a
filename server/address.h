/*
 * address.h - where a second socket listens, as a setting says it: "127.0.0.1:9464", "[::1]:9464" or a path.
 *
 * Used by setting.c, which refuses what is none, listener.c and admin.c. Names are not looked up: that could take long, and a name
 * may stand for more addresses than were meant.
 */
#ifndef CLAIMD_SERVER_ADDRESS_H
#define CLAIMD_SERVER_ADDRESS_H

#include <sys/socket.h>

#include "../proto/text.h"

#define ADDRESS_MAX_TEXT 56 /* of an address in numbers, with the NUL */

struct address {
	struct sockaddr_storage socket; /* not for a path */
	socklen_t len;                  /* 0: it is a path */
	bool local;                     /* no other host reaches it */
};

/* The path of a Unix socket leaves room for what is put behind its name while it is made. False: *err says how long it may be. */
bool address_path_fits(const char *path, struct errbuf *err);
/* False: *err says what would be right. A path is what has a slash in it. */
bool address_parse(struct address *address, const char *text, struct errbuf *err);
/* Host and port in numbers, as address_parse reads them; the address is no path. */
void address_show(const struct address *address, char out[ADDRESS_MAX_TEXT]);

#endif
