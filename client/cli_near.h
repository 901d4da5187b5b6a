/* cli_near.h - what was probably meant by a word that is not known. */
#ifndef CLAIM_CLI_NEAR_H
#define CLAIM_CLI_NEAR_H

#include "../proto/text.h"

/* Zero it, offer it each word that there is, and look at `word` then: NULL when nothing comes near. */
struct near {
	struct slice meant;
	const char *word;
	size_t distance;
};
void near_offer(struct near *near, const char *word);

#endif
