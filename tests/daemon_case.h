/*
 * daemon_case.h - one real daemon, for the tests that look at what it answers. What should not be fails the test.
 */
#ifndef CLAIMD_TESTS_DAEMON_CASE_H
#define CLAIMD_TESTS_DAEMON_CASE_H

#include <check.h>

#include "spawn.h"

/* Arguments for spawn_start. */
extern const char *const in_memory[], *const on_sqlite[];
/* The daemon. The test starts it. */
extern struct spawn daemon_;

/* A connection to it. */
int dial(void);
/* What it answers on a connection of its own. */
const char *ask(const char *line);
/* Asks until the answer has this part. */
void becomes(const char *line, const char *part);
void starts(const char *line, const char *start);
void has(const char *line, const char *part);
/* "VERB key fence=N rest", in static storage. */
const char *with(const char *verb_key, long long fence, const char *rest);

#endif
