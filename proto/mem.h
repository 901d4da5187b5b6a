/*
 * mem.h - every allocation of the daemon, the library and the command.
 *
 * They return NULL when there is no memory; the caller refuses one request and lives on. A test
 * makes the Nth allocation fail with mem_fail_at.
 */
#ifndef CLAIMD_PROTO_MEM_H
#define CLAIMD_PROTO_MEM_H

#include <stddef.h>

/* size octets, not cleared. */
void *mem_alloc(size_t size);
/* size octets of zeros. */
void *mem_zero(size_t size);
/* As realloc: on failure NULL, and `old` is untouched. */
void *mem_resize(void *old, size_t size);
/* A copy with a NUL behind it, so that it is a string where it has none inside. */
char *mem_copy(const void *data, size_t len);
void mem_free(void *p);

/* For tests: the nth allocation from now on fails (1 is the next one), and with `onward` all after
 * it; 0 switches it off. Returns how many allocations there were since the last call. */
size_t mem_fail_at(size_t nth, int onward);

#endif
