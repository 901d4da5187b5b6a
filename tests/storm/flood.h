/*
 * flood.h - clients that are none: they send what is no request, half of one, or requests whose answers they never read. Whatever
 * they do, the others must be served, and nothing that was promised is broken.
 */
#ifndef CLAIMD_TESTS_STORM_FLOOD_H
#define CLAIMD_TESTS_STORM_FLOOD_H

#include "worker.h"

/* Until the storm is over. */
void flood_run(struct storm *storm, struct client *client);

#endif
