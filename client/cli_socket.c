/*
 * cli_socket.c - why nobody answers at a socket. See cli_socket.h. Called by `claim doctor`, and when a connection fails.
 *
 * It goes down the path as the kernel does, and says what stands in the way: a folder that is not there or not for
 * us, a file that is no socket, its mode, a daemon that has left its socket behind.
 */
#include "cli_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../proto/proto.h"

#define GROUPS_MAX 256

/* ---- who ---- */

static void user_name(char *name, size_t size, uid_t uid)
{
	const struct passwd *user = getpwuid(uid);
	if (user)
		snprintf(name, size, "%s", user->pw_name);
	else
		snprintf(name, size, "uid %u", (unsigned)uid);
}

static void group_name(char *name, size_t size, gid_t gid)
{
	const struct group *group = getgrgid(gid);
	if (group)
		snprintf(name, size, "%s", group->gr_name);
	else
		snprintf(name, size, "gid %u", (unsigned)gid);
}

/* This process is in the group. */
static bool in_group(gid_t gid)
{
	gid_t groups[GROUPS_MAX];
	int count = getgroups(GROUPS_MAX, groups);
	bool found = getegid() == gid;
	for (int i = 0; i < count; i++)
		found = found || groups[i] == gid;
	return found;
}

/* This user is: the next time he logs in. */
static bool joined_group(gid_t gid)
{
	const struct passwd *user = getpwuid(geteuid());
	gid_t groups[GROUPS_MAX];
	int count = GROUPS_MAX;
	bool found = false;
	if (!user || getgrouplist(user->pw_name, user->pw_gid, groups, &count) < 0)
		return false;
	for (int i = 0; i < count; i++)
		found = found || groups[i] == gid;
	return found;
}

/* ---- what stands in the way ---- */

/* Mode, owner and group do not let us through; need is what each of the three must have of rwx. */
static void denied(struct socket_look *look, const char *path, const struct stat *at, mode_t need)
{
	char owner[40], group[40], me[40];
	user_name(owner, sizeof(owner), at->st_uid);
	group_name(group, sizeof(group), at->st_gid);
	user_name(me, sizeof(me), geteuid());
	look->state = SOCKET_DENIED;
	err_set(&look->what, "%s is for %s and group %s (mode %04o); you are %s", path, owner, group,
		(unsigned)(at->st_mode & 07777), me);
	if ((at->st_mode & need << 3) == 0 || in_group(at->st_gid)) {
		if (S_ISDIR(at->st_mode))
			err_set(&look->next, "run it as %s, or put the socket into a folder that others may enter",
				owner);
		else
			err_set(&look->next,
				"run it as %s, or let claimd open its socket to a group of yours: socket_group, "
				"socket_mode",
				owner);
	} else if (at->st_gid == 0) {
		err_set(&look->next, "run it as %s, or let claimd open its socket to a group of yours: socket_group",
			owner);
	} else if (joined_group(at->st_gid)) {
		err_set(&look->next, "you have joined group %s since you logged in: log in again", group);
	} else {
		err_set(&look->next, "join group %s and log in again: usermod -aG %s %s", group, group, me);
	}
}

/* Goes down to the socket. True: everything is there and lets us through. */
static bool walk(struct socket_look *look, const char *path)
{
	char part[PATH_MAX];
	struct stat at;
	size_t len = strlen(path);
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)i, path);
		bool last = path[i] == '\0';
		if (stat(part, &at) != 0) {
			look->state = errno == ENOENT || errno == ENOTDIR ? SOCKET_MISSING : SOCKET_FAILED;
			err_set(&look->what, "%s: %s", part, strerror(errno));
			return false;
		}
		if (last && !S_ISSOCK(at.st_mode)) {
			look->state = SOCKET_OTHER;
			err_set(&look->what, "%s is no socket", path);
			return false;
		}
		if (faccessat(AT_FDCWD, part, last ? W_OK : X_OK, AT_EACCESS) != 0) {
			denied(look, part, &at, last ? 2 : 1);
			return false;
		}
	}
	return true;
}

/* 0, or errno. */
static int try_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), status = 0;
	memcpy(address.sun_path, path, strlen(path));
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		status = errno;
	if (fd >= 0)
		close(fd);
	return status;
}

static void advise(struct socket_look *look)
{
	switch (look->state) {
	case SOCKET_LONG:
		err_set(&look->next, "choose a shorter path, for claimd and for claim");
		return;
	case SOCKET_MISSING:
		err_set(&look->next, "start claimd, or name its socket with --socket or CLAIMD_SOCKET");
		return;
	case SOCKET_OTHER:
		err_set(&look->next, "name the socket of claimd with --socket or CLAIMD_SOCKET");
		return;
	case SOCKET_DEAF:
		err_set(&look->next, "start claimd: it takes the place of what is left there");
		return;
	case SOCKET_FULL:
		err_set(&look->next, "claimd hangs or is stopped: look at its process and its log");
		return;
	case SOCKET_GOOD:
	case SOCKET_DENIED:
	case SOCKET_FAILED:
	default:
		return;
	}
}

void socket_look(const char *path, struct socket_look *look)
{
	*look = (struct socket_look){.state = SOCKET_GOOD};
	if (strlen(path) > PROTO_MAX_SOCKET_PATH) {
		look->state = SOCKET_LONG;
		err_set(&look->what, "the path of the socket has %zu octets, and no more than %d fit: %.60s...",
			strlen(path), PROTO_MAX_SOCKET_PATH, path);
	} else if (walk(look, path)) {
		int status = try_connect(path);
		if (status == ECONNREFUSED) {
			look->state = SOCKET_DEAF;
			err_set(&look->what, "nobody listens at %s: its claimd was killed", path);
		} else if (status == EAGAIN) {
			look->state = SOCKET_FULL;
			err_set(&look->what, "whoever listens at %s takes no connections", path);
		} else if (status != 0) {
			look->state = SOCKET_FAILED;
			err_set(&look->what, "%s: %s", path, strerror(status));
		}
	}
	advise(look);
}
