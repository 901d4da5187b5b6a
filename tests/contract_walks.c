/*
 * contract_walks.c - LIST, SWEEP and COUNT.
 */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a store with two of each ---- */

static const char *const kinds[] = {"live", "lapsed", "done", "failed", "unknown", "doubtful", "free", "gone"};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void make_kind(const char *kind, struct slice key)
{
	struct ask ask = ask_claim(TOKEN);

	if (strcmp(kind, "live") == 0) {
		make_state(key, STATE_CLAIMED);
	} else if (strcmp(kind, "lapsed") == 0) {
		won_and_lapsed(key, LAPSE_RECLAIM);
	} else if (strcmp(kind, "done") == 0) {
		make_state(key, STATE_DONE);
	} else if (strcmp(kind, "failed") == 0) {
		make_state(key, STATE_FAILED);
	} else if (strcmp(kind, "unknown") == 0) {
		make_state(key, STATE_UNKNOWN);
	} else if (strcmp(kind, "doubtful") == 0) {
		won_and_lapsed(key, LAPSE_UNKNOWN);
	} else if (strcmp(kind, "free") == 0) {
		make_state(key, STATE_FREE);
	} else {
		ask.lease = ask.ttl = MS;
		wait_until(key, expect(key, ask, WORD_WON)->now + 2 * MS);
	}
}

static void make_two_of_each(void)
{
	size_t i;

	for (i = 0; i < KINDS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%s-1", kinds[i]);
		make_kind(kinds[i], key_of(name));
		snprintf(name, sizeof(name), "%s-2", kinds[i]);
		make_kind(kinds[i], key_of(name));
	}
}

static const struct page *list(struct scan scan, struct call **call)
{
	if (!scan.limit)
		scan.limit = 1000;
	if (!scan.prefix.data)
		scan.prefix = corner();
	*call = rig_scan(rig, OP_LIST, scan);
	ck_assert_msg((*call)->op.result == OP_APPLIED, "refused: %s", (*call)->op.why.text);
	ck_assert(!(*call)->op.record.fence);
	ck_assert((*call)->op.page != NULL);
	return (*call)->op.page;
}

/* The page has both keys of each of these kinds, in the order of keys, and no others. */
static void lists(struct scan scan, const char *kinds_in_order)
{
	struct call *call;
	const struct page *page = list(scan, &call);
	char got[512] = "", want[512] = "", *kind, copy[256];
	size_t i;

	snprintf(copy, sizeof(copy), "%s", kinds_in_order);
	for (kind = strtok(copy, " "); kind; kind = strtok(NULL, " "))
		for (i = 1; i <= 2; i++)
			snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s-%zu ", kind, i);
	for (i = 0; i < page->count; i++) {
		const struct page_item *item = &page->item[i];
		struct record want_rec = status(item->key)->record;

		ck_assert(slice_starts(item->key, corner()));
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%.*s ", (int)(item->key.len - corner().len),
			 item->key.data + corner().len);
		want_rec.result = SLICE_ABSENT;
		same_record(&item->record, &want_rec);
	}
	ck_assert_str_eq(got, want);
	ck_assert(page->cursor.data == NULL);
}

START_TEST(list_by_state)
{
	make_two_of_each();
	lists((struct scan){.state = -1}, "done doubtful failed free lapsed live unknown");
	lists((struct scan){.state = CHOICE_STATE_LIVE}, "live");
	lists((struct scan){.state = CHOICE_STATE_LAPSED}, "lapsed");
	lists((struct scan){.state = CHOICE_STATE_DONE}, "done");
	lists((struct scan){.state = CHOICE_STATE_FAILED}, "failed");
	lists((struct scan){.state = CHOICE_STATE_UNKNOWN}, "unknown doubtful"); /* the oldest first */
	lists((struct scan){.state = CHOICE_STATE_FREE}, "free");
}
END_TEST

START_TEST(list_by_prefix_owner_age)
{
	struct ask ask = ask_claim(OTHER);
	struct call *call;
	const struct page *page;

	make_two_of_each();
	lists((struct scan){.state = -1, .prefix = key_of("l")}, "lapsed live");
	lists((struct scan){.state = CHOICE_STATE_LIVE, .prefix = key_of("l")}, "live");
	lists((struct scan){.state = -1, .prefix = key_of("x")}, "");
	lists((struct scan){.state = -1, .owner = SLICE_OF("w2")}, "");
	ask.owner = SLICE_OF("w2");
	expect(key_of("owned-1"), ask, WORD_WON);
	expect(key_of("owned-2"), ask, WORD_WON);
	ask.owner = SLICE_OF("w22");
	expect(key_of("other"), ask, WORD_WON);
	ask.owner = SLICE_ABSENT;
	expect(key_of("nobodys"), ask, WORD_WON);
	lists((struct scan){.state = -1, .owner = SLICE_OF("w2")}, "owned");
	lists((struct scan){.state = CHOICE_STATE_DONE, .owner = SLICE_OF("w1")}, "done");

	lists((struct scan){.state = -1, .older = LONG}, "");
	wait_until(key_of("other"), status(key_of("other"))->now + 30 * MS);
	expect(key_of("young"), ask, WORD_WON);
	page = list((struct scan){.state = -1, .older = 30 * MS, .prefix = key_of("o")}, &call);
	ck_assert_int_eq((int)page->count, 3);
	page = list((struct scan){.state = -1, .older = 30 * MS, .prefix = key_of("young")}, &call);
	ck_assert_int_eq((int)page->count, (call->op.now - status(key_of("young"))->record.updated >= 30 * MS));
}
END_TEST

/* ---- many ---- */

static struct slice *claim_many(const char *name, size_t count, struct ask ask)
{
	struct slice *keys = calloc(count, sizeof(*keys));
	size_t i;

	ck_assert(keys != NULL);
	for (i = 0; i < count; i++) {
		char text[64];
		struct call *call;

		snprintf(text, sizeof(text), "%s%zu", name, i * 7919 % 10007);
		keys[i] = key_of(text);
		call = rig_call(rig, OP_RECORD, keys[i]);
		call->op.ask = ask;
		rig_submit(call);
	}
	rig_wait(rig);
	return keys;
}

static int compare_keys(const void *a, const void *b)
{
	return slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

/* All pages of `limit`; between them `meanwhile` (may be NULL) is called with the number of the page and its last key. */
static size_t read_pages(struct scan scan, struct slice *out, size_t max,
			 void (*meanwhile)(int page, struct slice last))
{
	size_t count = 0, i;
	int number = 0;
	struct call *call;

	do {
		const struct page *page = list(scan, &call);

		ck_assert_int_le((int)page->count, (int)scan.limit);
		ck_assert(page->cursor.len <= 2048);
		for (i = 0; i < page->count; i++) {
			ck_assert(i == 0 || slice_compare(page->item[i - 1].key, page->item[i].key) < 0);
			ck_assert(count < max);
			out[count++] = page->item[i].key;
		}
		scan.cursor = page->cursor;
		if (meanwhile)
			meanwhile(number++, page->count ? page->item[page->count - 1].key : SLICE_ABSENT);
	} while (scan.cursor.data);
	qsort(out, count, sizeof(*out), compare_keys);
	return count;
}

static void same_keys(struct slice *want, const struct slice *got, size_t count)
{
	size_t i;

	qsort(want, count, sizeof(*want), compare_keys);
	for (i = 0; i < count; i++)
		ck_assert_msg(slice_equal(want[i], got[i]), "%.*s, not %.*s", (int)got[i].len, got[i].data,
			      (int)want[i].len, want[i].data);
}

START_TEST(pages_have_each_record_once)
{
	const size_t limits[] = {1000, 999, 100, 2500, 1};
	size_t count = limits[_i] == 1 ? 100 : 2500; /* a page of one each: enough of them */
	struct slice *keys = claim_many("k", count, ask_claim(TOKEN)), *got = calloc(count, sizeof(*got));
	struct scan scan = {.state = -1, .limit = limits[_i] > 1000 ? 1000 : limits[_i], .prefix = corner()};

	ck_assert(got != NULL);
	free(claim_many("out-of-it", 30, ask_claim(TOKEN)));
	scan.prefix = key_of("k");
	ck_assert_int_eq((int)read_pages(scan, got, count, NULL), (int)count);
	same_keys(keys, got, count);
	free(keys);
	free(got);
}
END_TEST

static void more_records(int page, struct slice last)
{
	char name[32];

	(void)last;
	if (page < 3) {
		snprintf(name, sizeof(name), "x%d-", page);
		free(claim_many(name, 400, ask_claim(TOKEN)));
	}
	forget(key_of("gone-in-between"));
}

/* What is there throughout is listed once, whatever comes and goes meanwhile. */
START_TEST(pages_while_others_come_and_go)
{
	size_t count = 1000, i, all, mine = 0;
	struct slice *keys = claim_many("k", count, ask_claim(TOKEN)), *got = calloc(3000, sizeof(*got));
	struct scan scan = {.state = -1, .limit = 150, .prefix = corner()};

	ck_assert(got != NULL);
	won(key_of("gone-in-between"));
	all = read_pages(scan, got, 3000, more_records);
	for (i = 0; i < all; i++)
		if (slice_starts(got[i], key_of("k")))
			got[mine++] = got[i];
	ck_assert_int_eq((int)mine, (int)count);
	same_keys(keys, got, count);
	free(keys);
	free(got);
}
END_TEST

static void forget_last(int page, struct slice last)
{
	(void)page;
	forget(last);
}

START_TEST(pages_go_on_where_the_last_record_was)
{
	size_t count = 300;
	struct slice *keys = claim_many("k", count, ask_claim(TOKEN)), *got = calloc(count, sizeof(*got));
	struct scan scan = {.state = -1, .limit = 7, .prefix = corner()};

	ck_assert(got != NULL);
	ck_assert_int_eq((int)read_pages(scan, got, count, forget_last), (int)count);
	same_keys(keys, got, count);
	free(keys);
	free(got);
}
END_TEST

START_TEST(unknown_oldest_first_in_one_page)
{
	struct slice key[40];
	struct scan scan = {.state = CHOICE_STATE_UNKNOWN, .limit = 25, .prefix = corner()};
	struct call *call;
	const struct page *page;
	size_t i;

	free(claim_many("k", 300, ask_claim(TOKEN)));
	for (i = 0; i < 40; i++) {
		char name[32];
		struct ask ask = ask_claim(TOKEN);
		const struct op *op;

		snprintf(name, sizeof(name), "u%zu", i * 17 % 40);
		key[i] = key_of(name);
		if (i % 2) {
			make_state(key[i], STATE_UNKNOWN);
		} else {
			ask.lapse = LAPSE_UNKNOWN;
			ask.lease = 1;
			op = expect(key[i], ask, WORD_WON);
			wait_until(key[i], op->record.lease_until);
		}
		wait_until(key[i], status(key[i])->record.updated + 1); /* the next one is younger */
	}
	page = list(scan, &call);
	ck_assert_int_eq((int)page->count, 25);
	ck_assert(page->cursor.data == NULL);
	for (i = 0; i < 25; i++)
		ck_assert(slice_equal(page->item[i].key, key[i]));
}
END_TEST

/* ---- SWEEP ---- */

static const struct op *sweep(struct slice prefix, size_t limit, bool dry)
{
	const struct op *op =
	    &rig_scan(rig, OP_SWEEP, (struct scan){.state = -1, .limit = limit, .dry = dry, .prefix = prefix})->op;

	ck_assert_msg(op->result == OP_APPLIED, "refused: %s", op->why.text);
	return op;
}

START_TEST(sweep_deletes_what_is_gone_and_nothing_else)
{
	struct slice brief = key_of("brief"), some = key_of("brief1");
	int64_t dry, deleted, end = rig_clock_us() + 20 * 1000 * MS;
	struct ask ask = ask_claim(TOKEN);
	const struct op *op;

	make_two_of_each();
	ask.lease = ask.ttl = 1;
	free(claim_many("brief", 400, ask));
	do { /* until the clock is past the last of them; a store may delete a few by itself meanwhile */
		dry = sweep(brief, 1000, true)->deleted;
	} while (dry < 300 && rig_clock_us() < end);
	ck_assert_int_ge(dry, 300);
	ck_assert_int_le(dry, 400);

	deleted = sweep(some, 1000, false)->deleted; /* those whose number begins with 1 */
	ck_assert_int_ge(deleted, 10);
	ck_assert_int_le(deleted, 100);
	ck_assert_int_eq(sweep(some, 1000, true)->deleted, 0);
	ck_assert_int_ge(sweep(brief, 1000, true)->deleted, 200);

	op = sweep(brief, 100, false);
	ck_assert_int_eq(op->deleted, 100);
	ck_assert(op->more);
	do {
		op = sweep(brief, 40, false);
		ck_assert_int_le(op->deleted, 40);
	} while (op->more);
	ck_assert_int_eq(sweep(corner(), 1000, false)->more, false);
	ck_assert_int_eq(sweep(corner(), 1000, true)->deleted, 0);
	lists((struct scan){.state = -1}, "done doubtful failed free lapsed live unknown");
}
END_TEST

/* ---- COUNT ---- */

static const struct counts *counts(void)
{
	const struct op *op = &rig_scan(rig, OP_COUNT, (struct scan){.state = -1, .limit = 1})->op;

	ck_assert_msg(op->result == OP_APPLIED, "refused: %s", op->why.text);
	return &op->counts;
}

START_TEST(count_all)
{
	struct counts before = *counts();
	const struct counts *after;

	make_two_of_each();
	after = counts();
	ck_assert_int_eq(after->live - before.live, 2);
	ck_assert_int_eq(after->lapsed - before.lapsed, 2);
	ck_assert_int_eq(after->done - before.done, 2);
	ck_assert_int_eq(after->failed - before.failed, 2);
	ck_assert_int_eq(after->unknown - before.unknown, 4);
	ck_assert_int_eq(after->free - before.free, 2);
	ck_assert_int_le(after->gone - before.gone, 2); /* the store may have deleted them */
}
END_TEST

START_TEST(count_age_of_the_oldest_unknown)
{
	struct slice first = key_of("a"), second = key_of("b");
	int64_t age;

	make_state(first, STATE_UNKNOWN);
	wait_until(first, status(first)->record.updated + 20 * MS);
	make_state(second, STATE_UNKNOWN);
	age = counts()->oldest_unknown_us;
	ck_assert_int_ge(age, 20 * MS);
	ck_assert_int_le(age, status(first)->now - status(first)->record.updated);
}
END_TEST

TCase *contract_walks(void)
{
	TCase *tc = tcase_create("walks");

	tcase_add_test(tc, list_by_state);
	tcase_add_test(tc, list_by_prefix_owner_age);
	tcase_add_loop_test(tc, pages_have_each_record_once, 0, 5);
	tcase_add_test(tc, pages_while_others_come_and_go);
	tcase_add_test(tc, pages_go_on_where_the_last_record_was);
	tcase_add_test(tc, unknown_oldest_first_in_one_page);
	tcase_add_test(tc, sweep_deletes_what_is_gone_and_nothing_else);
	tcase_add_test(tc, count_all);
	tcase_add_test(tc, count_age_of_the_oldest_unknown);
	return tc;
}
