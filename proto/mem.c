/*
 * mem.c - allocation with a switch for tests; see mem.h.
 *
 * Called from several threads. The switch is the one piece of state here, since a test must reach allocations that it
 * cannot hand anything to. Until a test first touches it an allocation costs one look at a flag more than malloc.
 */
#include "mem.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct {
	atomic_bool counting;
	atomic_bool onward;
	atomic_size_t made;    /* since the last mem_fail_at */
	atomic_size_t fail_at; /* 0: none */
} fault;

/* Counts one allocation; true: this is one that a test wants refused. */
static bool refused(void)
{
	if (!atomic_load_explicit(&fault.counting, memory_order_relaxed))
		return false;
	size_t nth = atomic_fetch_add(&fault.made, 1) + 1;
	size_t fail_at = atomic_load(&fault.fail_at);
	if (fail_at == 0)
		return false;
	return nth == fail_at || (nth > fail_at && atomic_load(&fault.onward));
}

size_t mem_fail_at(size_t nth, int onward)
{
	atomic_store(&fault.fail_at, 0);
	size_t made = atomic_exchange(&fault.made, 0);
	atomic_store(&fault.onward, onward != 0);
	atomic_store(&fault.fail_at, nth);
	atomic_store(&fault.counting, true);
	return made;
}

/* malloc(0) may return NULL, which would look like no memory. */
static size_t at_least_one(size_t size)
{
	return size > 0 ? size : 1;
}

void *mem_alloc(size_t size)
{
	return refused() ? NULL : malloc(at_least_one(size));
}

void *mem_zero(size_t size)
{
	return refused() ? NULL : calloc(1, at_least_one(size));
}

void *mem_resize(void *old, size_t size)
{
	return refused() ? NULL : realloc(old, at_least_one(size));
}

char *mem_copy(const void *data, size_t len)
{
	if (len == SIZE_MAX)
		return NULL;
	char *copy = mem_alloc(len + 1);
	if (copy == NULL)
		return NULL;
	if (len > 0)
		memcpy(copy, data, len);
	copy[len] = '\0';
	return copy;
}

void mem_free(void *p)
{
	free(p);
}
