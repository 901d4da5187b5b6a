/* key.c - content keys: of JSON by the daemon, which has the one implementation of the canonical form, and of octets here. */
#include "conn.h"

#include <string.h>

#include "../proto/sha256.h"

int claim_key_json(claim_conn *conn, const void *json, size_t json_len, const char *fields, const char *except,
		   const char *round, char out[65])
{
	char line[PROTO_MAX_LINE];
	struct writer w;
	size_t len;
	writer_init(&w, line, sizeof(line));
	request_begin(&w, VERB_KEY, SLICE_ABSENT);
	request_bytes(&w, OPT_FIELDS, slice_from(fields));
	request_bytes(&w, OPT_EXCEPT, slice_from(except));
	request_bytes(&w, OPT_ROUND, slice_from(round));
	if (w.full || !json)
		return conn_fail(conn, CLAIM_E_INVAL, "the lists of paths are too long, or there is no JSON");
	if (conn->disabled) { /* nobody compares it with another one */
		claim_key_bytes(json, json_len, out);
		return CLAIM_OK;
	}
	int code = claim_call(conn, line, w.len, json, json_len);
	if (code != CLAIM_OK)
		return code;
	const char *key = claim_field(conn, "key", &len);
	if (!key || len != 64)
		return conn_fail(conn, CLAIM_E_PROTOCOL, "KEY was answered without a key");
	memcpy(out, key, 65);
	return CLAIM_OK;
}

void claim_key_bytes(const void *data, size_t len, char out[65])
{
	sha256_hex((struct slice){data, len}, out);
}
