/*
 * cli_verbs.c - the plain verbs: one request for each, its answer printed. Called by cli.c.
 *
 * The request is made from the table of options; what it means is the daemon's. Failure modes: no daemon, a refusal, a file that
 * cannot be read; each is said on stderr (with --json as a document too) and has its exit code.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../proto/mem.h"
#include "cli_file.h"
#include "cli_show.h"
#include "owner.h"

#define PAGE 1000

/* ---- the request ---- */

static void write_option(struct writer *w, const struct args *args, enum arg arg)
{
	const struct arg_info *info = arg_info(arg);
	if (info->option == OPT__COUNT)
		return;
	switch (info->kind) {
	case ARG_KIND_FLAG:
		request_flag(w, info->option);
		return;
	case ARG_KIND_DURATION:
	case ARG_KIND_TTL:
		request_duration(w, info->option, args->number[arg]);
		return;
	case ARG_KIND_INTEGER:
	case ARG_KIND_SIZE:
	case ARG_KIND_MAYBE_DURATION:
		request_integer(w, info->option, args->number[arg]);
		return;
	case ARG_KIND_TEXT:
	case ARG_KIND_CHOICE:
	default:
		request_bytes(w, info->option, slice_from(args->text[arg]));
	}
}

static void write_request(struct writer *w, const struct args *args)
{
	request_begin(w, args->sub->verb, slice_from(args->key));
	for (enum arg arg = 0; arg < ARG__COUNT; arg++)
		if (arg_given(args, arg))
			write_option(w, args, arg);
}

/* Asks; *body is absent where there is none. Lines that are too long are refused here. */
static int ask(struct cli *cli, const struct writer *w, struct slice body)
{
	return claim_call(cli->conn, w->data, w->full ? PROTO_MAX_LINE + 1 : w->len, body.data, body.len);
}

/* ---- the answer ---- */

/* Everything that is no answer is said here. */
static int failed(struct cli *cli, const struct args *args, int code)
{
	if (cli->json && *claim_word(cli->conn))
		show_json(cli->conn, args->key);
	else if (cli->json)
		show_json_error(code, args->key, claim_detail(cli->conn));
	cli_say_error(code, claim_socket(cli->conn), claim_detail(cli->conn));
	return cli_exit_code(args->sub->verb, code);
}

/* What a person does next. */
static void advise(const struct args *args, int code)
{
	if (cli_exit_code(args->sub->verb, code) == CLI_UNREACHABLE)
		cli_say("this version of claim does not know that answer: do not run");
	else if (code == CLAIM_UNKNOWN)
		cli_say("nobody knows whether it happened: find out, then `claim resolve KEY --as done|failed|free`");
	else if (code == CLAIM_HELD && args->sub->verb == VERB_FORGET)
		cli_say("somebody works on it; with --force it is deleted all the same");
}

static int answered(struct cli *cli, const struct args *args, int code)
{
	if (code < 0)
		return failed(cli, args, code);
	if (cli->json)
		show_json(cli->conn, args->key);
	else
		show_line(cli->conn);
	advise(args, code);
	if (code == CLAIM_OK && claim_number(cli->conn, "kept", 1) == 0)
		cli_say("settled, but the result was too big or results are not kept: it is not there for duplicates");
	return cli_exit_code(args->sub->verb, code);
}

/* ---- verbs ---- */

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
	if (arg_given(args, ARG_RESULT_FILE) && !(body = file_read(args->text[ARG_RESULT_FILE], &body_len)))
		return CLI_USAGE;
	writer_init(&w, line, sizeof(line));
	write_request(&w, args);
	/* The shell that goes on with the work, not this process, which ends at once. */
	if (args->sub->verb == VERB_CLAIM && !arg_given(args, ARG_OWNER))
		request_bytes(&w, OPT_OWNER, owner_default(owner, sizeof(owner), getppid()));
	int code = ask(cli, &w, (struct slice){body, body_len});
	mem_free(body);
	return answered(cli, args, code);
}

int cli_status(struct cli *cli, const struct args *args)
{
	char line[PROTO_MAX_LINE];
	struct writer w;
	writer_init(&w, line, sizeof(line));
	write_request(&w, args);
	int code = ask(cli, &w, SLICE_ABSENT);
	if (code == CLAIM_STATUS && !cli->json) {
		show_table(cli->conn, args->key);
		return CLI_OK;
	}
	if (code == CLAIM_NOTFOUND && !cli->json) {
		cli_say("there is no record of this key");
		return CLI_NO;
	}
	return answered(cli, args, code);
}

int cli_get(struct cli *cli, const struct args *args)
{
	char line[PROTO_MAX_LINE];
	struct writer w;
	size_t len;
	writer_init(&w, line, sizeof(line));
	request_begin(&w, VERB_STATUS, slice_from(args->key));
	request_flag(&w, OPT_RESULT);
	int code = ask(cli, &w, SLICE_ABSENT);
	const char *body = claim_body(cli->conn, &len);
	if (code < 0)
		return failed(cli, args, code);
	if (code != CLAIM_STATUS) {
		if (cli->json)
			show_json(cli->conn, args->key);
		else
			cli_say("there is no record of this key");
		return cli_exit_code(args->sub->verb, code);
	}
	if (!arg_given(args, ARG_BODY)) {
		if (cli->json)
			show_json(cli->conn, args->key);
		else
			show_table(cli->conn, args->key);
	} else if (body) {
		fwrite(body, 1, len, stdout);
	}
	if (!body)
		cli_say("no result is kept for this key");
	return body ? CLI_OK : CLI_NO;
}

int cli_stats(struct cli *cli, const struct args *args)
{
	size_t len;
	int code = claim_call(cli->conn, "STATS", 5, NULL, 0);
	if (code < 0)
		return failed(cli, args, code);
	const char *body = claim_body(cli->conn, &len);
	if (cli->json)
		show_json(cli->conn, NULL);
	else if (body)
		fwrite(body, 1, len, stdout);
	return cli_exit_code(args->sub->verb, code);
}

/* One page. Adds to *shown, writes the cursor of the next one behind `w`'s options; *more says whether there is one. */
static int list_page(struct cli *cli, const struct writer *request, int64_t *shown, struct writer *cursor, bool *more)
{
	struct slice next = SLICE_ABSENT;
	int code = ask(cli, request, SLICE_ABSENT);
	for (; code == CLAIM_ITEM; code = claim_next(cli->conn)) {
		if (cli->json) {
			show_json(cli->conn, NULL);
		} else {
			if (*shown == 0)
				show_item_head();
			show_item(cli->conn);
		}
		++*shown;
	}
	if (code == CLAIM_END)
		next.data = claim_field(cli->conn, "cursor", &next.len);
	*more = next.data != NULL;
	cursor->len = 0;
	if (*more)
		writer_bytes(cursor, next.data, next.len);
	return code;
}

int cli_list(struct cli *cli, const struct args *args)
{
	char line[PROTO_MAX_LINE], where[PROTO_MAX_LINE];
	struct writer w, cursor;
	struct args options = *args;
	int64_t limit = arg_given(args, ARG_LIMIT) ? args->number[ARG_LIMIT] : INT64_MAX, shown = 0;
	bool more = true;
	int code = CLAIM_END;
	options.given &= ~ARG_BIT(LIMIT);
	writer_init(&cursor, where, sizeof(where));
	while (more && shown < limit && code == CLAIM_END) {
		writer_init(&w, line, sizeof(line));
		write_request(&w, &options);
		request_integer(&w, OPT_LIMIT, limit - shown < PAGE ? limit - shown : PAGE);
		if (cursor.len > 0)
			request_bytes(&w, OPT_CURSOR, writer_done(&cursor));
		code = list_page(cli, &w, &shown, &cursor, &more);
	}
	if (code < 0)
		return failed(cli, args, code);
	if (shown == 0 && !cli->json)
		cli_say("no such records");
	return cli_exit_code(args->sub->verb, code);
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
		int code = ask(cli, &w, SLICE_ABSENT);
		if (code != CLAIM_OK)
			return answered(cli, args, code);
		deleted += claim_number(cli->conn, "deleted", 0);
		more = claim_number(cli->conn, "more", 0) != 0;
	} while (all && more);
	if (cli->json)
		printf("{\"format\":1,\"word\":\"OK\",\"deleted\":%" PRId64 ",\"more\":%d}\n", deleted, more);
	else
		printf("OK deleted=%" PRId64 " more=%d\n", deleted, more);
	return CLI_OK;
}
