/*
 * record_same.h - two records, field by field, for the tests.
 */
#ifndef CLAIMD_TESTS_RECORD_SAME_H
#define CLAIMD_TESTS_RECORD_SAME_H

#include "../server/record.h"

/* Fails the test and says where they differ. An absent text is another one than an empty text. */
void record_same(const struct record *got, const struct record *want);

#endif
