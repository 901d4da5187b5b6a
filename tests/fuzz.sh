#!/bin/sh
# fuzz.sh - runs the parsers against made-up input, with the sanitizers on: `./dev fuzz`.
#
#   tests/fuzz.sh [--seconds N]     for each target, 10 by default
#
# The first inputs are taken from proto/vectors. What libFuzzer finds worth keeping stays in build-fuzz/, so a second run goes on
# where the first ended; an input that breaks something is left there as *.crash-* and named at the end.
set -eu
cd "$(dirname "$0")/.."
seconds=10
case ${1:-} in
'') ;;
--seconds) seconds=${2:?fuzz: --seconds needs a number} ;;
*) echo 'usage: tests/fuzz.sh [--seconds N]' >&2; exit 64 ;;
esac
out=$PWD/build-fuzz
passed=0
failed=0
for target in fuzz_request fuzz_reply fuzz_json; do
	mkdir -p "$out/$target.corpus" "$out/$target.seeds"
	set -- proto/*.c
	head=
	if [ "$target" = fuzz_json ]; then
		set -- "$@" server/content_key.c server/canonical.c server/json_strict.c -lcjson -lm
		head='\n\n\n'
	fi
	# The octets of each case, but for the rarer escapes: the fuzzer finds those by itself. fuzz_json reads three lists first.
	awk -v folder="$out/$target.seeds" -v head="$head" '
		/^case / { close(file); file = folder "/" ++n; printf "" >file }
		/^in / { print substr($0, 4) >file }
		/^raw / { text = substr($0, 5); gsub(/\\n/, "\n", text); gsub(/\\r/, "\r", text); printf "%s%s", head, text >file }
	' proto/vectors/*.txt
	clang -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		-o "$out/$target" "tests/$target.c" "$@"
	if "$out/$target" -max_total_time="$seconds" -timeout=5 -max_len=2048 -use_value_profile=1 -verbosity=1 \
		-artifact_prefix="$out/$target." "$out/$target.corpus" "$out/$target.seeds" >"$out/$target.log" 2>&1; then
		echo "$target: $(sed -n 's/^Done \(.*\)$/\1/p' "$out/$target.log")"
		passed=$((passed + 1))
	else
		echo "$target: broke; see $out/$target.log"
		grep -E '^(SUMMARY|artifact_prefix|.*ERROR)' "$out/$target.log" || tail -n 20 "$out/$target.log"
		failed=$((failed + 1))
	fi
done
echo "fuzz: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
