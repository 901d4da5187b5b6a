#!/bin/sh
# run.sh - how fast claimd is, next to what could be done at the best without it: `./dev bench`.
#
#   tests/bench/run.sh [--build DIR] [--rounds N] [--quick] [ROW...]     all rows of rows.sh, or those named
#
# Starts what it needs, afresh for each measurement, and prints one table: what was reached, a ratio where it can be one, beside
# what it must be and what it is to be. Rounds are interleaved, so that a slow minute of the machine falls on all alike, and
# everything is a median of the rounds. The generator checks right next to the speed that each (key, fence) was granted
# once. --quick is for a test of the benchmark itself: all the same, of a size that says nothing about speed.
#
# The exit status is 0 when every row was measured and every answer was right, however fast.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$here/../.." && pwd)/build
rounds=5
scale=1
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=$(cd "$2" && pwd) && shift 2 ;;
	--rounds) rounds=$2 && shift 2 ;;
	--quick) scale=100 && shift ;;
	-*) echo "bench: no such option: $1" >&2 && exit 64 ;;
	*) break ;;
	esac
done
# shellcheck disable=SC3045 # every sh of Linux has it; the row idle has ten thousand connections
ulimit -n "$(ulimit -H -n)"
tmp=$(mktemp -d)
started=

# The processes that were started here and are not ended yet are killed: what they keep is thrown away.
stop()
{
	# shellcheck disable=SC2086 # a list; some of them may have ended
	[ -z "$started" ] || { kill -KILL $started; wait $started; } 2>/dev/null || true
	started=
}

end()
{
	stop
	rm -rf "$tmp"
}
trap end EXIT
trap 'exit 130' INT TERM

fail()
{
	echo "bench: $*" >&2
	exit 1
}

[ -x "$build/tests/bench/bench" ] || fail "no programs in $build: make claimd claim tests/bench/bench tests/bench/echo"

bench()
{
	"$build/tests/bench/bench" "$@"
}

# wait_for WHAT CONDITION...: 10 s at the most.
wait_for()
{
	what=$1
	shift
	tries=500
	until "$@"; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || { cat "$tmp/log" >&2 && fail "$what does not begin"; }
		sleep 0.02
	done
}

# serve PROGRAM ARGUMENTS...: on $socket, which is there when this returns.
serve()
{
	rm -f "$socket"
	"$@" 2>"$tmp/log" &
	started="$started $!"
	wait_for "$1" test -S "$socket"
}

serve_echo()
{
	serve "$build/tests/bench/echo" "$socket"
}

# serve_claimd STORE [ARGUMENTS...]
serve_claimd()
{
	store=$1
	shift
	serve "$build/claimd" --socket "$socket" --store "$store" "$@"
}

serve_memory()
{
	serve_claimd memory:
}

# With a file that is new.
serve_sqlite()
{
	rm -f "$tmp"/new.db*
	serve_claimd "sqlite:$tmp/new.db"
}

# A count for the full size.
size()
{
	echo $((($1 + scale - 1) / scale))
}

# keep ROW SIDE COMMAND...: the line of numbers that it prints, behind those of the rounds before.
keep()
{
	file=$tmp/$1.$2
	shift 2
	"$@" >>"$file" || fail 'that was no benchmark'
}

# ---- the table ----

# The median of the numbers on standard input.
median()
{
	sort -g | awk '{ n[NR] = $1 } END { x = n[int((NR + 1) / 2)]; print x < 1000 ? x : int(x) }'
}

# column ROW SIDE NUMBER: "-" when there is no such side, or it has no such number.
column()
{
	[ -e "$tmp/$1.$2" ] && cut -d ' ' -f "$3" "$tmp/$1.$2" | grep . | median || echo -
}

# print ROW REACHED UNIT MUST AIM WHAT: must and aim are least values, or with "<" in front most.
print()
{
	case $2 in '' | *[!0-9.]*) fail "row $1 was not measured" ;; esac
	verdict=$(awk -v got="$2" -v must="$4" -v aim="$5" '
		function meets(limit) { return limit ~ /^</ ? got + 0 <= substr(limit, 2) + 0 : got + 0 >= limit + 0 }
		BEGIN { print meets(aim) ? "aim" : meets(must) ? "must" : "MISSED" }')
	printf '%-7s %9s %7s %7s %-6s  %-55s %9s %9s %8s %8s %9s %6s %6s\n' "$1" "$2$3" "$4" "$5" "$verdict" "$6" \
		"$(column "$1" claimd 1)" "$(column "$1" other 1)" "$(column "$1" claimd 2)" "$(column "$1" claimd 3)" \
		"$(column "$1" claimd 4)" "$(column "$1" claimd 5)" "$(column "$1" other 5)"
	printed=$((printed + 1))
}

# ratio ROW COLUMN: of claimd to the other side in the same round; with "/" between two columns, of claimd by itself.
ratio()
{
	case $2 in
	*/*) awk -v a="${2%/*}" -v b="${2#*/}" '{ print $a / $b }' "$tmp/$1.claimd" ;;
	*) paste -d ' ' "$tmp/$1.claimd" "$tmp/$1.other" | awk -v a="$2" '{ printf "%.3f\n", $a / $(a + NF / 2) }' ;;
	esac | median | awk '{ printf "%.2f", $1 }'
}

# shellcheck source=/dev/null # it is looked at by itself
. "$here/rows.sh"

# shellcheck disable=SC2154,SC2086 # the list of rows.sh
[ $# -gt 0 ] || set -- $all_rows
for row in "$@"; do
	case " $all_rows " in *" $row "*) ;; *) fail "no such row: $row; there are: $all_rows" ;; esac
done
socket=$tmp/socket
round=0
while [ "$round" -lt "$rounds" ]; do
	round=$((round + 1))
	for row in "$@"; do
		"measure_$row"
	done
done
printed=0
printf '%-7s %9s %7s %7s %-6s  %-55s %9s %9s %8s %8s %9s %6s %6s\n' row reached must aim '' \
	"medians of $rounds rounds; each (key, fence) was granted once" 'here/s' 'there/s' 'p50 us' 'p99 us' 'max us' 'cpu us' there
for row in "$@"; do
	"table_$row"
done
