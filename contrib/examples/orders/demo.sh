#!/bin/bash
# demo.sh - four workers, recorded deliveries, a worker and the daemon killed with kill -9; each order is placed once.
#
#   contrib/examples/orders/demo.sh       CLAIM and CLAIMD: the programs, by default those on the PATH
#
# It needs no answers, works in a folder of its own, ends what it started, and counts whatever it claims at the end:
# exit 1 when one of the counts is not what it must be.
set -u
here=$(cd "$(dirname "$0")" && pwd)
claim=${CLAIM:-claim}
claimd=${CLAIMD:-claimd}
deliveries=$here/deliveries.jsonl
victim=A1200 # the order at which a worker is killed
lease=5s
dir=$(mktemp -d)
export CLAIM=$claim CLAIMD_SOCKET=$dir/claimd.sock ORDERS_LEASE=$lease ORDERS_PAUSE_AT=$victim
unset CLAIMD_DISABLED
passed=0
failed=0
daemon=
workers=()

# ---- parts ----

title()
{
	printf '\n== %s\n' "$*"
}

# Shows a command and what it prints.
show()
{
	printf '$ %s\n' "${*//$claim/claim}"
	"$@" 2>&1 | head -n "${lines:-12}"
}

# same WHAT IS MUST-BE
same()
{
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
		printf '  ok    %s: %s\n' "$1" "$2"
	else
		failed=$((failed + 1))
		printf '  WRONG %s: %s, and it must be %s\n' "$1" "$2" "$3"
	fi
}

give_up()
{
	printf 'demo: %s\n' "$1" >&2
	tail -n 5 "$dir"/*.log >&2
	exit 1
}

# until_true SECONDS WHAT COMMAND...: waits for a condition, never for luck.
until_true()
{
	local end=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -le "$end" ] || give_up "waited in vain for $what"
		sleep 0.02
	done
}

# Lines of a file that match; 0 where it is not there yet.
count()
{
	local n
	n=$(grep -Ec -- "$1" "$2" 2>/dev/null) || n=${n:-0}
	echo "$n"
}

more_than()
{
	[ "$(count "$2" "$3")" -gt "$1" ]
}

start_daemon()
{
	"$claimd" --store "sqlite:$dir/claims.db" 2>>"$dir/claimd.log" &
	daemon=$!
	until_true 20 'the daemon to answer' "$claim" ping
}

# Four workers on one open file: each takes the next line.
start_workers()
{
	local n
	workers=()
	exec 8<"$1"
	for n in 1 2 3 4; do
		# A process group for each, so that what it runs ends with it.
		setsid "$here/worker" "worker-$n" "$dir" <&8 >>"$dir/workers.out" 2>&1 &
		workers+=($!)
	done
	exec 8<&-
}

end()
{
	trap '' EXIT INT TERM
	# By their ids: what this script started, and nothing else. Their files go too: there is nothing to settle or drain.
	[ ${#workers[@]} -eq 0 ] || kill -9 -- "${workers[@]/#/-}" 2>/dev/null
	[ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$dir"
}

trap end EXIT
trap 'exit 130' INT TERM

# ---- the story ----

for program in "$claim" "$claimd" jq; do
	command -v "$program" >/dev/null || { echo "demo: no $program; \`./dev demo\` builds what is missing" >&2; exit 1; }
done
touch "$dir/sink.jsonl" "$dir/acked.jsonl" "$dir/worker.log"
total=$(grep -c '' "$deliveries")
jq -r '.message.data | @base64d' "$deliveries" | jq -Rr 'fromjson? | objects | .order | strings | select(. != "")' | sort >"$dir/wanted.all"
grep -vx A1100 "$dir/wanted.all" | sort -u >"$dir/wanted" # A1100 is paid in money that does not exist

title "$total recorded deliveries of $(wc -l <"$dir/wanted") orders that can be placed; four workers, one claimd on SQLite"
start_daemon
start_workers "$deliveries"

title 'In the middle of it the daemon dies (kill -9), and comes back with the same file'
until_true 60 'deliveries to be worked on' more_than 120 . "$dir/acked.jsonl"
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
until_true 20 'workers to notice' more_than 2 ^down "$dir/worker.log"
echo "acknowledged when it died: $(count . "$dir/acked.jsonl") of $total; turned away while it was gone: $(count ^down "$dir/worker.log"), none of them placed"
start_daemon

title "A worker hangs in the middle of order $victim, and dies there (kill -9): before the effect, with the claim in its hands"
until_true 60 "a worker to reach order $victim" test -f "$dir/sink.jsonl.paused"
read -r place_pid run_pid old_fence <"$dir/sink.jsonl.paused"
owner=$("$claim" status "orders:$victim" --json | jq -r .owner)
case $owner in worker-[1-4]) ;; *) give_up "order $victim is not held by a worker" ;; esac
show "$claim" status "orders:$victim"
show "$claim" ls --state=live
same 'who holds it' "$("$claim" status "orders:$victim" --json | jq -r '"\(.state) fence \(.fence)"')" "claimed fence $old_fence"
victim_pid=${workers[$((${owner#worker-} - 1))]}
kill -9 "$victim_pid" "$run_pid"
wait "$victim_pid" 2>/dev/null
until_true 10 'its child to go with it' eval "! kill -0 $place_pid"
show "$claim" claim "orders:$victim" --lease $lease
same 'another claim while the lease of the dead runs' "$("$claim" claim "orders:$victim" --lease $lease >/dev/null 2>&1; echo $?)" 75
same "order $victim in the sink" "$(count "\"$victim\"" "$dir/sink.jsonl")" 0

title 'The queue delivers again what nobody acknowledged, until nothing is left'
round=1
while :; do
	wait "${workers[@]}" 2>/dev/null
	comm -23 <(sort "$deliveries") <(sort "$dir/acked.jsonl") >"$dir/pending.jsonl"
	[ -s "$dir/pending.jsonl" ] || break
	[ "$SECONDS" -lt 120 ] || give_up "still not acknowledged: $(wc -l <"$dir/pending.jsonl")"
	round=$((round + 1))
	start_workers "$dir/pending.jsonl"
	# What is left waits for the lease of the dead worker: ask again a little later, as a queue would.
	sleep 0.3
done
echo "$round rounds"
show "$claim" status "orders:$victim"
new_fence=$("$claim" status "orders:$victim" --json | jq -r .fence)

title 'The dead worker was only asleep after all: a zombie, with the fence of long ago'
show "$claim" complete "orders:$victim" --fence "$old_fence"
same 'what it is told' "$("$claim" complete "orders:$victim" --fence "$old_fence" 2>&1 | grep -o STALE)" STALE
same 'its exit status' "$("$claim" complete "orders:$victim" --fence "$old_fence" >/dev/null 2>&1; echo $?)" 1
same 'the new fence is higher' "$((new_fence > old_fence))" 1
same 'the fence of the effect' "$(jq -r "select(.order == \"$victim\") | .fence" "$dir/sink.jsonl")" "$new_fence"

title 'Where it all ended'
lines=5 show "$claim" ls --state=done --limit 4
show "$claim" ls --state=failed
lines=6 show "$claim" status

title 'Counted'
placed=$(count ^placed "$dir/worker.log")
duplicates=$(count ^duplicate "$dir/worker.log")
jq -r .order "$dir/sink.jsonl" | sort >"$dir/sunk"
same 'orders placed' "$(sort -u "$dir/sunk" | wc -l)" "$(wc -l <"$dir/wanted")"
same 'orders missing or never asked for' "$(comm -3 <(sort -u "$dir/sunk") "$dir/wanted" | wc -l)" 0
same 'orders placed twice' "$(uniq -d "$dir/sunk" | wc -l)" 0
same 'effects and workers that say so' "$placed" "$(wc -l <"$dir/sunk")"
same 'effects under another fence than the one that was settled' "$(comm -3 <(jq -r '"\(.order) \(.fence)"' "$dir/sink.jsonl" | sort) \
	<("$claim" ls --state=done --limit 1000 --json | jq -r 'select(.key) | "\(.key | ltrimstr("orders:")) \(.fence)"' | sort) | wc -l)" 0
same 'amounts nobody ordered' "$(comm -23 <(jq -r '"\(.order) \(.amount_cents)"' "$dir/sink.jsonl" | sort) \
	<(jq -r '.message.data | @base64d' "$deliveries" | jq -Rr 'fromjson? | objects | "\(.order) \(.amount_cents)"' | sort -u) | wc -l)" 0
same 'deliveries acknowledged' "$(wc -l <"$dir/acked.jsonl")" "$total"
mismatches=$(count ^mismatch "$dir/worker.log")
burned=$(count ^burned "$dir/worker.log")
malformed=$(count ^malformed "$dir/worker.log")
same 'duplicates suppressed' "$duplicates" "$((total - placed - mismatches - burned - malformed))"
same 'malformed deliveries put aside' "$malformed" 3
same 'another order under a number that was taken, put aside' "$((mismatches > 0))" 1
same 'attempts at the order that cannot be placed' "$(count '^failed A1100' "$dir/worker.log")" 3
same 'then it was burned, and its deliveries put aside' "$burned" "$(grep -cx A1100 "$dir/wanted.all")"
same 'claimd: done, failed' "$("$claim" ls --state=done --limit 1000 --json | grep -c '"key"'), $("$claim" ls --state=failed --json | grep -c '"key"')" "$(wc -l <"$dir/wanted"), 1"
same 'claims left hanging' "$(for state in live lapsed unknown; do "$claim" ls --state="$state" --json; done | grep -c '"key"')" 0

printf '\n%s deliveries: %s orders placed once each, %s duplicates suppressed, %s told to wait, %s turned away while the daemon was gone, %s put aside for a person; %s s\n' \
	"$total" "$placed" "$duplicates" "$(count ^held "$dir/worker.log")" "$(count ^down "$dir/worker.log")" \
	"$((mismatches + burned + malformed))" "$SECONDS"
echo "demo: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
