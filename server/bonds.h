/*
 * bonds.h - claims that are bound to a connection: by hold (the daemon renews the lease), by drop (what becomes of the claim
 * when the connection ends), by notify (the connection is told what happens to it). Part of the engine, which calls all this.
 *
 * A bond hangs in the slot of its key and in the list of its holder. It ends with the claim, or with the connection.
 */
#ifndef CLAIMD_SERVER_BONDS_H
#define CLAIMD_SERVER_BONDS_H

#include "engine.h"

struct slot;

struct bond {
	struct slice key; /* the octets are behind the struct */
	int64_t fence;
	struct holder *holder;
	struct bond *prev, *next; /* of its holder */
	struct slot *slot;
	struct bond *beside; /* on the same claim, of another connection */
	int64_t lease_ms;    /* what a renewal asks for */
	enum drop drop;
	bool notify;
	bool renewing;         /* a renewal is under way */
	int64_t asked_ms;      /* when the first renewal since the last confirmation was asked for; 0: none was */
	int64_t hold_until_ms; /* monotonic, as all here; 0: the lease is not renewed */
	int64_t sure_until_ms; /* the lease as it was last confirmed, counted from when it was asked for */
	int64_t retry_at_ms;   /* a renewal has failed: not again before */
	struct alarm due; /* the next renewal, or when it is too late for one; always set, so that it needs no memory */
};

/* For an op that binds something: memory for its bond, should it be granted. False: none. */
bool bonds_prepare(struct engine *engine, struct op *op);
/* Its connection has gone, or it was not granted. */
void bonds_unprepare(struct engine *engine, struct op *op);
/* A settlement has come in: whatever its end, `drop` says no more. */
void bonds_received(struct slot *slot, const struct op *op);
/* The store has answered an op of this key: what we know is confirmed, or over. */
void bonds_see(struct engine *engine, struct slot *slot, struct op *op, int64_t now_ms);
/* The op is going to be answered: what it was granted is tied to its connection. */
void bonds_tie(struct engine *engine, struct slot *slot, struct op *op);
/* This win is taken back: nothing is told. */
void bonds_forget(struct engine *engine, struct slot *slot, int64_t fence);
/* The connection has ended. */
void bonds_part(struct engine *engine, struct holder *holder, int64_t now_ms);
void bonds_tick(struct engine *engine, int64_t now_ms);
int64_t bonds_next(const struct engine *engine);

#endif
