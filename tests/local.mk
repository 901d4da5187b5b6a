# Tests: `make check` runs what is in TESTS.

# A test program that sets no limit of its own would have 4 s, which a busy machine can use up.
AM_TESTS_ENVIRONMENT = CK_DEFAULT_TIMEOUT=60; export CK_DEFAULT_TIMEOUT;

if HAVE_CHECK
check_PROGRAMS += tests/check_sha256
tests_check_sha256_SOURCES = tests/check_sha256.c
tests_check_sha256_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_sha256_LDADD = libproto.la $(CHECK_LIBS)
TESTS += tests/check_sha256
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_record
tests_check_record_SOURCES = tests/check_record.c tests/record_samples.c tests/record_samples.h tests/record_same.c tests/record_same.h
tests_check_record_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_record_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_record
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_record_end
tests_check_record_end_SOURCES = tests/check_record_end.c tests/record_samples.c tests/record_samples.h tests/record_same.c tests/record_same.h
tests_check_record_end_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_record_end_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_record_end
endif

TESTS += tests/demo.sh
EXTRA_DIST += tests/demo.sh tests/check.sh tests/lint.sh tests/layers.sh tests/layers_test.sh tests/sizes.sh

# The fuzz targets run the inputs that are kept in tests/fuzz/corpus/; `./dev fuzz` looks for new ones.
fuzz_common = tests/fuzz/replay.c tests/fuzz/fuzz.c tests/fuzz/fuzz.h
fuzz_targets = tests/fuzz/request tests/fuzz/reply tests/fuzz/value tests/fuzz/json tests/fuzz/conf tests/fuzz/row \
	tests/fuzz/client tests/fuzz/conn
check_PROGRAMS += $(fuzz_targets)
TESTS += $(fuzz_targets)
EXTRA_DIST += tests/fuzz.sh tests/fuzz/corpus
tests_fuzz_request_SOURCES = tests/fuzz/request.c $(fuzz_common)
tests_fuzz_request_LDADD = libproto.la
tests_fuzz_reply_SOURCES = tests/fuzz/reply.c $(fuzz_common)
tests_fuzz_reply_LDADD = libproto.la
tests_fuzz_value_SOURCES = tests/fuzz/value.c $(fuzz_common)
tests_fuzz_value_LDADD = libproto.la
tests_fuzz_json_SOURCES = tests/fuzz/json.c $(fuzz_common)
tests_fuzz_json_LDADD = libserver.la
tests_fuzz_conf_SOURCES = tests/fuzz/conf.c $(fuzz_common)
tests_fuzz_conf_LDADD = libserver.la
tests_fuzz_row_SOURCES = tests/fuzz/row.c $(fuzz_common)
tests_fuzz_row_LDADD = libserver.la
tests_fuzz_client_SOURCES = tests/fuzz/client.c $(fuzz_common)
tests_fuzz_client_LDADD = libclaimcore.la
# Its clock takes the place of that of libserver.la.
tests_fuzz_conn_SOURCES = tests/fuzz/conn.c tests/fuzz/expect.c tests/fuzz/expect.h $(fuzz_common)
tests_fuzz_conn_LDADD = libserver.la

if HAVE_CHECK
check_PROGRAMS += tests/check_engine
tests_check_engine_SOURCES = tests/check_engine.c tests/engine_rig.c tests/engine_rig.h
tests_check_engine_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_engine_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_engine
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_shortcuts tests/check_shortcuts_history
tests_check_shortcuts_SOURCES = tests/check_shortcuts.c tests/shared_store.c tests/shared_store.h
tests_check_shortcuts_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_shortcuts_LDADD = libserver.la $(CHECK_LIBS)
tests_check_shortcuts_history_SOURCES = tests/check_shortcuts_history.c tests/shared_store.c tests/shared_store.h \
	tests/history.h tests/history_steps.c
tests_check_shortcuts_history_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_shortcuts_history_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_shortcuts tests/check_shortcuts_history
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_bonds
tests_check_bonds_SOURCES = tests/check_bonds.c tests/engine_rig.c tests/engine_rig.h
tests_check_bonds_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_bonds_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_bonds
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_events
tests_check_events_SOURCES = tests/check_events.c tests/daemon_case.c tests/daemon_case.h tests/spawn.c tests/spawn.h
tests_check_events_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_events_LDADD = $(SQLITE_LIBS) $(CHECK_LIBS)
TESTS += tests/check_events
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_canonical
tests_check_canonical_SOURCES = tests/check_canonical.c
tests_check_canonical_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_canonical_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_canonical
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_content_key
tests_check_content_key_SOURCES = tests/check_content_key.c
tests_check_content_key_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_content_key_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_content_key
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_access
tests_check_access_SOURCES = tests/check_access.c
tests_check_access_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_access_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_access
endif
TESTS += tests/access.sh tests/settings.sh
EXTRA_DIST += tests/access.sh tests/settings.sh

if HAVE_CHECK
check_PROGRAMS += tests/check_conn
tests_check_conn_SOURCES = tests/check_conn.c
tests_check_conn_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_conn_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_conn
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_dispatch
tests_check_dispatch_SOURCES = tests/check_dispatch.c
tests_check_dispatch_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_dispatch_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_dispatch
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_grants
tests_check_grants_SOURCES = tests/check_grants.c
tests_check_grants_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_grants_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_grants
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_conf
tests_check_conf_SOURCES = tests/check_conf.c tests/settings.c tests/settings.h
tests_check_conf_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_conf_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_conf
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_log
tests_check_log_SOURCES = tests/check_log.c
tests_check_log_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_log_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_log
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_text
tests_check_text_SOURCES = tests/check_text.c
tests_check_text_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_text_LDADD = libproto.la $(CHECK_LIBS)
TESTS += tests/check_text
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_proto
tests_check_proto_SOURCES = tests/check_proto.c
tests_check_proto_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_proto_LDADD = libproto.la $(CHECK_LIBS)
TESTS += tests/check_proto
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_vectors
tests_check_vectors_SOURCES = tests/check_vectors.c tests/vectors.c tests/vectors.h
tests_check_vectors_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_vectors_LDADD = libproto.la $(CHECK_LIBS)
TESTS += tests/check_vectors
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_keys
tests_check_keys_SOURCES = tests/check_keys.c tests/vectors.c tests/vectors.h
tests_check_keys_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_keys_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_keys
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_stats
tests_check_stats_SOURCES = tests/check_stats.c
tests_check_stats_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_stats_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_stats
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_sdnotify
tests_check_sdnotify_SOURCES = tests/check_sdnotify.c
tests_check_sdnotify_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_sdnotify_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_sdnotify
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_admin_http
tests_check_admin_http_SOURCES = tests/check_admin_http.c
tests_check_admin_http_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_admin_http_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_admin_http
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_address
tests_check_address_SOURCES = tests/check_address.c
tests_check_address_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_address_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_address
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_admin
tests_check_admin_SOURCES = tests/check_admin.c
tests_check_admin_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_admin_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_admin
endif

# --admin and the metrics over HTTP; the alert rules.
TESTS += tests/admin.sh tests/metrics.sh tests/start.sh tests/library.sh
EXTRA_DIST += tests/admin.sh tests/metrics.sh tests/start.sh tests/library.sh

if HAVE_CHECK
check_PROGRAMS += tests/check_clock
tests_check_clock_SOURCES = tests/check_clock.c
tests_check_clock_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_clock_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_clock
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_document
tests_check_document_SOURCES = tests/check_document.c
tests_check_document_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_document_LDADD = libproto.la $(CHECK_LIBS)
TESTS += tests/check_document
endif

TESTS += tests/protocol_page.sh tests/readme.sh
EXTRA_DIST += tests/protocol_page.sh tests/readme.sh

if HAVE_CHECK
check_PROGRAMS += tests/check_setting
tests_check_setting_SOURCES = tests/check_setting.c tests/settings.c tests/settings.h
tests_check_setting_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_setting_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_setting
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_daemon
tests_check_daemon_SOURCES = tests/check_daemon.c tests/daemon_case.c tests/daemon_case.h tests/spawn.c tests/spawn.h
tests_check_daemon_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_daemon_LDADD = $(CHECK_LIBS)
TESTS += tests/check_daemon
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_daemon_start
tests_check_daemon_start_SOURCES = tests/check_daemon_start.c tests/daemon_case.c tests/daemon_case.h tests/spawn.c tests/spawn.h
tests_check_daemon_start_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_daemon_start_LDADD = $(CHECK_LIBS)
TESTS += tests/check_daemon_start
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_daemon_stop
tests_check_daemon_stop_SOURCES = tests/check_daemon_stop.c tests/daemon_case.c tests/daemon_case.h tests/spawn.c tests/spawn.h
tests_check_daemon_stop_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_daemon_stop_LDADD = $(CHECK_LIBS)
TESTS += tests/check_daemon_stop
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_peers
tests_check_peers_SOURCES = tests/check_peers.c tests/spawn.c tests/spawn.h
tests_check_peers_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_peers_LDADD = $(CHECK_LIBS)
TESTS += tests/check_peers
endif

if HAVE_CHECK
check_PROGRAMS += tests/contract
tests_contract_SOURCES = tests/contract.c tests/contract.h tests/contract_claim.c tests/contract_holder.c \
	tests/contract_operator.c tests/contract_race.c tests/contract_walks.c tests/record_same.c tests/record_same.h tests/rig.c tests/rig.h
tests_contract_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_contract_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/contract
endif

check_PROGRAMS += tests/history
tests_history_SOURCES = tests/history.c tests/history.h tests/history_steps.c tests/history_mirror.c tests/rig.c tests/rig.h
tests_history_LDADD = libserver.la
TESTS += tests/history

if HAVE_CHECK
check_PROGRAMS += tests/check_store
tests_check_store_SOURCES = tests/check_store.c
tests_check_store_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_store_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_store
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_memory
tests_check_memory_SOURCES = tests/check_memory.c tests/rig.c tests/rig.h
tests_check_memory_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_memory_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_memory
endif

# The SQLite store alone.
sqlite_case = tests/sqlite_case.c tests/sqlite_case.h tests/sqlite_vfs.c tests/sqlite_vfs.h

if HAVE_CHECK
check_PROGRAMS += tests/check_sqlite
tests_check_sqlite_SOURCES = tests/check_sqlite.c $(sqlite_case)
tests_check_sqlite_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_sqlite_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_sqlite
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_sqlite_faults
tests_check_sqlite_faults_SOURCES = tests/check_sqlite_faults.c $(sqlite_case)
tests_check_sqlite_faults_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_sqlite_faults_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_sqlite_faults
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_sqlite_walks
tests_check_sqlite_walks_SOURCES = tests/check_sqlite_walks.c $(sqlite_case)
tests_check_sqlite_walks_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_sqlite_walks_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_sqlite_walks
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_sqlite_clock
tests_check_sqlite_clock_SOURCES = tests/check_sqlite_clock.c $(sqlite_case)
tests_check_sqlite_clock_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_sqlite_clock_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_sqlite_clock
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_sqlite_crash
tests_check_sqlite_crash_SOURCES = tests/check_sqlite_crash.c $(sqlite_case)
tests_check_sqlite_crash_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_sqlite_crash_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_sqlite_crash
endif

# The storm itself takes its time: tests/storm/run.sh. Here only its judge is tested.
check_PROGRAMS += tests/storm/storm
tests_storm_storm_SOURCES = tests/storm/storm.c tests/storm/command.c tests/storm/command.h tests/storm/flood.c tests/storm/flood.h \
	tests/storm/worker.c tests/storm/worker.h tests/storm/resolver.c \
	tests/storm/client.c tests/storm/client.h tests/storm/journal.c tests/storm/journal.h \
	tests/storm/judge.c tests/storm/judge.h tests/storm/grants.c tests/storm/grants.h tests/storm/weather.c \
	tests/storm/weather.h tests/storm/bound.c tests/storm/bound.h tests/spawn.c tests/spawn.h
tests_storm_storm_LDADD = libproto.la
EXTRA_DIST += tests/storm/run.sh
EXTRA_DIST += tests/mutants tests/soak.sh tests/coverage.sh
if HAVE_CHECK
check_PROGRAMS += tests/check_storm
tests_check_storm_SOURCES = tests/check_storm.c tests/storm/judge.c tests/storm/judge.h tests/storm/grants.c \
	tests/storm/grants.h tests/storm/journal.c tests/storm/journal.h tests/storm/weather.c tests/storm/weather.h \
	tests/storm/bound.c tests/storm/bound.h
tests_check_storm_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_storm_LDADD = libproto.la $(CHECK_LIBS)
TESTS += tests/check_storm
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_client
tests_check_client_SOURCES = tests/check_client.c tests/play.c tests/play.h
tests_check_client_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_client_LDADD = libclaimcore.la $(CHECK_LIBS)
TESTS += tests/check_client
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_async
tests_check_async_SOURCES = tests/check_async.c tests/heard.c tests/heard.h tests/spawn.c tests/spawn.h
tests_check_async_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_async_LDADD = libclaimcore.la $(CHECK_LIBS)
TESTS += tests/check_async
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_async_cut
tests_check_async_cut_SOURCES = tests/check_async_cut.c tests/heard.c tests/heard.h tests/play.c tests/play.h tests/spawn.c tests/spawn.h
tests_check_async_cut_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_async_cut_LDADD = libclaimcore.la $(CHECK_LIBS)
TESTS += tests/check_async_cut
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_once
tests_check_once_SOURCES = tests/check_once.c tests/play.c tests/play.h tests/spawn.c tests/spawn.h
tests_check_once_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_once_LDADD = libclaimcore.la $(CHECK_LIBS)
TESTS += tests/check_once
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_lease
tests_check_lease_SOURCES = tests/check_lease.c client/lease.c client/lease.h
tests_check_lease_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_lease_LDADD = $(CHECK_LIBS)
TESTS += tests/check_lease
endif

# The command: a scripted daemon, a terminal, and the scripts that use them.
check_PROGRAMS += tests/fakepeer tests/pty
tests_fakepeer_SOURCES = tests/fakepeer.c
tests_pty_SOURCES = tests/pty.c
TESTS += tests/cli_exit.sh tests/cli_signals.sh tests/cli_lease.sh tests/cli_faults.sh tests/cli_output.sh tests/cli_tty.sh \
	tests/cli_verbs.sh tests/manual.sh
EXTRA_DIST += tests/cli_lib.sh tests/cli_exit.sh tests/cli_signals.sh tests/cli_lease.sh tests/cli_faults.sh tests/cli_output.sh \
	tests/cli_tty.sh tests/cli_verbs.sh tests/manual.sh

# What the options of `claim run` promise.
TESTS += tests/cli_choices.sh tests/cli_drop.sh tests/cli_reconcile.sh tests/cli_unguarded.sh
EXTRA_DIST += tests/cli_peer.sh tests/cli_choices.sh tests/cli_drop.sh tests/cli_reconcile.sh tests/cli_unguarded.sh

if HAVE_CHECK
check_PROGRAMS += tests/check_kept
tests_check_kept_SOURCES = tests/check_kept.c tests/daemon_case.c tests/daemon_case.h tests/spawn.c tests/spawn.h
tests_check_kept_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_kept_LDADD = $(SQLITE_LIBS) $(CHECK_LIBS)
TESTS += tests/check_kept
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_waiters
tests_check_waiters_SOURCES = tests/check_waiters.c tests/engine_rig.c tests/engine_rig.h
tests_check_waiters_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_waiters_LDADD = libserver.la $(CHECK_LIBS)
TESTS += tests/check_waiters
endif

if HAVE_CHECK
check_PROGRAMS += tests/check_waiting
tests_check_waiting_SOURCES = tests/check_waiting.c tests/daemon_case.c tests/daemon_case.h tests/spawn.c tests/spawn.h
tests_check_waiting_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_waiting_LDADD = $(CHECK_LIBS)
TESTS += tests/check_waiting
endif

# What the verbs of the command that look on promise.
TESTS += tests/cli_watch.sh tests/cli_top.sh tests/cli_doctor.sh tests/cli_completion.sh tests/cli_json.sh
EXTRA_DIST += tests/cli_watch.sh tests/cli_top.sh tests/cli_doctor.sh tests/cli_completion.sh tests/cli_json.sh
if HAVE_CHECK
check_PROGRAMS += tests/check_top
tests_check_top_SOURCES = tests/check_top.c client/top_draw.c client/top_draw.h client/top_rows.c client/top_rows.h \
	client/cli_text.c client/cli_text.h
tests_check_top_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_check_top_LDADD = libproto.la $(CHECK_LIBS)
TESTS += tests/check_top
endif

# The units, the recipes, and the package (which is not for make check: it takes root).
TESTS += tests/systemd.sh tests/recipes.sh
EXTRA_DIST += tests/systemd.sh tests/recipes.sh tests/deb.sh

# The whole daemon on a clock and a store of the script's; see tests/scenarios/README. They replace those of libserver.la.
check_PROGRAMS += tests/check_scenarios
tests_check_scenarios_SOURCES = tests/scenarios/play.c tests/scenarios/script_client.c tests/scenarios/script_client.h \
	tests/scenarios/script_store.c tests/scenarios/script_store.h tests/scenarios/fake.c tests/scenarios/fake.h
tests_check_scenarios_LDADD = libserver.la
TESTS += tests/check_scenarios
EXTRA_DIST += tests/scenarios/README tests/scenarios/atleast.txt tests/scenarios/drain_kept.txt \
	tests/scenarios/done_cache.txt tests/scenarios/hot_key.txt tests/scenarios/kept_other_token.txt tests/scenarios/hold_slow_win.txt tests/scenarios/drain_quiet.txt tests/scenarios/drain_stranger.txt tests/scenarios/drain_timeout.txt tests/scenarios/drop_against_settlement.txt \
	tests/scenarios/drop_does.txt tests/scenarios/drop_in_outage.txt tests/scenarios/hold_connection.txt \
	tests/scenarios/hold_in_doubt.txt tests/scenarios/hold_moves.txt tests/scenarios/hold_refused.txt \
	tests/scenarios/hold_renews.txt tests/scenarios/idle_renewal.txt tests/scenarios/kept_against_claim.txt \
	tests/scenarios/kept_before_renewal.txt tests/scenarios/kept_others_wait.txt tests/scenarios/kept_too_late.txt \
	tests/scenarios/late_copies.txt tests/scenarios/late_win.txt tests/scenarios/lost_reply_check.txt \
	tests/scenarios/lost_reply_claim.txt tests/scenarios/lost_reply_complete.txt tests/scenarios/lost_reply_doubt.txt \
	tests/scenarios/lost_reply_fail.txt tests/scenarios/lost_reply_release.txt tests/scenarios/lost_reply_renew.txt \
	tests/scenarios/restart_under_call.txt tests/scenarios/restart_under_claim.txt tests/scenarios/status_waits.txt \
	tests/scenarios/undo.txt tests/scenarios/unguarded.txt tests/scenarios/waiter_halfclosed.txt \
	tests/scenarios/waiter_killed.txt tests/scenarios/waiter_dies.txt tests/scenarios/waiter_ghost.txt tests/scenarios/hold_after_stall.txt tests/scenarios/waiter_outage.txt tests/scenarios/waiter_polls.txt \
	tests/scenarios/waiters_in_order.txt

# What `./dev bench` measures with; the test is whether it measures, not how fast anything is.
check_PROGRAMS += tests/bench/bench tests/bench/echo
tests_bench_bench_SOURCES = tests/bench/bench.c tests/bench/bench.h tests/bench/grants.c tests/bench/load.c tests/bench/load.h \
	tests/bench/words.c tests/bench/direct.c tests/bench/peers.c tests/bench/programs.c
tests_bench_bench_LDADD = $(SQLITE_LIBS)
tests_bench_echo_SOURCES = tests/bench/echo.c
tests_bench_echo_LDADD = $(UV_LIBS)
TESTS += tests/bench/quick.sh
EXTRA_DIST += tests/bench/run.sh tests/bench/rows.sh tests/bench/quick.sh

# Memory that runs out, a disk that fails, and death at any moment. The programs under test are the real ones, with tests/faults/poor.c
# in front of their main, or tests/faults/disk.c in front of the C library.
check_LTLIBRARIES = tests/faults/libfaultdisk.la
tests_faults_libfaultdisk_la_SOURCES = tests/faults/disk.c tests/faults/plan.h
tests_faults_libfaultdisk_la_CFLAGS = -std=c11 $(WARN_CFLAGS)
tests_faults_libfaultdisk_la_LDFLAGS = -module -avoid-version -rpath /nowhere
check_PROGRAMS += tests/faults/poor_claimd tests/faults/poor_claim
tests_faults_poor_claimd_SOURCES = tests/faults/poor.c tests/faults/poor.h server/main.c
tests_faults_poor_claimd_CPPFLAGS = $(AM_CPPFLAGS) -Dmain=poor_main -DPOOR_DAEMON
tests_faults_poor_claimd_CFLAGS = $(AM_CFLAGS) -Wno-missing-prototypes
tests_faults_poor_claimd_LDADD = libserver.la
tests_faults_poor_claim_SOURCES = tests/faults/poor.c tests/faults/poor.h $(claim_SOURCES)
tests_faults_poor_claim_CPPFLAGS = $(AM_CPPFLAGS) -Dmain=poor_main
tests_faults_poor_claim_CFLAGS = $(AM_CFLAGS) -Wno-missing-prototypes
tests_faults_poor_claim_LDADD = $(claim_LDADD)
if HAVE_CHECK
faults_shared = tests/faults/ledger.c tests/faults/ledger.h tests/faults/points.c tests/faults/points.h tests/spawn.c tests/spawn.h
faulty = tests/faults/faulty.c tests/faults/faulty.h tests/faults/plan.h $(faults_shared)
check_PROGRAMS += tests/faults/check_nomem tests/faults/check_disk tests/faults/check_crash
tests_faults_check_nomem_SOURCES = tests/faults/check_nomem.c tests/faults/poor.h $(faults_shared)
tests_faults_check_nomem_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_faults_check_nomem_LDADD = $(CHECK_LIBS)
tests_faults_check_disk_SOURCES = tests/faults/check_disk.c $(faulty)
tests_faults_check_disk_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_faults_check_disk_LDADD = $(CHECK_LIBS)
tests_faults_check_crash_SOURCES = tests/faults/check_crash.c $(faulty)
tests_faults_check_crash_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_faults_check_crash_LDADD = $(CHECK_LIBS)
TESTS += tests/faults/check_nomem tests/faults/check_disk tests/faults/check_crash
endif
TESTS += tests/faults/nomem_cli.sh
EXTRA_DIST += tests/faults/nomem_cli.sh tests/faults/valgrind.sh
if !SANITIZED
TESTS += tests/faults/valgrind.sh
endif
