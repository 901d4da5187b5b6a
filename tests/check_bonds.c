/*
 * check_bonds.c - hold, drop and notify on plain numbers: an engine, one record that the real table changes, and a store that
 * answers when the test says so and as it says.
 */
#include <stdio.h>
#include <string.h>

#include "engine_rig.h"

#define TIMEOUT_MS 1000
#define LEASE_MS 9000

static struct record record;
static struct holder here, there;
static int64_t next_ms; /* what the engine said */
static enum { STORE_WELL, STORE_REFUSES, STORE_DOUBTS } store;
static char heard[1024];   /* notices, in a word each */
static char changes[1024]; /* verbs that changed the record */

static void on_changed(void *arg, const struct op *op)
{
	static const char letters[] = "CRXFLD--!G"; /* by enum ask_verb */
	size_t len = strlen(changes);

	(void)arg;
	ck_assert_uint_lt(len + 1, sizeof changes);
	changes[len] = letters[op->ask.verb];
	changes[len + 1] = '\0';
}

static void on_told(void *arg, struct holder *holder, const struct notice *notice)
{
	static const char *const causes[] = {"refused", "taken", "doubt"};
	size_t len = strlen(heard);

	(void)arg;
	ck_assert(slice_equal(notice->key, slice_from("k")));
	if (notice->wanted)
		snprintf(heard + len, sizeof heard - len, "%s%s ", holder == &here ? "" : "there:",
			 notice->kind == NOTICE_RENEWED ? "renewed" : causes[notice->cause]);
}

static void setup(void)
{
	struct engine_limits limits = {TIMEOUT_MS, LEASE_MS, LEASE_MS, 0};

	now_ms = 1000000;
	store = STORE_WELL;
	heard[0] = changes[0] = '\0';
	record = (struct record){.state = STATE_ABSENT};
	here = there = (struct holder){NULL};
	engine_rig_open(&limits, on_changed, on_told);
}

/* The store answers everything that it has. */
static void serve(void)
{
	for (int i = 0; i < at_store_count; i++) {
		struct op *op = at_store[i];

		if (store == STORE_WELL)
			op_decide(op, &record, now_ms * 1000);
		else if (store == STORE_REFUSES)
			op_refuse(op, ERR_STORE, "down");
		else
			op_doubt(op, ERR_TIMEOUT, "cut");
		if (op->result == OP_APPLIED && op->verdict.effect == EFFECT_DELETE)
			record = (struct record){.state = STATE_ABSENT};
		engine_done(engine, op, now_ms);
	}
	at_store_count = 0;
}

/* Time goes on, in steps as the engine asks for; the store answers at once. */
static void pass(int64_t ms)
{
	int64_t until_ms = now_ms + ms;

	for (int turns = 0; now_ms < until_ms; turns++) {
		ck_assert_int_lt(turns, 10000);
		next_ms = engine_tick(engine, now_ms);
		if (at_store_count > 0) {
			serve();
			continue;
		}
		now_ms = next_ms > now_ms && next_ms < until_ms ? next_ms : until_ms;
	}
	next_ms = engine_tick(engine, now_ms);
	serve();
}

static void teardown(void)
{
	store = STORE_WELL;
	engine_part(engine, &here, now_ms);
	engine_part(engine, &there, now_ms);
	pass(60000);
	engine_rig_close();
}

static struct op *ask(struct op *op, enum ask_verb verb, struct bind bind)
{
	op_init(op, OP_RECORD, slice_from("k"));
	op->ask.verb = verb;
	op->ask.lease = LEASE_MS * 1000;
	op->ask.ttl = TIME_NEVER;
	op->ask.fence = record.fence;
	op->ask.token = slice_from("0123456789abcdef");
	op->bind = bind;
	ck_assert(engine_submit(engine, op, now_ms));
	return op;
}

static void done(struct op *op, enum ask_verb verb, struct bind bind, enum word word)
{
	ask(op, verb, bind);
	serve();
	ck_assert_int_eq(op->verdict.word, word);
}

/* How long nobody else gets the key, from now on. */
static int64_t left_ms(void)
{
	return record.lease_until / 1000 - now_ms;
}

static const struct bind nothing;

START_TEST(a_hold_renews_each_third_of_the_lease)
{
	struct op claim;

	done(&claim, ASK_CLAIM, (struct bind){&here, 60000, DROP_KEEP, true}, WORD_WON);
	pass(LEASE_MS / 3 - 1);
	ck_assert_str_eq(heard, "");
	pass(1);
	ck_assert_str_eq(heard, "renewed ");
	ck_assert_int_eq(left_ms(), LEASE_MS);
	pass(LEASE_MS);
	ck_assert_str_eq(heard, "renewed renewed renewed renewed ");
}
END_TEST

START_TEST(a_hold_needs_no_listener)
{
	struct op claim;

	done(&claim, ASK_CLAIM, (struct bind){&here, 60000, DROP_KEEP, false}, WORD_WON);
	pass(40000);
	ck_assert_int_gt(left_ms(), LEASE_MS / 2);
	ck_assert_str_eq(heard, "");
}
END_TEST

START_TEST(a_hold_ends_where_it_was_to_end)
{
	struct op claim;
	int64_t end_ms = now_ms + 20000;

	done(&claim, ASK_CLAIM, (struct bind){&here, 20000, DROP_KEEP, true}, WORD_WON);
	pass(19999);
	ck_assert_int_gt(left_ms(), 0);
	pass(60000);
	ck_assert_int_le(record.lease_until / 1000, end_ms);
	ck_assert_int_eq(record.state, STATE_CLAIMED);
	ck_assert_int_eq(next_ms, INT64_MAX); /* and the daemon sleeps */
}
END_TEST

START_TEST(a_hold_ends_with_its_connection)
{
	struct op claim;

	done(&claim, ASK_CLAIM, (struct bind){&here, 60000, DROP_KEEP, true}, WORD_WON);
	pass(10000);
	engine_part(engine, &here, now_ms);
	ck_assert_ptr_null(here.first);
	pass(LEASE_MS + 1);
	ck_assert_int_lt(left_ms(), 0);
	ck_assert_int_eq(record.state, STATE_CLAIMED);
}
END_TEST

START_TEST(a_hold_ends_with_the_settlement)
{
	struct op claim, complete;

	done(&claim, ASK_CLAIM, (struct bind){&here, 60000, DROP_RELEASE, true}, WORD_WON);
	done(&complete, ASK_COMPLETE, nothing, WORD_OK);
	ck_assert_ptr_null(here.first);
	pass(60000);
	ck_assert_str_eq(heard, "");
	ck_assert_str_eq(changes, "CX");
}
END_TEST

START_TEST(a_renewal_by_hand_moves_the_next_one)
{
	struct op claim, renew;

	done(&claim, ASK_CLAIM, (struct bind){&here, 60000, DROP_KEEP, true}, WORD_WON);
	pass(LEASE_MS / 3 - 1);
	done(&renew, ASK_RENEW, nothing, WORD_OK);
	pass(LEASE_MS / 3 - 1);
	ck_assert_str_eq(heard, "");
	pass(1);
	ck_assert_str_eq(heard, "renewed ");
}
END_TEST

START_TEST(a_refused_renewal_is_a_loss)
{
	struct op claim;

	done(&claim, ASK_CLAIM, (struct bind){&here, 60000, DROP_KEEP, true}, WORD_WON);
	record.fence++; /* through another daemon */
	pass(LEASE_MS / 3);
	ck_assert_str_eq(heard, "refused ");
	ck_assert_ptr_null(here.first);
	pass(LEASE_MS);
	ck_assert_str_eq(heard, "refused ");
}
END_TEST

START_TEST(what_others_are_answered_shows_a_loss)
{
	struct op claim, other;

	done(&claim, ASK_CLAIM, (struct bind){&here, 0, DROP_KEEP, true}, WORD_WON);
	record.fence++;
	done(&other, ASK_STATUS, nothing, WORD_STATUS);
	ck_assert_str_eq(heard, "taken ");
	ck_assert_ptr_null(here.first);
}
END_TEST

START_TEST(a_waiter_s_look_shows_a_loss)
{
	struct op claim, other;

	done(&claim, ASK_CLAIM, (struct bind){&here, 0, DROP_KEEP, true}, WORD_WON);
	record.fence++;
	ask(&other, ASK_CLAIM, nothing);
	other.ask.token = slice_from("another-token-16");
	other.wait_until_ms = now_ms + 5;
	serve();
	ck_assert_int_eq((int)engine_waiting(engine), 1);
	ck_assert_str_eq(heard, "taken ");
	pass(10);
}
END_TEST

START_TEST(an_operator_ends_it)
{
	struct op claim, resolve;

	done(&claim, ASK_CLAIM, (struct bind){&here, 60000, DROP_KEEP, true}, WORD_WON);
	ask(&resolve, ASK_RESOLVE, nothing);
	resolve.ask.as = STATE_DONE;
	resolve.ask.force = true;
	serve();
	ck_assert_int_eq(resolve.verdict.word, WORD_OK);
	ck_assert_str_eq(heard, "taken ");
}
END_TEST

START_TEST(doubt_is_told_while_a_third_is_left)
{
	struct op claim;

	done(&claim, ASK_CLAIM, (struct bind){&here, 60000, DROP_KEEP, true}, WORD_WON);
	store = STORE_REFUSES;
	pass(2 * LEASE_MS / 3 - 1);
	ck_assert_str_eq(heard, "");
	pass(1);
	ck_assert_str_eq(heard, "doubt ");
	store = STORE_WELL;
	pass(LEASE_MS);
	ck_assert_str_eq(heard, "doubt ");
	ck_assert_ptr_null(here.first);
	ck_assert_int_lt(left_ms(), 0); /* it is not held on to */
}
END_TEST

START_TEST(a_store_that_stands_still_is_doubt)
{
	struct op claim;

	done(&claim, ASK_CLAIM, (struct bind){&here, 60000, DROP_KEEP, true}, WORD_WON);
	now_ms += LEASE_MS / 3;
	ck_assert_int_eq(engine_tick(engine, now_ms), now_ms + LEASE_MS / 3);
	now_ms += LEASE_MS / 3;
	engine_tick(engine, now_ms);
	ck_assert_str_eq(heard, "doubt ");
	serve();
	ck_assert_str_eq(heard, "doubt ");
}
END_TEST

START_TEST(a_store_that_comes_back_in_time_is_no_loss)
{
	struct op claim;

	done(&claim, ASK_CLAIM, (struct bind){&here, 60000, DROP_KEEP, true}, WORD_WON);
	store = STORE_DOUBTS;
	pass(2 * LEASE_MS / 3 - 1000);
	store = STORE_WELL;
	pass(1000);
	ck_assert_str_eq(heard, "renewed ");
	ck_assert_int_gt(left_ms(), LEASE_MS / 2);
}
END_TEST

START_TEST(where_nobody_listens_it_goes_on_trying)
{
	struct op claim;

	done(&claim, ASK_CLAIM, (struct bind){&here, 120000, DROP_KEEP, false}, WORD_WON);
	store = STORE_REFUSES;
	pass(3 * LEASE_MS);
	store = STORE_WELL;
	pass(LEASE_MS / 3);
	ck_assert_int_gt(left_ms(), 0);
	ck_assert_ptr_nonnull(here.first);
}
END_TEST

START_TEST(drop_does_what_it_says)
{
	static const struct {
		enum drop drop;
		enum state state;
	} row[] = {{DROP_KEEP, STATE_CLAIMED}, {DROP_RELEASE, STATE_FREE}, {DROP_UNKNOWN, STATE_UNKNOWN}};
	struct op claim;

	done(&claim, ASK_CLAIM, (struct bind){&here, 60000, row[_i].drop, false}, WORD_WON);
	engine_part(engine, &here, now_ms);
	serve();
	ck_assert_int_eq(record.state, row[_i].state);
	ck_assert_uint_eq(engine_pending(engine), 0);
}
END_TEST

START_TEST(drop_goes_before_those_who_come)
{
	struct op claim, next;

	done(&claim, ASK_CLAIM, (struct bind){&here, 0, DROP_RELEASE, false}, WORD_WON);
	engine_part(engine, &here, now_ms);
	ask(&next, ASK_CLAIM, nothing);
	next.ask.token = slice_from("another-token-16");
	serve();
	serve();
	ck_assert_int_eq(next.verdict.word, WORD_WON);
}
END_TEST

START_TEST(a_settlement_that_came_in_cancels_drop)
{
	static const enum ask_verb verbs[] = {ASK_COMPLETE, ASK_FAIL, ASK_RELEASE, ASK_DOUBT};
	struct op claim, settle;

	done(&claim, ASK_CLAIM, (struct bind){&here, 0, DROP_UNKNOWN, false}, WORD_WON);
	store = STORE_REFUSES;
	ask(&settle, verbs[_i], nothing);
	engine_part(engine, &here, now_ms); /* before there is an answer */
	serve();
	pass(100);
	store = STORE_WELL;
	pass(5000); /* COMPLETE and FAIL are kept, the others are for the client to repeat */
	ck_assert_int_eq(record.state, verbs[_i] == ASK_COMPLETE ? STATE_DONE
				       : verbs[_i] == ASK_FAIL   ? STATE_FAILED
								 : STATE_CLAIMED);
}
END_TEST

START_TEST(another_fence_s_settlement_cancels_nothing)
{
	struct op claim, settle;

	done(&claim, ASK_CLAIM, (struct bind){&here, 0, DROP_UNKNOWN, false}, WORD_WON);
	op_init(&settle, OP_RECORD, slice_from("k"));
	settle.ask.verb = ASK_COMPLETE;
	settle.ask.fence = record.fence - 1;
	ck_assert(engine_submit(engine, &settle, now_ms));
	serve();
	ck_assert_int_eq(settle.verdict.word, WORD_STALE);
	engine_part(engine, &here, now_ms);
	serve();
	ck_assert_int_eq(record.state, STATE_UNKNOWN);
}
END_TEST

START_TEST(drop_is_tried_until_the_store_takes_it)
{
	struct op claim;

	done(&claim, ASK_CLAIM, (struct bind){&here, 0, DROP_UNKNOWN, false}, WORD_WON);
	store = STORE_REFUSES;
	engine_part(engine, &here, now_ms);
	pass(3000);
	ck_assert_int_eq(record.state, STATE_CLAIMED);
	store = STORE_WELL;
	pass(3000);
	ck_assert_int_eq(record.state, STATE_UNKNOWN);
	ck_assert_uint_eq(engine_pending(engine), 0);
}
END_TEST

START_TEST(an_undo_is_tried_until_the_store_takes_it)
{
	struct op claim;

	done(&claim, ASK_CLAIM, (struct bind){&here, 60000, DROP_UNKNOWN, true}, WORD_WON);
	store = STORE_REFUSES;
	engine_undo(engine, &claim, now_ms);
	ck_assert_ptr_null(here.first);
	pass(1000);
	engine_part(engine, &here, now_ms);
	store = STORE_WELL;
	pass(3000);
	ck_assert_int_eq(record.state, STATE_FREE);
	ck_assert_uint_eq((unsigned)engine_undone(engine), 1);
	ck_assert_str_eq(heard, "");
}
END_TEST

START_TEST(a_daemon_that_leaves_drops_nothing)
{
	struct op claim;

	done(&claim, ASK_CLAIM, (struct bind){&here, 0, DROP_RELEASE, false}, WORD_WON);
	engine_abandon(engine, now_ms);
	engine_part(engine, &here, now_ms);
	serve();
	ck_assert_int_eq(record.state, STATE_CLAIMED);
}
END_TEST

START_TEST(a_client_that_went_before_the_answer_binds_nothing)
{
	struct op claim;

	ask(&claim, ASK_CLAIM, (struct bind){&here, 60000, DROP_UNKNOWN, true});
	engine_leave(engine, &claim);
	serve();
	ck_assert_int_eq(claim.verdict.word, WORD_WON);
	ck_assert_ptr_null(here.first);
}
END_TEST

START_TEST(a_late_answer_binds_nothing)
{
	struct op claim;

	ask(&claim, ASK_CLAIM, (struct bind){&here, 60000, DROP_UNKNOWN, true});
	now_ms += TIMEOUT_MS;
	engine_tick(engine, now_ms);
	ck_assert(claim.late);
	serve();
	ck_assert_int_eq(claim.verdict.word, WORD_WON);
	ck_assert_ptr_null(here.first);
}
END_TEST

START_TEST(what_was_not_won_binds_nothing)
{
	struct op claim, other;

	done(&claim, ASK_CLAIM, nothing, WORD_WON);
	ask(&other, ASK_CLAIM, (struct bind){&here, 60000, DROP_UNKNOWN, true});
	other.ask.token = slice_from("another-token-16");
	serve();
	ck_assert_int_eq(other.verdict.word, WORD_HELD);
	ck_assert_ptr_null(here.first);
}
END_TEST

START_TEST(a_client_comes_back_on_another_connection)
{
	struct op claim, again;
	bool by_claim = _i == 0;

	done(&claim, ASK_CLAIM, (struct bind){&here, 30000, DROP_KEEP, true}, WORD_WON);
	pass(10000);
	heard[0] = '\0';
	if (by_claim)
		done(&again, ASK_CLAIM, (struct bind){&there, 30000, DROP_KEEP, true}, WORD_WON);
	else
		done(&again, ASK_RENEW, (struct bind){&there, 30000, DROP_KEEP, true}, WORD_OK);
	ck_assert_ptr_null(here.first);
	engine_part(engine, &here, now_ms);
	pass(10000);
	ck_assert_msg(strncmp(heard, "there:renewed ", 14) == 0, "%s", heard);
	pass(60000);
	/* The hold counts from the win, not from when the client came back. */
	ck_assert_int_le(record.lease_until / 1000, 1000000 + 30000);
}
END_TEST

START_TEST(what_is_not_asked_for_does_not_move)
{
	struct op claim, renew;

	done(&claim, ASK_CLAIM, (struct bind){&here, 60000, DROP_RELEASE, true}, WORD_WON);
	done(&renew, ASK_RENEW, (struct bind){&there, 0, DROP_KEEP, true}, WORD_OK);
	pass(LEASE_MS / 3);
	ck_assert_str_eq(heard, "there:renewed "); /* renewed for the one, told to the other */
	engine_part(engine, &there, now_ms);
	engine_part(engine, &here, now_ms);
	serve();
	ck_assert_int_eq(record.state, STATE_FREE);
}
END_TEST

START_TEST(a_second_renew_on_the_connection_adds_to_it)
{
	struct op claim, renew;

	done(&claim, ASK_CLAIM, (struct bind){&here, 60000, DROP_RELEASE, false}, WORD_WON);
	done(&renew, ASK_RENEW, (struct bind){&here, 0, DROP_KEEP, true}, WORD_OK);
	pass(LEASE_MS / 3);
	ck_assert_str_eq(heard, "renewed ");
	engine_part(engine, &here, now_ms);
	serve();
	ck_assert_int_eq(record.state, STATE_FREE);
}
END_TEST

START_TEST(little_left_is_no_doubt_before_it_was_tried)
{
	struct op claim, again;

	done(&claim, ASK_CLAIM, nothing, WORD_WON);
	now_ms += LEASE_MS - 100;
	done(&again, ASK_CLAIM, (struct bind){&here, 60000, DROP_KEEP, true}, WORD_WON);
	pass(10);
	ck_assert_str_eq(heard, "renewed ");
}
END_TEST

START_TEST(little_left_is_told_before_the_lease_is_over)
{
	struct op claim, again;

	done(&claim, ASK_CLAIM, nothing, WORD_WON);
	now_ms += LEASE_MS - 1000;
	done(&again, ASK_CLAIM, (struct bind){&here, 60000, DROP_KEEP, true}, WORD_WON);
	store = STORE_REFUSES;
	pass(999);
	ck_assert_str_eq(heard, "");
	pass(1);
	ck_assert_str_eq(heard, "doubt ");
}
END_TEST

START_TEST(a_hold_may_come_after_notify)
{
	struct op claim, renew;

	done(&claim, ASK_CLAIM, (struct bind){&here, 0, DROP_KEEP, true}, WORD_WON);
	done(&renew, ASK_RENEW, (struct bind){&here, 60000, DROP_KEEP, false}, WORD_OK);
	pass(LEASE_MS / 3);
	ck_assert_str_eq(heard, "renewed ");
}
END_TEST

START_TEST(what_drop_did_is_told_to_another_that_listens)
{
	struct op claim, renew;

	done(&claim, ASK_CLAIM, (struct bind){&here, 0, DROP_RELEASE, false}, WORD_WON);
	done(&renew, ASK_RENEW, (struct bind){&there, 0, DROP_KEEP, true}, WORD_OK);
	engine_part(engine, &here, now_ms);
	serve();
	ck_assert_int_eq(record.state, STATE_FREE);
	ck_assert_str_eq(heard, "there:taken ");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bonds");
	TCase *tests = tcase_create("bonds");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_hold_renews_each_third_of_the_lease);
	tcase_add_test(tests, a_hold_needs_no_listener);
	tcase_add_test(tests, a_hold_ends_where_it_was_to_end);
	tcase_add_test(tests, a_hold_ends_with_its_connection);
	tcase_add_test(tests, a_hold_ends_with_the_settlement);
	tcase_add_test(tests, a_renewal_by_hand_moves_the_next_one);
	tcase_add_test(tests, a_refused_renewal_is_a_loss);
	tcase_add_test(tests, what_others_are_answered_shows_a_loss);
	tcase_add_test(tests, a_waiter_s_look_shows_a_loss);
	tcase_add_test(tests, an_operator_ends_it);
	tcase_add_test(tests, doubt_is_told_while_a_third_is_left);
	tcase_add_test(tests, a_store_that_stands_still_is_doubt);
	tcase_add_test(tests, a_store_that_comes_back_in_time_is_no_loss);
	tcase_add_test(tests, where_nobody_listens_it_goes_on_trying);
	tcase_add_loop_test(tests, drop_does_what_it_says, 0, 3);
	tcase_add_test(tests, drop_goes_before_those_who_come);
	tcase_add_loop_test(tests, a_settlement_that_came_in_cancels_drop, 0, 4);
	tcase_add_test(tests, another_fence_s_settlement_cancels_nothing);
	tcase_add_test(tests, drop_is_tried_until_the_store_takes_it);
	tcase_add_test(tests, an_undo_is_tried_until_the_store_takes_it);
	tcase_add_test(tests, a_daemon_that_leaves_drops_nothing);
	tcase_add_test(tests, a_client_that_went_before_the_answer_binds_nothing);
	tcase_add_test(tests, a_late_answer_binds_nothing);
	tcase_add_test(tests, what_was_not_won_binds_nothing);
	tcase_add_loop_test(tests, a_client_comes_back_on_another_connection, 0, 2);
	tcase_add_test(tests, what_is_not_asked_for_does_not_move);
	tcase_add_test(tests, a_second_renew_on_the_connection_adds_to_it);
	tcase_add_test(tests, little_left_is_no_doubt_before_it_was_tried);
	tcase_add_test(tests, little_left_is_told_before_the_lease_is_over);
	tcase_add_test(tests, a_hold_may_come_after_notify);
	tcase_add_test(tests, what_drop_did_is_told_to_another_that_listens);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
