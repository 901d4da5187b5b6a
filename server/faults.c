/* faults.c - see faults.h. */
#include "faults.h"

#include <string.h>

/* Whoever found no memory has written so at the end of its reason. */
static bool is_for_memory(const struct errbuf *why)
{
	static const char end[] = "out of memory";
	size_t len = strlen(why->text);

	return len >= sizeof end - 1 && strcmp(why->text + len - (sizeof end - 1), end) == 0;
}

void faults_add(struct faults *faults, enum fit fit, const struct errbuf *why)
{
	if (faults->count < FAULTS_SHOWN)
		faults->at[faults->count] = *why;
	faults->count++;
	faults->lasting = faults->lasting || (fit == FIT_NEVER && !is_for_memory(why));
}

void faults_print(const struct faults *faults, FILE *out)
{
	for (size_t i = 0; i < faults->count && i < FAULTS_SHOWN; i++)
		fprintf(out, "claimd: %s\n", faults->at[i].text);
	if (faults->count > FAULTS_SHOWN)
		fprintf(out, "claimd: and %zu more\n", faults->count - FAULTS_SHOWN);
}
