/*
 * history_mirror.c - what a store must have answered, from the table of transitions and the store's own time.
 */
#include "history.h"

struct ask mirror_ask(const struct mirror *mirror, const struct step *step)
{
	const struct mirror_key *key = &mirror->key[step->key];
	struct ask ask = step->ask;

	switch (step->fence) {
	case FENCE_NOW:
		ask.fence = key->rec.fence;
		break;
	case FENCE_BELOW:
		ask.fence = key->rec.fence - 1;
		break;
	case FENCE_ABOVE:
		ask.fence = key->rec.fence + 1;
		break;
	case FENCE_OLD:
		ask.fence = key->old;
		break;
	case FENCE_NONE:
		break;
	}
	if (ask.fence < 1 && step->fence != FENCE_NONE)
		ask.fence = 1; /* the holder's verbs always have one */
	return ask;
}

/* ---- comparing ---- */

static bool same_number(const char *what, int64_t got, int64_t want, struct errbuf *err)
{
	if (got == want)
		return true;
	err_set(err, "%s is %lld, not %lld", what, (long long)got, (long long)want);
	return false;
}

static bool same_text(const char *what, struct slice got, struct slice want, struct errbuf *err)
{
	if ((got.data == NULL) == (want.data == NULL) && slice_equal(got, want))
		return true;
	err_set(err, "%s is %s of %zu octets, not %s of %zu", what, got.data ? "one" : "absent", got.len,
		want.data ? "one" : "absent", want.len);
	return false;
}

static bool same_record(const struct record *got, const struct record *want, struct errbuf *err)
{
	if (got->state == STATE_ABSENT && want->state == STATE_ABSENT)
		return true;
	return same_number("state", got->state, want->state, err) &&
	       same_number("fence", got->fence, want->fence, err) &&
	       same_number("lapse", got->lapse, want->lapse, err) &&
	       same_number("attempts", got->attempts, want->attempts, err) &&
	       same_number("lease_until", got->lease_until, want->lease_until, err) &&
	       same_number("ttl", got->ttl, want->ttl, err) &&
	       same_number("keep_until", got->keep_until, want->keep_until, err) &&
	       same_number("earliest", got->earliest, want->earliest, err) &&
	       same_number("created", got->created, want->created, err) &&
	       same_number("updated", got->updated, want->updated, err) && same_text("fp", got->fp, want->fp, err) &&
	       same_text("token", got->token, want->token, err) && same_text("owner", got->owner, want->owner, err) &&
	       same_text("result", got->result, want->result, err);
}

static bool same_word(enum word got, enum word want, struct errbuf *err)
{
	if (got == want)
		return true;
	err_set(err, "the answer is %s, not %s", word_name(got).data, word_name(want).data);
	return false;
}

/* ---- one record ---- */

static bool check_ask(struct mirror *mirror, const struct step *step, const struct op *op, struct errbuf *err)
{
	struct mirror_key *key = &mirror->key[step->key];
	struct ask ask = mirror_ask(mirror, step);
	struct record rec = key->rec;
	struct verdict want = record_apply(&rec, &ask, op->now);
	bool yes = want.word == WORD_WON || want.word == WORD_OK || want.word == WORD_STATUS;

	mirror->words[want.word]++;
	mirror->was[want.was]++;
	if (want.effect != EFFECT_NONE)
		key->rec = rec; /* what it points to are the static texts of the steps */
	if (!same_word(op->verdict.word, want.word, err) || !same_number("err", op->verdict.err, want.err, err) ||
	    !same_number("after_ms", op->verdict.after_ms, want.after_ms, err) ||
	    !same_number("was", op->verdict.was, want.was, err) ||
	    !same_number("result", op->result, yes ? OP_APPLIED : OP_LOST, err) || !same_record(&op->record, &rec, err))
		return false;
	if (want.word == WORD_WON && want.was != WAS_OWN) {
		if (rec.fence <= key->highest) {
			err_set(err, "fence %lld was granted, and %lld before it", (long long)rec.fence,
				(long long)key->highest);
			return false;
		}
		key->old = key->highest;
		key->highest = rec.fence;
	}
	return true;
}

/* ---- walks ---- */

static bool shown_as(const struct record *rec, int choice, int64_t now)
{
	bool lapsed = record_lapsed(rec, now);

	if (rec->state == STATE_ABSENT || record_gone(rec, now))
		return false;
	if (choice == CHOICE_STATE_LIVE)
		return rec->state == STATE_CLAIMED && !lapsed;
	if (choice == CHOICE_STATE_LAPSED)
		return lapsed && rec->lapse == LAPSE_RECLAIM;
	if (choice == CHOICE_STATE_DONE)
		return rec->state == STATE_DONE;
	if (choice == CHOICE_STATE_FAILED)
		return rec->state == STATE_FAILED;
	if (choice == CHOICE_STATE_UNKNOWN)
		return rec->state == STATE_UNKNOWN || (lapsed && rec->lapse == LAPSE_UNKNOWN);
	if (choice == CHOICE_STATE_FREE)
		return rec->state == STATE_FREE;
	return true;
}

static bool listed(const struct record *rec, const struct scan *scan, int64_t now)
{
	return shown_as(rec, scan->state, now) &&
	       (!scan->owner.data || (rec->owner.data && slice_equal(rec->owner, scan->owner))) &&
	       (!scan->older || now - rec->updated >= scan->older);
}

static bool in_order(const struct page *page, size_t i, const struct scan *scan)
{
	if (i == 0)
		return true;
	if (scan->state == CHOICE_STATE_UNKNOWN)
		return page->item[i - 1].record.updated <= page->item[i].record.updated;
	return slice_compare(page->item[i - 1].key, page->item[i].key) < 0;
}

static bool check_list(struct mirror *mirror, const struct step *step, const struct op *op, struct errbuf *err)
{
	int64_t found = 0, want = 0;
	size_t i;
	int k;

	for (k = 0; k < HISTORY_KEYS; k++) {
		const struct record *rec = &mirror->key[k].rec;

		want += listed(rec, &step->scan, op->now);
		for (i = 0; i < op->page->count; i++) {
			struct record shown = *rec;

			if (!slice_equal(op->page->item[i].key, mirror->key_name(k)))
				continue;
			shown.result = SLICE_ABSENT;
			found++;
			if (!listed(rec, &step->scan, op->now)) {
				err_set(err, "key %d is listed", k);
				return false;
			}
			if (!same_record(&op->page->item[i].record, &shown, err)) {
				err_prefix(err, "of key %d in the list", k);
				return false;
			}
		}
	}
	for (i = 0; i < op->page->count; i++) {
		if (!in_order(op->page, i, &step->scan)) {
			err_set(err, "the list is not in order");
			return false;
		}
	}
	return same_number("records listed", found, want, err) &&
	       same_number("records in the page", (int64_t)op->page->count, want, err) &&
	       same_number("cursor", op->page->cursor.data != NULL, 0, err);
}

/* A store may have deleted some by itself before. */
static bool check_sweep(struct mirror *mirror, const struct op *op, struct errbuf *err)
{
	int64_t most = 0;
	int k;

	for (k = 0; k < HISTORY_KEYS; k++)
		most += record_sweepable(&mirror->key[k].rec, op->now);
	if (op->deleted < 0 || op->deleted > most) {
		err_set(err, "%lld were swept, and no more than %lld may be", (long long)op->deleted, (long long)most);
		return false;
	}
	return same_number("more", op->more, false, err);
}

static bool check_count(struct mirror *mirror, const struct op *op, struct errbuf *err)
{
	int64_t number[6] = {0}, oldest = 0, gone = 0;
	static const int choices[6] = {CHOICE_STATE_LIVE,   CHOICE_STATE_LAPSED,  CHOICE_STATE_DONE,
				       CHOICE_STATE_FAILED, CHOICE_STATE_UNKNOWN, CHOICE_STATE_FREE};
	int k, i;

	for (k = 0; k < HISTORY_KEYS; k++) {
		const struct record *rec = &mirror->key[k].rec;

		for (i = 0; i < 6; i++)
			number[i] += shown_as(rec, choices[i], op->now);
		if (shown_as(rec, CHOICE_STATE_UNKNOWN, op->now) && op->now - rec->updated > oldest)
			oldest = op->now - rec->updated;
		gone += record_gone(rec, op->now);
	}
	if (op->counts.gone > gone) {
		err_set(err, "%lld are counted as gone, and %lld may be", (long long)op->counts.gone, (long long)gone);
		return false;
	}
	return same_number("live", op->counts.live, number[0], err) &&
	       same_number("lapsed", op->counts.lapsed, number[1], err) &&
	       same_number("done", op->counts.done, number[2], err) &&
	       same_number("failed", op->counts.failed, number[3], err) &&
	       same_number("unknown", op->counts.unknown, number[4], err) &&
	       same_number("free", op->counts.free, number[5], err) &&
	       same_number("age of the oldest unknown", op->counts.oldest_unknown_us, oldest, err);
}

bool mirror_check(struct mirror *mirror, const struct step *step, const struct op *op, struct errbuf *err)
{
	if (op->result != OP_APPLIED && op->result != OP_LOST) {
		err_set(err, "refused: %s", op->why.text);
		return false;
	}
	if (step->kind == STEP_LIST)
		return check_list(mirror, step, op, err);
	if (step->kind == STEP_SWEEP)
		return check_sweep(mirror, op, err);
	if (step->kind == STEP_COUNT)
		return check_count(mirror, op, err);
	return check_ask(mirror, step, op, err);
}
