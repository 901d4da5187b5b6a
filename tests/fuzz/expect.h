/*
 * expect.h - what a client of the daemon may be told, from what it has asked: for conn.c.
 *
 * It is given all octets that a client says and all that it hears, and ends the program where the two do not fit: an answer for no
 * request, out of order, with a wrong tag or a word that its verb does not know; a fence that is granted twice; an event for who
 * has asked for none.
 */
#ifndef CLAIMD_TESTS_FUZZ_EXPECT_H
#define CLAIMD_TESTS_FUZZ_EXPECT_H

#include "../../proto/proto.h"

/* The wins of all clients in a run. Zero it. */
struct wins {
	struct win *first;
};
void wins_release(struct wins *wins);

struct expect;

struct expect_limits {
	size_t max_line, max_body;
	bool operator_;
};

struct expect *expect_new(struct wins *wins, const struct expect_limits *limits);
void expect_free(struct expect *expect);
void expect_said(struct expect *expect, const char *data, size_t len);
void expect_heard(struct expect *expect, const char *data, size_t len);
/* Requests without an answer; those with a wait= beyond patience_ms do not count. */
size_t expect_open(const struct expect *expect, int64_t patience_ms);
/* It has asked for events, so that its end of input is no end. */
bool expect_listens(const struct expect *expect);

#endif
