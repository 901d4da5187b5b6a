#!/bin/sh
# cli_lease.sh - the lease under a running command: renewed while it runs, lost when it should be; the daemon restarted under it.
# shellcheck disable=SC2016,SC2317 # the commands that are run expand their own variables; functions are called by until_ok
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"

# start KEY OPTION...: a command that runs until $dir/go is there, as $run; its process is $child.
start()
{
	rm -f "$dir/pid" "$dir/go"
	key=$1
	shift
	"$claim" run --report "$dir/report" "$@" "$key" -- sh -c '
		echo $$ >"$1/pid"; while [ ! -e "$1/go" ]; do sleep 0.02; done' sh "$dir" >"$dir/out" 2>"$dir/err" &
	run=$!
	pids="$pids $run"
	until_ok 'it runs' test -s "$dir/pid"
	child=$(cat "$dir/pid")
}

fence_of()
{
	"$claim" --json status "$1" | sed 's/.*"fence":\([0-9]*\).*/\1/'
}

# age KEY MS: the record is at least so old.
age()
{
	[ "$("$claim" --json status "$1" | sed 's/.*"age_ms":\([0-9]*\).*/\1/')" -ge "$2" ]
}

renewed()
{
	start long --lease 3s
	until_ok 'a lease later' age long 3500
	exits 'it is still held' 75 "$claim" run long -- true
	touch "$dir/go"
	ends 'and ends well' 0 "$run"
	same 'done' 'done' "$(state long)"
}

# Without renewals the command must be gone when the lease ends; TERM may take until then.
not_renewed()
{
	start nohold --lease 600ms --no-hold
	ends 'the lease ends' 125 "$run"
	same 'the command is gone' yes "$(gone "$child" && echo yes || echo no)"
	same 'the key is free' free "$(state nohold)"
	holds 'the report' "$(cat "$dir/report")" 'RAN exit=125 fence=* settled=release recorded=1 signal=15 cause=lost'
	start hold --lease 3s --hold 5s
	until_ok 'it is renewed at first' age hold 3500
	ends 'but not for ever' 125 "$run"
	same 'held as long as it may' free "$(state hold)"
	holds 'it says why' "$(cat "$dir/err")" '*held as long as it may*'
}

# A command that does not hear TERM is killed before the store's lease ends: nobody can have won the key while it still ran.
cut_short()
{
	rm -f "$dir/pid"
	"$claim" run deaf --lease 1s --no-hold --kill-after 1h -- sh -c '
		trap "" TERM; echo $$ >"$1/pid"; while :; do sleep 0.02; done' sh "$dir" 2>"$dir/err" &
	run=$!
	pids="$pids $run"
	until_ok 'it runs' test -s "$dir/pid"
	until_ok 'somebody wins the key' "$claim" claim deaf --owner next
	same 'and the command is gone then' yes "$(gone "$(cat "$dir/pid")" && echo yes || echo no)"
	ends 'the code' 125 "$run"
}

# A wrapper that was stopped past its lease comes back as if it were dead.
slept()
{
	start zombie --lease 600ms
	kill -STOP "$run"
	until_ok 'it is stopped' is_stopped "$run"
	until_ok 'somebody takes over' "$claim" claim zombie --owner next
	new=$(fence_of zombie)
	kill -CONT "$run"
	ends 'it finds its lease lost' 125 "$run"
	same 'its command is gone' yes "$(gone "$child" && echo yes || echo no)"
	same 'the new holder is untouched' "$new" "$(fence_of zombie)"
	holds 'it could not settle' "$(cat "$dir/report")" 'RAN exit=125 * recorded=0 *'

	start slept --lease 600ms --lapse unknown
	kill -STOP "$run"
	until_ok 'it is stopped' is_stopped "$run"
	until_ok 'the lease lapses' is_state slept unknown
	kill -CONT "$run"
	ends 'lost under lapse=unknown' 125 "$run"
	same 'its command is gone' yes "$(gone "$child" && echo yes || echo no)"
	same 'nobody knows' unknown "$(state slept)"
}

# Taken away by hand: the daemon tells so at once, long before the next renewal.
taken()
{
	start taken --lease 60s
	until_ok 'the key is deleted' "$claim" forget taken --force
	ends 'it is told' 125 "$run"
	holds 'it says so' "$(cat "$dir/err")" '*the daemon says so: taken*'
	same 'its command is gone' yes "$(gone "$child" && echo yes || echo no)"
}

restart()
{
	start under --lease 3s
	fence=$(fence_of under)
	daemon_kill
	daemon_start "sqlite:$dir/db"
	until_ok 'it lives on past its first lease' age under 3500
	same 'the claim is the same' "$fence" "$(fence_of under)"
	daemon_kill
	touch "$dir/go"
	until_ok 'the command has ended' gone "$child"
	daemon_start "sqlite:$dir/db"
	ends 'what it did is recorded' 0 "$run"
	same 'done' 'done' "$(state under)"
}

# The daemon does not come back.
left_alone()
{
	start alone --lease 1s
	daemon_kill
	ends 'no renewal can be had' 125 "$run"
	same 'the command is gone' yes "$(gone "$child" && echo yes || echo no)"
	holds 'it says why' "$(cat "$dir/err")" '*could not be renewed in time*'
}

for store in memory: "sqlite:$dir/db"; do
	daemon_start "$store"
	renewed
	not_renewed
	cut_short
	slept
	taken
	[ "$store" = memory: ] || restart
	[ "$store" = memory: ] && daemon_kill
done
left_alone
finish
