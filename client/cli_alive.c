/*
 * cli_alive.c - ping: is the daemon there, and its store; wait: until it is. Called by cli.c.
 *
 * Happy path: one PING, or one STATUS for the store. Failure modes: nobody listens, no answer within a second, the
 * store is down, the daemon is leaving; `wait` then looks again, with short pauses since it is for a daemon that
 * starts right now.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli_ask.h"
#include "cli_json.h"
#include "cli_show.h"
#include "link.h"

#define PAUSE_MS 50
#define TALK_AFTER_MS 2000

/* CLAIM_OK, or why not; *why is in words. */
static int alive(struct cli *cli, bool store, struct errbuf *why)
{
	const char *line = store ? "STATUS" : "PING";
	int code = claim_call(cli->conn, line, strlen(line), NULL, 0);
	err_set(why, "%s", claim_detail(cli->conn));
	if (code != CLAIM_STATUS)
		return code;
	const char *up = claim_field(cli->conn, "store_up", NULL), *phase = claim_field(cli->conn, "phase", NULL);
	if (!up || strcmp(up, "yes") != 0)
		err_set(why, "the daemon is there, and its store is not");
	else if (!phase || strcmp(phase, "serving") != 0)
		err_set(why, "the daemon is leaving");
	else
		return CLAIM_OK;
	return CLAIM_E_REFUSED;
}

static int answer(struct cli *cli, const struct args *args, int code, const struct errbuf *why)
{
	if (code == CLAIM_OK) {
		if (cli->json)
			json_print(stdout, json_new("OK"));
		else
			puts("OK");
		return CLI_OK;
	}
	if (code != CLAIM_E_REFUSED || *claim_detail(cli->conn))
		return cli_answered(cli, args, code);
	if (cli->json)
		show_json_error(code, NULL, why->text);
	cli_say("%s", why->text);
	return CLI_UNREACHABLE;
}

int cli_ping(struct cli *cli, const struct args *args)
{
	struct errbuf why;
	int code = alive(cli, arg_given(args, ARG_STORE), &why);
	return answer(cli, args, code, &why);
}

/* Another look may bring another answer. */
static bool may_come(int code)
{
	return code == CLAIM_E_UNREACHABLE || code == CLAIM_E_UNCERTAIN || code == CLAIM_E_REFUSED;
}

int cli_wait(struct cli *cli, const struct args *args)
{
	const struct timespec pause = {0, PAUSE_MS * 1000 * 1000};
	int64_t started_ms = link_now_ms(), waited_ms = 0;
	int64_t most_ms = arg_given(args, ARG_PATIENCE) ? args->number[ARG_PATIENCE] : INT64_MAX;
	struct errbuf why;
	bool told = false;
	int code;
	while (may_come(code = alive(cli, arg_given(args, ARG_STORE), &why)) && waited_ms < most_ms) {
		if (!told && waited_ms >= TALK_AFTER_MS)
			cli_say("still waiting: %s", why.text);
		told = told || waited_ms >= TALK_AFTER_MS;
		nanosleep(&pause, NULL);
		waited_ms = link_now_ms() - started_ms;
	}
	if (may_come(code))
		cli_say("waited for %s in vain", show_duration(waited_ms).text);
	return answer(cli, args, code, &why);
}
