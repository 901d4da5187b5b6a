# shellcheck shell=sh disable=SC2034,SC2154 # variables shared with run.sh
# rows.sh - what is measured, for run.sh, which sources it: measure_ROW once per round, table_ROW at the end.
#
# Both sides of a comparison come from one round, one right after the other. The side that the ratio is about is "claimd".
all_rows='echo1 echo32 commit cycle again hot flood run live idle start'

# ---- against an echo of the same lines, on the memory store ----

# against_echo ROW DEPTH COUNT
against_echo()
{
	serve_echo
	keep "$1" other bench load "$socket" echo 64 "$2" "$3"
	stop
	serve_memory
	keep "$1" claimd bench load "$socket" claim 64 "$2" "$3"
	stop
}

measure_echo1()
{
	against_echo echo1 1 "$(size 200000)"
}

table_echo1()
{
	print echo1 "$(ratio echo1 1)" x 0.85 0.93 'memory, 64 clients x 1 in flight, against a bare echo'
}

measure_echo32()
{
	against_echo echo32 32 "$(size 500000)"
}

table_echo32()
{
	print echo32 "$(ratio echo32 1)" x 0.45 0.65 'memory, 64 clients x 32 in flight, against a bare echo'
	print echo32 "$(ratio echo32 3/2)" x '<3' '<3' '  its p99 against its p50'
}

# ---- SQLite against one commit for each claim ----

# against_direct ROW PLAN
against_direct()
{
	rm -f "$tmp"/direct.db*
	keep "$1" other bench direct "$tmp/direct.db" "$2" "$(size 3000)"
	serve_sqlite
	keep "$1" claimd bench load "$socket" "$2" 64 1 "$(size 30000)"
	stop
}

measure_commit()
{
	against_direct commit claim
}

table_commit()
{
	print commit "$(ratio commit 1)" x 8 14 'SQLite, 64 clients, CLAIM, against one commit per claim'
}

measure_cycle()
{
	against_direct cycle cycle
}

table_cycle()
{
	print cycle "$(ratio cycle 1)" x 8 14 'SQLite, 64 clients, CLAIM and COMPLETE, against two'
}

# ---- SQLite and keys that are asked for again ----

measure_again()
{
	serve_memory
	keep again other bench load "$socket" again 64 1 "$(size 100000)" "$(size 10000)"
	stop
	serve_sqlite
	keep again claimd bench load "$socket" again 64 1 "$(size 100000)" "$(size 10000)"
	stop
}

table_again()
{
	print again "$(ratio again 1)" x 0.8 0.95 'SQLite, 64 clients, CLAIM of DONE keys, against memory'
}

measure_hot()
{
	serve_sqlite
	keep hot other bench load "$socket" lock 64 1 "$(size 20000)" 64
	stop
	serve_sqlite
	keep hot claimd bench load "$socket" lock 64 1 "$(size 20000)" 1
	stop
}

table_hot()
{
	print hot "$(ratio hot 1)" x 1 3 'SQLite, 64 clients, CLAIM of one key, against 64 keys'
}

# ---- bad company ----

measure_flood()
{
	serve_memory
	keep flood other bench load "$socket" claim 64 1 "$(size 200000)"
	stop
	serve_memory
	"$build/tests/bench/bench" flood "$socket" 50 50 >"$tmp/flooded" &
	flood=$!
	started="$started $flood"
	wait_for flood test -s "$tmp/flooded"
	keep flood claimd bench load "$socket" claim 64 1 "$(size 200000)"
	kill -TERM "$flood"
	wait "$flood" || fail 'the flood ended by itself'
	stop
}

table_flood()
{
	print flood "$(ratio flood 1)" x 0.8 0.9 'memory, 64 clients, 50 flood, 50 never read, against alone'
}

# ---- claim run ----

measure_run()
{
	serve_sqlite
	keep run other bench spawn "$(size 300)" flock "$tmp/lock" true
	keep run claimd bench spawn "$(size 300)" "$build/claim" --socket "$socket" run @ -- true
	stop
}

table_run()
{
	print run "$(ratio run 2)" x '<3' '<1.5' 'SQLite, claim run k -- true, against flock f true'
}

# ---- what it takes ----

measure_live()
{
	serve_memory
	keep live numbers bench grow "$socket" "$(size 1000)" "$(size 1000000)"
	stop
}

table_live()
{
	print live "$(column live numbers 1)" x '<1.3' '<1.1' 'memory, RENEW with 1 M live keys, against 1 k (median)'
	print live "$(column live numbers 2)" ms '<5' '<2' '  longest CLAIM while they grow'
	print live "$(column live numbers 3)" '' '<250' '<150' '  resident octets of one, key of 24, token of 32'
}

measure_idle()
{
	serve_claimd memory: --max-connections 10100
	keep idle numbers bench idle "$socket" "$(size 10000)"
	stop
}

table_idle()
{
	print idle "$(column idle numbers 1)" MiB '<10' '<6' 'memory, resident, idle'
	print idle "$(column idle numbers 2)" MiB '<60' '<30' '  with 10 k idle connections'
}

# ---- starting ----

# A file with 1 M records, made once.
records_file()
{
	[ ! -e "$tmp/records.db" ] || return 0
	serve_claimd "sqlite:$tmp/records.db"
	bench load "$socket" cycle 64 32 "$(size 1000000)" >/dev/null || fail 'no records'
	stop
}

# start ROW FILE
start()
{
	rm -f "$socket"
	keep "$1" claimd bench start "$socket" 5 "$build/claimd" --socket "$socket" --store "sqlite:$2" --log-level error --drain-timeout 1ms
}

measure_start()
{
	records_file
	rm -f "$tmp"/new.db*
	start start "$tmp/new.db"
	start start1m "$tmp/records.db"
}

# milliseconds ROW: the median of its times.
milliseconds()
{
	column "$1" claimd 2 | awk '{ printf "%.2f", $1 / 1000 }'
}

table_start()
{
	print start "$(milliseconds start)" ms '<50' '<15' 'SQLite, from start to the first win, empty'
	print start1m "$(milliseconds start1m)" ms '<50' '<15' '  with 1 M records'
}
