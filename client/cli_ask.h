/* cli_ask.h - one request made of the command line, and what to say when it brings no answer. */
#ifndef CLAIM_CLI_ASK_H
#define CLAIM_CLI_ASK_H

#include "cli.h"

/* The verb, its key and every option of the protocol that was given. */
void write_request(struct writer *w, const struct args *args);
/* Asks; body is absent where there is none. A line that is too long is refused here. */
int cli_ask(struct cli *cli, const struct writer *w, struct slice body);
/* There was no answer, or an ERR: says so, and returns the exit code. */
int cli_failed(struct cli *cli, const struct args *args, int code);
/* Prints an answer, says what to do next, and returns the exit code. */
int cli_answered(struct cli *cli, const struct args *args, int code);

#endif
