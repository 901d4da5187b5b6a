/* points.c - see points.h. */
#include "points.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../spawn.h"

void points_seed(void)
{
	const char *given = getenv("FAULTS_SEED");
	unsigned seed =
	    given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)getpid() ^ (unsigned)wait_now_ms();

	printf("faults: FAULTS_SEED=%u\n", seed);
	fflush(stdout);
	srand(seed);
}

int points_step(int count, int wanted)
{
	return getenv("FAULTS_ALL") != NULL || count <= wanted ? 1 : (count + wanted - 1) / wanted;
}

int points_first(int count, int wanted)
{
	return 1 + rand() % points_step(count, wanted);
}
