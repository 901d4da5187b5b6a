/* error.h - inside libclaim: what a reply means as an enum claim_code. */
#ifndef CLAIM_ERROR_H
#define CLAIM_ERROR_H

#include "../proto/proto.h"

int error_from_reply(const struct reply *reply);
/* HELLO was refused with this; ERR_NONE: what answered is no claimd. */
int error_from_hello(enum err refused);

#endif
