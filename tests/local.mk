# Tests: `make check` runs what is in TESTS.
