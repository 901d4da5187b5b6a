/* owner.h - who holds a claim, for people. */
#ifndef CLAIM_OWNER_H
#define CLAIM_OWNER_H

#include <sys/types.h>

#include "../proto/text.h"

/* "host:pid" */
struct slice owner_default(char *data, size_t size, pid_t pid);

#endif
