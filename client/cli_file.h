/* cli_file.h - a file, or standard input, as a whole. */
#ifndef CLAIM_CLI_FILE_H
#define CLAIM_CLI_FILE_H

#include <stddef.h>

/* name "-": standard input. Free it with mem_free. NULL: it was said on stderr why, with the option that named it.
 * 64 MiB at most. */
char *file_read(const char *option, const char *name, size_t *len);
/* A descriptor (close-on-exec) from which these octets can be read; -1 with errno. */
int file_of(const char *data, size_t len);

#endif
