#!/bin/bash
# nomem_cli.sh - the command without memory: each allocation fails in turn, or all from it on. The work runs once at the most, only
# after WON; what was done is recorded as soon as there is memory again; half an answer is none.
# shellcheck disable=SC2016 # the commands that are run expand their own variables
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/../cli_lib.sh"
poor=$bin/tests/faults/poor_claim
made=$dir/made

# poor_run POINT COMMAND...: `claim`, with the allocation of this point failing. Its output is in $dir/out and $dir/err, its exit code
# in $code.
poor_run()
{
	at=$1
	shift
	rm -f "$made"
	POOR_AT=$at POOR_MADE=$made timeout 30 "$poor" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	code=$?
}

# The last run has come to its point, so there may be another one behind it.
more()
{
	[ "$(cat "$made" 2>/dev/null || echo 0)" -ge "${at%+}" ]
}

# work POINT: `claim run` there, and then once more with memory.
work()
{
	key=work-$1
	: >"$dir/$key"
	poor_run "$1" run "$key" --lease 1h -- sh -c "echo ran >>$dir/$key"
	case $code:$(wc -l <"$dir/$key") in
	0:1) ;; # it was done
	69:0) holds "$key: it says why" "$(cat "$dir/err")" '*no memory*' ;;
	*) same "$key: done, or refused" 0:1 "$code:$(wc -l <"$dir/$key")" ;;
	esac
	was=$code
	"$claim" run "$key" -- sh -c "echo ran >>$dir/$key" >"$dir/out" 2>&1
	code=$?
	case $was:$code in
	0:0 | 69:0) ;;
	69:75) holds "$key: an answer that was not heard leaves a claim" "$("$claim" --json status "$key")" '*"state":"claimed"*' ;;
	0:75) holds "$key: what could not be recorded is told" "$(cat "$dir/out")" '*' ;;
	*) same "$key: once more" 0 "$code" ;;
	esac
	[ "$code" != 0 ] || same "$key: it ran once" 1 "$(wc -l <"$dir/$key")"
}

runs()
{
	for ((nth = 1; nth < 100; nth++)); do
		work "$nth"
		more || break
		[ "$was" != 0 ] || is_state "work-$nth" 'done' || same "work-$nth: recorded" 'done' "$(state "work-$nth")"
	done
	same 'each allocation of run has failed' yes "$([ $nth -gt 4 ] && [ $nth -lt 100 ] && echo yes)"
	for nth in 1 2; do
		work $nth+
	done
}

# answers NAME COMMAND...: the same fields as with memory, or an exit code that says that it is none.
answers()
{
	name=$1
	shift
	"$claim" --json "$@" >"$dir/out" 2>/dev/null
	right=$?
	jq -c 'keys' "$dir/out" >"$dir/wanted"
	for ((nth = 1; nth < 3000; nth += step)); do
		poor_run $nth --json "$@"
		if [ $code != $right ]; then
			same "$name: at $nth it ends with 69" 69 $code
			holds "$name: at $nth it says why" "$(cat "$dir/out" "$dir/err")" '*no memory*'
		elif ! jq -c 'keys' "$dir/out" 2>&1 | cmp -s - "$dir/wanted"; then
			same "$name: at $nth all of it is there" "$(cat "$dir/wanted")" "$(cat "$dir/out")"
		fi
		more || break
	done
	[ "$nth" -ge 3000 ] || passed=$((passed + 1))
}

daemon_start "sqlite:$dir/db"
step=1
[ -n "${FAULTS_ALL:-}" ] || step=3
runs
"$claim" claim held --owner somebody >/dev/null
echo '{"a":1}' >"$dir/json"
answers 'ls' ls --prefix held
answers 'status' status held
answers 'claim' claim held
answers 'claim again' claim mine --token 0123456789abcdef
answers 'key' key --file "$dir/json"
answers 'ping' ping
[ -z "${FAULTS_ALL:-}" ] || answers 'stats' stats
finish
