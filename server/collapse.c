/* collapse.c - see collapse.h. */
#include "collapse.h"

void sight_take(struct sight *sight, const struct op *op)
{
	const struct record *rec = &op->record;
	char *at = sight->text;

	sight->clear = op->kind == OP_RECORD && op->ask.verb == ASK_CLAIM &&
		       (op->result == OP_APPLIED || op->result == OP_LOST) &&
		       rec->fp.len + rec->token.len + rec->owner.len <= sizeof sight->text;
	if (!sight->clear)
		return;
	sight->ticket = op->sent_ticket;
	sight->record = *rec;
	sight->record.result = SLICE_ABSENT; /* none of the answers shows it */
	sight->record.fp = slice_copy(&at, sight->record.fp);
	sight->record.token = slice_copy(&at, sight->record.token);
	sight->record.owner = slice_copy(&at, sight->record.owner);
	sight->now = op->now;
	sight->sent_ms = op->sent_ms;
}

bool sight_answers(const struct sight *sight, struct op *op, int64_t now_ms)
{
	struct record record;
	struct verdict verdict;
	int64_t now;

	if (!sight->clear || op->ask.verb != ASK_CLAIM || op->ticket > sight->ticket)
		return false;
	now = op_clock(sight->now, sight->sent_ms, now_ms);
	record = sight->record;
	verdict = record_apply(&record, &op->ask, now);
	if (verdict.effect != EFFECT_NONE ||
	    !(verdict.word == WORD_HELD || verdict.word == WORD_MISMATCH || verdict.was == WAS_OWN))
		return false;
	record = sight->record;
	op_decide(op, &record, now);
	op->sent_ms = now_ms;
	return true;
}
