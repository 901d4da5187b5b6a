/*
 * help.h - the text of HELP, made from the table of words.
 */
#ifndef CLAIMD_SERVER_HELP_H
#define CLAIMD_SERVER_HELP_H

#include "../proto/proto.h"

#define HELP_MAX 8192 /* octets that it can ever have */

/* A verb with its options; VERB__COUNT: all verbs. */
void help_write(struct writer *w, enum verb verb);

#endif
