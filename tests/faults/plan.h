/*
 * plan.h - what a disk is to do wrong: shared memory between a test, which writes it, and disk.c inside a daemon.
 *
 * The path of the file that both map is in FAULT_PLAN, the folder whose files are meant in FAULT_DISK. A file of zeros is a disk
 * without faults. A test changes the plan while the daemon runs; `seen` and `met` come back.
 */
#ifndef CLAIMD_TESTS_FAULTS_PLAN_H
#define CLAIMD_TESTS_FAULTS_PLAN_H

#include <stdatomic.h>

/* Calls, as bits. */
enum {
	DISK_READ = 1,
	DISK_WRITE = 2,
	DISK_SYNC = 4,
	DISK_TRUNCATE = 8,
	DISK_OPEN = 16,
	DISK_CHANGE = DISK_WRITE | DISK_SYNC | DISK_TRUNCATE,
	DISK_ALL = 31
};

/* What happens then, where it is no errno. */
enum {
	DISK_SHORT = 1000, /* half of it is read or written */
	DISK_KILL,         /* the process is killed instead of the call */
	DISK_TORN,         /* the same, with half of a write done */
	DISK_POWER,        /* the same, and what no sync has covered is lost */
	DISK_SHUFFLE       /* the same, and each write of that is lost or not, by the seed */
};

struct plan {
	atomic_int kinds; /* which calls are counted, and fail */
	atomic_int how;   /* an errno, or what stands above; 0: nothing */
	atomic_int at;    /* the call, counted from 1, that is the first */
	atomic_int times; /* so many of them; 0: all from then on */
	atomic_uint seed;
	atomic_int seen; /* calls of these kinds so far */
	atomic_int met;  /* of which so many failed */
};

#endif
