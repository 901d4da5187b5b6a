/*
 * faulty.h - a claimd on an SQLite file in a folder whose disk does what a plan says.
 */
#ifndef CLAIMD_TESTS_FAULTS_FAULTY_H
#define CLAIMD_TESTS_FAULTS_FAULTY_H

#include <check.h>

#include "../spawn.h"
#include "plan.h"

struct faulty {
	struct spawn daemon;
	struct plan *plan;
	char disk[80]; /* the folder */
};

/* Fixture: no daemon runs yet, and the disk is well. */
void faulty_init(struct faulty *faulty);
void faulty_end(struct faulty *faulty);
/* The file is gone, as before the first start. */
void faulty_wipe(struct faulty *faulty);
/* Starts it and waits until it answers, or (launch) does not. */
void faulty_start(struct faulty *faulty);
void faulty_launch(struct faulty *faulty);
/* From now on; see plan.h. */
void faulty_plan(struct faulty *faulty, int kinds, int how, int at, int times);
void faulty_calm(struct faulty *faulty);

#endif
