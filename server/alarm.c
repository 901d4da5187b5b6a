/* alarm.c - see alarm.h. */
#include "alarm.h"

#include "../proto/mem.h"

#define CAP_MIN 16

void alarms_release(struct alarms *alarms)
{
	mem_free(alarms->heap);
	*alarms = (struct alarms){NULL, 0, 0};
}

void alarm_init(struct alarm *alarm, void *owner)
{
	*alarm = (struct alarm){0, ALARM_OFF, owner};
}

static void put(struct alarms *alarms, struct alarm *alarm, size_t place)
{
	alarms->heap[place] = alarm;
	alarm->place = place;
}

/* Moves what is at `place` to where it belongs. */
static void settle(struct alarms *alarms, size_t place)
{
	struct alarm *alarm = alarms->heap[place];

	while (place > 0 && alarms->heap[(place - 1) / 2]->at_ms > alarm->at_ms) {
		put(alarms, alarms->heap[(place - 1) / 2], place);
		place = (place - 1) / 2;
	}
	for (;;) {
		size_t child = 2 * place + 1;

		if (child + 1 < alarms->count && alarms->heap[child + 1]->at_ms < alarms->heap[child]->at_ms)
			child++;
		if (child >= alarms->count || alarms->heap[child]->at_ms >= alarm->at_ms)
			break;
		put(alarms, alarms->heap[child], place);
		place = child;
	}
	put(alarms, alarm, place);
}

bool alarm_set(struct alarms *alarms, struct alarm *alarm, int64_t at_ms)
{
	alarm->at_ms = at_ms;
	if (alarm->place == ALARM_OFF) {
		if (alarms->count == alarms->cap) {
			size_t cap = alarms->cap == 0 ? CAP_MIN : 2 * alarms->cap;
			struct alarm **heap = mem_resize(alarms->heap, cap * sizeof(struct alarm *));

			if (heap == NULL)
				return false;
			alarms->heap = heap;
			alarms->cap = cap;
		}
		put(alarms, alarm, alarms->count++);
	}
	settle(alarms, alarm->place);
	return true;
}

void alarm_clear(struct alarms *alarms, struct alarm *alarm)
{
	size_t place = alarm->place;
	struct alarm *last;

	if (place == ALARM_OFF)
		return;
	alarm->place = ALARM_OFF;
	last = alarms->heap[--alarms->count];
	if (last != alarm) {
		put(alarms, last, place);
		settle(alarms, place);
	}
}

struct alarm *alarms_first(const struct alarms *alarms)
{
	return alarms->count > 0 ? alarms->heap[0] : NULL;
}
