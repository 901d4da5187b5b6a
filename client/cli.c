/*
 * cli.c - the command `claim`: its verbs as one table, its help, what it says when something fails.
 *
 * Data goes to stdout, talk to stderr. The exit code is the answer, see cli.h and claim(1): 0 only where the work may go on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "link.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0"
#endif

#define A(id) ARG_BIT(id)
#define CLAIM_ARGS (A(LEASE) | A(TTL) | A(LAPSE) | A(OWNER))
#define RUN_ARGS                                                                                              \
	(CLAIM_ARGS | A(HOLD) | A(NO_HOLD) | A(FP_FILE) | A(FP_ARGS) | A(KILL_AFTER) | A(TIMEOUT) | A(WAIT) | \
	 A(ATLEAST) | A(DROP) | A(HELD_EXIT) | A(UNKNOWN_EXIT) | A(REPORT) | A(STATUS_FD) | A(KEY))
#define HOLDER_ARGS (A(FENCE) | A(TOKEN))

static const struct subcommand subcommands[] = {
    {"run", VERB_CLAIM, CLI_COMMAND,
     RUN_ARGS | A(SAVE_OUTPUT) | A(FAIL_ON) | A(MAX_ATTEMPTS) | A(RECONCILE) | A(DUPLICATE_EXIT), 0, cli_run,
     "run a command once for a key: a duplicate gets the outcome of the first"},
    {"lock", VERB_CLAIM, CLI_COMMAND, RUN_ARGS, 0, cli_run, "run a command while nobody else does for that key"},
    {"status", VERB_STATUS, CLI_MAYBE_KEY, 0, 0, cli_status, "show one record, or without a key the daemon"},
    {"ls", VERB_LIST, CLI_NOTHING, A(STATE) | A(PREFIX) | A(OLDER) | A(OWNER) | A(LIMIT), 0, cli_list, "list records"},
    {"get", VERB_STATUS, CLI_KEY, A(BODY), 0, cli_get, "show one record with its result"},
    {"claim", VERB_CLAIM, CLI_KEY, CLAIM_ARGS | A(FP) | A(TOKEN), 0, cli_verb,
     "ask for the right to do the work of a key"},
    {"renew", VERB_RENEW, CLI_KEY, HOLDER_ARGS | A(LEASE), A(FENCE) | A(LEASE), cli_verb,
     "hold on to a claim for longer"},
    {"check", VERB_CHECK, CLI_KEY, HOLDER_ARGS, A(FENCE), cli_verb, "is it still held, and for how long?"},
    {"complete", VERB_COMPLETE, CLI_KEY, HOLDER_ARGS | A(TTL) | A(RESULT) | A(RESULT_FILE), A(FENCE), cli_verb,
     "it happened: every later claim is told DONE"},
    {"fail", VERB_FAIL, CLI_KEY, HOLDER_ARGS | A(TTL) | A(RESULT) | A(RESULT_FILE), A(FENCE), cli_verb,
     "it will never happen: every later claim is told FAILED"},
    {"release", VERB_RELEASE, CLI_KEY, HOLDER_ARGS, A(FENCE), cli_verb, "it did not happen: somebody may try again"},
    {"doubt", VERB_DOUBT, CLI_KEY, HOLDER_ARGS, A(FENCE), cli_verb,
     "nobody knows: keep the key shut until a person settles it"},
    {"resolve", VERB_RESOLVE, CLI_KEY, A(AS) | A(FENCE) | A(TTL) | A(RESULT) | A(RESULT_FILE) | A(FORCE) | A(REASON),
     A(AS), cli_verb, "settle by hand what nobody knows"},
    {"forget", VERB_FORGET, CLI_KEY, A(FENCE) | A(FORCE) | A(REASON), 0, cli_verb,
     "delete a record: the key is new again"},
    {"sweep", VERB_SWEEP, CLI_NOTHING, A(DRY_RUN) | A(LIMIT), 0, cli_sweep,
     "delete records that have ended by themselves"},
    {"ping", VERB_PING, CLI_NOTHING, 0, 0, cli_verb, "is the daemon there? Waits for a second at most"},
    {"stats", VERB_STATS, CLI_NOTHING, 0, 0, cli_stats, "the daemon's metrics as text"},
    {NULL, VERB__COUNT, CLI_NOTHING, 0, 0, NULL, NULL},
};

const struct subcommand *cli_subcommands(void)
{
	return subcommands;
}

/* ---- talk ---- */

void cli_say(const char *format, ...)
{
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* One write: lines of several commands on one terminal stay whole. */
	fprintf(stderr, "claim: %s\n", text);
}

void cli_say_error(int code, const char *socket, const char *detail)
{
	const char *what = detail && *detail ? detail : claim_strerror(code);
	switch (code) {
	case CLAIM_E_UNREACHABLE:
		cli_say("%s", what);
		cli_say("is claimd running? Start it, or name its socket with --socket or CLAIMD_SOCKET (now %s)",
			socket);
		return;
	case CLAIM_E_REFUSED:
		cli_say("the daemon could not do it: %s. Nothing was done; try again, and look at `claim status`",
			what);
		return;
	case CLAIM_E_UNCERTAIN:
		cli_say("%s. It may have been done or not; ask with `claim status KEY`", what);
		return;
	case CLAIM_E_DENIED:
		cli_say("not allowed: %s", what);
		return;
	case CLAIM_E_PROTOCOL:
		cli_say("what answers at %s is no claimd: %s", socket, what);
		return;
	default:
		cli_say("%s", what);
	}
}

/* The one word that says yes to this verb; LIST has lines before it. */
static int yes_of(enum verb verb)
{
	return verb == VERB_CLAIM    ? CLAIM_WON
	       : verb == VERB_STATUS ? CLAIM_STATUS
	       : verb == VERB_LIST   ? CLAIM_END
				     : CLAIM_OK;
}

int cli_exit_code(enum verb verb, int code)
{
	if (code == yes_of(verb))
		return CLI_OK;
	switch (code) {
	case CLAIM_DONE:
	case CLAIM_FAILED:
		return CLI_NO;
	case CLAIM_STALE:
	case CLAIM_NOTFOUND:
		return verb == VERB_CLAIM ? CLI_UNREACHABLE : CLI_NO;
	case CLAIM_HELD:
		return CLI_HELD;
	case CLAIM_MISMATCH:
		return CLI_MISMATCH;
	case CLAIM_UNKNOWN:
		return CLI_UNKNOWN;
	case CLAIM_E_INVAL:
		return CLI_USAGE;
	case CLAIM_E_DENIED:
		return CLI_CONFIG;
	default: /* unreachable, refused, uncertain, and any word that we have never heard of */
		return CLI_UNREACHABLE;
	}
}

/* ---- help ---- */

static void help_option(enum arg arg)
{
	const struct arg_info *info = arg_info(arg);
	char left[64];
	const char *form = !info->value ? "" : arg_value_optional(info) ? "[=" : " ";
	snprintf(left, sizeof(left), "--%s%s%s%s", info->name, form, info->value ? info->value : "",
		 arg_value_optional(info) ? "]" : "");
	/* A long list of words gets a line of its own. */
	if (strlen(left) > 26)
		printf("  %s\n  %-26s  %s\n", left, "", info->help);
	else
		printf("  %-26s  %s\n", left, info->help);
}

static void help_global(void)
{
	fputs("\neverywhere:\n", stdout);
	for (enum arg arg = ARG_SOCKET; arg < ARG__COUNT; arg++)
		help_option(arg);
}

static void help_sub(const struct subcommand *sub)
{
	static const char *const operands[] = {"", " KEY", " [KEY]", " KEY -- COMMAND [ARGUMENT ...]"};
	printf("claim %s%s%s\n%s\n", sub->name, sub->args ? " [OPTION ...]" : "", operands[sub->operand], sub->help);
	if (sub->args)
		putchar('\n');
	for (enum arg arg = 0; arg < ARG_SOCKET; arg++)
		if (sub->args & UINT64_C(1) << arg)
			help_option(arg);
	help_global();
	if (sub->operand == CLI_COMMAND)
		fputs("\nexit: that of the command; 75 held, 65 other fingerprint, 79 unknown, 69 no daemon or store,\n"
		      "124 timeout, 125 lease lost, 126 not executable, 127 not found, 128+N signal; see claim(1)\n",
		      stdout);
	else
		fputs("\nexit: 0 go on, 1 no, 75 held, 65 other fingerprint, 79 unknown, 69 no daemon or store, 64 "
		      "usage\n",
		      stdout);
}

static void help_all(void)
{
	fputs("claim VERB [OPTION ...] [KEY]\n"
	      "claim run KEY -- COMMAND    does it once, however often it is asked for\n\nverbs:\n",
	      stdout);
	for (const struct subcommand *sub = subcommands; sub->name; sub++)
		printf("  %-10s  %s\n", sub->name, sub->help);
	help_global();
	fputs("\nclaim VERB --help lists the options of a verb.\n", stdout);
}

/* ---- the way in ---- */

/* A descriptor that we open must never be 0, 1 or 2: the command that we run would take it for its input or output. */
static bool streams_open(void)
{
	int fd;
	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
	return fd >= 0;
}

/* Opens the connection of the plain verbs. */
static int cli_connect(struct cli *cli, const struct args *args)
{
	/* The daemon answers within 10 s, if only to say that its store does not. */
	int timeout_ms = args->sub->verb == VERB_PING ? 1000 : 12000;
	int code = claim_open(&cli->conn, cli->socket, cli->ns, timeout_ms);
	if (code == CLAIM_OK)
		return CLI_OK;
	if (code == CLAIM_E_INVAL)
		cli_say(
		    "the socket's path or the namespace is too long: a path has at most 107 octets, a namespace 255");
	else
		cli_say("%s", claim_strerror(code));
	return cli_exit_code(args->sub->verb, code);
}

static int cli_main(struct cli *cli, const struct args *args)
{
	int status = CLI_OK;
	if (args->sub->operand != CLI_COMMAND)
		status = cli_connect(cli, args);
	if (status == CLI_OK)
		status = args->sub->run(cli, args);
	claim_close(cli->conn);
	return status;
}

static int usage(const struct args *args, const struct errbuf *err)
{
	cli_say("%s", err->text);
	cli_say("see claim%s%s --help", args->sub ? " " : "", args->sub ? args->sub->name : "");
	return CLI_USAGE;
}

int main(int argc, char **argv)
{
	struct args args = {0};
	struct errbuf err;
	int status = CLI_OK;
	if (!streams_open()) {
		cli_say("/dev/null: %s", strerror(errno));
		return CLI_CONFIG;
	}
	if (!args_parse(&args, argv + (argc > 0), &err))
		return usage(&args, &err);
	if (arg_given(&args, ARG_HELP)) {
		if (args.sub)
			help_sub(args.sub);
		else
			help_all();
	} else if (arg_given(&args, ARG_VERSION)) {
		puts("claim " PACKAGE_VERSION);
	} else {
		struct cli cli = {.json = arg_given(&args, ARG_JSON),
				  .socket = args.text[ARG_SOCKET],
				  .ns = args.text[ARG_NAMESPACE]};
		status = cli_main(&cli, &args);
	}
	if (fflush(stdout) != 0 || ferror(stdout)) {
		cli_say("cannot write to standard output: %s", strerror(errno));
		if (status == CLI_OK)
			status = CLI_OUTPUT;
	}
	return status;
}
