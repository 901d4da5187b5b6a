/*
 * history.c - random histories: the same calls go through a store and through the table of transitions at the store's own
 * time, and every answer and every record must be equal.
 *
 *   history [--seed N] [--steps N] [--store URL]...     by default 20000 steps on memory: and on sqlite: in a folder of its own
 *
 * Steps go to the store in batches, no key twice in one. Where they differ, the history is replayed on a new store
 * with steps taken out, again and again, and what is left is printed. A seed gives the same steps again; the time
 * that passes between them is the machine's.
 *
 * A run also fails when some answer of the table never came: then the histories do not try what they should.
 */
#include "history.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEPS 20000
#define MAX_STORES 8
#define SHRINK_US (60 * INT64_C(1000000))

struct history {
	const char *url; /* of the kind of store; each replay has one of its own */
	struct step *steps;
	size_t count;
	struct mirror mirror;
};

struct failure {
	size_t step;
	struct errbuf err;
};

static char folder[] = "/tmp/history.XXXXXX";
static char long_key[PROTO_MAX_KEY];

/* ---- one run ---- */

static struct slice key_name(int key)
{
	static char names[HISTORY_KEYS][32];

	if (key == 0)
		return (struct slice){long_key, sizeof(long_key)};
	snprintf(names[key], sizeof(names[key]), "key%c%d", key % 3 ? ':' : '\0', key);
	return (struct slice){names[key], (size_t)(key < 10 ? 5 : 6)};
}

/* "sqlite:" takes a new file each time, in our own folder where no path is given. */
static const char *url_new(const char *url)
{
	static char text[1024];
	static int number;

	if (strncmp(url, "sqlite:", 7) != 0)
		return url;
	number++;
	if (url[7])
		snprintf(text, sizeof(text), "%s.%ld-%d", url, (long)getpid(), number);
	else
		snprintf(text, sizeof(text), "sqlite:%s/%d.db", folder, number);
	return text;
}

/* How many steps from here on may be with the store together. */
static size_t batch_size(const struct step *steps, size_t count)
{
	uint32_t used = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		uint32_t bit = UINT32_C(1) << steps[i].key;

		if (i > 0 && (steps[i].pause_us || steps[i].kind != STEP_ASK || (used & bit)))
			break;
		used |= bit;
		if (steps[i].kind != STEP_ASK)
			return 1;
	}
	return i;
}

static struct call *submit(struct rig *rig, const struct history *history, const struct step *step)
{
	static const enum op_kind kinds[] = {OP_RECORD, OP_LIST, OP_SWEEP, OP_COUNT};
	struct call *call =
	    rig_call(rig, kinds[step->kind], step->kind == STEP_ASK ? key_name(step->key) : SLICE_ABSENT);

	call->op.ask = mirror_ask(&history->mirror, step);
	call->op.scan = step->scan;
	rig_submit(call);
	return call;
}

static bool run_batch(struct history *history, struct rig *rig, size_t at, size_t count, struct failure *failure)
{
	struct call *call[HISTORY_KEYS];
	int64_t latest = history->mirror.latest;
	bool ok = true;
	size_t i;

	if (history->steps[at].pause_us)
		rig_pause(history->steps[at].pause_us);
	for (i = 0; i < count; i++)
		call[i] = submit(rig, history, &history->steps[at + i]);
	rig_wait(rig);
	for (i = 0; i < count && ok; i++) {
		const struct op *op = &call[i]->op;

		failure->step = at + i;
		ok = mirror_check(&history->mirror, &history->steps[at + i], op, &failure->err);
		if (ok && op->now < history->mirror.latest) {
			err_set(&failure->err, "the clock of the store went back");
			ok = false;
		}
		if (op->now > latest)
			latest = op->now;
	}
	history->mirror.latest = latest;
	rig_forget_calls(rig);
	return ok;
}

/* On a new store. */
static bool run(struct history *history, struct failure *failure)
{
	struct rig *rig = rig_open(url_new(history->url));
	bool ok = true;
	size_t at = 0;

	history->mirror = (struct mirror){.key_name = key_name};
	while (at < history->count && ok) {
		size_t count = batch_size(&history->steps[at], history->count - at);

		ok = run_batch(history, rig, at, count, failure);
		at += count;
	}
	rig_close(rig);
	return ok;
}

/* ---- a failure made small ---- */

/* Replays without count steps at `at`, twice: time is not the same every time. True: fails still, and *history is now that. */
static bool fails_without(struct history *history, size_t at, size_t count, struct failure *failure)
{
	struct step *all = history->steps;
	size_t left = history->count - count;
	int try;

	history->steps = malloc((left ? left : 1) * sizeof(*all));
	if (!history->steps)
		rig_fail("out of memory");
	memcpy(history->steps, all, at * sizeof(*all));
	memcpy(history->steps + at, all + at + count, (left - at) * sizeof(*all));
	history->count = left;
	for (try = 0; try < 2; try++) {
		if (!run(history, failure)) {
			history->count = failure->step + 1;
			free(all);
			return true;
		}
	}
	free(history->steps);
	history->steps = all;
	history->count = left + count;
	return false;
}

static void shrink(struct history *history, struct failure *failure)
{
	int64_t end = rig_clock_us() + SHRINK_US;
	size_t size = history->count, at;

	while (size > 1 && rig_clock_us() < end) {
		bool smaller = false;

		size = (size + 1) / 2;
		for (at = 0; at + size <= history->count && rig_clock_us() < end;) {
			if (history->count > size && fails_without(history, at, size, failure))
				smaller = true;
			else
				at += size;
		}
		if (smaller && size == 1)
			size = 2; /* once more by ones */
	}
}

static void report(struct history *history, struct failure *failure)
{
	size_t i;

	fprintf(stderr, "history: %s: step %zu: %s\nhistory: making it small...\n", history->url, failure->step,
		failure->err.text);
	history->count = failure->step + 1;
	shrink(history, failure);
	fprintf(stderr, "history: these %zu steps on a new store:\n", history->count);
	for (i = 0; i < history->count; i++) {
		fprintf(stderr, "  %3zu ", i + 1);
		step_print(stderr, &history->steps[i]);
	}
	fprintf(stderr, "history: %s: in the last one: %s\n", history->url, failure->err.text);
}

/* ---- the program ---- */

/* Every answer of the table has come at least once. */
static bool reached(const struct mirror *mirror)
{
	static const enum word words[] = {WORD_WON, WORD_HELD,  WORD_DONE,     WORD_FAILED, WORD_MISMATCH, WORD_UNKNOWN,
					  WORD_OK,  WORD_STALE, WORD_NOTFOUND, WORD_STATUS, WORD_ERR};
	bool all = true;
	size_t i;

	printf("history:");
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		printf(" %s=%llu", word_name(words[i]).data, (unsigned long long)mirror->words[words[i]]);
		all = all && mirror->words[words[i]];
	}
	for (i = WAS_NEW; i <= WAS_LAPSED; i++) {
		printf(" %s=%llu", was_name((enum was)i).data, (unsigned long long)mirror->was[i]);
		all = all && mirror->was[i];
	}
	printf("\n");
	return all;
}

static bool history_on(const char *url, uint64_t seed, size_t count)
{
	struct history history = {.url = url, .count = count};
	struct failure failure = {0};
	bool ok;

	printf("history: %s --seed %llu --steps %zu\n", url, (unsigned long long)seed, count);
	fflush(stdout);
	history.steps = malloc(count * sizeof(*history.steps));
	if (!history.steps)
		rig_fail("out of memory");
	steps_make(history.steps, count, seed);
	ok = run(&history, &failure);
	if (!ok) {
		report(&history, &failure);
	} else if (!reached(&history.mirror) && count >= STEPS) {
		fprintf(stderr, "history: %s: some answers never came\n", url);
		ok = false;
	}
	free(history.steps);
	return ok;
}

/* Also where the rig has ended the program. */
static void remove_folder(void)
{
	rig_remove_folder(folder);
}

static uint64_t number_arg(const char *text)
{
	char *end;
	unsigned long long n = text ? strtoull(text, &end, 10) : 0;

	if (!text || !*text || *end)
		rig_fail("usage: history [--seed N] [--steps N] [--store URL]...");
	return n;
}

int main(int argc, char **argv)
{
	const char *stores[MAX_STORES] = {"memory:", "sqlite:"};
	int store_count = 0, failed = 0, i;
	uint64_t seed = (uint64_t)rig_clock_us() ^ ((uint64_t)getpid() << 32);
	size_t steps = STEPS;

	for (i = 1; i < argc; i += 2) {
		if (strcmp(argv[i], "--seed") == 0)
			seed = number_arg(argv[i + 1]);
		else if (strcmp(argv[i], "--steps") == 0)
			steps = (size_t)number_arg(argv[i + 1]);
		else if (strcmp(argv[i], "--store") == 0 && argv[i + 1] && store_count < MAX_STORES)
			stores[store_count++] = argv[i + 1];
		else
			number_arg("");
	}
	if (!store_count)
		store_count = 2;
	for (i = 0; i < PROTO_MAX_KEY; i++)
		long_key[i] = (char)(i * 5);
	if (!mkdtemp(folder) || atexit(remove_folder) != 0)
		rig_fail("no folder for the files");
	for (i = 0; i < store_count; i++)
		failed += !history_on(stores[i], seed, steps);
	printf("history: %d passed, %d failed\n", store_count - failed, failed);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
