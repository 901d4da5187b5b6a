#!/bin/bash
# run.sh - takes the logic out, one piece at a time, and looks whether a test notices: `./dev mutants`.
#
#   tests/mutants/run.sh [--fit] [NAME...]     all mutants, or those named; --fit: only whether each still fits the tree
#
# *.mutants have them, one after the other, with empty lines between:
#
#   mutant NAME                 one word
#   what TEXT                   what goes wrong for somebody
#   file PATH                   the one file that is changed
#   test NAME [PART]            a test that must fail then; with several lines, each of them. A program of tests/ with one of its
#                               cases or scenarios, a script of tests/, or "storm SECONDS"
#    text                       lines of the file: these stay,
#   -text                       these go,
#   +text                       and these come
#
# The lines that stay and go must be in the file exactly once, in a row. The tree is copied and built twice, and two mutants are
# tried at a time. A test counts as a killer only when it passes on the unchanged tree, which is tried first.
# The last line is "N passed, M failed"; a mutant that survives, does not fit or does not build has failed.
set -u
cd "$(dirname "$0")/../.." || exit 2
root=$PWD
export LC_ALL=C CK_DEFAULT_TIMEOUT=60

die()
{
	echo "mutants: $*" >&2
	exit 2
}

# ---- the list ----

# Writes each mutant into a file of its own, $tmp/mutant/NAME, and the names in their order into $tmp/names.
list()
{
	mkdir "$tmp/mutant"
	awk -v folder="$tmp/mutant" '
		/^mutant / { close(file); file = folder "/" $2; print $2; printf "" >file; next }
		/^(what|file|test) / || (file && /^[-+ ]/) { print >file }
		/^$/ { close(file); file = "" }
	' "$root"/tests/mutants/*.mutants >"$tmp/names"
	[ -s "$tmp/names" ] || die 'there are none'
	[ -z "$(sort "$tmp/names" | uniq -d)" ] || die "twice in the list: $(sort "$tmp/names" | uniq -d)"
	[ $# -gt 0 ] || return 0
	for name in "$@"; do
		grep -Fqx -e "$name" "$tmp/names" || die "no mutant is called $name"
	done
	printf '%s\n' "$@" >"$tmp/names"
}

# field NAME WORD: the lines of that mutant that begin with the word, without it.
field()
{
	sed -n "s/^$2 //p" "$tmp/mutant/$1"
}

# changed NAME FILE: the changed file. False: it does not fit.
changed()
{
	awk -v mutant="$tmp/mutant/$1" '
		function text_of(line) { return substr(line, 2) "\n" }
		BEGIN {
			while ((getline line <mutant) > 0) {
				if (line ~ /^[- ]/) old = old text_of(line)
				if (line ~ /^[+ ]/) new = new text_of(line)
			}
		}
		{ text = text $0 "\n" }
		END {
			at = index("\n" text, "\n" old)
			if (old == "" || old == new || !at || index("\n" substr(text, at + 1), "\n" old))
				exit 1
			printf "%s%s%s", substr(text, 1, at - 1), new, substr(text, at + length(old))
		}' "$2"
}

# ---- two copies of the tree ----

copy()
{
	mkdir -p "$tmp/1/build"
	git -c safe.directory='*' ls-files --cached --others --exclude-standard | while IFS= read -r file; do
		[ ! -f "$file" ] || printf '%s\0' "$file"
	done | xargs -0 cp --parents -p -t "$tmp/1"
	(
		cd "$tmp/1" && ./autogen.sh && cd build &&
			../configure --quiet --with-check=yes --disable-shared CC="${CC:-gcc}" CFLAGS=-O1 &&
			compile 1 <"$tmp/tests"
	) >"$tmp/build.log" 2>&1 || { tail -n 30 "$tmp/build.log" >&2; die 'the tree does not build'; }
	cp -a "$tmp/1" "$tmp/2"
}

# compile LANE: the product, and what the tests on standard input take.
compile()
{
	local programs
	mapfile -t programs < <(while read -r name _; do
		case $name in
		*.sh) printf '%s\n' tests/fakepeer tests/pty ;;
		storm) echo tests/storm/storm ;;
		faults/*) printf '%s\n' "tests/$name" tests/faults/poor_claimd tests/faults/poor_claim tests/faults/libfaultdisk.la ;;
		*) echo "tests/$name" ;;
		esac
	done | sort -u)
	# One after the other: `all` is a make of its own, and the two would write the same files.
	make -s -j2 -C "$tmp/$1/build" all && make -s -j2 -C "$tmp/$1/build" "${programs[@]}"
}

# run_test LANE SECONDS LOG TEST [PART]: as it says, and its exit status.
run_test()
{
	local lane=$1 seconds=$2 log=$3 name=$4 part=${5:-} status=0
	case $name in
	*.sh) set -- "../tests/$name" ;;
	storm) set -- ../tests/storm/run.sh --build . --seconds "$part" ;;
	check_scenarios) set -- tests/check_scenarios ${part:+"../tests/scenarios/$part.txt"} ;;
	*) set -- env ${part:+CK_RUN_CASE="$part"} "tests/$name" ;;
	esac
	mkdir -p "$tmp/$lane/tmp"
	# In the background, so that a signal to us reaches it at once.
	(cd "$tmp/$lane/build" && TMPDIR=$tmp/$lane/tmp srcdir=.. exec timeout -k 5 "$seconds" "$@") >"$log" 2>&1 </dev/null &
	running=$!
	wait "$running" || status=$?
	rm -rf "${tmp:?}/$lane/tmp"
	return $status
}

# ---- one job ----

# verdict WORD NAME TEXT: one line for people, one for the sums.
verdict()
{
	echo "$1" >>"$tmp/verdicts"
	echo "$2: $3"
}

# The line of a test's log that says what was wrong.
why()
{
	grep -aEm 1 ':[FE]:|^FAIL|FAILED|[Aa]ssert|^[a-z_]*\.txt:' "$1" | cut -c 1-160
}

# A test on the unchanged tree. Later it may take four times as long, and 20 s more.
try_plain()
{
	local began=$SECONDS
	# shellcheck disable=SC2086 # a test and its part
	if run_test "$1" 300 "$tmp/log.$1" $2; then
		echo $((4 * (SECONDS - began) + 20)) >"$tmp/limit/${2/ /,}"
	else
		echo "mutants: without any change $2 fails:"
		tail -n 10 "$tmp/log.$1"
	fi
}

# try_tests LANE NAME: runs the tests of a mutant that is built.
try_tests()
{
	local test limit status by=
	while read -r test; do
		[ -f "$tmp/limit/${test/ /,}" ] || { verdict broken "$2" "$test cannot kill it: it fails without any change"; return; }
		limit=$(cat "$tmp/limit/${test/ /,}")
		status=0
		# shellcheck disable=SC2086
		run_test "$1" "$limit" "$tmp/log.$1" $test || status=$?
		case $status in
		0) verdict survived "$2" "SURVIVED $test: $(field "$2" what)"; return ;;
		124 | 137) by="$by, $test (it took more than $limit s)" ;;
		*) by="$by, $test: $(why "$tmp/log.$1")" ;;
		esac
	done < <(field "$2" test)
	verdict killed "$2" "killed by ${by#, }"
}

try_mutant()
{
	local lane=$1 name=$2 file status
	file=$(field "$name" file)
	if ! changed "$name" "$tmp/$lane/$file" >"$tmp/changed.$lane"; then
		verdict broken "$name" "this mutant does not fit $file any more"
		return
	fi
	cp "$tmp/$lane/$file" "$tmp/kept.$lane"
	cp "$tmp/changed.$lane" "$tmp/$lane/$file"
	if field "$name" test | compile "$lane" >"$tmp/log.$lane" 2>&1; then
		try_tests "$lane" "$name"
	else
		verdict broken "$name" "does not build: $(grep -m 1 'error:' "$tmp/log.$lane")"
	fi
	cp "$tmp/kept.$lane" "$tmp/$lane/$file" # newer than what was made of the other one
}

# lane N DO LIST: one of two that work through the list; mkdir decides who takes a line.
lane()
{
	local line n=0
	trap '[ -z "${running:-}" ] || kill "$running" 2>/dev/null; exit 1' HUP INT TERM
	while IFS= read -r line; do
		n=$((n + 1))
		mkdir "$tmp/taken/$2.$n" 2>/dev/null || continue
		"$2" "$1" "$line"
	done <"$3"
}

both()
{
	lane 1 "$@" &
	local first=$!
	lane 2 "$@" &
	lanes="$first $!"
	# shellcheck disable=SC2086 # two numbers
	wait $lanes
	lanes=
}

# ---- the whole ----

fit()
{
	local name file fits=0 others=0
	while read -r name; do
		file=$(field "$name" file)
		if changed "$name" "$file" >/dev/null; then
			fits=$((fits + 1))
		else
			others=$((others + 1))
			echo "$name: this mutant does not fit $file any more"
		fi
	done <"$tmp/names"
	echo "mutants: $fits passed, $others failed"
	[ "$others" -eq 0 ]
}

tmp=$(mktemp -d) || exit 2
lanes=
trap 'rm -rf "$tmp"' EXIT
trap '[ -z "$lanes" ] || kill $lanes; exit 2' HUP INT TERM
only_fit=
[ "${1:-}" != --fit ] || { only_fit=yes; shift; }
list "$@"
if [ -n "$only_fit" ]; then
	fit
	exit
fi
mkdir "$tmp/taken" "$tmp/limit"
: >"$tmp/verdicts"
while read -r name; do field "$name" test; done <"$tmp/names" | sort -u >"$tmp/tests"
copy
both try_plain "$tmp/tests"
both try_mutant "$tmp/names"
killed=$(grep -cx killed "$tmp/verdicts")
survived=$(grep -cx survived "$tmp/verdicts")
total=$(wc -l <"$tmp/names")
echo "mutants: $killed killed, $survived survived, $((total - killed - survived)) did not fit or build"
echo "mutants: $killed passed, $((total - killed)) failed"
[ "$killed" -eq "$total" ]
