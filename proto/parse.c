/*
 * parse.c - reads one line: a request (for the daemon) or a reply or event (for the library).
 *
 * Called with the line and body that frame.c found. One pass over the octets, no copy and no memory: escapes are
 * decoded where they stand, and what is handed out points into the line.
 *
 * A request is held to the table of words to the letter: what is not understood is refused, since an option that is
 * silently ignored may be the one that kept somebody from paying twice. The first thing wrong is the answer; after
 * it only the tag is looked for, which the refusal must carry. A reply is read with goodwill: unknown fields are kept.
 */
#include "proto.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BIT(id) (UINT32_C(1) << OPT_##id)

/* So much of what the peer wrote is repeated in an error. */
enum { SHOWN_OCTETS = 40 };

static int shown(struct slice text)
{
	return (int)(text.len < SHOWN_OCTETS ? text.len : SHOWN_OCTETS);
}

/* ---- tokens ---- */

/* What stands between two spaces. */
struct token {
	char *data;
	size_t len;
	size_t name_len; /* octets before the first "=", or all of them */
	bool escaped;    /* there is a % after the name: decode it */
	bool broken;     /* there is an octet that may not stand raw */
};

/* Does it mean anything to token_next? Controls, space, "%", "=" and DEL do, and most octets do not. */
static bool octet_means(unsigned char octet)
{
	const uint64_t controls = (UINT64_C(1) << ' ') - 1; /* a bit each */

	if (octet >= 64)
		return octet == 0x7F;
	return ((controls | UINT64_C(1) << ' ' | UINT64_C(1) << '%' | UINT64_C(1) << '=') >> octet & 1) != 0;
}

/* The next token of [*at, end); false when there is none. */
static bool token_next(char **at, char *end, struct token *token)
{
	char *p = *at, *equals = NULL;

	while (p < end && *p == ' ')
		p++;
	if (p == end)
		return false;
	*token = (struct token){.data = p};
	for (; p < end; p++) {
		unsigned char octet = (unsigned char)*p;
		if (!octet_means(octet))
			continue;
		if (octet == ' ')
			break;
		if (octet < 0x20 || octet == 0x7F)
			token->broken = true;
		else if (octet == '%')
			token->escaped = true;
		else if (octet == '=' && equals == NULL)
			equals = p;
	}
	token->len = (size_t)(p - token->data);
	token->name_len = equals != NULL ? (size_t)(equals - token->data) : token->len;
	*at = p;
	return true;
}

static bool token_has_equals(const struct token *token)
{
	return token->name_len < token->len;
}

static struct slice token_text(const struct token *token)
{
	return (struct slice){token->data, token->len};
}

static struct slice token_name(const struct token *token)
{
	return (struct slice){token->data, token->name_len};
}

/* What stands behind the "="; there must be one. */
static struct slice token_raw_value(const struct token *token)
{
	return (struct slice){token->data + token->name_len + 1, token->len - token->name_len - 1};
}

/* Decodes `raw`, a part of the token, where it stands. */
static bool token_decode(const struct token *token, struct slice raw, struct slice *out)
{
	*out = raw;
	if (!token->escaped)
		return !token->broken;
	return escape_decode(token->data + (raw.data - token->data), raw.len, &out->len);
}

/* ---- requests ---- */

/* What the walk over a line keeps besides the request itself. */
struct walk {
	struct request *req;
	const struct verb_info *verb;
	uint32_t seen; /* options that stood in the line, flags of 0 too */
	bool body;     /* body= did */
	struct errbuf *err;
};

__attribute__((format(printf, 3, 4))) static enum err refuse(struct errbuf *err, enum err code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	return code;
}

static enum err refuse_raw_octet(struct errbuf *err)
{
	return refuse(err, ERR_SYNTAX, "a control octet in the line: escape it, as %%00 for NUL");
}

static enum err refuse_escape(struct errbuf *err, const char *where)
{
	return refuse(err, ERR_SYNTAX, "bad escape in %s: %% needs two hex digits, %%25 is a %% itself", where);
}

/* An example of each kind of value, for error texts. */
static const char *kind_example(enum option_kind kind)
{
	switch (kind) {
	case KIND_DURATION:
		return "30s (units ms s m h d)";
	case KIND_TTL:
		return "7d (units ms s m h d) or never";
	case KIND_INTEGER:
		return "100 (decimal, below 2^53)";
	case KIND_FLAG:
		return "1 or 0";
	case KIND_BYTES:
	case KIND_CHOICE:
		break;
	}
	return "text";
}

/* `result` is the outcome itself for the verbs that record one, and a wish to see it for STATUS. */
static enum option_kind option_kind(const struct request *req, enum option option)
{
	if (option == OPT_RESULT && req->verb == VERB_STATUS)
		return KIND_FLAG;
	return option_info(option)->kind;
}

/* The choice of that name among those of one option; CHOICE__COUNT when there is none. */
static enum choice choice_find(enum option option, struct slice name)
{
	enum choice choice = 0;

	while (choice < CHOICE__COUNT && !(choice_option(choice) == option && slice_equal(choice_name(choice), name)))
		choice++;
	return choice;
}

static enum err number_check(enum option option, int64_t n, struct errbuf *err)
{
	if (option == OPT_LEASE && (n < 1 || n > PROTO_MAX_LEASE_MS))
		return refuse(err, ERR_BADOPT, "lease is from 1ms to 365d");
	if (option == OPT_TTL && n < 1)
		return refuse(err, ERR_BADOPT, "ttl is 1ms or more, or never");
	if (option == OPT_HOLD && n < 1)
		return refuse(err, ERR_BADOPT, "hold is 1ms or more; without it the lease is yours to renew");
	if (option == OPT_LIMIT && n < 1)
		return refuse(err, ERR_BADOPT, "limit is 1 or more");
	if (option == OPT_PROTO && n != PROTO_VERSION)
		return refuse(err, ERR_BADOPT, "proto=%" PRId64 " is not spoken here: this is version %d", n,
			      PROTO_VERSION);
	return ERR_NONE;
}

static enum err bytes_check(enum option option, struct slice text, struct errbuf *err)
{
	const struct option_info *info = option_info(option);

	if (text.len > info->limit)
		return refuse(err, ERR_TOOLONG, "%s is %zu octets, the limit is %zu", info->name.data, text.len,
			      info->limit);
	if (option == OPT_TOKEN && text.len < PROTO_MIN_TOKEN)
		return refuse(err, ERR_BADOPT, "token needs %d random octets or more", PROTO_MIN_TOKEN);
	if (option == OPT_NS && memchr(text.data, ':', text.len) != NULL)
		return refuse(err, ERR_BADOPT, "no colon in ns: it separates the namespace from the key");
	return ERR_NONE;
}

/* Reads `text`, decoded and not empty, as a value of the option's kind into *value. */
static enum err value_read(enum option option, enum option_kind kind, struct slice text, struct option_value *value,
			   struct errbuf *err)
{
	const char *name = option_info(option)->name.data;
	bool good = true;

	value->number = 0;
	value->text = text;
	switch (kind) {
	case KIND_BYTES:
		return bytes_check(option, text, err);
	case KIND_CHOICE:
		value->number = choice_find(option, text);
		if (value->number == CHOICE__COUNT)
			return refuse(err, ERR_BADOPT, "%s is %s", name, option_info(option)->help);
		return ERR_NONE;
	case KIND_FLAG:
		value->number = text.data[0] == '1';
		if (text.len != 1 || (text.data[0] != '1' && text.data[0] != '0'))
			return refuse(err, ERR_BADOPT, "%s is 1 or 0", name);
		return ERR_NONE;
	case KIND_INTEGER:
		good = integer_parse(text, &value->number);
		break;
	case KIND_DURATION:
	case KIND_TTL:
		good = duration_parse(text, kind == KIND_TTL, &value->number);
		break;
	}
	if (!good)
		return refuse(err, ERR_SYNTAX, "%s=%.*s cannot be read: write %s=%s", name, shown(text), text.data,
			      name, kind_example(kind));
	return number_check(option, value->number, err);
}

/* The option of that name among those with a bit in `mask`; OPT__COUNT when there is none. */
static enum option option_find(uint32_t mask, struct slice name)
{
	for (enum option option = 0; mask != 0; option++, mask >>= 1)
		if ((mask & 1) != 0 && slice_equal(option_info(option)->name, name))
			return option;
	return OPT__COUNT;
}

static enum err refuse_option(const struct walk *walk, struct slice name)
{
	const char *verb = walk->verb->name.data;

	if (option_find(UINT32_MAX >> (32 - OPT__COUNT), name) != OPT__COUNT)
		return refuse(walk->err, ERR_BADOPT, "%s takes no %.*s; HELP %s lists what it takes", verb, shown(name),
			      name.data, verb);
	return refuse(walk->err, ERR_BADOPT, "no option \"%.*s\"; HELP %s lists those of %s", shown(name), name.data,
		      verb, verb);
}

/* One "name=value", or a bare name, which only a flag may be. */
static enum err option_read(struct walk *walk, const struct token *token)
{
	struct slice name = token_name(token), text = SLICE_OF("1");
	struct option_value value;

	if (token->broken)
		return refuse_raw_octet(walk->err);
	if (slice_equal(name, SLICE_OF("body")) && token_has_equals(token)) {
		walk->body = true;
		return ERR_NONE;
	}
	enum option option = option_find(walk->verb->options | BIT(TAG), name);
	if (option == OPT__COUNT)
		return refuse_option(walk, name);
	if ((walk->seen & UINT32_C(1) << option) != 0)
		return refuse(walk->err, ERR_BADOPT, "%s stands twice", option_info(option)->name.data);
	walk->seen |= UINT32_C(1) << option;

	enum option_kind kind = option_kind(walk->req, option);
	if (token_has_equals(token) && !token_decode(token, token_raw_value(token), &text))
		return refuse_escape(walk->err, option_info(option)->name.data);
	if (text.len == 0 || (kind != KIND_FLAG && !token_has_equals(token)))
		return refuse(walk->err, ERR_BADOPT, "%s has no value: give one, or leave it out",
			      option_info(option)->name.data);
	enum err code = value_read(option, kind, text, &value, walk->err);
	if (code != ERR_NONE)
		return code;
	/* A flag of 0 is one that is not there, so that nobody can take the bit for the wish. */
	if (kind == KIND_FLAG && value.number == 0)
		return ERR_NONE;
	walk->req->value[option] = value;
	walk->req->given |= UINT32_C(1) << option;
	return ERR_NONE;
}

/* What stands in the place of the key (or of HELP's word). */
static enum err operand_read(struct walk *walk, const struct token *token)
{
	struct slice key;

	if (token->broken)
		return refuse_raw_octet(walk->err);
	if (token_has_equals(token))
		return refuse(walk->err, ERR_BADKEY,
			      "%.*s stands where the key should: is a variable empty? A = in a key is %%3D",
			      shown(token_text(token)), token->data);
	if (!token_decode(token, token_text(token), &key))
		return refuse_escape(walk->err, "the key");
	if (key.len > PROTO_MAX_KEY)
		return refuse(walk->err, ERR_TOOLONG, "the key is %zu octets, the limit is %d", key.len, PROTO_MAX_KEY);
	if (walk->verb->operand == OPERAND_MAYBE_WORD && verb_find(key) == VERB__COUNT)
		return refuse(walk->err, ERR_BADVERB, "no verb \"%.*s\"; HELP lists them", shown(key), key.data);
	walk->req->key = key;
	return ERR_NONE;
}

/* What a verb cannot do without. */
static enum err needed_check(const struct walk *walk)
{
	static const uint32_t needed[VERB__COUNT] = {
	    [VERB_RENEW] = BIT(FENCE) | BIT(LEASE),
	    [VERB_COMPLETE] = BIT(FENCE),
	    [VERB_FAIL] = BIT(FENCE),
	    [VERB_RELEASE] = BIT(FENCE),
	    [VERB_DOUBT] = BIT(FENCE),
	    [VERB_CHECK] = BIT(FENCE),
	    [VERB_RESOLVE] = BIT(AS),
	};
	uint32_t missing = needed[walk->req->verb] & ~walk->req->given;

	for (enum option option = 0; missing != 0; option++, missing >>= 1)
		if ((missing & 1) != 0)
			return refuse(walk->err, ERR_BADOPT, "%s needs %s=: %s", walk->verb->name.data,
				      option_info(option)->name.data, option_info(option)->help);
	return ERR_NONE;
}

static bool has_choice(const struct request *req, enum choice choice)
{
	enum option option = choice_option(choice);

	return request_has(req, option) && req->value[option].number == choice;
}

/* Options that are good by themselves, and not together or not with this verb. */
static enum err together_check(const struct walk *walk)
{
	const struct request *req = walk->req;
	bool result = walk->body || request_has(req, OPT_RESULT);

	if (has_choice(req, CHOICE_AS_FREE) && (result || request_has(req, OPT_TTL)))
		return refuse(walk->err, ERR_BADOPT, "as=free keeps no result and no ttl: leave them out");
	/* A repeat with the token may come over another connection, which the end of this one must not undo. */
	if (request_has(req, OPT_TOKEN) &&
	    (has_choice(req, CHOICE_DROP_RELEASE) || has_choice(req, CHOICE_DROP_UNKNOWN)))
		return refuse(walk->err, ERR_BADOPT, "drop= ties the claim to this connection: leave out the token");
	/* A holder may have it from a WON without a guard; there is no such record to settle by hand. */
	bool by_hand = req->verb == VERB_RESOLVE || req->verb == VERB_FORGET;
	if (by_hand && request_has(req, OPT_FENCE) && req->value[OPT_FENCE].number == 0)
		return refuse(walk->err, ERR_BADOPT, "fence=0 is the fence of no record: see STATUS");
	return ERR_NONE;
}

/* What only shows when the whole line has been read. */
static enum err request_check(const struct walk *walk)
{
	const struct request *req = walk->req;
	bool result = walk->body || request_has(req, OPT_RESULT);

	if (walk->verb->operand == OPERAND_KEY && req->key.data == NULL)
		return refuse(walk->err, ERR_BADKEY, "%s needs a key", walk->verb->name.data);
	if (walk->body && !walk->verb->body)
		return refuse(walk->err, ERR_BADOPT, "%s takes no body", walk->verb->name.data);
	if (walk->body && request_has(req, OPT_RESULT))
		return refuse(walk->err, ERR_BADOPT, "result= and body= at once: the result comes in one of them");
	if (req->verb == VERB_STATUS && req->key.data == NULL && (result || request_has(req, OPT_WAIT)))
		return refuse(walk->err, ERR_BADKEY, "result and wait need a key: is a variable empty?");
	if (req->verb == VERB_KEY && !walk->body)
		return refuse(walk->err, ERR_BADKEY, "KEY needs a JSON object as its body: body=17");
	enum err code = together_check(walk);
	return code != ERR_NONE ? code : needed_check(walk);
}

/* After something wrong: the tag, if this is one and well formed. */
static void tag_salvage(struct request *req, const struct token *token)
{
	struct option_value value;
	struct errbuf unheard;
	struct slice text;

	if (request_has(req, OPT_TAG) || !token_has_equals(token) ||
	    !slice_equal(token_name(token), option_info(OPT_TAG)->name))
		return;
	if (!token_decode(token, token_raw_value(token), &text) || text.len == 0 ||
	    value_read(OPT_TAG, KIND_BYTES, text, &value, &unheard) != ERR_NONE)
		return;
	req->value[OPT_TAG] = value;
	req->given |= BIT(TAG);
}

static enum err verb_read(struct walk *walk, const struct token *token)
{
	struct slice name = token_text(token);

	if (token->broken)
		return refuse_raw_octet(walk->err);
	walk->req->verb = verb_find(name);
	if (walk->req->verb == VERB__COUNT)
		return refuse(walk->err, ERR_BADVERB, "no verb \"%.*s\"; HELP lists them", shown(name), name.data);
	walk->verb = verb_info(walk->req->verb);
	return ERR_NONE;
}

enum err request_parse(struct request *req, char *line, size_t len, struct slice body, struct errbuf *err)
{
	struct walk walk = {.req = req, .err = err};
	char *at = line, *end = line + len;
	struct token token;

	req->verb = VERB__COUNT;
	req->key = req->body = SLICE_ABSENT;
	req->given = 0;
	if (!token_next(&at, end, &token))
		return refuse(err, ERR_SYNTAX, "an empty line is no request");

	enum err code = verb_read(&walk, &token);
	bool first = true; /* the next token stands where the key would */
	while (token_next(&at, end, &token)) {
		if (code == ERR_NONE) {
			/* Where the operand may be missing, a "=" says that it is. */
			bool operand = first && (walk.verb->operand == OPERAND_KEY ||
						 (walk.verb->operand != OPERAND_NONE && !token_has_equals(&token)));
			code = operand ? operand_read(&walk, &token) : option_read(&walk, &token);
		}
		if (code != ERR_NONE)
			tag_salvage(req, &token);
		first = false;
	}
	if (code == ERR_NONE)
		code = request_check(&walk);
	if (code == ERR_NONE && walk.body)
		req->body = body;
	return code;
}

bool request_has(const struct request *req, enum option option)
{
	return (req->given & UINT32_C(1) << option) != 0;
}

/* ---- replies and events ---- */

/* Word and, for ERR, code; *at then is where the fields start. */
static bool head_read(struct reply *reply, char **at, char *end, struct errbuf *err)
{
	struct token token;
	bool there = token_next(at, end, &token);

	if (there && slice_equal(token_text(&token), SLICE_OF("*"))) {
		reply->event = true;
		there = token_next(at, end, &token);
	}
	if (!there || token.broken || token_has_equals(&token)) {
		err_set(err, "a reply starts with a word");
		return false;
	}
	reply->word = token_text(&token);
	/* Strict about case, and an event's word is never a reply's: neither may pass for a WON. */
	enum word word = word_find(reply->word);
	if (!reply->event && slice_equal(word_name(word), reply->word))
		reply->code = word;
	if (reply->code != WORD_ERR)
		return true;

	char *before = *at;
	reply->err = ERR__COUNT;
	if (!token_next(at, end, &token) || token.broken || token_has_equals(&token)) {
		*at = before; /* a field, and read as one */
		return true;
	}
	reply->err_name = token_text(&token);
	reply->err = err_find(reply->err_name);
	return true;
}

bool reply_parse(struct reply *reply, char *line, size_t len, struct slice body, struct errbuf *err)
{
	char *at = line, *end = line + len;
	struct token token;

	reply->event = false;
	reply->word = reply->err_name = SLICE_ABSENT;
	reply->code = WORD_NONE;
	reply->err = ERR_NONE;
	reply->count = 0;
	reply->body = body;
	if (!head_read(reply, &at, end, err))
		return false;
	while (token_next(&at, end, &token)) {
		struct field field = {token_name(&token), SLICE_OF("1")};
		if (token.broken) {
			err_set(err, "a control octet in the reply");
			return false;
		}
		if (token_has_equals(&token) && !token_decode(&token, token_raw_value(&token), &field.value)) {
			err_set(err, "bad escape in the reply, in %.*s", shown(field.name), field.name.data);
			return false;
		}
		/* body= is framing, and the body is there. */
		if (reply->count < PROTO_MAX_FIELDS && !slice_equal(field.name, SLICE_OF("body")))
			reply->field[reply->count++] = field;
	}
	return true;
}

struct slice reply_field(const struct reply *reply, const char *name)
{
	struct slice wanted = slice_from(name);

	for (size_t i = 0; i < reply->count; i++)
		if (slice_equal(reply->field[i].name, wanted))
			return reply->field[i].value;
	return SLICE_ABSENT;
}

int64_t reply_integer(const struct reply *reply, const char *name, int64_t fallback)
{
	struct slice value = reply_field(reply, name);
	int64_t n;

	if (slice_equal(value, SLICE_OF("never")))
		return PROTO_NEVER;
	return integer_parse(value, &n) ? n : fallback;
}
