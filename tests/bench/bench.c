/*
 * bench.c - the program that measures for `./dev bench`; run.sh calls it, bench.h says what it prints.
 *
 *   bench load SOCKET PLAN CLIENTS DEPTH COUNT [KEYS]   requests to a daemon; load.h has the plans
 *   bench grow SOCKET FEW MANY       from FEW live claims to MANY
 *   bench direct FILE PLAN COUNT     SQLite by itself, one commit for each claim and each settlement
 *   bench idle SOCKET COUNT          resident memory, alone and with so many connections
 *   bench churn SOCKET COUNT         so many connections, that come and go at random
 *   bench flood SOCKET GARBAGE MUTE  bad peers, until a TERM
 *   bench spawn COUNT PROGRAM...     the time of a program from start to end; "@" in its arguments is a number
 *   bench start SOCKET COUNT DAEMON...   the time from start to the first answer
 */
#include "bench.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

void die(const char *format, ...)
{
	va_list args;

	fputs("bench: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

void *zeros(size_t count, size_t size)
{
	void *block = calloc(count, size);

	if (block == NULL)
		die("no memory");
	return block;
}

size_t number_of(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (*end != '\0' || number == 0)
		die("%s is no number", text);
	return number;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) != 0)
		die("no clock: %s", strerror(errno));
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* ---- the other side ---- */

int64_t cpu_ns(pid_t pid)
{
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0)
		die("no clock of process %d", (int)pid);
	return clock_ns(clock);
}

size_t resident_kib(pid_t pid)
{
	char path[64], line[256];
	unsigned long kib = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	if (file == NULL)
		die("%s: %s", path, strerror(errno));
	while (kib == 0 && fgets(line, sizeof line, file) != NULL) {
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = strtoul(line + 6, NULL, 10);
	}
	fclose(file);
	if (kib == 0)
		die("%s does not say how much memory is resident", path);
	return kib;
}

int peer_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof address.sun_path)
		die("the socket's path is too long");
	if (fd < 0)
		die("no socket: %s", strerror(errno));
	memcpy(address.sun_path, path, strlen(path));
	if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	close(fd);
	return -1;
}

pid_t peer_pid(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof peer;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		die("the other side has no process id");
	return peer.pid;
}

void peer_send(int fd, const char *data, size_t len)
{
	if (send(fd, data, len, MSG_NOSIGNAL) != (ssize_t)len)
		die("a request could not be written");
}

void peer_line(int fd, char *line, size_t size)
{
	size_t len = 0;
	ssize_t n;

	do {
		n = recv(fd, line + len, size - len, 0);
		if (n <= 0)
			die("the daemon has closed a connection");
		len += (size_t)n;
	} while (line[len - 1] != '\n' && len < size);
	line[len - 1] = '\0';
}

/* ---- times ---- */

void times_init(struct times *times, size_t room)
{
	*times = (struct times){.ns = zeros(room, sizeof *times->ns), .room = room};
}

void times_release(struct times *times)
{
	free(times->ns);
}

void times_add(struct times *times, int64_t ns)
{
	if (times->count == times->room)
		die("more answers than requests");
	times->ns[times->count++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

double times_us(struct times *times, unsigned percent)
{
	qsort(times->ns, times->count, sizeof *times->ns, by_size);
	return times->ns[(times->count - 1) * percent / 100] / 1e3;
}

void report(double reached, struct times *times, double cpu_us)
{
	double median = times_us(times, 50), most = times_us(times, 99), longest = times_us(times, 100);

	printf("%.2f %.1f %.1f %.1f %.2f\n", reached, median, most, longest, cpu_us);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
		int at_least;
	} words[] = {{"load", word_load, 5},   {"grow", word_grow, 3},   {"direct", word_direct, 3},
		     {"idle", word_idle, 2},   {"churn", word_churn, 2}, {"flood", word_flood, 3},
		     {"spawn", word_spawn, 2}, {"start", word_start, 3}};

	for (size_t i = 0; argc >= 2 && i < sizeof words / sizeof *words; i++) {
		if (strcmp(argv[1], words[i].name) == 0 && argc - 2 >= words[i].at_least)
			return words[i].run(argc - 2, argv + 2);
	}
	fputs("usage: bench WORD ARGUMENTS; bench.c lists them\n", stderr);
	return 64;
}
