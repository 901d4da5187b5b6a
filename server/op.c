/*
 * op.c - filling in an op: empty, answered by the table, refused, or in doubt.
 *
 * Dispatch makes and releases ops; the stores and store.c answer them with the calls here. Nothing here fails.
 */
#include "op.h"

#include <stdio.h>

#include "../proto/mem.h"

void op_init(struct op *op, enum op_kind kind, struct slice key)
{
	*op = (struct op){.kind = kind, .key = key, .scan = {.state = -1, .limit = 1}};
}

void op_release(struct op *op)
{
	mem_free(op->page);
	mem_free(op->store_mem);
	op->page = NULL;
	op->store_mem = NULL;
}

/* The record allowed what was asked; any other word of the table is its no. */
static bool word_applies(enum word word)
{
	return word == WORD_WON || word == WORD_OK || word == WORD_STATUS;
}

void op_decide(struct op *op, struct record *rec, int64_t now)
{
	op->verdict = record_apply(rec, &op->ask, now);
	op->result = word_applies(op->verdict.word) ? OP_APPLIED : OP_LOST;
	op->record = *rec;
	op->now = now;
}

int64_t op_clock(int64_t now, int64_t sent_ms, int64_t at_ms)
{
	/* Whole milliseconds: the one may have begun, the other be over. */
	return now + (at_ms - sent_ms + 1) * 1000;
}

/* No answer from the table: whatever was decided before does not stand. */
__attribute__((format(printf, 4, 0))) static void op_fail(struct op *op, enum op_result result, enum err err,
							  const char *format, va_list args)
{
	op->result = result;
	op->err = err;
	op->verdict = (struct verdict){.word = WORD_NONE};
	op->record = (struct record){.state = STATE_ABSENT};
	vsnprintf(op->why.text, sizeof(op->why.text), format, args);
}

void op_refuse(struct op *op, enum err err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	op_fail(op, OP_REFUSED, err, format, args);
	va_end(args);
}

void op_doubt(struct op *op, enum err err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	op_fail(op, OP_UNCERTAIN, err, format, args);
	va_end(args);
}

bool op_reads(const struct op *op)
{
	switch (op->kind) {
	case OP_RECORD:
		return op->ask.verb == ASK_STATUS || op->ask.verb == ASK_CHECK;
	case OP_SWEEP:
		return op->scan.dry;
	case OP_LIST:
	case OP_COUNT:
		break;
	}
	return true;
}
