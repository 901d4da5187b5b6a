/* play.c - a peer for tests of the library. See play.h. */
#include "play.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELLO_OK "OK proto=1 max_body=1000\n"

static void read_line(int fd, char *line, size_t size)
{
	size_t len = 0;
	while (len + 1 < size && read(fd, line + len, 1) == 1 && line[len] != '\n')
		len++;
	line[len] = '\0';
}

/* The status says at what kind of line it came to an end. */
static void play(int listener, const char *const *script)
{
	char line[9000];
	int fd = -1;
	for (; *script; script++) {
		const char *text = *script + 1;
		if (**script == '|') {
			close(fd);
			fd = accept(listener, NULL, NULL);
			read_line(fd, line, sizeof(line));
			if (strncmp(line, "HELLO ", 6) != 0 || write(fd, HELLO_OK, sizeof(HELLO_OK) - 1) < 0)
				_exit(1);
		} else if (**script == '<') {
			read_line(fd, line, sizeof(line));
			if (strncmp(line, text, strlen(text)) != 0)
				_exit(2);
		} else if (**script == '>') {
			if (write(fd, text, strlen(text)) < 0)
				_exit(3);
		} else if (**script == '$') {
			if (read(fd, line, 1) > 0)
				_exit(4);
		} else {
			while (read(fd, line, sizeof(line)) > 0)
				;
		}
	}
	_exit(0);
}

void play_init(struct play *play)
{
	memcpy(play->dir, "/tmp/claimd-play.XXXXXX", sizeof("/tmp/claimd-play.XXXXXX"));
	ck_assert_ptr_nonnull(mkdtemp(play->dir));
	snprintf(play->path, sizeof(play->path), "%s/s", play->dir);
	play->pid = 0;
}

void play_start(struct play *peer, const char *const *script)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	memcpy(address.sun_path, peer->path, sizeof(peer->path));
	ck_assert_int_eq(bind(listener, (const struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(listener, 4), 0);
	peer->pid = fork();
	ck_assert_int_ge(peer->pid, 0);
	if (peer->pid == 0) {
		alarm(20);
		play(listener, script);
	}
	close(listener);
}

void play_kill(struct play *play)
{
	kill(play->pid, SIGKILL);
	waitpid(play->pid, NULL, 0);
	play->pid = 0;
	unlink(play->path);
}

void play_end(struct play *play)
{
	int status = 0;
	if (play->pid > 0)
		waitpid(play->pid, &status, 0);
	unlink(play->path);
	rmdir(play->dir);
	ck_assert_int_eq(status, 0);
}
