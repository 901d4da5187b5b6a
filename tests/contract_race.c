/*
 * contract_race.c - many claimers at once; several stores on one database; a store that is closed and opened again.
 */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLAIMERS 24
#define KEYS 30
#define STORES 4

static char tokens[CLAIMERS][32];

static struct slice token_of(int claimer)
{
	snprintf(tokens[claimer], sizeof(tokens[claimer]), "token-of-claimer-%d", claimer);
	return slice_from(tokens[claimer]);
}

/* Runs all of them side by side until every call is answered. */
static void wait_all(struct rig *const *rigs, int count)
{
	int64_t end = rig_clock_us() + 30 * 1000 * MS;
	bool busy = true;
	int i;

	while (busy && rig_clock_us() < end) {
		busy = false;
		for (i = 0; i < count; i++)
			busy |= rig_turn(rigs[i]);
	}
	ck_assert(!busy);
}

/* Each claimer asks for each key, one after the other where they share a store, as the engine sends them. */
static void claim_all(struct rig *const *rigs, int count, const struct slice *keys, struct call *calls[][KEYS],
		      struct ask ask)
{
	int claimer, key;

	for (key = 0; key < KEYS; key++) {
		for (claimer = 0; claimer < CLAIMERS; claimer++) {
			struct call *call = rig_call(rigs[claimer % count], OP_RECORD, keys[key]);

			ask.token = token_of(claimer);
			call->op.ask = ask;
			calls[claimer][key] = call;
			if (claimer >= count)
				calls[claimer - count][key]->then = call;
		}
	}
	for (key = 0; key < KEYS; key++)
		for (claimer = 0; claimer < count; claimer++)
			rig_submit(calls[claimer][key]);
	wait_all(rigs, count);
}

static void one_winner_each(struct call *calls[][KEYS], enum was was)
{
	int claimer, key;

	for (key = 0; key < KEYS; key++) {
		int64_t fence = 0;

		for (claimer = 0; claimer < CLAIMERS; claimer++) {
			const struct op *op = &calls[claimer][key]->op;

			if (op->verdict.word == WORD_WON) {
				ck_assert_int_eq(op->verdict.was, was);
				ck_assert_int_eq(fence, 0);
				fence = op->record.fence;
			} else {
				ck_assert_int_eq(op->verdict.word, WORD_HELD);
			}
		}
		ck_assert_int_ne(fence, 0);
		for (claimer = 0; claimer < CLAIMERS; claimer++)
			ck_assert_int_eq(calls[claimer][key]->op.record.fence, fence);
	}
}

static void race(struct rig *const *rigs, int count)
{
	static struct call *calls[CLAIMERS][KEYS];
	struct ask ask = ask_claim(TOKEN);
	struct slice keys[KEYS];
	int i;

	for (i = 0; i < KEYS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "race-%d", i);
		keys[i] = key_of(name);
	}
	claim_all(rigs, count, keys, calls, ask);
	one_winner_each(calls, WAS_NEW);
	/* and once more for leases that are over */
	for (i = 0; i < KEYS; i++) {
		forget(keys[i]);
		won_and_lapsed(keys[i], LAPSE_RECLAIM);
	}
	claim_all(rigs, count, keys, calls, ask);
	one_winner_each(calls, WAS_LAPSED);
}

START_TEST(many_claimers_one_winner)
{
	race(&rig, 1);
}
END_TEST

START_TEST(many_claimers_on_several_stores)
{
	struct rig *rigs[STORES] = {rig};
	int i;

	for (i = 1; i < STORES; i++)
		rigs[i] = rig_open(rig_url);
	race(rigs, STORES);
	for (i = 1; i < STORES; i++)
		rig_close(rigs[i]);
}
END_TEST

START_TEST(another_store_sees_every_change)
{
	const enum state states[] = {STATE_CLAIMED, STATE_DONE, STATE_FAILED, STATE_UNKNOWN, STATE_FREE};
	struct rig *other = rig_open(rig_url);
	int i;

	for (i = 0; i < 5; i++) {
		char name[16];
		struct slice key;
		const struct record *rec;

		snprintf(name, sizeof(name), "k%d", i);
		key = key_of(name);
		rec = make_state(key, states[i]);
		same_record(&rig_ask(other, key, (struct ask){.verb = ASK_STATUS})->op.record, rec);
	}
	rig_close(other);
}
END_TEST

START_TEST(zombie_of_another_store)
{
	struct rig *other = rig_open(rig_url);
	struct slice key = key_of("a");
	int64_t fence = won_and_lapsed(key, LAPSE_RECLAIM);
	struct call *call = rig_ask(other, key, ask_claim(OTHER));

	ck_assert_int_eq(call->op.verdict.word, WORD_WON);
	ck_assert_int_gt(call->op.record.fence, fence);
	expect_no_change(key, ask_holder(ASK_COMPLETE, fence), WORD_STALE);
	call = rig_ask(other, key, ask_holder(ASK_COMPLETE, call->op.record.fence));
	ck_assert_int_eq(call->op.verdict.word, WORD_OK);
	expect_no_change(key, ask_claim(TOKEN), WORD_DONE);
	rig_close(other);
}
END_TEST

START_TEST(opened_again_everything_is_there)
{
	const enum state states[] = {STATE_CLAIMED, STATE_DONE, STATE_FAILED, STATE_UNKNOWN, STATE_FREE};
	struct record before[5];
	struct rig *old = rig;
	int i;

	for (i = 0; i < 5; i++) {
		char name[16];

		snprintf(name, sizeof(name), "k%d", i);
		before[i] = *make_state(key_of(name), states[i]);
	}
	rig = rig_open(rig_url); /* before the old one goes: the records point into its calls */
	for (i = 0; i < 5; i++) {
		char name[16];

		snprintf(name, sizeof(name), "k%d", i);
		same_record(&status(key_of(name))->record, &before[i]);
	}
	rig_close(old);
	old = rig;
	rig = rig_open(rig_url);
	rig_close(old);
	for (i = 0; i < 5; i++) {
		char name[16];

		snprintf(name, sizeof(name), "k%d", i);
		ck_assert_int_eq(status(key_of(name))->record.fence, before[i].fence);
	}
}
END_TEST

START_TEST(opened_again_fences_still_rise)
{
	struct slice key = key_of("a");
	int64_t fence = won(key);

	forget(key);
	rig_close(rig);
	rig = rig_open(rig_url);
	ck_assert_int_gt(won(key), fence);
}
END_TEST

/* Whatever a store has when it is closed is answered first. */
START_TEST(closed_in_the_middle)
{
	struct rig *other = rig_open(rig_url);
	struct scan all = {.state = -1, .limit = 10};
	struct call *calls[20];
	int i, answered = 0;

	for (i = 0; i < 20; i++) {
		char name[16];

		snprintf(name, sizeof(name), "k%d", i);
		calls[i] = rig_call(other, i % 10 == 9 ? OP_LIST : OP_RECORD, key_of(name));
		calls[i]->op.ask = ask_claim(TOKEN);
		calls[i]->op.scan = all;
		rig_submit(calls[i]);
	}
	rig_close_store(other);
	for (i = 0; i < 20; i++)
		answered += calls[i]->answered && calls[i]->op.result != OP_PENDING;
	ck_assert_int_eq(answered, 20);
	rig_close(other);
}
END_TEST

TCase *contract_race(bool shared)
{
	TCase *tc = tcase_create("race");

	tcase_add_test(tc, many_claimers_one_winner);
	tcase_add_test(tc, opened_again_fences_still_rise);
	tcase_add_test(tc, closed_in_the_middle);
	if (shared) {
		tcase_add_test(tc, many_claimers_on_several_stores);
		tcase_add_test(tc, another_store_sees_every_change);
		tcase_add_test(tc, zombie_of_another_store);
		tcase_add_test(tc, opened_again_everything_is_there);
	}
	return tc;
}
