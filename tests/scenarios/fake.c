/* fake.c - see fake.h. The program's own functions go before those of libc, also for the calls that libuv makes. */
#include "fake.h"

#include <sys/random.h>
#include <time.h>

#define WALL_S 1700000000 /* when scenarios begin */
#define MONOTONIC_S 5000

static int64_t elapsed_ms;
static uint64_t dice = 1;

int64_t fake_now_ms(void)
{
	return elapsed_ms;
}

void fake_set_ms(int64_t now_ms)
{
	elapsed_ms = now_ms;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	now->tv_sec = (clock == CLOCK_REALTIME ? WALL_S : MONOTONIC_S) + elapsed_ms / 1000;
	now->tv_nsec = elapsed_ms % 1000 * 1000000;
	return 0;
}

ssize_t getrandom(void *data, size_t len, unsigned flags)
{
	unsigned char *octet = data;

	(void)flags;
	for (size_t i = 0; i < len; i++) {
		dice = dice * UINT64_C(6364136223846793005) + 1442695040888963407;
		octet[i] = (unsigned char)(dice >> 56);
	}
	return (ssize_t)len;
}
