#!/bin/sh
# run.sh - claimd against one commit per claim: `./dev bench`.
#
#   tests/bench/run.sh [ROUNDS [JOBS]]     5 rounds of 4000 jobs
#
# Rounds are interleaved, so that a slow minute of the machine falls on all alike; the table shows medians, ratios
# first. "direct" is SQLite with one connection that nobody disturbs and one commit per claim and per settlement: the best
# that workers which write for themselves can do. bench.c checks in every round that each key was granted once.
set -eu
cd "$(dirname "$0")/../.."
rounds=${1:-5}
jobs=${2:-4000}
clients=64
build=$PWD/build
tmp=$(mktemp -d)
pids=
end()
{
	# shellcheck disable=SC2086 # a list, of what was started here only
	[ -z "$pids" ] || kill $pids 2>/dev/null || true
	wait
	rm -rf "$tmp"
}
trap end EXIT
trap 'exit 130' INT TERM

# shellcheck disable=SC2046 # lists of words
cc -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -Wall -Wextra -o "$tmp/bench" tests/bench/bench.c proto/*.c $(pkg-config --cflags --libs sqlite3)

# start NAME STORE: a daemon on a socket of this name.
start()
{
	"$build/claimd" --socket "$tmp/$1.sock" --store "$2" 2>"$tmp/$1.log" &
	pids="$pids $!"
	tries=200
	until "$build/claim" --socket "$tmp/$1.sock" ping >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || { cat "$tmp/$1.log" >&2; echo 'bench: the daemon does not answer' >&2; exit 1; }
		sleep 0.05
	done
}

start memory memory:
start sqlite "sqlite:$tmp/sqlite.db"
round=0
while [ "$round" -lt "$rounds" ]; do
	round=$((round + 1))
	for name in memory sqlite; do
		"$tmp/bench" daemon "$tmp/$name.sock" "$clients" "$jobs" >>"$tmp/$name.results"
	done
	"$tmp/bench" direct "$tmp/direct.db" "$jobs" >>"$tmp/direct.results"
done

# median NAME COLUMN
median()
{
	cut -d' ' -f"$2" "$tmp/$1.results" | sort -n | sed -n "$((rounds / 2 + 1))p"
}

base=$(median direct 1)
echo "$rounds rounds of $jobs jobs (two CLAIMs of one key and a COMPLETE), $clients clients, medians; each key was granted once"
printf '%-26s %8s %9s %10s %10s %10s\n' '' 'ratio' 'jobs/s' 'p50 us' 'p99 us' 'max us'
for name in memory sqlite direct; do
	case $name in
	direct) label='one commit per claim' ;;
	*) label="claimd on $name" ;;
	esac
	speed=$(median "$name" 1)
	printf '%-26s %7sx %9s %10s %10s %10s\n' "$label" "$(awk -v a="$speed" -v b="$base" 'BEGIN { printf "%.1f", a / b }')" \
		"$speed" "$(median "$name" 2)" "$(median "$name" 3)" "$(median "$name" 4)"
done
