#!/bin/bash
# coverage.sh - which lines of the product no test reaches: `./dev coverage`.
#
# Builds into build-coverage/ and runs all of `make check` there. Prints each file with its lines and how many of them ran, the worst
# first, then functions that were never entered. What was killed with SIGKILL, or ran as another user, has written nothing down, so the
# truth is a little better. The lines themselves are in build-coverage/lines.json.
set -u
cd "$(dirname "$0")/.." || exit 1
out=$PWD/build-coverage

build()
{
	[ -x configure ] || ./autogen.sh || return 1
	cd "$out" || return 1
	[ -f config.status ] || ../configure --quiet --with-check=yes CC=gcc \
		CFLAGS='-O0 -g --coverage -fprofile-update=atomic' || return 1
	make -s -j"$(nproc)" check TESTS=
}

# What was counted, of all programs: one document for each.
counts()
{
	local file
	while IFS= read -r file; do
		gcov --json-format --stdout "$file" 2>/dev/null
	done < <(find "$out"/{proto,server,client} "$out/tests/faults" -name '*.gcda')
}

# One document for each source: {file, lines: {number: runs}, functions: {name: runs}}; what several programs ran is added up.
merged()
{
	jq -cn '
		reduce (inputs | .files[] | select(.file | test("(^|/)(proto|server|client)/[^/]*(/[^/]*)?[.]c$"))) as $f ({};
			($f.file | sub("^.*?(?<p>(proto|server|client)/)"; "\(.p)")) as $name
			| reduce $f.lines[] as $l (.; .[$name].lines["\($l.line_number)"] += $l.count)
			| reduce $f.functions[] as $n (.; .[$name].functions[$n.name] += $n.execution_count))
		| to_entries[] | {file: .key} + .value'
}

table()
{
	jq -rs '
		def percent($n; $of): if $of == 0 then 100 else ($n * 1000 / $of | floor / 10) end;
		map(. + {all: (.lines | length), ran: ([.lines[] | select(. > 0)] | length)})
		| sort_by(percent(.ran; .all))
		| (.[] | "\(percent(.ran; .all)) % of \(.all)\t\(.file)\t\([.functions | to_entries[] | select(.value == 0) | .key] | join(" "))"),
			"\(percent(map(.ran) | add; map(.all) | add)) % of \(map(.all) | add)\tall"' "$out/lines.json"
}

mkdir -p "$out"
(build) >"$out/build.log" 2>&1 || { tail -n 30 "$out/build.log"; exit 1; }
find "$out" -name '*.gcda' -delete
make -s -k -j"$(nproc)" -C "$out" check >"$out/check.log" 2>&1
counts | merged >"$out/lines.json"
table
# A test that wants no other word on standard error fails where counters cannot be written.
grep -E '^(FAIL|ERROR): ' "$out/check.log" || true
