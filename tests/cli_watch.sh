#!/bin/sh
# cli_watch.sh - `claim watch`: what it prints, and how it ends.
# shellcheck disable=SC2317 # functions that until_ok and exits call
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
# shellcheck source=tests/cli_peer.sh
. "$(dirname "$0")/cli_peer.sh"

# watch NAME OPTION...: in the background, its output in $dir/NAME and $dir/NAME.err; waits until it is told of what we do for that.
watch()
{
	name=$1
	shift
	"$claim" watch "$@" >"$dir/$name" 2>"$dir/$name.err" &
	watcher=$!
	pids="$pids $watcher"
	until_ok "$name is listening" listens "$name"
}

listens()
{
	"$claim" --namespace one run hello -- true
	"$claim" --namespace one forget hello
	"$claim" run d:hello -- true
	"$claim" forget d:hello
	shown "$1" hello
}

# shown NAME PATTERN
shown()
{
	grep -q "$2" "$dir/$1"
}

# stop NAME SIGNAL: the watcher ends well.
stop()
{
	kill "-$2" "$watcher"
	until_ok "$1 ends" gone "$watcher"
	ends "$1: status" 0 "$watcher"
	same "$1: says nothing" '' "$(cat "$dir/$1.err")"
}

changes()
{
	watch text
	odd=$(printf 'a \033[31m\377')
	exits 'a run' 0 "$claim" run "$odd" -- true
	exits 'a claim' 0 "$claim" --json claim b
	exits 'given back' 0 "$claim" release b --fence "$(jq .fence "$dir/out")"
	exits 'burned' 3 "$claim" run c --fail-on 3 -- sh -c 'exit 3'
	exits 'forgotten' 0 "$claim" forget c
	until_ok 'all of it' shown text GONE
	stop text TERM
	grep -v hello "$dir/text" | sed 's/fence=[0-9]*/fence=N/' >"$dir/got"
	cat >"$dir/want" <<-'END'
		WON key=a \x1b[31m\xff fence=N
		DONE key=a \x1b[31m\xff fence=N
		WON key=b fence=N
		FREE key=b fence=N
		WON key=c fence=N
		FAILED key=c fence=N
		GONE key=c fence=N
	END
	same 'each change' "$(cat "$dir/want")" "$(cat "$dir/got")"
	watch json --json --prefix d: --state 'done'
	exits 'a run' 0 "$claim" run d:1 -- true
	exits 'another' 0 "$claim" run e:1 -- true
	until_ok 'it comes' shown json d:1
	stop json INT
	same 'as JSON' '1 DONE d:1 number' "$(jq -r 'select(.key=="d:1")|"\(.format) \(.word) \(.key) \(.fence|type)"' "$dir/json")"
	same 'no other' 0 "$(grep -c 'e:1\|WON' "$dir/json")"
	watch ns --namespace one
	exits 'another namespace' 0 "$claim" --namespace two run key -- true
	exits 'this one' 0 "$claim" --namespace one run key -- true
	until_ok 'it comes' shown ns DONE.key=key
	stop ns TERM
	same 'only its own' 'WON key=key DONE key=key' "$(grep -v hello "$dir/ns" | sed 's/ fence=.*//' | paste -s -d ' ')"
}

peers()
{
	scripted <<-'END'
		accept
		hello
		want WATCH
		say OK
		say * WON key=a%20b fence=7
		say * MISSED count=12
		say * NEWS of=tomorrow
		raw * DON
		close
		accept
		hello
		want WATCH
		say OK
		say * FREE key=a fence=8
		eof
	END
	"$claim" --socket "$dir/fake" watch >"$dir/text" 2>"$dir/text.err" &
	watcher=$!
	pids="$pids $watcher"
	until_ok 'it comes back' shown text FREE
	kill -TERM "$watcher"
	ends 'and ends' 0 "$watcher"
	ends 'as the script wants it' 0 "$peer"
	same 'what was missed, and a word that is new' 'WON key=a b fence=7|MISSED count=12|NEWS of=tomorrow|FREE key=a fence=8' \
		"$(paste -s -d '|' "$dir/text")"
	holds 'the gap is told' "$(cat "$dir/text.err")" '*changes are missed from here on*watching again; what happened in between was not seen'
	scripted <<-'END'
		accept
		hello
		want WATCH
		say ERR denied retry=no msg=not%20for%20you
		eof
	END
	exits 'a refusal' 78 "$claim" --socket "$dir/fake" watch
	same 'is told' 'claim: not allowed: not for you' "$(cat "$dir/err")"
	scripted <<-'END'
		accept
		want HELLO *
		say SMTP ready
		close
	END
	exits 'no claimd' 69 "$claim" --socket "$dir/fake" watch
	exits 'nobody' 69 "$claim" --socket "$dir/none" --json watch
	same 'as JSON' unreachable "$(jq -r .code "$dir/out")"
}

readers()
{
	# The reader goes away while nothing happens.
	mkfifo "$dir/fifo"
	"$claim" watch >"$dir/fifo" 2>"$dir/fifo.err" &
	watcher=$!
	pids="$pids $watcher"
	exec 9<"$dir/fifo"
	exec 9<&-
	until_ok 'no reader: the end' gone "$watcher"
	ends 'no reader: status' 0 "$watcher"
	same 'no reader: nothing is said' '' "$(cat "$dir/fifo.err")"
	# The reader is there and does not read: a pipe is full, and a signal ends it all the same.
	"$claim" watch >"$dir/fifo" 2>"$dir/fifo.err" &
	watcher=$!
	pids="$pids $watcher"
	exec 9<"$dir/fifo"
	long=$(printf '%01000d' 7)
	awk -v long="$long" 'BEGIN { for (i = 0; i < 150; i++) print "CLAIM " i ":" long; print "QUIT" }' >"$dir/many"
	until_ok 'it watches' full 1
	kill -STOP "$watcher"
	socat -t 20 - "UNIX-CONNECT:$CLAIMD_SOCKET" <"$dir/many" >"$dir/out"
	same '150 claims' 150 "$(grep -c '^WON' "$dir/out")"
	kill -CONT "$watcher"
	until_ok 'it waits for its reader' full 45000
	kill -TERM "$watcher"
	until_ok 'a slow reader: the end' gone "$watcher"
	ends 'a slow reader: status' 0 "$watcher"
	exec 9<&-
	"$claim" watch >/dev/full 2>"$dir/full" &
	watcher=$!
	pids="$pids $watcher"
	until_ok 'a full disk: the end' tells
	ends 'a full disk: status' 74 "$watcher"
	holds 'is said' "$(cat "$dir/full")" '*cannot write to standard output: No space*'
}

# Something to tell, until it has ended of it.
tells()
{
	"$claim" run tells -- true
	"$claim" forget tells
	gone "$watcher"
}

# Something to tell, until it has ended of it.
tells()
{
	"$claim" run tells -- true
	"$claim" forget tells
	gone "$watcher"
}

# A connection beside the one that asks.
watches()
{
	[ "$("$claim" --json status | jq .connections)" = 2 ]
}

# full N: makes an event, until so many octets were written. A pipe has 16 pages, and lines that fit are not broken over two.
full()
{
	"$claim" run "$long" -- true
	"$claim" forget "$long"
	awk -v n="$1" '/^wchar/ { exit !($2 >= n) }' "/proc/$watcher/io"
}

daemon_start memory:
changes
peers
readers
daemon_kill
finish
