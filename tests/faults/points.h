/*
 * points.h - which of many points of failure a test tries: a few of them, at random, or all.
 */
#ifndef CLAIMD_TESTS_FAULTS_POINTS_H
#define CLAIMD_TESTS_FAULTS_POINTS_H

/* Seeds rand() with $FAULTS_SEED, or anew, and says so. */
void points_seed(void);
/* Which points are tried: about `wanted` of `count`, from a random one on; with $FAULTS_ALL every one. */
int points_first(int count, int wanted);
int points_step(int count, int wanted);

#endif
