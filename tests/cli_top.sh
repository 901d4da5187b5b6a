#!/bin/sh
# cli_top.sh - `claim top` in a terminal, which it leaves as it was, and without one.
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
TERM=xterm
export TERM
unset NO_COLOR

# typed NAME CODE COMMAND... <script
typed()
{
	what=$1
	wanted=$2
	shift 2
	timeout 100 "$bin/tests/pty" "$@" >"$dir/out" 2>"$dir/err"
	got=$?
	same "$what" "$wanted" "$got"
	[ "$wanted" = "$got" ] || { cat -v "$dir/out"; cat "$dir/err"; }
}

# The terminal's settings before and after; and that what was hidden is shown again, as the last that is done.
cat >"$dir/around" <<'END'
#!/bin/sh
stty -g >"$1/before"
shift
trap : INT
"$@"
status=$?
stty -g >"${0%/*}/after"
exit $status
END
chmod +x "$dir/around"

given_back()
{
	same "$1: the settings" "$(cat "$dir/before")" "$(cat "$dir/after")"
	rm -f "$dir/before" "$dir/after"
	leave=$(printf '\033[?7h\033[?25h\033[?1049l')
	same "$1: the screen" yes "$(case $(cat "$dir/out") in *"$leave"*) echo yes ;; esac)"
	same "$1: is taken once and left once" "1 1" \
		"$(grep -ao '\[?1049h' "$dir/out" | wc -l | tr -d ' ') $(grep -ao '\[?1049l' "$dir/out" | wc -l | tr -d ' ')"
}

in_a_terminal()
{
	exits 'a claim' 0 "$claim" claim red --owner somebody --lease 1h
	exits 'an odd one' 0 "$claim" claim "$(printf '\343\202\255\343\203\274 \033[31m\302\233 \377')" --lease 1h
	exits 'a lapsed one' 0 "$claim" claim gone --lease 1ms
	exits 'an unknown one' 0 "$claim" claim lost --lease 1ms --lapse unknown
	typed 'q' 0 "$dir/around" "$dir" "$claim" top <<-END
		size 100 24
		expect serving
		expect unknown
		expect lost
		expect lapsed
		expect gone
		expect live
		expect somebody
		expect red
		expect \\x1b[31m\\xc2\\x9b \\xff
		type q
		end
	END
	given_back q
	for sig in 2 15 1; do
		typed "signal $sig" 0 "$claim" top <<-END
			size 100 24
			expect somebody
			signal $sig
			end
		END
		holds "signal $sig: gives it back" "$(cat "$dir/out")" "*$(printf '\033[?7h\033[?25h\033[?1049l')"
	done
	typed '^C' 0 "$dir/around" "$dir" "$claim" top <<-END
		size 100 24
		expect somebody
		key C
		end
	END
	given_back '^C'
	# What changes is shown without a key; a resize at once, also while the daemon says nothing.
	typed 'it goes on' 0 "$claim" top <<-END
		size 100 24
		expect somebody
		run $claim claim later --owner newcomer
		expect newcomer
		run $claim forget later --force
		type q
		end
	END
	typed 'a resize' 0 "$claim" top <<-END
		size 100 24
		expect somebody
		run kill -STOP $daemon
		size 30 4
		expect STATE    KEY
		size 100 3
		expect OWNER
		size 1 1
		expect [1;1H
		size 72 8
		expect OWNER
		run kill -CONT $daemon
		type q
		end
	END
	typed 'keys' 0 "$claim" top <<-END
		size 100 6
		expect 1 to 2 of 4
		type j
		expect 2 to 3 of 4
		type b
		expect 1 to 2 of 4
		type f
		expect 3 to 4 of 4
		type ^[[A
		expect 2 to 3 of 4
		type ^[[6~
		expect 3 to 4 of 4
		type ^[[5~
		expect 1 to 2 of 4
		type x
		type q
		end
	END
	# The daemon goes and comes back.
	typed 'without the daemon' 0 "$claim" top <<-END
		size 100 24
		expect somebody
		run kill -KILL $daemon
		expect cannot reach
		run "$bin/claimd" --store memory: >/dev/null 2>&1 & echo \$! >$dir/pid; $claim wait && $claim claim again --owner phoenix
		expect phoenix
		type q
		end
	END
	daemon=$(cat "$dir/pid")
	typed 'job control' 0 bash --norc --noprofile -i <<-END
		size 100 24
		expect ready>
		send stty -g >$dir/before; $claim top
		expect phoenix
		key Z
		expect [?1049l
		expect Stopped
		send [ "\$(stty -g)" = "\$(cat $dir/before)" ] && echo the sa''me
		expect the same
		send fg
		expect [?1049h
		expect phoenix
		type q
		expect ready>
		send [ "\$(stty -g)" = "\$(cat $dir/before)" ] && echo agai''n
		expect again
		send exit 0
		end
	END
}

# More than fits, and more than is asked for.
many()
{
	awk 'BEGIN { for (i = 0; i < 1200; i++) printf "CLAIM m:%04d owner=me lease=1h\n", i; print "QUIT" }' >"$dir/many"
	socat -t 20 - "UNIX-CONNECT:$CLAIMD_SOCKET" <"$dir/many" >"$dir/out"
	same '1200 claims' 1200 "$(grep -c '^WON' "$dir/out")"
	exits 'top' 0 "$claim" top
	same 'shows 1000' 1000 "$(grep -c '^live ' "$dir/out")"
	holds 'and that there are more' "$(cat "$dir/out")" '*1000+ live*there are more: claim ls*'
	exits 'with a prefix' 0 "$claim" top --prefix m:11
	same 'only those' 100 "$(grep -c ' m:[0-9]' "$dir/out")"
}

without()
{
	exits 'no terminal' 0 "$claim" top
	holds 'is one look' "$(head -n 1 "$dir/out")" 'claimd * serving * store up *'
	same 'without colour' 0 "$(grep -c "$(printf '\033')" "$dir/out")"
	exits 'JSON' 0 "$claim" --json top --prefix phoenix
	same 'is one document' '1 TOP object array 0' "$(jq -r '"\(.format) \(.word) \(.daemon|type) \(.claims|type) \(.more)"' "$dir/out")"
	typed 'a dumb terminal' 0 env TERM=dumb "$claim" top <<-END
		expect serving
		end
	END
	same 'is written to like a file' 0 "$(grep -c "$(printf '\033')" "$dir/out")"
	typed 'NO_COLOR' 0 env NO_COLOR=1 "$claim" ls <<-END
		end
	END
	same 'no colour' 0 "$(grep -c "$(printf '\033')" "$dir/out")"
	typed 'colour' 0 "$claim" ls <<-END
		end
	END
	holds 'in a terminal' "$(cat "$dir/out")" "*$(printf '\033[1m')STATE*"
	daemon_kill
	exits 'no daemon' 69 "$claim" top
	holds 'what to do' "$(cat "$dir/err")" '*start claimd*'
	typed 'no daemon, in a terminal' 69 "$dir/around" "$dir" "$claim" top <<-END
		expect [?1049l
		expect start claimd
		end
	END
	given_back 'no daemon'
}

PS1='ready> '
export PS1
daemon_start memory:
in_a_terminal
many
without
finish
