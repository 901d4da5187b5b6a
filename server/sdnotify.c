/*
 * sdnotify.c - see sdnotify.h. Called by main.c and server.c at start and stop, and by the watchdog's timer.
 *
 * The manager names a datagram socket in NOTIFY_SOCKET, a path or (with @) a name without a file. Nothing here can fail
 * the daemon: without a manager, or with one that does not listen, messages go nowhere.
 */
#include "sdnotify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../proto/proto.h"
#include "env.h"

#define FIRST_FD 3

/* The environment's number; -1 when it is not there or is none. */
static int64_t read_number(char **envp, const char *name)
{
	int64_t number;

	if (!integer_parse(slice_from(env_get(envp, name)), &number))
		return -1;
	return number;
}

static int64_t watchdog_ms(char **envp)
{
	int64_t usec = read_number(envp, "WATCHDOG_USEC");
	int64_t half_ms = usec / 2 / 1000;

	if (usec <= 0 || (env_get(envp, "WATCHDOG_PID") && read_number(envp, "WATCHDOG_PID") != getpid()))
		return 0;
	return half_ms > 0 ? half_ms : 1;
}

bool sdnotify_open(struct sdnotify *notify, char **envp, struct errbuf *err)
{
	const char *path = env_get(envp, "NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len;
	int fd;

	*notify = (struct sdnotify){.fd = -1};
	if (!path)
		return true;
	len = strlen(path);
	if ((path[0] != '/' && path[0] != '@') || len >= sizeof(address.sun_path)) {
		err_set(err, "NOTIFY_SOCKET: \"%s\" is no path and no @name of at most %zu octets", path,
			sizeof(address.sun_path) - 1);
		return false;
	}
	memcpy(address.sun_path, path, len);
	if (path[0] == '@')
		address.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		err_set(err, "NOTIFY_SOCKET: socket: %s", strerror(errno));
		return false;
	}
	/* A name without a file ends where its length says, a path at its NUL. */
	if (connect(fd, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (path[0] == '/'))) != 0) {
		err_set(err, "NOTIFY_SOCKET: %s: %s", path, strerror(errno));
		close(fd);
		return false;
	}
	*notify = (struct sdnotify){.fd = fd, .watchdog_ms = watchdog_ms(envp)};
	return true;
}

void sdnotify_close(struct sdnotify *notify)
{
	if (notify->fd >= 0)
		close(notify->fd);
	*notify = (struct sdnotify){.fd = -1};
}

bool sdnotify_send(const struct sdnotify *notify, const char *state)
{
	size_t len = strlen(state);
	ssize_t n;

	if (notify->fd < 0)
		return true;
	do
		n = send(notify->fd, state, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)len;
}

/* A Unix stream socket that listens; what else it is, in *err. */
static bool is_listener(int fd, struct errbuf *err)
{
	struct sockaddr_un address;
	socklen_t address_len = sizeof(address);
	int type = 0, listens = 0;
	socklen_t type_len = sizeof(type), listens_len = sizeof(listens);

	memset(&address, 0, sizeof(address));
	if (getsockname(fd, (struct sockaddr *)&address, &address_len) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_len) != 0) {
		err_set(err, "LISTEN_FDS: descriptor %d: %s", fd, strerror(errno));
		return false;
	}
	if (address.sun_family != AF_UNIX || type != SOCK_STREAM) {
		err_set(err, "LISTEN_FDS: descriptor %d is no Unix stream socket", fd);
		return false;
	}
	if (!listens) {
		err_set(err, "LISTEN_FDS: descriptor %d does not listen", fd);
		return false;
	}
	return true;
}

int sdnotify_listen_fd(char **envp, struct errbuf *err)
{
	int flags;

	if (!env_get(envp, "LISTEN_FDS") || read_number(envp, "LISTEN_PID") != getpid())
		return SDNOTIFY_NO_FD; /* not there, or meant for our parent */
	if (read_number(envp, "LISTEN_FDS") == 0)
		return SDNOTIFY_NO_FD;
	if (read_number(envp, "LISTEN_FDS") != 1) {
		err_set(err, "LISTEN_FDS=%s: one socket is wanted", env_get(envp, "LISTEN_FDS"));
		return SDNOTIFY_BAD_FD;
	}
	if (!is_listener(FIRST_FD, err))
		return SDNOTIFY_BAD_FD;
	flags = fcntl(FIRST_FD, F_GETFD);
	if (flags < 0 || fcntl(FIRST_FD, F_SETFD, flags | FD_CLOEXEC) != 0) {
		err_set(err, "LISTEN_FDS: descriptor %d: %s", FIRST_FD, strerror(errno));
		return SDNOTIFY_BAD_FD;
	}
	return FIRST_FD;
}
