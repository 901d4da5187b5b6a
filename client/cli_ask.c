/*
 * cli_ask.c - asks the daemon, prints what it answers, and says what a person does next. See cli_ask.h. Called by the plain verbs.
 *
 * The request is made from the table of options; what it means is the daemon's. Failure modes: no daemon, a refusal;
 * each is said on stderr (with --json as a document too) and has its exit code.
 */
#include "cli_ask.h"

#include <stdio.h>
#include <string.h>

#include "cli_json.h"
#include "cli_show.h"
#include "hint.h"

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
	case ARG_KIND_MAYBE_DURATION: /* without one: as long as one request may take */
		request_duration(w, info->option,
				 args->number[arg] > 0 && args->number[arg] < CLI_WAIT_MAX_MS ? args->number[arg]
											      : CLI_WAIT_MAX_MS);
		return;
	case ARG_KIND_INTEGER:
	case ARG_KIND_SIZE:
		request_integer(w, info->option, args->number[arg]);
		return;
	case ARG_KIND_TEXT:
	case ARG_KIND_CHOICE:
	default:
		request_bytes(w, info->option, slice_from(args->text[arg]));
	}
}

void write_request(struct writer *w, const struct args *args)
{
	request_begin(w, args->sub->verb, slice_from(args->key));
	for (enum arg arg = 0; arg < ARG__COUNT; arg++)
		if (arg_given(args, arg))
			write_option(w, args, arg);
}

int cli_ask(struct cli *cli, const struct writer *w, struct slice body)
{
	return claim_call(cli->conn, w->data, w->full ? PROTO_MAX_LINE + 1 : w->len, body.data, body.len);
}

/* ---- no answer ---- */

int cli_failed(struct cli *cli, const struct args *args, int code)
{
	if (cli->json && *claim_word(cli->conn)) {
		struct reply reply = cli_reply(cli->conn);
		show_json(stdout, &reply, args->key);
	} else if (cli->json) {
		show_json_error(code, args->key, claim_detail(cli->conn));
	}
	cli_say_error(code, claim_socket(cli->conn), claim_detail(cli->conn));
	if (code == CLAIM_E_UNCERTAIN && args->key)
		hint_say(cli, "ask", "status", 0, slice_from(args->key));
	return cli_exit_code(args->sub->verb, code);
}

/* ---- what a person does next ---- */

static struct duration_text number_text(const struct cli *cli, const char *name)
{
	return show_duration(claim_number(cli->conn, name, 0));
}

/* A claim that is not ours any more. */
static void advise_holder(const struct cli *cli, const struct args *args)
{
	const char *state = claim_field(cli->conn, "state", NULL);
	if (claim_number(cli->conn, "left_ms", -1) == 0) {
		cli_say("the claim is still yours, but its lease is over: renew it, or stop the work");
		return;
	}
	if (state && strcmp(state, "absent") == 0)
		cli_say("there is no record of this key any more");
	else
		cli_say("the claim with fence %s is not yours any more: the key is %s now, with fence %lld",
			args->text[ARG_FENCE], state ? state : "another's",
			(long long)claim_number(cli->conn, "fence", 0));
	if (args->sub->verb != VERB_CHECK)
		hint_say(cli, "nothing was changed; look at what is there", "status", 0, slice_from(args->key));
}

static void advise_unknown(const struct cli *cli, struct slice key)
{
	int64_t fence = claim_number(cli->conn, "fence", 0);
	hint_say(cli, "if it happened", "resolve --as done", fence, key);
	hint_say(cli, "if it did not", "resolve --as free", fence, key);
}

/* RESOLVE or FORGET was told what stands there instead. */
static void advise_operator(const struct cli *cli, const struct args *args, int code)
{
	const char *owner = claim_field(cli->conn, "owner", NULL), *state = claim_field(cli->conn, "state", NULL);
	struct slice key = slice_from(args->key);
	int64_t fence = claim_number(cli->conn, "fence", 0);
	char command[64];
	if (args->sub->verb == VERB_FORGET)
		snprintf(command, sizeof(command), "forget --force");
	else
		snprintf(command, sizeof(command), "resolve --as %s --force", args->text[ARG_AS]);
	switch (code) {
	case CLAIM_NOTFOUND:
		cli_say("there is no record of this key");
		return;
	case CLAIM_STALE:
		if (state && strcmp(state, "free") == 0)
			cli_say("the key is free: nobody holds it, and there is nothing to settle");
		else
			cli_say("the record is %s and has fence %lld now: it is not the one that you looked at",
				state ? state : "another", (long long)fence);
		hint_say(cli, "look again", "status", 0, key);
		return;
	case CLAIM_HELD:
		cli_say("%s works on it, for %s so far; the lease ends in %s", owner ? owner : "somebody",
			number_text(cli, "age_ms").text, number_text(cli, "left_ms").text);
		hint_say(cli, "wait for that; or, if you know that nobody does", command, fence, key);
		return;
	case CLAIM_UNKNOWN:
		cli_say("nobody knows whether it happened, for %s now", number_text(cli, "age_ms").text);
		advise_unknown(cli, key);
		hint_say(cli, "to have the work done again in any case", command, fence, key);
		return;
	default:
		cli_say("it is settled: %s, for %s now", code == CLAIM_DONE ? "done" : "failed",
			number_text(cli, "age_ms").text);
		hint_say(cli, "to settle it anew", command, fence, key);
	}
}

/* CLAIM said no for a reason that somebody has to look at. */
static void advise_claimer(const struct cli *cli, const struct args *args, int code)
{
	struct slice key = slice_from(args->key);
	if (code == CLAIM_UNKNOWN) {
		cli_say("nobody knows whether it happened: do not run, find out first");
		advise_unknown(cli, key);
	} else if (code == CLAIM_HELD) {
		struct reply reply = cli_reply(cli->conn);
		say_kept_off(&reply);
	} else if (code == CLAIM_MISMATCH) {
		cli_say("the key was used for another request: do not run");
		hint_say(cli, "what it was", "status", 0, key);
	}
}

static void advise(const struct cli *cli, const struct args *args, int code)
{
	enum verb verb = args->sub->verb;
	if (code == CLAIM_OK && claim_number(cli->conn, "kept", 1) == 0)
		cli_say("settled, but the result was too big or results are not kept: it is not there for duplicates");
	if (cli_exit_code(verb, code) == CLI_OK)
		return;
	if (cli_exit_code(verb, code) == CLI_UNREACHABLE)
		cli_say("this version of claim does not know that answer: do not run");
	else if (verb == VERB_RESOLVE || verb == VERB_FORGET)
		advise_operator(cli, args, code);
	else if (verb == VERB_CLAIM)
		advise_claimer(cli, args, code);
	else if (code == CLAIM_STALE)
		advise_holder(cli, args);
}

int cli_answered(struct cli *cli, const struct args *args, int code)
{
	if (code < 0)
		return cli_failed(cli, args, code);
	struct reply reply = cli_reply(cli->conn);
	if (cli->json)
		show_json(stdout, &reply, args->key);
	else
		show_line(stdout, cli->colour, &reply);
	advise(cli, args, code);
	return cli_exit_code(args->sub->verb, code);
}
