#!/bin/sh
# cli_choices.sh - what a caller of `claim run` and `claim lock` may choose: other exit codes, where the report goes, the fingerprint, how
# long the key stays taken, any key at all; and that the commands which are offered for help are ready to be pasted.
# shellcheck disable=SC2016,SC2317 # the commands that are run expand their own variables; functions are called by name
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"

fence_of()
{
	"$claim" --json status "$1" | sed 's/.*"fence":\([0-9]*\).*/\1/'
}

# Each row that may be overridden, and the neighbour that may not.
exit_codes()
{
	"$claim" claim held >/dev/null
	exits 'held, another code' 11 "$claim" run --held-exit 11 held -- touch "$dir/ran"
	exits 'held, no mistake at all' 0 "$claim" lock --held-exit 0 held -- touch "$dir/ran"
	exits 'held after a wait' 12 "$claim" run --held-exit 12 --wait=50ms held -- touch "$dir/ran"
	exits 'the other codes do not count' 75 "$claim" run --duplicate-exit 13 --unknown-exit 14 held -- touch "$dir/ran"

	exits 'the first one is no duplicate' 0 "$claim" run --duplicate-exit 13 --save-output dup -- echo first
	exits 'a duplicate, another code' 13 "$claim" run --duplicate-exit 13 --report "$dir/report" dup -- touch "$dir/ran"
	same 'with its output' first "$(cat "$dir/out")"
	holds 'and its report' "$(cat "$dir/report")" 'DUPLICATE exit=13 fence=*'
	exits 'a duplicate that cannot be told' 74 sh -c '"$1" run --duplicate-exit 13 dup -- true >/dev/full' sh "$claim"
	exits 'a lock on it is no duplicate' 75 "$claim" lock --held-exit 11 dup -- touch "$dir/ran"
	exits 'burning' 4 "$claim" run --fail-on 4 burned -- sh -c 'exit 4'
	exits 'burned is no duplicate of a success' 4 "$claim" run --duplicate-exit 13 burned -- touch "$dir/ran"

	exits 'nobody knows' 137 "$claim" run --lapse unknown doubt -- sh -c 'kill -KILL $$'
	exits 'unknown, another code' 14 "$claim" run --unknown-exit 14 doubt -- touch "$dir/ran"
	exits 'unknown, lock' 15 "$claim" lock --unknown-exit 15 doubt -- touch "$dir/ran"
	same 'none of them ran' no "$(ran)"

	exits 'no exit code' 64 "$claim" run --held-exit 256 key -- true
	exits 'a lock has no duplicates' 64 "$claim" lock --duplicate-exit 1 key -- true
}

reports()
{
	sh -c '"$1" run --status-fd 3 status -- sh -c "echo not mine >&3; ls -l /proc/self/fd | grep -q status && exit 9; exit 3" 3>"$2/status" 2>"$2/err"' sh "$claim" "$dir"
	same 'the exit code' 3 $?
	fence=$(($(fence_of status) - 1)) # RELEASE took one more
	same 'the line, and the command has not got the descriptor' \
		"RAN exit=3 fence=$fence attempts=1 settled=release recorded=1 status=3" "$(cat "$dir/status")"
	sh -c '"$1" --json run --status-fd 3 status -- true 3>"$2/status"' sh "$claim" "$dir"
	holds 'as JSON' "$(cat "$dir/status")" '{"format":1,"word":"RAN","exit":0,"fence":*'
	"$claim" run --status-fd 1 status2 -- echo output >"$dir/out"
	same 'behind the output' 'output RAN' "$(tr '\n' ' ' <"$dir/out" | cut -d' ' -f1,2)"
	sh -c '"$1" run --status-fd 3 status -- true 3>&1 >/dev/null | cat' sh "$claim" >"$dir/status"
	holds 'a duplicate' "$(cat "$dir/status")" 'DUPLICATE exit=0 fence=*'
	exits 'a closed descriptor' 64 "$claim" run --status-fd 9 status3 -- true
	exits 'one that is for reading' 64 sh -c '"$1" run --status-fd 3 status3 -- true 3</dev/null' sh "$claim"
	exits 'two reports' 64 "$claim" run --status-fd 2 --report "$dir/report" status3 -- true
	same 'nothing was claimed' none "$(state status3)"
}

fingerprints()
{
	exits 'the first' 0 "$claim" run --fp-args args -- echo a b
	exits 'the same words' 0 "$claim" run --fp-args args -- echo a b
	exits 'one word more' 65 "$claim" run --fp-args args -- echo a b ''
	exits 'the same text in one word' 65 "$claim" run --fp-args args -- echo 'a b'
	exits 'another command' 65 "$claim" run --fp-args args -- printf a b
	same 'the words, with a NUL behind each' "$(printf '%s\0' echo a b | sha256sum | cut -d' ' -f1)" \
		"$("$claim" --json status args | sed 's/.*"fp":"\([0-9a-f]*\)".*/\1/')"
	exits 'two fingerprints' 64 "$claim" run --fp-args --fp /dev/null args -- true
}

at_least()
{
	exits 'a short job' 0 "$claim" lock --atleast 1h tick -- true
	exits 'is taken for longer' 75 "$claim" lock tick -- touch "$dir/ran"
	holds 'by nobody, and until when' "$(cat "$dir/err")" 'claim: nobody holds it: it ran, and was given back * ago; its --atleast keeps others off for 59m*'
	exits 'which is as good as done' 0 "$claim" lock --held-exit 0 tick -- touch "$dir/ran"
	same 'and no word is said' '' "$(cat "$dir/out" "$dir/err")"
	"$claim" claim busy --lease 1h >/dev/null
	exits 'held, as good as done' 0 "$claim" run --held-exit 0 --report "$dir/report" busy -- touch "$dir/ran"
	same 'nor there' '' "$(cat "$dir/out" "$dir/err")"
	holds 'but in the report' "$(cat "$dir/report")" 'HELD exit=0 fence=*'
	exits 'held, with another status' 3 "$claim" run --held-exit 3 busy -- touch "$dir/ran"
	holds 'is told' "$(cat "$dir/err")" '*held by *'
	exits 'done, as good as done' 0 "$claim" run once -- true
	exits 'a duplicate' 0 "$claim" run --duplicate-exit 0 once -- touch "$dir/ran"
	same 'says nothing' '' "$(cat "$dir/out" "$dir/err")"
	exits 'a job that fails' 3 "$claim" run --atleast 1s tick2 -- sh -c 'exit 3'
	exits 'is taken as well' 75 "$claim" run tick2 -- touch "$dir/ran"
	same 'neither ran twice' no "$(ran)"
	until_ok 'until the time is over' "$claim" run tick2 -- true
}

# Any key can be given, and none of an empty variable becomes one.
keys()
{
	exits 'two dashes' 0 "$claim" run --key --odd -- true
	exits 'two dashes, written together' 0 "$claim" run --key=--odd -- touch "$dir/ran"
	same 'it is one key' 'done no' "$("$claim" --json status -- --odd | sed -n 's/.*"state":"\([a-z]*\)".*/\1/p') $([ -e "$dir/ran" ] && echo yes || echo no)"
	exits 'twice' 64 "$claim" run --key one two -- true
	exits 'twice, the other way' 64 "$claim" run two --key one -- true
	exits 'empty' 64 "$claim" run --key '' -- true
	empty=
	# shellcheck disable=SC2086 # what happens without the quotes is the question
	exits 'not quoted' 64 "$claim" run --key $empty -- nohup -- touch "$dir/ran"
	# shellcheck disable=SC2086
	exits 'not quoted, as a word' 64 "$claim" run $empty -- nohup -- touch "$dir/ran"
	same 'it did not run' no "$(ran)"
}

# hint WHEN: the command that was offered for that.
hint()
{
	sed -n "s/^  $1: //p" "$dir/err"
}

# Burned and unknown keys say so, and what they offer does what it says, with every key and place.
hints()
{
	for key in plain 'two words' "it's" '$(touch ran)`touch ran`' '--odd' '-x' 'back\slash' "$(printf 'caf\303\251\033[1m')" \
		"$(printf 'it\047s \\ \001')"; do
		exits "burns: $key" 4 "$claim" --namespace 'name space' --socket "$CLAIMD_SOCKET" run --fail-on 4 --key "$key" -- sh -c 'exit 4'
		holds 'says so' "$(cat "$dir/err")" '*the key is burned*'
		exits 'burned' 4 "$claim" --namespace 'name space' --socket "$CLAIMD_SOCKET" run --key "$key" -- touch "$dir/ran"
		holds 'says so' "$(cat "$dir/err")" '*was burned*exit status is 4*'
		(cd "$dir" && unset CLAIMD_SOCKET && PATH=$bin:$PATH bash -c "$(hint 'to have it run again')") >"$dir/out" 2>&1
		same 'what it offers works' 0 $?
		exits 'it runs again' 0 "$claim" --namespace 'name space' run --key "$key" -- true
	done
	for way in 'if it was done:0:no' 'if it was not:0:yes'; do
		exits 'nobody knows' 137 "$claim" run --lapse unknown hint -- sh -c 'kill -KILL $$'
		offered=$(hint "${way%%:*}")
		exits 'unknown' 79 "$claim" run hint -- touch "$dir/hint"
		same 'the same is offered at both times' "$offered" "$(hint "${way%%:*}")"
		PATH=$bin:$PATH bash -c "$offered" >"$dir/out" 2>&1
		exits 'settled' 0 "$claim" run hint -- touch "$dir/hint"
		same 'it ran or not' "${way##*:}" "$([ -e "$dir/hint" ] && echo yes || echo no)"
		"$claim" forget hint >/dev/null
	done
	same 'nothing of a key was run' no "$(ran)"
}

# A hint is for this record only: where it has changed meanwhile nothing happens.
hints_are_fenced()
{
	exits 'nobody knows' 137 "$claim" run --lapse unknown old -- sh -c 'kill -KILL $$'
	offered=$(hint 'if it was not')
	"$claim" resolve --as free old >/dev/null
	exits 'nobody knows again' 137 "$claim" run --lapse unknown old -- sh -c 'kill -KILL $$'
	PATH=$bin:$PATH bash -c "$offered" >"$dir/out" 2>&1
	same 'the old hint' '1 unknown' "$? $(state old)"
}

for store in memory: "sqlite:$dir/db"; do
	daemon_start "$store"
	exit_codes
	reports
	fingerprints
	at_least
	keys
	hints
	hints_are_fenced
	daemon_kill
	rm -f "$dir"/ran* "$dir/hint"
done
finish
