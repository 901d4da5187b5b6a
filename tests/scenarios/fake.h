/*
 * fake.h - the clock and the dice of a scenario: time passes only when the player says so, and random octets are the
 * same each time.
 *
 * fake.c takes the place of clock_gettime and getrandom for the whole process, the event loop's timers included.
 */
#ifndef CLAIMD_TESTS_SCENARIOS_FAKE_H
#define CLAIMD_TESTS_SCENARIOS_FAKE_H

#include <stdint.h>

/* Milliseconds since the scenario began. */
int64_t fake_now_ms(void);
void fake_set_ms(int64_t now_ms);

#endif
