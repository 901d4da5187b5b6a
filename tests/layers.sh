#!/bin/sh
# layers.sh - the include graph is the architecture: this checks it.
#
#   tests/layers.sh [ROOT]      ROOT: the tree to look at, by default the one this script is in
#
# For every source file the compiler lists what it includes, directly or through another header, and each name is held
# against the rules below. Each header must also compile alone. Prints one line per fault and then a
# line with the number of checks; exit 1 when there was a fault. layers_test.sh shows that it can fail.
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"
CC=${CC:-cc}
flags="-std=c11 -D_GNU_SOURCE $(pkg-config --cflags libuv sqlite3 libcjson 2>/dev/null || true)"
libraries='uv|sqlite3|hiredis|libpq-fe|mysql|curl|cJSON'
checks=0
faults=0

fault()
{
	printf 'layers: %s\n' "$*" >&2
	faults=$((faults + 1))
}

# All that a file includes, in lines "FILE INCLUDED", as seen from the root, without "x/../". A missing header is no fault
# here: it may be generated, or of a library that is not installed.
includes_of()
{
	# shellcheck disable=SC2086 # flags is a list of words
	$CC $flags -M -MG -I. "$1" 2>/dev/null | sed 's/\\$//' | tr -s ' ' '\n' |
		sed -e '/^$/d' -e '/:$/d' -e ':a' -e 's,[^/.][^/]*/\.\./,,' -e 'ta' -e "s,^,$1 ,"
}

# may_not FILES REGEX WHY: no file whose path matches FILES includes a path that matches REGEX.
may_not()
{
	checks=$((checks + $(printf '%s\n' "$sources" | grep -Ec "$1")))
	awk -v files="$1" -v bad="$2" '$1 ~ files && $2 ~ bad && $1 != $2 { print $1 " includes " $2 }' "$scratch/table" >"$scratch/bad"
	while IFS= read -r found; do
		fault "$found: $3"
	done <"$scratch/bad"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sources=$(find proto server client -name '*.[ch]' | sort)
[ -n "$sources" ] || { echo "layers: no sources in $root"; exit 1; }
for file in $sources; do
	checks=$((checks + 1))
	includes_of "$file" >"$scratch/one"
	[ -s "$scratch/one" ] || fault "$file: the compiler cannot read it"
	cat "$scratch/one"
done >"$scratch/table"

may_not '^proto/' '^(server|client|tests|contrib)/' 'proto is under everything and knows nothing of it'
may_not '^proto/' "(^|/)($libraries)[^/]*[.]h\$" 'proto needs no library'
may_not '^client/' '^(server|tests|contrib)/' 'the client knows the protocol only'
may_not '^client/' '(^|/)(uv|sqlite3)[.]h$' 'the library brings no event loop and no database along'
may_not '^server/' '^(client|tests|contrib)/' 'the daemon does not know its clients'
engine='engine|engine_impl|waiters|bonds|kept|slot|alarm' # and its parts
may_not "^server/(record|op|$engine)[.][ch]\$" "(^|/)($libraries)[.]h\$" 'the table and the engine run on plain numbers'
may_not "^server/(record|op|$engine)[.][ch]\$" '^server/(stores/|conn|dispatch|listener|server)' 'the engine knows no sockets and no stores'
may_not '^server/record[.][ch]$' '^server/(op|engine)' 'the table is pure'
may_not '^server/stores/' '^server/(conn|dispatch|listener|server|engine)[.]h$' 'a store knows ops, not who asked'
may_not '^server/([^/]*|stores/(store|memory)[^/]*)[.][ch]$' '(^|/)sqlite3[.]h$' 'a library is talked to in the files of its own store'

for file in $sources; do
	case $file in *.c) continue ;; esac
	checks=$((checks + 1))
	# shellcheck disable=SC2086
	$CC $flags -Wall -Wextra -Werror -fsyntax-only -I. -x c "$file" >"$scratch/log" 2>&1 ||
		fault "$file does not compile alone: $(grep -m1 error "$scratch/log")"
done

echo "layers: $((checks - faults)) passed, $faults failed"
[ "$faults" -eq 0 ]
