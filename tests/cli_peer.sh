#!/bin/sh
# cli_peer.sh - a scripted daemon for tests of the command. Sourced behind cli_lib.sh, not run.
# shellcheck disable=SC2154 # cli_lib.sh has the variables

# peer: starts tests/fakepeer; its script comes from standard input.
peer()
{
	cat >"$dir/script"
	rm -f "$CLAIMD_SOCKET" "$dir/ran" "$dir/asked" "$dir/go"
	"$bin/tests/fakepeer" "$CLAIMD_SOCKET" <"$dir/script" >"$dir/peer" 2>"$dir/peer.err" &
	peer=$!
	pids="$pids $peer"
	until_ok 'the peer listens' test -S "$CLAIMD_SOCKET"
}

# scripted: the same at $dir/fake, for what looks first whether somebody listens: that would be its first connection.
scripted()
{
	cat >"$dir/script"
	rm -f "$dir/fake"
	"$bin/tests/fakepeer" "$dir/fake" <"$dir/script" >"$dir/peer" 2>"$dir/peer.err" &
	peer=$!
	pids="$pids $peer"
	until_ok 'the scripted daemon' grep -q " 00010000 .* $dir/fake\$" /proc/net/unix # it listens
}

# peer_ok NAME: it saw what its script wants, to the end.
peer_ok()
{
	ends "$1: what the daemon heard" 0 "$peer"
	cat "$dir/peer.err"
}

# signalled NAME SIGNAL CODE COMMAND...: it gets the signal when the peer has made $dir/asked, and the peer $dir/go then. Its exit code, and what the
# peer heard.
signalled()
{
	phase=$1
	sent=$2
	code=$3
	shift 3
	spawn "$@"
	until_ok "$phase: it has come so far" test -e "$dir/asked"
	kill -"$sent" "$run"
	touch "$dir/go"
	ends "$phase" "$code" "$run"
	peer_ok "$phase"
}
