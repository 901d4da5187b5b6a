/*
 * bench.h - what the parts of the benchmark's program share; bench.c has its words, run.sh calls it.
 *
 * Each word of the program measures one thing once and prints one line of numbers for run.sh: what was reached (a
 * second, or as the word says), then the median, the 99th percentile and the longest of its times in microseconds,
 * then the processor time of the other side per answer in microseconds. A wrong answer is exit 1 and no numbers.
 */
#ifndef CLAIMD_TESTS_BENCH_BENCH_H
#define CLAIMD_TESTS_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *zeros(size_t count, size_t size); /* or it dies */
int64_t now_ns(void);                   /* monotonic */
size_t number_of(const char *text);     /* a decimal number above 0, or it dies */
/* Of a process that is not a child of ours. */
int64_t cpu_ns(pid_t pid);
size_t resident_kib(pid_t pid);

/* Connected to a Unix socket; -1: nobody listens. */
int peer_connect(const char *path);
pid_t peer_pid(int fd);
/* Sends the whole of it. */
void peer_send(int fd, const char *data, size_t len);
/* Waits for one line, without its LF and NUL-terminated; for one that has nothing else to come. */
void peer_line(int fd, char *line, size_t size);

/* ---- times ---- */

struct times {
	uint32_t *ns;
	size_t count, room;
};

void times_init(struct times *times, size_t room);
void times_release(struct times *times);
void times_add(struct times *times, int64_t ns);
/* Sorts them first; percent 100 is the longest. */
double times_us(struct times *times, unsigned percent);
/* The line for run.sh. */
void report(double reached, struct times *times, double cpu_us);

/* ---- who was granted what (grants.c) ---- */

struct grants;

/* For keys 0 to keys - 1. A key that is granted `once` is never granted again; another one not before it was given back. */
struct grants *grants_new(size_t keys, bool once);
void grants_free(struct grants *grants);
/* Each dies when the answer is one that may not be: two holders, a fence that does not rise, one that was never granted. */
void grants_won(struct grants *grants, size_t key, int64_t fence);
void grants_given_back(struct grants *grants, size_t key);
void grants_settled(const struct grants *grants, size_t key, int64_t fence);
int64_t grants_fence(const struct grants *grants, size_t key);
/* Dies unless each of the first so many keys was granted. */
void grants_all(const struct grants *grants, size_t keys);

/* ---- the words; argv[0] is the first argument behind the word ---- */

int word_load(int argc, char **argv);
int word_grow(int argc, char **argv);
int word_direct(int argc, char **argv);
int word_idle(int argc, char **argv);
int word_churn(int argc, char **argv);
int word_flood(int argc, char **argv);
int word_spawn(int argc, char **argv);
int word_start(int argc, char **argv);

#endif
