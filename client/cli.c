/*
 * cli.c - the command `claim`: its verbs as one table, its exit codes, the way in.
 *
 * Data goes to stdout, talk to stderr. The exit code is the answer, see cli.h and claim(1): 0 only where the work may go on.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "cli_json.h"
#include "cli_text.h"
#include "link.h"
#include "report.h"

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
    {"status", VERB_STATUS, CLI_MAYBE_KEY, A(WAIT), 0, cli_status, "show one record, or without a key the daemon"},
    {"ls", VERB_LIST, CLI_NOTHING, A(STATE) | A(PREFIX) | A(OLDER) | A(OWNER) | A(LIMIT), 0, cli_list, "list records"},
    {"get", VERB_STATUS, CLI_KEY, A(BODY), 0, cli_get, "show one record with its result"},
    {"top", VERB__COUNT, CLI_NOTHING, A(PREFIX), 0, cli_top, "look on: what is held, for how long, what nobody knows"},
    {"watch", VERB_WATCH, CLI_NOTHING, A(PREFIX) | A(STATE), 0, cli_watch, "be told of each change as it happens"},
    {"claim", VERB_CLAIM, CLI_KEY, CLAIM_ARGS | A(FP) | A(TOKEN) | A(WAIT) | A(ATLEAST), 0, cli_verb,
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
    {"key", VERB_KEY, CLI_NOTHING, A(FILE) | A(FIELDS) | A(EXCEPT) | A(ROUND), 0, cli_key,
     "make a key of a JSON object, the same in every language"},
    {"ping", VERB_PING, CLI_NOTHING, A(STORE), 0, cli_ping, "is the daemon there? Waits for a second at most"},
    {"wait", VERB_PING, CLI_NOTHING, A(STORE) | A(PATIENCE), 0, cli_wait, "wait until the daemon is there"},
    {"doctor", VERB__COUNT, CLI_NOTHING, 0, 0, cli_doctor, "find out what is wrong, and say what to do"},
    {"stats", VERB_STATS, CLI_NOTHING, A(PROMETHEUS), 0, cli_stats, "the daemon's metrics"},
    {"shutdown", VERB_SHUTDOWN, CLI_NOTHING, A(REASON) | A(GONE), 0, cli_shutdown, "have the daemon drain and leave"},
    {"help", VERB__COUNT, CLI_MAYBE_VERB, 0, 0, cli_help, "the verbs, or one with its options"},
    {"completion", VERB__COUNT, CLI_SHELL, 0, 0, cli_complete, "a script with which a shell completes all this"},
    {NULL, VERB__COUNT, CLI_NOTHING, 0, 0, NULL, NULL},
};

const struct subcommand *cli_subcommands(void)
{
	return subcommands;
}

/* ---- exit codes ---- */

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

bool cli_socket_path(const struct cli *cli, char *path, size_t size)
{
	char standard[PATH_MAX];
	const char *from = cli->socket ? cli->socket : link_default_path(standard, sizeof(standard)) ? standard : "";
	if (*from && strlen(from) <= PROTO_MAX_SOCKET_PATH && strlen(from) < size) {
		memcpy(path, from, strlen(from) + 1);
		return true;
	}
	cli_say("the socket's path has %zu octets, and no more than %d fit: choose a shorter one", strlen(from),
		PROTO_MAX_SOCKET_PATH);
	return false;
}

/* How long an answer may take. */
static int patience_ms(const struct args *args)
{
	int64_t wait_ms = arg_given(args, ARG_WAIT) ? args->number[ARG_WAIT] : 0;
	if (args->sub->verb == VERB_PING)
		return 1000;
	return wait_ms < CLI_WAIT_MAX_MS ? (int)wait_ms + CLI_ANSWER_MS : INT_MAX;
}

/* Opens the connection of the verbs that ask and get an answer. */
static int cli_connect(struct cli *cli, const struct args *args)
{
	char path[PROTO_MAX_SOCKET_PATH + 1];
	if (!cli_socket_path(cli, path, sizeof(path)))
		return CLI_USAGE;
	int code = claim_open(&cli->conn, path, cli->ns, patience_ms(args));
	if (code == CLAIM_OK)
		return CLI_OK;
	cli_say("%s", claim_strerror(code));
	return cli_exit_code(args->sub->verb, code);
}

static int cli_main(struct cli *cli, const struct args *args)
{
	int status = CLI_OK;
	if (args->sub->operand != CLI_COMMAND && args->sub->verb != VERB__COUNT)
		status = cli_connect(cli, args);
	if (status == CLI_OK)
		status = args->sub->run(cli, args);
	claim_close(cli->conn);
	return status;
}

/* The line is for a queue, which has to tell a message without a good key from a mistake of its script. */
static void report_bad_key(const struct args *args)
{
	struct report report;
	struct errbuf err;
	bool json = arg_given(args, ARG_JSON);
	if (arg_given(args, ARG_STATUS_FD) ? !report_open_fd(&report, args->number[ARG_STATUS_FD], json, &err)
					   : !report_open(&report, args->text[ARG_REPORT], json, &err))
		return;
	report_word(&report, "ERR");
	report_number(&report, "exit", CLI_USAGE);
	report_text(&report, "cause", "key");
	report_write(&report);
}

static int usage(const struct args *args, const struct errbuf *err)
{
	if (args->key_bad)
		report_bad_key(args);
	cli_say("%s", err->text);
	cli_say("see: claim help%s%s", args->sub ? " " : "", args->sub ? args->sub->name : "");
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
				  .colour = colour_wanted(),
				  .socket = args.text[ARG_SOCKET],
				  .ns = args.text[ARG_NAMESPACE]};
		json_init();
		status = cli_main(&cli, &args);
	}
	if (fflush(stdout) != 0 || ferror(stdout)) {
		cli_say("cannot write to standard output: %s", strerror(errno));
		if (status == CLI_OK)
			status = CLI_OUTPUT;
	}
	return status;
}
