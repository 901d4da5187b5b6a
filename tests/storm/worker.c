/*
 * worker.c - takes keys, works, settles, and goes wrong in every way a worker can.
 *
 * It may die at any step, also while it waits for a key, oversleep its lease with or without knowing, settle late, twice or the
 * wrong way, forget to settle, and send a copy of a call long after. Where the daemon holds the claim it works on without a RENEW.
 * What it never does is to begin an effect without WON, to begin it twice, or to say that it was done when it was not. That the
 * sink refuses an effect with a lower fence than it has seen is left to the judge, who reads the effects in the order in which
 * the sink has them.
 *
 * Results are made of a letter and the fence ("d" COMPLETE, "f" FAIL, "r" RESOLVE), so that the judge knows what each may be. A
 * COMPLETE after an acknowledged settlement says "x", which must never be told to anybody.
 */
#include "worker.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LONG_TTL_MS (3600 * 1000)
#define SHORT_TTL_MS 400
#define SETTLE_WAIT_MS 10000
#define CLAIM_WAIT_MS 4000

struct worker {
	struct storm *storm;
	struct client *client;
	int seat;
	struct event claim; /* the call that won, as it was sent */
	int64_t fence;
	bool over; /* its settlement was acknowledged */
};

static bool is_bound(unsigned slot)
{
	return slot >= SLOTS - SLOTS_BOUND;
}

void key_name(struct event *ask, unsigned slot, unsigned generation)
{
	snprintf(ask->key, sizeof ask->key, "k%u.%u", slot, generation);
	ask->ttl_ms = slot % 6 == 0 && !is_bound(slot) ? SHORT_TTL_MS : LONG_TTL_MS;
}

static bool chance(struct worker *w, int percent)
{
	return client_chance(w->client, percent);
}

static int64_t dice(struct worker *w, int64_t below)
{
	return client_dice(w->client, below);
}

static void die(struct worker *w)
{
	client_part(w->client);
	kill(getpid(), SIGKILL);
}

static void busy_for(int64_t ms)
{
	poll(NULL, 0, (int)ms);
}

/* Stands still until the lease is over; the driver wakes it. */
static void oversleep(struct worker *w)
{
	int64_t for_ms = w->claim.lease_ms + 10 + dice(w, 300);

	atomic_store(&w->storm->wake_us[w->seat], journal_now_us() + for_ms * 1000);
	raise(SIGSTOP);
	atomic_store(&w->storm->wake_us[w->seat], 0);
}

/* ---- calls about the claim that is held ---- */

static struct event holders_call(const struct worker *w, enum verb verb)
{
	struct event ask = {.verb = verb, .fence = w->fence, .token = w->claim.token, .ttl_ms = w->claim.ttl_ms};

	memcpy(ask.key, w->claim.key, sizeof ask.key);
	if (verb == VERB_RENEW)
		ask.lease_ms = w->claim.lease_ms;
	if (verb == VERB_COMPLETE)
		snprintf(ask.result, sizeof ask.result, "%c%lld", w->over ? 'x' : 'd', (long long)w->fence);
	if (verb == VERB_FAIL)
		snprintf(ask.result, sizeof ask.result, "f%lld", (long long)w->fence);
	return ask;
}

/* True: OK. */
static bool settle(struct worker *w, enum verb verb)
{
	struct event ask = holders_call(w, verb), said;

	return client_insist(w->client, &ask, &said, wait_now_ms() + SETTLE_WAIT_MS) && said.word == WORD_OK;
}

/* One try. False: it is somebody else's. */
static bool still_mine(struct worker *w, enum verb verb)
{
	struct event ask = holders_call(w, verb), said;

	return !client_ask(w->client, &ask, &said) || said.word != WORD_STALE;
}

/* The network, or a queue, still had a copy of the CLAIM. */
static void late_claim(struct worker *w)
{
	struct event said;

	if (w->claim.token == 0 || !client_ask(w->client, &w->claim, &said) || said.word != WORD_WON)
		return;
	w->fence = said.shown;
	settle(w, VERB_RELEASE);
}

static void after_complete(struct worker *w)
{
	w->over = true;
	if (chance(w, 5))
		settle(w, VERB_COMPLETE);
	if (chance(w, 5))
		settle(w, VERB_RELEASE);
	if (chance(w, 5))
		late_claim(w);
}

static void after_release(struct worker *w)
{
	w->over = true;
	if (chance(w, 20))
		settle(w, VERB_COMPLETE);
	if (chance(w, 20))
		settle(w, VERB_RELEASE);
	if (chance(w, 20))
		late_claim(w);
}

/* ---- the work ---- */

static void effect(struct worker *w, enum happening what)
{
	client_effect(w->client, what, w->claim.key, w->fence);
}

/* Longer than the lease, with RENEW in time. False: the claim is lost. */
static bool long_work(struct worker *w)
{
	int64_t third_ms = w->claim.lease_ms / 3;

	for (int64_t left = 3 + dice(w, 4); left > 0; left--) {
		busy_for(third_ms);
		if (!still_mine(w, chance(w, 80) ? VERB_RENEW : VERB_CHECK))
			return false;
	}
	return true;
}

/* The daemon renews meanwhile, also while it is stopped; or sees it die. */
static bool bound_work(struct worker *w)
{
	int64_t kind = dice(w, 100), lease_ms = w->claim.lease_ms;

	if (w->claim.drop != DROP_KEEP && kind < 40) {
		busy_for(dice(w, 100));
		die(w);
	} else if (w->claim.hold_ms == 0 || kind < 35) {
		busy_for(dice(w, 60));
	} else if (kind < 80) {
		busy_for(lease_ms + dice(w, lease_ms));
	} else if (kind < 92) {
		oversleep(w);
	} else {
		busy_for(dice(w, lease_ms));
		die(w);
	}
	return true;
}

static bool work(struct worker *w)
{
	int64_t kind = dice(w, 100), lease_ms = w->claim.lease_ms;

	if (kind < 80) {
		busy_for(dice(w, 12));
	} else if (kind < 86) {
		busy_for(dice(w, lease_ms * 8 / 10));
		return still_mine(w, VERB_CHECK);
	} else if (kind < 91) {
		return long_work(w);
	} else if (kind < 97) {
		busy_for(lease_ms + dice(w, lease_ms / 2));
		return chance(w, 50) || still_mine(w, VERB_RENEW);
	} else {
		oversleep(w);
	}
	return true;
}

static void complete(struct worker *w)
{
	effect(w, HAPPENED_END);
	if (chance(w, 3))
		die(w);
	if (chance(w, 3)) {
		struct event ask = holders_call(w, VERB_COMPLETE);

		client_say(w->client, &ask);
		die(w);
	}
	if (settle(w, VERB_COMPLETE))
		after_complete(w);
}

static void finish(struct worker *w)
{
	int64_t kind = dice(w, 100);

	if (kind < 76) {
		complete(w);
	} else if (kind < 82) {
		settle(w, VERB_FAIL);
	} else if (kind < 90) {
		if (settle(w, VERB_RELEASE))
			after_release(w);
	} else if (kind < 95) {
		if (chance(w, 50))
			effect(w, HAPPENED_END);
		settle(w, VERB_DOUBT);
	} /* else it forgets */
}

static void hold(struct worker *w)
{
	bool bound = w->claim.hold_ms != 0 || w->claim.drop != DROP_KEEP;

	if (chance(w, 2))
		die(w);
	if (chance(w, 2))
		oversleep(w);
	effect(w, HAPPENED_START);
	if (chance(w, 3))
		die(w);
	/* Who has lost the claim stops, as it should, or goes on and is refused. */
	if (bound ? bound_work(w) : work(w) || chance(w, 40))
		finish(w);
}

/* ---- the keys ---- */

static void bind_claim(struct worker *w, struct event *ask)
{
	int64_t kind = dice(w, 100);

	ask->lapse = LAPSE_RECLAIM;
	if (kind < 70) {
		ask->lease_ms = 700 + dice(w, 300);
		ask->hold_ms = chance(w, 25) ? 10000 : 600 + dice(w, 1600);
	}
	if (kind < 55)
		return;
	ask->token = 0; /* nobody may find again what is dropped */
	ask->drop = chance(w, 50) ? DROP_RELEASE : DROP_UNKNOWN;
	if (ask->hold_ms == 0)
		ask->lease_ms = 3500 + dice(w, 500);
}

static struct event next_claim(struct worker *w, unsigned *slot, unsigned *generation)
{
	struct event ask = {.verb = VERB_CLAIM};
	int64_t back;

	*slot = (unsigned)dice(w, SLOTS - SLOTS_BOUND);
	if (chance(w, 20))
		*slot = SLOTS - 1 - (unsigned)dice(w, SLOTS_BOUND);
	*generation = atomic_load(&w->storm->generation[*slot]);
	back = chance(w, 40) ? dice(w, 8) : 0;
	if (back <= *generation)
		*generation -= (unsigned)back;
	key_name(&ask, *slot, *generation);
	ask.lease_ms = 200 + dice(w, 400);
	ask.lapse = chance(w, 20) ? LAPSE_UNKNOWN : LAPSE_RECLAIM;
	ask.token = chance(w, 80) ? 1 + dice(w, PROTO_MAX_INTEGER) : 0;
	ask.wait_ms = chance(w, 8) ? 20 + dice(w, 400) : 0;
	if (is_bound(*slot))
		bind_claim(w, &ask);
	return ask;
}

/* Only a call with a token can be repeated. */
static bool claim(struct worker *w, struct event *said)
{
	if (chance(w, 3)) {
		client_say(w->client, &w->claim);
		busy_for(dice(w, w->claim.wait_ms + 1));
		if (chance(w, 20))
			die(w);
		client_close(w->client);
	}
	if (w->claim.token == 0)
		return client_ask(w->client, &w->claim, said);
	return client_insist(w->client, &w->claim, said, wait_now_ms() + CLAIM_WAIT_MS);
}

void worker_run(struct storm *storm, struct client *client, int seat)
{
	struct worker w = {.storm = storm, .client = client, .seat = seat};

	while (atomic_load(&storm->phase) == PHASE_STORM) {
		unsigned slot, generation;
		struct event said;

		w.claim = next_claim(&w, &slot, &generation);
		if (!claim(&w, &said)) {
			busy_for(1 + dice(&w, 10)); /* no daemon */
			continue;
		}
		w.fence = said.shown;
		w.over = false;
		if (said.word == WORD_WON)
			hold(&w);
		else if (said.word == WORD_DONE || said.word == WORD_FAILED) {
			if (chance(&w, 40))
				atomic_compare_exchange_strong(&storm->generation[slot], &generation, generation + 1);
		} else {
			busy_for(dice(&w, 8));
		}
	}
	client_close(client);
}
