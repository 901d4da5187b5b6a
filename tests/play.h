/*
 * play.h - a peer for tests of the library: a process of the test that plays a script of lines, one after the other.
 *
 * "<TEXT" is a line that must begin so, ">TEXT" is sent, "|" takes the next connection and answers its HELLO, "." reads
 * whatever comes to its end, "$" wants that end now.
 */
#ifndef CLAIMD_TESTS_PLAY_H
#define CLAIMD_TESTS_PLAY_H

#include <sys/types.h>

struct play {
	char dir[64];
	char path[80]; /* of the socket */
	pid_t pid;     /* 0: it does not run */
};

/* A folder, where nobody listens yet. */
void play_init(struct play *play);
/* script: NULL-terminated. */
void play_start(struct play *play, const char *const *script);
/* Ends it wherever it is. */
void play_kill(struct play *play);
/* Removes the folder. The peer must have seen all that its script wants; the connection is closed before, so that it has an end. */
void play_end(struct play *play);

#endif
