/*
 * worker.h - who claims, and what all processes of a storm share.
 *
 * storm.c forks workers, which take keys until the storm is over or somebody kills them, and one resolver (resolver.c), which
 * settles what is in doubt by asking the sink.
 */
#ifndef CLAIMD_TESTS_STORM_WORKER_H
#define CLAIMD_TESTS_STORM_WORKER_H

#include "client.h"

#define SLOTS 22
#define SLOTS_BOUND 10 /* the last ones: their claims are held, or dropped with the connection */
#define SEATS_MAX 128

enum phase { PHASE_STORM, PHASE_AUDIT, PHASE_OVER };

/* Shared memory. A slot stands for a stream of occurrences: its keys are told apart by a generation, which moves on when one is
 * settled, while the older ones are delivered on and on. */
struct storm {
	atomic_int phase;
	atomic_uint generation[SLOTS];
	atomic_llong kills;   /* of daemons by workers */
	atomic_llong flooded; /* octets that were no requests, or whose answers nobody reads */
	/* For a while nothing happens to daemons, so that what takes longer than they live happens too. */
	atomic_int calm;
	/* Of each worker: when the driver must wake it, which has stopped itself; 0: it runs. */
	_Atomic int64_t wake_us[SEATS_MAX];
};

/* Fills in key and ttl. */
void key_name(struct event *ask, unsigned slot, unsigned generation);

void worker_run(struct storm *storm, struct client *client, int seat);
/* Follows the sink at this path. Until the storm and its audit are over. */
void resolver_run(struct storm *storm, struct client *client, const char *sink_path);
/* Claims every key there was once more, and does the work where it can be had. False: one of them cannot be had in time. */
bool audit_run(struct storm *storm, struct client *client);

#endif
