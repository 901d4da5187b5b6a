/*
 * cli_verbs.c - the verbs that change something, and KEY: one request for each, its answer printed. Called by cli.c.
 *
 * Failure modes: those of cli_ask.c, and a file that cannot be read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../proto/mem.h"
#include "cli_ask.h"
#include "cli_file.h"
#include "cli_json.h"
#include "owner.h"

int cli_verb(struct cli *cli, const struct args *args)
{
	char line[PROTO_MAX_LINE];
	char owner[129];
	struct writer w;
	char *body = NULL;
	size_t body_len = 0;
	if (arg_given(args, ARG_RESULT) && arg_given(args, ARG_RESULT_FILE)) {
		cli_say("--result and --result-file at once: the outcome comes in one of them");
		return CLI_USAGE;
	}
	if (arg_given(args, ARG_RESULT_FILE) &&
	    !(body = file_read("--result-file", args->text[ARG_RESULT_FILE], &body_len)))
		return CLI_USAGE;
	writer_init(&w, line, sizeof(line));
	write_request(&w, args);
	/* The shell that goes on with the work, not this process, which ends at once. */
	if (args->sub->verb == VERB_CLAIM && !arg_given(args, ARG_OWNER))
		request_bytes(&w, OPT_OWNER, owner_default(owner, sizeof(owner), getppid()));
	bool for_ever = arg_given(args, ARG_WAIT) && args->number[ARG_WAIT] == 0;
	int code;
	do
		code = cli_ask(cli, &w, (struct slice){body, body_len});
	while (code == CLAIM_HELD && for_ever);
	mem_free(body);
	return cli_answered(cli, args, code);
}

int cli_key(struct cli *cli, const struct args *args)
{
	char line[PROTO_MAX_LINE];
	struct writer w;
	size_t len;
	const char *name = arg_given(args, ARG_FILE) ? args->text[ARG_FILE] : "-";
	char *json = file_read("--file", name, &len);
	if (!json)
		return CLI_USAGE;
	writer_init(&w, line, sizeof(line));
	write_request(&w, args);
	int code = cli_ask(cli, &w, (struct slice){json, len});
	mem_free(json);
	const char *key = claim_field(cli->conn, "key", NULL);
	if (code == CLAIM_OK && key && !cli->json)
		puts(key);
	else
		return cli_answered(cli, args, code);
	return CLI_OK;
}

/* Without --limit: batch by batch until nothing is left. */
int cli_sweep(struct cli *cli, const struct args *args)
{
	char line[PROTO_MAX_LINE];
	struct writer w;
	int64_t deleted = 0;
	bool all = !arg_given(args, ARG_LIMIT) && !arg_given(args, ARG_DRY_RUN), more;
	writer_init(&w, line, sizeof(line));
	write_request(&w, args);
	do {
		int code = cli_ask(cli, &w, SLICE_ABSENT);
		if (code != CLAIM_OK)
			return cli_answered(cli, args, code);
		deleted += claim_number(cli->conn, "deleted", 0);
		more = claim_number(cli->conn, "more", 0) != 0;
	} while (all && more);
	if (cli->json) {
		cJSON *object = json_new("OK");
		json_put_number(object, "deleted", deleted);
		json_put_number(object, "more", more);
		json_print(stdout, object);
	} else {
		printf("OK deleted=%" PRId64 " more=%d\n", deleted, more);
	}
	return CLI_OK;
}
