/*
 * history.h - what the parts of the random histories share: a step, and the mirror that says what a store must answer.
 */
#ifndef CLAIMD_TESTS_HISTORY_H
#define CLAIMD_TESTS_HISTORY_H

#include "rig.h"

#include <stdio.h>

#define HISTORY_KEYS 16

enum step_kind { STEP_ASK, STEP_LIST, STEP_SWEEP, STEP_COUNT };

/* Which fence a step uses: it is looked up when the step runs, so that a step still makes sense when others are taken out. */
enum step_fence { FENCE_NOW, FENCE_BELOW, FENCE_ABOVE, FENCE_OLD, FENCE_NONE };

/* One step of a history. The slices of its ask and scan are of static storage. */
struct step {
	enum step_kind kind;
	int key;
	int64_t pause_us; /* before it; 0: it may go with the ones before it */
	enum step_fence fence;
	struct ask ask;
	struct scan scan;
};

/* The whole history follows from the seed. */
void steps_make(struct step *steps, size_t count, uint64_t seed);
void step_print(FILE *to, const struct step *step);

struct mirror_key {
	struct record rec;
	int64_t highest; /* of the fences that were granted, over everything that happened to the key */
	int64_t old;     /* the one before */
};

struct mirror {
	struct mirror_key key[HISTORY_KEYS];
	int64_t latest; /* the store's clock at the last batch; it may not go back */
	struct slice (*key_name)(int key);
	uint64_t words[WORD__COUNT], was[WAS_LAPSED + 1]; /* what was answered, to see that histories reach it */
};

/* The ask with its fence filled in. */
struct ask mirror_ask(const struct mirror *mirror, const struct step *step);
/* The step has been answered: false where the mirror says otherwise, with what differs in *err. */
bool mirror_check(struct mirror *mirror, const struct step *step, const struct op *op, struct errbuf *err);

#endif
