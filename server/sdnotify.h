/*
 * sdnotify.h - the two conversations with a service manager: "I am ready", and a socket that it opened for us.
 */
#ifndef CLAIMD_SERVER_SDNOTIFY_H
#define CLAIMD_SERVER_SDNOTIFY_H

#include "../proto/text.h"

struct sdnotify {
	int fd;              /* -1: nobody wants to know */
	int64_t watchdog_ms; /* send WATCHDOG=1 this often (half of what is allowed); 0: not wanted */
};

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. False when there is a NOTIFY_SOCKET that cannot be used (*err says
 * why); *notify is good then too, and silent. */
bool sdnotify_open(struct sdnotify *notify, char **envp, struct errbuf *err);
void sdnotify_close(struct sdnotify *notify);

/* "READY=1", "STOPPING=1", "STATUS=text", "WATCHDOG=1", several with a LF between them. Never blocks. True when the manager
 * has it, or there is none. */
bool sdnotify_send(const struct sdnotify *notify, const char *state);

#define SDNOTIFY_NO_FD (-1)
#define SDNOTIFY_BAD_FD (-2)

/* The listening Unix stream socket that was passed by LISTEN_FDS, close-on-exec set. SDNOTIFY_NO_FD: none was passed to this
 * process. SDNOTIFY_BAD_FD: something else was passed; *err says what. */
int sdnotify_listen_fd(char **envp, struct errbuf *err);

#endif
