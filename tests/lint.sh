#!/bin/bash
# lint.sh - what can be said of the code without running it: `./dev lint`.
#
# Each check is a function lint_NAME that prints its findings; printing anything, or failing, is a fault. Notes that
# are no faults (the sizes) go to descriptor 3.
#
#   tests/lint.sh [NAME...]     all checks, or those named
set -u
cd "$(dirname "$0")/.." || exit 1
passed=0
failed=0

# Everything that belongs to the project, but inputs of the fuzz targets; also what is not committed yet, and where the checkout is
# somebody else's.
files()
{
	git -c safe.directory='*' ls-files --cached --others --exclude-standard -- "$@" ':!tests/fuzz/corpus' | while IFS= read -r file; do
		[ -f "$file" ] && printf '%s\n' "$file"
	done
}

sources()
{
	files 'proto/*.[ch]' 'server/*.[ch]' 'client/*.[ch]' 'tests/*.[ch]'
}

flags()
{
	echo "-std=c11 -D_GNU_SOURCE -I$tmp $(pkg-config --cflags libuv sqlite3 libcjson check)"
}

lint_scripts()
{
	local scripts
	mapfile -t scripts < <(files | while IFS= read -r file; do
		head -c 64 "$file" | head -n 1 | grep -aEq '^#!.*\b(ba)?sh\b' && printf '%s\n' "$file"
	done)
	[ ${#scripts[@]} -gt 0 ] && shellcheck "${scripts[@]}"
}

lint_format()
{
	local file
	for file in $(sources); do
		clang-format --dry-run -Werror "$file" >/dev/null 2>&1 || echo "$file is not as clang-format writes it"
	done
}

lint_layers()
{
	tests/layers.sh | grep -v '^layers: .* passed, 0 failed$'
	return "${PIPESTATUS[0]}"
}

lint_sizes()
{
	tests/sizes.sh >"$tmp/sizes"
	local status=$?
	grep '^sizes: [0-9]' "$tmp/sizes" >&3
	grep -v '^sizes: [0-9]' "$tmp/sizes"
	return $status
}

lint_selftest()
{
	tests/layers_test.sh | grep -v ' passed, 0 failed$'
	return "${PIPESTATUS[0]}"
}

lint_analyzer()
{
	echo '#define PACKAGE_VERSION "0"' >"$tmp/config.h" # what configure would write
	# shellcheck disable=SC2046 # a list of words
	files 'proto/*.c' 'client/*.c' 'server/*.c' | xargs -r -n 1 -P "$(nproc)" gcc $(flags) -fanalyzer -O1 -c -o /dev/null 2>&1
}

lint_manual()
{
	local pages
	mapfile -t pages < <(files 'man/*.[1-8]')
	[ ${#pages[@]} -gt 0 ] && mandoc -Tlint -Wwarning "${pages[@]}"
}

# A mutant that does not fit the tree proves nothing any more.
lint_mutants()
{
	tests/mutants/run.sh --fit | grep -v ' passed, 0 failed$'
	return "${PIPESTATUS[0]}"
}

# Paths of the machine that somebody worked on; /home/x is an example.
lint_paths()
{
	files | xargs grep -InE '(^|[^A-Za-z0-9_.~$}/])/(work|root|home/[a-z]{2,}|Users/[A-Za-z]+)/' && return 1
	return 0
}

lint_space()
{
	files | grep -v '\.jsonl$' | xargs grep -InE '[ 	]+$' && return 1
	return 0
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
exec 3>&1
[ $# -gt 0 ] || set -- scripts format layers sizes selftest analyzer manual mutants paths space
for name in "$@"; do
	status=0
	found=$("lint_$name" 2>&1) || status=$?
	if [ "$status" -eq 0 ] && [ -z "$found" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf '%s:\n%s\n' "$name" "$found" | head -n 60
	fi
done
echo "lint: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
