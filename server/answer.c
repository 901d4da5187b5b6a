/*
 * answer.c - an answered op in the words of the protocol. Pure: it reads the call and writes octets.
 *
 * Every outcome of the table has its own small function here; dispatch.c calls answer_head or, for LIST, answer_page.
 */
#include "call.h"

#include "../proto/mem.h"

#define ITEM_FIXED 320 /* octets of an ITEM line without key and owner */

static int64_t since_ms(int64_t then, int64_t now)
{
	return now > then ? (now - then) / 1000 : 0;
}

/* When to ask again after a HELD with so much time left: a fraction of it, with jitter. */
static int64_t retry_ms(int64_t left_ms, uint64_t random)
{
	int64_t base = left_ms / 8;

	if (base < 50)
		base = left_ms < 50 ? left_ms + 1 : 50;
	if (base > 30000)
		base = 30000;
	/* 3/4 .. 5/4 of it, so that those who were told at once do not come back at once. */
	return base - base / 4 + (int64_t)(random % (uint64_t)(base / 2 + 1));
}

/* Octets that differ from call to call, without a generator: the answer's own numbers, mixed. */
static uint64_t jitter(const struct call *call)
{
	uint64_t x = (uint64_t)call->start_us ^ ((uint64_t)(uintptr_t)call << 16) ^ (uint64_t)call->op.now;

	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	return x ^ (x >> 29);
}

/* ---- the outcomes of CLAIM, which RESOLVE and FORGET share ---- */

static void say_won(struct writer *w, const struct op *op)
{
	reply_begin(w, WORD_WON);
	reply_number(w, "fence", op->record.fence);
	reply_ms(w, "lease_ms", record_left_ms(&op->record, op->now));
	reply_number(w, "attempts", op->record.attempts);
	reply_bytes(w, "was", was_name(op->verdict.was));
}

static void say_unguarded(struct writer *w, const struct op *op)
{
	reply_begin(w, WORD_WON);
	reply_number(w, "fence", 0);
	reply_ms(w, "lease_ms", op->ask.lease / 1000);
	reply_number(w, "guarded", 0);
}

static void say_held(struct writer *w, const struct call *call)
{
	const struct op *op = &call->op;
	int64_t left_ms = record_left_ms(&op->record, op->now);

	reply_begin(w, WORD_HELD);
	reply_number(w, "fence", op->record.fence);
	reply_ms(w, "left_ms", left_ms);
	reply_bytes(w, "owner", op->record.owner);
	reply_ms(w, "age_ms", since_ms(op->record.updated, op->now));
	reply_ms(w, "retry_ms", retry_ms(left_ms, jitter(call)));
	/* Nobody holds it: its atleast is not over. */
	if (op->record.state == STATE_FREE)
		reply_bytes(w, "state", state_name(STATE_FREE));
}

static void say_settled(struct writer *w, const struct op *op)
{
	reply_begin(w, op->verdict.word);
	reply_number(w, "fence", op->record.fence);
	reply_ms(w, "age_ms", since_ms(op->record.updated, op->now));
}

static void say_mismatch(struct writer *w, const struct op *op)
{
	reply_begin(w, WORD_MISMATCH);
	reply_bytes(w, "state", state_name(record_shown(&op->record, op->now)));
	reply_number(w, "fence", op->record.fence);
	reply_ms(w, "age_ms", since_ms(op->record.updated, op->now));
}

static void say_unknown(struct writer *w, const struct op *op)
{
	reply_begin(w, WORD_UNKNOWN);
	reply_number(w, "fence", op->record.fence);
	reply_ms(w, "age_ms", since_ms(op->record.updated, op->now));
	reply_bytes(w, "owner", op->record.owner);
}

/* ---- the others ---- */

static void say_ok(struct writer *w, const struct call *call)
{
	const struct op *op = &call->op;
	const struct record *rec = &op->record;

	reply_begin(w, WORD_OK);
	if (op->verdict.effect == EFFECT_DELETE) {
		reply_number(w, "deleted", 1);
		return;
	}
	reply_bytes(w, "state", state_name(rec->state));
	reply_number(w, "fence", rec->fence);
	if (rec->state == STATE_CLAIMED)
		reply_ms(w, "left_ms", record_left_ms(rec, op->now));
	if (rec->state == STATE_DONE || rec->state == STATE_FAILED)
		reply_ms(w, "ttl_ms", time_left_ms(rec->keep_until, op->now));
	if (call->dropped)
		reply_number(w, "kept", 0);
}

static void say_stale(struct writer *w, const struct op *op)
{
	const struct record *rec = &op->record;

	reply_begin(w, WORD_STALE);
	if (rec->state != STATE_ABSENT)
		reply_number(w, "fence", rec->fence);
	reply_bytes(w, "state", state_name(record_shown(rec, op->now)));
	if (op->ask.verb == ASK_CHECK && rec->fence == op->ask.fence && record_lapsed(rec, op->now))
		reply_ms(w, "left_ms", 0);
}

static void say_status(struct writer *w, const struct call *call)
{
	const struct op *op = &call->op;
	const struct record *rec = &op->record;

	reply_begin(w, WORD_STATUS);
	reply_bytes(w, "state", state_name(record_shown(rec, op->now)));
	reply_number(w, "fence", rec->fence);
	reply_number(w, "attempts", rec->attempts);
	reply_ms(w, "age_ms", since_ms(rec->updated, op->now));
	reply_ms(w, "created_ms", since_ms(rec->created, op->now));
	if (rec->state == STATE_CLAIMED || (rec->state == STATE_FREE && rec->earliest > op->now))
		reply_ms(w, "left_ms", record_left_ms(rec, op->now));
	if (record_lapsed(rec, op->now))
		reply_number(w, "lapsed", 1);
	reply_ms(w, "ttl_left_ms", time_left_ms(record_end(rec), op->now));
	reply_bytes(w, "owner", rec->owner);
	reply_bytes(w, "fp", rec->fp);
	reply_bytes(w, "lapse", lapse_name(rec->lapse));
	if (rec->result.data != NULL)
		reply_number(w, "size", (int64_t)rec->result.len);
}

static void say_verdict_error(struct writer *w, const struct op *op)
{
	reply_error(w, op->verdict.err, SLICE_ABSENT, op->verdict.after_ms, op->verdict.why);
}

static void say_failure(struct writer *w, const struct call *call)
{
	const struct op *op = &call->op;
	int64_t after_ms = 0;

	if (op->err == ERR_STORE && !op->unreadable)
		after_ms = 250 + (int64_t)(jitter(call) % 500);
	else if (op->err == ERR_BUSY)
		after_ms = 50 + (int64_t)(jitter(call) % 100);
	reply_error(w, op->err, op->unreadable ? SLICE_OF("no") : SLICE_ABSENT, after_ms, op->why.text);
}

static void say_verdict(struct writer *w, const struct call *call, struct slice *body)
{
	const struct op *op = &call->op;

	switch (op->verdict.word) {
	case WORD_WON:
		say_won(w, op);
		break;
	case WORD_HELD:
		say_held(w, call);
		break;
	case WORD_DONE:
	case WORD_FAILED:
		say_settled(w, op);
		*body = op->record.result;
		break;
	case WORD_MISMATCH:
		say_mismatch(w, op);
		break;
	case WORD_UNKNOWN:
		say_unknown(w, op);
		break;
	case WORD_OK:
		say_ok(w, call);
		break;
	case WORD_STALE:
		say_stale(w, op);
		break;
	case WORD_STATUS:
		say_status(w, call);
		if (call->want_result)
			*body = op->record.result;
		break;
	case WORD_NOTFOUND:
		reply_begin(w, WORD_NOTFOUND);
		break;
	case WORD_ERR:
		say_verdict_error(w, op);
		break;
	case WORD_NONE:
	case WORD_ITEM:
	case WORD_END:
	case WORD__COUNT:
		reply_error(w, ERR_INTERNAL, SLICE_ABSENT, 0, "the store gave an answer that makes no sense");
		break;
	}
}

void answer_head(struct writer *w, const struct call *call, struct slice *body)
{
	const struct op *op = &call->op;

	*body = SLICE_ABSENT;
	if (call->unguarded) {
		say_unguarded(w, op);
	} else if (op->result == OP_REFUSED || op->result == OP_UNCERTAIN) {
		say_failure(w, call);
	} else if (op->kind == OP_SWEEP) {
		reply_begin(w, WORD_OK);
		reply_number(w, "deleted", op->deleted);
		reply_number(w, "more", op->more);
	} else {
		say_verdict(w, call, body);
	}
	reply_end(w, call->tag, *body);
}

void answer_error(struct writer *w, struct slice tag, enum err code, const char *why)
{
	reply_error(w, code, SLICE_ABSENT, 0, why);
	reply_end(w, tag, SLICE_ABSENT);
}

/* ---- LIST ---- */

static void say_item(struct writer *w, const struct call *call, const struct page_item *item)
{
	const struct record *rec = &item->record;
	int64_t now = call->op.now;

	reply_begin(w, WORD_ITEM);
	reply_bytes(w, "key", (struct slice){item->key.data + call->ns_len, item->key.len - call->ns_len});
	reply_bytes(w, "state", state_name(record_shown(rec, now)));
	reply_number(w, "fence", rec->fence);
	reply_ms(w, "age_ms", since_ms(rec->updated, now));
	if (rec->state == STATE_CLAIMED)
		reply_ms(w, "left_ms", record_left_ms(rec, now));
	if (record_lapsed(rec, now))
		reply_number(w, "lapsed", 1);
	reply_number(w, "attempts", rec->attempts);
	reply_bytes(w, "owner", rec->owner);
	reply_end(w, call->tag, SLICE_ABSENT);
}

bool answer_page(const struct call *call, char **text, size_t *len)
{
	const struct page *page = call->op.page;
	size_t cap = ITEM_FIXED + 3 * (page->cursor.len + call->tag.len);
	struct writer w;
	char *data;

	for (size_t i = 0; i < page->count; i++)
		cap += ITEM_FIXED + 3 * (page->item[i].key.len + page->item[i].record.owner.len + call->tag.len);
	data = mem_alloc(cap);
	if (data == NULL)
		return false;
	writer_init(&w, data, cap);
	for (size_t i = 0; i < page->count; i++)
		say_item(&w, call, &page->item[i]);
	reply_begin(&w, WORD_END);
	reply_number(&w, "count", (int64_t)page->count);
	reply_bytes(&w, "cursor", page->cursor);
	reply_end(&w, call->tag, SLICE_ABSENT);
	*text = data;
	*len = w.len;
	return true;
}
