/*
 * child.c - the command that is run, as a process. See child.h. Called by cli_run.c.
 *
 * Happy path: child_fork, child_go, SIGCHLD, child_reap. Between fork and exec the process waits at a gate, so that
 * a stop that was asked for meanwhile can still prevent it from running. Failure modes: no process to be had; exec
 * fails (its errno comes through a pipe that a good exec closes); we die (the kernel kills it); it leaves processes
 * behind (they are ours by PR_SET_CHILD_SUBREAPER, so that we can wait until they are really gone).
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define END_GROUP_TRIES 500
#define END_GROUP_PAUSE_NS (10 * 1000 * 1000)

/* In the new process; does not return. */
static void become(const struct child_spec *spec, pid_t parent, int gate, int error_fd)
{
	char go;
	struct sigaction plain = {.sa_handler = SIG_DFL};
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Our parent may have died before that; and a gate that closes without an octet says no. */
	if (getppid() != parent || read(gate, &go, 1) != 1)
		_exit(127);
	if ((spec->stdin_fd >= 0 && dup2(spec->stdin_fd, STDIN_FILENO) < 0) ||
	    (spec->stdout_fd >= 0 && dup2(spec->stdout_fd, STDOUT_FILENO) < 0))
		goto fail;
	sigaction(SIGCHLD, &plain, NULL);
	sigaction(SIGPIPE, spec->pipe_action, NULL);
	sigprocmask(SIG_SETMASK, spec->mask, NULL);
	execvp(spec->command[0], spec->command);
fail:;
	int error = errno;
	if (write(error_fd, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

bool child_fork(struct child *child, const struct child_spec *spec, struct errbuf *err)
{
	int gate[2], error[2];
	pid_t parent = getpid();
	*child = (struct child){.gate = -1, .error_fd = -1, .tty = -1};
	if (pipe2(gate, O_CLOEXEC) != 0)
		goto fail;
	if (pipe2(error, O_CLOEXEC | O_NONBLOCK) != 0)
		goto fail_gate;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid_t pid = fork();
	if (pid < 0)
		goto fail_error;
	if (pid == 0) {
		close(gate[1]);
		become(spec, parent, gate[0], error[1]);
	}
	/* Also here: the next line of ours may need the group before the child has run at all. */
	setpgid(pid, pid);
	close(gate[0]);
	close(error[1]);
	child->pid = pid;
	child->gate = gate[1];
	child->error_fd = error[0];
	return true;
fail_error:
	close(error[0]);
	close(error[1]);
fail_gate:
	close(gate[0]);
	close(gate[1]);
fail:
	err_set(err, "no process for the command: %s", strerror(errno));
	return false;
}

/* ---- the terminal ---- */

bool child_tty_is_ours(const struct child *child)
{
	return child->tty >= 0 && tcgetpgrp(child->tty) == getpgrp();
}

static void give_tty(struct child *child)
{
	if (!child_tty_is_ours(child))
		return;
	tcgetattr(child->tty, &child->modes);
	child->has_tty = tcsetpgrp(child->tty, child->pid) == 0;
}

void child_take_tty(struct child *child)
{
	if (!child->has_tty)
		return;
	/* SIGTTOU is blocked, so this works from the background too. */
	if (tcgetpgrp(child->tty) == child->pid || kill(-child->pid, 0) != 0)
		tcsetpgrp(child->tty, getpgrp());
	/* A command that was killed did not tidy up after itself. */
	if (child->exited && WIFSIGNALED(child->status))
		tcsetattr(child->tty, TCSADRAIN, &child->modes);
	child->has_tty = false;
}

void child_resume(struct child *child)
{
	give_tty(child);
	child->stop_signal = 0;
	child_signal(child, SIGCONT);
}

bool child_stop_with(struct child *child)
{
	sigset_t stop, pending;
	bool whole_group = child->has_tty;
	child_take_tty(child);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	/* With the terminal, ^Z was meant for the whole job that we are a part of. SIGTSTP and not SIGSTOP: where no
	 * shell could continue us the kernel ignores it. */
	kill(whole_group ? 0 : getpid(), SIGTSTP);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	/* What continued us is blocked and waits to be read. */
	sigpending(&pending);
	return sigismember(&pending, SIGCONT) == 1;
}

/* ---- life ---- */

void child_go(struct child *child, bool want_tty)
{
	child->tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (want_tty)
		give_tty(child);
	/* When this fails the process is dead, which SIGCHLD says. */
	ssize_t n = write(child->gate, "", 1);
	(void)n;
	close(child->gate);
	child->gate = -1;
}

void child_cancel(struct child *child)
{
	close(child->gate);
	child->gate = -1;
	while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
		;
	child->exited = true;
}

void child_signal(const struct child *child, int signo)
{
	if (child->pid > 0)
		kill(-child->pid, signo);
}

void child_reap(struct child *child)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
		if (pid != child->pid)
			continue; /* left behind by the command, and ended */
		if (WIFSTOPPED(status)) {
			child->stop_signal = WSTOPSIG(status);
		} else if (WIFCONTINUED(status)) {
			child->stop_signal = 0;
		} else {
			child->exited = true;
			child->status = status;
		}
	}
}

int child_exec_error(struct child *child)
{
	int error = 0;
	if (child->error_fd >= 0 && read(child->error_fd, &error, sizeof(error)) != (ssize_t)sizeof(error))
		error = 0;
	return error;
}

void child_end_group(struct child *child)
{
	struct timespec pause = {0, END_GROUP_PAUSE_NS};
	child_signal(child, SIGKILL);
	for (int i = 0; i < END_GROUP_TRIES; i++) {
		pid_t pid = waitpid(-child->pid, NULL, WNOHANG);
		if (pid < 0 && errno == ECHILD)
			return;
		if (pid == 0)
			nanosleep(&pause, NULL);
	}
}

void child_release(struct child *child)
{
	child_take_tty(child);
	if (child->gate >= 0)
		close(child->gate);
	if (child->error_fd >= 0)
		close(child->error_fd);
	if (child->tty >= 0)
		close(child->tty);
	*child = (struct child){.gate = -1, .error_fd = -1, .tty = -1};
}
