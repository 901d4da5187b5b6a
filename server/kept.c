/* kept.c - see kept.h. */
#include "kept.h"

#define DISTANCE_MIN_MS 50
#define DISTANCE_MAX_MS 2000

static size_t weight(const struct op *op)
{
	return sizeof *op + op->key.len + op->ask.token.len + op->ask.result.len;
}

bool kept_worth(const struct op *op)
{
	bool settles = op->ask.verb == ASK_COMPLETE || op->ask.verb == ASK_FAIL;

	if (op->own) /* an undo, or what `drop` asked for */
		settles = op->ask.verb != ASK_RENEW;
	return op->kind == OP_RECORD && settles && (op->result == OP_REFUSED || op->result == OP_UNCERTAIN) &&
	       !op->unreadable;
}

bool kept_add(struct kept *kept, struct op *op, int64_t now_ms, int64_t keep_ms)
{
	if (kept->octets + weight(op) > KEPT_MAX_OCTETS)
		return false;
	op->kept = true;
	op->keep_until_ms = keep_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + keep_ms;
	op->due_next = NULL;
	op->due_prev = kept->last;
	if (kept->last != NULL)
		kept->last->due_next = op;
	else
		kept->first = op;
	kept->last = op;
	kept->count++;
	kept->octets += weight(op);
	if (kept->distance_ms == 0)
		kept_put_off(kept, now_ms);
	return true;
}

void kept_put_off(struct kept *kept, int64_t now_ms)
{
	if (kept->retry_at_ms > now_ms)
		return; /* several came back from one attempt */
	kept->distance_ms = kept->distance_ms == 0 ? DISTANCE_MIN_MS : 2 * kept->distance_ms;
	if (kept->distance_ms > DISTANCE_MAX_MS)
		kept->distance_ms = DISTANCE_MAX_MS;
	kept->retry_at_ms = now_ms + kept->distance_ms;
}

void kept_hurry(struct kept *kept, int64_t now_ms)
{
	kept->distance_ms = 0;
	kept->retry_at_ms = now_ms;
}

void kept_remove(struct kept *kept, struct op *op)
{
	if (op->due_prev != NULL)
		op->due_prev->due_next = op->due_next;
	else
		kept->first = op->due_next;
	if (op->due_next != NULL)
		op->due_next->due_prev = op->due_prev;
	else
		kept->last = op->due_prev;
	kept->count--;
	kept->octets -= weight(op);
}
