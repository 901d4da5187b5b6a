/*
 * poor.h - what a test says to a poor.c that runs. Each order is answered with the number of allocations since the last one, as a uint64_t.
 */
#ifndef CLAIMD_TESTS_FAULTS_POOR_H
#define CLAIMD_TESTS_FAULTS_POOR_H

#include <stdint.h>

struct poor_order {
	uint64_t at;    /* the allocation that fails, counted from 1; 0: none */
	int32_t onward; /* and all after it */
	int32_t unused;
};

#endif
