#!/bin/sh
# cli_doctor.sh - `claim doctor`, ping and wait: what they find, and what is said when a socket does not answer.
# shellcheck disable=SC2317 # functions that until_ok and exits call
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
# shellcheck source=tests/cli_peer.sh
. "$(dirname "$0")/cli_peer.sh"

# finding NAME: what the document in $dir/out says of it: whether it is well, the text, the next step.
finding()
{
	jq -r ".checks[]|select(.name==\"$1\")|\"\(.ok) \(.text) -> \(.next)\"" "$dir/out"
}

# status FIELDS...: the script of a daemon that answers, and says that of itself. The first connection only looks whether there is one.
status()
{
	cat <<-END
		accept
		accept
		hello
		want PING
		say OK
		want PING
		say OK
		want PING
		say OK
		accept
		hello
		want STATUS
		say STATUS $*
	END
}

well()
{
	exits 'wait' 0 "$claim" wait --store --timeout 20s
	"$claim" --json doctor >"$dir/out"
	code=$?
	# How fast a store is is not for a test.
	same 'all is well' "$(jq '[.checks[]|select(.ok|not)]|length' "$dir/out")" "$code"
	same 'but perhaps the store' '' "$(jq -r '.checks[]|select((.ok|not) and .name!="store")|.text' "$dir/out")"
	holds 'where' "$(finding socket)" "true $dir/s (CLAIMD_SOCKET), * of 103 octets -> "
	holds 'which' "$(finding version)" 'true *, daemon and command -> '
	same 'a document' '1 array' "$(jq -r '"\(.format) \(.checks|type)"' "$dir/out")"
	env CLAIMD_DISABLED=1 "$claim" doctor >"$dir/out"
	same 'disabled' 1 $?
	holds 'is a finding' "$(cat "$dir/out")" 'BAD   environment *CLAIMD_DISABLED is set*what to do *unset*'
	exits 'by option' 1 env CLAIMD_DISABLED=1 "$claim" --json --socket "$dir/s" doctor
	holds 'by option' "$(finding socket)" "true $dir/s (--socket)*"
}

findings()
{
	status "version=0.0.1 phase=draining store=some up_ms=5 kept=2 counts_age_ms=1000" >"$dir/status"
	echo eof >>"$dir/status"
	scripted <"$dir/status"
	exits 'findings' 1 "$claim" --socket "$dir/fake" --json doctor
	ends 'as the script wants it' 0 "$peer"
	same 'word' FINDINGS "$(jq -r .word "$dir/out")"
	holds 'version' "$(finding version)" 'false the daemon is 0.0.1, this command is * -> install the same version*'
	holds 'phase' "$(finding phase)" 'false draining*'
	holds 'store' "$(finding store)" 'false some: it is down -> *log*'
	holds 'settlements' "$(finding settlements)" 'false 2 are kept*'
	{
		status "version=0.0.1 phase=serving store=some store_up=yes counts_age_ms=3600000 unknown=0"
		for _ in 1 2 3; do
			echo want STATUS claim-doctor
			echo "wait $dir/late$((n = ${n:-0} + 1))"
			echo say NOTFOUND
		done
		echo want LIST state=unknown limit=1
		echo say ITEM key=a state=unknown fence=7 age_ms=7200000
		echo say END count=1
		echo eof
	} >"$dir/status"
	scripted <"$dir/status"
	(for n in 1 2 3; do sleep 0.3; touch "$dir/late$n"; done) &
	exits 'more findings' 1 "$claim" --socket "$dir/fake" --json doctor
	holds 'a slow store' "$(finding store)" 'false some: it is slow, *ms for one record*'
	holds 'old counts' "$(finding counts)" 'false *counted 1h ago*'
	holds 'records, whatever was counted' "$(finding records)" 'false *unknown, the oldest for 2h* -> *claim ls --state unknown*'
	{
		status "version=0.0.1 phase=serving store=some store_up=yes"
		echo want STATUS claim-doctor
		echo say ERR denied retry=no msg=name%20a%20namespace
		echo eof
	} >"$dir/status"
	scripted <"$dir/status"
	exits 'no namespace' 1 "$claim" --socket "$dir/fake" --json doctor
	ends 'as the script wants it' 0 "$peer"
	holds 'says so' "$(finding access)" 'false not allowed: *name a namespace -> name a namespace of yours with --namespace*'
	same 'and not that it is the store' '' "$(finding store)"
	scripted <<-'END'
		accept
		accept
		want HELLO *
		say ERR denied retry=no msg=who%20are%20you
		eof
	END
	exits 'not for us' 1 "$claim" --socket "$dir/fake" --json doctor
	holds 'says so' "$(finding answer)" 'false not allowed: *who are you*allow_uid*'
	scripted <<-'END'
		accept
		accept
		want HELLO *
		say 220 mail
		eof
	END
	exits 'no claimd' 69 "$claim" --socket "$dir/fake" --json doctor
	holds 'says so' "$(finding answer)" 'false *220* -> name the socket*'
}

sockets()
{
	exits 'nothing there' 69 "$claim" --socket "$dir/none/s" --json doctor
	holds 'says what' "$(finding socket)" "false $dir/none: No such file * (--socket) -> start claimd*"
	holds 'and what is elsewhere' "$(CLAIMD_SOCKET=$dir/none XDG_RUNTIME_DIR=$dir/run "$claim" doctor)" "*BAD *socket*BAD *elsewhere *listens at $dir/run/claimd/claimd.sock*--socket $dir/run*"
	: >"$dir/file"
	exits 'a file' 69 "$claim" --socket "$dir/file" --json doctor
	holds 'says so' "$(finding socket)" 'false * is no socket *'
	exits 'a long path' 69 "$claim" --socket "/$(printf '%0103d' 0)" --json doctor
	holds 'says so' "$(finding socket)" 'false *104 octets, and no more than 103 fit*shorter*'
	exits 'a long path, any verb' 64 "$claim" --socket "/$(printf '%0103d' 0)" ping
	holds 'says so' "$(cat "$dir/err")" '*104 octets, and no more than 103*'
	kill -STOP "$daemon"
	exits 'a daemon that hangs' 69 "$claim" --json doctor
	holds 'says so' "$(finding answer)" 'false no answer * -> claimd hangs or is stopped*'
	exits 'ping of one that hangs' 69 "$claim" ping
	exits 'wait for one that hangs' 69 "$claim" wait --timeout 100ms
	kill -CONT "$daemon"
}

# as_other COMMAND...: as somebody whom the mode of a socket concerns.
as_other()
{
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
	else
		"$@"
	fi
}

access()
{
	cp "$claim" "$dir/claim"
	chmod 755 "$dir"
	chmod 0 "$dir/s"
	exits 'not for us' 69 as_other "$dir/claim" --json doctor
	holds 'who may' "$(finding socket)" "false $dir/s is for * and group * (mode 0000); you are * -> run it as *"
	exits 'not for us, any verb' 69 as_other "$dir/claim" status
	holds 'says what' "$(head -n 1 "$dir/err")" '*Permission denied'
	holds 'and who may' "$(cat "$dir/err")" '*(mode 0000); you are*claim: run it as *'
	chmod 700 "$dir/run"
	exits 'a folder' 69 as_other "$dir/claim" --json --socket "$dir/run/claimd/claimd.sock" doctor
	[ "$(id -u)" -eq 0 ] || { chmod 660 "$dir/s"; return; } # a user cannot take from himself what follows
	holds 'which folder' "$(finding socket)" "false $dir/run is for root*(mode 0700)*a folder that others may enter"
	chgrp 1 "$dir/s"
	chmod 660 "$dir/s"
	exits 'a group' 69 as_other "$dir/claim" --json doctor
	holds 'which to join' "$(finding socket)" "false * and group $(getent group 1 | cut -d: -f1) (mode 0660); you are * -> join group *log in again: usermod -aG *"
	exits 'in the group' 0 setpriv --reuid 65534 --regid 1 --clear-groups "$dir/claim" ping
}

waiting()
{
	exits 'ping --store' 0 "$claim" ping --store
	exits 'ping as JSON' 0 "$claim" --json ping --store
	same 'is a document' '1 OK' "$(jq -r '"\(.format) \(.word)"' "$dir/out")"
	scripted <<-'END'
		accept
		hello
		want STATUS
		say STATUS phase=serving store_up=no
		eof
	END
	exits 'no store' 69 "$claim" --socket "$dir/fake" ping --store
	holds 'says so' "$(cat "$dir/err")" '*its store is not*'
	scripted <<-'END'
		accept
		hello
		want STATUS
		say STATUS phase=draining store_up=yes
		eof
	END
	exits 'leaving' 69 "$claim" --socket "$dir/fake" --json ping --store
	same 'as JSON' 'ERR' "$(jq -r .word "$dir/out")"
	scripted <<-'END'
		accept
		hello
		want STATUS
		say STATUS phase=serving store_up=no
		want STATUS
		say STATUS phase=serving store_up=yes
		eof
	END
	exits 'wait --store' 0 "$claim" --socket "$dir/fake" wait --store
	daemon_kill
	exits 'wait in vain' 69 "$claim" wait --timeout 50ms
	holds 'says so' "$(cat "$dir/err")" '*waited for * in vain*nobody listens*'
	"$claim" wait >"$dir/out" 2>"$dir/err" &
	waiter=$!
	pids="$pids $waiter"
	until_ok 'it says so after a while' grep -q 'still waiting: ' "$dir/err"
	daemon_start memory:
	ends 'wait' 0 "$waiter"
	same 'once' 1 "$(grep -c waiting "$dir/err")"
	exits 'shutdown' 0 "$claim" shutdown --reason 'end of the test'
	ends 'the daemon leaves' 0 "$daemon"
	daemon=
}

leaving()
{
	: >"$dir/claimd.log"
	daemon_start "sqlite:$dir/db"
	exits 'a claim that runs' 0 "$claim" claim busy --lease 1h --owner me
	exits 'shutdown, not for ever' 124 "$claim" shutdown --wait=100ms
	holds 'says so' "$(cat "$dir/err")" '*it still answers those who need it, after 100ms*'
	exits 'it is there' 0 "$claim" ping
	"$bin/claimd" --store memory: 2>"$dir/second"
	same 'a second daemon' 69 $?
	holds 'hears what to do' "$(cat "$dir/second")" '*already listens on *, or is still leaving; claim shutdown --wait*'
	exits 'nobody needs it' 0 "$claim" forget busy --force
	"$claim" shutdown --wait >"$dir/out" 2>"$dir/err"
	same 'it is waited for' 0 $?
	gone "$daemon"
	same 'until it is gone' 0 $?
	wait "$daemon"
	same 'by itself' 0 $?
	same 'and is not kept by who waits' 1 "$(grep -c ' stopping .*why="nobody needs it"' "$dir/claimd.log")"
	daemon=
	exits 'without a daemon' 69 "$claim" shutdown --wait
}

mkdir -p "$dir/run/claimd"
"$bin/claimd" --store memory: --socket "$dir/run/claimd/claimd.sock" 2>/dev/null &
pids="$pids $!"
daemon_start memory:
well
findings
sockets
access
waiting
leaving
finish
