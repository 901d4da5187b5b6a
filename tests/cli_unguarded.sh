#!/bin/sh
# cli_unguarded.sh - a command that runs without a claim: the daemon's answer where its store is down and it was set up so, and
# CLAIMD_DISABLED=1. It is loud, nothing is renewed or settled, and all else is as ever.
# shellcheck disable=SC2016,SC2317 # the commands that are run expand their own variables; functions are called by name
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
# shellcheck source=tests/cli_peer.sh
. "$(dirname "$0")/cli_peer.sh"

show='echo "key=$CLAIM_KEY fence=$CLAIM_FENCE token=$CLAIM_TOKEN attempt=$CLAIM_ATTEMPT idempotency=$IDEMPOTENCY_KEY"'

# Everything that the command needs is as with a claim. $1 is what `claim` is told in front.
as_ever()
{
	name=$1
	shift
	exits "$name: a command that fails" 5 "$@" run --report "$dir/report" --max-attempts 1 key -- sh -c "$show; exit 5"
	same "$name: its environment" 'key=key fence=0 token= attempt=1 idempotency=key' "$(cat "$dir/out")"
	same "$name: the report" 'RAN exit=5 fence=0 guarded=0 status=5' "$(cat "$dir/report")"
	holds "$name: loud" "$(cat "$dir/err")" '*NOTHING IS CLAIMED*unguarded*'
}

# unguarded NAME CODE COMMAND...: the daemon answers so, and hears nothing else.
unguarded()
{
	peer <<-END
		accept
		hello
		want CLAIM key *
		say WON fence=0 guarded=0
		eof
	END
	exits "$@"
	peer_ok "$1"
}

store_down()
{
	peer <<-END
		accept
		hello
		want CLAIM key *
		say WON fence=0 guarded=0
		eof
	END
	as_ever 'the store is down' "$claim"
	peer_ok 'the store is down'
	unguarded 'a command that succeeds' 0 "$claim" run --save-output key -- echo output
	same 'its output' output "$(cat "$dir/out")"
	unguarded 'after a wait' 0 "$claim" lock --wait=1m key -- true
	unguarded 'longer than the lease' 0 "$claim" run --lease 50ms key -- sleep 1
	unguarded 'bound to the connection' 0 "$claim" run --drop release key -- true
	unguarded 'the time is up' 124 "$claim" run --timeout 100ms key -- sleep 100
	unguarded 'not found' 127 "$claim" run key -- "$dir/none"
	unguarded 'fails and leaves a process behind' 3 "$claim" run key -- sh -c 'sleep 100 & echo $! >"$1/pid"; exit 3' sh "$dir"
	same 'it is gone' yes "$(gone "$(cat "$dir/pid")" && echo yes || echo no)"
	peer <<-END
		accept
		hello
		want CLAIM key *
		touch $dir/asked
		wait $dir/go
		say WON fence=0 guarded=0
		eof
	END
	signalled 'a stop before it is started' TERM 143 "$claim" run key -- touch "$dir/ran"
	same 'it did not run' no "$(ran)"
	for half in 'fence=0' 'fence=0 guarded=1' 'guarded=0' 'fence=x guarded=0'; do
		peer <<-END
			accept
			hello
			want CLAIM key *
			say WON $half
			eof
		END
		exits "only $half" 69 "$claim" run key -- touch "$dir/ran"
		same 'it did not run' no "$(ran)"
		peer_ok "only $half"
	done
	peer <<-END
		accept
		hello
		want CHECK key fence=0
		say OK guarded=0
		eof
	END
	exits 'a script asks about it' 0 "$claim" check key --fence 0
	peer_ok 'a script asks about it'
}

# The daemon goes while the command runs: that is nothing to it.
cut()
{
	peer <<-END
		accept
		hello
		want CLAIM key *
		say WON fence=0 guarded=0
		wait $dir/asked
		close
		touch $dir/go
	END
	exits 'the daemon goes' 0 "$claim" run --drop release key -- sh -c 'touch "$1/asked"; while [ ! -e "$1/go" ]; do sleep 0.02; done; sleep 0.2' sh "$dir"
	peer_ok 'the daemon goes'
}

disabled()
{
	rm -f "$CLAIMD_SOCKET"
	CLAIMD_DISABLED=1
	export CLAIMD_DISABLED
	as_ever 'disabled' "$claim"
	exits 'lock' 0 "$claim" lock --held-exit 9 key -- echo locked
	same 'ran' locked "$(cat "$dir/out")"
	exits 'the time is up' 124 "$claim" run --timeout 100ms key -- sleep 100
	exits 'not found' 127 "$claim" run key -- "$dir/none"
	exits 'standard input' 0 sh -c 'echo input | "$1" run --fp - key -- cat' sh "$claim"
	same 'is that of the command' input "$(cat "$dir/out")"
	spawn "$claim" run key -- sh -c 'trap "exit 7" TERM; touch "$1/ready"; while :; do sleep 0.02; done' sh "$dir"
	until_ok 'it runs' test -e "$dir/ready"
	kill -TERM "$run"
	ends 'signals are forwarded' 7 "$run"
	exits 'an empty key is one still' 64 "$claim" run '' -- touch "$dir/ran"
	CLAIMD_DISABLED=true
	exits 'neither yes nor no' 78 "$claim" run key -- touch "$dir/ran"
	same 'these did not run' no "$(ran)"
}

store_down
cut
disabled
finish
