#!/bin/sh
# run.sh - proves the transition table with spin, and proves the proof.
#
# Checks claim.pml exhaustively in each scenario, then once per mutant: the
# table with one guarantee removed must be reported as broken.  Needs spin and
# a C compiler; works in a temporary directory of its own.
#
#   run.sh [-j N]           everything, N at a time (2)
#   run.sh [-j N] NAME ...  only these scenarios and mutants
#   run.sh -t NAME          the shortest counter-example of one of them
#
# Exit status: 0 all as it must be, 1 something is not, 2 it could not run.

set -u

model=$(cd "$(dirname "$0")" && pwd)/claim.pml

# name, then the bounds and adversities.  Biggest first, so that no core waits
# for the last one.
scenarios()
{
	cat <<-'END'
	kept      CALLS=2 FENCES=5 TICKS=2 WITH_KEPT WITH_UNKNOWN WITH_FAIL TWO_DAEMONS
	drop      CALLS=2 FENCES=4 TICKS=2 WITH_DROP WITH_UNKNOWN
	operator  CALLS=2 FENCES=5 TICKS=2 WITH_OPERATOR WITH_UNKNOWN
	unknown   CALLS=3 FENCES=4 TICKS=2 WITH_UNKNOWN
	kept_drop CALLS=2 FENCES=5 TICKS=2 WITH_KEPT WITH_DROP TWO_DAEMONS
	workers   CALLS=3 FENCES=6 TICKS=3
	undo      CALLS=2 FENCES=5 TICKS=2 WITH_DROP WITH_ATLEAST
	override  CALLS=2 FENCES=4 TICKS=2 WITH_OPERATOR WITH_FAIL WITH_ATLEAST WITH_FP
	requests  CALLS=3 FENCES=5 TICKS=2 WITH_FP
	END
}

# name (MUTANT_name in the model), then the scenario that must catch it.
mutants()
{
	cat <<-'END'
	ROW2_RAISES              workers
	ROW3_MISSING             workers
	RELEASE_KEEPS_FENCE      workers
	RECLAIM_KEEPS_FENCE      workers
	RECLAIM_KEEPS_TOKEN      workers
	RECLAIM_OF_LIVE          workers
	FENCE_FROM_ONE           workers
	CLOCK_ALONE              workers
	GONE_FORGETS_FENCE       workers
	SWEEP_BEFORE_CLOCK       workers
	DONE_REOPENED            workers
	FENCE_IGNORED            workers
	COMPLETE_LOOKS_AT_LEASE  workers
	COMPLETE_NOT_REPEATABLE  workers
	SHORTCUT_IGNORES_TOKEN   workers
	COMPLETE_MISSES_UNKNOWN  unknown
	RECLAIM_OF_UNKNOWN       unknown
	UNKNOWN_EXPIRES          unknown
	RENEW_REVIVES_UNKNOWN    unknown
	DOUBT_REOPENS            unknown
	RECLAIM_OF_OTHER_REQUEST requests
	RECLAIM_DROPS_FP         requests
	EARLIEST_IGNORED         undo
	KEEP_IGNORES_EARLIEST    undo
	UNDO_KEEPS_EARLIEST      undo
	UNDO_OF_HEARD            undo
	UNDO_WITH_TOKEN          kept_drop
	DROP_WITH_TOKEN          kept_drop
	DROP_AFTER_SETTLEMENT    kept_drop
	KEPT_OVERTAKEN           kept
	KEPT_AFTER_STALE         kept
	RELEASE_REOPENS          operator
	RESOLVE_IGNORES_FENCE    operator
	RESOLVE_TAKES_LIVE       operator
	RESOLVE_MISSES_LAPSED    operator
	RESOLVE_DROPS_TOKEN      operator
	FORGET_BEFORE_CLOCK      operator
	FORGET_OF_UNKNOWN        operator
	END
}

die()
{
	echo "run.sh: $*" >&2
	exit 2
}

# The defines of scenario $1, or of the scenario of mutant $1 and its own.
defines()
{
	mutant=
	scenario=$1
	of=$(mutants | awk -v n="$1" '$1 == n { print $2 }')
	if [ -n "$of" ]; then
		mutant=MUTANT_$1
		scenario=$of
	fi
	scenarios | awk -v n="$scenario" -v m="$mutant" '
		$1 == n {
			for (i = 2; i <= NF; i++) printf "-D%s ", $i
			if (m != "") printf "-D%s", m
		}'
}

# build NAME FLAG ...: makes $tmp/NAME/pan.
build()
{
	name=$1
	shift
	mkdir "$tmp/$name" && cd "$tmp/$name" || return 1
	cp "$model" claim.pml || return 1
	# shellcheck disable=SC2046 # one word for each define
	spin $(defines "$name") -a claim.pml >spin.log 2>&1 || return 1
	${CC:-cc} -w -DSAFETY -DNOREDUCE -DNOFAIR -DMEMLIM=1900 "$@" -o pan pan.c \
		>cc.log 2>&1
}

# The name of the invariant that broke: the last word of the assertion. A search for the shortest
# counter-example reports each one it finds; the last is the shortest.
broken()
{
	sed -n 's/.*assertion violated .*||\([a-z_]*\)) (at depth.*/\1/p' "$1" |
		tail -n 1
}

# An exhaustive search says so: no error, no limit reached, no step missing.
exhaustive()
{
	grep -q 'errors: 0$' "$1" &&
		! grep -Eiq 'too small|not completed|out of memory|reached -DMEMLIM|exceeds' "$1"
}

check_scenario()
{
	if build "$1" -O2 && ./pan -m10000 -n >pan.log 2>&1 && exhaustive pan.log; then
		states=$(awk '/states, stored/ { print $1 }' pan.log)
		verdict passed "scenario $1: $states states, all invariants hold"
	else
		why=$(broken "$tmp/$1/pan.log" 2>/dev/null)
		verdict failed "scenario $1: FAILED ${why:-(see below)}"
		[ -n "$why" ] || head -n 20 "$tmp/$1"/*.log
	fi
}

check_mutant()
{
	if ! build "$1" -O1; then
		verdict failed "mutant $1: does not build"
		head -n 20 "$tmp/$1"/*.log
		return
	fi
	./pan -m10000 -n >pan.log 2>&1
	why=$(broken pan.log)
	if [ -n "$why" ]; then
		verdict passed "mutant $1: killed by $why"
	else
		verdict failed "mutant $1: SURVIVED"
	fi
}

verdict()
{
	echo "$1" >>"$tmp/verdicts"
	echo "$2"
}

# One lane works through the list; mkdir decides who takes a job.
lane()
{
	while read -r kind name; do
		mkdir "$tmp/taken.$name" 2>/dev/null || continue
		"check_$kind" "$name"
		rm -rf "${tmp:?}/$name"
	done <"$tmp/jobs"
}

trace()
{
	build "$1" -O2 -DREACH || { head -n 20 "$tmp/$1"/*.log; die "$1 does not build"; }
	./pan -m10000 -n -i >pan.log 2>&1
	why=$(broken pan.log)
	if [ -z "$why" ]; then
		echo "$1: no counter-example"
		return
	fi
	# shellcheck disable=SC2046 # one word for each define
	spin $(defines "$1") -t claim.pml |
		sed -n 's/^ *\(\(call\|daemon\|time\|operator\|quiet\)[ :].*\)/\1/p'
	echo "broken: $why"
}

lanes=2
one=
while getopts j:t: o; do
	case $o in
	j) lanes=$OPTARG ;;
	t) one=$OPTARG ;;
	*) die 'usage: run.sh [-j N] [-t NAME | NAME ...]' ;;
	esac
done
shift $((OPTIND - 1))

command -v spin >/dev/null || die 'spin is not installed'
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
trap 'exit 2' HUP INT TERM

{
	scenarios | awk '{ print "scenario", $1 }'
	mutants | awk '{ print "mutant", $1 }'
} >"$tmp/all"
for n in $one "$@"; do
	grep -q " $n\$" "$tmp/all" || die "no scenario and no mutant is called $n"
done

if [ -n "$one" ]; then
	trace "$one"
	exit 0
fi

if [ $# -eq 0 ]; then
	cp "$tmp/all" "$tmp/jobs"
else
	for n in "$@"; do
		grep " $n\$" "$tmp/all"
	done >"$tmp/jobs"
fi

: >"$tmp/verdicts"
i=0
while [ $i -lt "$lanes" ]; do
	lane &
	i=$((i + 1))
done
wait

passed=$(grep -c passed "$tmp/verdicts")
failed=$(($(sort -u "$tmp/jobs" | wc -l) - passed))
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
