/*
 * rig.h - a store on a loop of its own, for tests: submit calls, wait for their answers.
 *
 * What should never happen in any test (a store that does not open, an op that is not answered within the deadline or twice)
 * is told on stderr and ends the program.
 */
#ifndef CLAIMD_TESTS_RIG_H
#define CLAIMD_TESTS_RIG_H

#include "../server/stores/store.h"

#define MS INT64_C(1000) /* in microseconds, as the asks count */

struct rig;

/* One op and its answer. The rig owns it until rig_forget_calls or rig_close. */
struct call {
	struct op op; /* once answered, its record points to copies */
	bool answered;
	struct call *then; /* submitted from inside the answer of this one, as the engine does */
	struct rig *rig;
	struct call *next;
	char *copies, *key;
};

struct rig *rig_open(const char *url);
/* Closes the store, which must answer every call first; their answers can still be read. */
void rig_close_store(struct rig *rig);
/* Closes the store where that has not been done, and frees everything. */
void rig_close(struct rig *rig);
struct store *rig_store(struct rig *rig);

/* A call that is not submitted yet; key and the slices of the asks must live on. */
struct call *rig_call(struct rig *rig, enum op_kind kind, struct slice key);
void rig_submit(struct call *call);
/* Runs the loop until everything that was submitted is answered. */
void rig_wait(struct rig *rig);
/* One turn of the loop that does not wait; false: everything is answered. */
bool rig_turn(struct rig *rig);
/* Lets go of all calls, which must have been answered. */
void rig_forget_calls(struct rig *rig);

/* Submits one ask and waits. */
struct call *rig_ask(struct rig *rig, struct slice key, struct ask ask);
/* Submits LIST, SWEEP or COUNT and waits. */
struct call *rig_scan(struct rig *rig, enum op_kind kind, struct scan scan);
/* Sleeps for at least so long. */
void rig_pause(int64_t us);
/* Monotonic microseconds. */
int64_t rig_clock_us(void);
/* Deletes a folder and the files in it. */
void rig_remove_folder(const char *path);
/* Ends the program. */
__attribute__((format(printf, 1, 2), noreturn)) void rig_fail(const char *format, ...);

#endif
