#!/bin/bash
# settings.sh - what --check-config finds, that it changes nothing, and that a start says the same and ends with the same status.
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
unset CLAIMD_SOCKET # each daemon is told where it listens
socket=$dir/s

# A folder to start in: what is made there is seen.
mkdir "$dir/here"
cd "$dir/here" || exit 1

# both NAME CODE TEXT ARGS...: --check-config and a start with these arguments end so, and say that.
both()
{
	what=$1
	code=$2
	text=$3
	shift 3
	exits "$what, checked" "$code" timeout 20 "$bin/claimd" --check-config "$@"
	holds "$what, checked: says" "$(cat "$dir/err")" "*$text*"
	same "$what, checked: does not say it is good" '' "$(cat "$dir/out")"
	exits "$what, started" "$code" timeout 20 "$bin/claimd" "$@"
	holds "$what, started: says" "$(cat "$dir/err")" "*$text*"
}

nothing_made()
{
	same "$1: nothing is made" '' "$(ls -A "$dir/here")"
}

# ---- what is good, and stays as it is ----

exits 'all is well' 0 "$bin/claimd" --check-config --socket "$dir/here/run/s" --store "sqlite:$dir/here/state/db"
same 'and it says so' 'claimd: the settings are good' "$(cat "$dir/out")"
same 'and nothing else' '' "$(cat "$dir/err")"
exits 'the default store, with all its folders' 0 env STATE_DIRECTORY="$dir/here/a/b/c" "$bin/claimd" --check-config --socket "$socket"
nothing_made 'a check'
"$bin/claimd" --socket "$socket" --store "sqlite:$dir/here/db" 2>"$dir/log" &
daemon=$!
until_ok 'a daemon runs' "$claim" --socket "$socket" ping
fence=$("$claim" --socket "$socket" claim k | sed -n 's/.*fence=\([0-9]*\).*/\1/p')
exits 'its settings are good while it runs' 0 "$bin/claimd" --check-config --socket "$socket" --store "sqlite:$dir/here/db"
exits 'and it has its store and its socket' 0 "$claim" --socket "$socket" complete k --fence "$fence"
both_run=$("$bin/claimd" --socket "$socket" --store memory: 2>&1)
same 'a second daemon may get the place later' 69 $?
holds 'a second daemon: says' "$both_run" '*another claimd already listens*'
daemon_kill
exits 'a store that is there' 0 "$bin/claimd" --check-config --socket "$socket" --store "sqlite:$dir/here/db"
rm "$dir/here"/* "$dir/s"*

# ---- what is wrong ----

both 'no such store' 78 'claimd: --store: no store has this URL' --socket "$socket" --store nothing:x
both 'no path' 78 'claimd: --store: *needs a path' --socket "$socket" --store sqlite:
both 'a path with options' 78 'there is a ? in its path' --socket "$socket" --store 'sqlite:x?y'
both 'more than memory' 78 'nothing behind it' --socket "$socket" --store memory:x
both 'a folder that is mistyped' 78 "mkdir -p $dir/here/their" --socket "$socket" --store "sqlite:$dir/here/their/new/db"
both 'a folder as a file' 78 "$dir/here is a folder" --socket "$socket" --store "sqlite:$dir/here"
echo 'no database, but a text that is longer than the head of a database would be' >"$dir/file"
both 'a file as a folder' 78 "$dir/file/db: Not a directory" --socket "$socket" --store "sqlite:$dir/file/db"
both 'no database' 78 "$dir/file is not an SQLite database" --socket "$socket" --store "sqlite:$dir/file"
{ printf 'SQLite format 3\0'; head -c 52 /dev/zero; printf abcd; } >"$dir/theirs"
both "another program's" 78 "$dir/theirs is an SQLite database of another program" --socket "$socket" --store "sqlite:$dir/theirs"
echo lost >"$dir/gone-wal"
both 'a store that was lost' 78 "$dir/gone is gone or empty, but not its -wal" --socket "$socket" --store "sqlite:$dir/gone"
both 'no such group' 78 'claimd: --socket-group: there is no group "no-such-group-here"' \
	--socket "$socket" --store memory: --socket-group no-such-group-here
both 'no such user' 78 'claimd: --allow-uid: there is no user "no-such-user-here"' \
	--socket "$socket" --store memory: --allow-uid no-such-user-here
both 'a path that is too long for a socket' 78 'at most 103' --store memory: --socket "$dir/$(printf '%0104d' 0)"
both "a socket's folder that is mistyped" 78 "claimd: --socket: *mkdir -p $dir/here/their" --store memory: --socket "$dir/here/their/run/s"
both 'a file in the place of the socket' 78 "$dir/file is there and is no socket" --store memory: --socket "$dir/file"
both 'a file in the place of the second socket' 78 "claimd: --admin: $dir/file is there and is no socket" \
	--store memory: --socket "$socket" --admin "$dir/file"
both 'no such file of settings' 78 "$dir/none: No such file" --config "$dir/none"
both 'no such file with a secret' 78 "claimd: --store-file: $dir/none: No such file" --socket "$socket" --store-file "$dir/none"
nothing_made 'what is wrong'

# What another setting does not have to change can heal: so says the exit status. Root may do everything, so it becomes another.
as_other=()
[ "$(id -u)" -ne 0 ] || as_other=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod 755 "$dir"
cp "$bin/claimd" "$dir/claimd"
mkdir "$dir/closed" "$dir/open"
: >"$dir/secret"
chmod 555 "$dir/closed"
chmod 777 "$dir/open"
chmod 0 "$dir/secret"
closed="$dir/closed: Permission denied; run claimd as a user that may, or choose another path"
exits 'a folder for others' 69 "${as_other[@]}" "$dir/claimd" --check-config --socket "$dir/open/s" --store "sqlite:$dir/closed/db"
same 'a folder for others: says' "claimd: --store: $closed" "$(cat "$dir/err")"
exits "a socket's folder for others" 69 "${as_other[@]}" "$dir/claimd" --check-config --socket "$dir/closed/s" --store memory:
same "a socket's folder for others: says" "claimd: --socket: $closed" "$(cat "$dir/err")"
exits "a socket's folder for others, started" 69 "${as_other[@]}" timeout 20 "$dir/claimd" --socket "$dir/closed/s" --store memory:
holds "a socket's folder for others, started: says" "$(cat "$dir/err")" '*start_failed *lock: Permission denied; run claimd as*'
exits 'a file for others' 78 "${as_other[@]}" "$dir/claimd" --check-config --socket "$dir/open/s" --store-file "$dir/secret"
holds 'a file for others: says' "$(cat "$dir/err")" "*$dir/secret: Permission denied; make it readable*"
"${as_other[@]}" "$dir/claimd" --socket "$dir/open/s" --store "sqlite:$dir/closed/db" 2>"$dir/log" &
daemon=$!
until_ok 'a daemon whose store may heal' "$claim" --socket "$dir/open/s" ping
until_ok 'it is logged before anybody asks for something' grep -q store_down "$dir/log"
exits 'refuses' 69 "$claim" --socket "$dir/open/s" claim k
holds 'and says what to do' "$(grep store_down "$dir/log")" '*Permission denied; run claimd as a user that may*'
same 'once' 1 "$(grep -c store_down "$dir/log")"
daemon_kill
chmod 700 "$dir/closed"
[ -e "$dir/closed/db" ]
same 'nothing is made there' 1 $?

# ---- all of it, and where it stands ----

cat >"$dir/conf" <<END
leese = 1m
socket_mode = 999

store = nothing:
END
exits 'all at once' 78 env CLAIMD_TTL=1 CLAIMD_STOER=memory: "$bin/claimd" --config "$dir/conf" --check-config \
	--log-level loud --socket "$dir/file" --fast
same 'all at once: says' "claimd: $dir/conf:1: no setting \"leese\"; did you mean lease?
claimd: $dir/conf:2: socket_mode: \"999\" is no mode: octal digits, at most 0777
claimd: CLAIMD_TTL: \"1\" is no time: a whole number with ms, s, m, h or d, such as 30s, or never
claimd: --log-level: \"loud\" is not debug, info, warn or error
claimd: no setting \"--fast\"; see --help
claimd: $dir/conf:4: store: no store has this URL; there are memory: and sqlite:PATH
claimd: --socket: $dir/file is there and is no socket; remove it, or choose another path
claimd: the variable CLAIMD_STOER is no setting and is not used; did you mean CLAIMD_STORE?" "$(cat "$dir/err")"
exits 'what is overridden' 0 env CLAIMD_STORE=memory: "$bin/claimd" --check-config --socket "$socket"
exits 'what is refused is looked at no further' 78 env CLAIMD_STORE=nothing "$bin/claimd" --check-config --socket "$socket"
same 'refused: says' 'claimd: CLAIMD_STORE: no URL: it begins with its kind and a colon, such as sqlite:/var/lib/claimd/claimd.sqlite' "$(cat "$dir/err")"

# A variable that is no setting is a mistake for a check, and a warning for a start, which others may depend upon.
exits 'a stranger, checked' 78 env CLAIMD_STOER=x "$bin/claimd" --check-config --socket "$socket" --store memory:
exits 'what is no stranger' 0 env CLAIMD_DISABLED=1 CLAIMD_PORT=tcp://10.0.0.1:80 "$bin/claimd" --check-config --socket "$socket" --store memory:
env CLAIMD_STOER=x "$bin/claimd" --socket "$socket" --store memory: --on-store-down run-unguarded --lease 1s --ttl 1s 2>"$dir/log" &
daemon=$!
until_ok 'a stranger, started' "$claim" --socket "$socket" ping
holds 'it is warned of' "$(cat "$dir/log")" '* warn *CLAIMD_STOER is no setting *did you mean CLAIMD_STORE*'
holds 'and of work done twice' "$(cat "$dir/log")" '* warn *on_store_down is run-unguarded*twice*'
holds 'and of a lease that is too short' "$(cat "$dir/log")" '* warn *lease (1s) is below twice store_timeout (5s)*'
daemon_kill
exits 'warnings, checked' 0 "$bin/claimd" --check-config --socket "$socket" --store memory: --ttl 1m
same 'warnings, checked: says' \
	'claimd: warning: ttl (1m) is shorter than lease (15m): a settled key is forgotten while copies still run' "$(cat "$dir/err")"
finish
