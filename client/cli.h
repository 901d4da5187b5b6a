/*
 * cli.h - what the parts of the command `claim` share: its verbs, their options, its exit codes.
 */
#ifndef CLAIM_CLI_H
#define CLAIM_CLI_H

#include "../proto/proto.h"
#include "claim.h"

enum cli_exit {
	CLI_OK = 0,
	CLI_NO = 1, /* the answer does not permit going on */
	CLI_USAGE = 64,
	CLI_MISMATCH = 65,
	CLI_UNREACHABLE = 69, /* daemon or store; nothing was started */
	CLI_OUTPUT = 74,      /* what was asked for could not be printed */
	CLI_HELD = 75,
	CLI_CONFIG = 78,
	CLI_UNKNOWN = 79,
	CLI_TIMEOUT = 124,
	CLI_LOST = 125,
	CLI_NOT_EXECUTABLE = 126,
	CLI_NOT_FOUND = 127
};

/* ---- options ---- */

enum arg {
	ARG_LEASE,
	ARG_TTL,
	ARG_HOLD,
	ARG_NO_HOLD,
	ARG_LAPSE,
	ARG_FP,
	ARG_FP_FILE,
	ARG_OWNER,
	ARG_SAVE_OUTPUT,
	ARG_FAIL_ON,
	ARG_MAX_ATTEMPTS,
	ARG_KILL_AFTER,
	ARG_TIMEOUT,
	ARG_WAIT,
	ARG_DROP,
	ARG_RECONCILE,
	ARG_FP_ARGS,
	ARG_HELD_EXIT,
	ARG_DUPLICATE_EXIT,
	ARG_UNKNOWN_EXIT,
	ARG_REPORT,
	ARG_STATUS_FD,
	ARG_KEY,
	ARG_TOKEN,
	ARG_FENCE,
	ARG_RESULT,
	ARG_RESULT_FILE,
	ARG_AS,
	ARG_FORCE,
	ARG_REASON,
	ARG_STATE,
	ARG_PREFIX,
	ARG_OLDER,
	ARG_LIMIT,
	ARG_DRY_RUN,
	ARG_BODY,
	ARG_ATLEAST,
	ARG_FILE,
	ARG_FIELDS,
	ARG_EXCEPT,
	ARG_ROUND,
	ARG_STORE,
	ARG_GONE,
	ARG_PATIENCE,
	ARG_PROMETHEUS,
	ARG_SOCKET,
	ARG_NAMESPACE,
	ARG_JSON,
	ARG_HELP,
	ARG_VERSION,
	ARG__COUNT
};

#define ARG_BIT(id) (UINT64_C(1) << ARG_##id)

enum arg_kind {
	ARG_KIND_FLAG,
	ARG_KIND_TEXT,
	ARG_KIND_DURATION,
	ARG_KIND_MAYBE_DURATION, /* its value may be left out, and comes behind a = */
	ARG_KIND_TTL,
	ARG_KIND_INTEGER,
	ARG_KIND_CHOICE,
	ARG_KIND_SIZE /* the same */
};

struct arg_info {
	const char *name; /* without "--" */
	enum arg_kind kind;
	enum option option; /* of the protocol, for the plain verbs; OPT__COUNT: none */
	const char *value;  /* what stands for it in --help; for a CHOICE the words, "|" between them; NULL: none */
	const char *help;
};

struct cli;
struct args;

enum cli_operand {
	CLI_NOTHING,
	CLI_KEY,
	CLI_MAYBE_KEY,
	CLI_COMMAND, /* KEY -- command */
	CLI_MAYBE_VERB,
	CLI_SHELL /* bash, zsh or fish */
};

struct subcommand {
	const char *name;
	enum verb verb; /* of the protocol; VERB__COUNT: it has no one request of its own */
	enum cli_operand operand;
	uint64_t args; /* bit per option that it takes, the global ones aside */
	uint64_t needed;
	int (*run)(struct cli *cli, const struct args *args);
	const char *help;
};

struct args {
	const struct subcommand *sub;
	uint64_t given;
	const char *text[ARG__COUNT];
	int64_t number[ARG__COUNT]; /* ms, octets or a plain integer */
	const char *key;            /* the operand, whatever it is; NULL: none */
	char **command;             /* NULL-terminated */
	const char *apart;          /* what stands behind an option that takes a value behind a = only; NULL: nothing */
	enum arg apart_from;
	struct errbuf key_fault; /* "": none. It is told when all else is good, so that the report is known */
	bool key_bad;            /* nothing else is wrong */
};

const struct arg_info *arg_info(enum arg arg);
bool arg_value_optional(const struct arg_info *info);
bool arg_given(const struct args *args, enum arg arg);
/* Reads the command line. False: *err says what is wrong with it; args->sub is set when it was known. */
bool args_parse(struct args *args, char **argv, struct errbuf *err);

/* ---- the command ---- */

#define CLI_ANSWER_MS 12000 /* the daemon answers within 10 s, if only to say that its store does not */
#define CLI_WAIT_MAX_MS (INT64_C(20) * 24 * 3600 * 1000) /* of one request: what poll can count */

/* What one run of the command knows. */
struct cli {
	bool json;
	bool colour;
	const char *socket; /* NULL: the usual place */
	const char *ns;     /* NULL: none */
	claim_conn *conn;   /* of the verbs that ask and get an answer */
};

/* Ends with the list of verbs; an entry with name NULL closes it. */
const struct subcommand *cli_subcommands(void);
/* The path in use, NUL-terminated, at most size octets with it. False: it is too long, and that was said. */
bool cli_socket_path(const struct cli *cli, char *path, size_t size);
/* The exit code of a plain verb, and of run and lock where nothing was started. A word that is no answer to this
 * verb permits nothing. */
int cli_exit_code(enum verb verb, int code);

/* cli_say.c: on stderr, "claim: " in front */
__attribute__((format(printf, 1, 2))) void cli_say(const char *format, ...);
/* What went wrong with the daemon, and what to do next. */
void cli_say_error(int code, const char *socket, const char *detail);

/* cli_help.c */
void help_all(void);
void help_sub(const struct subcommand *sub);
int cli_help(struct cli *cli, const struct args *args);
/* cli_complete.c */
int cli_complete(struct cli *cli, const struct args *args);

/* cli_verbs.c */
int cli_verb(struct cli *cli, const struct args *args); /* one request, one answer */
int cli_key(struct cli *cli, const struct args *args);
int cli_sweep(struct cli *cli, const struct args *args);
/* cli_look.c */
int cli_status(struct cli *cli, const struct args *args);
int cli_list(struct cli *cli, const struct args *args);
int cli_get(struct cli *cli, const struct args *args);
int cli_stats(struct cli *cli, const struct args *args);
/* cli_alive.c */
int cli_ping(struct cli *cli, const struct args *args);
int cli_wait(struct cli *cli, const struct args *args);
/* cli_shutdown.c */
int cli_shutdown(struct cli *cli, const struct args *args);
/* cli_watch.c, cli_top.c, cli_doctor.c */
int cli_watch(struct cli *cli, const struct args *args);
int cli_top(struct cli *cli, const struct args *args);
int cli_doctor(struct cli *cli, const struct args *args);
/* cli_run.c */
int cli_run(struct cli *cli, const struct args *args); /* run and lock */

#endif
