/* grants.c - see grants.h. Open addressing with linear probing; a removal moves the following entries up, so there are no
 * tombstones. */
#include "grants.h"

#include <string.h>

#include "../proto/mem.h"

#define PLACES_MIN 8

void grants_init(struct grants *grants, const struct hash_seed *seed)
{
	memset(grants, 0, sizeof *grants);
	grants->seed = *seed;
}

void grants_release(struct grants *grants)
{
	for (size_t i = 0; i < GRANTS_SHARDS; i++)
		mem_free(grants->shard[i].place);
	memset(grants, 0, sizeof *grants);
}

static uint64_t mark_of(const struct grants *grants, struct slice key, int64_t fence)
{
	uint64_t mark = hash_slice(&grants->seed, key) ^ ((uint64_t)fence * UINT64_C(0x9e3779b97f4a7c15));

	return mark != 0 ? mark : 1;
}

/* The upper bits choose the shard, the lower ones the place in it. */
static struct grants_shard *shard_of(struct grants *grants, uint64_t mark)
{
	return &grants->shard[mark >> 56];
}

/* The place of `mark`, or the empty one where it would go. There always is an empty one. */
static struct grant *place_of(const struct grants_shard *shard, uint64_t mark)
{
	size_t at = mark & (shard->places - 1);

	while (shard->place[at].mark != 0 && shard->place[at].mark != mark)
		at = (at + 1) & (shard->places - 1);
	return &shard->place[at];
}

static void shard_remove(struct grants_shard *shard, struct grant *gone)
{
	size_t mask = shard->places - 1, hole = (size_t)(gone - shard->place), at = hole;

	for (;;) {
		at = (at + 1) & mask;
		if (shard->place[at].mark == 0)
			break;
		/* It may move into the hole unless its own place lies behind the hole. */
		if (((at - (shard->place[at].mark & mask)) & mask) >= ((at - hole) & mask)) {
			shard->place[hole] = shard->place[at];
			hole = at;
		}
	}
	shard->place[hole].mark = 0;
	shard->count--;
}

/* Room for one more: forgets what is over and, where that is not enough, doubles. False: no memory. */
static bool shard_make_room(struct grants_shard *shard, int64_t now_ms)
{
	struct grants_shard fresh = {.places = PLACES_MIN, .next_ms = shard->next_ms};
	size_t live = 0;

	if (4 * (shard->count + 1) <= 3 * shard->places)
		return true;
	for (size_t i = 0; i < shard->places; i++)
		live += shard->place[i].mark != 0 && shard->place[i].until_ms > now_ms;
	while (2 * (live + 1) > fresh.places)
		fresh.places *= 2;
	fresh.place = mem_zero(fresh.places * sizeof *fresh.place);
	if (fresh.place == NULL)
		return false;
	for (size_t i = 0; i < shard->places; i++) {
		const struct grant *old = &shard->place[i];

		if (old->mark != 0 && old->until_ms > now_ms) {
			*place_of(&fresh, old->mark) = *old;
			fresh.count++;
		}
	}
	mem_free(shard->place);
	*shard = fresh;
	return true;
}

void grants_hold(struct grants *grants, struct slice key, int64_t fence, int64_t now_ms, int64_t until_ms)
{
	uint64_t mark = mark_of(grants, key, fence);
	struct grants_shard *shard = shard_of(grants, mark);
	struct grant *place;

	if (!shard_make_room(shard, now_ms))
		return;
	place = place_of(shard, mark);
	if (place->mark == 0) {
		shard->count++;
		*place = (struct grant){.mark = mark, .won_ms = now_ms};
	}
	place->since_ms = now_ms;
	place->until_ms = until_ms;
	if (until_ms < shard->next_ms)
		shard->next_ms = until_ms;
}

/* NULL: it is none of ours. */
static struct grant *find(const struct grants_shard *shard, uint64_t mark)
{
	struct grant *place = shard->count > 0 ? place_of(shard, mark) : NULL;

	return place != NULL && place->mark != 0 ? place : NULL;
}

bool grants_find(struct grants *grants, struct slice key, int64_t fence, struct grant *out)
{
	uint64_t mark = mark_of(grants, key, fence);
	const struct grant *place = find(shard_of(grants, mark), mark);

	if (place == NULL)
		return false;
	*out = *place;
	return true;
}

bool grants_settle(struct grants *grants, struct slice key, int64_t fence, struct grant *out)
{
	uint64_t mark = mark_of(grants, key, fence);
	struct grants_shard *shard = shard_of(grants, mark);
	struct grant *place = find(shard, mark);

	if (place == NULL)
		return false;
	*out = *place;
	shard_remove(shard, place);
	return true;
}

/* Forgets what is over. */
static void shard_expire(struct grants_shard *shard, int64_t now_ms)
{
	shard->next_ms = INT64_MAX;
	for (size_t at = 0; at < shard->places; at++) {
		struct grant *place = &shard->place[at];

		/* A removal moves another entry here, so the place is looked at again. */
		while (place->mark != 0 && place->until_ms <= now_ms)
			shard_remove(shard, place);
		if (place->mark != 0 && place->until_ms < shard->next_ms)
			shard->next_ms = place->until_ms;
	}
}

size_t grants_live(struct grants *grants, int64_t now_ms)
{
	size_t live = 0;

	for (size_t i = 0; i < GRANTS_SHARDS; i++) {
		struct grants_shard *shard = &grants->shard[i];

		if (shard->count > 0 && shard->next_ms <= now_ms)
			shard_expire(shard, now_ms);
		live += shard->count;
	}
	return live;
}
