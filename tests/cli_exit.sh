#!/bin/sh
# cli_exit.sh - the table of exit codes of `claim run` and `claim lock`, row by row, on both stores.
# shellcheck disable=SC2016,SC2317 # the commands that are run expand their own variables; functions are called by until_ok
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"

# Everything that has to do with the outcome of a command.
outcomes()
{
	exits 'a command that succeeds' 0 "$claim" run ok -- sh -c 'echo hello'
	same 'its output' hello "$(cat "$dir/out")"
	same 'is done' 'done' "$(state ok)"
	exits 'a duplicate of a success' 0 "$claim" run ok -- sh -c 'echo again'
	same 'nothing was kept, nothing ran' '' "$(cat "$dir/out")"
	same 'the first line of the result' 'claim-run 1 exit=0' "$("$claim" get ok --body)"

	exits 'a command that fails' 3 "$claim" run bad -- sh -c 'exit 3'
	same 'may be tried again' free "$(state bad)"
	exits 'and is' 0 "$claim" run bad -- true

	exits 'a code of --fail-on' 4 "$claim" run burn --fail-on 2,4-6 -- sh -c 'exit 4'
	same 'burns' failed "$(state burn)"
	exits 'a burned key' 4 "$claim" run burn -- true
	exits 'another code' 7 "$claim" run noburn --fail-on 2,4-6 -- sh -c 'exit 7'
	same 'does not burn' free "$(state noburn)"

	exits 'killed by a signal' 137 "$claim" run sig -- sh -c 'kill -KILL $$'
	same 'is given back' free "$(state sig)"
	exits 'killed under lapse=unknown' 137 "$claim" run doubt --lapse unknown -- sh -c 'kill -KILL $$'
	same 'is in doubt' unknown "$(state doubt)"
	exits 'unknown' 79 "$claim" run doubt -- true
	exits 'failing under lapse=unknown' 3 "$claim" run plain --lapse unknown -- sh -c 'exit 3'
	same 'is given back, it said so itself' free "$(state plain)"

	exits 'not found' 127 "$claim" run none -- "$dir/none"
	same 'not found: given back' free "$(state none)"
	exits 'not executable' 126 "$claim" run noexec -- /dev/null
	same 'not executable: given back' free "$(state noexec)"

	exits 'the time is up' 124 "$claim" run slow --timeout 100ms -- sleep 100
	same 'time is up: given back' free "$(state slow)"
	exits 'the time is up under lapse=unknown' 124 "$claim" run slow2 --lapse unknown --timeout 100ms -- sleep 100
	same 'time is up: in doubt' unknown "$(state slow2)"
	exits 'KILL follows TERM' 124 "$claim" run deaf --timeout 100ms --kill-after 100ms -- \
		sh -c 'trap "" TERM; while :; do sleep 0.1; done'
	exits 'well done after TERM' 124 "$claim" run late --timeout 300ms -- \
		sh -c 'trap "exit 0" TERM; while :; do sleep 0.02; done'
	same 'its own word counts' 'done' "$(state late)"
}

# waiters N: so many wait.
waiters()
{
	"$claim" --json status | grep -q "\"waiting\":$1[,}]"
}

# Waiting for a key that somebody holds.
waits()
{
	fence=$("$claim" claim busy --lease 1h --json | sed 's/.*"fence":\([0-9]*\).*/\1/')
	exits 'a wait that is over' 75 "$claim" run busy --wait=100ms -- touch "$dir/ran"
	"$claim" lock busy --wait -- echo locked >"$dir/waited" 2>&1 &
	waiter=$!
	pids="$pids $waiter"
	until_ok 'it waits' waiters 1
	"$claim" release busy --fence "$fence" >/dev/null
	wait "$waiter"
	same 'a wait that is rewarded' '0 locked' "$? $(cat "$dir/waited")"
	same 'the lock is given back' free "$(state busy)"

	# Longer than the lease that it asks for: what is left is counted from the win, not from the question.
	"$claim" claim long --lease 1500ms >/dev/null
	exits 'a wait longer than the lease' 0 "$claim" run long --lease 400ms --wait=1m -- sleep 1

	"$claim" claim stopped --lease 1h >/dev/null
	"$claim" run stopped --wait -- touch "$dir/ran" 2>/dev/null &
	waiter=$!
	pids="$pids $waiter"
	until_ok 'it waits to be stopped' waiters 1
	kill -TERM "$waiter"
	wait "$waiter"
	same 'a stop while it waits' 143 $?
	until_ok 'who was stopped leaves the queue' waiters 0
	same 'none of them ran' no "$(ran)"
}

# Answers that do not permit to run.
refusals()
{
	"$claim" claim held --owner me >/dev/null
	exits 'held' 75 "$claim" run held -- touch "$dir/ran"
	holds 'held: by whom' "$(cat "$dir/err")" '*held by me*'
	"$claim" claim odd --owner "$(printf 'he\033[2J')" --lease 1h >/dev/null
	exits 'held by an odd one' 75 "$claim" run odd -- touch "$dir/ran"
	holds 'who cannot drive the terminal' "$(cat "$dir/err")" '*held by he\\x1b\[2J for*'
	exits 'held: lock' 75 "$claim" lock held -- touch "$dir/ran"

	echo one >"$dir/one"
	echo two >"$dir/two"
	exits 'fingerprint' 0 "$claim" run fp --fp "$dir/one" -- true
	exits 'same fingerprint' 0 "$claim" run fp --fp "$dir/one" -- touch "$dir/ran"
	exits 'other fingerprint' 65 "$claim" run fp --fp "$dir/two" -- touch "$dir/ran"
	exits 'fingerprint of standard input' 0 sh -c "'$claim' run fp2 --fp - -- cat <'$dir/one'"
	same 'which the command gets' one "$(cat "$dir/out")"
	exits 'the same as of the file' 65 "$claim" run fp2 --fp "$dir/two" -- touch "$dir/ran"

	fence=$("$claim" --json claim other | sed 's/.*"fence":\([0-9]*\).*/\1/')
	"$claim" fail other --fence "$fence" --result nonsense >/dev/null
	exits 'burned by another client' 1 "$claim" run other -- touch "$dir/ran"
	same 'whose result is no output' '' "$(cat "$dir/out")"
	fence=$("$claim" --json claim other2 | sed 's/.*"fence":\([0-9]*\).*/\1/')
	"$claim" complete other2 --fence "$fence" --result nonsense >/dev/null
	exits 'done by another client' 0 "$claim" run other2 -- touch "$dir/ran"
	same 'whose result is no output either' '' "$(cat "$dir/out")"
	exits 'lock on a done key' 75 "$claim" lock other2 -- touch "$dir/ran"
	exits 'lock on a burned key' 75 "$claim" lock other -- touch "$dir/ran"

	exits 'lock' 0 "$claim" lock mutex -- true
	same 'always gives back' free "$(state mutex)"
	exits 'lock: the code' 9 "$claim" lock mutex -- sh -c 'exit 9'
	same 'gives back then too' free "$(state mutex)"
	same 'none of these ran' no "$(ran)"
}

# Poison that kills its worker ends.
poison()
{
	for i in 1 2; do
		exits "attempt $i" 137 "$claim" run poison --max-attempts 2 -- sh -c 'kill -KILL $$'
	done
	exits 'no third one' 1 "$claim" run poison --max-attempts 2 -- touch "$dir/ran3"
	same 'it did not run' no "$(test -e "$dir/ran3" && echo yes || echo no)"
	same 'it is burned' failed "$(state poison)"
	exits 'for all' 1 "$claim" run poison -- touch "$dir/ran3"
}

usage()
{
	exits 'empty key' 64 "$claim" run '' -- true
	exits 'no key' 64 "$claim" run -- true
	exits 'no --' 64 "$claim" run key true
	exits 'no command' 64 "$claim" run key --
	exits 'two keys' 64 "$claim" run a b -- true
	exits 'no verb' 64 "$claim"
	exits 'unknown verb' 64 "$claim" frobnicate
	exits 'unknown option' 64 "$claim" run --frobnicate key -- true
	exits 'a value apart' 64 "$claim" run key --wait 2s -- true
	holds 'says how' "$(cat "$dir/err")" '*did you mean --wait=2s?*'
	exits 'before the key' 64 "$claim" run --save-output 64k key -- true
	holds 'says how' "$(cat "$dir/err")" '*did you mean --save-output=64k?*'
	exits 'of another verb' 64 "$claim" status key --wait 2s
	holds 'says how' "$(cat "$dir/err")" '*did you mean --wait=2s?*'
	exits 'no value, and a word too many' 64 "$claim" run --wait key other -- true
	holds 'is what it is' "$(cat "$dir/err")" '*one key, then --*'
	for bad in "''" '' "$(printf '%01025d' 1)" "--key ''"; do
		eval "exits 'a bad key' 64 '$claim' run --report '$dir/report' $bad -- true"
		same 'is told apart' 'ERR exit=64 cause=key' "$(cat "$dir/report")"
	done
	rm "$dir/report"
	exits 'a bad key, and more' 64 "$claim" run '' --report "$dir/report" --frobnicate -- true
	same 'is a mistake' no "$(test -e "$dir/report" && echo yes || echo no)"
	exits 'doubled option' 64 "$claim" run --lease 1s --lease 2s key -- true
	exits 'empty option' 64 "$claim" run --owner '' key -- true
	exits 'no unit' 64 "$claim" run --lease 30 key -- true
	exits 'nothing' 64 "$claim" run --ttl 0s key -- true
	exits 'too long a lease' 64 "$claim" run --lease 366d key -- true
	exits 'a choice' 64 "$claim" run --lapse recl key -- true
	exits 'codes' 64 "$claim" run --fail-on 0 key -- true
	exits 'codes in a row' 64 "$claim" run --fail-on 2,,3 key -- true
	exits 'codes to the end' 64 "$claim" run --fail-on 2, key -- true
	exits 'codes too high' 64 "$claim" run --fail-on 256 key -- true
	exits 'both holds' 64 "$claim" run --hold 1h --no-hold key -- true
	exits 'lock saves nothing' 64 "$claim" lock --save-output key -- true
	exits 'no file' 64 "$claim" run --fp "$dir/none" key -- true
	exits 'no folder' 64 "$claim" run --report "$dir/none/r" key -- true
	exits 'too long a key' 64 "$claim" run "$(printf '%01025d' 1)" -- true
	exits 'too long a socket' 64 "$claim" --socket "/$(printf '%0103d' 1)" run key -- true
	exits 'the longest key' 0 "$claim" run "$(printf '%01024d' 1)" -- true
	same 'none of these made a record' none "$(state key)"
	CLAIMD_DISABLED=yes exits 'half disabled' 78 "$claim" run key -- true
	CLAIMD_DISABLED=0 exits 'not disabled' 0 "$claim" run disabled0 -- true
	CLAIMD_DISABLED=1 exits 'disabled' 5 "$claim" run key -- sh -c 'echo "$CLAIM_KEY,$CLAIM_FENCE,$IDEMPOTENCY_KEY"; exit 5'
	same 'runs' 'key,0,key' "$(cat "$dir/out")"
	holds 'and says so' "$(cat "$dir/err")" '*NOTHING IS CLAIMED*'
	same 'without a record' none "$(state key)"
}

for store in memory: "sqlite:$dir/db"; do
	daemon_start "$store"
	outcomes
	waits
	refusals
	poison
	usage
	daemon_kill
	rm -f "$dir"/ran*
done
exits 'no daemon' 69 "$claim" run key -- touch "$dir/ran"
same 'it did not run' no "$(ran)"
holds 'what to do' "$(cat "$dir/err")" '*start claimd*'
exits 'no daemon, and a wait for the key' 69 "$claim" run --wait key -- touch "$dir/ran"
exits 'no daemon, plain verb' 69 "$claim" claim key
exits 'no daemon, not disabled' 0 env CLAIMD_DISABLED=1 "$claim" run key -- true
finish
