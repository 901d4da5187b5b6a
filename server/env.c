/* env.c - see env.h. */
#include "env.h"

#include <string.h>

const char *env_get(char **envp, const char *name)
{
	size_t len = strlen(name);

	for (; *envp; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}
