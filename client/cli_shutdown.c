/*
 * cli_shutdown.c - `claim shutdown`: has the daemon leave, and with --wait comes back when it is gone. Called by cli.c.
 *
 * Happy path: a connection of its own that watches, SHUTDOWN, the end of that connection, the end of the process. Who
 * only watches does not keep the daemon; any other connection would. Its socket and the lock on it are free by then.
 * Failure modes: those of cli_ask.c; the time is over first (124), and the daemon goes on leaving.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli_show.h"
#include "link.h"

#define LOOK_MS 20 /* how often it is looked whether the process is there */

struct leaving {
	int fd;    /* the connection that watches; -1: none */
	pid_t pid; /* of who listens */
	int64_t until_ms;
};

static void leaving_open(struct leaving *leaving, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);
	leaving->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (leaving->fd < 0)
		return;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (connect(leaving->fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
	    getsockopt(leaving->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 ||
	    send(leaving->fd, "WATCH\n", 6, MSG_NOSIGNAL) != 6) {
		close(leaving->fd);
		leaving->fd = -1;
	}
	leaving->pid = peer.pid;
}

static int left_ms(const struct leaving *leaving)
{
	int64_t left = leaving->until_ms - link_now_ms();
	return left < 0 ? 0 : left < 60000 ? (int)left : 60000;
}

/* What is told meanwhile is for others. False: the time is over. */
static bool connection_ends(const struct leaving *leaving)
{
	char told[4096];
	struct pollfd ready = {.fd = leaving->fd, .events = POLLIN};
	ssize_t n;
	do {
		if (left_ms(leaving) == 0)
			return false;
		if (poll(&ready, 1, left_ms(leaving)) <= 0)
			n = 1;
		else
			n = read(leaving->fd, told, sizeof(told));
	} while (n > 0 || (n < 0 && errno == EINTR));
	return true;
}

/* A service manager that has opened the socket for it is not the daemon and stays, and so does whoever got its number
 * later. A zombie is gone. */
static bool is_there(pid_t pid)
{
	char path[32], name[32] = "", state = 'Z';
	int number;
	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	bool known = fscanf(file, "%d (%31[^)]) %c", &number, name, &state) == 3;
	fclose(file);
	return known && strcmp(name, "claimd") == 0 && state != 'Z' && state != 'X';
}

/* False: the time is over. */
static bool process_ends(const struct leaving *leaving)
{
	while (is_there(leaving->pid)) {
		if (left_ms(leaving) == 0)
			return false;
		poll(NULL, 0, LOOK_MS);
	}
	return true;
}

int cli_shutdown(struct cli *cli, const struct args *args)
{
	struct leaving leaving = {.fd = -1, .until_ms = INT64_MAX};
	bool wait = arg_given(args, ARG_GONE);
	if (wait)
		leaving_open(&leaving, claim_socket(cli->conn));
	if (args->text[ARG_GONE])
		leaving.until_ms = link_now_ms() + args->number[ARG_GONE];
	int status = cli_verb(cli, args);
	if (wait && status == CLI_OK) {
		fflush(stdout);
		/* It would keep the daemon. */
		claim_close(cli->conn);
		cli->conn = NULL;
		if (leaving.fd < 0) {
			cli_say("it was told to leave, and could not be watched doing so");
			status = CLI_UNREACHABLE;
		} else if (!connection_ends(&leaving) || !process_ends(&leaving)) {
			cli_say(
			    "it still answers those who need it, after %s; it leaves when they do not, and by itself",
			    show_duration(args->number[ARG_GONE]).text);
			status = CLI_TIMEOUT;
		}
	}
	if (leaving.fd >= 0)
		close(leaving.fd);
	return status;
}
