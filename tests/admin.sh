#!/bin/bash
# admin.sh - the --admin socket: what it answers, whom it does not let hold it up, and where it listens.
# shellcheck disable=SC2317 # functions that until_ok calls
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"

# start ARGS...: a daemon with more arguments; $at is then where it listens for HTTP, as its log says.
start()
{
	"$bin/claimd" --store memory: "$@" >"$dir/claimd.log" 2>&1 &
	daemon=$!
	until_ok "the daemon starts" "$claim" ping
	at=$(sed -n 's/.* admin .* at=//p' "$dir/claimd.log")
}

# refused NAME CODE TEXT ARGS...: a daemon with these arguments does not start, and says why.
refused()
{
	what=$1
	code=$2
	text=$3
	shift 3
	exits "$what" "$code" timeout 20 "$bin/claimd" --store memory: --socket "$dir/other" "$@"
	holds "$what: the reason" "$(cat "$dir/err")" "*$text*"
}

# get PATH ARGS...: status and body of a page.
get()
{
	page=$1
	shift
	curl -s --max-time 20 -w '%{http_code}' "$@" "http://$at$page"
}

is_page()
{
	[ "$(get "$1")" = "$2" ]
}

descriptors()
{
	find "/proc/$daemon/fd" -mindepth 1 | wc -l
}

is_at_most()
{
	[ "$(descriptors)" -le "$1" ]
}

start
same 'there is none unless it is asked for' '' "$at"
daemon_kill

start --admin 127.0.0.1:0
holds 'the log says where' "$at" '127.0.0.1:[1-9]*'
same 'livez' 'ok
200' "$(get /livez)"
same 'readyz' 'ok
200' "$(get /readyz)"
"$claim" claim k >"$dir/out"
holds 'metrics' "$(get /metrics)" '*claimd_claims_total{outcome="won"} 1
*200'
same 'HEAD' 200 "$(get /metrics --head -o "$dir/head")"
holds 'HEAD has the length' "$(cat "$dir/head")" '*Content-Length: [1-9]*'
holds 'another page' "$(get /)" '*404'
holds 'another method' "$(get /livez -X DELETE)" '*405'
# Its answer comes before what it sends is over, and must not be lost by that.
head -c 3000000 /dev/zero >"$dir/zeros"
holds 'a method with a body' "$(get /metrics -H Expect: --data-binary "@$dir/zeros")" '*405'
holds 'no HTTP' "$(printf 'CLAIM k\n\n' | socat -t 20 - "TCP:$at")" 'HTTP/1.1 400 *'
holds 'two writes and LF alone' "$( (printf 'GET /livez HT'; printf 'TP/1.1\nX: y\n\n') | socat -t 20 - "TCP:$at")" 'HTTP/1.1 200 *'
long=$(head -c 8192 /dev/zero | tr '\0' x)
holds 'a long header' "$(get /livez -H "X: $long")" '*431'
long=$(head -c 7800 /dev/zero | tr '\0' x)
holds 'one that is not too long' "$(get /livez -H "X: $long")" '*200'

# Clients that connect and say nothing more: they cost few descriptors, keep nobody out, and are gone after their time.
before=$(descriptors)
fds=
for i in $(seq 60); do
	exec {fd}<>"/dev/tcp/${at%:*}/${at#*:}"
	[ "$i" -gt 30 ] || printf 'GET /livez HTTP/1.1\r\nX: ' >&"$fd"
	fds="$fds $fd"
done
same 'others are answered' 'ok
200' "$(get /livez)"
until_ok 'few places are taken' is_at_most $((before + 16))
# shellcheck disable=SC2086 # a list
set -- $fds
same 'the oldest has lost its place' '' "$(cat <&"$1" 2>/dev/null)"
until_ok 'they are gone after their time' is_at_most "$before"
for fd in $fds; do
	exec {fd}>&-
done
same 'the daemon is well' 'ok
200' "$(get /livez)"
holds 'and the control socket too' "$("$claim" ping)" '*'

# Another daemon cannot have the port.
refused 'the port is taken' 69 "admin: cannot listen on $at: Address already in use" --admin "$at"

# A daemon that leaves says so until it is gone.
kill -TERM "$daemon"
until_ok 'not ready while it drains' is_page /readyz 'draining
503'
same 'but alive' 'ok
200' "$(get /livez)"
kill -TERM "$daemon"
until_ok 'it ends' gone "$daemon"
ends 'it leaves' 0 "$daemon"
daemon=
same 'nobody is there' 000 "$(get /livez)"

# The next one has its port at once, although connections of the last one are not over for the kernel.
start --admin "$at"
same 'the same port' 'ok
200' "$(get /livez)"
daemon_kill

if grep -q '^0*1 ' /proc/net/if_inet6 2>/dev/null; then
	start --admin '[::1]:0'
	same 'IPv6' 'ok
200' "$(get /livez)"
	daemon_kill
fi

# A store that is taken away.
"$bin/claimd" --store "sqlite:$dir/db" --admin "$dir/a" >"$dir/claimd.log" 2>&1 &
daemon=$!
until_ok 'the daemon starts on a file' "$claim" ping
at=claimd
same 'ready with a store' 'ok
200' "$(get /readyz --unix-socket "$dir/a")"
rm "$dir"/db*
exits 'the store is down' 69 "$claim" claim k
same 'not ready without a store' 'store down
503' "$(get /readyz --unix-socket "$dir/a")"
same 'but alive without one' 'ok
200' "$(get /livez --unix-socket "$dir/a")"
daemon_kill

# On a path: where a dead daemon's socket is, with the permissions of the control socket.
[ -S "$dir/a" ]
same 'a dead socket is there' 0 $?
start --admin "$dir/a" --socket-mode 0600
same 'on a path' "$dir/a" "$at"
same 'its permissions' 600 "$(stat -c %a "$dir/a")"
at=claimd
same 'answers on a path' 'ok
200' "$(get /livez --unix-socket "$dir/a")"
refused 'two daemons on a path' 69 "admin: another claimd already listens on $dir/a" --admin "$dir/a"
kill -TERM "$daemon"
until_ok 'it ends' gone "$daemon"
ends 'it leaves the path' 0 "$daemon"
daemon=
[ ! -e "$dir/a" ]
same 'the socket is removed' 0 $?
echo mine >"$dir/a"
refused 'no socket on the path' 78 "admin: $dir/a is there and is no socket" --admin "$dir/a"
same 'which is left alone' mine "$(cat "$dir/a")"
[ ! -e "$dir/other" ]
same 'a start that fails leaves no control socket' 0 $?

# Settings.
exits 'a name is no address' 78 "$bin/claimd" --admin localhost:9464 --check-config
holds 'and it says what is' "$(cat "$dir/err")" '*--admin*127.0.0.1:9464*'
exits 'for other hosts (no daemon is started for it)' 0 "$bin/claimd" --check-config --admin 0.0.0.0:1 --store memory:
holds 'there is a warning' "$(cat "$dir/err")" '*admin (0.0.0.0:1) is open to other hosts*'
exits 'for this host' 0 "$bin/claimd" --check-config --admin 127.0.0.1:1 --store memory:
same 'there is none' 0 "$(grep -c 'open to other hosts' "$dir/err")"
finish
