/*
 * listener.c - see listener.h.
 *
 * Accepting is done here by uv_poll and accept4 and not by uv_listen, since libuv, out of descriptors, accepts and closes whoever waits:
 * a client would take that for a dead daemon. Here they stay in the kernel's queue until there are descriptors again.
 */
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../proto/mem.h"

#define BACKLOG 1024
#define RETRY_MS 50
#define ACCEPTS_A_TURN 64 /* then the others have their turn */

static bool find_group(const char *name, gid_t *gid, struct errbuf *err)
{
	struct group entry, *found = NULL;
	char text[4096], *end;
	unsigned long number = strtoul(name, &end, 10);

	if (*name != '\0' && *end == '\0') {
		*gid = (gid_t)number;
		return true;
	}
	if (getgrnam_r(name, &entry, text, sizeof text, &found) != 0 || found == NULL) {
		err_set(err, "socket_group: there is no group %s", name);
		return false;
	}
	*gid = found->gr_gid;
	return true;
}

/* Makes the folders that are missing above `path`, 0755: clients have to get through. */
static bool make_folders(const char *path, struct errbuf *err)
{
	char folder[sizeof((struct sockaddr_un *)0)->sun_path];

	for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
		if (mkdir(folder, 0755) != 0 && errno != EEXIST) {
			err_set(err, "cannot make the folder %s: %s; make it, or choose another path", folder,
				strerror(errno));
			return false;
		}
	}
	return true;
}

/* The daemon that holds the lock is alive; the kernel drops it with the process. */
static bool take_lock(struct listener *listener, struct errbuf *err)
{
	char path[sizeof((struct sockaddr_un *)0)->sun_path + 8];

	snprintf(path, sizeof path, "%s.lock", listener->path);
	listener->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (listener->lock_fd < 0) {
		err_set(err, "cannot open the lock file %s: %s; %s", path, strerror(errno),
			errno == EACCES ? "run it as the folder's owner, or choose another path"
					: "choose another path");
		return false;
	}
	if (flock(listener->lock_fd, LOCK_EX | LOCK_NB) != 0) {
		err_set(err, "another claimd already listens on %s; stop it, or choose another path", listener->path);
		close(listener->lock_fd);
		listener->lock_fd = -1;
		return false;
	}
	return true;
}

/* A bound, listening socket under the temporary name, with its mode and group. -1: *err says why. */
static int make_socket(const char *temporary, const struct listener_options *options, struct errbuf *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	gid_t gid = 0;
	int fd;

	if (options->group != NULL && !find_group(options->group, &gid, err))
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		err_set(err, "cannot make a socket: %s", strerror(errno));
		return -1;
	}
	snprintf(address.sun_path, sizeof address.sun_path, "%s", temporary);
	unlink(temporary);
	if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0)
		err_set(err, "cannot bind %s: %s", temporary, strerror(errno));
	else if (options->group != NULL && chown(temporary, (uid_t)-1, gid) != 0)
		err_set(err, "cannot give %s to group %s: %s", options->path, options->group, strerror(errno));
	else if (chmod(temporary, (mode_t)options->mode) != 0)
		err_set(err, "cannot set the mode of %s: %s", options->path, strerror(errno));
	else if (listen(fd, BACKLOG) != 0)
		err_set(err, "cannot listen on %s: %s", options->path, strerror(errno));
	else
		return fd;
	unlink(temporary);
	close(fd);
	return -1;
}

/* A socket there is a dead daemon's; anything else is somebody's. */
static bool may_replace(const char *path, struct errbuf *err)
{
	struct stat there;

	if (lstat(path, &there) != 0 || S_ISSOCK(there.st_mode))
		return true;
	err_set(err, "%s is there and is no socket; remove it, or choose another path", path);
	return false;
}

static bool publish(struct listener *listener, const struct listener_options *options, struct errbuf *err)
{
	char temporary[sizeof((struct sockaddr_un *)0)->sun_path];
	struct stat there;
	int fd;

	snprintf(temporary, sizeof temporary, "%s.new", options->path);
	if (!may_replace(options->path, err) || !may_replace(temporary, err))
		return false;
	fd = make_socket(temporary, options, err);
	if (fd < 0)
		return false;
	if (stat(temporary, &there) != 0 || rename(temporary, options->path) != 0) {
		err_set(err, "cannot put the socket at %s: %s", options->path, strerror(errno));
		unlink(temporary);
		close(fd);
		return false;
	}
	listener->fd = fd;
	listener->dev = there.st_dev;
	listener->ino = there.st_ino;
	return true;
}

/* ---- accepting ---- */

static void watch(struct listener *listener);

static void on_retry(uv_timer_t *timer)
{
	struct listener *listener = timer->data;

	listener->starved = false;
	watch(listener);
}

static void starve(struct listener *listener)
{
	listener->starved = true;
	listener->pauses++;
	uv_poll_stop(&listener->poll);
	uv_timer_start(&listener->retry, on_retry, RETRY_MS, 0);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct listener *listener = poll->data;

	(void)status;
	(void)events;
	for (int i = 0; i < ACCEPTS_A_TURN && !listener->held && !listener->starved; i++) {
		int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			listener->accepted(listener->arg, fd);
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			return;
		else if (errno != EINTR && errno != ECONNABORTED)
			starve(listener);
	}
}

static void watch(struct listener *listener)
{
	if (listener->held || listener->starved)
		uv_poll_stop(&listener->poll);
	else
		uv_poll_start(&listener->poll, UV_READABLE, on_readable);
}

static bool prepare(struct listener *listener, uv_loop_t *loop, struct errbuf *err)
{
	int rc = uv_poll_init(loop, &listener->poll, listener->fd);

	if (rc != 0) {
		err_set(err, "cannot watch the socket: %s", uv_strerror(rc));
		return false;
	}
	uv_timer_init(loop, &listener->retry);
	listener->poll.data = listener->retry.data = listener;
	return true;
}

bool listener_open(struct listener *listener, uv_loop_t *loop, const struct listener_options *options,
		   struct errbuf *err)
{
	/* room for ".new" */
	size_t most = sizeof((struct sockaddr_un *)0)->sun_path - 5;

	memset(listener, 0, sizeof *listener);
	listener->fd = listener->lock_fd = -1;
	if (strlen(options->path) > most) {
		err_set(err, "the path of the socket has %zu octets, %zu is the most: choose a shorter one",
			strlen(options->path), most);
		return false;
	}
	listener->path = mem_copy(options->path, strlen(options->path));
	if (listener->path == NULL) {
		err_set(err, "out of memory");
		return false;
	}
	if (make_folders(options->path, err) && take_lock(listener, err) && publish(listener, options, err) &&
	    prepare(listener, loop, err))
		return true;
	if (listener->fd >= 0)
		unlink(listener->path);
	listener_close(listener);
	return false;
}

bool listener_adopt(struct listener *listener, uv_loop_t *loop, int fd, struct errbuf *err)
{
	int flags = fcntl(fd, F_GETFL);

	memset(listener, 0, sizeof *listener);
	listener->fd = fd;
	listener->lock_fd = -1;
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
		err_set(err, "the socket that was passed cannot be used: %s", strerror(errno));
		return false;
	}
	return prepare(listener, loop, err);
}

void listener_start(struct listener *listener, listener_cb accepted, void *arg)
{
	listener->accepted = accepted;
	listener->arg = arg;
	watch(listener);
}

void listener_hold(struct listener *listener, bool hold)
{
	if (listener->held == hold)
		return;
	listener->held = hold;
	watch(listener);
}

void listener_close(struct listener *listener)
{
	struct stat there;

	if (listener->poll.data != NULL) {
		uv_close((uv_handle_t *)&listener->poll, NULL);
		uv_close((uv_handle_t *)&listener->retry, NULL);
	}
	if (listener->fd >= 0) {
		if (listener->path != NULL && lstat(listener->path, &there) == 0 && there.st_dev == listener->dev &&
		    there.st_ino == listener->ino)
			unlink(listener->path);
		close(listener->fd);
	}
	/* The lock file stays: removing it would let two daemons lock two files of one name. */
	if (listener->lock_fd >= 0)
		close(listener->lock_fd);
	mem_free(listener->path);
	listener->fd = listener->lock_fd = -1;
	listener->path = NULL;
}
