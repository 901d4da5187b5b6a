/*
 * pty.c - runs a command with the signals, or the terminal, that a test wants it to have.
 *
 *     pty --signals [--ignore-chld] COMMAND...   all signals at their default and unblocked, then exec
 *     pty COMMAND... <script                     the command in a terminal of its own, as the leader of its session
 *
 * The script, one step a line: "send TEXT" types it and Enter, "type TEXT" only it (^[ at its start is Escape), "key
 * X" types Control-X, "expect TEXT" waits (20 s at the most) until the terminal shows it behind what was expected
 * before, "size COLUMNS LINES" makes the terminal so large, "signal N" is for the command, "run COMMAND" is done
 * beside it, "end" waits for the command. Everything shown is printed. Exit: that of the command after "end", 1 when
 * the script failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEP_MS 20000

static char shown[1 << 20];
static size_t shown_len, seen;

__attribute__((noreturn)) static void fail(const char *step, const char *why)
{
	fprintf(stderr, "pty: %s: %s\n", step, why);
	exit(1);
}

static void plain_signals(bool ignore_chld)
{
	sigset_t none;
	for (int i = 1; i < NSIG; i++)
		if (i != SIGKILL && i != SIGSTOP)
			signal(i, SIG_DFL);
	if (ignore_chld)
		signal(SIGCHLD, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The command in its terminal. */
static pid_t start(char **command, int *master)
{
	*master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*master < 0 || grantpt(*master) != 0 || unlockpt(*master) != 0)
		fail("start", strerror(errno));
	const char *name = ptsname(*master);
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGHUP);
	setsid();
	int fd = open(name, O_RDWR);
	if (fd < 0)
		_exit(126);
	for (int i = 0; i < 3; i++)
		dup2(fd, i);
	if (fd > 2)
		close(fd);
	plain_signals(false);
	execvp(command[0], command);
	_exit(127);
}

/* Takes what the terminal shows. False: it is closed. */
static bool look(int master, int wait_ms)
{
	struct pollfd in = {.fd = master, .events = POLLIN};
	if (poll(&in, 1, wait_ms) != 1)
		fail("waiting", "nothing more is shown");
	ssize_t n = read(master, shown + shown_len, sizeof(shown) - 1 - shown_len);
	if (n <= 0)
		return false;
	fwrite(shown + shown_len, 1, (size_t)n, stdout);
	fflush(stdout);
	shown_len += (size_t)n;
	return true;
}

static void expect(int master, const char *step, const char *text)
{
	char *found;
	while (!(found = memmem(shown + seen, shown_len - seen, text, strlen(text))))
		if (!look(master, STEP_MS))
			fail(step, "the terminal is closed");
	seen = (size_t)(found - shown) + strlen(text);
}

static void type(int master, const char *text, size_t len)
{
	if (write(master, text, len) != (ssize_t)len)
		fail(text, strerror(errno));
}

static int end(int master, pid_t pid)
{
	int status;
	while (look(master, STEP_MS))
		;
	if (waitpid(pid, &status, 0) != pid)
		fail("end", strerror(errno));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void resize(int master, const char *text)
{
	struct winsize size = {0};
	if (sscanf(text, "%hu %hu", &size.ws_col, &size.ws_row) != 2 || ioctl(master, TIOCSWINSZ, &size) != 0)
		fail(text, "no such size");
}

/* One step. */
static void play(int master, pid_t pid, const char *line)
{
	if (strncmp(line, "send ", 5) == 0) {
		type(master, line + 5, strlen(line + 5));
		type(master, "\r", 1);
	} else if (strncmp(line, "type ^[", 7) == 0) {
		char text[64];
		type(master, text, (size_t)snprintf(text, sizeof(text), "\033%.60s", line + 7));
	} else if (strncmp(line, "type ", 5) == 0) {
		type(master, line + 5, strlen(line + 5));
	} else if (strncmp(line, "key ", 4) == 0) {
		char control = (char)(line[4] & 0x1f);
		type(master, &control, 1);
	} else if (strncmp(line, "expect ", 7) == 0) {
		expect(master, line, line + 7);
	} else if (strncmp(line, "size ", 5) == 0) {
		resize(master, line + 5);
	} else if (strncmp(line, "signal ", 7) == 0) {
		kill(pid, atoi(line + 7));
	} else if (strncmp(line, "run ", 4) == 0) {
		if (system(line + 4) != 0)
			fail(line, "it failed");
	} else if (*line) {
		fail(line, "no such step");
	}
}

int main(int argc, char **argv)
{
	char line[4096];
	int master;
	if (argc > 2 && strcmp(argv[1], "--signals") == 0) {
		bool ignore_chld = strcmp(argv[2], "--ignore-chld") == 0;
		plain_signals(ignore_chld);
		execvp(argv[ignore_chld ? 3 : 2], argv + (ignore_chld ? 3 : 2));
		fail(argv[2], strerror(errno));
	}
	if (argc < 2)
		fail("start", "usage: pty COMMAND... <script");
	pid_t pid = start(argv + 1, &master);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, "end") == 0)
			return end(master, pid);
		play(master, pid, line);
	}
	return 0;
}
