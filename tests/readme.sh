#!/bin/sh
# readme.sh - what README.md shows under "Try it" does what it says there, typed as it stands, but for the building.
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
command -v socat >/dev/null || { echo 'readme: socat is not there'; exit 77; }

# The first line builds. The daemon ends with the script, whatever happens.
{
	echo 'trap "kill -KILL \$!" EXIT'
	sed -n '/^## Try it$/,/^## The life/s/^    //p' "${srcdir:-.}/README.md" | sed 1d
} >"$dir/typed"
same 'lines to be typed' 7 "$(grep -c . "$dir/typed")"
PATH=$bin:$PATH TMPDIR=$dir timeout 60 sh -e "$dir/typed" >"$dir/out" 2>"$dir/err" </dev/null
same 'each command is content' 0 $?

first=$(sed -n 1p "$dir/out")
holds 'the first run works' "$first" 'sent by process [0-9]*'
same 'the second one has the same output' "$first" "$(sed -n 2p "$dir/out")"
holds 'the status' "$(cat "$dir/out")" '*state *done*'
holds 'the protocol' "$(tail -n 2 "$dir/out")" 'WON fence=[1-9]* lease_ms=1000 attempts=1 was=new
STATUS state=claimed *'
[ "$failed" -eq 0 ] || cat "$dir/typed" "$dir/out" "$dir/err"
finish
