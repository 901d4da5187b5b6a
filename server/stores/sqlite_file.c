/*
 * sqlite_file.c - path, folder, file and file system of an SQLite store; see sqlite_file.h.
 *
 * Called when the store opens and, for the ids, with each batch. The database file is never opened here: closing any
 * descriptor of it would drop the locks that this process holds on it, so it is made with mknod and looked at with
 * stat. sqlite_file_look alone reads its head, before there are any.
 *
 * Failures are told apart by whether they can heal. A path that leads to something else than a file, or to a file system
 * that is reached over a network or through another process, cannot.
 */
#include "sqlite_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../../proto/mem.h"
#include "../folder.h"

#define SHOWN FOLDER_SHOWN
/* Longer than every name that SQLite appends. */
#define SUFFIX_MAX 16
/* SQLite takes no longer path than this on Unix, with the suffix. */
#define PATH_LIMIT FOLDER_MAX

static const char *const suffixes[] = {"", "-wal", "-shm"};

/* ---- the path ---- */

char *sqlite_file_path(const char *url, struct errbuf *err)
{
	const char *path = url + strlen("sqlite:");
	char here[PATH_MAX] = "";
	struct writer w;
	char *full;
	size_t size;

	if (!path[0] || strcmp(path, ":memory:") == 0) {
		err_set(err, "sqlite: needs a path, as in sqlite:/var/lib/claimd/claimd.db (in memory only: memory:)");
		return NULL;
	}
	if (strchr(path, '?')) {
		err_set(err, "sqlite: takes no options, and there is a ? in its path");
		return NULL;
	}
	if (path[0] != '/' && !getcwd(here, sizeof(here))) {
		err_set(err, "the current folder cannot be known: %s; give the full path of the SQLite file",
			strerror(errno));
		return NULL;
	}
	size = strlen(here) + (here[0] != '\0') + strlen(path) + 1;
	if (size + SUFFIX_MAX > PATH_LIMIT) {
		err_set(err, "the path of the SQLite file is too long: %zu octets, at most %d", size - 1,
			PATH_LIMIT - SUFFIX_MAX - 1);
		return NULL;
	}
	full = mem_zero(size);
	if (!full) {
		err_set(err, "out of memory");
		return NULL;
	}
	writer_init(&w, full, size - 1);
	writer_text(&w, here);
	writer_text(&w, here[0] ? "/" : "");
	writer_text(&w, path);
	return full;
}

/* ---- the file system ---- */

const char *sqlite_file_system_refused(unsigned long magic)
{
	static const struct {
		unsigned long magic;
		const char *name;
	} refused[] = {
	    {0x6969, "NFS"},      {0x517b, "SMB"},        {0xff534d42, "CIFS"},       {0xfe534d42, "SMB2"},
	    {0x01021997, "9p"},   {0x65735546, "FUSE"},   {0x5346414f, "AFS"},        {0x6b414653, "AFS"},
	    {0x00c36400, "Ceph"}, {0x0bd00bd0, "Lustre"}, {0x786f4256, "VirtualBox"}, {0x73757245, "Coda"},
	};
	size_t i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (refused[i].magic == (magic & 0xffffffff))
			return refused[i].name;
	return NULL;
}

static enum fit file_system_check(const char *path, struct errbuf *err)
{
	struct statfs fs;
	const char *name;

	if (statfs(path, &fs) != 0) {
		err_set(err, SHOWN ": %s", path, strerror(errno));
		return FIT_LATER;
	}
	name = sqlite_file_system_refused((unsigned long)fs.f_type);
	if (!name)
		return FIT_GOOD;
	err_set(
	    err,
	    SHOWN
	    " is on %s, where SQLite's locks cannot be relied upon; put the file on a local disk (--store sqlite:PATH)",
	    path, name);
	return FIT_NEVER;
}

/* ---- folder and file ---- */

/* A new name is durable once its folder is. Where that fails the file still works; a crash of the machine may lose a new file, and
 * with it nothing but what SQLite's own sync of the folder, which comes before the first answer, would report. */
static void folder_sync(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

/* Makes one folder; what is there already is fine. */
static enum fit folder_make_one(const char *folder, struct errbuf *err)
{
	struct stat st;
	char above[PATH_LIMIT];

	if (mkdir(folder, 0700) == 0) {
		folder_of(folder, above);
		folder_sync(above);
		return FIT_GOOD;
	}
	if (errno != EEXIST)
		return folder_fault(folder, err);
	if (stat(folder, &st) != 0)
		return folder_fault(folder, err);
	if (S_ISDIR(st.st_mode))
		return FIT_GOOD;
	errno = ENOTDIR;
	return folder_fault(folder, err);
}

/* Makes the folder where it is missing, and perhaps those above it. */
static enum fit folder_make(const char *folder, enum create create, struct errbuf *err)
{
	char path[PATH_LIMIT];
	struct stat st;
	size_t i;

	if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode))
		return FIT_GOOD;
	if (create == CREATE_STORE && folder_above(folder, err) != FIT_GOOD)
		return FIT_NEVER;
	snprintf(path, sizeof(path), "%s", folder);
	for (i = 1; path[i]; i++) {
		enum fit result;

		if (path[i] != '/' || path[i - 1] == '/')
			continue;
		path[i] = '\0';
		result = folder_make_one(path, err);
		if (result != FIT_GOOD)
			return result;
		path[i] = '/';
	}
	return folder_make_one(path, err);
}

static enum fit file_make(const char *path, enum create create, struct errbuf *err)
{
	char folder[PATH_LIMIT];
	enum fit result;

	folder_of(path, folder);
	result = folder_make(folder, create, err);
	if (result == FIT_GOOD)
		result = file_system_check(folder, err);
	if (result != FIT_GOOD)
		return result;
	if (mknod(path, S_IFREG | 0600, 0) == 0)
		folder_sync(folder);
	else if (errno != EEXIST)
		return folder_fault(path, err);
	return FIT_GOOD;
}

/* The file cannot be looked at, but perhaps its folder can, and that says that it is no use to wait. */
static enum fit path_closed(const char *path, struct errbuf *err)
{
	char folder[PATH_LIMIT];
	enum fit result = folder_fault(path, err);
	struct errbuf more;

	folder_of(path, folder);
	if (result != FIT_LATER || file_system_check(folder, &more) != FIT_NEVER)
		return result;
	*err = more;
	return FIT_NEVER;
}

/* There is no file, or an empty one. With a WAL beside it that is not how a store begins: the file has been lost,
 * and SQLite would throw the WAL away. */
static enum fit empty_check(const char *path, enum create create, struct errbuf *err)
{
	char wal[PATH_LIMIT];
	struct stat st;

	if (create == CREATE_NOTHING) {
		err_set(err,
			SHOWN " is gone or empty; put it back (with a new and empty one, for which the daemon would be "
			      "started again, work may be done twice)",
			path);
		return FIT_LATER;
	}
	snprintf(wal, sizeof(wal), "%s%s", path, suffixes[1]);
	if (stat(wal, &st) != 0 || st.st_size == 0)
		return FIT_GOOD;
	err_set(err,
		SHOWN " is gone or empty, but not its -wal; put the file back, or move the -wal away to begin anew, "
		      "without what was done",
		path);
	return FIT_NEVER;
}

/* What can be said of the path itself, and whether there is a file. */
static enum fit path_check(const char *path, enum create create, bool *there, struct errbuf *err)
{
	struct stat st = {0};

	*there = stat(path, &st) == 0;
	if (!*there && errno != ENOENT)
		return path_closed(path, err);
	if (*there && !S_ISREG(st.st_mode)) {
		err_set(err, SHOWN " is %s, not a file", path, S_ISDIR(st.st_mode) ? "a folder" : "something else");
		return FIT_NEVER;
	}
	return st.st_size == 0 ? empty_check(path, create, err) : FIT_GOOD;
}

enum fit sqlite_file_prepare(const char *path, enum create create, struct errbuf *err)
{
	bool there;
	enum fit fit = path_check(path, create, &there, err);

	if (fit == FIT_GOOD && !there)
		fit = file_make(path, create, err);
	return fit == FIT_GOOD ? file_system_check(path, err) : fit;
}

/* Is it a database, and not a stranger's? The id of a new store may still be in its WAL alone, and is 0 in the file. */
static enum fit head_check(const char *path, struct errbuf *err)
{
	unsigned char head[72]; /* SQLite's magic text first, the id last */
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : 1;
	size_t len = 0;
	uint32_t id;

	while (n > 0 && len < sizeof(head)) {
		n = read(fd, head + len, sizeof(head) - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		folder_fault(path, err);
	if (fd >= 0)
		close(fd);
	if (n < 0 || len == 0)
		return n < 0 ? FIT_LATER : FIT_GOOD;
	if (len < sizeof(head) || memcmp(head, "SQLite format 3", 16) != 0) {
		err_set(err, SHOWN " is not an SQLite database", path);
		return FIT_NEVER;
	}
	id = (uint32_t)head[68] << 24 | (uint32_t)head[69] << 16 | (uint32_t)head[70] << 8 | head[71];
	if (id == 0 || id == APPLICATION_ID)
		return FIT_GOOD;
	err_set(err, SHOWN " is an SQLite database of another program", path);
	return FIT_NEVER;
}

enum fit sqlite_file_look(const char *path, enum create create, struct errbuf *err)
{
	char folder[PATH_LIMIT], nearest[PATH_LIMIT];
	bool there;
	enum fit fit = path_check(path, create, &there, err);

	folder_of(path, folder);
	if (fit == FIT_GOOD && there && faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) != 0)
		return folder_fault(path, err);
	if (fit == FIT_GOOD && there)
		fit = head_check(path, err);
	if (fit == FIT_GOOD && create == CREATE_STORE)
		fit = folder_above(folder, err);
	if (fit == FIT_GOOD) /* also where the file is there: its WAL is made beside it */
		fit = folder_look(folder, nearest, err);
	return fit == FIT_GOOD ? file_system_check(there ? path : nearest, err) : fit;
}

/* ---- still the same? ---- */

bool sqlite_file_ids(const char *path, struct file_ids *ids)
{
	char name[PATH_LIMIT];
	size_t i;

	for (i = 0; i < 3; i++) {
		struct stat st;

		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		if (stat(name, &st) != 0)
			return false;
		ids->dev[i] = st.st_dev;
		ids->ino[i] = st.st_ino;
	}
	return true;
}

bool sqlite_file_same(const char *path, const struct file_ids *ids)
{
	struct file_ids now;
	size_t i;

	if (!sqlite_file_ids(path, &now))
		return false;
	for (i = 0; i < 3; i++)
		if (now.dev[i] != ids->dev[i] || now.ino[i] != ids->ino[i])
			return false;
	return true;
}
