/*
 * help.h - the text of HELP, made from the table of words.
 */
#ifndef CLAIMD_SERVER_HELP_H
#define CLAIMD_SERVER_HELP_H

#include "../proto/proto.h"

#define HELP_MAX 8192 /* octets that it can ever have */

/* All verbs, or with a name (any case) that verb and its options. False: there is no such verb. */
bool help_write(struct writer *w, struct slice name);

#endif
