/*
 * cli_help.c - the help, made from the tables: all verbs, or one with its options. Called by cli.c. It cannot fail.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "cli_near.h"

static void help_option(enum arg arg)
{
	const struct arg_info *info = arg_info(arg);
	char left[80];
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

static void help_exit(const struct subcommand *sub)
{
	if (sub->operand == CLI_COMMAND)
		fputs("\nexit: that of the command; 75 held, 65 other fingerprint, 79 unknown, 69 no daemon or store,\n"
		      "124 timeout, 125 lease lost, 126 not executable, 127 not found, 128+N signal; see claim(1)\n",
		      stdout);
	else if (sub->run != cli_help && sub->run != cli_complete)
		fputs("\nexit: 0 go on, 1 no, 75 held, 65 other fingerprint, 79 unknown, 69 no daemon or store, 64 "
		      "usage\n",
		      stdout);
}

void help_sub(const struct subcommand *sub)
{
	static const char *const operands[] = {
	    [CLI_NOTHING] = "",           [CLI_KEY] = " KEY",
	    [CLI_MAYBE_KEY] = " [KEY]",   [CLI_COMMAND] = " KEY -- COMMAND [ARGUMENT ...]",
	    [CLI_MAYBE_VERB] = " [VERB]", [CLI_SHELL] = " bash|zsh|fish",
	};
	printf("claim %s%s%s\n%s\n", sub->name, sub->args ? " [OPTION ...]" : "", operands[sub->operand], sub->help);
	if (sub->args)
		putchar('\n');
	for (enum arg arg = 0; arg < ARG_SOCKET; arg++)
		if (sub->args & UINT64_C(1) << arg)
			help_option(arg);
	help_global();
	help_exit(sub);
}

void help_all(void)
{
	fputs("claim VERB [OPTION ...] [KEY]\n"
	      "claim run KEY -- COMMAND    does it once, however often it is asked for\n\nverbs:\n",
	      stdout);
	for (const struct subcommand *sub = cli_subcommands(); sub->name; sub++)
		printf("  %-10s  %s\n", sub->name, sub->help);
	help_global();
	fputs("\nclaim help VERB lists the options of a verb.\n", stdout);
}

int cli_help(struct cli *cli, const struct args *args)
{
	struct near near = {.meant = slice_from(args->key)};
	(void)cli;
	if (!args->key) {
		help_all();
		return CLI_OK;
	}
	for (const struct subcommand *sub = cli_subcommands(); sub->name; sub++) {
		if (strcmp(sub->name, args->key) == 0) {
			help_sub(sub);
			return CLI_OK;
		}
		near_offer(&near, sub->name);
	}
	cli_say(near.word ? "there is no verb \"%.60s\"; did you mean %s?" : "there is no verb \"%.60s\"", args->key,
		near.word);
	return CLI_USAGE;
}
