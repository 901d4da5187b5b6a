#!/bin/sh
# cli_lib.sh - what the tests of the command share. Sourced, not run: they give it a folder of its own, a daemon, and checks that are counted.
#
# Every wait is for a condition with a deadline. Every process that is started is ended by its own id.
set -u
bin=${BIN:-$PWD}
claim=$bin/claim
dir=$(mktemp -d)
passed=0
failed=0
daemon=
pids=
CLAIMD_SOCKET=$dir/s
export CLAIMD_SOCKET
unset CLAIMD_DISABLED CLAIM_KEY CLAIM_TOKEN CLAIM_FENCE

lib_end()
{
	for pid in $pids $daemon; do
		kill -KILL "$pid" 2>/dev/null
	done
	rm -rf "$dir"
}
trap lib_end EXIT
trap 'exit 1' TERM INT HUP

# same NAME WANTED GOT
same()
{
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'FAILED %s: wanted "%s", got "%s"\n' "$1" "$2" "$3"
	fi
}

# holds NAME TEXT PATTERN: the text matches the pattern of the shell.
holds()
{
	# shellcheck disable=SC2254 # it is a pattern
	case $2 in
	$3) passed=$((passed + 1)) ;;
	*)
		failed=$((failed + 1))
		printf 'FAILED %s: "%s" is not like "%s"\n' "$1" "$2" "$3"
		;;
	esac
}

# until_ok NAME COMMAND...: waits until it succeeds, 20 s at the most.
until_ok()
{
	what=$1
	shift
	tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		if [ $tries -gt 1000 ]; then
			failed=$((failed + 1))
			printf 'FAILED %s: waited in vain for: %s\n' "$what" "$*"
			return 1
		fi
		sleep 0.02
	done
	passed=$((passed + 1))
}

# exits NAME CODE COMMAND...: runs it, its output into $dir/out and $dir/err.
exits()
{
	what=$1
	wanted=$2
	shift 2
	"$@" >"$dir/out" 2>"$dir/err"
	got=$?
	same "$what" "$wanted" "$got"
	[ "$wanted" = "$got" ] || cat "$dir/err"
}

# daemon_start STORE
daemon_start()
{
	"$bin/claimd" --store "$1" >>"$dir/claimd.log" 2>&1 &
	daemon=$!
	until_ok "the daemon starts" "$claim" ping
}

daemon_kill()
{
	kill -KILL "$daemon"
	wait "$daemon" 2>/dev/null
	daemon=
}

# The state of a key; "none" when there is no record.
state()
{
	"$claim" --json status "$1" | sed -n 's/.*"state":"\([a-z]*\)".*/\1/p' | grep . || echo none
}

# is_state KEY STATE
is_state()
{
	[ "$(state "$1")" = "$2" ]
}

# gone PID: there is no such process, or only what is left of it until its parent looks.
gone()
{
	! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}

# A process that somebody waits for is not gone until then; stopped and sleeping are told apart.
is_stopped()
{
	grep -q '^State:.T' "/proc/$1/status"
}

# spawn COMMAND...: in the background, as $run. The pty takes care that a script's background jobs do not ignore INT and QUIT.
spawn()
{
	"$bin/tests/pty" --signals "$@" >"$dir/out" 2>"$dir/err" &
	run=$!
	pids="$pids $run"
}

# Has the command of the test run? It makes this file.
ran()
{
	[ -e "$dir/ran" ] && echo yes || echo no
}

# ends NAME CODE PID: waits for a process of ours, and for its exit code.
ends()
{
	wait "$3"
	same "$1" "$2" $?
}

finish()
{
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
	exit $?
}
