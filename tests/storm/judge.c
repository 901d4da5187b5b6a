/*
 * judge.c - see judge.h.
 *
 * Key by key. First everything that is said of each win is gathered (grants.c). Then all answers and effects are gone over in
 * the order in which they were asked for, while `known` gathers, in the order in which they arrived, the answers that
 * were there before: an answer may never contradict one that was there before its request went out. At last the wins
 * are compared with each other, in the order of their fences, which is that in which the store granted them.
 */
#include "judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../proto/mem.h"
#include "bound.h"

#define WAITED_US 5000 /* longer than an answer takes that waits for nobody */

/* What had been answered at some time. */
struct known {
	int64_t fence;    /* the highest seen */
	int64_t until_us; /* until then there is a record */
	int64_t settled;  /* fence of the settlement that is known; 0: none */
	enum state state; /* of that */
	int64_t end_us;   /* and until when it suppresses */
	int64_t leased;   /* fence of the lease that is known; 0: none */
	int64_t lease_end_us;
	const char *result; /* "": not known */
};

/* One key. */
struct scene {
	const struct event *event; /* in the order of the sink */
	size_t count;
	struct grants grants;
	struct weather weather;                 /* of the whole history */
	const struct event **asked, **answered; /* the same in the order of asking (with effects), and of answers */
	size_t asked_count, answered_count;
	int64_t audit_us; /* INT64_MAX: there was none */
	struct judgement *out;
};

static const char *const names[] = {
#define INVARIANT(id, name, says) name,
    INVARIANTS(INVARIANT)
#undef INVARIANT
};
static const char *const says[] = {
#define INVARIANT(id, name, says) says,
    INVARIANTS(INVARIANT)
#undef INVARIANT
};

const char *invariant_name(enum invariant invariant)
{
	return names[invariant];
}

const char *invariant_says(enum invariant invariant)
{
	return says[invariant];
}

/* ---- findings ---- */

/* Of an answer or an effect. */
static void broken(struct scene *scene, enum invariant which, const struct event *e, const char *why)
{
	struct slice verb = e->verb < VERB__COUNT ? verb_info(e->verb)->name : SLICE_OF("effect");
	struct slice word = word_name(e->word);

	if (scene->out->broken[which]++ > 0)
		return;
	snprintf(scene->out->example[which], EXAMPLE_SIZE,
		 "%s: %.*s fence=%lld of pid %lld, asked at %lld, at %lld: %.*s fence=%lld %s; %s", e->key,
		 (int)verb.len, verb.data, (long long)e->fence, (long long)e->pid, (long long)e->asked_us,
		 (long long)e->at_us, (int)word.len, word.len > 0 ? word.data : "", (long long)e->shown, e->result,
		 why);
}

/* Of a win. */
static void broken_grant(struct scene *scene, enum invariant which, const struct grant *grant, const char *why)
{
	if (scene->out->broken[which]++ > 0)
		return;
	snprintf(scene->out->example[which], EXAMPLE_SIZE,
		 "%s: fence %lld, won at %lld, its lease not over before %lld; %s", scene->event->key,
		 (long long)grant->fence, (long long)grant->heard_us, (long long)grant->lease_end_us, why);
}

/* ---- what an answer says for later ---- */

static bool is_settled(enum state state)
{
	return state == STATE_DONE || state == STATE_FAILED;
}

/* Until when the settlement suppresses that this answer tells of, at least. 0: it does not say. */
static int64_t suppresses_until(const struct event *e)
{
	if (!is_settled(e->state))
		return 0;
	if (e->word == WORD_OK)
		return e->asked_us + e->left_ms * 1000 - ROUNDING_US;
	if (e->age_ms >= 0)
		return e->asked_us + (e->ttl_ms - e->age_ms) * 1000 - ROUNDING_US;
	return 0;
}

/* There is a record until then at least, whatever happens to it. An answer about a claim whose lease may be over says
 * nothing: it may be gone the next moment. */
static int64_t exists_until(const struct scene *scene, const struct event *e)
{
	int64_t ttl_us = e->ttl_ms * 1000 - ROUNDING_US;
	const struct grant *grant;

	if (is_settled(e->state))
		return suppresses_until(e);
	if (e->state == STATE_UNKNOWN || (e->state == STATE_CLAIMED && e->word != WORD_STALE))
		return e->asked_us + ttl_us;
	if (e->state == STATE_FREE && e->word == WORD_OK && (grant = grants_find(&scene->grants, e->fence)) != NULL) {
		/* This may be a repetition. */
		int64_t first_us = grant->wished_us[WISH_RELEASE] < grant->wished_us[WISH_AS_FREE]
				       ? grant->wished_us[WISH_RELEASE]
				       : grant->wished_us[WISH_AS_FREE];

		return first_us != INT64_MAX ? first_us + ttl_us : 0;
	}
	return 0;
}

static void know_lease(struct known *known, const struct event *e)
{
	bool runs = e->state == STATE_CLAIMED && e->left_ms >= 0 && e->word != WORD_STALE;
	int64_t end_us = e->asked_us + e->left_ms * 1000 - ROUNDING_US;

	if (!runs || e->shown < known->leased)
		return;
	if (e->shown > known->leased || end_us > known->lease_end_us)
		known->lease_end_us = end_us;
	known->leased = e->shown;
}

static void know(const struct scene *scene, struct known *known, const struct event *e)
{
	int64_t until_us;

	if (e->word == WORD_ERR)
		return;
	if (e->shown > known->fence)
		known->fence = e->shown;
	until_us = exists_until(scene, e);
	if (until_us > known->until_us)
		known->until_us = until_us;
	know_lease(known, e);
	until_us = suppresses_until(e);
	if (until_us == 0 || e->shown < known->settled)
		return;
	if (e->shown > known->settled) {
		known->settled = e->shown;
		known->state = e->state;
		known->end_us = 0;
		known->result = "";
	}
	if (until_us > known->end_us)
		known->end_us = until_us;
	if (e->verb == VERB_CLAIM)
		known->result = e->result;
}

/* ---- one answer ---- */

/* Was this the wish of who had the fence? */
static bool wished(const struct grant *grant, enum wish wish, const struct event *e)
{
	return grant->wished_us[wish] <= e->at_us;
}

/* "d", "f" or "r" (COMPLETE, FAIL, RESOLVE) and the fence; see worker.c. Of `claim run` that the command succeeded. */
static bool result_fits(const struct grant *grant, const struct event *e)
{
	enum wish by_holder = e->state == STATE_DONE ? WISH_COMPLETE : WISH_FAIL;
	enum wish by_other = e->state == STATE_DONE ? WISH_AS_DONE : WISH_AS_FAILED;
	char letter = e->state == STATE_DONE ? 'd' : 'f';

	if (grant->command && e->result[0] == 'c')
		return strcmp(e->result, "claim-run 1 exit=0\n") == 0 && wished(grant, by_holder, e);
	if (strtoll(e->result[0] != '\0' ? e->result + 1 : "", NULL, 10) != grant->fence)
		return false;
	return (e->result[0] == letter && wished(grant, by_holder, e)) ||
	       (e->result[0] == 'r' && wished(grant, by_other, e));
}

static void judge_record(struct scene *scene, const struct known *known, const struct event *e)
{
	const struct grant *grant = grants_find(&scene->grants, e->shown);
	bool live = known->leased == e->shown && e->at_us < known->lease_end_us;
	bool asked = true;

	if (grant == NULL)
		return;
	if (e->state == STATE_DONE)
		asked = wished(grant, WISH_COMPLETE, e) || wished(grant, WISH_AS_DONE, e);
	else if (e->state == STATE_FAILED)
		asked = wished(grant, WISH_FAIL, e) || wished(grant, WISH_AS_FAILED, e);
	else if (e->state == STATE_UNKNOWN && grant->won)
		asked = wished(grant, WISH_DOUBT, e) || (grant->lapse == LAPSE_UNKNOWN && !live) ||
			grant_dropped(grant, DROP_UNKNOWN, e->at_us);
	if (!asked)
		broken(scene, BROKEN_SETTLED_AS_ASKED, e, "nobody had asked for this");
	else if (e->verb == VERB_CLAIM && is_settled(e->state) && !result_fits(grant, e))
		broken(scene, BROKEN_SETTLED_AS_ASKED, e, "nobody had sent this result");
}

static void judge_bound(struct scene *scene, const struct event *e)
{
	const struct grant *grant = e->shown != 0 ? grants_find(&scene->grants, e->shown) : NULL;
	const char *why = bound_cut_short(e);

	if (why != NULL)
		broken(scene, BROKEN_WAITS_LONG, e, why);
	if (grant == NULL)
		return;
	if ((why = bound_held_on(grant, &scene->weather, e)) != NULL)
		broken(scene, BROKEN_HOLD_ENDS, e, why);
	if ((why = bound_not_dropped(grant, &scene->weather, e)) != NULL)
		broken(scene, BROKEN_DROP_DONE, e, why);
	scene->out->held_on += bound_was_held(grant, e);
}

/* A hold that is shorter bounds the lease. */
static bool lease_fits(const struct event *e)
{
	return e->left_ms == (e->hold_ms != 0 && e->hold_ms < e->lease_ms ? e->hold_ms : e->lease_ms);
}

static void judge_claim(struct scene *scene, const struct known *known, const struct event *e)
{
	bool still = known->settled != 0 && e->at_us < known->end_us;

	if (e->word == WORD_WON) {
		if (still)
			broken(scene, BROKEN_SETTLED_SUPPRESSES, e, "it was known to be settled");
		if (!e->own && e->shown <= known->fence)
			broken(scene, BROKEN_FENCES_RISE, e, "a fence as high was known before");
		if (!e->own && !lease_fits(e))
			broken(scene, BROKEN_LEASE_AS_ASKED, e, "another lease");
		if (e->own && e->token == 0)
			broken(scene, BROKEN_FENCE_ONCE, e, "said to be won before by a call without a token");
	} else if (still && (e->state != known->state || e->shown != known->settled)) {
		broken(scene, BROKEN_SETTLED_IS_FINAL, e, "it was known to be settled otherwise");
	} else if (still && known->result[0] != '\0' && strcmp(known->result, e->result) != 0) {
		broken(scene, BROKEN_SETTLED_IS_FINAL, e, "it was known to have another result");
	}
}

/* OK: the record is as it was asked to be, or was settled before. */
static bool fits_call(const struct event *e)
{
	if (e->verb == VERB_COMPLETE)
		return e->state == STATE_DONE;
	if (e->verb == VERB_FAIL)
		return e->state == STATE_FAILED;
	if (e->verb == VERB_RELEASE)
		return e->state == STATE_FREE || is_settled(e->state);
	if (e->verb == VERB_DOUBT)
		return e->state == STATE_UNKNOWN || is_settled(e->state);
	if (e->verb == VERB_RESOLVE)
		return e->state == e->as;
	return e->state == STATE_CLAIMED;
}

/* STALE although the fence is the record's. */
static bool may_be_stale(const struct event *e)
{
	if (e->verb == VERB_COMPLETE)
		return e->state == STATE_FAILED;
	if (e->verb == VERB_FAIL)
		return e->state == STATE_DONE;
	if (e->verb == VERB_RENEW)
		return e->state == STATE_UNKNOWN || is_settled(e->state);
	return e->verb == VERB_CHECK;
}

/* The holder's verbs and RESOLVE. */
static void judge_settlement(struct scene *scene, const struct known *known, const struct event *e)
{
	/* A repeated RELEASE is fine after the fence that it made. */
	int64_t highest = e->fence + (e->verb == VERB_RELEASE ? 1 : 0);

	if (e->word == WORD_OK && known->fence > highest)
		broken(scene, BROKEN_STALE_REFUSED, e, "a higher fence was known");
	if (e->word == WORD_OK && !fits_call(e))
		broken(scene, BROKEN_SETTLED_AS_ASKED, e, "this is not what was asked for");
	if (e->word == WORD_OK && e->state == STATE_FREE && e->shown != e->fence + 1)
		broken(scene, BROKEN_RELEASE_RAISES, e, "not the next fence");
	if (e->word == WORD_STALE && e->shown == e->fence && !may_be_stale(e))
		broken(scene, BROKEN_OWNER_ACCEPTED, e, "it is the fence of the record");
}

/* The token of this CLAIM had won, and the claim may have been given back. */
static bool token_spent(const struct scene *scene, const struct event *e)
{
	for (size_t i = 0; i < scene->grants.count; i++) {
		const struct grant *grant = &scene->grants.grant[i];
		bool mine = grant->won ? grant->token == e->token : true;

		if (mine && (wished(grant, WISH_RELEASE, e) || wished(grant, WISH_AS_FREE, e)))
			return true;
	}
	return false;
}

static bool error_is_fine(const struct scene *scene, const struct event *e)
{
	if (e->err == ERR_BADOPT)
		return e->verb == VERB_CLAIM && e->token != 0 && token_spent(scene, e);
	if (e->err == ERR_STORE)
		return e->surely_nothing;
	return e->err == ERR_STARTING || e->err == ERR_DRAINING || e->err == ERR_BUSY || e->err == ERR_TIMEOUT;
}

static void count_answer(struct judgement *out, const struct event *e)
{
	out->answers++;
	out->waited += e->word == WORD_WON && e->wait_ms != 0 && e->at_us - e->asked_us > WAITED_US;
	out->reaffirmed += e->word == WORD_WON && e->own;
	out->suppressed += e->verb == VERB_CLAIM && is_settled(e->state);
	out->held += e->verb == VERB_CLAIM && e->word == WORD_HELD;
	out->stale += e->word == WORD_STALE;
	out->settled += e->word == WORD_OK && is_settled(e->state);
}

static void judge_answer(struct scene *scene, const struct known *known, const struct event *e)
{
	count_answer(scene->out, e);
	if (e->word == WORD_ERR) {
		scene->out->errors++;
		if (!error_is_fine(scene, e))
			broken(scene, BROKEN_NO_STRANGE_ERROR, e,
			       err_meaning(e->err < ERR__COUNT ? e->err : ERR_INTERNAL));
		return;
	}
	if (e->shown != 0 && e->shown < known->fence)
		broken(scene, BROKEN_FENCES_RISE, e, "a higher one was known before");
	if (e->absent && e->at_us < known->until_us)
		broken(scene, BROKEN_NOTHING_LOST, e, "there was a record");
	if (e->shown != 0)
		judge_record(scene, known, e);
	judge_bound(scene, e);
	if (e->verb == VERB_CLAIM)
		judge_claim(scene, known, e);
	else
		judge_settlement(scene, known, e);
}

static void judge_start(struct scene *scene, const struct known *known, const struct event *e)
{
	const struct grant *grant = grants_find(&scene->grants, e->fence);

	if (grant == NULL || !grant->won || grant->heard_us > e->at_us)
		broken(scene, BROKEN_EFFECTS_GRANTED, e, "nobody was given this fence before");
	else if (grant->starts > 1)
		broken(scene, BROKEN_EFFECTS_GRANTED, e, "twice with one fence");
	if (grant != NULL && grant->fenced_out)
		return;
	if (known->settled != 0 && e->at_us < known->end_us)
		broken(scene, BROKEN_NO_EFFECT_AFTER, e, "the occurrence was known to be settled");
}

static void judge_answers(struct scene *scene)
{
	struct known known = {.result = ""};
	size_t there = 0;

	for (size_t i = 0; i < scene->asked_count; i++) {
		const struct event *e = scene->asked[i];
		int64_t asked_us = e->what == HAPPENED_SAID ? e->asked_us : e->at_us;

		while (there < scene->answered_count && scene->answered[there]->at_us < asked_us)
			know(scene, &known, scene->answered[there++]);
		if (e->what == HAPPENED_SAID)
			judge_answer(scene, &known, e);
		else
			judge_start(scene, &known, e);
	}
}

/* ---- wins among each other ---- */

static enum invariant broken_promise(const struct grant *grant, int64_t by_us)
{
	if (grant->settled)
		return BROKEN_SETTLED_SUPPRESSES;
	if (grant->doubted || grant->lease_end_us <= by_us)
		return BROKEN_UNKNOWN_STAYS;
	return BROKEN_NO_OVERLAP;
}

static void judge_grants(struct scene *scene)
{
	int64_t later_us = INT64_MAX; /* by then the store had granted a higher fence, or made one by a release */
	bool later_won = false;

	for (size_t i = scene->grants.count; i > 0; i--) {
		const struct grant *grant = &scene->grants.grant[i - 1];
		enum reason reason = grant_ended(grant, later_us);
		const char *why = NULL;

		if (grant->won && later_us != INT64_MAX && reason == REASON_NONE)
			broken_grant(scene, broken_promise(grant, later_us), grant, "a higher fence was there before");
		if (grant->won && reason == REASON_LAPSED)
			why = bound_let_go(grant, &scene->weather, later_us, scene->answered, scene->answered_count);
		if (why != NULL)
			broken_grant(scene, BROKEN_HELD_KEPT, grant, why);
		scene->out->drop_doubts += grant->doubted && grant->wished_us[WISH_DOUBT] == INT64_MAX &&
					   grant_dropped(grant, DROP_UNKNOWN, INT64_MAX);
		if (grant->won && later_won)
			scene->out->again[reason]++;
		if (grant->others > 1)
			broken_grant(scene, BROKEN_FENCE_ONCE, grant, "told to two calls");
		later_won |= grant->won;
		scene->out->wins += grant->won;
		scene->out->commands += grant->command;
		if (grant->seen_us < later_us)
			later_us = grant->seen_us;
	}
}

static void judge_effects(struct scene *scene)
{
	const struct grant *before = NULL;

	for (size_t i = 0; i < scene->count; i++) {
		const struct event *e = &scene->event[i];
		const struct grant *grant;
		enum reason reason;

		if (e->what != HAPPENED_START || (grant = grants_find(&scene->grants, e->fence)) == NULL)
			continue;
		if (grant->fenced_out) {
			scene->out->fenced_out++;
			continue;
		}
		scene->out->effects++;
		if (before != NULL && before != grant) {
			reason = grant_ended(before, grant->heard_us);
			scene->out->doubled[reason]++;
			if (reason == REASON_NONE)
				broken(scene, BROKEN_DOUBLES_EXPLAINED, e,
				       "the one before it was neither over nor given back");
		}
		before = grant;
	}
}

static void judge_end(struct scene *scene)
{
	const struct event *last = NULL;

	for (size_t i = 0; i < scene->answered_count; i++)
		if (scene->answered[i]->verb == VERB_CLAIM)
			last = scene->answered[i];
	if (last == NULL || scene->audit_us == INT64_MAX)
		return;
	if (last->asked_us < scene->audit_us || (last->word != WORD_WON && !is_settled(last->state)))
		broken(scene, BROKEN_KEYS_END, last, "this was the last that was heard of it");
}

/* ---- all keys ---- */

static int64_t order(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int by_key(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	int keys = strcmp(x->key, y->key);

	return keys != 0 ? keys : (int)order((int64_t)x->place, (int64_t)y->place);
}

static int by_asked(const void *a, const void *b)
{
	const struct event *x = *(const struct event *const *)a, *y = *(const struct event *const *)b;

	return (int)order(x->what == HAPPENED_SAID ? x->asked_us : x->at_us,
			  y->what == HAPPENED_SAID ? y->asked_us : y->at_us);
}

static int by_answer(const void *a, const void *b)
{
	const struct event *x = *(const struct event *const *)a, *y = *(const struct event *const *)b;

	return (int)order(x->at_us, y->at_us);
}

static bool judge_key(struct scene *scene)
{
	scene->asked_count = scene->answered_count = 0;
	for (size_t i = 0; i < scene->count; i++) {
		const struct event *e = &scene->event[i];

		if (e->what == HAPPENED_SAID)
			scene->answered[scene->answered_count++] = e;
		if (e->what == HAPPENED_SAID || e->what == HAPPENED_START)
			scene->asked[scene->asked_count++] = e;
		scene->out->renewals += e->what == HAPPENED_RENEWED;
		scene->out->losses += e->what == HAPPENED_LOST;
	}
	qsort(scene->asked, scene->asked_count, sizeof *scene->asked, by_asked);
	qsort(scene->answered, scene->answered_count, sizeof *scene->answered, by_answer);
	if (!grants_read(&scene->grants, &scene->weather, scene->event, scene->count))
		return false;
	judge_answers(scene);
	judge_grants(scene);
	judge_effects(scene);
	judge_end(scene);
	scene->out->keys++;
	return true;
}

bool judge_history(struct event *events, size_t count, struct judgement *out)
{
	struct scene scene = {.audit_us = INT64_MAX, .out = out};
	bool fine = false;
	size_t next;

	memset(out, 0, sizeof *out);
	scene.asked = mem_alloc((count + 1) * sizeof *scene.asked);
	scene.answered = mem_alloc((count + 1) * sizeof *scene.answered);
	if (scene.asked == NULL || scene.answered == NULL)
		goto done;
	for (size_t i = 0; i < count; i++) {
		events[i].place = i;
		if (events[i].what == HAPPENED_AUDIT)
			scene.audit_us = events[i].at_us;
	}
	qsort(events, count, sizeof *events, by_key);
	for (size_t i = 0; i < count; i = next) {
		for (next = i + 1; next < count && strcmp(events[i].key, events[next].key) == 0;)
			next++;
		scene.event = &events[i];
		scene.count = next - i;
		if (events[i].key[0] == '\0') /* what is about no key comes first */
			scene.weather = (struct weather){scene.event, scene.count};
		else if (!judge_key(&scene))
			goto done;
	}
	fine = true;

done:
	mem_free(scene.asked);
	mem_free(scene.answered);
	grants_release(&scene.grants);
	return fine;
}
