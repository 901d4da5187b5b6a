#!/bin/sh
# cli_json.sh - the documents of --json, as the manual has them: what comes is JSON, has its version, and its names do not change.
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"

# shape NAME CODE NAMES VERB...: its documents, a line each, have these names in this order.
shape()
{
	what=$1
	code=$2
	names=$3
	shift 3
	exits "$what" "$code" "$claim" --json "$@"
	same "$what: names" "$names" "$(jq -r 'to_entries|map(.key)|join(" ")' "$dir/out" | sort -u)"
	same "$what: version, and a document a line" "$(wc -l <"$dir/out" | tr -d ' ')" "$(jq -c 'select(.format==1 and (.word|type)=="string")' "$dir/out" | wc -l | tr -d ' ')"
}

answers()
{
	shape 'won' 0 'format word key fence lease_ms attempts was' claim a --owner me --fp f
	fence=$(jq .fence "$dir/out")
	shape 'held' 75 'format word key fence left_ms owner age_ms retry_ms' claim a
	shape 'mismatch' 65 'format word key state fence age_ms' claim a --fp other
	shape 'renew' 0 'format word key state fence left_ms' renew a --fence "$fence" --lease 1h
	shape 'check' 0 'format word key state fence left_ms' check a --fence "$fence"
	shape 'status' 0 'format word key state fence attempts age_ms created_ms left_ms ttl_left_ms owner fp lapse' status a
	shape 'stale' 1 'format word key fence state' complete a --fence 1
	shape 'complete' 0 'format word key state fence ttl_ms' complete a --fence "$fence" --result 7
	shape 'done' 1 'format word key fence age_ms result' claim a
	same 'a result is a text' string "$(jq -r '.result|type' "$dir/out")"
	shape 'get' 0 'format word key state fence attempts age_ms created_ms ttl_left_ms owner fp lapse size result' get a
	shape 'ls' 0 'format word key state fence age_ms attempts owner' ls
	shape 'ls of nothing' 0 '' ls --prefix nothing
	shape 'forget' 0 'format word key deleted' forget a
	shape 'notfound' 1 'format word key' status a
	shape 'not there' 1 'format word key' resolve a --as 'done'
	shape 'sweep' 0 'format word deleted more' sweep
	shape 'sweep --dry-run' 0 'format word deleted more' sweep --dry-run
	shape 'ping' 0 'format word' ping
	shape 'ping --store' 0 'format word' ping --store
	shape 'wait' 0 'format word' wait
	shape 'octets' 0 'format word key_base64 fence lease_ms attempts was' claim "$(printf '\377')"
	shape 'an error' 64 'format word key code retry msg' --namespace n claim "$(printf '%01024d' 0)"
	shape 'no daemon' 69 'format word code msg' --socket "$dir/none" ping
	shape 'no daemon, with a key' 69 'format word key code msg' --socket "$dir/none" status a
	exits 'a mistake' 64 "$claim" --json claim
	same 'is no document' '' "$(cat "$dir/out")"
}

larger()
{
	shape 'stats' 0 'format word metrics' stats
	same 'stats: array' 'array name labels value' "$(jq -r '(.metrics|type) + " " + (.metrics[0]|to_entries|map(.key)|join(" "))' "$dir/out")"
	exits 'a claim' 0 "$claim" claim b
	shape 'top' 0 'format word daemon claims more' top --prefix b
	same 'top: array' 'array key state fence attempts age_ms left_ms owner' "$(jq -r '(.claims|type) + " " + (.claims[0]|to_entries|map(.key)|join(" "))' "$dir/out")"
	shape 'top of nothing' 0 'format word daemon claims more' top --prefix nothing
	same 'top of nothing: array' array "$(jq -r '.claims|type' "$dir/out")"
	"$claim" --json doctor >"$dir/out"
	same 'doctor' 'format word checks array name ok text next' "$(jq -r '(to_entries|map(.key)|join(" ")) + " " + (.checks|type) + " " + (.checks[0]|to_entries|map(.key)|join(" "))' "$dir/out")"
	exits 'the daemon' 0 "$claim" --json status
	holds 'the daemon: at least' "$(jq -r 'to_entries|map(.key)|join(" ")' "$dir/out")" 'format word version phase store store_up * up_ms * counts_age_ms live lapsed done failed free unknown*'
	printf '{"a":1}' >"$dir/json"
	shape 'key' 0 'format word key' key --file "$dir/json"
	same 'key: hex' 64 "$(jq -r '.key|length' "$dir/out")"
}

daemon_start memory:
answers
larger
daemon_kill
finish
