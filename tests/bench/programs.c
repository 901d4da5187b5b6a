/*
 * programs.c - how long programs take: bench spawn, from start to end, and bench start, a daemon to its first answer.
 *
 * bench.c calls these. What is started is waited for; a daemon is ended with a TERM.
 */
#include "bench.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_LIMIT_NS INT64_C(20000000000)

extern char **environ;

static pid_t begin(char **argv)
{
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0)
		die("cannot start %s", argv[0]);
	return pid;
}

static void end(pid_t pid, const char *name)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		die("%s failed", name);
}

/* COUNT PROGRAM ARGUMENTS...; what is reached is times a second. */
int word_spawn(int argc, char **argv)
{
	size_t count = number_of(argv[0]);
	char number[32];
	struct times times;
	int64_t start = now_ns();

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "@") == 0)
			argv[i] = number;
	}
	times_init(&times, count);
	for (size_t n = 0; n < count; n++) {
		int64_t begun = now_ns();

		snprintf(number, sizeof number, "bench-%d-%zu", (int)getpid(), n);
		end(begin(argv + 1), argv[1]);
		times_add(&times, now_ns() - begun);
	}
	report((double)count * 1e9 / (double)(now_ns() - start), &times, 0);
	times_release(&times);
	return 0;
}

/* Wins a key: that is what a daemon is started for. */
static void first_answer(int fd, size_t n, int64_t begun, struct times *times)
{
	char line[256];
	int len = snprintf(line, sizeof line, "CLAIM start-%d-%zu\n", (int)getpid(), n);

	peer_send(fd, line, (size_t)len);
	peer_line(fd, line, sizeof line);
	times_add(times, now_ns() - begun);
	if (strncmp(line, "WON ", 4) != 0)
		die("the first CLAIM was answered with %s", line);
}

/* Not before the daemon listens. */
static int connect_soon(const char *path, int64_t until_ns)
{
	int fd;

	while ((fd = peer_connect(path)) < 0) {
		if (now_ns() > until_ns)
			die("the daemon does not listen");
		usleep(100);
	}
	return fd;
}

/* SOCKET COUNT DAEMON ARGUMENTS...; what is reached is starts a second, by the median. */
int word_start(int argc, char **argv)
{
	size_t count = number_of(argv[1]);
	struct times times;

	(void)argc;
	times_init(&times, count);
	for (size_t n = 0; n < count; n++) {
		int64_t begun = now_ns();
		pid_t pid = begin(argv + 2);
		int fd = connect_soon(argv[0], begun + START_LIMIT_NS);

		first_answer(fd, n, begun, &times);
		kill(pid, SIGTERM);
		close(fd);
		end(pid, argv[2]);
	}
	report(1e6 / times_us(&times, 50), &times, 0);
	times_release(&times);
	return 0;
}
