#!/bin/bash
# start.sh - a daemon whose store is not there: which folders it makes, and that it says so when it begins anew.
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"

# run ARGS...: a daemon, with its log in $dir/log.
run()
{
	"$bin/claimd" "$@" >"$dir/log" 2>&1 &
	daemon=$!
	until_ok "the daemon starts" "$claim" ping
}

created()
{
	grep -c store_created "$dir/log"
}

mkdir "$dir/there"
run --store "sqlite:$dir/there/new/db"
until_ok "a new store is told" grep -q "store_created.*path=$dir/there/new/db" "$dir/log"
holds "it is a warning" "$(grep store_created "$dir/log")" "*warn *"
same "and told once" 1 "$(created)"
until_ok "it is up" grep -q " store_up " "$dir/log"
same "and was not down before" 0 "$(grep -c store_down "$dir/log")"
daemon_kill
run --store "sqlite:$dir/there/new/db"
"$claim" claim k >/dev/null
daemon_kill
same "an old one is nothing to tell" 0 "$(created)"

exits "a path that is mistyped higher up" 78 timeout 20 "$bin/claimd" --store "sqlite:$dir/their/new/db"
holds "is told" "$(cat "$dir/err")" "claimd: --store: *mkdir -p $dir/their"
[ ! -e "$dir/their" ]
same "and nothing is made" 0 $?

run --store memory:
exits 'where it listens already' 69 timeout 20 "$bin/claimd" --store "sqlite:$dir/there/other"
holds 'a new store is told all the same' "$(cat "$dir/err")" '*store_created*'
daemon_kill

HOME=$dir/home XDG_STATE_HOME=$dir/home/state STATE_DIRECTORY=$dir/home/a/b/c run
until_ok "the default store has all its folders made" test -e "$dir/home/a/b/c/claimd.sqlite"
until_ok "and that is told" grep -q store_created "$dir/log"
same "once" 1 "$(created)"
daemon_kill

finish
