/*
 * listener.c - see listener.h.
 *
 * Accepting is done here by uv_poll and accept4 and not by uv_listen, since libuv, out of descriptors, accepts and
 * closes whoever waits: a client would take that for a dead daemon. Here they stay in the kernel's queue until there
 * are descriptors again.
 */
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../proto/mem.h"
#include "access.h"
#include "address.h"
#include "folder.h"

#define SOCKET_PATH sizeof(((struct sockaddr_un *)0)->sun_path)
#define BACKLOG 1024
#define RETRY_MS 50
#define ACCEPTS_A_TURN 64 /* then the others have their turn */
#define OTHER_FDS 512     /* what is open beside connections */

/* 0755: clients have to get through. */
static bool make_folder(const char *path, struct errbuf *err)
{
	char folder[FOLDER_MAX];

	folder_of(path, folder);
	if (folder_above(folder, err) != FIT_GOOD)
		return false;
	if (mkdir(folder, 0755) == 0 || errno == EEXIST)
		return true;
	folder_fault(folder, err);
	err_prefix(err, "cannot make the folder");
	return false;
}

static void lock_path(const char *path, char lock[FOLDER_MAX])
{
	snprintf(lock, FOLDER_MAX, "%s.lock", path);
}

/* The daemon that holds the lock is alive; the kernel drops it with the process. */
static bool take_lock(struct listener *listener, struct errbuf *err)
{
	char path[FOLDER_MAX];

	lock_path(listener->path, path);
	listener->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (listener->lock_fd < 0) {
		folder_fault(path, err);
		err_prefix(err, "cannot open the lock file");
		return false;
	}
	if (flock(listener->lock_fd, LOCK_EX | LOCK_NB) != 0) {
		err_set(err,
			"another claimd already listens on %s, or is still leaving; claim shutdown --wait comes back "
			"when it is gone",
			listener->path);
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
	int64_t gid = -1;
	int fd;

	if (options->group != NULL && !access_find_id(slice_from(options->group), true, &gid)) {
		err_set(err, "there is no group %s", options->group);
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		err_set(err, "cannot make a socket: %s", strerror(errno));
		return -1;
	}
	snprintf(address.sun_path, sizeof address.sun_path, "%s", temporary);
	unlink(temporary);
	if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0)
		err_set(err, "cannot bind %s: %s; %s", temporary, strerror(errno), folder_advice(errno));
	else if (options->group != NULL && chown(temporary, (uid_t)-1, (gid_t)gid) != 0)
		err_set(err, "cannot give %s to group %s: %s; run claimd as a member of it, or as root", options->path,
			options->group, strerror(errno));
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
static bool is_free(const char *path, struct errbuf *err)
{
	struct stat there;

	if (lstat(path, &there) != 0 || S_ISSOCK(there.st_mode))
		return true;
	err_set(err, "%s is there and is no socket; remove it, or choose another path", path);
	return false;
}

/* The same for the place where the socket is made. */
static bool may_replace(const char *path, char temporary[SOCKET_PATH], struct errbuf *err)
{
	snprintf(temporary, SOCKET_PATH, "%s.new", path);
	return is_free(path, err) && is_free(temporary, err);
}

static bool publish(struct listener *listener, const struct listener_options *options, struct errbuf *err)
{
	char temporary[SOCKET_PATH];
	struct stat there;
	int fd;

	if (!may_replace(options->path, temporary, err))
		return false;
	fd = make_socket(temporary, options, err);
	if (fd < 0)
		return false;
	if (stat(temporary, &there) != 0 || rename(temporary, options->path) != 0) {
		err_set(err, "cannot put the socket at %s: %s; %s", options->path, strerror(errno),
			folder_advice(errno));
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

static bool may_take_lock(const char *path, struct errbuf *err)
{
	char lock[FOLDER_MAX];

	lock_path(path, lock);
	if (faccessat(AT_FDCWD, lock, R_OK | W_OK, AT_EACCESS) == 0 || errno == ENOENT)
		return true;
	folder_fault(lock, err);
	err_prefix(err, "cannot open the lock file");
	return false;
}

enum fit listener_check(const struct listener_options *options, struct errbuf *err)
{
	char folder[FOLDER_MAX], nearest[FOLDER_MAX], temporary[SOCKET_PATH];
	enum fit fit;

	if (!address_path_fits(options->path, err) || !may_replace(options->path, temporary, err))
		return FIT_NEVER;
	folder_of(options->path, folder);
	fit = folder_above(folder, err);
	if (fit == FIT_GOOD)
		fit = folder_look(folder, nearest, err);
	if (fit == FIT_GOOD && !may_take_lock(options->path, err))
		fit = FIT_LATER;
	return fit;
}

bool listener_open(struct listener *listener, uv_loop_t *loop, const struct listener_options *options,
		   struct errbuf *err)
{
	memset(listener, 0, sizeof *listener);
	listener->fd = listener->lock_fd = -1;
	if (!address_path_fits(options->path, err))
		return false;
	listener->path = mem_copy(options->path, strlen(options->path));
	if (listener->path == NULL) {
		err_set(err, "out of memory");
		return false;
	}
	if (make_folder(options->path, err) && take_lock(listener, err) && publish(listener, options, err) &&
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

/* The table reaches up to the highest descriptor that was ever watched, and never shrinks. */
void listener_make_room(struct listener *listener, size_t connections)
{
	int top = (int)connections + OTHER_FDS, fd;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= (rlim_t)top)
		top = (int)limit.rlim_cur - 1;
	fd = fcntl(listener->fd, F_DUPFD_CLOEXEC, top);
	if (fd < 0)
		return;
	if (uv_poll_init(listener->poll.loop, &listener->room, fd) == 0) {
		uv_poll_start(&listener->room, UV_READABLE, on_readable);
		uv_close((uv_handle_t *)&listener->room, NULL);
	}
	close(fd);
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
