# libclaim, and the command on top of it. The command has the library inside, so that it runs from wherever it is put.
noinst_LTLIBRARIES += libclaimcore.la
libclaimcore_la_SOURCES = \
	client/claim.h \
	client/client.c client/client.h \
	client/link.c client/link.h \
	client/conn.c client/conn.h client/sync.c client/grant.c client/async.c client/once.c client/key.c \
	client/error.c client/error.h
libclaimcore_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libclaimcore_la_LIBADD = libproto.la

lib_LTLIBRARIES += libclaim.la
include_HEADERS += client/claim.h
libclaim_la_SOURCES =
libclaim_la_LIBADD = libclaimcore.la
libclaim_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -Wl,--version-script=$(srcdir)/client/claim.map
EXTRA_DIST += client/claim.map
pkgconfigdir = $(libdir)/pkgconfig
nodist_pkgconfig_DATA = client/claim.pc

bin_PROGRAMS += claim
claim_SOURCES = \
	client/cli.c client/cli.h client/cli_args.c \
	client/cli_say.c client/cli_help.c client/cli_near.c client/cli_near.h client/cli_socket.c client/cli_socket.h \
	client/cli_ask.c client/cli_ask.h client/cli_verbs.c client/cli_look.c client/cli_stats.c client/cli_alive.c \
	client/cli_shutdown.c \
	client/cli_watch.c client/cli_top.c client/top_rows.c client/top_rows.h client/top_draw.c client/top_draw.h \
	client/cli_screen.c client/cli_screen.h client/cli_doctor.c client/cli_complete.c \
	client/cli_text.c client/cli_text.h client/cli_json.c client/cli_json.h client/cli_show.c client/cli_show.h \
	client/cli_file.c client/cli_file.h \
	client/cli_run.c client/run.h client/run_config.c client/run_claim.c client/run_answer.c client/run_reconcile.c \
	client/run_wait.c client/run_watch.c client/run_settle.c \
	client/hint.c client/hint.h \
	client/child.c client/child.h \
	client/lease.c client/lease.h \
	client/tee.c client/tee.h \
	client/report.c client/report.h \
	client/owner.c client/owner.h
claim_LDADD = libclaimcore.la $(CJSON_LIBS)
