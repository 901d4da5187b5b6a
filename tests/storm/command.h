/*
 * command.h - those who do not speak the protocol: `claim run` with a command that is an effect.
 *
 * storm.c gives each a seat. One starts `claim run` over and over, and stops or kills it now and then; the command is the storm's
 * own program, which writes down that it has been given the key, and the effect.
 */
#ifndef CLAIMD_TESTS_STORM_COMMAND_H
#define CLAIMD_TESTS_STORM_COMMAND_H

#include "worker.h"

/* Until the storm is over. `program` is this program, `sink_path` its sink. */
void command_run(struct storm *storm, struct client *client, const char *program, const char *sink_path);
/* The command: `storm --effect SINK KEY TTL_MS LEASE_MS ASKED_US WORK_MS`. Returns its exit status. */
int command_effect(char **args);

#endif
