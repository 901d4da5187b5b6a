# The daemon. Everything but main.c is a library, so that the tests can link it.
noinst_LTLIBRARIES += libserver.la
libserver_la_SOURCES = \
	server/record.c server/record.h \
	server/op.c server/op.h \
	server/engine.c server/engine.h server/engine_impl.h \
	server/waiters.c server/bonds.c server/bonds.h server/kept.c server/kept.h \
	server/collapse.c server/collapse.h server/done_cache.c server/done_cache.h \
	server/slot.c server/slot.h server/alarm.c server/alarm.h \
	server/dispatch.c server/dispatch.h \
	server/call.c server/call.h server/fill.c server/plain.c server/answer.c server/account.c \
	server/events.c server/events.h \
	server/content_key.c server/content_key.h server/canonical.c server/canonical.h \
	server/json_strict.c server/json_strict.h \
	server/help.c server/help.h \
	server/grants.c server/grants.h \
	server/hash.c server/hash.h server/access.c server/access.h \
	server/conn.c server/conn.h server/conn_impl.h server/conn_in.c server/conn_out.c \
	server/listener.c server/listener.h server/folder.c server/folder.h \
	server/server.c server/server_view.c server/server_stop.c server/server.h \
	server/conf.c server/conf_default.c server/conf.h server/conf.def \
	server/conf_show.c server/setting.c server/setting.h server/env.c server/env.h \
	server/faults.c server/faults.h server/start_check.c server/start_check.h \
	server/log.c server/log.h \
	server/stats.c server/stats_text.c server/stats.h \
	server/clock.c server/clock.h \
	server/sdnotify.c server/sdnotify.h \
	server/admin_http.c server/admin_http.h \
	server/admin.c server/admin.h server/address.c server/address.h \
	server/stores/store.c server/stores/store.h \
	server/stores/op_list.c server/stores/op_list.h \
	server/stores/memory.c \
	server/stores/memory_table.c server/stores/memory_table.h \
	server/stores/memory_scan.c server/stores/memory_scan.h \
	server/stores/scan.c server/stores/scan.h \
	server/stores/sqlite.c server/stores/sqlite.h \
	server/stores/sqlite_writer.c server/stores/sqlite_reader.c \
	server/stores/sqlite_page.c server/stores/sqlite_page.h \
	server/stores/sqlite_record.c server/stores/sqlite_record.h \
	server/stores/sqlite_db.c server/stores/sqlite_db.h \
	server/stores/sqlite_clock.c server/stores/sqlite_clock.h \
	server/stores/sqlite_file.c server/stores/sqlite_file.h
libserver_la_LIBADD = libproto.la $(UV_LIBS) $(SQLITE_LIBS) $(CJSON_LIBS) -lpthread -lm

sbin_PROGRAMS += claimd
claimd_SOURCES = server/main.c
claimd_LDADD = libserver.la
