/* hint.h - what a person may type next: a whole command with the real key, ready to be pasted into a shell. */
#ifndef CLAIM_HINT_H
#define CLAIM_HINT_H

#include "cli.h"

/*
 * Prints one line on stderr, "  WHEN: claim COMMAND --fence N KEY", with the socket and the namespace of this call in it.
 * command: the verb and its options. fence 0: none. Every word is quoted where a shell would read it otherwise.
 */
void hint_say(const struct cli *cli, const char *when, const char *command, int64_t fence, struct slice key);

#endif
