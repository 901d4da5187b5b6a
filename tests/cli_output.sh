#!/bin/sh
# cli_output.sh - what a command prints is passed on as it comes and, where asked for, recorded and replayed octet for octet; what
# the command is given: its environment, its streams; and the report.
# shellcheck disable=SC2016 # the commands that are run expand their own variables
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"

replay()
{
	# All octets, no LF at the end.
	awk 'BEGIN { for (i = 0; i < 256; i++) printf "%c", i; printf "end" }' >"$dir/all"
	exits 'any octets' 0 "$claim" run --save-output bin -- cat "$dir/all"
	same 'passed on' "$(cksum <"$dir/all")" "$(cksum <"$dir/out")"
	exits 'a duplicate' 0 "$claim" run --save-output bin -- touch "$dir/ran"
	same 'the same octets' "$(cksum <"$dir/all")" "$(cksum <"$dir/out")"
	exits 'a duplicate that does not save' 0 "$claim" run bin -- touch "$dir/ran"
	same 'gets them too' "$(cksum <"$dir/all")" "$(cksum <"$dir/out")"
	"$claim" get bin --body >"$dir/out"
	{ echo 'claim-run 1 exit=0'; cat "$dir/all"; } >"$dir/want"
	same 'what is recorded' "$(cksum <"$dir/want")" "$(cksum <"$dir/out")"
	exits 'burned with its output' 3 "$claim" run --save-output --fail-on 3 burned -- sh -c 'echo no; exit 3'
	exits 'replayed with its code' 3 "$claim" run burned -- touch "$dir/ran"
	same 'and its output' no "$(cat "$dir/out")"
	same 'it ran once' no "$(ran)"
	exits 'no reader' 74 sh -c "'$claim' run bin -- true >/dev/full"
}

sizes()
{
	head -c 65000 /dev/zero >"$dir/fits"
	exits 'nearly 64k' 0 "$claim" run --save-output fits -- cat "$dir/fits"
	exits 'is kept' 0 "$claim" run fits -- true
	same 'whole' "$(cksum <"$dir/fits")" "$(cksum <"$dir/out")"
	head -c 3000000 /dev/zero >"$dir/big"
	exits 'too big' 0 "$claim" run --save-output big -- cat "$dir/big"
	same 'is passed on' "$(cksum <"$dir/big")" "$(cksum <"$dir/out")"
	holds 'and reported' "$(cat "$dir/err")" '*output is not recorded*'
	exits 'is done all the same' 0 "$claim" run big -- touch "$dir/ran"
	same 'nothing is better than a part' '' "$(cat "$dir/out")"
	exits 'at the limit' 0 "$claim" run --save-output=5 five -- printf 12345
	exits 'at the limit: kept' 0 "$claim" run five -- true
	same 'at the limit: whole' 12345 "$(cat "$dir/out")"
	exits 'one more' 0 "$claim" run --save-output=5 six -- printf 123456
	exits 'one more: not kept' 0 "$claim" run six -- true
	same 'one more: nothing' '' "$(cat "$dir/out")"
	exits 'above what the daemon takes' 3 "$claim" run --save-output=1m --fail-on 3 huge -- sh -c 'head -c 200000 /dev/zero; exit 3'
	exits 'its code is kept' 3 "$claim" run huge -- true
}

# Readers that are slow or gone, and processes that keep the pipe open.
streams()
{
	exits 'output as it comes' 0 sh -c "'$claim' run --save-output now -- sh -c 'echo first; while [ ! -e \"$dir/seen\" ]; do sleep 0.02; done' |
		{ read -r line; echo \"\$line\" >'$dir/line'; touch '$dir/seen'; }"
	same 'before the command has ended' first "$(cat "$dir/line")"
	exits 'a process that keeps the pipe' 0 timeout 20 "$claim" run --save-output pipe -- sh -c 'sleep 100 & echo $! >"$1/pid"; echo said' sh "$dir"
	same 'is not waited for' said "$(cat "$dir/out")"
	kill -KILL "$(cat "$dir/pid")"
	exits 'and what was said is kept' 0 "$claim" run pipe -- true
	same 'whole' said "$(cat "$dir/out")"
	# More than a pipe holds, less than two do. The reader reads nothing until the settlement is there: what the command did is recorded before its output is read.
	mkfifo "$dir/fifo"
	"$claim" run --save-output slow -- head -c 100000 /dev/zero >"$dir/fifo" 2>"$dir/err" &
	run=$!
	pids="$pids $run"
	exec 9<"$dir/fifo"
	until_ok 'recorded before it is read' is_state slow 'done'
	same 'then it is read' 100000 "$(wc -c <&9 | tr -d ' ')"
	exec 9<&-
	ends 'the code' 0 "$run"
	exits 'a reader that leaves' 0 sh -c "'$claim' run --save-output --lapse reclaim gone -- yes | head -n 1"
	same 'the command saw its end' free "$(state gone)"
	exits 'standard input' 0 sh -c "echo in | '$claim' run stdin -- cat"
	same 'is its own' in "$(cat "$dir/out")"
	exits 'standard error' 0 "$claim" run stderr -- sh -c 'echo err >&2'
	same 'too' err "$(cat "$dir/err")"
	# Descriptors: none of ours is left in the command, and what was closed does not become something else.
	exits 'closed streams' 0 sh -c "'$claim' run closed -- sh -c 'ls /proc/self/fd >\"$dir/fds\"' <&- >&- 2>&-"
	sh -c "sh -c 'ls /proc/self/fd >\"$dir/plain\"' <&- >&- 2>&-"
	same 'the descriptors are those without us' "$(cat "$dir/plain")" "$(cat "$dir/fds")"
}

environment()
{
	show='echo "$CLAIM_KEY|$CLAIM_FENCE|$CLAIM_TOKEN|$CLAIM_OWNER|$CLAIM_ATTEMPT|$CLAIM_WAS|$CLAIM_LEASE_MS|$CLAIMD_SOCKET|$IDEMPOTENCY_KEY"'
	exits 'environment' 1 "$claim" run --lease 20s --owner me env -- sh -c "$show; exit 1"
	holds 'first attempt' "$(cat "$dir/out")" "env|[0-9]*[0-9]|????????????????????????????????|me|1|new|20000|$dir/s|env"
	exits 'again' 0 "$claim" run --lease 20s --owner me env -- sh -c "$show"
	holds 'second attempt' "$(cat "$dir/out")" "env|[0-9]*[0-9]|????????????????????????????????|me|2|free|20000|$dir/s|env"
	fence=$(cut -d'|' -f2 "$dir/out")
	same 'the fence is that of the record' "$fence" "$("$claim" --json status env | sed 's/.*"fence":\([0-9]*\).*/\1/')"
	exits 'the token is good' 0 "$claim" run tok -- sh -c "'$claim' check tok --fence \$CLAIM_FENCE --token \$CLAIM_TOKEN"
	exits 'a key with a space' 0 "$claim" run 'a b' -- sh -c 'echo "$IDEMPOTENCY_KEY"'
	same 'is hashed' "$(printf 'a b' | sha256sum | cut -d' ' -f1)" "$(cat "$dir/out")"
	long=$(printf '%0255d' 7)
	exits '255 octets' 0 "$claim" run "$long" -- sh -c 'echo "$IDEMPOTENCY_KEY"'
	same 'are not' "$long" "$(cat "$dir/out")"
	exits '256 octets' 0 "$claim" run "0$long" -- sh -c 'echo "$IDEMPOTENCY_KEY"'
	same 'are' "$(printf '0%s' "$long" | sha256sum | cut -d' ' -f1)" "$(cat "$dir/out")"
}

report()
{
	exits 'report' 3 "$claim" run --report "$dir/r" rep -- sh -c 'exit 3'
	holds 'ran' "$(cat "$dir/r")" 'RAN exit=3 fence=[0-9]* attempts=1 settled=release recorded=1 status=3'
	exits 'report' 0 "$claim" run --report "$dir/r" rep -- true
	holds 'ran well' "$(cat "$dir/r")" 'RAN exit=0 fence=[0-9]* attempts=2 settled=complete recorded=1 status=0'
	exits 'report' 0 "$claim" run --report "$dir/r" rep -- true
	holds 'duplicate' "$(cat "$dir/r")" 'DUPLICATE exit=0 fence=[0-9]*'
	exits 'report' 75 "$claim" lock --report "$dir/r" rep -- true
	holds 'done' "$(cat "$dir/r")" 'DONE exit=75 fence=[0-9]*'
	exits 'report' 0 "$claim" --json run --report "$dir/r" rep -- true
	holds 'as JSON' "$(cat "$dir/r")" '{"format":1,"word":"DUPLICATE","exit":0,"fence":*}'
	same 'which is JSON' 0 "$(jq -r .exit "$dir/r")"
	"$claim" claim reph >/dev/null
	exits 'report' 75 "$claim" run --report "$dir/r" reph -- true
	holds 'held' "$(cat "$dir/r")" 'HELD exit=75 fence=[0-9]*'
	exits 'a full disk' 3 "$claim" run --report /dev/full full -- sh -c 'exit 3'
	holds 'is said, and what the report would say' "$(cat "$dir/err")" '*No space left*RAN exit=3*'
	same 'and changes nothing' free "$(state full)"
}

daemon_start memory:
replay
sizes
streams
environment
report
daemon_kill
finish
