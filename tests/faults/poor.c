/*
 * poor.c - a program of ours whose memory runs out: its own main is built under the name poor_main, and called by the one here.
 *
 * All that is allocated is counted together, by mem.c: by us, and in the daemon by libuv, SQLite and cJSON too, which are given
 * our functions. (Not what the C library takes for itself.)
 *
 *   POOR_AT     "7": the seventh allocation fails, from the start of the program; "7+": and all after it
 *   POOR_MADE   a file, into which at the end the number of allocations is written
 *   POOR_FD     a socket, over which a test says at any time what is to fail from then on: see poor.h
 */
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "../../proto/mem.h"
#include "poor.h"

static void made_tell(void)
{
	size_t made = mem_fail_at(0, 0);
	const char *path = getenv("POOR_MADE");
	FILE *file = path != NULL ? fopen(path, "w") : NULL;

	if (file == NULL)
		return;
	fprintf(file, "%zu\n", made);
	fclose(file);
}

#ifdef POOR_DAEMON
#include <sqlite3.h>
#include <uv.h>

int poor_main(int argc, char **argv, char **envp);

static void *uv_zero(size_t count, size_t size)
{
	return size > 0 && count > SIZE_MAX / size ? NULL : mem_zero(count * size);
}

/* SQLite asks how large a block is, so that stands in front of it. */
#define HEAD 16

static void *lite_alloc(int size)
{
	char *block = mem_alloc((size_t)size + HEAD);

	if (block == NULL)
		return NULL;
	memcpy(block, &size, sizeof size);
	return block + HEAD;
}

static void lite_free(void *p)
{
	mem_free((char *)p - HEAD);
}

static void *lite_resize(void *p, int size)
{
	char *block = mem_resize((char *)p - HEAD, (size_t)size + HEAD);

	if (block == NULL)
		return NULL;
	memcpy(block, &size, sizeof size);
	return block + HEAD;
}

static int lite_size(void *p)
{
	int size;

	memcpy(&size, (char *)p - HEAD, sizeof size);
	return size;
}

static int lite_round(int size)
{
	return (size + 7) & ~7;
}

static int lite_begin(void *arg)
{
	(void)arg;
	return SQLITE_OK;
}

static void lite_end(void *arg)
{
	(void)arg;
}

static void libraries(void)
{
	static sqlite3_mem_methods methods = {lite_alloc, lite_free,  lite_resize, lite_size,
					      lite_round, lite_begin, lite_end,    NULL};

	if (uv_replace_allocator(mem_alloc, mem_resize, uv_zero, mem_free) != 0 ||
	    sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK)
		abort();
}

/* Does what the test says, until it goes. */
static void *orders(void *arg)
{
	int fd = *(int *)arg;
	struct poor_order order;

	while (read(fd, &order, sizeof order) == (ssize_t)sizeof order) {
		uint64_t made = mem_fail_at((size_t)order.at, order.onward);

		if (write(fd, &made, sizeof made) != (ssize_t)sizeof made)
			break;
	}
	return NULL;
}

static void listen_to_orders(void)
{
	static int fd;
	const char *number = getenv("POOR_FD");
	pthread_t thread;

	if (number == NULL)
		return;
	fd = atoi(number);
	if (pthread_create(&thread, NULL, orders, &fd) != 0 || pthread_detach(thread) != 0)
		abort();
}
static int run(int argc, char **argv, char **envp)
{
	libraries();
	listen_to_orders();
	return poor_main(argc, argv, envp);
}
#else
int poor_main(int argc, char **argv);

static int run(int argc, char **argv, char **envp)
{
	(void)envp;
	return poor_main(argc, argv);
}
#endif

#undef main /* the build has given its name to poor_main */

int main(int argc, char **argv, char **envp)
{
	static cJSON_Hooks hooks = {mem_alloc, mem_free};
	const char *at = getenv("POOR_AT");
	char *end = NULL;
	size_t nth = at != NULL ? strtoul(at, &end, 10) : 0;

	cJSON_InitHooks(&hooks);
	atexit(made_tell);
	mem_fail_at(nth, end != NULL && *end == '+');
	return run(argc, argv, envp);
}
