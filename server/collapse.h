/*
 * collapse.h - a hot key: CLAIMs that wait behind one of the same key are answered from the record that it came back with, so that
 * many of them cost one operation of the store.
 *
 * Only those that were there when the store was asked, so that nobody hears of a time before the own question; and only where the
 * table says HELD or MISMATCH, or finds the claim's own token under a lease that still runs: nothing of that changes the record, and
 * nobody is let to work by it who was not before. The engine calls this; nothing here allocates.
 */
#ifndef CLAIMD_SERVER_COLLAPSE_H
#define CLAIMD_SERVER_COLLAPSE_H

#include "op.h"

/* What the answer to a CLAIM showed. The octets are its own: it outlives the op. */
struct sight {
	bool clear;      /* else nothing can be answered from it */
	uint64_t ticket; /* nobody who came after this one: it may have been decided before they asked */
	struct record record;
	int64_t now, sent_ms; /* the op's */
	char text[320];       /* of fp, token and owner, as long as words.def lets them be */
};

/* The op is answered, and not yet released. */
void sight_take(struct sight *sight, const struct op *op);
/* True: it has answered this one; the slices of its record last as long as *sight. */
bool sight_answers(const struct sight *sight, struct op *op, int64_t now_ms);

#endif
