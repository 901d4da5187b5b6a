#!/bin/sh
# sizes.sh - how long functions and files are; over 100 or 800 lines is a fault.
#
#   tests/sizes.sh [ROOT]
#
# A function is what stands between a "{" and a "}" at the start of a line, with those and the line above the brace
# counted. Prints the median, the 90th percentile and the longest of each, and then every fault.
set -eu
cd "${1:-$(dirname "$0")/..}"
max_function=100
max_file=800

find proto server client tests contrib -name '*.[ch]' -exec awk -v max_function="$max_function" -v max_file="$max_file" '
	# The name of the function that this line begins: the word before the first parenthesis.
	function name_of(line)
	{
		sub(/\(.*/, "", line)
		sub(/.*[ *]/, "", line)
		return line
	}
	FNR == 1 { if (file) print "file", lines, file; file = FILENAME }
	{ lines = FNR }
	/^[A-Za-z].*\(/ { head = $0 }
	/^{/ { start = FNR - 1 }
	/^}/ && start { print "function", FNR - start + 1, file ":" start, name_of(head); start = 0 }
	END { if (file) print "file", lines, file }
' {} + | sort -k1,1 -k2,2n | awk -v max_function="$max_function" -v max_file="$max_file" '
	{ kind = $1; n[kind]++; size[kind, n[kind]] = $2; what[kind] = $3 " " $4; limit = kind == "file" ? max_file : max_function }
	$2 > limit { fault[++faults] = "sizes: " $3 " " $4 ": " $2 " lines, " limit " is the limit for a " kind }
	END {
		for (k = split("function file", kinds, " "); k > 0; k--) {
			kind = kinds[k]
			if (!n[kind]) { print "sizes: no " kind " found"; exit 1 }
			printf "sizes: %d %ss: median %d lines, 90th percentile %d, longest %d (%s)\n", n[kind], kind,
				size[kind, int((n[kind] + 1) / 2)], size[kind, int((n[kind] * 9 + 9) / 10)], size[kind, n[kind]], what[kind]
		}
		for (k = 1; k <= faults; k++) print fault[k]
		exit faults > 0
	}'
