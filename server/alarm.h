/*
 * alarm.h - things that are due at times of their own: a binary heap, earliest first. No clock, no callback: the owner asks.
 */
#ifndef CLAIMD_SERVER_ALARM_H
#define CLAIMD_SERVER_ALARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALARM_OFF SIZE_MAX

/* Embedded in what is due. place == ALARM_OFF: not set. */
struct alarm {
	int64_t at_ms;
	size_t place;
	void *owner;
};

/* Zero is empty. */
struct alarms {
	struct alarm **heap;
	size_t count, cap;
};

void alarms_release(struct alarms *alarms);
void alarm_init(struct alarm *alarm, void *owner);
/* Sets it, or moves it. False: no memory, and it is not set. */
bool alarm_set(struct alarms *alarms, struct alarm *alarm, int64_t at_ms);
void alarm_clear(struct alarms *alarms, struct alarm *alarm);
/* The earliest; NULL: none is set. */
struct alarm *alarms_first(const struct alarms *alarms);

#endif
