/*
 * contract.c - what every store must do, in one suite; each row of the table by its number, through the store.
 *
 *   contract [STORE_URL...]     without an argument: memory: and sqlite: in a folder of its own
 *
 * Every test runs in a process of its own with the store opened anew; where the program chose the file, with a new file.
 * A test on a store that is given by its URL keeps to keys of its own, and may leave some behind that end by themselves.
 *
 * A lapse is not simulated: leases are a few ms long, and the test asks until the store's own clock is past them.
 */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record_same.h"

#define MAX_KEYS 16384
#define DEADLINE_US (20 * INT64_C(1000000))

struct rig *rig;
const char *rig_url;

static char folder[] = "/tmp/contract.XXXXXX"; /* of the files that we choose ourselves */
static bool own_file;                          /* a new one for each test */
static char file_url[128];
static char prefix[64];
static char *keys[MAX_KEYS];
static size_t key_count;

/* ---- each test's store and keys ---- */

static void setup(void)
{
	if (own_file) {
		snprintf(file_url, sizeof(file_url), "sqlite:%s/%ld.db", folder, (long)getpid());
		rig_url = file_url;
	}
	snprintf(prefix, sizeof(prefix), "contract-%ld-%lld:", (long)getpid(), (long long)rig_clock_us());
	rig = rig_open(rig_url);
}

static void teardown(void)
{
	rig_close(rig);
	while (key_count)
		free(keys[--key_count]);
}

bool contract_shared(void)
{
	return strncmp(rig_url, "memory:", 7) != 0;
}

struct slice corner(void)
{
	return slice_from(prefix);
}

struct slice key_bytes(const void *data, size_t len)
{
	char *copy = malloc(len);

	if (!copy || key_count == MAX_KEYS)
		rig_fail("too many keys");
	memcpy(copy, data, len);
	keys[key_count++] = copy;
	return (struct slice){copy, len};
}

struct slice key_of(const char *name)
{
	char text[1024];
	int len = snprintf(text, sizeof(text), "%s%s", prefix, name);

	return key_bytes(text, (size_t)len);
}

/* ---- asks ---- */

struct ask ask_claim(struct slice token)
{
	return (struct ask){
	    .verb = ASK_CLAIM, .lease = LONG, .ttl = 2 * LONG, .token = token, .fp = FP, .owner = SLICE_OF("w1")};
}

struct ask ask_holder(enum ask_verb verb, int64_t fence)
{
	return (struct ask){.verb = verb, .fence = fence, .lease = LONG, .result = SLICE_OF("result")};
}

struct ask ask_resolve(enum state as, bool force)
{
	return (struct ask){.verb = ASK_RESOLVE, .as = as, .force = force};
}

struct ask ask_forget(bool force)
{
	return (struct ask){.verb = ASK_FORGET, .force = force};
}

/* ---- answers ---- */

const struct op *expect(struct slice key, struct ask ask, enum word word)
{
	const struct op *op = &rig_ask(rig, key, ask)->op;
	bool applied = word == WORD_WON || word == WORD_OK || word == WORD_STATUS;

	ck_assert_msg(op->result == OP_APPLIED || op->result == OP_LOST, "refused: %s", op->why.text);
	ck_assert_msg(op->verdict.word == word, "answered %s %s, not %s", word_name(op->verdict.word).data,
		      op->verdict.why ? op->verdict.why : "", word_name(word).data);
	ck_assert_int_eq(op->result, applied ? OP_APPLIED : OP_LOST);
	return op;
}

const struct op *status(struct slice key)
{
	const struct op *op = &rig_ask(rig, key, (struct ask){.verb = ASK_STATUS})->op;

	ck_assert(op->result == OP_APPLIED || op->result == OP_LOST);
	ck_assert(op->verdict.word == (op->record.state == STATE_ABSENT ? WORD_NOTFOUND : WORD_STATUS));
	return op;
}

void same_record(const struct record *got, const struct record *want)
{
	if (want->state == STATE_ABSENT) /* a store says nothing else then */
		ck_assert_int_eq(got->state, STATE_ABSENT);
	else
		record_same(got, want);
}

const struct op *expect_no_change(struct slice key, struct ask ask, enum word word)
{
	const struct op *before = status(key), *op = expect(key, ask, word);

	same_record(&op->record, &before->record);
	same_record(&status(key)->record, &before->record);
	return op;
}

const struct op *wait_until(struct slice key, int64_t time_us)
{
	int64_t end = rig_clock_us() + DEADLINE_US;

	while (rig_clock_us() < end) {
		const struct op *op = status(key);

		if (op->now >= time_us)
			return op;
		rig_pause(500);
	}
	ck_abort_msg("the store's clock does not get there");
	return NULL;
}

/* ---- states ---- */

int64_t won(struct slice key)
{
	return expect(key, ask_claim(TOKEN), WORD_WON)->record.fence;
}

int64_t won_and_lapsed(struct slice key, enum lapse lapse)
{
	struct ask ask = ask_claim(TOKEN);
	const struct op *op;

	ask.lease = 2 * MS;
	ask.lapse = lapse;
	op = expect(key, ask, WORD_WON);
	wait_until(key, op->record.lease_until);
	return op->record.fence;
}

void forget(struct slice key)
{
	int64_t end = rig_clock_us() + DEADLINE_US;
	const struct op *op;

	do {
		op = &rig_ask(rig, key, ask_forget(true))->op;
	} while (op->verdict.word == WORD_ERR && op->verdict.err == ERR_BUSY && rig_clock_us() < end);
	ck_assert(op->verdict.word == WORD_OK || op->verdict.word == WORD_NOTFOUND);
}

const struct record *make_state(struct slice key, enum state state)
{
	int64_t fence;

	if (state == STATE_ABSENT)
		return &status(key)->record;
	fence = won(key);
	if (state == STATE_DONE)
		expect(key, ask_holder(ASK_COMPLETE, fence), WORD_OK);
	else if (state == STATE_FAILED)
		expect(key, ask_holder(ASK_FAIL, fence), WORD_OK);
	else if (state == STATE_UNKNOWN)
		expect(key, ask_holder(ASK_DOUBT, fence), WORD_OK);
	else if (state == STATE_FREE)
		expect(key, ask_holder(ASK_RELEASE, fence), WORD_OK);
	return &status(key)->record;
}

/* ---- the program ---- */

static void add(Suite *suite, TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
}

static int run(const char *url)
{
	Suite *suite = suite_create(own_file ? "contract sqlite:" : url);
	SRunner *runner;
	int failed;

	rig_url = url;
	add(suite, contract_claim());
	add(suite, contract_holder());
	add(suite, contract_operator());
	add(suite, contract_walks());
	add(suite, contract_race(contract_shared()));
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0, i;

	for (i = 1; i < argc; i++)
		failed += run(argv[i]);
	if (argc == 1) {
		failed += run("memory:");
		if (!mkdtemp(folder))
			rig_fail("no folder for the files");
		own_file = true;
		failed += run("sqlite:");
		rig_remove_folder(folder);
	}
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
