#!/bin/sh
# run.sh - the storm: daemons and workers are killed and stopped for a while, then a checker reads what they did.
#
#   tests/storm/run.sh [--build DIR] [--seconds N] [--seed S] [--store URL] [--daemons 1..4] [--workers W]
#
# DIR is a configured build folder, build/ by default; storm and claimd are made there when they are not. The rest is for storm.c,
# which says what it means. 20 s, two daemons on one SQLite file and 32 workers when nothing is said. The last line is
# "N passed, N failed"; after a failure the history is kept, and `storm --judge` reads it again.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$root/build
take=
for word in "$@"; do
	shift
	if [ -n "$take" ]; then
		build=$word
		take=
	elif [ "$word" = --build ]; then
		take=yes
	else
		set -- "$@" "$word"
	fi
done
[ -f "$build/Makefile" ] || {
	echo "storm: $build is not configured; ./dev build does that" >&2
	exit 2
}
make -s -C "$build" claimd claim tests/storm/storm >&2
TEST_CLAIMD=$build/claimd TEST_CLAIM=$build/claim exec "$build/tests/storm/storm" "$@"
