/*
 * content_key.h - KEY: a key made of the content of a JSON object, the same whatever the order of names, spaces and escapes.
 *
 * A path is names with dots between them and goes through objects only. In a name \. \, \: and \\ stand for the character itself.
 */
#ifndef CLAIMD_SERVER_CONTENT_KEY_H
#define CLAIMD_SERVER_CONTENT_KEY_H

#include "../proto/proto.h"

#define CONTENT_KEY_PATHS 64 /* in one list */

struct content_key_ask {
	struct slice json;
	struct slice fields; /* "id,customer.email": only these; absent: all */
	struct slice except; /* these not */
	struct slice round;  /* "amount:2": digits after the point */
};

/* 64 lower-case hex digits and a NUL. ERR_BADKEY: no key can be made of it; ERR_BADOPT: a list is malformed; ERR_BUSY: no memory; *err
 * says it in words. */
enum err content_key(const struct content_key_ask *ask, char out[65], struct errbuf *err);

#endif
