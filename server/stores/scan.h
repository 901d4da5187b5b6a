/*
 * scan.h - what LIST shows and what COUNT counts a record as: the same for every store that walks over its records itself.
 */
#ifndef CLAIMD_STORE_SCAN_H
#define CLAIMD_STORE_SCAN_H

#include "../op.h"

/* LIST shows this record. */
bool scan_matches(const struct scan *scan, struct slice key, const struct record *rec, int64_t now);
/* Adds one record to the counts. */
void scan_count(struct counts *counts, const struct record *rec, int64_t now);
/* Writes the octets to *to and moves it behind them; what is absent stays so. */
struct slice scan_copy(char **to, struct slice text);

#endif
