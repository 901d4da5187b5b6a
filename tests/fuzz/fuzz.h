/*
 * fuzz.h - what the fuzz targets share. Each is one file with a LLVMFuzzerTestOneInput, for libFuzzer (`./dev fuzz`) and for
 * replay.c, which `make check` runs over the inputs in corpus/.
 */
#ifndef CLAIMD_TESTS_FUZZ_FUZZ_H
#define CLAIMD_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program where something does not hold. */
void must(bool held);
/* In a block of exactly its size, so that a sanitizer sees who reads past it; free() it. */
char *exact_copy(const void *data, size_t len);

#endif
