/*
 * fakepeer.c - a daemon that does what a script says, for the faults that a good one does not have.
 *
 *     fakepeer SOCKET <script
 *
 * One step a line, in order; each waits 20 s at the most. Exit 0 when all was as the script wants it, else 1 with
 * the step on stderr.
 *
 *     accept          takes the next connection (and closes the one before)
 *     hello           reads HELLO and answers OK
 *     want PATTERN    reads a line (and its body) and prints it; it must be like the pattern (fnmatch)
 *     say TEXT        sends a line
 *     raw TEXT        sends octets without LF
 *     blob N          sends N octets "x"
 *     close           closes the connection
 *     eof             waits until the other end closes; nothing more may come before
 *     wait FILE       waits until there is such a file
 *     touch FILE      makes one
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 20000
#define TRIES (STEP_MS / 10)

static const char *step = "start";

__attribute__((noreturn)) static void fail(const char *why)
{
	fprintf(stderr, "fakepeer: %s: %s\n", step, why);
	exit(1);
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || strlen(path) >= sizeof(address.sun_path))
		fail("no socket");
	memcpy(address.sun_path, path, strlen(path));
	unlink(path);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 8) != 0)
		fail(strerror(errno));
	return fd;
}

static void wait_readable(int fd)
{
	struct pollfd in = {.fd = fd, .events = POLLIN};
	if (poll(&in, 1, STEP_MS) != 1)
		fail("nothing came");
}

/* One octet; -1 at the end. */
static int get(int fd)
{
	unsigned char c;
	wait_readable(fd);
	ssize_t n = read(fd, &c, 1);
	return n == 1 ? c : -1;
}

static void get_line(int fd, char *line, size_t size)
{
	size_t len = 0;
	int c;
	while ((c = get(fd)) != '\n') {
		if (c < 0 || len + 1 >= size)
			fail("the line did not end");
		line[len++] = (char)c;
	}
	line[len] = '\0';
}

static void want(int fd, const char *pattern)
{
	char line[16384];
	get_line(fd, line, sizeof(line));
	puts(line);
	const char *body = strstr(line, " body=");
	long left = body ? strtol(body + 6, NULL, 10) : 0;
	for (; left > 0; left--)
		putchar(get(fd));
	if (body && get(fd) != '\n')
		fail("no LF behind the body");
	fflush(stdout);
	if (fnmatch(pattern, line, 0) != 0)
		fail(line);
}

static void put(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
		if (n < 0)
			fail(strerror(errno));
		data += n;
		len -= (size_t)n;
	}
}

static void wait_file(const char *path)
{
	struct timespec pause = {0, 10 * 1000 * 1000};
	for (int i = 0; i < TRIES; i++) {
		if (access(path, F_OK) == 0)
			return;
		nanosleep(&pause, NULL);
	}
	fail("no such file");
}

static bool is(const char *line, const char *word, const char **rest)
{
	size_t len = strlen(word);
	if (strncmp(line, word, len) != 0 || (line[len] != ' ' && line[len] != '\0'))
		return false;
	*rest = line[len] ? line + len + 1 : "";
	return true;
}

/* Steps that only need the connection. */
static bool talk(int fd, const char *line)
{
	const char *rest;
	if (is(line, "hello", &rest)) {
		static const char ok[] = "OK proto=1 server=fakepeer max_line=8192 max_body=65536\n";
		want(fd, "HELLO *");
		put(fd, ok, sizeof(ok) - 1);
	} else if (is(line, "want", &rest)) {
		want(fd, rest);
	} else if (is(line, "say", &rest)) {
		put(fd, rest, strlen(rest));
		put(fd, "\n", 1);
	} else if (is(line, "raw", &rest)) {
		put(fd, rest, strlen(rest));
	} else if (is(line, "blob", &rest)) {
		for (long n = strtol(rest, NULL, 10); n > 0; n--)
			put(fd, "x", 1);
	} else if (is(line, "eof", &rest)) {
		if (get(fd) >= 0)
			fail("there was more");
	} else {
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	char line[16384];
	const char *rest;
	int fd = -1;
	if (argc != 2)
		fail("usage: fakepeer SOCKET <script");
	int listener = listen_at(argv[1]);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		step = line;
		if (is(line, "accept", &rest)) {
			if (fd >= 0)
				close(fd);
			wait_readable(listener);
			fd = accept(listener, NULL, NULL);
		} else if (is(line, "close", &rest)) {
			close(fd);
			fd = -1;
		} else if (is(line, "wait", &rest)) {
			wait_file(rest);
		} else if (is(line, "touch", &rest)) {
			close(open(rest, O_CREAT | O_WRONLY, 0600));
		} else if (*line && !talk(fd, line)) {
			fail("no such step");
		}
	}
	return 0;
}
