#!/bin/sh
# cli_faults.sh - a daemon that stalls, cuts, answers half, refuses or talks nonsense, and what `claim` makes of it: nothing is run
# without WON, nothing that may have happened is asked twice unsafely, nothing that has happened is forgotten.
# shellcheck disable=SC2016 # the commands that are run expand their own variables
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
# shellcheck source=tests/cli_peer.sh
. "$(dirname "$0")/cli_peer.sh"

won='say WON fence=77 lease_ms=30000 attempts=1 was=new'

# script NAME: a scripted daemon for what follows.
script()
{
	name=$1
	peer
}

# The peer saw what its script wants; and the command ran or not.
check()
{
	peer_ok "$name"
	same "$name: the command ran" "$1" "$(ran)"
}

claim_run()
{
	exits "$name" "$@"
}

no_win()
{
	script 'a word never heard of' <<-END
		accept
		hello
		want CLAIM key *
		say WONDERFUL fence=77 lease_ms=30000
		eof
	END
	claim_run 69 "$claim" run key -- touch "$dir/ran"
	check no
	script 'WON without a fence' <<-END
		accept
		hello
		want CLAIM key *
		say WON lease_ms=30000
		eof
	END
	claim_run 69 "$claim" run key -- touch "$dir/ran"
	check no
	script 'WON as an event' <<-END
		accept
		hello
		want CLAIM key *
		say * WON fence=77 key=key
		say HELD fence=77 left_ms=5
		eof
	END
	claim_run 75 "$claim" run key -- touch "$dir/ran"
	check no
	for word in OK 'STATUS state=done' 'ITEM key=key' 'STALE state=done'; do
		script "$word is no answer to CLAIM" <<-END
			accept
			hello
			want CLAIM key *
			say $word
			eof
		END
		claim_run 69 "$claim" run key -- touch "$dir/ran"
		check no
		script "$word by hand" <<-END
			accept
			hello
			want CLAIM key *
			say $word
			eof
		END
		claim_run 69 "$claim" claim key
		check no
	done
	script 'no daemon at all' <<-END
		accept
		want HELLO *
		say HTTP/1.1 400 Bad Request
		close
		accept
	END
	claim_run 69 "$claim" run key -- touch "$dir/ran"
	check no
	script 'a refused namespace' <<-END
		accept
		want HELLO * ns=other
		say ERR denied retry=no msg=not%20yours
		eof
	END
	claim_run 78 "$claim" --namespace other run key -- touch "$dir/ran"
	check no
	holds "$name: why" "$(cat "$dir/err")" '*not yours*'
	script 'the store is down' <<-END
		accept
		hello
		want CLAIM key *
		say ERR store retry=safe after_ms=60000 msg=full
		eof
	END
	claim_run 69 "$claim" run key -- touch "$dir/ran"
	check no
}

# The same token on each repeat, and the win of the first copy counts.
cut()
{
	script 'cut before the answer' <<-END
		accept
		hello
		want CLAIM key *
		close
		accept
		hello
		want CLAIM key *
		raw WON fence=77 lease_
		close
		accept
		hello
		want CLAIM key *
		say WON fence=77 lease_ms=29000 attempts=1 was=own
		want COMPLETE key fence=77 token=* body=19
		close
		accept
		hello
		want COMPLETE key fence=77 token=* body=19
		say ERR timeout retry=maybe msg=slow
		want COMPLETE key fence=77 token=* body=19
		say ERR store retry=safe after_ms=1 msg=full
		want COMPLETE key fence=77 token=* body=19
		say OK state=done fence=77 ttl_ms=1000
		eof
	END
	claim_run 0 "$claim" run key -- touch "$dir/ran"
	check yes
	same 'one token' 1 "$(grep -o 'token=[^ ]*' "$dir/peer" | sort -u | wc -l)"
	same 'and it has 32 digits' 1 "$(grep -o 'token=[0-9a-f]*' "$dir/peer" | sort -u | grep -c '^token=.\{32\}$')"
	script 'busy at first' <<-END
		accept
		hello
		want CLAIM key *
		say ERR starting retry=safe after_ms=10 msg=wait
		want CLAIM key *
		$won
		want COMPLETE key *
		say OK state=done fence=77 ttl_ms=1000
		eof
	END
	claim_run 0 "$claim" run key -- touch "$dir/ran"
	check yes
	same 'one token' 1 "$(grep -o 'CLAIM.*token=[^ ]*' "$dir/peer" | sort -u | wc -l)"
}

# After the effect nothing turns back: the status is that of the command, and it is said loudly.
not_recorded()
{
	script 'taken over while it ran' <<-END
		accept
		hello
		want CLAIM key *
		$won
		want COMPLETE key *
		say STALE fence=78 state=claimed
		eof
	END
	claim_run 0 "$claim" run --report "$dir/report" key -- touch "$dir/ran"
	check yes
	holds "$name: loud" "$(cat "$dir/err")" '*SUCCEEDED, BUT THAT IS NOT RECORDED*taken over*'
	holds "$name: the report" "$(cat "$dir/report")" 'RAN exit=0 * recorded=0 *'
	script 'the daemon is gone for good' <<-END
		accept
		hello
		want CLAIM key *
		$won
		want COMPLETE key *
	END
	claim_run 0 "$claim" run --lease 1s --report "$dir/report" key -- touch "$dir/ran"
	check yes
	holds "$name: loud" "$(cat "$dir/err")" '*SUCCEEDED, BUT THAT IS NOT RECORDED (*do not run it again; record it: claim complete --fence 77 key'
	holds "$name: the report" "$(cat "$dir/report")" 'RAN exit=0 * recorded=0 *'
	script 'the record refuses' <<-END
		accept
		hello
		want CLAIM key *
		$won
		want COMPLETE key *
		say ERR store retry=no msg=unreadable
		want DOUBT key fence=77 token=*
		say OK state=unknown fence=77
		eof
	END
	claim_run 0 "$claim" run key -- touch "$dir/ran"
	check yes
	holds "$name: loud" "$(cat "$dir/err")" '*NOT RECORDED (unreadable)*'
	script 'the result is not kept' <<-END
		accept
		hello
		want CLAIM key *
		$won
		want COMPLETE key *
		say OK state=done fence=77 ttl_ms=1000 kept=0
		eof
	END
	claim_run 0 "$claim" run key -- touch "$dir/ran"
	check yes
	holds "$name: said" "$(cat "$dir/err")" '*results are not kept*'
}

# Renewals: asked again after a refusal, refused for good by STALE, and a broken line is no confirmation.
renewals()
{
	script 'a renewal that is put off' <<-END
		accept
		hello
		want CLAIM key *
		say WON fence=77 lease_ms=3000 attempts=1 was=new
		want RENEW key fence=77 token=* lease=3000ms notify
		say ERR busy retry=safe after_ms=10 msg=later
		want RENEW key fence=77 token=* lease=3000ms notify
		close
		accept
		hello
		want RENEW key fence=77 token=* lease=3000ms notify
		say OK state=claimed fence=77 left_ms=3000
		touch $dir/go
		want COMPLETE key *
		say OK state=done fence=77 ttl_ms=1000
		eof
	END
	rm -f "$dir/go"
	claim_run 0 "$claim" run --lease 3s key -- sh -c 'touch "$1/ran"; while [ ! -e "$1/go" ]; do sleep 0.02; done' sh "$dir"
	check yes
	script 'a renewal that is refused' <<-END
		accept
		hello
		want CLAIM key *
		say WON fence=77 lease_ms=3000 attempts=1 was=new
		want RENEW key *
		say STALE fence=78 state=claimed
		want RELEASE key fence=77 token=*
		say STALE fence=78 state=claimed
		eof
	END
	claim_run 125 "$claim" run --lease 3s key -- sh -c 'touch "$1/ran"; exec sleep 100' sh "$dir"
	check yes
	holds "$name: said" "$(cat "$dir/err")" '*refused to renew*claimed with fence 78*'
	script 'a renewal that is never answered' <<-END
		accept
		hello
		want CLAIM key *
		say WON fence=77 lease_ms=1000 attempts=1 was=new
		want RENEW key *
		raw OK state=claimed fence=77 left_ms=1000
		want RELEASE key fence=77 token=*
		close
		accept
		hello
		want RENEW key fence=77 token=*
		say STALE state=absent
		want RELEASE key fence=77 token=*
		say STALE state=absent
		eof
	END
	claim_run 125 "$claim" run --lease 1s key -- sh -c 'touch "$1/ran"; exec sleep 100' sh "$dir"
	check yes
}

# It gave up at the cut; had it asked again it would say that nobody is there now.
once()
{
	holds "$name: said" "$(cat "$dir/err")" '*closed the connection. It may have been done or not*'
}

# The plain verbs: what is not safe to ask twice is not.
plain()
{
	script 'forget is not repeated' <<-END
		accept
		hello
		want FORGET key
		close
	END
	claim_run 69 "$claim" forget key
	check no
	once
	script 'resolve is not repeated' <<-END
		accept
		hello
		want RESOLVE key as=free force
		close
	END
	claim_run 69 "$claim" resolve key --as free --force
	check no
	once
	script 'a claim without a token is not repeated' <<-END
		accept
		hello
		want CLAIM key owner=*
		close
	END
	claim_run 69 "$claim" claim key
	check no
	once
	script 'with one it is' <<-END
		accept
		hello
		want CLAIM key token=0123456789abcdef owner=*
		close
		accept
		hello
		want CLAIM key token=0123456789abcdef owner=*
		say WON fence=77 lease_ms=30000 attempts=1 was=own
		eof
	END
	claim_run 0 "$claim" claim key --token 0123456789abcdef
	check no
	script 'complete is repeated' <<-END
		accept
		hello
		want COMPLETE key fence=77 body=3
		close
		accept
		hello
		want COMPLETE key fence=77 body=3
		say OK state=done fence=77 ttl_ms=1000
		eof
	END
	claim_run 0 sh -c "printf abc | '$claim' complete key --fence 77 --result-file -"
	check no
	script 'a list that is cut' <<-END
		accept
		hello
		want LIST limit=1000
		say ITEM key=a state=done fence=1 age_ms=1
		close
	END
	claim_run 69 "$claim" ls
	check no
	script 'ping waits a second' <<-END
		accept
		hello
		want PING
		eof
	END
	claim_run 69 "$claim" ping
	check no
	script 'an unknown word is no yes' <<-END
		accept
		hello
		want CLAIM key *
		say WONDERFUL
		eof
	END
	claim_run 69 "$claim" claim key
	check no
}

no_win
cut
not_recorded
renewals
plain
finish
