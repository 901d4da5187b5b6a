# libclaim, and the command on top of it.
lib_LTLIBRARIES += libclaim.la
include_HEADERS += client/claim.h
libclaim_la_SOURCES = client/client.c client/client.h client/sync.c client/error.c
libclaim_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libclaim_la_LIBADD = libproto.la
libclaim_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -Wl,--version-script=$(srcdir)/client/claim.map
EXTRA_DIST += client/claim.map

bin_PROGRAMS += claim
claim_SOURCES = client/cli.c client/cli.h client/cli_run.c client/cli_show.c
claim_LDADD = libclaim.la libproto.la $(CJSON_LIBS)
