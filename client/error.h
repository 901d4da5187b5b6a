/* error.h - inside libclaim: what a reply means as an enum claim_code. */
#ifndef CLAIM_ERROR_H
#define CLAIM_ERROR_H

#include "../proto/proto.h"

int error_from_reply(const struct reply *reply);

#endif
