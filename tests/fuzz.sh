#!/bin/bash
# fuzz.sh - runs the fuzz targets against made-up input, with the sanitizers on: `./dev fuzz`.
#
#   tests/fuzz.sh [--seconds N] [--seed S] [TARGET...]     all targets by default; N for each, so that by default it is five minutes
#                                               in all; with the same seed the same inputs are made, as far as it gets
#   tests/fuzz.sh --keep [TARGET...]            what the runs before have found goes into tests/fuzz/corpus/, as few as reach the same
#
# Two targets run at a time. They begin with tests/fuzz/corpus/TARGET; what libFuzzer finds stays in build-fuzz/TARGET, so that the
# next run goes on where this one ended. An input that breaks something is left as build-fuzz/TARGET.crash-*; when it is mended,
# put it into the corpus, where `make check` runs it from then on.
set -u
cd "$(dirname "$0")/.." || exit 1
out=$PWD/build-fuzz
corpus=$PWD/tests/fuzz/corpus
all='request reply value json conf row client conn'
most=2 # at a time
max_len=700
seconds=
seed=0
keep=
passed=0
failed=0

usage()
{
	echo 'usage: tests/fuzz.sh [--seconds N] [--seed S] [TARGET...], or --keep [TARGET...]' >&2
	exit 64
}

# The objects, built as libFuzzer wants them.
build()
{
	[ -x configure ] || ./autogen.sh || return 1
	mkdir -p "$out/objects" && cd "$out/objects" || return 1
	if [ ! -f config.status ]; then
		../../configure --quiet CC=clang CFLAGS='-O1 -g -fsanitize=fuzzer-no-link' \
			--enable-sanitizers=address,undefined --with-check=no || return 1
	fi
	make -s -j"$(nproc)" libserver.la libclaimcore.la libproto.la
}

# link TARGET: from its own source and the libraries.
link()
{
	local sources=("tests/fuzz/$1.c" tests/fuzz/fuzz.c) libraries
	[ "$1" != conn ] || sources+=(tests/fuzz/expect.c)
	libraries=$(pkg-config --libs libuv sqlite3 libcjson)
	# shellcheck disable=SC2086 # a list of words
	clang -std=c11 -D_GNU_SOURCE -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -o "$out/$1.program" \
		"${sources[@]}" "$out"/objects/.libs/lib{server,claimcore,proto}.a $libraries -lpthread -lm
}

# Words that the inputs are made of.
words()
{
	grep -ohE '"[a-z_]+"|VERB\([A-Z]+|CONF\([A-Z_]+, [a-z_]+' proto/words.def server/conf.def |
		sed -E 's/^VERB\((.*)/"\1"/; s/^CONF\(.*, (.*)/"\1 = "/' | sort -u
}

fuzz()
{
	mkdir -p "$out/$1" "$corpus/$1" &&
		"$out/$1.program" -max_total_time="$seconds" -seed="$seed" -timeout=20 -max_len="$max_len" -use_value_profile=1 -verbosity=1 \
			-dict="$out/words" -artifact_prefix="$out/$1." "$out/$1" "$corpus/$1" </dev/null >"$out/$1.log" 2>&1
}

# Those of the corpus that are not needed any more go, too.
merge()
{
	rm -rf "$out/$1.kept" && mkdir -p "$out/$1.kept" "$out/$1" "$corpus/$1" &&
		"$out/$1.program" -set_cover_merge=1 -timeout=20 -max_len="$max_len" "$out/$1.kept" "$corpus/$1" "$out/$1" \
			</dev/null >"$out/$1.log" 2>&1 &&
		rm -rf "${corpus:?}/$1" && mv "$out/$1.kept" "$corpus/$1"
}

say()
{
	if [ "$2" -eq 0 ]; then
		passed=$((passed + 1))
		echo "$1: $(sed -n 's/^Done \(.*\)$/\1/p' "$out/$1.log") $(find "$corpus/$1" -type f | wc -l) kept"
	else
		failed=$((failed + 1))
		echo "$1: broke; see $out/$1.log"
		grep -E '^(SUMMARY|artifact_prefix|.*ERROR)' "$out/$1.log" || tail -n 20 "$out/$1.log"
	fi
}

targets=()
while [ $# -gt 0 ]; do
	case $1 in
	--seconds)
		seconds=${2:-}
		[[ $seconds =~ ^[1-9][0-9]*$ ]] || usage
		shift
		;;
	--seed)
		seed=${2:-}
		[[ $seed =~ ^[0-9]+$ ]] || usage
		shift
		;;
	--keep) keep=yes ;;
	*)
		[[ " $all " == *" $1 "* ]] || usage
		targets+=("$1")
		;;
	esac
	shift
done
[ ${#targets[@]} -gt 0 ] || read -ra targets <<<"$all"
seconds=${seconds:-$((300 * most / ${#targets[@]}))}

mkdir -p "$out"
words >"$out/words"
(build) >"$out/build.log" 2>&1 || { cat "$out/build.log"; echo '0 passed, 1 failed'; exit 1; }
for target in "${targets[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge "$most" ]; do wait -n; done
	(
		status=0
		link "$target" >"$out/$target.log" 2>&1 && if [ "$keep" ]; then merge "$target"; else fuzz "$target"; fi || status=$?
		echo "$status" >"$out/$target.status"
	) &
done
wait
for target in "${targets[@]}"; do
	say "$target" "$(cat "$out/$target.status")"
done
echo "fuzz: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
