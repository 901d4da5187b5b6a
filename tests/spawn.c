/* spawn.c - see spawn.h. */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_ARGS 32
#define LINE_MAX_OCTETS 400000

static void fail(const char *what)
{
	fprintf(stderr, "test daemon: %s: %s\n", what, strerror(errno));
	abort();
}

long long wait_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool wait_moment(long long deadline_ms)
{
	struct timespec moment = {0, 2000000};

	nanosleep(&moment, NULL);
	return wait_now_ms() < deadline_ms;
}

void spawn_init(struct spawn *daemon)
{
	memset(daemon, 0, sizeof *daemon);
	snprintf(daemon->dir, sizeof daemon->dir, "/tmp/claimd-test-XXXXXX");
	if (mkdtemp(daemon->dir) == NULL)
		fail("mkdtemp");
	snprintf(daemon->socket, sizeof daemon->socket, "%s/s", daemon->dir);
	snprintf(daemon->log, sizeof daemon->log, "%s/log", daemon->dir);
}

static void run_daemon(const struct spawn *daemon, const char *const *args)
{
	const char *binary = getenv("TEST_CLAIMD") != NULL ? getenv("TEST_CLAIMD") : "./claimd";
	static char text[MAX_ARGS][256];
	char *argv[MAX_ARGS + 4] = {(char *)(size_t)binary, (char *)(size_t) "--socket", (char *)(size_t)daemon->socket,
				    NULL};
	int n = 3, log = open(daemon->log, O_WRONLY | O_CREAT | O_APPEND, 0600);

	for (int i = 0; args != NULL && args[i] != NULL && i < MAX_ARGS; i++) {
		const char *at = strchr(args[i], '@');

		if (at != NULL)
			snprintf(text[i], sizeof text[i], "%.*s%s%s", (int)(at - args[i]), args[i], daemon->dir,
				 at + 1);
		else
			snprintf(text[i], sizeof text[i], "%s", args[i]);
		argv[n++] = text[i];
	}
	argv[n] = NULL;
	dup2(log, STDERR_FILENO);
	execv(binary, argv);
	fprintf(stderr, "cannot run %s: %s\n", binary, strerror(errno));
	_exit(127);
}

void spawn_launch(struct spawn *daemon, const char *const *args)
{
	pid_t parent = getpid();

	daemon->pid = fork();
	if (daemon->pid < 0)
		fail("fork");
	if (daemon->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(127);
		run_daemon(daemon, args);
	}
}

void spawn_start(struct spawn *daemon, const char *const *args)
{
	long long deadline_ms = wait_now_ms() + SPAWN_WAIT_MS;

	spawn_launch(daemon, args);
	for (;;) {
		int fd = spawn_connect(daemon);

		if (fd >= 0) {
			bool answers = strncmp(wire_ask(fd, "PING"), "OK", 2) == 0;

			close(fd);
			if (answers)
				return;
		}
		if (!spawn_alive(daemon) || !wait_moment(deadline_ms)) {
			char command[160];

			snprintf(command, sizeof command, "cat %s >&2", daemon->log);
			fprintf(stderr, "test daemon: it does not answer; its log:\n");
			if (system(command) != 0)
				fprintf(stderr, "(none)\n");
			abort();
		}
	}
}

static int status_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool spawn_alive(struct spawn *daemon)
{
	int status;

	if (daemon->pid <= 0)
		return false;
	if (waitpid(daemon->pid, &status, WNOHANG) != daemon->pid)
		return true;
	daemon->answered = status_of(status);
	daemon->pid = 0;
	return false;
}

int spawn_wait(struct spawn *daemon)
{
	long long deadline_ms = wait_now_ms() + 2 * SPAWN_WAIT_MS;

	while (spawn_alive(daemon)) {
		if (!wait_moment(deadline_ms)) {
			fprintf(stderr, "test daemon: it does not end\n");
			abort();
		}
	}
	return daemon->answered;
}

int spawn_stop(struct spawn *daemon, int signal_number)
{
	if (daemon->pid > 0)
		kill(daemon->pid, signal_number);
	return spawn_wait(daemon);
}

void spawn_end(struct spawn *daemon)
{
	char command[96];

	if (spawn_alive(daemon))
		spawn_stop(daemon, SIGKILL);
	snprintf(command, sizeof command, "rm -rf %s", daemon->dir);
	if (system(command) != 0)
		fprintf(stderr, "test daemon: %s is left\n", daemon->dir);
}

int spawn_connect(const struct spawn *daemon)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof address.sun_path, "%.100s", daemon->socket);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

bool wire_send(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

bool wire_say(int fd, const char *text)
{
	return wire_send(fd, text, strlen(text));
}

/* One octet; -1 at the end of input or of patience. */
static int next_octet(int fd)
{
	struct pollfd look = {.fd = fd, .events = POLLIN};
	unsigned char octet;

	if (poll(&look, 1, SPAWN_WAIT_MS) != 1)
		return -1;
	return recv(fd, &octet, 1, 0) == 1 ? octet : -1;
}

const char *wire_line(int fd)
{
	static char line[LINE_MAX_OCTETS];
	size_t len = 0;

	for (;;) {
		int octet = next_octet(fd);

		if (octet < 0)
			return NULL;
		if (octet == '\n' || len == sizeof line - 1)
			break;
		line[len++] = (char)octet;
	}
	line[len] = '\0';
	return line;
}

const char *wire_ask(int fd, const char *line)
{
	const char *answer;

	if (!wire_say(fd, line) || !wire_say(fd, "\n"))
		return "";
	answer = wire_line(fd);
	return answer != NULL ? answer : "";
}

const char *wire_ask_once(const struct spawn *daemon, const char *line)
{
	int fd = spawn_connect(daemon);
	const char *answer;

	if (fd < 0)
		return "";
	answer = wire_ask(fd, line);
	close(fd);
	return answer;
}

bool wire_closed(int fd)
{
	char octets[4096];
	struct pollfd look = {.fd = fd, .events = POLLIN};

	for (;;) {
		if (poll(&look, 1, SPAWN_WAIT_MS) != 1)
			return false;
		if (recv(fd, octets, sizeof octets, 0) <= 0)
			return true;
	}
}

long long wire_number(const char *reply, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = reply; at != NULL; at = strchr(at + 1, ' ')) {
		if (*at == ' ' && strncmp(at + 1, name, len) == 0 && at[len + 1] == '=')
			return atoll(at + len + 2);
	}
	return -1;
}

bool file_holds(const char *path, const char *text)
{
	static char content[1 << 20];
	FILE *file = fopen(path, "r");
	size_t len;

	if (file == NULL)
		return false;
	len = fread(content, 1, sizeof content - 1, file);
	fclose(file);
	content[len] = '\0';
	return strstr(content, text) != NULL;
}
