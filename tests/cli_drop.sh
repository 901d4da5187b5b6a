#!/bin/sh
# cli_drop.sh - the claim is bound to its connection, and the daemon tells when it is lost: what `claim run` makes of a cut, of its own end,
# and of `* LOST`.
# shellcheck disable=SC2016,SC2317 # the commands that are run expand their own variables; functions are called by until_ok
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
# shellcheck source=tests/cli_peer.sh
. "$(dirname "$0")/cli_peer.sh"

won='say WON fence=77 lease_ms=3600000 attempts=1 was=new'

# A command that does not hear TERM and ends by itself in 20 s.
deaf='touch "$1/asked"; trap "" TERM; i=0; while [ $i -lt 1000 ]; do sleep 0.02; i=$((i + 1)); done; exit 9'

# peer_cuts SETTLEMENT ANSWER: the claim is won and its connection cut while the command runs; the settlement comes on the next one.
peer_cuts()
{
	peer <<-END
		accept
		hello
		want CLAIM key *
		$won
		wait $dir/asked
		close
		accept
		hello
		want $1
		say $2
		eof
	END
}

# There is no token: not in the question, not in the settlement, not in the environment.
no_token()
{
	for drop in release unknown; do
		peer <<-END
			accept
			hello
			want CLAIM key lease=30000ms drop=$drop owner=me notify lapse=reclaim
			say WON fence=77 lease_ms=30000 attempts=1 was=new
			want COMPLETE key fence=77 body=19
			say OK state=done fence=77 ttl_ms=1000
			eof
		END
		exits "drop=$drop" 0 "$claim" run --drop $drop --owner me key -- sh -c 'echo "token=$CLAIM_TOKEN fence=$CLAIM_FENCE"'
		same 'no token' 'token= fence=77' "$(cat "$dir/out")"
		peer_ok "drop=$drop"
	done
	peer <<-END
		accept
		hello
		want CLAIM key lease=30000ms token=* owner=me notify lapse=reclaim
		say WON fence=77 lease_ms=30000 attempts=1 was=new
		want COMPLETE key fence=77 token=* body=19
		say OK state=done fence=77 ttl_ms=1000
		eof
	END
	exits 'drop=keep' 0 "$claim" run --drop keep --owner me key -- true
	peer_ok 'drop=keep'
}

# Without a token a question that was cut cannot be asked again; one that was surely refused can.
asked_once()
{
	peer <<-END
		accept
		hello
		want CLAIM key *
		say ERR busy retry=safe after_ms=10 msg=later
		want CLAIM key *
		close
	END
	exits 'cut before the answer' 69 "$claim" run --drop release key -- touch "$dir/ran"
	same 'it did not run' no "$(ran)"
	holds 'it was not asked again' "$(cat "$dir/err")" '*closed the connection*'
	peer_ok 'cut before the answer'
	peer <<-END
		accept
		hello
		want CLAIM key *
		say ERR timeout retry=maybe msg=slow
		eof
	END
	exits 'no certain answer' 69 "$claim" run --drop release key -- touch "$dir/ran"
	same 'it did not run' no "$(ran)"
	peer_ok 'no certain answer'
}

# The key may be somebody's the moment the connection is cut: there is no time for TERM.
cut_released()
{
	peer_cuts 'RELEASE key fence=77' 'STALE fence=78 state=free'
	exits 'cut under drop=release' 125 timeout 60 "$claim" run --drop release --lease 1h --kill-after 1h --report "$dir/report" key -- \
		sh -c "$deaf" sh "$dir"
	holds 'it says why' "$(cat "$dir/err")" '*with --drop the claim goes with it*'
	holds 'KILL, and nothing else' "$(cat "$dir/report")" '*settled=release recorded=0 signal=9 cause=lost'
	peer_ok 'cut under drop=release'
	peer_cuts 'RELEASE key fence=77' 'STALE fence=78 state=free'
	# The cut comes in the time between TERM and KILL.
	exits 'cut while it ends' 124 timeout 60 "$claim" run --drop release --lease 1h --kill-after 1h --timeout 300ms key -- \
		sh -c "trap 'touch $dir/asked' TERM; i=0; while [ \$i -lt 1000 ]; do sleep 0.02; i=\$((i + 1)); done" sh "$dir"
	peer_ok 'cut while it ends'
}

# Nobody gets the key before a person has looked: there is time to end well, and what was done is recorded.
cut_unknown()
{
	peer_cuts 'COMPLETE key fence=77 body=19' 'OK state=done fence=77 ttl_ms=1000'
	exits 'cut under drop=unknown' 125 timeout 60 "$claim" run --drop unknown --lease 1h --kill-after 1h --report "$dir/report" key -- \
		sh -c 'trap "exit 0" TERM; touch "$1/asked"; while :; do sleep 0.02; done' sh "$dir"
	holds 'what it said itself counts' "$(cat "$dir/report")" '*settled=complete recorded=1 status=0 cause=lost'
	peer_ok 'cut under drop=unknown'
	# The cut was there before the command: it is not started.
	peer <<-END
		accept
		hello
		want CLAIM key *
		say WON fence=77 lease_ms=3600000 attempts=1 was=new
		want RENEW key fence=77 lease=3600000ms
		close
		accept
		hello
		want RENEW key fence=77 lease=3600000ms
		say OK state=claimed fence=77 left_ms=3600000
		want RELEASE key fence=77
		say OK state=free fence=78
		eof
	END
	exits 'cut before the start' 69 timeout 60 "$claim" run --drop unknown --lease 1h --wait=1m key -- touch "$dir/ran"
	same 'it did not run' no "$(ran)"
	peer_ok 'cut before the start'
}

# Only what is told of this very claim ends the command.
told()
{
	peer <<-END
		accept
		hello
		want CLAIM key *
		$won
		wait $dir/asked
		say * LOST key=other fence=77 cause=taken
		say * LOST key=key fence=76 cause=taken
		say * RENEWED key=key fence=77 left_ms=1
		say * NEWS key=key fence=77 body=4
		say LOST
		touch $dir/go
		want COMPLETE key *
		say OK state=done fence=77 ttl_ms=1000
		eof
	END
	exits 'news of others' 0 timeout 60 "$claim" run --lease 1h key -- sh -c 'touch "$1/asked"; while [ ! -e "$1/go" ]; do sleep 0.02; done' sh "$dir"
	peer_ok 'news of others'
	peer <<-END
		accept
		hello
		want CLAIM key *
		$won
		wait $dir/asked
		say * LOST key=key fence=77 cause=taken
		want RELEASE key fence=77 token=*
		say STALE fence=78 state=claimed
		eof
	END
	exits 'LOST' 125 timeout 60 "$claim" run --lease 1h --report "$dir/report" key -- sh -c 'touch "$1/asked"; exec sleep 100' sh "$dir"
	holds 'it says so' "$(cat "$dir/err")" '*the daemon says so: taken*'
	holds 'TERM first' "$(cat "$dir/report")" '*signal=15 cause=lost'
	peer_ok 'LOST'
}

# start DROP KEY: a command that runs until it is ended, as $run.
start()
{
	rm -f "$dir/pid"
	"$claim" run --lease 60s --drop "$1" "$2" -- sh -c 'echo $$ >"$1/pid"; exec sleep 100' sh "$dir" 2>"$dir/err" &
	run=$!
	pids="$pids $run"
	until_ok 'it runs' test -s "$dir/pid"
}

# With a daemon: nobody waits for the end of the lease.
with_a_daemon()
{
	start release wrapper
	kill -KILL "$run"
	until_ok 'the key is free at once' is_state wrapper free
	start unknown wrapper2
	kill -KILL "$run"
	until_ok 'the key is shut at once' is_state wrapper2 unknown
	exits 'success' 0 "$claim" run --drop release well -- true
	same 'a settlement stays when the connection ends' 'done' "$(state well)"
	start release daemon
	daemon_kill
	until_ok 'the command does not outlive the connection' gone "$(cat "$dir/pid")"
	daemon_start memory:
	ends 'lost' 125 "$run"
}

no_token
asked_once
cut_released
cut_unknown
told
rm -f "$CLAIMD_SOCKET"
daemon_start memory:
with_a_daemon
finish
