#!/bin/sh
# cli_reconcile.sh - --reconcile: who must know is asked whether it was done, before anything is done again; and while the question is open
# the key stays shut, whatever happens to us.
# shellcheck disable=SC2016,SC2317 # the commands that are run expand their own variables; functions are called by until_ok
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
# shellcheck source=tests/cli_peer.sh
. "$(dirname "$0")/cli_peer.sh"

# lapse KEY: a holder that vanished.
lapse()
{
	rm -f "$dir/ran"
	"$claim" claim "$1" --lease 1ms --owner gone >/dev/null
	until_ok 'its lease ends' sh -c '"$0" --json status "$1" | grep -q "\"lapsed\":1"' "$claim" "$1"
}

# doubt KEY: the same, and it may not be taken over.
doubt()
{
	rm -f "$dir/ran"
	"$claim" claim "$1" --lease 1ms --lapse unknown --owner gone >/dev/null
	until_ok 'its lease ends' is_state "$1" unknown
}

fence_of()
{
	"$claim" --json status "$1" | sed 's/.*"fence":\([0-9]*\).*/\1/'
}

# The three answers on both occasions: NAME is lapse or doubt.
answers()
{
	for answer in 0 1 2 127; do
		key=$1-$answer
		"$1" "$key"
		case $answer in
		0) wanted='0 no done' ;;
		1) wanted='0 yes done' ;;
		*) wanted='79 no unknown' ;;
		esac
		"$claim" run --report "$dir/report" --reconcile "exit $answer" "$key" -- touch "$dir/ran" >"$dir/out" 2>"$dir/err"
		same "$1, $answer: exit, ran, state" "$wanted" "$? $(ran) $(state "$key")"
		case $answer in
		0)
			holds "$1, 0: the report" "$(cat "$dir/report")" "DUPLICATE exit=0 fence=$(fence_of "$key") cause=reconcile recorded=1"
			same "$1, 0: what is recorded" 'claim-run 1 exit=0' "$("$claim" get "$key" --body)"
			exits "$1, 0: and stays" 0 "$claim" run "$key" -- touch "$dir/ran"
			same 'it did not run' no "$(ran)"
			;;
		1) holds "$1, 1: the report" "$(cat "$dir/report")" 'RAN exit=0 *' ;;
		*)
			holds "$1, $answer: the report" "$(cat "$dir/report")" "UNKNOWN exit=79 fence=$(fence_of "$key") cause=reconcile recorded=1"
			holds "$1, $answer: what next" "$(cat "$dir/err")" "*status $answer*if it was not: claim resolve --as free --fence *"
			exits "$1, $answer: later it is known" 0 "$claim" run --reconcile 'exit 1' "$key" -- touch "$dir/ran"
			same 'it ran' yes "$(ran)"
			;;
		esac
	done
	"$1" "$1-signal"
	exits 'killed by a signal' 79 "$claim" run --reconcile 'kill -KILL $$' "$1-signal" -- touch "$dir/ran"
	same "$1: nobody knows" 'no unknown' "$(ran) $(state "$1-signal")"
	"$1" "$1-slow"
	exits 'it takes too long' 79 "$claim" run --timeout 300ms --reconcile 'trap "exit 1" TERM; while :; do sleep 0.02; done' "$1-slow" -- touch "$dir/ran"
	same "$1: nobody knows" 'no unknown' "$(ran) $(state "$1-slow")"
	"$1" "$1-codes"
	exits 'another code for unknown' 80 "$claim" run --unknown-exit 80 --reconcile 'exit 3' "$1-codes" -- touch "$dir/ran"
	exits 'another code for done' 81 "$claim" run --duplicate-exit 81 --reconcile 'exit 0' "$1-codes" -- touch "$dir/ran"
	same 'it did not run' no "$(ran)"
}

# Where it is known there is nothing to ask.
not_asked()
{
	exits 'new' 0 "$claim" run --reconcile "touch $dir/called" new -- true
	exits 'done' 0 "$claim" run --reconcile "touch $dir/called" new -- true
	exits 'fails' 3 "$claim" run --reconcile "touch $dir/called" failed -- sh -c 'exit 3'
	exits 'given back' 0 "$claim" run --reconcile "touch $dir/called" failed -- true
	"$claim" claim held >/dev/null
	exits 'held' 75 "$claim" run --reconcile "touch $dir/called" held -- true
	same 'it was not called' no "$([ -e "$dir/called" ] && echo yes || echo no)"
	exits 'a lock does not settle' 64 "$claim" lock --reconcile 'exit 0' lock -- true
	exits 'an empty one' 64 "$claim" run --reconcile '' key -- true
}

# What it is given, and what it leaves to the command.
streams()
{
	lapse streams
	echo input | "$claim" run --save-output --reconcile 'cat; echo noise; echo "$CLAIM_KEY $CLAIM_WAS ${#CLAIM_TOKEN} $CLAIM_ATTEMPT" >&2; exit 1' \
		streams -- sh -c 'cat; echo "$CLAIM_WAS" >&2' >"$dir/out" 2>"$dir/err"
	same 'output and input are those of the command' input "$(cat "$dir/out")"
	same 'and what is recorded' 'claim-run 1 exit=0 input' "$("$claim" get streams --body | tr '\n' ' ' | sed 's/ $//')"
	same 'it is told of the claim' 'noise|streams lapsed 32 2|lapsed' "$(grep -v '^claim: ' "$dir/err" | tr '\n' '|' | sed 's/|$//')"
	doubt streams2
	fence=$(fence_of streams2)
	exits 'under no claim' 79 "$claim" run --reconcile 'echo "$CLAIM_FENCE $CLAIM_WAS [$CLAIM_TOKEN] $CLAIM_ATTEMPT"; exit 3' streams2 -- true
	holds 'it is told of the record' "$(cat "$dir/err")" "*$fence unknown \\[\\] 0*"
}

# Nothing of it is left when the command runs, and the command has all to itself.
over()
{
	lapse over
	exits 'it leaves a process behind' 7 "$claim" run --reconcile "sleep 100 & echo \$! >$dir/pid; exit 1" over -- \
		sh -c 'read -r state rest <"/proc/$(cat "$1/pid")/status" && [ "$state" ] && exit 8; trap "exit 7" USR1; kill -USR1 $PPID; while :; do sleep 0.02; done' sh "$dir"
}

# start KEY COMMAND: --reconcile that runs until it is ended, as $run.
start()
{
	rm -f "$dir/pid" "$dir/go"
	spawn "$claim" run --lease 1s --reconcile "echo \$\$ >$dir/pid; $2" "$1" -- touch "$dir/ran"
	until_ok 'it asks' test -s "$dir/pid"
}

# A stop while it is asked: nobody has learned anything, so the claim is not just given back.
stopped()
{
	for signal in TERM INT HUP QUIT; do
		lapse "stop-$signal"
		start "stop-$signal" 'exec sleep 100'
		kill -"$signal" "$run"
		ends "$signal while it is asked" 79 "$run"
		same 'the question stays open' 'no unknown' "$(ran) $(state "stop-$signal")"
	done
	lapse usr
	rm -f "$dir/pid" "$dir/go"
	spawn "$claim" run --reconcile "echo \$\$ >$dir/pid; while [ ! -e $dir/go ]; do sleep 0.02; done; exit 1" usr -- sleep 100
	until_ok 'it asks' test -s "$dir/pid"
	kill -USR1 "$run"
	touch "$dir/go"
	ends 'USR1 is for the command' 138 "$run"
	for how in lapse doubt; do
		"$how" "$how-known"
		start "$how-known" "trap 'exit 1' TERM; while :; do sleep 0.02; done"
		kill -TERM "$run"
		ends 'a stop, and it is known' 143 "$run"
		same 'nothing is started after a stop' 'no free' "$(ran) $(state "$how-known")"
	done
}

# Its lease is renewed while it is asked, and a wrapper that dies leaves the question open.
held()
{
	lapse renewed
	start renewed "sleep 2; exit 1"
	until_ok 'a lease later' sh -c '[ "$("$0" --json status renewed | sed "s/.*\"age_ms\":\([0-9]*\).*/\1/")" -ge 1500 ]' "$claim"
	exits 'it is still held' 75 "$claim" run renewed -- true
	ends 'and goes on' 0 "$run"
	lapse orphan
	start orphan 'exec sleep 100'
	kill -KILL "$run"
	until_ok 'it does not outlive its wrapper' gone "$(cat "$dir/pid")"
	until_ok 'the lease ends' sh -c '"$0" --json status orphan | grep -q "\"lapsed\":1"' "$claim"
	exits 'it is asked again' 0 "$claim" run --reconcile 'exit 0' orphan -- touch "$dir/ran"
	same 'it did not run' no "$(ran)"
	lapse poison
	exits 'one attempt too many, but it was done' 0 "$claim" run --max-attempts 1 --reconcile 'exit 0' poison -- touch "$dir/ran"
	same 'not burned' 'done' "$(state poison)"
}

# The claim cannot be kept until the command is there: it is in doubt, and not given back.
not_started()
{
	peer <<-END
		accept
		hello
		want CLAIM key *
		touch $dir/asked
		wait $dir/go
		say WON fence=77 lease_ms=30000 attempts=2 was=lapsed
		want DOUBT key fence=77 token=*
		say OK state=unknown fence=77
		eof
	END
	signalled 'a stop before the question' TERM 79 "$claim" run --reconcile 'exit 1' key -- touch "$dir/ran"
	same 'nothing ran' no "$(ran)"
	peer <<-END
		accept
		hello
		want CLAIM key *
		say WON fence=77 lease_ms=30000 attempts=2 was=lapsed
		want RENEW key fence=77 token=* lease=30000ms
		say STALE fence=78 state=claimed
		want DOUBT key fence=77 token=*
		say STALE fence=78 state=claimed
		eof
	END
	exits 'lost after a wait' 69 "$claim" run --wait=1m --reconcile 'exit 0' key -- touch "$dir/ran"
	peer_ok 'lost after a wait'
}

# Between the question and the answer others may have been faster.
races()
{
	peer <<-END
		accept
		hello
		want CLAIM key *
		say UNKNOWN fence=77 age_ms=5
		want RESOLVE key as=free fence=77 reason=*
		say STALE fence=78 state=claimed
		want CLAIM key *
		say HELD fence=78 left_ms=5 age_ms=5 retry_ms=5
		eof
	END
	exits 'somebody else runs it' 75 "$claim" run --reconcile 'exit 1' key -- touch "$dir/ran"
	peer_ok 'somebody else runs it'
	same 'one token' 1 "$(grep -o 'token=[^ ]*' "$dir/peer" | sort -u | wc -l)"
	peer <<-END
		accept
		hello
		want CLAIM key *
		say UNKNOWN fence=77 age_ms=5
		want RESOLVE key as=free fence=77 reason=*
		close
		accept
		hello
		want RESOLVE key as=free fence=77 reason=*
		say STALE fence=78 state=free
		want CLAIM key *
		say UNKNOWN fence=79 age_ms=5
		eof
	END
	exits 'unknown again' 79 "$claim" run --reconcile 'exit 1' key -- touch "$dir/ran"
	peer_ok 'it is asked once'
	peer <<-END
		accept
		hello
		want CLAIM key *
		say UNKNOWN fence=77 age_ms=5
		want RESOLVE key as=done fence=77 reason=* body=19
		say NOTFOUND
		eof
	END
	exits 'done, and the record is gone' 0 "$claim" run --report "$dir/report" --reconcile 'exit 0' key -- touch "$dir/ran"
	holds 'it is loud' "$(cat "$dir/err")" '*was done, BUT THAT IS NOT RECORDED*'
	same 'the report' 'DUPLICATE exit=0 fence=77 cause=reconcile recorded=0' "$(cat "$dir/report")"
	peer_ok 'done, and the record is gone'
	peer <<-END
		accept
		hello
		want CLAIM key *
		say UNKNOWN fence=77 age_ms=5
		want RESOLVE key as=free fence=77 reason=*
		say ERR denied retry=no msg=no
		eof
	END
	exits 'not allowed' 79 "$claim" run --reconcile 'exit 1' key -- touch "$dir/ran"
	peer_ok 'not allowed'
	peer <<-END
		accept
		hello
		want CLAIM key *
		say UNKNOWN fence=77 age_ms=5
		want RESOLVE key as=free fence=77 reason=*
	END
	exits 'the daemon is gone for good' 79 timeout 60 "$claim" run --reconcile 'exit 1' key -- touch "$dir/ran"
	peer_ok 'the daemon is gone for good'
	same 'none of these ran' no "$(ran)"
}

not_started
races
rm -f "$CLAIMD_SOCKET"
for store in memory: "sqlite:$dir/db"; do
	daemon_start "$store"
	answers lapse
	answers doubt
	not_asked
	streams
	over
	stopped
	held
	daemon_kill
done
finish
