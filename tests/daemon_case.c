/* daemon_case.c - see daemon_case.h. */
#include "daemon_case.h"

#include <stdio.h>
#include <string.h>

const char *const in_memory[] = {"--store", "memory:", NULL};
const char *const on_sqlite[] = {"--store", "sqlite:@/db", NULL};
struct spawn daemon_;

int dial(void)
{
	int fd = spawn_connect(&daemon_);

	ck_assert_int_ge(fd, 0);
	return fd;
}

const char *ask(const char *line)
{
	return wire_ask_once(&daemon_, line);
}

void becomes(const char *line, const char *part)
{
	long long deadline_ms = wait_now_ms() + SPAWN_WAIT_MS;

	while (strstr(ask(line), part) == NULL)
		ck_assert_msg(wait_moment(deadline_ms), "%s never has %s", line, part);
}

void starts(const char *line, const char *start)
{
	ck_assert_ptr_nonnull(line);
	ck_assert_msg(strncmp(line, start, strlen(start)) == 0, "got \"%s\", not \"%s...\"", line, start);
}

void has(const char *line, const char *part)
{
	ck_assert_ptr_nonnull(line);
	ck_assert_msg(strstr(line, part) != NULL, "got \"%s\", without \"%s\"", line, part);
}

const char *with(const char *verb_key, long long fence, const char *rest)
{
	static char line[512];

	snprintf(line, sizeof line, "%s fence=%lld %s", verb_key, fence, rest);
	return line;
}
