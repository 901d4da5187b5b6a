/*
 * load.h - requests to a daemon from many connections at once, each with several in flight.
 *
 * One thread, which costs less per request than the daemon does. Used by words.c and grow.c: load_open, then load_run for
 * each part of a measurement, load_close.
 */
#ifndef CLAIMD_TESTS_BENCH_LOAD_H
#define CLAIMD_TESTS_BENCH_LOAD_H

#include "bench.h"

enum plan {
	PLAN_CLAIM, /* each key is claimed once */
	PLAN_CYCLE, /* each key is claimed and completed */
	PLAN_AGAIN, /* keys that are DONE are claimed again */
	PLAN_LOCK,  /* each client claims its one key, and who wins gives it back */
	PLAN_RENEW, /* live claims, here and there */
};

struct load {
	struct grants *grants; /* NULL: the other side is the echo, which knows no keys */
	size_t keys;           /* of PLAN_AGAIN, PLAN_LOCK and PLAN_RENEW */
	struct times times;    /* of the first verb of the plan, in the last run */
	double took_s;         /* the last run */
	double cpu_us;         /* of the other side per answer, in the last run */
	pid_t pid;             /* of the other side */

	enum plan plan;
	size_t first;          /* the key of the run's first request, where keys are new */
	size_t count;          /* of requests with the plan's first verb */
	size_t begun, ended;   /* of those */
	size_t answers, owing; /* of all requests; not yet answered */
	uint64_t serial;       /* for the tokens */
	size_t clients, depth;
	struct peer *peer;
	int epoll;
};

/* grants and keys are the caller's to set. */
void load_open(struct load *load, const char *path, size_t clients, size_t depth);
/* Dies at the first answer that may not be. */
void load_run(struct load *load, enum plan plan, size_t first, size_t count);
void load_close(struct load *load);

#endif
