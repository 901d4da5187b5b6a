/*
 * cli_complete.c - `claim completion`: scripts with which bash, zsh and fish complete a command line, made from the
 * tables. Called by cli.c. It cannot fail.
 *
 * All three know the same: the verbs; of a verb its options, the words or the file that an option takes; behind the
 * "--" of run and lock whatever the shell itself would complete. Keys are not completed: that would ask the daemon
 * for each press of a key.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

enum takes { TAKES_NOTHING, TAKES_WORDS, TAKES_FILE, TAKES_ANYTHING };

static enum takes takes_of(const struct arg_info *info)
{
	if (!info->value)
		return TAKES_NOTHING;
	if (info->kind == ARG_KIND_CHOICE)
		return TAKES_WORDS;
	return strncmp(info->value, "FILE", 4) == 0 || strcmp(info->value, "PATH") == 0 ? TAKES_FILE : TAKES_ANYTHING;
}

/* Calls it for each option of a verb; sub NULL: for those that stand everywhere. */
static void each_option(const struct subcommand *sub, void (*show)(const struct subcommand *sub, enum arg arg))
{
	for (enum arg arg = sub ? 0 : ARG_SOCKET; arg < (sub ? ARG_SOCKET : ARG__COUNT); arg++)
		if (!sub || (sub->args & UINT64_C(1) << arg))
			show(sub, arg);
}

/* What stands between quotes: each of these octets gets a backslash; a quote, what its shell wants there. */
static void put_text(const char *text, const char *escaped, const char *quote)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs(quote, stdout);
		else
			printf("%s%c", strchr(escaped, *text) ? "\\" : "", *text);
	}
}

static void put_words(const char *words)
{
	for (; *words; words++)
		putchar(*words == '|' ? ' ' : *words);
}

static void put_verbs(void)
{
	for (const struct subcommand *sub = cli_subcommands(); sub->name; sub++)
		printf("%s%s", sub == cli_subcommands() ? "" : " ", sub->name);
}

/* ---- bash ---- */

static void bash_name(const struct subcommand *sub, enum arg arg)
{
	(void)sub;
	printf(" --%s", arg_info(arg)->name);
}

/* A case for what may stand behind the option. */
static void bash_value(const struct subcommand *sub, enum arg arg)
{
	const struct arg_info *info = arg_info(arg);
	enum takes takes = takes_of(info);
	(void)sub;
	/* A value that may be left out stands behind "=" only. */
	if (takes == TAKES_NOTHING || arg_value_optional(info))
		return;
	printf("\t\t--%s) ", info->name);
	if (takes == TAKES_FILE) {
		fputs("_claim_files; return ;;\n", stdout);
	} else if (takes == TAKES_WORDS) {
		fputs("_claim_words '", stdout);
		put_words(info->value);
		fputs("'; return ;;\n", stdout);
	} else {
		fputs("return ;;\n", stdout);
	}
}

static void bash_options(const struct subcommand *sub)
{
	fputs("\t\toptions=\"$options", stdout);
	each_option(sub, bash_name);
	fputs("\"\n\t\tcase $prev in\n", stdout);
	each_option(sub, bash_value);
	fputs("\t\tesac\n", stdout);
}

static void bash_operand(const struct subcommand *sub)
{
	if (sub->operand == CLI_COMMAND)
		fputs("\t\t[[ $dashes -gt 0 ]] && { _claim_command $dashes; return; }\n", stdout);
	else if (sub->operand == CLI_SHELL)
		fputs("\t\twords='bash zsh fish'\n", stdout);
	else if (sub->operand == CLI_MAYBE_VERB)
		fputs("\t\twords=$verbs\n", stdout);
}

static void bash_script(void)
{
	fputs("_claim_words()\n{\n\tmapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n}\n\n"
	      "_claim_files()\n{\n\tcompopt -o filenames 2>/dev/null\n"
	      "\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n}\n\n"
	      "# Behind the dashes at $1: a command, then its files.\n"
	      "_claim_command()\n{\n\tif [[ $COMP_CWORD -eq $(($1 + 1)) ]]; then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n\telse\n\t\t_claim_files\n\tfi\n}\n\n"
	      "_claim()\n{\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb= dashes=0 i\n"
	      "\tlocal options= words= verbs='",
	      stdout);
	put_verbs();
	/* bash has cut "--as=done" into three words. */
	fputs("'\n\tCOMPREPLY=()\n\t[[ $cur = '=' ]] && cur=\n"
	      "\t[[ $prev = '=' && $COMP_CWORD -gt 1 ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
	      "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n\t\tcase ${COMP_WORDS[i]} in\n"
	      "\t\t--) dashes=$i; break ;;\n\t\t--socket | --namespace) ((i++)); [[ ${COMP_WORDS[i]} = '=' ]] && "
	      "((i++)) ;;\n\t\t-*) ;;\n\t\t*) [[ $verb ]] || verb=${COMP_WORDS[i]} ;;\n\t\tesac\n\tdone\n"
	      "\tif [[ $dashes -eq 0 ]]; then\n",
	      stdout);
	bash_options(NULL);
	fputs("\tfi\n\tcase $verb in\n\t'')\n\t\twords=$verbs\n\t\t;;\n", stdout);
	for (const struct subcommand *sub = cli_subcommands(); sub->name; sub++) {
		printf("\t%s)\n", sub->name);
		bash_operand(sub);
		bash_options(sub);
		fputs("\t\t;;\n", stdout);
	}
	fputs("\tesac\n\tif [[ $cur = -* && $dashes -eq 0 ]]; then\n\t\t_claim_words \"$options\"\n"
	      "\telse\n\t\t_claim_words \"$words\"\n\tfi\n}\n\ncomplete -F _claim claim\n",
	      stdout);
}

/* ---- zsh ---- */

static void zsh_option(const struct subcommand *sub, enum arg arg)
{
	const struct arg_info *info = arg_info(arg);
	enum takes takes = takes_of(info);
	(void)sub;
	printf(" \\\n\t\t'--%s%s[", info->name, takes == TAKES_NOTHING ? "" : arg_value_optional(info) ? "=-" : "=");
	put_text(info->help, "[]\\", "'\\''");
	putchar(']');
	if (takes != TAKES_NOTHING) {
		printf("%s%s:", arg_value_optional(info) ? "::" : ":", takes == TAKES_WORDS ? "word" : info->value);
		if (takes == TAKES_WORDS) {
			putchar('(');
			put_words(info->value);
			putchar(')');
		} else {
			fputs(takes == TAKES_FILE ? "_files" : " ", stdout);
		}
	}
	putchar('\'');
}

static void zsh_operand(const struct subcommand *sub)
{
	static const char *const operands[] = {
	    [CLI_NOTHING] = "",
	    [CLI_KEY] = " \\\n\t\t'1:key:()'",
	    [CLI_MAYBE_KEY] = " \\\n\t\t'::key:()'",
	    [CLI_COMMAND] = " \\\n\t\t'1:key:()' '*::command:_claim_command'",
	    [CLI_MAYBE_VERB] = " \\\n\t\t'::verb:(",
	    [CLI_SHELL] = " \\\n\t\t'1:shell:(bash zsh fish)'",
	};
	fputs(operands[sub->operand], stdout);
	if (sub->operand != CLI_MAYBE_VERB)
		return;
	put_verbs();
	fputs(")'", stdout);
}

static void zsh_script(void)
{
	fputs("# Behind the dashes: whatever the command itself completes.\n"
	      "_claim_command()\n{\n\tlocal -i at=${words[(i)--]}\n\t(( at < CURRENT )) || return 1\n"
	      "\tshift $at words\n\t(( CURRENT -= at ))\n\t_normal\n}\n\n"
	      "_claim()\n{\n\tlocal curcontext=$curcontext state line\n\tlocal -a verbs\n\tverbs=(\n",
	      stdout);
	for (const struct subcommand *sub = cli_subcommands(); sub->name; sub++) {
		printf("\t\t'%s:", sub->name);
		put_text(sub->help, "\\", "'\\''");
		fputs("'\n", stdout);
	}
	fputs("\t)\n\t_arguments -C", stdout);
	each_option(NULL, zsh_option);
	fputs(" \\\n\t\t'1: :->verb' '*:: :->rest' && return\n\tcase $state in\n\tverb)\n"
	      "\t\t_describe -t verbs verb verbs\n\t\t;;\n\trest)\n\t\tcase $words[1] in\n",
	      stdout);
	for (const struct subcommand *sub = cli_subcommands(); sub->name; sub++) {
		printf("\t\t%s)\n\t\t_arguments -S", sub->name);
		each_option(NULL, zsh_option);
		each_option(sub, zsh_option);
		zsh_operand(sub);
		fputs("\n\t\t;;\n", stdout);
	}
	fputs("\t\tesac\n\t\t;;\n\tesac\n}\n\ncompdef _claim claim\n", stdout);
}

/* ---- fish ---- */

static void fish_option(const struct subcommand *sub, enum arg arg)
{
	const struct arg_info *info = arg_info(arg);
	enum takes takes = takes_of(info);
	fputs("complete -c claim -n '__claim_options", stdout);
	if (sub)
		printf("; and __claim_verb %s", sub->name);
	printf("' -l %s", info->name);
	if (!arg_value_optional(info) && takes != TAKES_NOTHING)
		fputs(takes == TAKES_FILE ? " -r -F" : " -x", stdout);
	if (takes == TAKES_WORDS) {
		fputs(" -a '", stdout);
		put_words(info->value);
		putchar('\'');
	}
	fputs(" -d '", stdout);
	put_text(info->help, "\\", "\\'");
	fputs("'\n", stdout);
}

static void fish_verb(const struct subcommand *sub)
{
	printf("complete -c claim -n 'not __claim_verb' -a %s -d '", sub->name);
	put_text(sub->help, "\\", "\\'");
	fputs("'\n", stdout);
	each_option(sub, fish_option);
	if (sub->operand == CLI_SHELL)
		printf("complete -c claim -n '__claim_verb %s' -a 'bash zsh fish'\n", sub->name);
	if (sub->operand == CLI_COMMAND)
		printf("complete -c claim -n '__claim_verb %s; and not __claim_options' -F -a "
		       "'(__fish_complete_command)'\n",
		       sub->name);
	if (sub->operand != CLI_MAYBE_VERB)
		return;
	printf("complete -c claim -n '__claim_verb %s' -a '", sub->name);
	put_verbs();
	fputs("'\n", stdout);
}

static void fish_script(void)
{
	fputs("# There is a verb, and it is that of $argv where one is given.\nfunction __claim_verb\n"
	      "\tset -l words (commandline -opc)\n\tset -l skip 1\n\tfor word in $words\n"
	      "\t\tif test $skip = 1\n\t\t\tset skip 0\n\t\t\tcontinue\n\t\tend\n\t\tswitch $word\n"
	      "\t\t\tcase --socket --namespace\n\t\t\t\tset skip 1\n\t\t\tcase '-*'\n\t\t\tcase '*'\n"
	      "\t\t\t\ttest \"$argv\" = '' -o \"$argv\" = $word\n\t\t\t\treturn\n\t\tend\n\tend\n\treturn 1\nend\n\n"
	      "# Not yet behind the dashes.\nfunction __claim_options\n"
	      "\tnot contains -- -- (commandline -opc)\nend\n\ncomplete -c claim -f\n",
	      stdout);
	each_option(NULL, fish_option);
	for (const struct subcommand *sub = cli_subcommands(); sub->name; sub++)
		fish_verb(sub);
}

int cli_complete(struct cli *cli, const struct args *args)
{
	(void)cli;
	if (strcmp(args->key, "bash") == 0) {
		bash_script();
	} else if (strcmp(args->key, "zsh") == 0) {
		zsh_script();
	} else if (strcmp(args->key, "fish") == 0) {
		fish_script();
	} else {
		cli_say("there is no completion for %.60s: bash, zsh or fish", args->key);
		return CLI_USAGE;
	}
	return CLI_OK;
}
