/*
 * disk.c - a disk that fails, for a daemon as it is installed: loaded in front of the C library by LD_PRELOAD. See plan.h.
 *
 * The calls of interest on files in one folder are counted; one that the plan names fails, is done by half, or is the last of
 * the process. For a loss of power it remembers, for each write, what stood there before, until a sync has covered it.
 *
 * Not simulated: a name that was not made durable by a sync of its folder, and what is changed through a mapping (the index of the
 * WAL, which SQLite makes anew).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan.h"

#define FDS 1024
#define LOST_MAX 4096

/* A write, or a change of length, that is not durable yet. */
struct change {
	char path[PATH_MAX];
	ino_t inode;
	off64_t at, size; /* size: of the file, before */
	size_t len;       /* of what stood there before */
	char *before;
};

static struct plan *plan;
static const char *disk;
static bool ours[FDS];
static struct change changes[LOST_MAX]; /* under the lock */
static size_t change_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("FAULT_PLAN");
	int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *map = fd >= 0 ? mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

	if (fd >= 0)
		close(fd);
	disk = getenv("FAULT_DISK");
	if (map != MAP_FAILED && disk != NULL)
		plan = map;
}

/* Those of the C library that ours stand in front of. Looked up by whoever comes first, which is before there are threads. */
static struct {
	int (*open)(const char *path, int flags, ...);
	int (*close)(int fd);
	ssize_t (*read)(int fd, void *data, size_t len);
	ssize_t (*pread)(int fd, void *data, size_t len, off64_t at);
	ssize_t (*pwrite)(int fd, const void *data, size_t len, off64_t at);
	int (*sync)(int fd);
	int (*truncate)(int fd, off64_t size);
} behind;

static void behind_find(void)
{
	if (behind.truncate != NULL)
		return;
	*(void **)&behind.open = dlsym(RTLD_NEXT, "open64");
	*(void **)&behind.close = dlsym(RTLD_NEXT, "close");
	*(void **)&behind.read = dlsym(RTLD_NEXT, "read");
	*(void **)&behind.pread = dlsym(RTLD_NEXT, "pread64");
	*(void **)&behind.pwrite = dlsym(RTLD_NEXT, "pwrite64");
	*(void **)&behind.sync = dlsym(RTLD_NEXT, "fsync"); /* for fdatasync, too */
	*(void **)&behind.truncate = dlsym(RTLD_NEXT, "ftruncate64");
}

/* ---- a loss of power ---- */

static bool is_ours(int fd)
{
	return plan != NULL && fd >= 0 && fd < FDS && ours[fd];
}

/* Before a file is changed. */
static void change_note(int fd, off64_t at, size_t len)
{
	int how = atomic_load(&plan->how);
	struct change *change;
	char link[40];
	struct stat st;
	ssize_t n;

	if ((how != DISK_POWER && how != DISK_SHUFFLE) || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return;
	if (change_count == LOST_MAX)
		abort();
	change = &changes[change_count++];
	*change = (struct change){.inode = st.st_ino, .at = at, .size = st.st_size};
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, change->path, sizeof change->path - 1);
	change->path[n > 0 ? n : 0] = '\0';
	change->before = malloc(len + 1);
	if (change->before == NULL)
		abort();
	n = behind.pread(fd, change->before, len, at);
	change->len = n > 0 ? (size_t)n : 0;
}

/* A sync of this file was done. */
static void changes_settle(int fd)
{
	size_t left = 0;
	struct stat st;

	if (fstat(fd, &st) != 0)
		return;
	for (size_t i = 0; i < change_count; i++) {
		if (changes[i].inode == st.st_ino)
			free(changes[i].before);
		else
			changes[left++] = changes[i];
	}
	change_count = left;
}

static void changes_lose(void)
{
	unsigned seed = atomic_load(&plan->seed);

	while (change_count > 0) {
		struct change *change = &changes[--change_count];
		int fd;

		if (atomic_load(&plan->how) == DISK_SHUFFLE && rand_r(&seed) % 2 == 0)
			continue;
		fd = behind.open(change->path, O_WRONLY | O_CLOEXEC, 0);
		if (fd < 0) /* it was deleted since */
			continue;
		if (behind.pwrite(fd, change->before, change->len, change->at) != (ssize_t)change->len ||
		    behind.truncate(fd, change->size) != 0)
			abort();
		close(fd);
	}
}

/* ---- the plan ---- */

/* Counts a call under the lock; what is to become of it, 0 when it is to be done. */
static int verdict(int kind)
{
	int how = atomic_load(&plan->how), at = atomic_load(&plan->at), times = atomic_load(&plan->times), nth;

	if ((atomic_load(&plan->kinds) & kind) == 0)
		return 0;
	nth = atomic_fetch_add(&plan->seen, 1) + 1;
	if (how == 0 || at == 0 || nth < at || (times > 0 && nth >= at + times))
		return 0;
	atomic_fetch_add(&plan->met, 1);
	return how;
}

static void wait_for_the_end(int signo)
{
	(void)signo;
	for (;;)
		pause();
}

static void die(int how)
{
	/* Another thread may look into a mapping of a file that becomes shorter. */
	signal(SIGBUS, wait_for_the_end);
	if (how == DISK_POWER || how == DISK_SHUFFLE)
		changes_lose();
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

/* What an answer of `verdict` means for a call that cannot be done by half; false: do it. */
static bool fails(int how)
{
	if (how >= DISK_KILL)
		die(how);
	if (how == 0 || how == DISK_SHORT)
		return false;
	errno = how;
	return true;
}

/* ---- the calls ---- */

static ssize_t fault_read(int fd, void *data, size_t len, off64_t at, bool has_place)
{
	behind_find();
	if (is_ours(fd)) {
		int how;

		pthread_mutex_lock(&lock);
		how = verdict(DISK_READ);
		pthread_mutex_unlock(&lock);
		if (fails(how))
			return -1;
		if (how == DISK_SHORT && len > 1)
			len /= 2;
	}
	return has_place ? behind.pread(fd, data, len, at) : behind.read(fd, data, len);
}

/* The lock is held over the write, so that the order of what is remembered is that of the disk. */
static ssize_t fault_write(int fd, const void *data, size_t len, off64_t at)
{
	ssize_t n = -1;
	int how;

	behind_find();
	if (!is_ours(fd))
		return behind.pwrite(fd, data, len, at);
	pthread_mutex_lock(&lock);
	how = verdict(DISK_WRITE);
	if (how == DISK_SHORT && len > 1)
		len /= 2;
	if (how == DISK_TORN && behind.pwrite(fd, data, len / 2, at) < 0)
		abort();
	if (!fails(how)) {
		change_note(fd, at, len);
		n = behind.pwrite(fd, data, len, at);
	}
	pthread_mutex_unlock(&lock);
	return n;
}

static int fault_sync(int fd)
{
	int result = -1;

	behind_find();
	if (!is_ours(fd))
		return behind.sync(fd);
	pthread_mutex_lock(&lock);
	if (!fails(verdict(DISK_SYNC))) {
		result = behind.sync(fd);
		changes_settle(fd);
	}
	pthread_mutex_unlock(&lock);
	return result;
}

static int fault_truncate(int fd, off64_t size)
{
	int result = -1;

	behind_find();
	if (!is_ours(fd))
		return behind.truncate(fd, size);
	pthread_mutex_lock(&lock);
	if (!fails(verdict(DISK_TRUNCATE))) {
		struct stat st;

		if (fstat(fd, &st) == 0 && size < st.st_size)
			change_note(fd, size, (size_t)(st.st_size - size));
		result = behind.truncate(fd, size);
	}
	pthread_mutex_unlock(&lock);
	return result;
}

static int fault_open(const char *path, int flags, mode_t mode)
{
	size_t len = plan != NULL ? strlen(disk) : 0;
	bool meant = plan != NULL && strncmp(path, disk, len) == 0 && (path[len] == '/' || path[len] == '\0');
	int fd;

	behind_find();
	if (meant) {
		int how;

		pthread_mutex_lock(&lock);
		how = verdict(DISK_OPEN);
		pthread_mutex_unlock(&lock);
		if (fails(how))
			return -1;
	}
	fd = behind.open(path, flags, mode);
	if (fd >= 0 && fd < FDS)
		ours[fd] = meant;
	return fd;
}

/* ---- the names of the C library ---- */

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	return fault_open(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	return fault_open(path, flags, mode);
}

int close(int fd)
{
	if (fd >= 0 && fd < FDS)
		ours[fd] = false;
	behind_find();
	return behind.close(fd);
}

ssize_t read(int fd, void *data, size_t len)
{
	return fault_read(fd, data, len, 0, false);
}

ssize_t pread(int fd, void *data, size_t len, off_t at)
{
	return fault_read(fd, data, len, at, true);
}

ssize_t pread64(int fd, void *data, size_t len, off64_t at)
{
	return fault_read(fd, data, len, at, true);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
	return fault_write(fd, data, len, at);
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at)
{
	return fault_write(fd, data, len, at);
}

int fsync(int fd)
{
	return fault_sync(fd);
}

int fdatasync(int fd)
{
	return fault_sync(fd);
}

int ftruncate(int fd, off_t size)
{
	return fault_truncate(fd, size);
}

int ftruncate64(int fd, off64_t size)
{
	return fault_truncate(fd, size);
}
