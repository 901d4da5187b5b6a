/*
 * content_key.h - KEY: a key made of the content of a JSON object, the same whatever the order of names, spaces and escapes.
 *
 * A path is names with dots between them, and leads through objects only, not into arrays. In a name \. \, \: and \\ stand for
 * the character itself; a member whose name is empty cannot be named. No path may be the same as another one of its list, or
 * lie inside of it.
 */
#ifndef CLAIMD_SERVER_CONTENT_KEY_H
#define CLAIMD_SERVER_CONTENT_KEY_H

#include "../proto/proto.h"

#define CONTENT_KEY_PATHS 64 /* in one list */

struct content_key_ask {
	struct slice json;
	struct slice fields; /* "id,customer.email": only these, each must be there; absent: all */
	struct slice except; /* of what fields left, these not; they may be missing */
	struct slice round;  /* "amount:2": digits after the point of numbers that are left */
};

/*
 * 64 lower-case hex digits and a NUL. ERR_BADKEY: no key can be made of it; ERR_TOOBIG: it is above PROTO_MAX_JSON; ERR_BADOPT:
 * a list is malformed; ERR_BUSY: no memory. *err says what to do about it.
 *
 * Not for two threads at a time: the hooks of cJSON are of the whole process. Nothing else in the daemon uses cJSON.
 */
enum err content_key(const struct content_key_ask *ask, char out[65], struct errbuf *err);

#endif
