#!/bin/bash
# recipes.sh - each recipe of claim-recipes(7), cut out of the page and run as it stands, against a daemon of its own.
#
#   tests/recipes.sh [NAME...]     all recipes, or those named
#
# Only the outside world is a stand-in: the work itself, queues, banks, mail. A recipe NAME is tested by a function recipe_NAME below; one
# without is a fault, and so is an example in the page that is not called a recipe.
# shellcheck disable=SC2016,SC2317 # commands that expand their own variables; functions that are called by name
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
page=$(cd "${srcdir:-.}" && pwd)/man/claim-recipes.7
table=$(cd "${srcdir:-.}" && pwd)/contrib/cron/crontab
for program in jq socat sqlite3; do
	command -v $program >/dev/null || { echo "recipes: $program is not there"; exit 77; }
done
mkdir "$dir/recipe" "$dir/bin" "$dir/tmp"
PATH=$dir/recipe:$dir/bin:$bin:$PATH
W=$dir # for the stand-ins
TMPDIR=$dir/tmp
export PATH W TMPDIR

# The literal blocks below a line with the recipe's name, without the escapes of the page.
awk -v to="$dir/recipe/" '
	/^\.\\" recipe: / { name = $3; next }
	/^\.Bd -literal/ { if (name == "") print "FAILED line " FNR ": an example without a name"; out = to name; next }
	/^\.Ed/ { if (out != "") close(out); name = out = ""; next }
	out != "" {
		gsub(/\\e/, "\\"); gsub(/\\\(dq/, "\""); gsub(/\\-/, "-"); gsub(/\\&/, "")
		print >out
	}' "$page" >"$dir/unnamed"
same 'each example is a recipe' '' "$(cat "$dir/unnamed")"
chmod +x "$dir"/recipe/*

# ---- the outside world ----

# stand_in NAME <SCRIPT
stand_in()
{
	{ echo '#!/bin/sh'; cat; } >"$dir/bin/$1"
	chmod +x "$dir/bin/$1"
}

# Work: notes that it was done, says by whom, waits while there is a file "stop", and ends as the file "how" says, once.
work()
{
	stand_in "$1" <<-'END'
		name=${0##*/}
		echo "$name $*" >>"$W/effects"
		cat >/dev/null
		until [ ! -e "$W/stop" ]; do sleep 0.02; done
		[ -e "$W/how" ] || { echo "$name $* by $$"; exit 0; }
		how=$(cat "$W/how")
		rm "$W/how"
		eval "$how"
	END
}

# effects TEXT: how often something was done.
effects()
{
	grep -cx "$1" "$dir/effects" 2>/dev/null
}

fence_of()
{
	"$claim" --json status "$1" | jq .fence
}

# A key that nobody knows about.
doubt()
{
	"$claim" claim "$1" --lapse unknown >/dev/null
	"$claim" doubt "$1" --fence "$(fence_of "$1")" >/dev/null
}

# A person is told.
logging()
{
	stand_in logger <<-'END'
		echo "$*" >>"$W/alerts"
	END
}

alerted()
{
	grep -c "$1" "$dir/alerts" 2>/dev/null
}

# ---- the recipes ----

# told NAME WANTED ARGUMENT...: what to do with a delivery after claim run ARGUMENT...
told()
{
	local name=$1 wanted=$2
	shift 2
	rm -f "$dir/report"
	"$claim" run --report "$dir/report" "$@" >/dev/null 2>&1
	same "$name" "$wanted" "$(outcome $? "$dir/report")"
}

recipe_outcome()
{
	echo 1 >"$dir/one"
	echo 2 >"$dir/two"
	told 'WON' ack o1 --fp "$dir/one" -- true
	told 'DONE' ack o1 -- true
	told 'MISMATCH' refuse o1 --fp "$dir/two" -- true
	told 'it failed' later o2 -- sh -c 'exit 3'
	told 'its own 64' later o2 -- sh -c 'exit 64'
	told 'its own 65' later o2 -- sh -c 'exit 65'
	told 'its own 79' later o2 -- sh -c 'exit 79'
	told 'it is not there' later o2 -- "$dir/nowhere"
	told 'burned' ack o2 --fail-on 3 -- sh -c 'exit 3'
	told 'FAILED' ack o2 -- true
	"$claim" claim o3 >/dev/null
	told 'HELD' later o3 -- true
	told 'in doubt' alert o4 --lapse unknown -- sh -c 'kill -KILL $$'
	told 'UNKNOWN' alert o4 -- true
	told 'no key' refuse '' -- true
	told 'too long a key' refuse "$(printf '%01025d' 1)" -- true
	told 'a mistake of the script' alert o6 --lease 30 -- true
	told 'and of the key as well' alert '' --lease 30 -- true
	told 'ERR' later o5 --socket "$dir/nowhere" -- true
	echo 'RAN exit=0 fence=4 attempts=1 settled=complete recorded=0 status=0' >"$dir/report"
	same 'done and not recorded' ack "$(outcome 0 "$dir/report")"
}

# call BODY: a call of the webhook, its answer in $dir/out.
call()
{
	printf '%s' "$1" | webhook >"$dir/out" 2>"$dir/err"
}

# answers NAME STATUS
answers()
{
	same "$1" "Status: $2" "$(head -n 1 "$dir/out")"
}

recipe_webhook()
{
	work place-order
	touch "$dir/stop"
	printf '{"order": "A1", "sku": "x", "amount": 5, "sent": 1}' | webhook >"$dir/first" 2>/dev/null &
	local first=$!
	pids="$pids $first"
	until_ok 'it is being placed' effects 'place-order A1'
	call '{"order": "A1", "sku": "x", "amount": 5, "sent": 2}'
	answers 'while it is being placed' '503 Later'
	holds 'and when to come again' "$(cat "$dir/out")" '*Retry-After: 5*'
	rm "$dir/stop"
	wait "$first"
	call '{"amount": 5, "order": "A1", "sent": 3, "sku": "x"}'
	answers 'placed' '200 OK'
	same 'both have the same answer' "$(cat "$dir/first")" "$(cat "$dir/out")"
	holds 'which is that of the work' "$(tail -n 1 "$dir/out")" 'place-order A1 by [0-9]*'
	call '{"order": "A1", "sku": "x", "amount": 50}'
	answers 'another order' '422 Another Order Has This Number'
	for body in '{"order": "", "amount": 5}' '{"amount": 5}' '[]' 'order' ''; do
		call "$body"
		answers "no key: $body" '400 No Order'
	done
	same 'placed once' 1 "$(effects 'place-order A1')"
	echo 'exit 1' >"$dir/how"
	call '{"order": "A2"}'
	answers 'it failed' '503 Later'
	call '{"order": "A2"}'
	answers 'and was tried again' '200 OK'
	doubt orders:A3
	call '{"order": "A3"}'
	answers 'nobody knows' '503 Unknown'
	same 'a person is told' 1 "$(alerted 'orders:A3')"
	same 'and nothing is done' 0 "$(effects 'place-order A3')"
	CLAIMD_SOCKET=$dir/nowhere call '{"order": "A4"}'
	answers 'no daemon' '503 Later'
	same 'nothing of it is left' '' "$(ls "$dir/tmp")"
}

# What both queues deliver: JSON bodies, a line each.
deliveries='{"order": "Q1", "sku": "x", "amount": 5, "sent": 1}
{"sent": 2, "amount": 5, "sku": "x", "order": "Q1"}
{"order": "Q1", "sku": "x", "amount": 50}
{"amount": 5}
no JSON
{"order": "Q2"}
{"order": "Q3"}
{"order": "Q4"}
{"order": "Q4"}'

# Q2 is held, Q3 in doubt, and the first attempt at Q4 fails.
queue_starts()
{
	rm -f "$dir/calls"
	printf '%s\n' "$deliveries" >"$dir/queue"
	echo 0 >"$dir/n"
	stand_in place-order <<-'END'
		echo "place-order $*" >>"$W/effects"
		[ "$1 $(grep -c Q4 "$W/effects")" != 'Q4 1' ]
	END
	for key in orders:Q1 orders:Q2 orders:Q3 orders:Q4; do
		"$claim" forget --force "$key" >/dev/null 2>&1
	done
	"$claim" claim orders:Q2 >/dev/null
	doubt orders:Q3
}

queue_ends()
{
	same 'placed once each, but for the one that failed' 'place-order Q1 place-order Q4 place-order Q4' "$(xargs <"$dir/effects")"
	same 'nothing of it is left' '' "$(ls "$dir/tmp")"
}

recipe_sqs()
{
	# aws sqs VERB --queue-url QUEUE ...; the receipt handle is the number of the delivery. The first time nothing came.
	stand_in aws <<-'END'
		verb=$2 queue=$4
		shift 4
		if [ "$verb" != receive-message ]; then
			case $2 in file://*) set -- "$1" "$(cat "${2#file://}")" ;; esac
			echo "$queue $verb $*" >>"$W/calls"
			exit
		fi
		[ -s "$W/queue" ] || exit 255
		n=$(($(cat "$W/n") + 1))
		echo $n >"$W/n"
		[ $n != 1 ] || exit 0
		sed -n 1p "$W/queue" | jq -R "{Messages: [{ReceiptHandle: \"r$n\", Body: .}]}"
		sed -i 1d "$W/queue"
	END
	queue_starts
	QUEUE=q DEAD=d sqs >"$dir/out" 2>"$dir/err"
	later='--visibility-timeout 30'
	same 'what it says to the queue' "q delete-message --receipt-handle r2
q delete-message --receipt-handle r3
d send-message --message-body {\"order\": \"Q1\", \"sku\": \"x\", \"amount\": 50}
q delete-message --receipt-handle r4
d send-message --message-body {\"amount\": 5}
q delete-message --receipt-handle r5
d send-message --message-body no JSON
q delete-message --receipt-handle r6
q change-message-visibility --receipt-handle r7 $later
q change-message-visibility --receipt-handle r8 $later
q change-message-visibility --receipt-handle r9 $later
q delete-message --receipt-handle r10" "$(cat "$dir/calls")"
	same 'a person is told' 1 "$(alerted orders:Q3)"
	queue_ends
}

recipe_pubsub()
{
	# gcloud pubsub subscriptions VERB SUBSCRIPTION ...
	stand_in gcloud <<-'END'
		verb=$3
		shift 3
		[ "$verb" = pull ] || { echo "$verb $*" >>"$W/calls"; exit; }
		[ -s "$W/queue" ] || exit 1
		n=$(($(cat "$W/n") + 1))
		echo $n >"$W/n"
		[ $n != 1 ] || { echo '[]'; exit 0; }
		sed -n 1p "$W/queue" | jq -R "[{ackId: \"r$n\", message: {data: @base64}}]"
		sed -i 1d "$W/queue"
	END
	queue_starts
	SUBSCRIPTION=s pubsub >"$dir/out" 2>"$dir/err"
	same 'what it says to the queue' 'ack s --ack-ids r2
ack s --ack-ids r3
modify-ack-deadline s --ack-ids r4 --ack-deadline 600
modify-ack-deadline s --ack-ids r5 --ack-deadline 600
modify-ack-deadline s --ack-ids r6 --ack-deadline 600
modify-ack-deadline s --ack-ids r7 --ack-deadline 30
modify-ack-deadline s --ack-ids r8 --ack-deadline 600
modify-ack-deadline s --ack-ids r9 --ack-deadline 30
ack s --ack-ids r10' "$(cat "$dir/calls")"
	same 'a person is told' '3 1' "$(alerted refuse) $(alerted 'orders:Q3: alert')"
	queue_ends
}

recipe_raw()
{
	work send-mail
	exits 'a mail' 0 raw m1
	exits 'a copy' 0 raw m1
	same 'sent once' 1 "$(effects 'send-mail m1')"
	same 'it is done' 'done' "$(state mail:m1)"
	echo 'exit 1' >"$dir/how"
	exits 'it fails' 0 raw m2
	same 'and may be tried again' free "$(state mail:m2)"
	"$claim" claim mail:m3 >/dev/null
	exits 'held' 75 raw m3
	holds 'and when to come again' "$(cat "$dir/err")" 'held; again in [1-9]* ms'
	doubt mail:m4
	exits 'nobody knows' 69 raw m4
	for id in '' 'a b' 'a%20b' 'x
SHUTDOWN' 'a=b'; do
		exits "what would need an escape: $id" 64 raw "$id"
	done
	same 'none of these was sent' 0 "$(effects 'send-mail m[34]')"
	stand_in sleep <<-'END'
		echo "$1" >>"$W/slept"
	END
	CLAIMD_SOCKET=$dir/nowhere exits 'no daemon' 69 raw m5
	same 'it asked again and again' '1 2 3 4 5' "$(xargs <"$dir/slept")"
	same 'and did not send' 0 "$(effects 'send-mail m5')"
	# The first answer is lost on the way.
	stand_in socat <<-END
		[ -e "$dir/lost" ] && exec $(command -v socat) "\$@"
		$(command -v socat) "\$@" >"$dir/lost"
	END
	exits 'a lost answer' 0 raw m7
	holds 'it had won' "$(cat "$dir/lost")" 'WON *'
	same 'sent once' 1 "$(effects 'send-mail m7')"
	rm "$dir/bin/socat"
	echo "kill -KILL $daemon" >"$dir/how"
	exits 'no daemon, afterwards' 0 raw m6
	holds 'it is loud' "$(cat "$dir/err")" '*mail:m6: NOT RECORDED: no answer'
	rm "$dir/bin/sleep"
	wait "$daemon" 2>/dev/null
	daemon_start memory:
}

# jobs: the table without what it says to cron of the environment.
jobs()
{
	grep -Ev '^(#|[A-Z_]+=)' "$dir/recipe/cron"
}

# as_cron STATUS NUMBER: runs a job of the table as cron does: without the five fields of its time, and with no environment but what cron has
# and the table sets. The programs and the socket are not where they are elsewhere.
as_cron()
{
	jobs | sed -n "$2p" | sed -E 's/^([0-9*,/-]+ ){5}//; s/\\%/%/g' >"$dir/line"
	# shellcheck disable=SC2046 # words
	exits "line $2" "$1" env -i HOME=/ SHELL=/bin/sh PATH=/usr/bin:/bin W="$dir" $(sed -n '/^[0-9*]/q; /^[A-Z_]*=/p' "$dir/recipe/cron" |
		sed "s|^PATH=|PATH=$dir/bin:$bin:|; s|=/run/claimd/claimd.sock$|=$CLAIMD_SOCKET|") /bin/sh "$dir/line"
}

recipe_cron()
{
	work dump
	work tick
	same 'it is the one of contrib' "$(cat "$table")" "$(cat "$dir/recipe/cron")"
	same 'each has five fields, claim, and no % of its own' 0 \
		"$(jobs | grep -Evc '^([0-9*,/-]+ ){5}claim ([^%]|\\%)*$')"
	as_cron 0 2
	as_cron 0 2
	same 'of the copy nothing is said' '' "$(cat "$dir/out" "$dir/err")"
	same 'the others do not work in the same minute' 1 "$(effects 'tick ')"
	echo 'exit 1' >"$dir/how"
	as_cron 1 1
	as_cron 0 1
	same 'nor of what may not be tried yet' '' "$(cat "$dir/out" "$dir/err")"
	same 'it failed, and nobody tries again at once' 1 "$(effects 'dump ')"
	"$claim" forget --force "dump:$(date +%F)" >/dev/null
	as_cron 0 1
	as_cron 0 1
	same 'one dump' 2 "$(effects 'dump ')"
	same 'this day is done' 'done' "$(state "dump:$(date +%F)")"
	same 'of the copy nothing is said' '' "$(cat "$dir/out" "$dir/err")"
}

# Somebody waits for a key.
one_waits()
{
	[ "$("$claim" --json status | jq .waiting)" = 1 ]
}

recipe_backup_files()
{
	mkdir "$dir/folder" "$dir/target"
	echo precious >"$dir/folder/file"
	"$claim" claim "disk:$dir/folder" --lease 1h >/dev/null
	backup-files "$dir/folder" "$dir/target" >/dev/null 2>&1 &
	local backup=$!
	pids="$pids $backup"
	until_ok 'it waits for the disk' one_waits
	same 'and has not begun' '' "$(ls "$dir/target")"
	"$claim" release "disk:$dir/folder" --fence "$(fence_of "disk:$dir/folder")" >/dev/null
	ends 'it is done' 0 "$backup"
	exits 'a second one' 0 backup-files "$dir/folder" "$dir/target"
	same 'there is one file' 1 "$(find "$dir/target" -type f | wc -l)"
	same 'with what was there' precious "$(tar -xOf "$dir"/target/[1-9]*[0-9].tar ./file)"
	same 'the disk is free' free "$(state "disk:$dir/folder")"
}

# A copy that was made while the daemon works; then more is done, and the file is lost.
recipe_backup_store()
{
	local fence
	daemon_kill
	daemon_start "sqlite:$dir/kept"
	exits 'done before' 0 "$claim" run before -- true
	doubt doubtful
	exits 'held before' 0 "$claim" claim held --lease 1h
	exits 'no store' 1 backup-store "$dir/nowhere" "$dir/copy"
	same 'is not made' no "$(test -e "$dir/nowhere" && echo yes || echo no)"
	exits 'a copy' 0 backup-store "$dir/kept" "$dir/copy"
	same 'for its user alone' 600 "$(stat -c %a "$dir/copy")"
	exits 'another copy' 0 backup-store "$dir/kept" "$dir/copy"
	exits 'done after' 0 "$claim" run after -- true
	exits 'held after' 0 "$claim" claim late --lease 1h
	fence=$(fence_of late)
	exits 'settled after' 0 "$claim" complete held --fence "$(fence_of held)"
	daemon_kill # which leaves its -wal there
	exits 'the copy comes back' 0 restore-store "$dir/copy" "$dir/kept"
	daemon_start "sqlite:$dir/kept"
	same 'what was, is' 'done unknown claimed' "$(state before) $(state doubtful) $(state held)"
	same 'what came later, is not' 'none none' "$(state after) $(state late)"
	exits 'it is claimed again' 0 "$claim" claim late
	[ "$(fence_of late)" -gt "$fence" ]
	same 'with a higher fence' 0 $?
	exits 'and who held it' 1 "$claim" complete late --fence "$fence"
	holds 'is told so' "$(cat "$dir/out")" 'STALE *'
	same 'the lost one is whole' ok "$(sqlite3 "$dir/kept.lost" 'pragma integrity_check')"
	same 'with what came later' 2 "$(sqlite3 "$dir/kept.lost" "select count(*) from record where cast(key as text) in ('after', 'late')")"
	daemon_kill
	daemon_start memory:
}

# The same test: each is of use only with the other.
recipe_restore_store()
{
	[ -e "$dir/kept.lost" ] || recipe_backup_store
	same 'nothing of it is left' no "$(test -e "$dir/kept.new" && echo yes || echo no)"
}

recipe_mutex()
{
	cat >"$dir/deploy" <<-'END'
		#!/bin/sh
		mkdir "$W/inside" || echo overlap >>"$W/effects"
		until [ ! -e "$W/stop" ]; do sleep 0.02; done
		echo deployed >>"$W/effects"
		rmdir "$W/inside"
	END
	chmod +x "$dir/deploy"
	touch "$dir/stop"
	(cd "$dir" && exec sh recipe/mutex) &
	local one=$!
	until_ok 'it works' test -d "$dir/inside"
	(cd "$dir" && exec sh recipe/mutex) &
	local two=$!
	pids="$pids $one $two"
	until_ok 'the other one waits' one_waits
	rm "$dir/stop"
	ends 'one' 0 "$one"
	ends 'two' 0 "$two"
	same 'one behind the other' 'deployed deployed' "$(xargs <"$dir/effects")"
}

recipe_migrate_and_serve()
{
	local one two
	work migrate
	work serve
	stand_in schema-is <<-'END'
		echo "schema-is $*" >>"$W/effects"
		exit "$(cat "$W/schema")"
	END
	touch "$dir/stop"
	migrate-and-serve 7 </dev/null >/dev/null 2>&1 &
	one=$!
	until_ok 'one migrates' effects 'migrate 7'
	migrate-and-serve 7 </dev/null >/dev/null 2>&1 &
	two=$!
	pids="$pids $one $two"
	until_ok 'the other one waits' one_waits
	same 'nobody serves' 0 "$(effects 'serve ')"
	rm "$dir/stop"
	ends 'one' 0 "$one"
	ends 'two' 0 "$two"
	same 'once, then both serve' 'migrate 7 serve serve' "$(xargs <"$dir/effects")"
	same 'for ever' never "$("$claim" --json status schema:7 | jq -r .ttl_left_ms)"

	echo 'exit 1' >"$dir/how"
	exits 'it fails' 1 migrate-and-serve 8 </dev/null
	doubt schema:9
	echo 2 >"$dir/schema"
	exits 'somewhere between' 79 migrate-and-serve 9 </dev/null
	same 'nobody serves' 2 "$(effects 'serve ')"
	echo 0 >"$dir/schema"
	exits 'it has that version' 0 migrate-and-serve 9 </dev/null
	same 'nobody migrates' 0 "$(effects 'migrate 9')"
	doubt schema:10
	echo 1 >"$dir/schema"
	exits 'it has not' 0 migrate-and-serve 10 </dev/null
	same 'it is migrated' 1 "$(effects 'migrate 10')"
	same 'it was asked for each' 3 "$(effects 'schema-is [0-9]*')"
}

# tool_call CALL
tool_call()
{
	printf '%s\n' "$1" | tool 2>"$dir/err"
}

recipe_tool()
{
	work send-mail
	work rm-everything
	first=$(tool_call '{"run": "r7", "tool": "send-mail", "args": {"to": "ann", "text": "hi"}}')
	holds 'a call' "$first" 'send-mail  by [0-9]*'
	same 'the same call' "$first" "$(tool_call '{"args":{"text":"hi","to":"ann"},"tool":"send-mail","run":"r7","step":9}')"
	same 'sent once' 1 "$(effects 'send-mail ')"
	tool_call '{"run": "r7", "tool": "send-mail", "args": {"to": "bob", "text": "hi"}}' >/dev/null
	tool_call '{"run": "r8", "tool": "send-mail", "args": {"to": "ann", "text": "hi"}}' >/dev/null
	same 'other calls' 3 "$(effects 'send-mail ')"
	tool_call '{"run": "r7", "tool": "rm-everything", "args": {}}'
	same 'what it may not call' 64 $?
	tool_call '{"tool": "send-mail", "args": {}}'
	same 'without a run there is no key' 64 $?
	same 'neither ran' '3 0' "$(effects 'send-mail ') $(effects 'rm-everything ')"
}

recipe_schema()
{
	exits 'the table is made' 0 sqlite3 "$dir/schema.db" <"$dir/recipe/schema"
}

# booked KEY: by which fence.
booked()
{
	sqlite3 "$dir/bookings" "select fence from booking where key = '$1'"
}

recipe_fenced()
{
	sqlite3 "$dir/bookings" <"$dir/recipe/schema"
	exits 'booked' 0 "$claim" run book:7 -- fenced "$dir/bookings"
	same 'with its fence' "$(fence_of book:7)" "$(booked book:7)"
	CLAIM_KEY=book:7 CLAIM_FENCE=$(($(fence_of book:7) - 1)) exits 'a late one' 1 fenced "$dir/bookings"
	CLAIM_KEY=book:7 CLAIM_FENCE=$(fence_of book:7) exits 'the same one again' 1 fenced "$dir/bookings"
	same 'changes nothing' "$(fence_of book:7)" "$(booked book:7)"
	CLAIM_KEY=book:7 CLAIM_FENCE=9007199254740991 exits 'the next one' 0 fenced "$dir/bookings"
	same 'does' 9007199254740991 "$(booked book:7)"
	exits 'a key with a quote' 0 "$claim" run "book:o'7" -- fenced "$dir/bookings"
	CLAIM_KEY=x CLAIM_FENCE=1 exits 'no table' 1 fenced "$dir/empty"
}

# The bank's: it answers what the file "provider" says, a status of HTTP and one of curl, and notes who asks.
bank()
{
	stand_in curl <<-'END'
		echo "$*" | grep -o 'Idempotency-Key: [^ ]*\|amount=.*\|http:.*' | xargs >>"$W/effects"
		read -r code status <"$W/provider"
		printf %s "$code"
		exit "$status"
	END
	export PROVIDER=http://bank.invalid
}

# bank_says HTTP CURL
bank_says()
{
	echo "$1 $2" >"$dir/provider"
	rm -f "$dir/effects"
}

recipe_pay_once()
{
	bank
	bank_says 201 0
	exits 'paid' 0 pay-once 1 500
	exits 'a copy' 0 pay-once 1 500
	same 'once, and they can tell' 'Idempotency-Key: pay:1 amount=500 http://bank.invalid/payments/1' "$(cat "$dir/effects")"
	exits 'another amount' 65 pay-once 1 5000
	for nothing in '402 0' '000 7' '000 6'; do
		bank_says "${nothing% *}" "${nothing#* }"
		exits "not paid: $nothing" 1 pay-once 2 500
		same 'may be tried again' free "$(state pay:2)"
	done
	for perhaps in '000 28' '000 52' '500 0' '409 0'; do
		key=3-${perhaps% *}-${perhaps#* }
		bank_says "${perhaps% *}" "${perhaps#* }"
		exits "perhaps: $perhaps" 137 pay-once "$key" 500
		same 'nobody knows' unknown "$(state "pay:$key")"
		exits 'and still does not' 79 pay-once "$key" 500
		same 'paid once, asked once' '1 1' "$(grep -c amount= "$dir/effects") $(grep -vc amount= "$dir/effects")"
	done
	bank_says 200 0
	exits 'it was paid' 0 pay-once "$key" 500
	same 'and is not again' 0 "$(grep -c amount= "$dir/effects")"
	bank_says 000 28
	exits 'perhaps' 137 pay-once 4 500
	bank_says 404 0
	exits 'it was not' 1 pay-once 4 500
	same 'so it was tried again' 1 "$(grep -c amount= "$dir/effects")"
}

recipe_was_paid()
{
	bank
	export ID=5
	for row in '200 0 0' '404 0 1' '500 0 2' '000 28 2' '000 7 2' '302 0 2'; do
		# shellcheck disable=SC2086 # words
		set -- $row
		bank_says "$1" "$2"
		exits "$1 of HTTP, $2 of curl" "$3" was-paid
	done
}

recipe_settle()
{
	doubt pay:10
	doubt pay:11
	exits 'another fence' 1 settle pay:10 1 'done'
	exits 'it was paid' 0 settle pay:10 "$(fence_of pay:10)" 'done'
	exits 'try again' 0 settle pay:11 "$(fence_of pay:11)" free
	same 'settled' 'done free' "$(state pay:10) $(state pay:11)"
}

# An hour later.
recipe_unresolved()
{
	local faketime fence
	faketime=$(find /usr/lib* -name libfaketimeMT.so.1 2>/dev/null | head -n 1)
	[ -n "$faketime" ]
	same 'libfaketime is there' 0 $?
	# A sanitizer's runtime and faketime do not get on.
	! grep -q -e __asan_init -e __tsan_init "$bin/claimd" || return
	daemon_kill
	daemon_start "sqlite:$dir/db"
	doubt pay:20
	same 'it is too new' '' "$(unresolved)"
	fence=$(fence_of pay:20)
	daemon_kill
	LD_PRELOAD=$faketime FAKETIME=+1h "$bin/claimd" --store "sqlite:$dir/db" >>"$dir/claimd.log" 2>&1 &
	daemon=$!
	until_ok 'the daemon starts' "$claim" ping
	doubt pay:21
	same 'it waits' "pay:20 $fence" "$(unresolved | cut -f 1,2 | tr '\t' ' ')"
	[ "$(unresolved | cut -f 3 | cut -d. -f 1)" -ge 60 ]
	same 'since then' 0 $?
}

daemon_start memory:
[ $# -gt 0 ] || set -- "$dir"/recipe/*
for name in "$@"; do
	name=${name##*/}
	rm -f "$dir"/effects "$dir"/alerts "$dir"/how "$dir"/stop "$dir"/bin/*
	logging
	before=$((passed + failed))
	[ "$(type -t "recipe_${name//-/_}")" != function ] || "recipe_${name//-/_}"
	[ $((passed + failed)) -gt "$before" ]
	same "$name has a test" 0 $?
done
finish
