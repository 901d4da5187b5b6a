/* fuzz.c - see fuzz.h. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

void must(bool held)
{
	if (!held)
		abort();
}

char *exact_copy(const void *data, size_t len)
{
	char *copy = malloc(len > 0 ? len : 1);

	must(copy != NULL);
	if (len > 0)
		memcpy(copy, data, len);
	return copy;
}
