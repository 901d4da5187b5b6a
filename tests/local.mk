# Tests: `make check` runs what is in TESTS.

if HAVE_CHECK
check_PROGRAMS += tests/check_sha256
tests_check_sha256_SOURCES = tests/check_sha256.c
tests_check_sha256_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_sha256_LDADD = libproto.la $(CHECK_LIBS)
TESTS += tests/check_sha256
endif
