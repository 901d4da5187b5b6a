/*
 * peers.c - clients that do not work: bench idle, many that say nothing, bench churn, that come and go, and bench flood, some that do
 * harm.
 *
 * A flood runs until a TERM, at the lowest priority, so that what it takes from the others is the daemon's
 * time and not the processor's. Half of it sends garbage as fast as it is taken and reads what comes back, connecting anew when
 * it is thrown out; the other half asks for long answers and never reads one. bench.c calls these.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK 4096 /* octets of garbage at a time */
#define GARBAGE 65536
#define CHURN_AT_ONCE 500

/* ---- idle ---- */

/* One request each, as a client that is idle now has had. */
static int peer_idle(const char *path)
{
	char line[256];
	int fd = peer_connect(path);

	if (fd < 0)
		die("cannot connect");
	peer_send(fd, "PING\n", 5);
	peer_line(fd, line, sizeof line);
	if (strncmp(line, "OK", 2) != 0)
		die("PING was answered with %s", line);
	return fd;
}

/* Prints MiB, alone and with all. */
int word_idle(int argc, char **argv)
{
	size_t count = number_of(argv[1]), alone;
	int *fds = zeros(count, sizeof *fds);

	(void)argc;
	fds[0] = peer_idle(argv[0]);
	alone = resident_kib(peer_pid(fds[0]));
	for (size_t i = 1; i < count; i++)
		fds[i] = peer_idle(argv[0]);
	printf("%.1f %.1f\n", (double)alone / 1024, (double)resident_kib(peer_pid(fds[0])) / 1024);
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	free(fds);
	return 0;
}

/* ---- churn ---- */

/* What those say who go without having heard an answer. */
static const char *const last_words[] = {"",
					 "PING\n",
					 "CLAIM half",
					 "CLAIM churn lease=1ms ttl=1ms drop=release\n",
					 "CLAIM churn lease=1ms ttl=1ms wait=1m\nSTATUS churn\n",
					 "WATCH\n"};

int word_churn(int argc, char **argv)
{
	size_t count = number_of(argv[1]);
	int fds[CHURN_AT_ONCE];

	(void)argc;
	for (size_t i = 0; i < CHURN_AT_ONCE; i++)
		fds[i] = -1;
	for (size_t i = 0; i < count; i++) {
		int *seat = &fds[(size_t)rand() % CHURN_AT_ONCE];
		const char *words = last_words[(size_t)rand() % (sizeof last_words / sizeof *last_words)];

		if (*seat >= 0)
			close(*seat);
		*seat = peer_connect(argv[0]);
		if (*seat < 0)
			die("cannot connect");
		peer_send(*seat, words, strlen(words));
	}
	for (size_t i = 0; i < CHURN_AT_ONCE; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	return 0;
}

/* ---- flood ---- */

static volatile sig_atomic_t stopped;

static void on_term(int number)
{
	(void)number;
	stopped = 1;
}

static void flood_connect(const char *path, struct pollfd *fd, short events)
{
	*fd = (struct pollfd){.fd = peer_connect(path), .events = events};
	if (fd->fd < 0 || fcntl(fd->fd, F_SETFL, O_NONBLOCK) != 0)
		die("cannot connect");
}

/* Octets sent; -1: it was thrown out. */
static ssize_t flood_send(int fd, const char *data, size_t len)
{
	ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

	return n < 0 && errno == EAGAIN ? 0 : n;
}

static bool flood_discard(int fd)
{
	char scrap[GARBAGE];
	ssize_t n = recv(fd, scrap, sizeof scrap, 0);

	return n > 0 || (n < 0 && errno == EAGAIN);
}

/* More garbage was taken. The first of it is told at once: the flood has begun. */
static unsigned long long told(unsigned long long taken, unsigned long long more)
{
	if (taken == 0) {
		puts("flooding");
		fflush(stdout);
	}
	return taken + more;
}

/* SOCKET GARBAGE MUTE; prints a line when it has begun, and at the end how much garbage was taken, in octets. */
int word_flood(int argc, char **argv)
{
	static char garbage[GARBAGE];
	static const char asking[] = "HELP\nHELP CLAIM\nPING\n";
	size_t bad = number_of(argv[1]), count = bad + number_of(argv[2]);
	struct pollfd *fds = zeros(count, sizeof *fds);
	unsigned long long taken = 0;

	(void)argc;
	signal(SIGTERM, on_term);
	if (setpriority(PRIO_PROCESS, 0, 19) != 0)
		die("cannot lower the priority");
	srandom(1);
	for (size_t i = 0; i < sizeof garbage; i++)
		garbage[i] = (char)(random() >> 8);
	for (size_t i = 0; i < count; i++)
		flood_connect(argv[0], &fds[i], i < bad ? POLLIN | POLLOUT : POLLOUT);
	while (!stopped) {
		if (poll(fds, count, 100) < 0 && errno != EINTR)
			die("poll: %s", strerror(errno));
		for (size_t i = 0; i < count; i++) {
			size_t at = i < bad ? (size_t)random() % (GARBAGE - CHUNK) : 0;
			ssize_t n = fds[i].revents == 0 ? 0
				    : i < bad           ? flood_send(fds[i].fd, garbage + at, CHUNK)
							: flood_send(fds[i].fd, asking, sizeof asking - 1);

			if (i < bad && n > 0)
				taken = told(taken, (unsigned long long)n);
			if (n >= 0 && !(i < bad && fds[i].revents != 0 && !flood_discard(fds[i].fd)))
				continue;
			close(fds[i].fd);
			flood_connect(argv[0], &fds[i], fds[i].events);
		}
	}
	printf("%llu\n", taken);
	free(fds);
	return 0;
}
