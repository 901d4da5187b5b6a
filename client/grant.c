/*
 * grant.c - the lines that are about a claim: CLAIM with its options, and what its holder says. For sync.c and async.c.
 */
#include "conn.h"

#include <string.h>

#include "../proto/mem.h"

/* token NULL: made here; "": the claim has none. */
static claim_grant *grant_new(const void *key, size_t key_len, const char *token)
{
	claim_grant *grant = mem_zero(sizeof(*grant) + key_len);
	if (!grant)
		return NULL;
	memcpy(grant->key, key, key_len);
	grant->key_len = key_len;
	if (token)
		memcpy(grant->token, token, strlen(token)); /* options_take has seen to its length */
	else if (!link_token(grant->token)) {
		mem_free(grant);
		return NULL;
	}
	return grant;
}

static void options_write(struct writer *w, const struct claim_options *options)
{
	static const enum choice drops[] = {
	    [CLAIM_DROP_RELEASE] = CHOICE_DROP_RELEASE, [CLAIM_DROP_UNKNOWN] = CHOICE_DROP_UNKNOWN};
	static const struct {
		enum option option;
		size_t at;
	} times[] = {{OPT_LEASE, offsetof(struct claim_options, lease_ms)},
		     {OPT_WAIT, offsetof(struct claim_options, wait_ms)},
		     {OPT_ATLEAST, offsetof(struct claim_options, atleast_ms)},
		     {OPT_HOLD, offsetof(struct claim_options, hold_ms)}};
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		int64_t ms;
		memcpy(&ms, (const char *)options + times[i].at, sizeof(ms));
		if (ms)
			request_duration(w, times[i].option, ms);
	}
	if (options->ttl_ms)
		request_duration(w, OPT_TTL, options->ttl_ms == CLAIM_NEVER ? PROTO_NEVER : options->ttl_ms);
	request_bytes(w, OPT_FP, slice_from(options->fp));
	request_bytes(w, OPT_OWNER, slice_from(options->owner));
	if (options->lapse_unknown)
		request_choice(w, CHOICE_LAPSE_UNKNOWN);
	if (options->drop != CLAIM_DROP_KEEP)
		request_choice(w, drops[options->drop]);
	if (options->notify)
		request_flag(w, OPT_NOTIFY);
}

/* A copy of what the caller gave, who may have been built with a shorter struct. False: something in it is wrong, which
 * the daemon could not tell from another mistake. */
static bool options_take(const struct claim_options *given, struct claim_options *options)
{
	*options = (struct claim_options)CLAIM_OPTIONS_INIT;
	if (!given)
		return true;
	if (given->size < offsetof(struct claim_options, wait_ms) || given->size > sizeof(*options))
		return false;
	memcpy(options, given, given->size);
	size_t token = options->token ? strlen(options->token) : PROTO_MIN_TOKEN;
	bool dropped = options->drop != CLAIM_DROP_KEEP;
	return options->lease_ms >= 0 && options->ttl_ms >= 0 && options->wait_ms >= 0 && options->atleast_ms >= 0 &&
	       options->hold_ms >= 0 && options->drop >= CLAIM_DROP_KEEP && options->drop <= CLAIM_DROP_UNKNOWN &&
	       !(dropped && options->token) && token >= PROTO_MIN_TOKEN && token <= option_info(OPT_TOKEN)->limit &&
	       !(options->fp && !*options->fp) && !(options->owner && !*options->owner);
}

int64_t grant_wait_ms(const struct claim_options *given)
{
	struct claim_options options;
	return options_take(given, &options) ? options.wait_ms : 0;
}

int grant_claim_line(struct writer *w, struct slice key, const struct claim_options *given, claim_grant **out)
{
	struct claim_options options;
	if (key.len == 0 || key.len > PROTO_MAX_KEY || !options_take(given, &options))
		return CLAIM_E_INVAL;
	claim_grant *grant = grant_new(key.data, key.len, options.drop == CLAIM_DROP_KEEP ? options.token : "");
	if (!grant)
		return CLAIM_E_NOMEM;
	grant->hold_ms = options.hold_ms;
	grant->notify = options.notify != 0;
	request_begin(w, VERB_CLAIM, key);
	options_write(w, &options);
	if (grant->token[0])
		request_bytes(w, OPT_TOKEN, slice_from(grant->token));
	if (w->full) {
		mem_free(grant);
		return CLAIM_E_INVAL;
	}
	*out = grant;
	return CLAIM_OK;
}

int grant_won(claim_conn *conn, int code, claim_grant *grant)
{
	if (code != CLAIM_WON)
		return code;
	grant->fence = claim_number(conn, "fence", -1);
	/* Only a win that says so may be unguarded. */
	if (grant->fence < 0 || (grant->fence == 0 && claim_number(conn, "guarded", 1) != 0))
		return conn_fail(conn, CLAIM_E_PROTOCOL, "WON came without a fence");
	return code;
}

void grant_line(struct writer *w, const claim_grant *grant, enum verb verb, int64_t lease_ms)
{
	request_begin(w, verb, (struct slice){grant->key, grant->key_len});
	request_integer(w, OPT_FENCE, grant->fence);
	if (grant->token[0] && grant->fence > 0)
		request_bytes(w, OPT_TOKEN, slice_from(grant->token));
	if (verb != VERB_RENEW)
		return;
	request_duration(w, OPT_LEASE, lease_ms);
	if (grant->hold_ms && grant->fence > 0)
		request_duration(w, OPT_HOLD, grant->hold_ms);
	if (grant->notify && grant->fence > 0)
		request_flag(w, OPT_NOTIFY);
}

void claim_grant_free(claim_grant *grant)
{
	mem_free(grant);
}

int64_t claim_grant_fence(const claim_grant *grant)
{
	return grant->fence;
}

const char *claim_grant_token(const claim_grant *grant)
{
	return grant->token;
}

int claim_unguarded(const claim_grant *grant)
{
	return grant->fence == 0;
}
