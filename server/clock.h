/*
 * clock.h - what time it is.
 *
 * Deadlines run on the monotonic clock, which goes on while the machine sleeps: a lease does. The wall
 * clock is only for records and the log.
 */
#ifndef CLAIMD_SERVER_CLOCK_H
#define CLAIMD_SERVER_CLOCK_H

#include <stdint.h>

int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);
/* Microseconds since 1970. */
int64_t clock_wall_us(void);

#endif
