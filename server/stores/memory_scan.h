/*
 * memory_scan.h - LIST, COUNT and SWEEP of the memory store: walks over the table in slices.
 */
#ifndef CLAIMD_STORE_MEMORY_SCAN_H
#define CLAIMD_STORE_MEMORY_SCAN_H

#include "../op.h"
#include "memory_table.h"

struct scan_walk;

/* NULL: no memory. The op is one of the three, and stays until the walk is freed. */
struct scan_walk *walk_new(struct table *table, struct op *op);
void walk_free(struct scan_walk *walk);
/* Looks at some buckets. True: the op is answered. */
bool walk_slice(struct scan_walk *walk, int64_t now);

#endif
