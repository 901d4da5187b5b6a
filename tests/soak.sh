#!/bin/bash
# soak.sh - does anything grow without an end? A million claims that end by themselves, then ten thousand connections that come and go;
# between them the memory, the descriptors and the file of the daemon: `./dev soak`.
#
#   tests/soak.sh [--build DIR] [--rounds N]     ten rounds of 100,000 claims by default
#
# It is measured against the third round: by then everything is as large as this load makes it.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build
rounds=10
claims=100000
connections=10000
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=$(cd "$2" && pwd) && shift 2 ;;
	--rounds) rounds=$2 && shift 2 ;;
	*) echo "soak: no such option: $1" >&2 && exit 64 ;;
	esac
done
[ -x "$build/tests/bench/bench" ] || { echo "soak: no programs in $build: make claimd tests/bench/bench" >&2; exit 1; }
[ "$rounds" -ge 4 ] || { echo 'soak: four rounds at the least' >&2; exit 64; }
tmp=$(mktemp -d)
daemon=
passed=0
failed=0
trap '[ -z "$daemon" ] || kill -KILL $daemon; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

# Sets memory (KiB), files and size (KiB) to what the daemon has now, and prints them.
look()
{
	memory=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$daemon/status")
	files=$(find "/proc/$daemon/fd" -mindepth 1 | wc -l)
	size=$(find "$tmp" -name 'db*' -printf '%s\n' | awk '{ n += $1 } END { print int(n / 1024) }')
	printf '%-22s memory %6d KiB, %3d descriptors, file %6d KiB\n' "$1" "$memory" "$files" "$size"
}

# bounded WHAT NOW MOST
bounded()
{
	if [ "$2" -le "$3" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAILED $1: $2, and $3 would be fine"
	fi
}

soak()
{
	echo "store $1"
	rm -f "$tmp"/*
	"$build/claimd" --socket "$tmp/s" --store "$1" --ttl 200ms --log-level error &
	daemon=$!
	for ((i = 0; i < 500; i++)); do
		[ ! -S "$tmp/s" ] || break
		sleep 0.02
	done
	look 'at the start'
	first_files=$files
	for ((round = 1; round <= rounds; round++)); do
		"$build/tests/bench/bench" load "$tmp/s" cycle 64 32 "$claims" >"$tmp/load" || { failed=$((failed + 1)); echo 'FAILED the load'; }
		sleep 0.3 # until they have ended: the next round has the same keys
		[ "$round" -ne 3 ] || { look "$((3 * claims)) claims"; then_memory=$memory then_size=$size; }
	done
	look "$((rounds * claims)) claims"
	bounded 'memory' "$memory" $((then_memory * 5 / 4 + 2048))
	bounded 'the file' "$size" $((then_size * 5 / 4 + 2048))
	"$build/tests/bench/bench" churn "$tmp/s" "$connections" || { failed=$((failed + 1)); echo 'FAILED the connections'; }
	for ((i = 0; i < 500; i++)); do # the last of them are let go within a second
		[ "$(find "/proc/$daemon/fd" -mindepth 1 | wc -l)" -gt "$((first_files + 3))" ] || break
		sleep 0.02
	done
	look "$connections connections"
	bounded 'descriptors' "$files" $((first_files + 3))
	bounded 'memory after connections' "$memory" $((then_memory * 5 / 4 + 2048))
	kill -TERM "$daemon"
	wait "$daemon"
	bounded 'the exit status' $? 0
	daemon=
}

soak "sqlite:$tmp/db"
soak memory:
echo "soak: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
