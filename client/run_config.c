/*
 * run_config.c - the options of `claim run` and `claim lock`, read into a struct run_config. See run.h. Called by cli_run.c.
 *
 * Everything that can be wrong with them is said here, before the daemon is asked for anything.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../proto/mem.h"
#include "../proto/sha256.h"
#include "cli_file.h"
#include "owner.h"
#include "run.h"

#define WAIT_FOR_EVER_MS (INT64_C(10) * 365 * 24 * 3600 * 1000)

/* "2,65,100-110" */
static bool codes_parse(const char *text, bool codes[256])
{
	for (const char *at = text; *at; at++) {
		char *end;
		long first = strtol(at, &end, 10), last = first;
		if (end == at || *at == '-' || *at == '+' || *at == ' ')
			return false;
		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			last = strtol(end + 1, &end, 10);
		if (first < 1 || last > 255 || first > last || (*end && (*end != ',' || !end[1])))
			return false;
		for (long code = first; code <= last; code++)
			codes[code] = true;
		at = *end ? end : end - 1;
	}
	return true;
}

/* Of a file. From standard input it is read whole, and the command gets what was read. */
static bool fp_of_file(struct run_config *config, const char *name)
{
	size_t len;
	char *data = file_read("--fp", name, &len);
	if (!data)
		return false;
	sha256_hex((struct slice){data, len}, config->fp_hex);
	bool good = true;
	if (strcmp(name, "-") == 0) {
		config->stdin_fd = file_of(data, len);
		good = config->stdin_fd >= 0;
	}
	if (!good)
		cli_say("cannot keep standard input for the command: %s", strerror(errno));
	mem_free(data);
	return good;
}

/* Of the command: each of its words and the NUL behind it, so that "a b" and "a" "b" are two. */
static bool fp_of_command(struct run_config *config)
{
	size_t len = 0, at = 0;
	for (char **word = config->command; *word; word++)
		len += strlen(*word) + 1;
	char *data = mem_alloc(len);
	if (!data) {
		cli_say("no memory");
		return false;
	}
	for (char **word = config->command; *word; word++) {
		size_t size = strlen(*word) + 1;
		memcpy(data + at, *word, size);
		at += size;
	}
	sha256_hex((struct slice){data, len}, config->fp_hex);
	mem_free(data);
	return true;
}

static bool read_fp(struct run_config *config, const struct args *args)
{
	if (arg_given(args, ARG_FP_FILE) && arg_given(args, ARG_FP_ARGS)) {
		cli_say("--fp and --fp-args at once");
		return false;
	}
	if (arg_given(args, ARG_FP_FILE) && !fp_of_file(config, args->text[ARG_FP_FILE]))
		return false;
	if (arg_given(args, ARG_FP_ARGS) && !fp_of_command(config))
		return false;
	if (config->fp_hex[0])
		config->fp = slice_from(config->fp_hex);
	return true;
}

static bool read_owner(struct run_config *config, const struct args *args)
{
	config->owner = arg_given(args, ARG_OWNER)
			    ? slice_from(args->text[ARG_OWNER])
			    : owner_default(config->owner_text, sizeof(config->owner_text), getpid());
	if (config->owner.len > option_info(OPT_OWNER)->limit)
		cli_say("--owner has more than %zu octets", option_info(OPT_OWNER)->limit);
	return config->owner.len <= option_info(OPT_OWNER)->limit;
}

static int64_t number_or(const struct args *args, enum arg arg, int64_t standard)
{
	return arg_given(args, arg) ? args->number[arg] : standard;
}

/* The words are the protocol's, see its table. */
static enum choice read_drop(const struct args *args)
{
	const char *text = arg_given(args, ARG_DROP) ? args->text[ARG_DROP] : "keep";
	return strcmp(text, "release") == 0   ? CHOICE_DROP_RELEASE
	       : strcmp(text, "unknown") == 0 ? CHOICE_DROP_UNKNOWN
					      : CHOICE_DROP_KEEP;
}

static void read_times(struct run_config *config, const struct args *args)
{
	config->lease_ms = number_or(args, ARG_LEASE, 30 * 1000);
	config->ttl_ms = number_or(args, ARG_TTL, 0);
	config->atleast_ms = number_or(args, ARG_ATLEAST, 0);
	config->hold_ms = arg_given(args, ARG_NO_HOLD) ? 0 : number_or(args, ARG_HOLD, INT64_C(24) * 3600 * 1000);
	config->kill_after_ms = number_or(args, ARG_KILL_AFTER, 10 * 1000);
	config->timeout_ms = number_or(args, ARG_TIMEOUT, 0);
	config->wait_ms = number_or(args, ARG_WAIT, 0);
	if (arg_given(args, ARG_WAIT) && !args->text[ARG_WAIT])
		config->wait_ms = WAIT_FOR_EVER_MS;
}

bool run_config_read(struct run_config *config, const struct cli *cli, const struct args *args)
{
	*config = (struct run_config){
	    .cli = cli,
	    .lock = strcmp(args->sub->name, "lock") == 0,
	    .key = slice_from(args->key),
	    .max_attempts = number_or(args, ARG_MAX_ATTEMPTS, 0),
	    .held_exit = (int)number_or(args, ARG_HELD_EXIT, CLI_HELD),
	    .duplicate_exit = (int)number_or(args, ARG_DUPLICATE_EXIT, CLI_OK),
	    .unknown_exit = (int)number_or(args, ARG_UNKNOWN_EXIT, CLI_UNKNOWN),
	    .lapse_unknown = arg_given(args, ARG_LAPSE) && strcmp(args->text[ARG_LAPSE], "unknown") == 0,
	    .drop = read_drop(args),
	    .reconcile = args->text[ARG_RECONCILE],
	    .command = args->command,
	    .stdin_fd = -1,
	};
	read_times(config, args);
	if (arg_given(args, ARG_SAVE_OUTPUT))
		config->save_limit = args->text[ARG_SAVE_OUTPUT] ? args->number[ARG_SAVE_OUTPUT] : PROTO_MAX_BODY;
	if (arg_given(args, ARG_HOLD) && arg_given(args, ARG_NO_HOLD)) {
		cli_say("--hold and --no-hold at once");
		return false;
	}
	if (arg_given(args, ARG_FAIL_ON) && !codes_parse(args->text[ARG_FAIL_ON], config->fail_on)) {
		cli_say("--fail-on takes exit codes from 1 to 255: 2,65,100-110");
		return false;
	}
	return read_owner(config, args) && read_fp(config, args);
}
