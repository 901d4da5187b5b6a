/* script_store.c - see script_store.h. */
#include "script_store.h"

#include <stdlib.h>
#include <string.h>

#include "../../server/clock.h"
#include "../../server/stores/store.h"

#define RECORDS 8
#define HELD_MAX 64
#define TEXT_MAX 256
#define LINES 256
#define LINE_MAX_OCTETS 512

struct stored {
	char key[TEXT_MAX];
	struct record record;
	char text[4][TEXT_MAX]; /* fp, token, owner, result */
};

static struct stored stored[RECORDS];
static struct op *held[HELD_MAX + 1]; /* in the order in which they came */
static size_t held_count;
static struct op *walk;                  /* the daemon counts now and then */
static enum manner manner, manner_after; /* the second one, once the next op is answered */
static bool once;

static char asked[LINES][LINE_MAX_OCTETS];
static size_t asked_count, asked_at;

static struct store *front;
static script_turn_cb on_turn;
static uv_check_t check;
static uv_idle_t idle; /* the loop never sleeps: time does not pass by itself */
static int handles;

void script_store_init(script_turn_cb turn)
{
	on_turn = turn;
}

static void again(uv_idle_t *handle)
{
	(void)handle;
}

/* ---- records ---- */

static struct stored *stored_at(struct slice key)
{
	struct stored *found = stored;

	while (found->key[0] != '\0' && !slice_equal(slice_from(found->key), key))
		found++;
	if (found == stored + RECORDS - 1 || key.len >= sizeof found->key)
		abort(); /* the script has more keys than a scenario should */
	memcpy(found->key, key.data, key.len);
	return found;
}

static struct slice keep(char *place, struct slice text)
{
	if (text.data == NULL)
		return SLICE_ABSENT;
	if (text.len > TEXT_MAX)
		abort();
	memmove(place, text.data, text.len);
	return (struct slice){place, text.len};
}

static void write_down(struct stored *at, const struct record *rec)
{
	at->record = *rec;
	at->record.fp = keep(at->text[0], rec->fp);
	at->record.token = keep(at->text[1], rec->token);
	at->record.owner = keep(at->text[2], rec->owner);
	at->record.result = keep(at->text[3], rec->result);
}

static void decide(struct op *op)
{
	struct stored *at = stored_at(op->key);
	struct record rec = at->record;

	op_decide(op, &rec, clock_wall_us());
	if (op->verdict.effect != EFFECT_NONE)
		write_down(at, &rec);
}

void script_store_ask(struct slice key, const struct ask *ask)
{
	struct op op;

	op_init(&op, OP_RECORD, key);
	op.ask = *ask;
	decide(&op);
}

void script_store_show(struct slice key, struct writer *w)
{
	const struct record *rec = &stored_at(key)->record;
	int64_t now = clock_wall_us();

	reply_begin(w, WORD_STATUS);
	reply_bytes(w, "state", state_name(record_gone(rec, now) ? STATE_ABSENT : rec->state));
	reply_number(w, "fence", rec->fence);
	reply_number(w, "attempts", rec->attempts);
	reply_ms(w, "left_ms", record_left_ms(rec, now));
	reply_bytes(w, "recorded", rec->result);
}

/* ---- answers ---- */

static void answer(struct op *op)
{
	enum manner now = manner;

	if (once)
		manner = manner_after;
	once = false;
	switch (now) {
	case MANNER_ANSWERS:
		decide(op);
		break;
	case MANNER_CUTS_AFTER:
		decide(op);
		op_doubt(op, ERR_TIMEOUT, "the reply was lost");
		break;
	case MANNER_CUTS_BEFORE:
		op_doubt(op, ERR_TIMEOUT, "the connection was cut");
		break;
	case MANNER_HOLDS:
	case MANNER_REFUSES:
		op_refuse(op, ERR_STORE, "it is down");
		break;
	}
	store_done(front, op);
}

static void flush(void *impl)
{
	(void)impl;
	if (walk != NULL) {
		struct op *op = walk;

		walk = NULL;
		op->result = OP_APPLIED;
		store_done(front, op);
	}
	while (held_count > 0 && manner != MANNER_HOLDS) {
		struct op *op = held[0];

		memmove(held, held + 1, --held_count * sizeof held[0]);
		answer(op);
	}
}

void script_store_manner(enum manner next, bool once_only)
{
	manner_after = once ? manner_after : manner;
	once = once_only;
	manner = next;
}

void script_store_forget(void)
{
	held_count = 0;
	walk = NULL;
}

int script_store_sleep_ms(const uv_loop_t *loop)
{
	int sleep_ms;

	uv_idle_stop(&idle);
	sleep_ms = uv_backend_timeout(loop);
	uv_idle_start(&idle, again);
	return sleep_ms;
}

/* ---- what was asked for ---- */

static const enum verb verbs[] = {
    [ASK_CLAIM] = VERB_CLAIM,   [ASK_RENEW] = VERB_RENEW,     [ASK_COMPLETE] = VERB_COMPLETE,
    [ASK_FAIL] = VERB_FAIL,     [ASK_RELEASE] = VERB_RELEASE, [ASK_DOUBT] = VERB_DOUBT,
    [ASK_CHECK] = VERB_CHECK,   [ASK_STATUS] = VERB_STATUS,   [ASK_RESOLVE] = VERB_RESOLVE,
    [ASK_FORGET] = VERB_FORGET,
};

static void note(const struct op *op)
{
	struct writer w;

	if (asked_count == LINES)
		abort();
	writer_init(&w, asked[asked_count++], LINE_MAX_OCTETS - 1);
	writer_slice(&w, verb_info(verbs[op->ask.verb])->name);
	reply_bytes(&w, "key", op->key);
	if (op->ask.fence != 0)
		reply_number(&w, "fence", op->ask.fence);
	if (op->ask.lease != 0)
		reply_ms(&w, "lease_ms", op->ask.lease / 1000);
	reply_bytes(&w, "owner", op->ask.owner);
	w.data[w.len] = '\0';
}

const char *script_store_next(void)
{
	return asked_at < asked_count ? asked[asked_at++] : NULL;
}

void script_store_clear(void)
{
	asked_at = asked_count = 0;
}

/* ---- the driver ---- */

static void turned(uv_check_t *handle)
{
	on_turn(handle->loop);
}

static enum fit look(const char *url, bool make_folders, struct errbuf *err)
{
	(void)url;
	(void)make_folders;
	(void)err;
	return FIT_GOOD;
}

static bool open_store(void **out, struct store *store, const char *url, const struct store_options *options,
		       uv_loop_t *loop, struct errbuf *err)
{
	(void)url;
	(void)options;
	(void)err;
	front = store;
	uv_check_init(loop, &check);
	uv_idle_init(loop, &idle);
	uv_check_start(&check, turned);
	uv_idle_start(&idle, again);
	store_health(front, true, "");
	*out = &check;
	return true;
}

static void submit(void *impl, struct op *op)
{
	(void)impl;
	if (op->kind == OP_COUNT) {
		walk = op;
		return;
	}
	if (op->kind != OP_RECORD || held_count == HELD_MAX)
		abort(); /* no scenario is about LIST and SWEEP */
	note(op);
	held[held_count++] = op;
}

static void closed(uv_handle_t *handle)
{
	(void)handle;
	if (--handles > 0)
		return;
	if (walk != NULL)
		held[held_count++] = walk;
	walk = NULL;
	while (held_count > 0) {
		struct op *op = held[--held_count];

		op_refuse(op, ERR_STORE, "the store is being closed");
		store_done(front, op);
	}
	store_closed(front);
}

static void close_store(void *impl)
{
	(void)impl;
	handles = 2;
	uv_close((uv_handle_t *)&check, closed);
	uv_close((uv_handle_t *)&idle, closed);
}

static void describe(void *impl, struct errbuf *text)
{
	(void)impl;
	err_set(text, "a script");
}

const struct store_driver store_memory = {
    .scheme = "memory",
    .check = look,
    .open = open_store,
    .submit = submit,
    .flush = flush,
    .close = close_store,
    .describe = describe,
};
