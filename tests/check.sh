#!/bin/bash
# check.sh - everything that must hold before a change goes in. `./dev check` calls it, for people and for CI.
#
#   tests/check.sh [PART...]     all parts, or those named
#
# A part is a function part_NAME below. It runs in a process of its own, bounded in time, with its output in
# build-check/NAME.log, two parts at a time; the builds that others stand on go first. A part says what it counted in a
# line "RESULT passed failed"; a test that was skipped counts as failed, and so does a part that counted nothing.
# The last line is the sum, and the exit status is 0 only when nothing failed.
set -u
cd "$(dirname "$0")/.." || exit 1
out=$PWD/build-check
jobs=$(nproc)
# NAME:SECONDS, in the order of starting; the ones before "/" each have the machine to themselves.
plan='gcc:200 / distcheck:600 asan:600 clang:200 tsan:400 storm:200 model:300 fuzz:240 lint:200'

# What chance chooses is the same each time here; alone, each test and fuzz target throws anew.
export FAULTS_SEED=1

# ---- what parts are made of ----

result()
{
	echo "RESULT $1 $2"
	[ "$2" -eq 0 ]
}

# configure_in NAME ARGS...: a build folder of this name, configured; the caller is in it afterwards.
configure_in()
{
	rm -rf "${out:?}/$1"
	mkdir -p "$out/$1" && cd "$out/$1" && shift && ../../configure --quiet --with-check=yes "$@"
}

# Sums what automake and the tests say about a finished `make check` in this folder.
count_tests()
{
	local passed=0 failed=0 trs log good bad
	for trs in tests/*.trs tests/*/*.trs; do
		[ -f "$trs" ] || continue
		log=${trs%.trs}.log
		# "97%: Checks: 30, Failures: 1, Errors: 0" of check, or "N passed, M failed" of scripts.
		read -r good bad < <(awk '
			/^[0-9]+%: Checks: / { gsub(/[^0-9 ]/, ""); good += $2 - $3 - $4; bad += $3 + $4 }
			match($0, /[0-9]+ passed/) { good += substr($0, RSTART) + 0 }
			match($0, /[0-9]+ failed/) { bad += substr($0, RSTART) + 0 }
			END { print good + 0, bad + 0 }' "$log")
		if grep -q '^:test-result: PASS' "$trs"; then
			[ $((good + bad)) -gt 0 ] || good=1
		else
			[ "$bad" -gt 0 ] || bad=1
			echo "$(grep -m1 '^:test-result' "$trs" | cut -d' ' -f2) ${log#tests/}:"
			tail -n 25 "$log"
		fi
		passed=$((passed + good))
		failed=$((failed + bad))
	done
	[ $((passed + failed)) -gt 0 ] || failed=1
	result "$passed" "$failed"
}

# run_tests [MAKE ARGS...]: `make check` here, its count, and its own verdict on top.
run_tests()
{
	local status=0
	make -s -j"$jobs" check "$@" || status=$?
	count_tests || return 1
	return $status
}

# For a script that ends with "N passed, M failed".
count_line()
{
	local log=$1 status=$2 passed failed
	passed=$(grep -Eo '[0-9]+ passed' "$log" | tail -n 1 | cut -d' ' -f1)
	failed=$(grep -Eo '[0-9]+ failed' "$log" | tail -n 1 | cut -d' ' -f1)
	passed=${passed:-0} failed=${failed:-0}
	if [ "$status" -ne 0 ] || [ "$passed" -eq 0 ]; then
		[ "$failed" -gt 0 ] || failed=1
	fi
	result "$passed" "$failed"
}

run_script()
{
	local status=0 log
	log=$(mktemp "$out/script.XXXXXX")
	"$@" >"$log" 2>&1 || status=$?
	cat "$log"
	count_line "$log" "$status"
	status=$?
	rm -f "$log"
	return $status
}

# ---- the parts ----

# The tests of both of these run in the parts below; here it is the warnings of the two compilers.
part_gcc()
{
	configure_in gcc CC=gcc --enable-werror && make -s -j"$jobs" check TESTS= && result 1 0
}

part_clang()
{
	configure_in clang CC=clang --enable-werror && make -s -j"$jobs" check TESTS= && result 1 0
}

# Every test of `make check`, from the tarball that a person would get, and its installation.
part_distcheck()
{
	configure_in distcheck CC=gcc || return 1
	make -s -j"$jobs" distcheck >distcheck.out 2>&1
	local status=$? passed tests
	cat distcheck.out
	# After a failure the folder in which it ran is still there, with what each test said.
	tests=$(find . -path './claimd-*/_build/*/tests' -type d | head -n 1)
	if [ -n "$tests" ]; then
		cd "${tests%/tests}" && count_tests
		return 1
	fi
	passed=$(sed -n 's/^# PASS: *//p' distcheck.out | awk '{ n += $1 } END { print n + 0 }')
	result "$passed" "$((status != 0 || passed == 0))"
}

part_asan()
{
	export UBSAN_OPTIONS=print_stacktrace=1
	configure_in asan CC=clang CFLAGS='-O1 -g' --enable-sanitizers=address,undefined && run_tests
}

# The one store with threads of its own.
part_tsan()
{
	# Without address randomisation: newer kernels put mappings where the sanitizer does not expect any.
	[ -n "${CHECK_FIXED_ADDRESSES:-}" ] || CHECK_FIXED_ADDRESSES=1 exec setarch "$(uname -m)" -R "$0" --part tsan
	configure_in tsan CC=clang CFLAGS='-O1 -g' --enable-sanitizers=thread && run_tests TESTS='tests/contract tests/history'
}

part_storm()
{
	run_script tests/storm/run.sh --seconds 30 --build "$out/gcc"
}

part_model()
{
	run_script tests/model/run.sh
}

part_fuzz()
{
	run_script tests/fuzz.sh --seconds 8 --seed 1
}

part_lint()
{
	run_script tests/lint.sh
}

# ---- the runner ----

declare -A name_of=() began=()
passed=0
failed=0

stop()
{
	trap '' INT TERM
	# Each is a `timeout`, which hands the signal on to all that it started.
	[ ${#name_of[@]} -eq 0 ] || kill -TERM "${!name_of[@]}" 2>/dev/null
	wait
	exit 130
}

start()
{
	local name=${1%:*} seconds=${1#*:}
	timeout -k 10 "$seconds" "$0" --part "$name" >"$out/$name.log" 2>&1 </dev/null &
	name_of[$!]=$name
	began[$!]=$SECONDS
}

# Waits for one of the parts that run and tells how it went.
finish()
{
	local pid status=0 name took good=0 bad=0
	wait -n -p pid "${!name_of[@]}" || status=$?
	name=${name_of[$pid]}
	took=$((SECONDS - began[$pid]))
	unset "name_of[$pid]" "began[$pid]"
	read -r good bad < <(sed -n 's/^RESULT //p' "$out/$name.log" | tail -n 1)
	good=${good:-0} bad=${bad:-0}
	if [ "$status" -ne 0 ] || [ $((good + bad)) -eq 0 ]; then
		[ "$bad" -gt 0 ] || bad=1
	fi
	passed=$((passed + good))
	failed=$((failed + bad))
	if [ "$bad" -eq 0 ]; then
		echo "ok $name ($good tests, $took s)"
		return
	fi
	[ "$status" -ne 124 ] || echo "(stopped: it took too long)" >>"$out/$name.log"
	echo "FAIL $name ($bad of $((good + bad)) tests, $took s), the end of ${out#"$PWD"/}/$name.log:"
	tail -n 40 "$out/$name.log" | sed 's/^/    /'
}

main()
{
	local item lanes=1 chosen=
	mkdir -p "$out"
	if [ $# -gt 0 ]; then
		for item in $plan; do
			case " $* " in *" ${item%:*} "*) chosen="$chosen $item" ;; esac
		done
		[ "$(wc -w <<<"$chosen")" -eq $# ] || { echo "check: no such part; there are: ${plan//:[0-9]*([0-9])/}" >&2; exit 64; }
		plan=$chosen
	fi
	# Always: a configure that is older than the tree it comes from would test something else.
	./autogen.sh >"$out/autogen.log" 2>&1 || { cat "$out/autogen.log"; echo '0 passed, 1 failed'; exit 1; }
	trap stop INT TERM
	for item in $plan; do
		if [ "$item" = / ]; then
			while [ ${#name_of[@]} -gt 0 ]; do finish; done
			lanes=2
			continue
		fi
		while [ ${#name_of[@]} -ge "$lanes" ]; do finish; done
		start "$item"
	done
	while [ ${#name_of[@]} -gt 0 ]; do finish; done
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
}

shopt -s extglob
if [ "${1:-}" = --part ]; then
	"part_$2"
else
	main "$@"
fi
