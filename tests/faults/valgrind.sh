#!/bin/bash
# valgrind.sh - one life of the daemon, and of `claim run`, under valgrind: no octet is used that was not set or is not ours, nothing is
# lost, and no descriptor is left open.
#
# For a build without sanitizers: BIN is its folder.
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/../cli_lib.sh"
checker="valgrind --error-exitcode=99 --exit-on-first-error=no --leak-check=full --show-leak-kinds=definite,indirect,possible
	--errors-for-leak-kinds=definite,indirect,possible --track-fds=yes --quiet"

# clean NAME LOG: valgrind had nothing to say. Of descriptors it tells those of its caller, which were open from the start, too.
clean()
{
	same "$1: valgrind" '' "$(grep -E '^==[0-9]+== +(Invalid|Use of|Conditional|Syscall|Source|Mismatched|[0-9,]+ .*bytes in)' "$2")"
	same "$1: descriptors" '' "$(awk '/Open (file descriptor|AF_)/ { open = $0; next }
		open && !/inherited from parent/ { print open } { open = "" }' "$2")"
}

# say LINE...: over one connection that is open until all is answered.
say()
{
	printf '%s\n' "$@" QUIT | timeout 20 socat -t 20 - "UNIX-CONNECT:$CLAIMD_SOCKET" >"$dir/said"
}

fence()
{
	"$claim" --json claim "$@" | sed -n 's/.*"fence":\([0-9]*\).*/\1/p'
}

verbs()
{
	for verb in complete fail release doubt renew check; do
		f=$(fence "v-$verb")
		case $verb in
		renew) exits "$verb" 0 "$claim" renew "v-$verb" --fence "$f" --lease 1h ;;
		complete | fail) exits "$verb" 0 "$claim" $verb "v-$verb" --fence "$f" --result 'it is so' ;;
		*) exits "$verb" 0 "$claim" $verb "v-$verb" --fence "$f" ;;
		esac
	done
	exits 'done' 1 "$claim" claim v-complete
	exits 'stale' 1 "$claim" complete v-fail --fence 5
	exits 'resolve' 0 "$claim" resolve v-doubt --as failed --reason 'a test'
	exits 'forget' 0 "$claim" forget v-doubt
	exits 'ls' 0 "$claim" ls
	exits 'sweep' 0 "$claim" sweep
	exits 'key' 0 "$claim" key --file "$dir/json"
	exits 'stats' 0 "$claim" stats
	exits 'status' 0 "$claim" status
	exits 'doctor' 0 "$claim" doctor
	say 'HELLO client=x' PING HELP 'NO such' 'CLAIM =' 'CLAIM k body=3' abc "STATUS $(printf 'x%.0s' $(seq 9000))"
	exits 'the work' 0 "$claim" run worked -- true
	exits 'the work again' 0 "$claim" run worked -- false
}

# Who is bound to a connection: a hold that is renewed, a claim that is dropped, one that waits for it, and one that looks on.
bound()
{
	rm -f "$dir/go" "$dir/bound"
	(
		printf '%s\n' 'WATCH prefix=b' "CLAIM b$lives lease=1s hold=1m drop=release notify"
		until [ -e "$dir/go" ]; do sleep 0.05; done
	) | timeout 20 socat -t 0.1 - "UNIX-CONNECT:$CLAIMD_SOCKET" >"$dir/bound" &
	holder=$!
	pids="$pids $holder"
	until_ok 'it is held, and the hold renewed' grep -q RENEWED "$dir/bound"
	: >"$dir/go"
	say "CLAIM b$lives wait=20s" "STATUS b$lives"
	holds 'who waited has it' "$(cat "$dir/said")" 'WON *'
	wait "$holder"
}

probes()
{
	for path in livez readyz metrics nothing; do
		curl -s -o "$dir/http" --unix-socket "$dir/admin" "http://claimd/$path"
		same "$path" 0 $?
	done
}

daemon_checked()
{
	# shellcheck disable=SC2086 # a list of words
	$checker --log-file="$dir/daemon.vg" "$bin/claimd" --store "$1" --admin "$dir/admin" --drain-timeout 200ms 2>>"$dir/claimd.log" &
	daemon=$!
	until_ok "the daemon starts" "$claim" ping
}

life()
{
	lives=$((lives + 1))
	daemon_checked "$1"
	verbs
	bound
	probes
	kill -TERM "$daemon"
	ends "$1: a clean end" 0 "$daemon"
	daemon=
	clean "$1" "$dir/daemon.vg"
}

runs()
{
	daemon_start "sqlite:$dir/db"
	# shellcheck disable=SC2086 # a list of words
	exits 'claim run' 0 $checker --log-file="$dir/run.vg" "$claim" run under --save-output=1000 -- echo yes
	same 'its output' yes "$(cat "$dir/out")"
	clean 'claim run' "$dir/run.vg"
	# shellcheck disable=SC2086 # a list of words
	exits 'a duplicate' 0 $checker --log-file="$dir/run.vg" "$claim" run under -- false
	clean 'a duplicate' "$dir/run.vg"
	# shellcheck disable=SC2086 # a list of words
	exits 'claim ls' 0 $checker --log-file="$dir/run.vg" "$claim" --json ls
	clean 'claim ls' "$dir/run.vg"
}

if grep -q __asan_init "$bin/claimd"; then
	echo 'valgrind.sh: this build has sanitizers, which valgrind does not know'
	exit 1
fi
echo '{"b":1.5,"a":[1,"x",null]}' >"$dir/json"
lives=0
life "sqlite:$dir/db"
life "sqlite:$dir/db"
life memory:
runs
finish
