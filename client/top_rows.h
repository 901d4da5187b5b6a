/* top_rows.h - what `claim top` has collected: the daemon, and the claims that somebody may want to look at. */
#ifndef CLAIM_TOP_ROWS_H
#define CLAIM_TOP_ROWS_H

#include "../proto/proto.h"

#define TOP_ROWS_MAX 1000 /* of one kind */

/* In the order in which they are shown. */
enum top_kind { TOP_UNKNOWN, TOP_LAPSED, TOP_LIVE, TOP__KINDS };

struct top_row {
	enum top_kind kind;
	int64_t fence, attempts;
	int64_t age_ms, left_ms; /* at seen_ms */
	int64_t lease_ms;        /* the most that was ever seen left of this claim */
	int64_t seen_ms;
	struct slice owner, key; /* owner absent: none */
	char *octets;            /* both; owned */
};

struct top_rows {
	struct top_row *row;
	size_t count, cap;
	size_t of_kind[TOP__KINDS];
	bool more[TOP__KINDS]; /* there are more than are here */
};

/* What the daemon says of itself; numbers are -1 where it does not. */
struct top_daemon {
	char version[32], phase[16], store[64];
	bool store_up;
	int64_t up_ms, connections, waiting, kept;
	int64_t counts_age_ms, done, failed, free; /* what ended is only counted now and then */
	int64_t seen_ms;
};

/* As LIST calls it. */
const char *top_kind_name(enum top_kind kind);

void top_daemon_read(struct top_daemon *daemon, const struct reply *status, int64_t now_ms);

/* One ITEM. False: no memory. */
bool top_rows_add(struct top_rows *rows, enum top_kind kind, const struct reply *item, int64_t now_ms);
/* All are there: takes over from the collection before how long the leases are, and sorts: by kind, the oldest first. */
void top_rows_finish(struct top_rows *rows, const struct top_rows *before);
/* There are more, of whatever kind. */
bool top_rows_more(const struct top_rows *rows);
void top_rows_release(struct top_rows *rows);

#endif
