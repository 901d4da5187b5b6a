/*
 * faults.h - what keeps the daemon from starting, all of it: who mends one thing should not find the next by starting again.
 *
 * Filled by conf.c (what is written wrong) and start_check.c (what is written right and cannot be used); main.c prints it.
 */
#ifndef CLAIMD_SERVER_FAULTS_H
#define CLAIMD_SERVER_FAULTS_H

#include <stdio.h>

#include "../proto/text.h"

#define FAULTS_SHOWN 32 /* more are counted only */

/* Whether something can be used, as far as looking can tell. */
enum fit {
	FIT_GOOD,
	FIT_LATER, /* not now: a permission, no room. It can heal while the settings stay as they are */
	FIT_NEVER  /* a setting has to change */
};

struct faults {
	struct errbuf at[FAULTS_SHOWN];
	size_t count;
	bool lasting; /* one of them is FIT_NEVER */
};

/* One that is for want of memory is never lasting. */
void faults_add(struct faults *faults, enum fit fit, const struct errbuf *why);
/* A line each. */
void faults_print(const struct faults *faults, FILE *out);

#endif
