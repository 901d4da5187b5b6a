/*
 * spawn.h - a real claimd for a test: started in a folder of its own, talked to over its socket, ended with the test.
 *
 * The daemon dies with the process that started it, so a test that fails leaves nothing behind. What cannot be done aborts
 * the test with a message. Every wait has a deadline.
 */
#ifndef CLAIMD_TESTS_SPAWN_H
#define CLAIMD_TESTS_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SPAWN_WAIT_MS 20000 /* a test waits so long for what must happen */

struct spawn {
	pid_t pid;
	char dir[64]; /* removed by spawn_end */
	char socket[256];
	char log[96]; /* the daemon's standard error */
	int answered; /* exit status after spawn_wait; 128 + signal */
};

/* A folder for a daemon, which is not started. */
void spawn_init(struct spawn *daemon);
/* Starts it, with more arguments (NULL-terminated, may be NULL) behind --socket. "@" at the start of an argument stands for the
 * folder. Returns when it answers a PING. The binary is $TEST_CLAIMD, else ./claimd. */
void spawn_start(struct spawn *daemon, const char *const *args);
/* The same, without waiting for anything. */
void spawn_launch(struct spawn *daemon, const char *const *args);
/* Sends a signal and waits for the end. Returns the status as `answered`. */
int spawn_stop(struct spawn *daemon, int signal_number);
/* Waits for the end without a signal. */
int spawn_wait(struct spawn *daemon);
/* Kills it if it runs, removes the folder. */
void spawn_end(struct spawn *daemon);
/* Still running? */
bool spawn_alive(struct spawn *daemon);

/* A connection; -1 when it is refused. */
int spawn_connect(const struct spawn *daemon);
/* Sends all of it. False: the peer closed. */
bool wire_send(int fd, const void *data, size_t len);
bool wire_say(int fd, const char *text);
/* One line without its LF into a static buffer; NULL at end of input or after SPAWN_WAIT_MS. */
const char *wire_line(int fd);
/* Says a line, returns the line that comes back; "" when none comes. */
const char *wire_ask(int fd, const char *line);
/* On a connection of its own. */
const char *wire_ask_once(const struct spawn *daemon, const char *line);
/* True when the peer closes (all that comes before is thrown away). */
bool wire_closed(int fd);
/* Number behind "name=" in a reply; -1 when it is not there. */
long long wire_number(const char *reply, const char *name);
/* Does the file hold this text? For logs. */
bool file_holds(const char *path, const char *text);

/* Milliseconds on the monotonic clock, for deadlines of waits. */
long long wait_now_ms(void);
/* Sleeps a moment between two looks at a condition. False after `deadline_ms`. */
bool wait_moment(long long deadline_ms);

#endif
