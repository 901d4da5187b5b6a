#!/bin/bash
# metrics.sh - the metrics as Prometheus reads them: both formats against its own parsers, what is counted end to end, the
# manual, the walk in the background, and the alert rules with their tests.
# shellcheck disable=SC2016,SC2317 # quoted backquotes; functions that until_ok calls
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
source=$(cd "${srcdir:-.}" && pwd)
# Not the program faketime, which would be between us and the daemon.
faketime=$(find /usr/lib* -name libfaketimeMT.so.1 2>/dev/null | head -n 1)

# start COMMAND...: a daemon on a file, run by COMMAND; $at is where it answers HTTP.
start()
{
	"$@" "$bin/claimd" --store "sqlite:$dir/db" --admin 127.0.0.1:0 >"$dir/claimd.log" 2>&1 &
	daemon=$!
	until_ok 'the daemon starts' "$claim" ping
	at=$(sed -n 's/.* admin .* at=//p' "$dir/claimd.log")
}

metrics()
{
	curl -sf --max-time 20 "$@" "http://$at/metrics"
}

# The value of a sample, named with its labels.
value()
{
	metrics | awk -v name="$1" '$1 == name { print $2 }'
}

is_value()
{
	[ "$(value "$1")" = "$2" ]
}

# is_above SAMPLE NUMBER
is_above()
{
	value "$1" | awk -v least="$2" '$1 > least { found = 1 } END { exit !found }'
}

# ask LINE...: sends lines to the daemon, prints what it answers.
ask()
{
	printf '%s\n' "$@" | socat -t 20 - "UNIX:$CLAIMD_SOCKET"
}

# left_below KEY MS
left_below()
{
	[ "$(ask "STATUS $1" | sed -n 's/.* left_ms=\([0-9]*\).*/\1/p')" -lt "$2" ]
}

fence_of()
{
	ask "CLAIM $1" | sed -n 's/^WON .*fence=\([0-9]*\).*/\1/p'
}

for program in promtool curl socat; do
	command -v $program >/dev/null
	same "$program is there" 0 $?
done
[ -n "$faketime" ]
same 'libfaketime is there' 0 $?

start env
# ---- something of everything ----
f=$(fence_of 'key-7g4 owner=owner-7g4 fp=fp-7g4')
same 'the second is held' HELD "$(ask 'CLAIM key-7g4' | cut -d' ' -f1)"
same 'another request' MISMATCH "$(ask 'CLAIM key-7g4 fp=other' | cut -d' ' -f1)"
holds 'complete' "$(ask "COMPLETE key-7g4 fence=$f result=result-7g4")" 'OK *'
holds 'stale' "$(ask "RELEASE key-7g4 fence=$((f + 5))" "RENEW key-7g4 fence=$((f + 5)) lease=1s")" 'STALE *STALE *'
holds 'done' "$(ask 'CLAIM key-7g4')" 'DONE *'
u=$(fence_of lost)
ask "DOUBT lost fence=$u" >/dev/null

# A renewal in the second half of its lease, and a settlement right behind it.
r=$(fence_of 'renewed lease=3s')
until_ok 'half of the lease has passed' left_below renewed 1500
holds 'renewed and settled' "$(ask "RENEW renewed fence=$r lease=3s" "COMPLETE renewed fence=$r")" 'OK *OK *'

for sample in 'claims_total{outcome="won"} 3' 'claims_total{outcome="held"} 1' 'claims_total{outcome="mismatch"} 1' \
	'claims_total{outcome="done"} 1' 'settlements_total{verb="complete",result="ok"} 2' \
	'settlements_total{verb="release",result="stale"} 1' 'settlements_total{verb="doubt",result="ok"} 1' \
	'leases_lost_total{cause="refused"} 1' 'claim_duration_seconds_count 6' 'hold_duration_seconds_count 3' \
	'store_operation_duration_seconds_count{op="claim"} 6' 'store_operation_duration_seconds_count{op="renew"} 2' \
	'store_operation_duration_seconds_count{op="settle"} 4' 'store_up 1' 'unguarded_total 0' 'denied_total 0' \
	'lease_used_ratio_bucket{le="0.5"} 3' 'lease_used_ratio_bucket{le="0.1"} 3' 'lease_used_ratio_count 4'; do
	same "counted: $sample" "${sample##* }" "$(value "claimd_${sample% *}")"
done

# A claim that is bound to its connection is taken through another daemon. Its own renewal shows it: one loss, not two.
coproc bound { socat - "UNIX:$CLAIMD_SOCKET"; }
echo 'CLAIM bound lease=1h notify' >&"${bound[1]}"
read -r -t 20 won <&"${bound[0]}"
"$bin/claimd" --socket "$dir/other.sock" --store "sqlite:$dir/db" >"$dir/other.log" 2>&1 &
other=$!
until_ok 'another daemon starts' "$claim" --socket "$dir/other.sock" ping
exits 'it takes the key away' 0 "$claim" --socket "$dir/other.sock" resolve bound --as free --force
won=${won#WON }
echo "RENEW bound lease=1h ${won%% *}" >&"${bound[1]}"
read -r -t 20 lost <&"${bound[0]}"
read -r -t 20 stale <&"${bound[0]}"
holds 'that is told' "$lost/$stale" '* LOST *cause=taken/STALE *'
same 'as one loss' '1 1' "$(value 'claimd_leases_lost_total{cause="taken"}') $(value 'claimd_leases_lost_total{cause="refused"}')"
# shellcheck disable=SC2154 # coproc sets it
kill "$other" "$bound_PID"
wait "$other" "$bound_PID" 2>/dev/null

# ---- both formats ----
metrics >"$dir/plain"
metrics -H 'Accept: application/openmetrics-text; version=1.0.0, text/plain; q=0.5' -D "$dir/head" >"$dir/open"
holds 'it is OpenMetrics' "$(cat "$dir/head")" '*Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8*'
exits 'promtool check metrics' 0 promtool check metrics <"$dir/plain"
same 'promtool has nothing to say' '' "$(cat "$dir/out" "$dir/err")"
# Prometheus' own parser of OpenMetrics is behind this; it wants to know when.
sed 's/^[^#].*$/& 1700000000/' "$dir/open" >"$dir/timed"
exits 'OpenMetrics for Prometheus' 0 promtool tsdb create-blocks-from openmetrics "$dir/timed" "$dir/blocks"
same 'every sample of it' "$(grep -vc '^#' "$dir/open")" "$(awk 'END { print $5 }' "$dir/out")"
sed '/# EOF/d' "$dir/timed" >"$dir/cut"
promtool tsdb create-blocks-from openmetrics "$dir/cut" "$dir/blocks2" >"$dir/out" 2>&1
same 'what is cut off is refused' 1 $?
same 'nothing that a client chose' 0 "$(cat "$dir/plain" "$dir/open" | grep -c 7g4)"

# The same families on the control socket, by STATS and over HTTP.
families()
{
	sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' | sort
}
families <"$dir/plain" >"$dir/families"
"$claim" stats --prometheus | families >"$dir/stats"
exits 'STATS' 0 diff "$dir/families" "$dir/stats"
curl -sf --max-time 20 --unix-socket "$CLAIMD_SOCKET" http://claimd/metrics | families >"$dir/control"
exits 'the control socket' 0 diff "$dir/families" "$dir/control"

# The manual has each and no other.
sed -n 's/^\.It .*\(claimd_[a-z_]*\).*/\1/p' "$source/man/claimd.8" | sort >"$dir/manual"
exits 'the manual' 0 diff "$dir/families" "$dir/manual"
cat "$dir/out"

# ---- the walk in the background ----
# Looking does not start one: within a minute the counts only grow older.
until_ok 'records are counted' is_above claimd_counts_age_seconds -1
until_ok 'and not again in the same minute' is_above claimd_counts_age_seconds 3
daemon_kill
# A minute later they are counted again. A sanitizer's runtime and faketime do not get on.
if ! grep -q -e __asan_init -e __tsan_init "$bin/claimd"; then
	start env LD_PRELOAD="$faketime" FAKETIME='+0 x60' CLAIMD_REQUEST_TIMEOUT=1h CLAIMD_STORE_TIMEOUT=30m
	until_ok 'records are counted at the start' is_value claimd_unresolved_records 1
	same 'live at the start' 0 "$(value claimd_live_claims)"
	ask 'CLAIM later lease=300d' >/dev/null
	until_ok 'and again after a minute' is_value claimd_live_claims 1
	is_above claimd_oldest_unresolved_age_seconds 0
	same 'the oldest has an age' 0 $?
	daemon_kill
fi

# ---- a store that is gone ----
start env CLAIMD_LEASE=5s
k=$(fence_of kept)
rm "$dir"/db*
holds 'the settlement is not stored' "$(ask "COMPLETE kept fence=$k ttl=1ms")" 'ERR *'
until_ok 'it is kept' is_value claimd_kept_settlements 1
same 'the store is down' 0 "$(value claimd_store_up)"
is_above 'claimd_store_errors_total{error_type="store"}' 0
same 'and its errors are counted' 0 $?
until_ok 'it is given up after lease and ttl' is_value claimd_kept_settlements_given_up_total 1
daemon_kill

# ---- the alert rules ----
rules=$source/contrib/prometheus/claimd.rules.yml
exits 'promtool check rules' 0 promtool check rules "$rules"
exits 'promtool test rules' 0 promtool test rules "${rules%.yml}.test.yml"
cat "$dir/err"
sed -n 's/.*- alert: //p' "$rules" >"$dir/alerts"
[ -s "$dir/alerts" ]
same 'there are alerts' 0 $?
while IFS= read -r alert; do
	grep -q "alertname=\"$alert\"" "${rules%.yml}.test.yml"
	same "$alert is tested" 0 $?
done <"$dir/alerts"
# They look at what there is.
while IFS= read -r name; do
	base=${name%_bucket}
	grep -qx "${base%_count}" "$dir/families"
	same "$name exists" 0 $?
done < <(grep -o 'claimd_[a-z_]*' "$rules" | sort -u)
# What they tell people to type is understood.
while IFS= read -r command; do
	verb=$(echo "$command" | cut -d' ' -f2)
	"$claim" "$verb" --help >"$dir/help" 2>&1
	same "$command: there is this verb" 0 $?
	for option in $(echo "$command" | grep -o -e '--[a-z-]*'); do
		grep -q "^ *$option" "$dir/help"
		same "$command: $option" 0 $?
	done
done < <(tr '\n' ' ' <"$rules" | tr -s ' ' | grep -o '`claim [^`]*`' | tr -d '`' | sort -u)
finish
