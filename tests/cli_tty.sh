#!/bin/sh
# cli_tty.sh - `claim run` in a terminal: the command gets it and gives it back; ^C and ^Z are for the command and the job around it.
# shellcheck disable=SC2016 # the commands that are run expand their own variables
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"

# typed NAME CODE COMMAND... <script
typed()
{
	what=$1
	wanted=$2
	shift 2
	"$bin/tests/pty" "$@" >"$dir/out" 2>"$dir/err"
	got=$?
	same "$what" "$wanted" "$got"
	[ "$wanted" = "$got" ] || { cat "$dir/out" "$dir/err"; }
}

PS1='ready> '
export PS1
daemon_start memory:

# "foreground" tells whether the process group of the one who asks owns the terminal: columns 5 and 8 of stat.
cat >"$dir/foreground" <<'END'
#!/bin/sh
set -- $(cat "/proc/$$/stat")
[ "$5" = "$8" ] && echo "the terminal is $1:mine" | sed 's/[0-9]*://' || echo 'the terminal is not mine'
END
chmod +x "$dir/foreground"

typed 'the terminal' 0 "$claim" run tty -- sh -c '[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && exec "$1"' sh "$dir/foreground" <<-END
	expect the terminal is mine
	end
END
typed 'reads from it' 0 "$claim" run read -- sh -c 'echo name; read -r name; echo "hello $name"' <<-END
	expect name
	send world
	expect hello world
	end
END
typed 'no terminal for output' 0 sh -c "'$claim' run read2 -- sh -c 'read -r name; echo \"hello \$name\"' | cat" <<-END
	send world
	expect hello world
	end
END
typed '^C' 130 "$claim" run int -- sh -c 'echo go; exec sleep 100' <<-END
	expect go
	key C
	end
END
same 'gives the key back' free "$(state int)"
typed '^C that is caught' 7 "$claim" run int2 -- sh -c 'trap "exit 7" INT; echo go; while :; do sleep 0.02; done' <<-END
	expect go
	key C
	end
END
typed 'the terminal comes back' 0 sh -c "'$claim' run script -- true; echo next; read -r x; echo \"got \$x\"" <<-END
	expect next
	send this
	expect got this
	end
END
# The script around it gets the interrupt as it would without us.
typed '^C ends the script' 130 bash -c '"$1" run int3 -- sh -c "echo go; exec sleep 100"; echo survived' sh "$claim" <<-END
	expect go
	key C
	end
END
same 'which does not go on' 0 "$(grep -c survived "$dir/out")"

# What comes from outside goes to the command here as well.
for signal in TERM INT HUP QUIT USR1 USR2; do
	typed "$signal in a terminal" 7 "$claim" run "tty-$signal" -- sh -c '
		trap "echo got it; exit 7" "$1"; kill -"$1" $PPID; while :; do sleep 0.02; done' sh "$signal" <<-END
		expect got it
		end
	END
	same 'gives the key back' free "$(state "tty-$signal")"
done

# While it waits for the key the terminal is its own: ^C ends it, ^Z stops it, and it is served when it goes on.
fence=$("$claim" --json claim busy --lease 1h | sed 's/.*"fence":\([0-9]*\).*/\1/')
waits='while ! "$1" --json status | grep -q "\"waiting\":1[,}]"; do sleep 0.02; done; echo it wai""ts'
typed '^C while it waits' 130 sh -c "($waits) & exec \"\$1\" run --wait busy -- echo ran" sh "$claim" <<-END
	expect it waits
	key C
	end
END
same 'nothing ran' 0 "$(grep -c '^ran' "$dir/out")"
until_ok 'it has left' sh -c '"$0" --json status | grep -q "\"waiting\":0[,}]"' "$claim"
typed '^Z while it waits' 0 bash --norc --noprofile -i <<-END
	expect ready>
	send set -- $claim; ($waits) & $claim run --wait busy -- echo served it''self
	expect it waits
	key Z
	expect Stopped
	expect ready>
	send $claim release busy --fence $fence; fg
	expect run --wait busy
	expect served itself
	expect ready>
	send exit 0
	end
END
same 'and it was done' 'done' "$(state busy)"

# A shell with job control: stop, continue in the foreground, in the background. The command is one process: a shell that is stopped in the
# middle of a vfork cannot stop.
typed 'job control' 0 bash --norc --noprofile -i <<-END
	expect ready>
	send $claim run job --lease 5s -- sh -c 'echo star''ted; exec sed -u s/^/got:/'
	expect started
	send one
	expect got:one
	key Z
	expect Stopped
	expect ready>
	send jobs -s | grep -c "run job" | sed s/^/count:/; $dir/foreground
	expect count:1
	expect the terminal is mine
	expect ready>
	send fg
	expect run job
	send two
	expect got:two
	key Z
	expect Stopped
	expect ready>
	send bg
	expect run job
	send while ! jobs -s | grep -q "run job"; do sleep 0.05; done; echo again stop''ped
	expect again stopped
	expect ready>
	send fg
	expect run job
	send three
	expect got:three
	key D
	expect ready>
	send exit 0
	end
END
same 'and it was done' 'done' "$(state job)"

# A command in the background that wants to read stops, and its job with it, until it is in front.
typed 'wants to read in the background' 0 bash --norc --noprofile -i <<-END
	expect ready>
	send $claim run back --lease 5s -- sh -c 'read -r x; echo go''t \$x' &
	expect ready>
	send while ! jobs -s | grep -q "run back"; do sleep 0.05; done; echo stop''ped
	expect stopped
	expect ready>
	send fg
	expect run back
	send this
	expect got this
	expect ready>
	send exit 0
	end
END

# A command that is killed leaves the terminal as it was.
typed 'raw mode is undone' 0 bash --norc --noprofile -i <<-END
	expect ready>
	send stty -a | tr ';' '\\n' | grep -c ' icanon' | sed s/^/before:/
	expect before:1
	expect ready>
	send $claim run raw -- sh -c 'stty raw -echo; kill -KILL \$\$'
	expect ready>
	send stty -a | tr ';' '\\n' | grep -c ' icanon' | sed s/^/after:/
	expect after:1
	expect ready>
	send exit 0
	end
END
daemon_kill
finish
