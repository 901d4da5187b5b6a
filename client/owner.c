/* owner.c - who holds a claim, for people. Called by the verbs that claim. A host without a name is "localhost". */
#include "owner.h"

#include <string.h>
#include <unistd.h>

struct slice owner_default(char *data, size_t size, pid_t pid)
{
	char host[65];
	struct writer w;
	if (gethostname(host, sizeof(host)) != 0 || !*host)
		memcpy(host, "localhost", sizeof("localhost"));
	host[sizeof(host) - 1] = '\0';
	writer_init(&w, data, size);
	writer_text(&w, host);
	writer_char(&w, ':');
	writer_int(&w, pid);
	return writer_done(&w);
}
