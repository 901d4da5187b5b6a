#!/bin/sh
# cli_signals.sh - signals to `claim run` at each moment: before the daemon is there, before the win, while it waits for the key, while the
# command is started, while it runs, while it is settled; and what becomes of the processes that the command leaves behind.
# shellcheck disable=SC2016 # the commands that are run expand their own variables
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
# shellcheck source=tests/cli_peer.sh
. "$(dirname "$0")/cli_peer.sh"

before_the_daemon()
{
	for signal in TERM:143 INT:130 HUP:129 QUIT:131; do
		rm -f "$CLAIMD_SOCKET"
		spawn "$claim" run key -- touch "$dir/ran"
		until_ok 'it waits' grep -q '^SigBlk:.*[1-9a-f]' "/proc/$run/status"
		kill -"${signal%:*}" "$run"
		ends "${signal%:*} before there is a daemon" "${signal#*:}" "$run"
		same 'nothing ran' no "$(ran)"
	done
}

# The stop comes while the CLAIM is under way, and then the win: it is given back.
before_the_win()
{
	for signal in TERM:143 INT:130 HUP:129 QUIT:131; do
		peer <<-END
			accept
			hello
			want CLAIM key lease=30000ms token=* owner=* lapse=reclaim
			touch $dir/asked
			wait $dir/go
			say WON fence=77 lease_ms=30000 attempts=1 was=new
			want RELEASE key fence=77 token=*
			say OK state=free fence=78
			eof
		END
		signalled "${signal%:*} before the win" "${signal%:*}" "${signal#*:}" "$claim" run --report "$dir/report" key -- touch "$dir/ran"
		same 'nothing ran' no "$(ran)"
		same 'the report' "STOPPED exit=${signal#*:}" "$(cat "$dir/report")"
	done
}

# There is no answer, and none comes: it ends all the same.
before_no_win()
{
	peer <<-END
		accept
		hello
		want CLAIM key *
		touch $dir/asked
		eof
	END
	signalled 'TERM and no answer' TERM 143 "$claim" run key -- touch "$dir/ran"
	same 'nothing ran' no "$(ran)"
	holds 'it says what may be' "$(cat "$dir/err")" '*held until its lease ends*'
}

# USR1 and USR2 are no stop: the command gets them once it is there, as if it had been there.
kept_before_the_win()
{
	for signal in USR1:138 USR2:140; do
		peer <<-END
			accept
			hello
			want CLAIM key *
			touch $dir/asked
			wait $dir/go
			say WON fence=77 lease_ms=30000 attempts=1 was=new
			want RELEASE key fence=77 token=*
			say OK state=free fence=78
			eof
		END
		signalled "${signal%:*} before the win" "${signal%:*}" "${signal#*:}" "$claim" run key -- sleep 100
	done
}

# Others hold the key: a stop leaves the queue by closing the connection, and does not wait for an answer.
while_waiting()
{
	for signal in TERM:143 INT:130 HUP:129 QUIT:131; do
		peer <<-END
			accept
			hello
			want CLAIM key * wait=*
			touch $dir/asked
			eof
		END
		signalled "${signal%:*} while it waits" "${signal%:*}" "${signal#*:}" "$claim" run --wait --report "$dir/report" key -- touch "$dir/ran"
		same 'nothing ran' no "$(ran)"
		same 'the report' "STOPPED exit=${signal#*:}" "$(cat "$dir/report")"
	done
}

# It is won, and not started yet: what is left of the lease is asked for after a wait.
while_confirming()
{
	for signal in TERM:143 INT:130 HUP:129 QUIT:131 USR1:138 USR2:140; do
		confirmed='say OK state=claimed fence=77 left_ms=30000'
		case $signal in USR*) answer=$confirmed ;; *) answer= ;; esac
		peer <<-END
			accept
			hello
			want CLAIM key * wait=*
			say WON fence=77 lease_ms=30000 attempts=1 was=new
			want RENEW key fence=77 token=* lease=30000ms
			touch $dir/asked
			wait $dir/go
			$answer
			$([ "$answer" ] || printf 'accept\nhello')
			want RELEASE key fence=77 token=*
			say OK state=free fence=78
			eof
		END
		signalled "${signal%:*} before the start" "${signal%:*}" "${signal#*:}" \
			"$claim" run --wait key -- sh -c 'touch "$1/ran"; exec sleep 100' sh "$dir"
		[ "$answer" ] || same 'nothing ran' no "$(ran)"
	done
}

# The process is there and waits at its gate: strace lets the signal come just then.
while_starting()
{
	for signal in TERM:143 INT:130 HUP:129 QUIT:131 USR1:138 USR2:140; do
		peer <<-END
			accept
			hello
			want CLAIM key *
			say WON fence=77 lease_ms=30000 attempts=1 was=new
			want RELEASE key fence=77 token=*
			say OK state=free fence=78
			eof
		END
		exits "${signal%:*} at the gate" "${signal#*:}" env ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" \
			"$bin/tests/pty" --signals strace -qq -o /dev/null -e trace=setpgid -e inject=setpgid:signal="${signal%:*}":when=1 \
			"$claim" run key -- sh -c 'touch "$1/ran"; exec sleep 100' sh "$dir"
		case $signal in USR*) ;; *) same 'nothing ran' no "$(ran)" ;; esac
		peer_ok "${signal%:*} at the gate"
	done
}

# A signal that the caller ignores is no stop.
nohup_before_the_win()
{
	peer <<-END
		accept
		hello
		want CLAIM key *
		touch $dir/asked
		wait $dir/go
		say WON fence=77 lease_ms=30000 attempts=1 was=new
		want COMPLETE key fence=77 token=* body=19
		say OK state=done fence=77 ttl_ms=1000
		eof
	END
	sh -c 'trap "" HUP; exec "$@"' sh "$claim" run key -- touch "$dir/ran" &
	run=$!
	pids="$pids $run"
	until_ok 'it asks' test -e "$dir/asked"
	kill -HUP "$run"
	touch "$dir/go"
	ends 'HUP that is ignored' 0 "$run"
	same 'it ran' yes "$(ran)"
	peer_ok 'HUP that is ignored'
	rm -f "$dir/ran"
}

# The effect has happened and the daemon does not answer: a stop shortens the wait, and the status is that of the command. USR1 and USR2 are
# nobody's any more.
while_settling()
{
	for signal in TERM INT HUP QUIT; do
		peer <<-END
			accept
			hello
			want CLAIM key *
			say WON fence=77 lease_ms=30000 attempts=1 was=new
			want COMPLETE key fence=77 token=* body=19
			touch $dir/asked
			eof
		END
		signalled "$signal while it settles" "$signal" 0 "$claim" run key -- true
		holds 'it is said loudly' "$(cat "$dir/err")" '*NOT RECORDED*do not run it again; record it: claim complete --fence 77 key*'
		same 'and nothing worse is offered' 0 "$(grep -c failed "$dir/err")"
	done
	for signal in USR1 USR2; do
		peer <<-END
			accept
			hello
			want CLAIM key *
			say WON fence=77 lease_ms=30000 attempts=1 was=new
			want COMPLETE key fence=77 token=* body=19
			touch $dir/asked
			wait $dir/go
			say OK state=done fence=77 ttl_ms=1000
			eof
		END
		signalled "$signal while it settles" "$signal" 0 "$claim" run key -- true
		same 'it was recorded' '' "$(cat "$dir/err")"
	done
}

# Each signal reaches the command and what it started.
while_running()
{
	for signal in TERM INT HUP QUIT USR1 USR2; do
		rm -f "$dir/ready" "$dir/got"
		spawn "$claim" run "fwd-$signal" -- sh -c '
			trap "echo $1 >$2/got; exit 7" "$1"
			touch "$2/ready"
			while :; do sleep 0.02; done' sh "$signal" "$dir"
		until_ok 'it runs' test -e "$dir/ready"
		kill -"$signal" "$run"
		ends "$signal: the code of the command" 7 "$run"
		same "$signal is forwarded" "$signal" "$(cat "$dir/got")"
	done
	rm -f "$dir/pid"
	spawn "$claim" run group -- sh -c 'sh -c "echo \$\$ >$1/pid; exec sleep 100"; exit 9' sh "$dir"
	until_ok 'it runs' test -s "$dir/pid"
	kill -TERM "$run"
	ends 'the whole group gets it' 143 "$run"
	until_ok 'the process of the command is gone' gone "$(cat "$dir/pid")"
	same 'it is given back' free "$(state group)"
	rm -f "$dir/ready"
	spawn "$claim" run term-unknown --lapse unknown -- sh -c 'trap "exit 3" TERM; touch "$1/ready"; while :; do sleep 0.02; done' sh "$dir"
	until_ok 'it runs' test -e "$dir/ready"
	kill -TERM "$run"
	ends 'told to end, under lapse=unknown' 3 "$run"
	same 'nobody knows how far it got' unknown "$(state term-unknown)"
}

# What the caller ignores stays ignored; what it did to SIGCHLD does not matter.
inherited()
{
	rm -f "$dir/pid" "$dir/go"
	sh -c 'trap "" HUP; exec "$@"' sh "$claim" run nohup -- sh -c 'echo $PPID >"$1/pid"; while [ ! -e "$1/go" ]; do sleep 0.02; done' sh "$dir" &
	run=$!
	pids="$pids $run"
	until_ok 'it runs' test -s "$dir/pid"
	kill -HUP "$run"
	touch "$dir/go"
	ends 'nohup' 0 "$run"
	exits 'SIGCHLD ignored by the caller' 5 "$bin/tests/pty" --signals --ignore-chld "$claim" run chld -- sh -c 'exit 5'
	exits 'SIGPIPE is as it was' 141 "$bin/tests/pty" --signals "$claim" run pipe -- sh -c 'kill -PIPE $$'
}

left_behind()
{
	# Much memory makes it slow to die: the key is not free before it is gone.
	exits 'fails and leaves a large process behind' 3 "$claim" run large -- sh -c '
		{ head -c 200m /dev/zero; touch "$1/full"; exec sleep 100; } | tail -c 200m >/dev/null &
		echo $! >"$1/pid"; while [ ! -e "$1/full" ]; do sleep 0.02; done; exit 3' sh "$dir"
	same 'it is gone' yes "$(gone "$(cat "$dir/pid")" && echo yes || echo no)"
	exits 'fails and leaves a process behind' 3 "$claim" run left -- sh -c 'sleep 100 & echo $! >"$1/pid"; exit 3' sh "$dir"
	same 'it is gone before the key is free' yes "$(gone "$(cat "$dir/pid")" && echo yes || echo no)"
	exits 'dies and leaves a process behind' 137 "$claim" run left2 -- sh -c 'sleep 100 & echo $! >"$1/pid"; kill -KILL $$' sh "$dir"
	same 'it is gone, too' yes "$(gone "$(cat "$dir/pid")" && echo yes || echo no)"
	exits 'succeeds and leaves a process behind' 0 "$claim" run left3 -- sh -c 'sleep 100 & echo $! >"$1/pid"' sh "$dir"
	same 'which may stay' no "$(gone "$(cat "$dir/pid")" && echo yes || echo no)"
	kill -KILL "$(cat "$dir/pid")"
}

wrapper_dies()
{
	rm -f "$dir/pid"
	spawn "$claim" run orphan --lease 1s -- sh -c 'echo $$ >"$1/pid"; exec sleep 100' sh "$dir"
	until_ok 'it runs' test -s "$dir/pid"
	kill -KILL "$run"
	until_ok 'the command does not outlive its wrapper' gone "$(cat "$dir/pid")"
	until_ok 'and the key heals' "$claim" run orphan -- true
}

before_the_daemon
before_the_win
before_no_win
kept_before_the_win
while_waiting
while_confirming
while_starting
nohup_before_the_win
while_settling
rm -f "$CLAIMD_SOCKET"
daemon_start memory:
while_running
inherited
left_behind
wrapper_dies
finish
