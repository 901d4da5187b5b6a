/*
 * cli_args.c - the options of the command and how a command line is read. Called by cli.c.
 *
 * Strict, since a slip must not cost somebody a second order: unknown, doubled and empty options are refused,
 * nothing is abbreviated, and `run` and `lock` want "--" between the key and the command, so that an empty variable
 * in the key's place cannot turn the command into the key.
 */
#include <string.h>

#include "cli.h"
#include "cli_near.h"

#define NONE OPT__COUNT

static const struct arg_info arg_table[ARG__COUNT] = {
    [ARG_LEASE] = {"lease", ARG_KIND_DURATION, OPT_LEASE, "D",
		   "nobody else is given the key for so long (run, lock: 30s, renewed; else 15m)"},
    [ARG_TTL] = {"ttl", ARG_KIND_TTL, OPT_TTL, "D|never", "how long the outcome holds later claims off (7d)"},
    [ARG_HOLD] = {"hold", ARG_KIND_DURATION, NONE, "D", "renew the lease for so long at most (24h)"},
    [ARG_NO_HOLD] = {"no-hold", ARG_KIND_FLAG, NONE, NULL, "do not renew the lease: the command must end within it"},
    [ARG_LAPSE] = {"lapse", ARG_KIND_CHOICE, OPT_LAPSE, "reclaim|unknown",
		   "what it means when the holder vanishes: try again, or nobody knows"},
    [ARG_FP] = {"fp", ARG_KIND_TEXT, OPT_FP, "TEXT",
		"fingerprint of the request; another one under the same key is a mismatch"},
    [ARG_FP_FILE] = {"fp", ARG_KIND_TEXT, NONE, "FILE|-",
		     "fingerprint this file; -: standard input, which the command then gets"},
    [ARG_OWNER] = {"owner", ARG_KIND_TEXT, OPT_OWNER, "TEXT", "who holds it, for people (host:pid)"},
    [ARG_SAVE_OUTPUT] = {"save-output", ARG_KIND_SIZE, NONE, "SIZE",
			 "record standard output for duplicates, when it is not above SIZE (64k)"},
    [ARG_FAIL_ON] = {"fail-on", ARG_KIND_TEXT, NONE, "CODES", "these exit codes burn the key: 2,65,100-110"},
    [ARG_MAX_ATTEMPTS] = {"max-attempts", ARG_KIND_INTEGER, NONE, "N",
			  "burn the key instead of running it once more after N attempts"},
    [ARG_KILL_AFTER] = {"kill-after", ARG_KIND_DURATION, NONE, "D",
			"from TERM to KILL when the command must end (10s)"},
    [ARG_TIMEOUT] = {"timeout", ARG_KIND_DURATION, NONE, "D", "end the command after so long"},
    [ARG_WAIT] = {"wait", ARG_KIND_MAYBE_DURATION, OPT_WAIT, "D",
		  "wait for a key that somebody holds, so long at most (for ever)"},
    [ARG_DROP] = {"drop", ARG_KIND_CHOICE, OPT_DROP, "keep|release|unknown",
		  "what becomes of the claim when the connection to the daemon ends first"},
    [ARG_RECONCILE] = {"reconcile", ARG_KIND_TEXT, NONE, "CMD",
		       "where nobody knows: ask CMD, a line for /bin/sh (0 it was done, 1 it was not)"},
    [ARG_FP_ARGS] = {"fp-args", ARG_KIND_FLAG, NONE, NULL, "fingerprint the command and its arguments"},
    [ARG_HELD_EXIT] = {"held-exit", ARG_KIND_INTEGER, NONE, "0..255", "exit so when somebody else holds the key (75)"},
    [ARG_DUPLICATE_EXIT] = {"duplicate-exit", ARG_KIND_INTEGER, NONE, "0..255", "exit so when it was done before (0)"},
    [ARG_UNKNOWN_EXIT] = {"unknown-exit", ARG_KIND_INTEGER, NONE, "0..255", "exit so when nobody knows (79)"},
    [ARG_STATUS_FD] = {"status-fd", ARG_KIND_INTEGER, NONE, "N", "as --report, to this descriptor"},
    [ARG_KEY] = {"key", ARG_KIND_TEXT, NONE, "KEY", "the key, also one that starts with two dashes"},
    [ARG_REPORT] = {"report", ARG_KIND_TEXT, NONE, "FILE", "write one line there that says what happened"},
    [ARG_TOKEN] = {"token", ARG_KIND_TEXT, OPT_TOKEN, "TEXT", "the token of the claim, 16 to 64 characters"},
    [ARG_FENCE] = {"fence", ARG_KIND_INTEGER, OPT_FENCE, "N", "the number that WON gave"},
    [ARG_RESULT] = {"result", ARG_KIND_TEXT, OPT_RESULT, "TEXT", "the outcome to record"},
    [ARG_RESULT_FILE] = {"result-file", ARG_KIND_TEXT, NONE, "FILE|-",
			 "the outcome to record, from a file or standard input"},
    [ARG_AS] = {"as", ARG_KIND_CHOICE, OPT_AS, "done|failed|free", "what it came to"},
    [ARG_FORCE] = {"force", ARG_KIND_FLAG, OPT_FORCE, NULL, "also when somebody holds it or it is settled"},
    [ARG_REASON] = {"reason", ARG_KIND_TEXT, OPT_REASON, "TEXT", "why, for the log"},
    [ARG_STATE] = {"state", ARG_KIND_CHOICE, OPT_STATE, "live|lapsed|done|failed|unknown|free",
		   "only records in this state"},
    [ARG_PREFIX] = {"prefix", ARG_KIND_TEXT, OPT_PREFIX, "TEXT", "only keys that start with this"},
    [ARG_OLDER] = {"older", ARG_KIND_DURATION, OPT_OLDER, "D", "only what has been in its state for so long"},
    [ARG_LIMIT] = {"limit", ARG_KIND_INTEGER, OPT_LIMIT, "N", "at most so many"},
    [ARG_DRY_RUN] = {"dry-run", ARG_KIND_FLAG, OPT_DRY, NULL, "count only"},
    [ARG_BODY] = {"body", ARG_KIND_FLAG, NONE, NULL, "write the recorded result as it is, and nothing else"},
    [ARG_ATLEAST] = {"atleast", ARG_KIND_DURATION, OPT_ATLEAST, "D",
		     "nobody else is given the key for so long after the win, even when it is given back"},
    [ARG_FILE] = {"file", ARG_KIND_TEXT, NONE, "FILE|-", "the JSON object, from a file instead of standard input"},
    [ARG_FIELDS] = {"fields", ARG_KIND_TEXT, OPT_FIELDS, "PATHS", "only these go into the key: id,customer.email"},
    [ARG_EXCEPT] = {"except", ARG_KIND_TEXT, OPT_EXCEPT, "PATHS", "these do not: message_id,publish_time"},
    [ARG_ROUND] = {"round", ARG_KIND_TEXT, OPT_ROUND, "PATHS", "digits after the point of these numbers: amount:2"},
    [ARG_STORE] = {"store", ARG_KIND_FLAG, NONE, NULL, "its store must answer, too"},
    [ARG_GONE] = {"wait", ARG_KIND_MAYBE_DURATION, NONE, "D",
		  "come back when the daemon is gone, after so long at most (for ever)"},
    [ARG_PATIENCE] = {"timeout", ARG_KIND_DURATION, NONE, "D", "give up after so long (never)"},
    [ARG_PROMETHEUS] = {"prometheus", ARG_KIND_FLAG, NONE, NULL, "in the text format of Prometheus"},
    [ARG_SOCKET] = {"socket", ARG_KIND_TEXT, NONE, "PATH", "the daemon's socket"},
    [ARG_NAMESPACE] = {"namespace", ARG_KIND_TEXT, NONE, "NS", "the namespace of all keys"},
    [ARG_JSON] = {"json", ARG_KIND_FLAG, NONE, NULL, "print JSON; one document a line for lists"},
    [ARG_HELP] = {"help", ARG_KIND_FLAG, NONE, NULL, "this text"},
    [ARG_VERSION] = {"version", ARG_KIND_FLAG, NONE, NULL, "the version"},
};

#define ARGS_GLOBAL (ARG_BIT(SOCKET) | ARG_BIT(NAMESPACE) | ARG_BIT(JSON) | ARG_BIT(HELP) | ARG_BIT(VERSION))

const struct arg_info *arg_info(enum arg arg)
{
	return &arg_table[arg];
}

bool arg_value_optional(const struct arg_info *info)
{
	return info->kind == ARG_KIND_SIZE || info->kind == ARG_KIND_MAYBE_DURATION;
}

bool arg_given(const struct args *args, enum arg arg)
{
	return (args->given & UINT64_C(1) << arg) != 0;
}

/* A count of octets with an optional k or m behind it. */
static bool size_parse(struct slice text, int64_t *octets)
{
	int64_t n, unit = 1;
	if (text.len > 0 && text.data[text.len - 1] == 'k')
		unit = 1024;
	else if (text.len > 0 && text.data[text.len - 1] == 'm')
		unit = 1024 * 1024;
	if (unit > 1)
		text.len--;
	if (!integer_parse(text, &n) || n > PROTO_MAX_INTEGER / unit)
		return false;
	*octets = n * unit;
	return true;
}

/* ---- values ---- */

static bool choice_known(const char *words, const char *text)
{
	size_t len = strlen(text);
	for (const char *at = words; at; at = strchr(at, '|')) {
		at += *at == '|';
		if (strncmp(at, text, len) == 0 && (at[len] == '|' || at[len] == '\0'))
			return true;
	}
	return false;
}

/* Exit codes may be 0, and so may the fence of a command that ran unguarded. */
static bool integer_fits(enum arg arg, int64_t n)
{
	if (arg == ARG_HELD_EXIT || arg == ARG_DUPLICATE_EXIT || arg == ARG_UNKNOWN_EXIT)
		return n <= 255;
	return n > 0 || arg == ARG_FENCE;
}

/* What an option takes, in words. */
static const char *value_words(const struct arg_info *info)
{
	switch (info->kind) {
	case ARG_KIND_DURATION:
	case ARG_KIND_MAYBE_DURATION:
		return "a duration with a unit, such as 30s, 15m, 24h or 7d";
	case ARG_KIND_TTL:
		return "\"never\", or a duration with a unit, such as 30s, 15m, 24h or 7d";
	case ARG_KIND_INTEGER:
		return strcmp(info->value, "N") == 0 ? "a whole number above 0" : info->value;
	case ARG_KIND_SIZE:
		return "a number of octets above 0, with k or m behind it for more: 64k";
	case ARG_KIND_CHOICE:
		return info->value;
	case ARG_KIND_TEXT:
	case ARG_KIND_FLAG:
	default:
		return info->help;
	}
}

/* The limits of the protocol, here where the option has the name that was typed. */
static bool length_good(enum arg arg, struct slice value, struct errbuf *err)
{
	const struct arg_info *info = &arg_table[arg];
	size_t most = info->option == OPT__COUNT ? SIZE_MAX : option_info(info->option)->limit;
	if (arg == ARG_NAMESPACE)
		most = option_info(OPT_NS)->limit;
	if (most > 0 && value.len > most)
		err_set(err, "--%s has %zu octets, and no more than %zu are allowed", info->name, value.len, most);
	else if (arg == ARG_TOKEN && value.len < PROTO_MIN_TOKEN)
		err_set(err, "--%s has %zu characters, and %d are the least: take random ones", info->name, value.len,
			PROTO_MIN_TOKEN);
	else if (arg == ARG_NAMESPACE && strchr(value.data, ':'))
		err_set(err, "--%s \"%.60s\" has a colon, and none is allowed", info->name, value.data);
	else
		return true;
	return false;
}

static bool value_read(struct args *args, enum arg arg, const char *text, struct errbuf *err)
{
	const struct arg_info *info = &arg_table[arg];
	struct slice value = slice_from(text);
	int64_t *number = &args->number[arg];
	if (value.len == 0 && arg != ARG_KEY) {
		err_set(err, "--%s is empty: is a variable not set?", info->name);
		return false;
	}
	args->text[arg] = text;
	bool good = true;
	switch (info->kind) {
	case ARG_KIND_DURATION:
	case ARG_KIND_MAYBE_DURATION:
		good = duration_parse(value, false, number) && *number > 0;
		break;
	case ARG_KIND_TTL:
		good = duration_parse(value, true, number) && *number > 0;
		break;
	case ARG_KIND_INTEGER:
		good = integer_parse(value, number) && integer_fits(arg, *number);
		break;
	case ARG_KIND_SIZE:
		good = size_parse(value, number) && *number > 0;
		break;
	case ARG_KIND_CHOICE:
		good = choice_known(info->value, text);
		break;
	case ARG_KIND_TEXT:
	case ARG_KIND_FLAG:
	default:
		return length_good(arg, value, err);
	}
	if (!good) {
		err_set(err, "--%s takes %s, not \"%.60s\"", info->name, value_words(info), text);
	} else if (arg == ARG_LEASE && *number > PROTO_MAX_LEASE_MS) {
		err_set(err, "--lease takes 365d at most, not %.60s", text);
		good = false;
	}
	return good;
}

/* ---- the walk over the command line ---- */

/* Which option is meant by this name here; ARG__COUNT: none. */
static enum arg arg_find(uint64_t allowed, struct slice name)
{
	for (enum arg arg = 0; arg < ARG__COUNT; arg++)
		if ((allowed & UINT64_C(1) << arg) && slice_equal(slice_from(arg_table[arg].name), name))
			return arg;
	return ARG__COUNT;
}

static bool key_take(struct args *args, const char *word, struct errbuf *err)
{
	if (args->key) {
		err_set(err, "the key is given twice: \"%.60s\"", word);
		return false;
	}
	if (!*word)
		err_set(&args->key_fault, "the key is empty: is a variable not set?");
	else if (strlen(word) > PROTO_MAX_KEY)
		err_set(&args->key_fault, "the key has %zu octets, more than %d", strlen(word), PROTO_MAX_KEY);
	args->key = word;
	return true;
}

/* The same, in words; with the verb that has it, or what was probably meant. */
static void no_option(const struct args *args, struct slice name, struct errbuf *err)
{
	uint64_t allowed = ARGS_GLOBAL | (args->sub ? args->sub->args : 0);
	struct near near = {.meant = name};
	for (enum arg arg = 0; arg < ARG__COUNT; arg++)
		if (allowed & UINT64_C(1) << arg)
			near_offer(&near, arg_table[arg].name);
	int len = (int)(name.len < 60 ? name.len : 60);
	if (!args->sub && arg_find(~UINT64_C(0), name) != ARG__COUNT)
		err_set(err, "--%.*s comes behind the verb: claim VERB --%.*s", len, name.data, len, name.data);
	else if (near.word)
		err_set(err, "claim%s%s has no option --%.*s; did you mean --%s?", args->sub ? " " : "",
			args->sub ? args->sub->name : "", len, name.data, near.word);
	else
		err_set(err, "claim%s%s has no option --%.*s", args->sub ? " " : "", args->sub ? args->sub->name : "",
			len, name.data);
}

/* One option at **argv; moves *argv to the last word that it took. */
static bool option_take(struct args *args, char ***argv, struct errbuf *err)
{
	const char *word = **argv + 2, *equals = strchr(word, '=');
	struct slice name = {word, equals ? (size_t)(equals - word) : strlen(word)};
	enum arg arg = arg_find(ARGS_GLOBAL | (args->sub ? args->sub->args : 0), name);
	if (arg == ARG__COUNT) {
		no_option(args, name, err);
		return false;
	}
	const struct arg_info *info = &arg_table[arg];
	if (arg_given(args, arg)) {
		err_set(err, "--%s is given twice", info->name);
		return false;
	}
	args->given |= UINT64_C(1) << arg;
	if (arg_value_optional(info) && !equals) {
		args->apart = (*argv)[1];
		args->apart_from = arg;
		return true;
	}
	if (info->kind == ARG_KIND_FLAG) {
		if (equals)
			err_set(err, "--%s takes no value", info->name);
		return !equals;
	}
	if (!equals && !(*argv)[1]) {
		err_set(err, "--%s needs a value: %s", info->name, value_words(info));
		return false;
	}
	const char *value = equals ? equals + 1 : *++*argv;
	return value_read(args, arg, value, err) && (arg != ARG_KEY || key_take(args, value, err));
}

static bool verb_take(struct args *args, const char *word, struct errbuf *err)
{
	struct near near = {.meant = slice_from(word)};
	for (const struct subcommand *sub = cli_subcommands(); sub->name; sub++) {
		if (strcmp(sub->name, word) == 0)
			args->sub = sub;
		near_offer(&near, sub->name);
	}
	if (!args->sub && near.word)
		err_set(err, "there is no verb \"%.60s\"; did you mean %s?", word, near.word);
	else if (!args->sub)
		err_set(err, "there is no verb \"%.60s\"", word);
	return args->sub != NULL;
}

/* "--wait 2s": a word is too many, since 2s was taken for the key. */
static bool value_apart(const struct args *args, struct errbuf *err)
{
	struct args scratch = {0};
	if (!args->apart || !value_read(&scratch, args->apart_from, args->apart, err))
		return false;
	const char *name = arg_table[args->apart_from].name;
	err_set(err, "--%s takes its value behind a =; did you mean --%s=%.60s?", name, name, args->apart);
	return true;
}

static bool word_take(struct args *args, const char *word, struct errbuf *err)
{
	if (!args->sub)
		return verb_take(args, word, err);
	if (args->key || args->sub->operand == CLI_NOTHING) {
		if (value_apart(args, err))
			return false;
		if (args->sub->operand == CLI_COMMAND)
			err_set(err, "one key, then -- before the command: claim %s KEY -- COMMAND", args->sub->name);
		else
			err_set(err, "too much: \"%.60s\"", word);
		return false;
	}
	return key_take(args, word, err);
}

/* The key is looked at last: who reads the report shall know that nothing but the key is wrong. */
static bool key_check(struct args *args, struct errbuf *err)
{
	bool wanted = args->sub->operand == CLI_KEY || args->sub->operand == CLI_COMMAND;
	if (!args->key && wanted)
		err_set(&args->key_fault, "the key is missing: is a variable not set?");
	args->key_bad = args->key_fault.text[0] != '\0';
	if (args->key_bad)
		*err = args->key_fault;
	return !args->key_bad;
}

/* What can only be seen at the end. */
static bool args_check(struct args *args, struct errbuf *err)
{
	if (args->given & (ARG_BIT(HELP) | ARG_BIT(VERSION)))
		return true;
	if (!args->sub) {
		err_set(err, "what is to be done?");
		return false;
	}
	if (!args->key && args->sub->operand == CLI_SHELL) {
		err_set(err, "for which shell? bash, zsh or fish");
		return false;
	}
	if (args->sub->operand == CLI_COMMAND && (!args->command || !*args->command)) {
		err_set(err, "the command is missing: claim %s KEY -- COMMAND", args->sub->name);
		return false;
	}
	for (enum arg arg = 0; arg < ARG__COUNT; arg++)
		if ((args->sub->needed & UINT64_C(1) << arg) && !arg_given(args, arg)) {
			err_set(err, "claim %s needs --%s %s: %s", args->sub->name, arg_table[arg].name,
				arg_table[arg].value, arg_table[arg].help);
			return false;
		}
	return key_check(args, err);
}

bool args_parse(struct args *args, char **argv, struct errbuf *err)
{
	bool raw = false; /* behind "--" */
	for (; *argv; argv++) {
		const char *word = *argv;
		if (!raw && strcmp(word, "--") == 0) {
			raw = true;
			if (args->sub && args->sub->operand == CLI_COMMAND) {
				args->command = argv + 1;
				break;
			}
		} else if (!raw && strcmp(word, "-h") == 0) {
			args->given |= ARG_BIT(HELP);
		} else if (!raw && word[0] == '-' && word[1] == '-') {
			if (!option_take(args, &argv, err))
				return false;
		} else if (!raw && word[0] == '-' && word[1]) {
			err_set(err, "options have two dashes: -%s", word);
			return false;
		} else if (!word_take(args, word, err)) {
			return false;
		}
	}
	return args_check(args, err);
}
