/*
 * vectors.h - reads the files of proto/vectors; their README says how they are written.
 */
#ifndef CLAIMD_TESTS_VECTORS_H
#define CLAIMD_TESTS_VECTORS_H

#include "../proto/proto.h"

enum { VECTOR_MAX_LINES = 48 };

struct vector_line {
	struct slice keyword;
	struct slice text; /* octets, the notation is undone; in memory of their own */
};

struct vector {
	struct slice name;
	size_t count;
	struct vector_line line[VECTOR_MAX_LINES];
	struct slice input; /* all in and raw lines together; in memory of its own */
};

struct vectors {
	char *file; /* names and keywords point into it */
	size_t count;
	struct vector *vector;
};

/* Reads proto/vectors/NAME of the source tree. Ends the program with a message when there is no such file or when it does not
 * follow the notation: a test that reads nothing must not pass. */
void vectors_load(struct vectors *vectors, const char *name);
void vectors_release(struct vectors *vectors);
/* The first line with that keyword, or NULL. */
const struct vector_line *vector_find(const struct vector *vector, const char *keyword);

#endif
