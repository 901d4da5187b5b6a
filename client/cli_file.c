/* cli_file.c - a file, or standard input, as a whole. Called by the verbs that take one. */
#include "cli_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../proto/mem.h"
#include "cli.h"

#define FILE_MAX ((size_t)64 * 1024 * 1024)

/* Appends one piece to *data. As read: octets, 0 at the end, -1 with errno. */
static ssize_t read_piece(int fd, char **data, size_t *len, size_t *cap)
{
	ssize_t n;
	if (*len == *cap) {
		size_t more = *cap ? 2 * *cap : 65536;
		char *larger = more <= FILE_MAX ? mem_resize(*data, more) : NULL;
		if (!larger) {
			errno = EFBIG;
			return -1;
		}
		*data = larger;
		*cap = more;
	}
	do
		n = read(fd, *data + *len, *cap - *len);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		*len += (size_t)n;
	return n;
}

char *file_read(const char *option, const char *name, size_t *len)
{
	char *data = NULL;
	size_t cap = 0;
	ssize_t n = -1;
	int fd = strcmp(name, "-") == 0 ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
	*len = 0;
	if (fd >= 0)
		do
			n = read_piece(fd, &data, len, &cap);
		while (n > 0);
	if (n < 0) {
		cli_say("%s: cannot read %s: %s", option, strcmp(name, "-") == 0 ? "standard input" : name,
			strerror(errno));
		mem_free(data);
		data = NULL;
	}
	if (fd > STDERR_FILENO)
		close(fd);
	return data;
}

int file_of(const char *data, size_t len)
{
	int fd = memfd_create("claim", MFD_CLOEXEC);
	size_t at = 0;
	while (fd >= 0 && at < len) {
		ssize_t n = write(fd, data + at, len - at);
		if (n < 0 && errno != EINTR) {
			close(fd);
			return -1;
		}
		at += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}
