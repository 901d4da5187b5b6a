/*
 * start_check.h - could the daemon start with these settings, as far as looking can tell?
 *
 * Called by main.c, for --check-config and before each start, so that both say the same. Makes and changes nothing: it may be
 * asked while a daemon runs.
 */
#ifndef CLAIMD_SERVER_START_CHECK_H
#define CLAIMD_SERVER_START_CHECK_H

#include "conf.h"

/* Adds to *faults what is in the way. Settings that were refused already are left out. */
void start_check(const struct conf *conf, struct faults *faults);

#endif
