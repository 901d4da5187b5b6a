/*
 * error.c - the codes of libclaim: from a reply, and to words. Called by sync.c and users of the library.
 */
#include "claim.h"
#include "error.h"

int error_from_reply(const struct reply *reply)
{
	static const int words[WORD__COUNT] = {
	    [WORD_NONE] = CLAIM_OTHER,        [WORD_WON] = CLAIM_WON,         [WORD_HELD] = CLAIM_HELD,
	    [WORD_DONE] = CLAIM_DONE,         [WORD_FAILED] = CLAIM_FAILED,   [WORD_MISMATCH] = CLAIM_MISMATCH,
	    [WORD_UNKNOWN] = CLAIM_UNKNOWN,   [WORD_OK] = CLAIM_OK,           [WORD_STALE] = CLAIM_STALE,
	    [WORD_NOTFOUND] = CLAIM_NOTFOUND, [WORD_STATUS] = CLAIM_STATUS,   [WORD_ITEM] = CLAIM_ITEM,
	    [WORD_END] = CLAIM_END,           [WORD_ERR] = CLAIM_E_UNCERTAIN,
	};
	if (reply->code != WORD_ERR)
		return words[reply->code];
	if (reply->err == ERR_DENIED)
		return CLAIM_E_DENIED;
	/* What the daemon says of this very answer counts more than what its code usually means. */
	struct slice retry = reply_field(reply, "retry");
	if (slice_equal(retry, SLICE_OF("safe")))
		return CLAIM_E_REFUSED;
	if (!slice_equal(retry, SLICE_OF("no")))
		return CLAIM_E_UNCERTAIN;
	return reply->err == ERR_STORE ? CLAIM_E_REFUSED : CLAIM_E_INVAL;
}

int error_from_hello(enum err refused)
{
	if (refused == ERR_NONE)
		return CLAIM_E_PROTOCOL;
	return refused == ERR_DENIED ? CLAIM_E_DENIED : CLAIM_E_INVAL;
}

const char *claim_strerror(int code)
{
	switch (code) {
	case CLAIM_OK:
		return "ok";
	case CLAIM_WON:
		return "won: the work is yours";
	case CLAIM_HELD:
		return "held by somebody else";
	case CLAIM_DONE:
		return "done before";
	case CLAIM_FAILED:
		return "burned: it will never be done";
	case CLAIM_MISMATCH:
		return "the key was used for another request";
	case CLAIM_UNKNOWN:
		return "nobody knows whether it was done";
	case CLAIM_STALE:
		return "not yours any more";
	case CLAIM_NOTFOUND:
		return "there is no such record";
	case CLAIM_STATUS:
		return "a record";
	case CLAIM_ITEM:
		return "a record of a list";
	case CLAIM_END:
		return "the end of a list";
	case CLAIM_EVENT:
		return "an event";
	case CLAIM_OTHER:
		return "an answer that this library does not know";
	case CLAIM_E_NOMEM:
		return "no memory";
	case CLAIM_E_INVAL:
		return "the request is wrong";
	case CLAIM_E_DENIED:
		return "not allowed";
	case CLAIM_E_UNREACHABLE:
		return "the daemon is not there";
	case CLAIM_E_REFUSED:
		return "the daemon could not do it; nothing was done";
	case CLAIM_E_UNCERTAIN:
		return "no certain answer: it may have been done";
	case CLAIM_E_PROTOCOL:
		return "the other end does not speak this protocol";
	case CLAIM_E_FORKED:
		return "the connection belongs to the parent process";
	default:
		return "an unknown code";
	}
}
