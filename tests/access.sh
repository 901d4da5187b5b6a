#!/bin/bash
# access.sh - whom a daemon lets in, who may settle by hand, and whose a namespace is.
#
# Somebody else is made in two ways. Without any rights: a daemon whose settings name other users than us. As root: clients with
# another uid and other groups, as they are in a service.
# shellcheck disable=SC2317 # functions that until_ok calls
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
me=$(id -u)
other=$((me + 1))

# start ARGS...: a daemon, and a second socket that no list guards, to look at it from. One that is there ends first.
start()
{
	if [ -n "$daemon" ]; then
		daemon_kill
	fi
	rm -f "$dir/a" "$dir/log" # the last one was ready too
	"$bin/claimd" --store memory: --log-level debug --admin "$dir/a" "$@" >"$dir/log" 2>&1 &
	daemon=$!
	until_ok "the daemon starts" grep -q ' ready ' "$dir/log"
}

# ask LINE...: what the daemon answers to these lines of one client.
ask()
{
	printf '%s\n' "$@" | socat -t 20 - "UNIX-CONNECT:$CLAIMD_SOCKET"
}

# words LINE...: the first word of each answer; the code too where it is an error.
words()
{
	ask "$@" | first_words
}

first_words()
{
	sed -n 's/^\(ERR [a-z]*\).*/\1/p; t; s/^\([A-Z]*\).*/\1/p' | paste -sd' '
}

# metric NAME: its value.
metric()
{
	curl -s --max-time 20 --unix-socket "$dir/a" http://claimd/metrics | sed -n "s/^$1 //p"
}

# accepted N: so many clients have come in since the daemon began.
accepted()
{
	[ "$(metric claimd_accepted_connections_total)" -ge "$1" ]
}

# crowd COMMAND...: 40 clients, run by this command where there is one, that come and say nothing.
crowd()
{
	[ -p "$dir/idle" ] || mkfifo "$dir/idle"
	exec 9<>"$dir/idle"
	for _ in $(seq 40); do
		"$@" socat - "UNIX-CONNECT:$CLAIMD_SOCKET" <"$dir/idle" >/dev/null 2>&1 &
		pids="$pids $!"
		disown # its end is of no interest
	done
	until_ok 'a crowd comes in' accepted 40
}

lines()
{
	grep -c " $1 " "$dir/log"
}

# ---- who may come in ----

start
same 'without a list: whoever can open the socket' 'OK WON' "$(words PING 'CLAIM k')"
same 'it may say who it is' OK "$(words 'HELLO client=py%0a/0.1 ns=one')"
until_ok 'and the log knows it' grep -q "debug hello .* client=\"py.x0a/0.1\" ns=one pid=[0-9]* uid=$me\$" "$dir/log"
start --allow-uid "$me"
same 'on the list' 'OK WON' "$(words PING 'CLAIM k')"
start --allow-uid "$other,$me" --operator-uid "$other"
same 'on the list, not the first' 'WON' "$(words 'CLAIM k')"
start --allow-uid "$(id -un)" --operator-uid "$other"
same 'on the list by name' 'WON' "$(words 'CLAIM k')"
start --allow-gid "$(id -gn)" --operator-uid "$other"
same 'a group on the list, by name' 'WON' "$(words 'CLAIM k')"
start --allow-uid "$other"
same 'operators need no list' 'WON' "$(words 'CLAIM k')"

start --allow-uid "$other" --operator-uid "$other"
same 'not on the list: told once, then left' 'ERR denied' "$(words 'CLAIM k' PING PING)"
holds 'it says why' "$(ask PING)" 'ERR denied retry=no msg=*allow_uid*'
exits 'the command' 78 "$claim" claim k
holds 'it shows the reason' "$(cat "$dir/err")" '*denied*allow_uid*'
same 'no HTTP either' '' "$(curl -s --max-time 20 --unix-socket "$CLAIMD_SOCKET" http://claimd/metrics)"
holds 'the log says who' "$(grep ' denied ' "$dir/log" | head -n 1)" "* warn  denied *allow_uid*verb=CLAIM pid=* uid=$me *"
before=$(metric claimd_denied_total)
for _ in $(seq 100); do
	ask PING >/dev/null
done
same 'each is counted' $((before + 100)) "$(metric claimd_denied_total)"
[ "$(lines denied)" -lt "$((before + 100))" ]
same 'not each is logged' 0 $?
[ "$(lines denied)" -ge "$before" ]
same 'the first ones are' 0 $?

# Those who are let in only to be told do not take the places of others, nor keep each other from being told.
start --allow-uid "$other" --operator-uid "$other" --max-connections 2
crowd
same 'a crowd: few of it stay' 16 "$(metric claimd_connections)"
same 'behind it: told as ever' 'ERR denied' "$(words PING)"

# ---- who may settle by hand ----

# claimed KEY: its fence, after a CLAIM.
claimed()
{
	ask "CLAIM $1 lease=1h" | sed -n 's/^WON fence=\([0-9]*\).*/\1/p'
}

# by_hand NAME WANTED: what the verbs of operators are answered.
by_hand()
{
	same "$1: RESOLVE with force" "$2" "$(words "RESOLVE force as=free fence=$(claimed force) force")"
	ask "DOUBT doubt fence=$(claimed doubt)" >/dev/null
	same "$1: RESOLVE without fence" "$2" "$(words 'RESOLVE doubt as=free')"
	same "$1: FORGET" "$2" "$(words 'FORGET doubt')"
	same "$1: SWEEP" "$2" "$(words SWEEP)"
	same "$1: SWEEP that only looks" "$2" "$(words 'SWEEP dry')"
}

fence_of()
{
	ask "STATUS $1" | sed -n 's/.* fence=\([0-9]*\).*/\1/p'
}

start --operator-uid "$other"
by_hand 'not an operator' 'ERR denied'
same 'not an operator: SHUTDOWN' 'ERR denied' "$(words SHUTDOWN)"
holds 'it says who is' "$(ask SWEEP)" 'ERR denied *operator_uid*'
holds 'nothing was done to the first' "$(ask 'STATUS force')" 'STATUS *state=claimed *'
holds 'nor to the second' "$(ask 'STATUS doubt')" 'STATUS *state=unknown *'
same 'it serves on' 'OK' "$(words PING)"
holds 'RESOLVE with the exact fence is for everybody' \
	"$(ask "RESOLVE doubt as=done fence=$(fence_of doubt)")" 'OK state=done*'
exits 'the command' 78 "$claim" forget force
holds 'it shows the reason' "$(cat "$dir/err")" '*denied*operator_uid*'
start --operator-uid "$other,$me"
by_hand 'an operator who is named' OK
same 'what they did is logged, but not where they only looked' '2 1 1' "$(lines resolve) $(lines forget) $(lines sweep)"
start
by_hand 'the user of the daemon' OK
same 'the user of the daemon: SHUTDOWN' OK "$(words 'SHUTDOWN reason=test')"
ends 'and it leaves' 0 "$daemon"
daemon=
holds 'the log says who asked' "$(grep ' shutdown ' "$dir/log")" "*pid=* uid=$me reason=test"

# ---- whose a namespace is ----

start --namespace-uid "pay:$other shop:$other,$me" --operator-uid "$other"
same 'my namespace' 'OK WON' "$(words 'HELLO ns=shop' 'CLAIM k')"
same 'that of others' 'ERR denied' "$(words 'HELLO ns=pay')"
same 'and nothing in it' 'ERR denied ERR denied ERR denied' "$(words 'HELLO ns=pay' 'CLAIM k' LIST)"
same 'one that no rule is about' 'OK WON' "$(words 'HELLO ns=free' 'CLAIM k')"
for verb in 'CLAIM k' 'RENEW k fence=1 lease=1s' 'COMPLETE k fence=1' 'FAIL k fence=1' 'RELEASE k fence=1' 'DOUBT k fence=1' \
	'CHECK k fence=1' 'STATUS k' LIST WATCH 'RESOLVE k as=free fence=1'; do
	same "none: $verb" 'ERR denied' "$(words "$verb")"
done
holds 'it says what to do' "$(ask 'CLAIM k')" 'ERR denied *HELLO%20ns=*'
for verb in PING STATUS STATS 'HELP CLAIM' QUIT; do
	holds "none, and none is needed: $verb" "$(ask "$verb")" '[OS][KT]*'
done
same 'none by name, as if it were theirs' 'ERR denied' "$(words 'STATUS shop:k')"
same 'a refused HELLO opens no other door' 'ERR denied OK WON' "$(words 'HELLO ns=pay' 'HELLO ns=free' 'CLAIM j')"
same 'the command' 0 "$("$claim" --namespace shop claim of-the-command >/dev/null 2>&1; echo $?)"
exits 'the command in that of others' 78 "$claim" --namespace pay claim k
start --namespace-uid "pay:$other"
same 'operators: any, and none' 'WON OK WON' "$(words 'CLAIM k') $(words 'HELLO ns=pay' 'CLAIM k')"
start --namespace pay --namespace-uid "pay:$me" --operator-uid "$other"
same "the daemon's own, for its user" 'WON' "$(words 'CLAIM k')"
start --namespace pay --namespace-uid "pay:$other" --operator-uid "$other"
same "the daemon's own, for others" 'ERR denied' "$(words 'CLAIM k')"

# ---- with real users ----

# as UID GROUPS LINE...: as words, asked by another user in these groups.
as()
{
	ids="--reuid $1 --regid $1 --clear-groups"
	[ -z "$2" ] || ids="--reuid $1 --regid $1 --groups $2"
	shift 2
	# shellcheck disable=SC2086 # a list
	printf '%s\n' "$@" | setpriv $ids socat -t 20 - "UNIX-CONNECT:$CLAIMD_SOCKET" | first_words
}

real_users()
{
	chmod 755 "$dir"
	start --socket-mode 0666
	same 'another user' WON "$(as 1001 '' 'CLAIM k')"
	same 'is no operator' 'ERR denied ERR denied' "$(as 1001 '' SWEEP SHUTDOWN)"
	start --socket-mode 0666 --operator-uid 1001 --namespace-uid 'pay:1002,1003 shop:1004'
	same 'the one who is named is' OK "$(as 1001 '' SWEEP)"
	same 'and root is not any more' 'ERR denied' "$(words SWEEP)"
	same 'a namespace of two: the first' 'OK WON' "$(as 1002 '' 'HELLO ns=pay' 'CLAIM a')"
	same 'a namespace of two: the second' 'OK WON' "$(as 1003 '' 'HELLO ns=pay' 'CLAIM b')"
	same 'one of another' 'ERR denied' "$(as 1004 '' 'HELLO ns=pay')"
	same 'his own' 'OK WON' "$(as 1004 '' 'HELLO ns=shop' 'CLAIM a')"
	start --socket-mode 0666 --allow-uid 1001 --allow-gid 2001,2002
	same 'by uid' WON "$(as 1001 '' 'CLAIM a')"
	same 'another' 'ERR denied' "$(as 1002 '' 'CLAIM b')"
	same 'by the group he is in' WON "$(as 2002 '' 'CLAIM b')"
	same 'by one of his other groups' WON "$(as 1002 1002,3000,2002 'CLAIM c')"
	same 'other groups' 'ERR denied' "$(as 1002 1002,3000,20022 'CLAIM d')"
	# More groups than anybody would make room for.
	same 'by the last of many' WON "$(as 1002 "$(seq -s , 5000 6000),2002" 'CLAIM d')"
	same 'root needs no list' WON "$(words 'CLAIM e')"
	start --socket-mode 0666 --allow-uid 1001 --max-connections 1
	crowd setpriv --reuid 1002 --regid 1002 --clear-groups
	same 'a crowd that may not come in keeps nobody out' WON "$(as 1001 '' 'CLAIM a')"
}

# A user cannot become another one; what is above has asked all the same questions.
if [ "$me" -eq 0 ]; then
	real_users
fi
finish
