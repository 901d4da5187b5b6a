/*
 * cli_look.c - the verbs that only look: status, get, ls. Called by cli.c.
 *
 * Failure modes: those of cli_ask.c, and no memory for a page of a table.
 */
#include <stdio.h>
#include <string.h>

#include "cli_ask.h"
#include "cli_json.h"
#include "cli_show.h"

#define PAGE 1000

/* ---- one record, and the daemon ---- */

static int no_record(struct cli *cli, const struct args *args)
{
	struct reply reply = cli_reply(cli->conn);
	if (cli->json)
		show_json(stdout, &reply, args->key);
	else
		cli_say("there is no record of this key");
	return CLI_NO;
}

int cli_status(struct cli *cli, const struct args *args)
{
	char line[PROTO_MAX_LINE];
	struct writer w;
	if (!args->key && arg_given(args, ARG_WAIT)) {
		cli_say("--wait is for a key: claim status --wait KEY");
		return CLI_USAGE;
	}
	writer_init(&w, line, sizeof(line));
	write_request(&w, args);
	int code = cli_ask(cli, &w, SLICE_ABSENT);
	if (code == CLAIM_NOTFOUND)
		return no_record(cli, args);
	if (code != CLAIM_STATUS || cli->json)
		return cli_answered(cli, args, code);
	struct reply reply = cli_reply(cli->conn);
	if (args->key)
		show_record(stdout, cli->colour, &reply, args->key);
	else
		show_daemon(stdout, cli->colour, &reply);
	return CLI_OK;
}

int cli_get(struct cli *cli, const struct args *args)
{
	char line[PROTO_MAX_LINE];
	struct writer w;
	writer_init(&w, line, sizeof(line));
	request_begin(&w, VERB_STATUS, slice_from(args->key));
	request_flag(&w, OPT_RESULT);
	int code = cli_ask(cli, &w, SLICE_ABSENT);
	if (code == CLAIM_NOTFOUND)
		return no_record(cli, args);
	if (code != CLAIM_STATUS)
		return cli_answered(cli, args, code);
	struct reply reply = cli_reply(cli->conn);
	if (arg_given(args, ARG_BODY))
		fwrite(reply.body.data, 1, reply.body.len, stdout);
	else if (cli->json)
		show_json(stdout, &reply, args->key);
	else
		show_record(stdout, cli->colour, &reply, args->key);
	if (!reply.body.data)
		cli_say("no result is kept for this key");
	return reply.body.data ? CLI_OK : CLI_NO;
}

/* ---- many records ---- */

struct list {
	struct cli *cli;
	struct table *table; /* NULL: as JSON */
	int64_t shown;
	char cursor[PROTO_MAX_LINE]; /* where the next page begins */
	size_t cursor_len;           /* 0: there is none */
};

/* The records of one page. */
static int list_page(struct list *list, const struct writer *request)
{
	claim_conn *conn = list->cli->conn;
	int code = cli_ask(list->cli, request, SLICE_ABSENT);
	for (; code == CLAIM_ITEM; code = claim_next(conn)) {
		struct reply item = cli_reply(conn);
		if (!list->table)
			show_json(stdout, &item, NULL);
		else if (!table_add(list->table, &item))
			cli_say("no memory: a record is left out");
		list->shown++;
	}
	if (list->table)
		table_flush(list->table, stdout, list->cli->colour);
	list->cursor_len = 0;
	size_t len;
	const char *next = code == CLAIM_END ? claim_field(conn, "cursor", &len) : NULL;
	if (next && len <= sizeof(list->cursor)) {
		memcpy(list->cursor, next, len);
		list->cursor_len = len;
	}
	return code;
}

static int list_all(struct list *list, const struct args *args, int64_t limit)
{
	char line[PROTO_MAX_LINE];
	struct writer w;
	int code;
	do {
		int64_t rest = limit - list->shown;
		writer_init(&w, line, sizeof(line));
		write_request(&w, args);
		request_integer(&w, OPT_LIMIT, rest < PAGE ? rest : PAGE);
		if (list->cursor_len > 0)
			request_bytes(&w, OPT_CURSOR, (struct slice){list->cursor, list->cursor_len});
		code = list_page(list, &w);
	} while (code == CLAIM_END && list->cursor_len > 0 && list->shown < limit);
	return code;
}

int cli_list(struct cli *cli, const struct args *args)
{
	struct list list = {.cli = cli};
	struct args options = *args;
	int64_t limit = arg_given(args, ARG_LIMIT) ? args->number[ARG_LIMIT] : INT64_MAX;
	options.given &= ~ARG_BIT(LIMIT);
	if (!cli->json && !(list.table = table_new())) {
		cli_say("no memory");
		return CLI_UNREACHABLE;
	}
	int code = list_all(&list, &options, limit);
	table_free(list.table);
	if (code != CLAIM_END)
		return code < 0 ? cli_failed(cli, args, code) : cli_answered(cli, args, code);
	if (list.shown == 0 && !cli->json)
		cli_say("no such records");
	return CLI_OK;
}
