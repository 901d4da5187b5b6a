/*
 * env.h - the environment as a value that is handed around, so that a test can give its own.
 */
#ifndef CLAIMD_SERVER_ENV_H
#define CLAIMD_SERVER_ENV_H

/* The value of `name` in a list as main gets it; NULL when it is not there. */
const char *env_get(char **envp, const char *name);

#endif
