/*
 * clock.c - see clock.h. Called from everywhere in the daemon, also from the stores' threads.
 *
 * Both clocks are always there on Linux and reading them cannot fail; a kernel without them is a bug of ours
 * to have been started on.
 */
#include "clock.h"

#include <assert.h>
#include <time.h>

static int64_t read_us(clockid_t clock)
{
	struct timespec now;
	int failed = clock_gettime(clock, &now);

	assert(failed == 0);
	(void)failed;
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_mono_us(void)
{
	return read_us(CLOCK_BOOTTIME);
}

int64_t clock_mono_ms(void)
{
	return clock_mono_us() / 1000;
}

int64_t clock_wall_us(void)
{
	return read_us(CLOCK_REALTIME);
}
