/* folder.c - see folder.h. */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void folder_of(const char *path, char folder[FOLDER_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t len;

	while (slash != NULL && slash > path && slash[-1] == '/')
		slash--;
	if (slash == NULL) {
		strcpy(folder, ".");
		return;
	}
	len = slash == path ? 1 : (size_t)(slash - path);
	if (len >= FOLDER_MAX)
		len = FOLDER_MAX - 1;
	memmove(folder, path, len);
	folder[len] = '\0';
}

const char *folder_advice(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return "run claimd as a user that may, or choose another path";
	case ENOSPC:
	case EDQUOT:
		return "make room, or choose another path";
	default:
		return "choose another path";
	}
}

enum fit folder_fault(const char *path, struct errbuf *err)
{
	int error = errno;

	err_set(err, FOLDER_SHOWN ": %s; %s", path, strerror(error), folder_advice(error));
	return error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG ? FIT_NEVER : FIT_LATER;
}

enum fit folder_above(const char *folder, struct errbuf *err)
{
	char above[FOLDER_MAX];
	struct stat there;

	folder_of(folder, above);
	if (stat(folder, &there) == 0 || stat(above, &there) == 0 || errno != ENOENT)
		return FIT_GOOD;
	err_set(err, "its folder is missing, and so is the one above; if the path is right: mkdir -p %.160s", above);
	return FIT_NEVER;
}

enum fit folder_look(const char *folder, char nearest[FOLDER_MAX], struct errbuf *err)
{
	struct stat there;

	memcpy(nearest, folder, strlen(folder) + 1);
	while (stat(nearest, &there) != 0) {
		if (errno != ENOENT || strcmp(nearest, "/") == 0 || strcmp(nearest, ".") == 0)
			return folder_fault(nearest, err);
		folder_of(nearest, nearest);
	}
	errno = ENOTDIR;
	if (!S_ISDIR(there.st_mode))
		return folder_fault(nearest, err);
	/* With the rights that opening has, which are not always those of who started us. */
	if (faccessat(AT_FDCWD, nearest, W_OK | X_OK, AT_EACCESS) == 0)
		return FIT_GOOD;
	return folder_fault(nearest, err);
}
