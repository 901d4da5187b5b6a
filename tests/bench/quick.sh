#!/bin/sh
# quick.sh - does the benchmark measure every row, and does it notice what may not be? One small round; no time counts.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${BIN:-$PWD}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP
passed=0
failed=0

# check NAME STATUS
check()
{
	if [ "$2" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAILED $1:"
		cat "$tmp/out"
	fi
}

# run FOLDER BUILD ROW...: the run.sh that is there; its exit status in $status, all that it says in out.
run()
{
	script=$1/run.sh
	of=$2
	shift 2
	status=0
	timeout 100 "$script" --rounds 1 --quick --build "$of" "$@" >"$tmp/out" 2>&1 || status=$?
}

run "$here" "$build"
check 'every row is measured and every answer right' "$status"
for row in echo1:1 echo32:2 commit:1 cycle:1 again:1 hot:1 flood:1 run:1 live:3 idle:2 start:1 start1m:1; do
	[ "$(grep -c "^${row%:*} .*[0-9]" "$tmp/out")" -eq "${row#*:}" ]
	check "the table has ${row%:*}" $?
done

# A daemon that grants everything to everybody: the echo in its place.
mkdir -p "$tmp/liar/tests"
ln -s "$build/tests/bench" "$tmp/liar/tests/bench"
# shellcheck disable=SC2016 # for the script that is written
printf '#!/bin/sh\nexec "$(dirname "$0")/tests/bench/echo" "$2"\n' >"$tmp/liar/claimd"
chmod +x "$tmp/liar/claimd"
run "$here" "$tmp/liar" hot
[ "$status" -eq 1 ] && grep -q 'key .* was ' "$tmp/out"
check 'a wrong answer ends the benchmark' $?
"$build/tests/bench/echo" "$tmp/socket" &
echo=$!
tries=0
until [ -S "$tmp/socket" ] || [ $tries -gt 500 ]; do
	tries=$((tries + 1))
	sleep 0.02
done
status=0
timeout 30 "$build/tests/bench/bench" load "$tmp/socket" lock 1 2 100 1 >"$tmp/out" 2>&1 || status=$?
kill -KILL "$echo"
[ "$status" -eq 1 ] && grep -q 'key 0 was granted twice' "$tmp/out"
check 'a key that is granted twice ends the benchmark' $?

# A row whose measurement brings no numbers.
cp "$here/run.sh" "$tmp"
{ cat "$here/rows.sh" && echo 'measure_idle() { :; }'; } >"$tmp/rows.sh"
run "$tmp" "$build" idle
[ "$status" -eq 1 ] && grep -q 'row idle was not measured' "$tmp/out"
check 'a row that was not measured is a failure' $?

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
