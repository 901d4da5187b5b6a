#!/bin/sh
# cli_verbs.sh - the plain verbs: their answers, exit codes, text and JSON, on both stores.
# shellcheck disable=SC2016 # jq expands its own variables
# shellcheck disable=SC2317 # functions that until_ok and exits call
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"

# field NAME: of the JSON document in $dir/out
field()
{
	jq -r ".$1" "$dir/out"
}

claims()
{
	exits 'claim' 0 "$claim" claim a --lease 1h --ttl never --fp one --owner me --token 0123456789abcdef
	holds 'claim: text' "$(cat "$dir/out")" 'WON fence=[0-9]* lease=1h attempts=1 was=new'
	exits 'the same token' 0 "$claim" --json claim a --token 0123456789abcdef
	same 'is the same win' own "$(field was)"
	fence=$(field fence)
	same 'all digits of a fence' 16 "${#fence}"
	same 'version of the format' 1 "$(field format)"
	same 'key' a "$(field key)"
	exits 'held' 75 "$claim" --json claim a
	same 'HELD' HELD "$(field word)"
	same 'by whom' me "$(field owner)"
	exits 'mismatch' 65 "$claim" claim a --fp two
	exits 'check' 0 "$claim" check a --fence "$fence"
	exits 'check with the token' 0 "$claim" check a --fence "$fence" --token 0123456789abcdef
	exits 'check with another' 1 "$claim" check a --fence "$fence" --token 0123456789abcdeX
	exits 'renew' 0 "$claim" --json renew a --fence "$fence" --lease 2h
	same 'renewed' yes "$([ "$(field left_ms)" -gt 3600000 ] && echo yes)"
	exits 'stale' 1 "$claim" --json complete a --fence 5
	same 'STALE' "STALE $fence" "$(field word) $(field fence)"
	exits 'complete' 0 "$claim" complete a --fence "$fence" --ttl 1h --result 'it is ok'
	exits 'complete again' 0 "$claim" complete a --fence "$fence"
	exits 'done' 1 "$claim" --json claim a
	same 'with its result' 'DONE it is ok' "$(field word) $(field result)"
	exits 'get' 0 "$claim" get a
	holds 'get: the result' "$(cat "$dir/out")" '*result *it is ok*'
	exits 'get --body' 0 "$claim" get a --body
	same 'as it is' 'it is ok' "$(cat "$dir/out")"
	exits 'claim' 0 "$claim" --json claim b
	fence=$(field fence)
	exits 'no result' 1 "$claim" get b --body
	exits 'doubt' 0 "$claim" doubt b --fence "$fence"
	exits 'unknown' 79 "$claim" claim b
	exits 'resolve' 0 "$claim" resolve b --as failed --reason 'asked them' --result-file /dev/null
	exits 'failed' 1 "$claim" --json claim b
	same 'with an empty result' 'FAILED ' "$(field word) $(field result)"
	exits 'claim' 0 "$claim" --json claim c
	fence=$(field fence)
	exits 'fail' 0 "$claim" fail c --fence "$fence"
	same 'failed' failed "$(state c)"
	exits 'claim' 0 "$claim" --json claim d
	exits 'release' 0 "$claim" release d --fence "$(field fence)"
	same 'free' free "$(state d)"
	exits 'forget' 0 "$claim" forget d
	exits 'forget again' 1 "$claim" forget d
	exits 'status of none' 1 "$claim" status d
	exits 'status of none as JSON' 1 "$claim" --json status d
	same 'says so' NOTFOUND "$(field word)"
	exits 'get of none' 1 "$claim" get d
	"$claim" claim e >/dev/null
	exits 'forget a live one' 75 "$claim" forget e
	exits 'with force' 0 "$claim" forget e --force
	exits 'no fence' 64 "$claim" complete a
	exits 'no lease' 64 "$claim" renew a --fence 5
	exits 'not as' 64 "$claim" resolve a
	exits 'both results' 64 "$claim" complete a --fence 5 --result x --result-file /dev/null
	exits 'a short token' 64 "$claim" claim x --token short
	exits 'a refusal as JSON' 64 "$claim" --json --namespace n claim "$(printf '%01024d' 0)"
	same 'has its code' 'ERR toolong' "$(field word) $(field code)"
	exits 'an empty result' 64 "$claim" complete a --fence 5 --result ''
	exits 'too much' 64 "$claim" status a b
}

# Keys are any octets, and nothing of them reaches the terminal as it is.
keys()
{
	odd=$(printf 'k \033[31m=%%/\377')
	exits 'any octets' 0 "$claim" claim "$odd" --owner "$(printf 'o\007')"
	exits 'status' 0 "$claim" status "$odd"
	holds 'no escape reaches the terminal' "$(head -n 1 "$dir/out")" 'key *k \\x1b\[31m=%/\\xff'
	exits 'ls' 0 "$claim" ls --prefix 'k '
	holds 'nor in lists' "$(tail -n 1 "$dir/out")" '*o\\x07 *k \\x1b\[31m=%/\\xff'
	exits 'JSON' 0 "$claim" --json ls --prefix 'k '
	same 'JSON has them all' "$(printf '%s' "$odd" | base64)" "$(field key_base64)"
	exits 'a key like an option' 0 "$claim" claim -- --x
	same 'is a key' claimed "$(state2=$("$claim" --json status -- --x | jq -r .state); echo "$state2")"
	exits 'a wide one' 0 "$claim" claim "$(printf 'w:\343\202\255')" --owner "$(printf 'Jos\303\251 \343\202\255\343\202\255')"
	exits 'a plain one' 0 "$claim" claim w:b --owner somebody
	exits 'ls' 0 "$claim" ls --prefix w:
	same 'columns are as wide as they look' "OWNER      KEY|somebody   w:b|$(printf 'Jos\303\251 \343\202\255\343\202\255  w:\343\202\255')" \
		"$(sed 's/.*\(OWNER\|some\|Jos\)/\1/' "$dir/out" | paste -s -d '|')"
	exits 'a number' 0 "$claim" --json claim 42 --owner 43
	exits 'ls' 0 "$claim" --json ls --owner 43
	same 'is a text where texts are' 'string string number' "$(jq -r '[(.key,.owner,.fence)|type]|join(" ")' "$dir/out")"
}

lists()
{
	{
		i=0
		while [ $i -lt 2500 ]; do
			echo "CLAIM l:$(printf '%04d' $i) owner=me"
			i=$((i + 1))
		done
		echo PING
	} >"$dir/many"
	socat -t 20 - "UNIX-CONNECT:$CLAIMD_SOCKET" <"$dir/many" >"$dir/out"
	same '2500 claims' 2500 "$(grep -c '^WON' "$dir/out")"
	exits 'ls' 0 "$claim" --json ls --prefix l:
	same 'all pages' 2500 "$(wc -l <"$dir/out" | tr -d ' ')"
	same 'each key once' 2500 "$(jq -r .key "$dir/out" | sort -u | wc -l | tr -d ' ')"
	exits 'ls --limit' 0 "$claim" --json ls --prefix l: --limit 1200
	same 'so many' 1200 "$(wc -l <"$dir/out" | tr -d ' ')"
	exits 'ls as text' 0 "$claim" ls --prefix l: --state live --limit 3 --owner me
	holds 'has a head' "$(head -n 1 "$dir/out")" 'STATE *FENCE *AGE *LEFT *OWNER *KEY'
	holds 'and lines' "$(tail -n 1 "$dir/out")" 'claimed *[0-9]* *14m* *me *l:[0-9]*'
	exits 'none' 0 "$claim" ls --state free --prefix l:
	same 'is no line' '' "$(cat "$dir/out")"
	exits 'none of them is so old' 0 "$claim" --json ls --older 1h
	same 'nothing' '' "$(cat "$dir/out")"
	exits 'a state that there is not' 64 "$claim" ls --state lost
}

the_daemon()
{
	exits 'status' 0 "$claim" status
	holds 'status: text' "$(cat "$dir/out")" '*version *store *'
	exits 'status as JSON' 0 "$claim" --json status
	same 'status: JSON' STATUS "$(field word)"
	exits 'ping' 0 "$claim" ping
	exits 'stats' 0 "$claim" stats
	holds 'stats: a table' "$(cat "$dir/out")" '*claimd_store_up *1*'
	same 'stats: without buckets' 0 "$(grep -c '_bucket\|#' "$dir/out")"
	exits 'stats --prometheus' 0 "$claim" stats --prometheus
	holds 'stats: as it comes' "$(cat "$dir/out")" '*# TYPE claimd_*_bucket{*le="+Inf"}*'
	exits 'stats as JSON' 0 "$claim" --json stats
	same 'stats: an array' 'array 1 +Inf' "$(jq -r '(.metrics|type) + " " + (.metrics[]|select(.name=="claimd_store_up")|.value|tostring) +
		" " + ([.metrics[]|select(.name=="claimd_claim_duration_seconds_bucket")][-1].labels.le)' "$dir/out")"
	exits 'sweep' 0 "$claim" sweep --dry-run
	"$claim" claim short --lease 1ms --ttl 1ms >/dev/null
	until_ok 'it ends' is_state short none
	exits 'sweep' 0 "$claim" --json sweep
	same 'swept' 'OK 0' "$(field word) $(field more)"
	exits 'namespace' 0 "$claim" --namespace one claim ns
	exits 'another' 0 "$claim" --namespace two claim ns
	exits 'the first again' 75 "$claim" --namespace one claim ns
	exits 'run in a namespace' 0 "$claim" --namespace one run nsrun -- true
	same 'is there' 'done' "$("$claim" --namespace one --json status nsrun | jq -r .state)"
	same 'and not here' none "$(state nsrun)"
	exits 'a namespace with a colon' 64 "$claim" --namespace a:b status x
	holds 'is told in our words' "$(cat "$dir/err")" '*--namespace "a:b" has a colon*'
	exits 'output that cannot be written' 74 sh -c "'$claim' status >/dev/full"
	exits 'a socket by option' 0 env CLAIMD_SOCKET=/none "$claim" --socket "$CLAIMD_SOCKET" ping
	exits 'no daemon as JSON' 69 "$claim" --socket "$dir/none" --json status
	same 'unreachable' 'ERR unreachable' "$(field word) $(field code)"
}

# What is said when the answer is no: what stands there, and a command that can be pasted.
advice()
{
	odd="it's \$HOME"
	exits 'claim' 0 "$claim" --json claim "$odd" --owner me
	fence=$(field fence)
	exits 'resolve a live one' 75 "$claim" resolve "$odd" --as 'done'
	holds 'says who works on it' "$(head -n 1 "$dir/err")" 'claim: me works on it, for * so far; the lease ends in 14m5*'
	sed -n 's/^  .*: claim/"$claim"/p' "$dir/err" >"$dir/paste"
	same 'and what to do' "\"\$claim\" resolve --as done --force --fence $fence 'it'\\''s \$HOME'" "$(cat "$dir/paste")"
	exits 'which can be pasted' 0 eval "$(cat "$dir/paste")"
	same 'and does it' 'done' "$(state "$odd")"
	exits 'resolve again' 0 "$claim" resolve "$odd" --as 'done'
	exits 'resolve otherwise' 1 "$claim" resolve "$odd" --as failed
	holds 'it is settled' "$(cat "$dir/err")" "*it is settled: done*--as failed --force --fence $fence 'it'*"
	exits 'the wrong fence' 1 "$claim" resolve "$odd" --as failed --fence 7
	holds 'which one it is' "$(cat "$dir/err")" "*is done and has fence $fence now*claim status 'it'*"
	exits 'complete with the wrong fence' 1 "$claim" complete "$odd" --fence 7
	holds 'not ours' "$(cat "$dir/err")" "*with fence 7 is not yours any more: the key is done now, with fence $fence*"
	exits 'a claim that lapses' 0 "$claim" --namespace ns claim --lapse unknown --lease 1ms -- -u
	until_ok 'nobody knows' lapsed
	exits 'unknown' 79 "$claim" --namespace ns claim -- -u
	holds 'how it is settled' "$(cat "$dir/err")" '*if it happened: claim --namespace ns resolve --as done --fence * -- -u*if it did not: *'
	exits 'forget an unknown one' 79 "$claim" --namespace ns forget -- -u
	holds 'how it is forgotten' "$(cat "$dir/err")" '*claim --namespace ns forget --force --fence * -- -u'
	exits 'mismatch' 0 "$claim" claim mis --fp one
	exits 'mismatch' 65 "$claim" claim mis --fp two
	holds 'is explained' "$(cat "$dir/err")" '*another request: do not run*claim status mis'
}

lapsed()
{
	[ "$("$claim" --namespace ns --json status -- -u | jq -r .state)" = unknown ]
}

mistakes()
{
	exits 'a verb' 64 "$claim" staus
	holds 'did you mean' "$(cat "$dir/err")" '*no verb "staus"; did you mean status?*see: claim help'
	exits 'letters that were swapped' 64 "$claim" sl
	holds 'did you mean' "$(cat "$dir/err")" '*no verb "sl"; did you mean ls?*'
	exits 'nothing near' 64 "$claim" xyzzy
	same 'is not guessed' 0 "$(grep -c 'did you mean' "$dir/err")"
	exits 'an option' 64 "$claim" ls --sate live
	holds 'did you mean' "$(cat "$dir/err")" '*claim ls has no option --sate; did you mean --state?*see: claim help ls'
	exits 'an option of the verb before it' 64 "$claim" --state live ls
	holds 'where it stands' "$(cat "$dir/err")" '*--state comes behind the verb*'
	exits 'help' 0 "$claim" help ls
	same 'is that of --help' "$("$claim" ls --help | cksum)" "$(cksum <"$dir/out")"
	exits 'help of none' 64 "$claim" help lss
	holds 'did you mean' "$(cat "$dir/err")" '*did you mean ls?'
	exits 'a duration' 64 "$claim" claim k --lease 30
	holds 'in words' "$(cat "$dir/err")" '*--lease takes a duration with a unit, such as 30s*not "30"*'
	exits 'a size' 64 "$claim" run --save-output=many k -- true
	holds 'in words' "$(cat "$dir/err")" '*--save-output takes a number of octets*'
	exits 'a word' 64 "$claim" resolve k --as doen
	holds 'in words' "$(cat "$dir/err")" '*--as takes done|failed|free*'
	exits 'a long lease' 64 "$claim" claim k --lease 366d
	holds 'in words' "$(cat "$dir/err")" '*365d at most*'
	exits 'a long owner' 64 "$claim" claim k --owner "$(printf '%0129d' 0)"
	holds 'which option' "$(cat "$dir/err")" '*--owner has 129 octets*128*'
	exits 'a file that is not there' 64 "$claim" run --fp "$dir/none" k -- true
	holds 'which option' "$(cat "$dir/err")" "*--fp: cannot read $dir/none: No such file*"
	same 'nothing was claimed' none "$(state k)"
}

# A wait that is longer than an answer may take otherwise: it goes on while the rest is tested.
long_wait()
{
	exits 'claim' 0 "$claim" --json claim long
	long_fence=$(field fence)
	"$claim" claim long --wait=60s >"$dir/long" 2>&1 &
	long_waiter=$!
	pids="$pids $long_waiter"
	long_since=$(date +%s)
	until_ok 'it waits' waiting 1
}

long_wait_ends()
{
	until_ok 'it has waited for long' is_late $((long_since + 14))
	same 'it still waits' yes "$(gone "$long_waiter" || echo yes)"
	exits 'release' 0 "$claim" release long --fence "$long_fence"
	ends 'and wins' 0 "$long_waiter"
}

is_late()
{
	[ "$(date +%s)" -ge "$1" ]
}

waits()
{
	exits 'claim' 0 "$claim" --json claim w
	fence=$(field fence)
	exits 'a wait that ends' 75 "$claim" claim w --wait=50ms
	"$claim" claim w --wait >"$dir/won" &
	waiter=$!
	until_ok 'it waits' waiting 1
	exits 'release' 0 "$claim" release w --fence "$fence"
	ends 'the waiter wins' 0 "$waiter"
	holds 'says so' "$(cat "$dir/won")" 'WON *was=free'
	"$claim" status w --wait=15s >"$dir/won" 2>&1 &
	waiter=$!
	until_ok 'it looks on' waiting 1
	exits 'forget' 0 "$claim" forget w --force
	ends 'and sees the end' 1 "$waiter"
	exits 'status --wait of nothing' 64 "$claim" status --wait=1s
	exits 'atleast' 0 "$claim" --json claim tick --atleast 1h
	exits 'release' 0 "$claim" release tick --fence "$(field fence)"
	exits 'is still taken' 75 "$claim" claim tick
	holds 'by nobody' "$(cat "$dir/out")" 'HELD * state=free'
	holds 'until when' "$(cat "$dir/err")" '*nobody holds it: *--atleast keeps others off for 59m*'
	exits 'somebody holds it' 0 "$claim" claim tock --lease 1h
	exits 'is taken' 75 "$claim" claim tock
	same 'nothing of that is said' '' "$(grep -h -e state= -e nobody "$dir/out" "$dir/err")"
}

# waiting N: so many calls wait.
waiting()
{
	[ "$("$claim" --json status | jq .waiting)" = "$1" ]
}

for store in memory: "sqlite:$dir/db"; do
	daemon_start "$store"
	claims
	advice
	mistakes
	waits
	keys
	[ "$store" = memory: ] && long_wait
	lists
	the_daemon
	[ "$store" = memory: ] && long_wait_ends
	daemon_kill
done
finish
