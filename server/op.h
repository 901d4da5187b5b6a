/*
 * op.h - one operation on its way through the daemon: dispatch makes it, the engine orders it, a store answers it.
 *
 * One op is one conditional write or one read. Its maker owns it and its memory; the engine and the store only link it
 * into their queues between submit and the answer. Nobody touches it after handing the answer up.
 */
#ifndef CLAIMD_SERVER_OP_H
#define CLAIMD_SERVER_OP_H

#include "alarm.h"
#include "record.h"

enum op_kind {
	OP_RECORD, /* `ask` on the record of `key` */
	OP_LIST,   /* a page of records: `scan` */
	OP_SWEEP,  /* delete what may be deleted: `scan` */
	OP_COUNT   /* walk the store and count, for the metrics */
};

enum op_result {
	OP_PENDING,
	OP_APPLIED,  /* the verdict stands and, where it changes something, is durable */
	OP_LOST,     /* the record said no; the verdict says how, nothing was written */
	OP_REFUSED,  /* surely not applied: the store is down, full, or does not know how; `err` says why */
	OP_UNCERTAIN /* something may have left for the store and no answer came; may or may not be applied */
};

/* What LIST and SWEEP want. */
struct scan {
	struct slice prefix; /* of the whole key, namespace included */
	struct slice cursor; /* absent: from the start */
	struct slice owner;  /* absent: any */
	int state;           /* an enum choice of STATE, -1: any */
	int64_t older;       /* microseconds in its state; 0: any */
	size_t limit;        /* 1 .. 1000 */
	bool dry;            /* SWEEP: count only */
};

struct page_item {
	struct slice key;
	struct record record; /* without its result: a page of them could be large */
};

/* The answer to LIST. One block of memory, from mem_alloc, freed by op_release. */
struct page {
	size_t count;
	struct slice cursor; /* absent: this was the last page */
	struct page_item item[];
};

/* The answer to COUNT. */
struct counts {
	int64_t live, lapsed, done, failed, unknown, free;
	int64_t gone;              /* ended, not swept yet */
	int64_t oldest_unknown_us; /* age; 0: there is none */
};

/* A connection as far as claims may be bound to it: its owner zeroes it, hands it over with CLAIM and RENEW, and
 * says when it ends. */
struct holder {
	struct bond *first;
};

/* What becomes of a claim whose connection ends before a settlement. */
enum drop { DROP_KEEP, DROP_RELEASE, DROP_UNKNOWN };

/* What a CLAIM or RENEW binds to its connection; see bonds.c. */
struct bind {
	struct holder *holder; /* NULL: nothing */
	int64_t hold_ms;       /* the lease is renewed until so long after the win; 0: it is not */
	enum drop drop;        /* CLAIM */
	bool notify;
};

struct slot;

struct op {
	/* asked, set by the maker */
	enum op_kind kind;
	struct slice key; /* whole, namespace in front */
	struct ask ask;
	struct scan scan;
	int64_t wait_ms; /* CLAIM, STATUS: wait for another answer so long; 0: do not */
	struct bind bind;

	/* answered, set by the store before op_done */
	enum op_result result;
	enum err err;      /* OP_REFUSED, OP_UNCERTAIN: ERR_STORE, ERR_BUSY, ERR_TIMEOUT, ERR_INTERNAL */
	bool unreadable;   /* OP_REFUSED: the record is there and cannot be read: retry=no */
	struct errbuf why; /* text for err */
	struct verdict verdict;
	struct record
	    record;  /* as it now reads; its slices live until the answer has been handed up: while op_done runs */
	int64_t now; /* the store's time at which it was decided */
	struct page *page;    /* OP_LIST */
	int64_t deleted;      /* OP_SWEEP */
	bool more;            /* OP_SWEEP: the limit ended it */
	struct counts counts; /* OP_COUNT */

	/* the engine's */
	int64_t deadline_ms;            /* monotonic, as all here */
	struct op *next;                /* in its key's queue */
	struct slot *slot;              /* its key's entry, while it is in one of its queues */
	struct op *due_prev, *due_next; /* among all ops, by deadline */
	bool sent;                      /* the store has it */
	int64_t sent_ms;                /* since when, the last time */
	bool late;             /* its maker was told ERR timeout, and the answer is not for the client any more */
	bool kept;             /* a settlement that is, or was, tried until the store takes it; see kept.h */
	int64_t keep_until_ms; /* kept: given up then; monotonic */
	bool doubted;          /* an earlier attempt of a call that waits was uncertain */
	bool parked;           /* waits in its slot; see waiters.c */
	int64_t wait_until_ms; /* 0: it does not wait any more */
	struct alarm wait;     /* set while it is parked */
	uint64_t ticket;       /* its place in the order of arrival */
	uint64_t sent_ticket;  /* the newest one that had been given when the store was asked, the last time */
	struct bond *bond;     /* made ready for the win, so that memory is there when it comes */
	bool told_lost;        /* it showed that a bound claim is lost, and who holds that was told */
	bool own;              /* made by the engine itself: an undo, a renewal, what `drop` asked for */

	/* the store's */
	int64_t store_us; /* while it has the op: since when; afterwards: how long it took */
	struct op *store_next;
	void *store_mem; /* memory that record's slices point to; freed by op_release */
};

/* All fields empty, kind and key as given. */
void op_init(struct op *op, enum op_kind kind, struct slice key);
/* Frees what stores hung on it, not the op itself. */
void op_release(struct op *op);

/* For stores: the answer to OP_RECORD from the table; sets result, verdict, record and now. */
void op_decide(struct op *op, struct record *rec, int64_t now);
/* For stores and store.c: surely not applied / nobody knows. The format is the reason, for a person. */
__attribute__((format(printf, 3, 4))) void op_refuse(struct op *op, enum err err, const char *format, ...);
__attribute__((format(printf, 3, 4))) void op_doubt(struct op *op, enum err err, const char *format, ...);
/* An op that was sent at sent_ms was decided when the store's clock showed `now`: what that shows at at_ms, at the latest. */
int64_t op_clock(int64_t now, int64_t sent_ms, int64_t at_ms);
/* The op only reads: it needs no writer. */
bool op_reads(const struct op *op);

#endif
