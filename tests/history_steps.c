/*
 * history_steps.c - makes random steps and prints them. Few keys, few values of each kind and short times, so that
 * every state of a key meets every call.
 */
#include "history.h"

#define TEXTS 5

static const struct slice tokens[TEXTS] = {SLICE_ABSENT, SLICE_OF("token-number-one"), SLICE_OF("token-number-two"),
					   SLICE_OF("token-number-three"), SLICE_OF("token-number-one-and-more")};
static const struct slice fps[TEXTS] = {SLICE_ABSENT, SLICE_ABSENT, SLICE_OF("A"), SLICE_OF("B"), SLICE_OF("AB")};
static const struct slice owners[TEXTS] = {SLICE_ABSENT, SLICE_OF("w1"), SLICE_OF("w2"), SLICE_OF("w\0003"),
					   SLICE_OF("w11")};
static const struct slice results[TEXTS] = {
    SLICE_ABSENT, SLICE_OF(""), SLICE_OF("ok 200"), SLICE_OF("\0\xff\n"),
    SLICE_OF("a longer result, which makes the record larger than it was when somebody claimed it")};
static const int64_t leases[] = {1 * MS, 2 * MS, 5 * MS, 20 * MS, 3600 * 1000 * MS};
static const int64_t ttls[] = {1 * MS, 3 * MS, 10 * MS, 3600 * 1000 * MS, TIME_NEVER};
static const int64_t waits[] = {0, 0, 0, 2 * MS, 6 * MS};
static const enum state resolved[] = {STATE_DONE, STATE_FAILED, STATE_FREE};

/* ---- chance: splitmix64 ---- */

static uint64_t chance_next(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static int chance(uint64_t *seed, int below)
{
	return (int)(chance_next(seed) % (uint64_t)below);
}

/* ---- making ---- */

static enum ask_verb verb_make(uint64_t *seed)
{
	static const struct {
		enum ask_verb verb;
		int parts;
	} weights[] = {{ASK_CLAIM, 40}, {ASK_RENEW, 7}, {ASK_COMPLETE, 10}, {ASK_FAIL, 5},    {ASK_RELEASE, 10},
		       {ASK_DOUBT, 5},  {ASK_CHECK, 4}, {ASK_STATUS, 4},    {ASK_RESOLVE, 7}, {ASK_FORGET, 8}};
	int at = chance(seed, 100);
	size_t i;

	for (i = 0; at >= weights[i].parts; i++)
		at -= weights[i].parts;
	return weights[i].verb;
}

static enum step_fence fence_make(uint64_t *seed, enum ask_verb verb)
{
	int at = chance(seed, 12);

	if (at < 8)
		return verb == ASK_RESOLVE || verb == ASK_FORGET ? (at < 4 ? FENCE_NONE : FENCE_NOW) : FENCE_NOW;
	return at == 8 ? FENCE_ABOVE : at == 9 ? FENCE_OLD : FENCE_BELOW;
}

static struct ask ask_make(uint64_t *seed)
{
	return (struct ask){
	    .verb = verb_make(seed),
	    .lease = leases[chance(seed, 5)],
	    .ttl = ttls[chance(seed, 5)],
	    .atleast = waits[chance(seed, 5)],
	    .lapse = chance(seed, 5) ? LAPSE_RECLAIM : LAPSE_UNKNOWN,
	    .as = resolved[chance(seed, 3)],
	    .force = chance(seed, 2),
	    .undo = chance(seed, 4) == 0,
	    .token = tokens[chance(seed, TEXTS)],
	    .fp = fps[chance(seed, TEXTS)],
	    .owner = owners[chance(seed, TEXTS)],
	    .result = results[chance(seed, TEXTS)],
	};
}

static struct scan scan_make(uint64_t *seed)
{
	static const int states[] = {-1,
				     CHOICE_STATE_LIVE,
				     CHOICE_STATE_LAPSED,
				     CHOICE_STATE_DONE,
				     CHOICE_STATE_FAILED,
				     CHOICE_STATE_UNKNOWN,
				     CHOICE_STATE_FREE};

	return (struct scan){
	    .state = states[chance(seed, 7)],
	    .owner = chance(seed, 3) ? SLICE_ABSENT : owners[chance(seed, TEXTS)],
	    .older = chance(seed, 3) ? 0 : leases[chance(seed, 4)],
	    .limit = 1000,
	    .dry = chance(seed, 2),
	};
}

void steps_make(struct step *steps, size_t count, uint64_t seed)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct step *step = &steps[i];
		int kind = chance(&seed, 100);

		*step =
		    (struct step){.key = chance(&seed, HISTORY_KEYS), .ask = ask_make(&seed), .scan = scan_make(&seed)};
		step->kind = kind < 95 ? STEP_ASK : kind < 97 ? STEP_LIST : kind < 98 ? STEP_SWEEP : STEP_COUNT;
		step->fence = fence_make(&seed, step->ask.verb);
		if (step->ask.verb != ASK_CLAIM && chance(&seed, 3)) /* else hardly any call would fit */
			step->ask.token = SLICE_ABSENT;
		if (step->ask.verb != ASK_CLAIM && chance(&seed, 3) == 0)
			step->ask.ttl = 0;
		if (chance(&seed, 20) == 0)
			step->pause_us = 1 + chance(&seed, 3000);
	}
}

/* ---- printing ---- */

static const char *const verb_names[] = {"CLAIM", "RENEW", "COMPLETE", "FAIL",    "RELEASE",
					 "DOUBT", "CHECK", "STATUS",   "RESOLVE", "FORGET"};
static const char *const fence_names[] = {"its own", "one below", "one above", "an old one", "none"};

static void print_slice(FILE *to, const char *name, struct slice text)
{
	size_t i;

	if (!text.data)
		return;
	fprintf(to, " %s=\"", name);
	for (i = 0; i < text.len; i++)
		if (text.data[i] >= ' ' && text.data[i] < 0x7f)
			fputc(text.data[i], to);
		else
			fprintf(to, "\\x%02x", (unsigned)(unsigned char)text.data[i]);
	fputc('"', to);
}

static void print_time(FILE *to, const char *name, int64_t us)
{
	if (us == TIME_NEVER)
		fprintf(to, " %s=never", name);
	else if (us)
		fprintf(to, " %s=%lldms", name, (long long)(us / MS));
}

static void print_ask(FILE *to, const struct step *step)
{
	const struct ask *ask = &step->ask;

	fprintf(to, "%s key=%d", verb_names[ask->verb], step->key);
	if (ask->verb != ASK_CLAIM && ask->verb != ASK_STATUS)
		fprintf(to, " fence=(%s)", fence_names[step->fence]);
	if (ask->verb == ASK_CLAIM || ask->verb == ASK_RENEW)
		print_time(to, "lease", ask->lease);
	print_time(to, "ttl", ask->ttl);
	print_slice(to, "token", ask->token);
	if (ask->verb == ASK_CLAIM) {
		print_time(to, "atleast", ask->atleast);
		print_slice(to, "fp", ask->fp);
		print_slice(to, "owner", ask->owner);
		fprintf(to, " lapse=%s", lapse_name(ask->lapse).data);
	} else {
		print_slice(to, "result", ask->result);
	}
	if (ask->verb == ASK_RESOLVE)
		fprintf(to, " as=%s", state_name(ask->as).data);
	if (ask->verb == ASK_RESOLVE || ask->verb == ASK_FORGET)
		fprintf(to, " force=%d", ask->force);
	if (ask->verb == ASK_RELEASE)
		fprintf(to, " undo=%d", ask->undo);
}

void step_print(FILE *to, const struct step *step)
{
	if (step->pause_us)
		fprintf(to, "(after %lld us) ", (long long)step->pause_us);
	if (step->kind == STEP_ASK) {
		print_ask(to, step);
	} else if (step->kind == STEP_LIST) {
		fputs("LIST", to);
		if (step->scan.state >= 0)
			fprintf(to, " state=%s", choice_name((enum choice)step->scan.state).data);
		print_slice(to, "owner", step->scan.owner);
		print_time(to, "older", step->scan.older);
	} else {
		fputs(step->kind == STEP_COUNT ? "COUNT" : step->scan.dry ? "SWEEP dry" : "SWEEP", to);
	}
	fputc('\n', to);
}
