#!/bin/sh
# systemd.sh - the units: systemd finds nothing in them, their numbers fit the daemon's, and what they start does its part of the bargain: it takes
# the socket that it is passed, says that it is ready, alive and leaving, and leaves the socket alone.
#
# Under a whole systemd they are tested by deb.sh.
# shellcheck disable=SC2317 # functions that until_ok calls
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
units=$(cd "${srcdir:-.}/contrib/systemd" && pwd)
for program in systemd-analyze systemd-socket-activate socat; do
	command -v $program >/dev/null || { echo "systemd: $program is not there"; exit 77; }
done

# value NAME: a setting of the service.
value()
{
	sed -n "s/^$1=//p" "$units/claimd.service"
}

# default NAME: a time or number that claimd has without settings, in seconds where it is a time.
default()
{
	"$bin/claimd" --print-config | sed -n "s/^$1 = \([0-9]*\)s\{0,1\}$/\1/p"
}

# ---- as files ----
mkdir "$dir/units"
cp "$units/claimd.socket" "$dir/units"
sed "s,/usr/sbin/claimd,$bin/claimd," "$units/claimd.service" >"$dir/units/claimd.service"
exits 'verify' 0 systemd-analyze verify --man=no "$dir/units/claimd.service" "$dir/units/claimd.socket"
same 'verify has nothing to say' '' "$(cat "$dir/out" "$dir/err")"
exits 'exposure, 0.5 of 10' 0 systemd-analyze security --offline=yes --threshold=6 "$dir/units/claimd.service"
for page in $(value Documentation | tr -d ')' | tr '(' .); do
	page=${page#man:}
	found=$(find "$units/../../man" man -name "$page" | head -n 1)
	same "there is a page $page" "$page" "${found##*/}"
done
[ "$(value TimeoutStopSec | tr -d s)" -gt $(($(default drain_timeout) + $(default request_timeout))) ]
same 'it is given the time to leave' 0 $?
[ "$(value LimitNOFILE)" -gt "$(default max_connections)" ]
same 'it has descriptors for all its clients' 0 $?

# ---- as systemd would start it ----
said()
{
	grep -q "$1" "$dir/said"
}

# said_more TIMES: so often that it lives.
said_more()
{
	[ "$(grep -o WATCHDOG=1 "$dir/said" | wc -l)" -ge "$1" ]
}

socat -u "UNIX-RECV:$dir/notify" "CREATE:$dir/said" &
pids="$pids $!"
until_ok 'somebody listens' test -S "$dir/notify"
mkdir "$dir/state"
command=$(value ExecStart | sed "s,^/usr/sbin,$bin,; s,/etc,$units,")
# shellcheck disable=SC2086 # a list of words
systemd-socket-activate --listen="$CLAIMD_SOCKET" --setenv=NOTIFY_SOCKET="$dir/notify" --setenv=WATCHDOG_USEC=1000000 \
	--setenv=STATE_DIRECTORY="$dir/state" $command >"$dir/claimd.log" 2>&1 &
daemon=$!
until_ok 'the socket is there' test -S "$CLAIMD_SOCKET"
[ -e "$dir/said" ] && said READY
same 'and no daemon' 1 $?
exits 'the first client starts it' 0 "$claim" run --save-output key -- echo ran
exits 'the next one is served' 0 "$claim" run --save-output key -- echo 'ran twice'
same 'by the same store' ran "$(cat "$dir/out")"
[ -s "$dir/state/claimd.sqlite" ]
same 'which is in its folder' 0 $?
until_ok 'it is ready' said READY=1
until_ok 'it is alive' said_more 3
kill -TERM "$daemon"
ends 'it stops' 0 "$daemon"
daemon=
until_ok 'and says so' said STOPPING=1
[ -S "$CLAIMD_SOCKET" ]
same 'the socket is not its own' 0 $?
finish
