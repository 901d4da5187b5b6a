#!/bin/sh
# manual.sh - every option of --help is in the manual, and the manual has no option that --help does not know; the same for verbs
# and for settings, with their defaults.
set -u
srcdir=${srcdir:-.}
bin=${BIN:-$PWD}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
passed=0
failed=0

# both NAME: $dir/help and $dir/page list the same words.
both()
{
	sort -u "$dir/help" >"$dir/help.sorted"
	sort -u "$dir/page" >"$dir/page.sorted"
	[ -s "$dir/help.sorted" ] || { echo "FAILED $1: --help lists nothing"; failed=$((failed + 1)); }
	only=$(comm -3 "$dir/help.sorted" "$dir/page.sorted")
	if [ -z "$only" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'FAILED %s: left only in --help, right only in the manual:\n%s\n' "$1" "$only"
	fi
}

# Options that begin a line.
options()
{
	sed -n 's/^ *\(-[a-zA-Z], \)\{0,1\}\(--[a-z][a-z0-9-]*\).*/\2/p'
}

# section PAGE NAME: the lines of a section or subsection of a page's source.
section()
{
	awk -v name="$2" '/^\.S[hs] / { on = substr($0, 5) == name } on' "$1"
}

# The options that a list describes.
items()
{
	sed -n 's/^\.It.* Fl \\\{0,1\}-\([a-z][a-z0-9-]*\).*/--\1/p'
}

page=$srcdir/man/claim.1
"$bin/claim" --help | sed -n '/^verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p' >"$dir/help"
sed -n 's/^\.Ss claim \([a-z]*\)$/\1/p' "$page" >"$dir/page"
both 'verbs of claim'
verbs=$(cat "$dir/help")
for verb in $verbs; do
	"$bin/claim" "$verb" --help | sed '/^everywhere:/,$d' | options >"$dir/help"
	section "$page" "claim $verb" | items >"$dir/page"
	[ -s "$dir/help" ] || [ -s "$dir/page" ] || { passed=$((passed + 1)); continue; }
	both "options of claim $verb"
done
"$bin/claim" --help | options >"$dir/help"
section "$page" 'OPTIONS EVERYWHERE' | items >"$dir/page"
both 'options of claim everywhere'

# Settings are in claimd.conf.5, whose names have other dashes; claimd.8 may repeat one.
conf=$srcdir/man/claimd.conf.5
"$bin/claimd" --help | sed '/^Other options:/,$d' | options >"$dir/help"
sed -n 's/^\.It Cm \([a-z_]*\) No = .*/--\1/p' "$conf" | tr _ - >"$dir/page"
both 'settings of claimd'
sort -u "$dir/page" >"$dir/settings"
"$bin/claimd" --help | sed -n '/^Other options:/,$p' | options >"$dir/help"
items <"$srcdir/man/claimd.8" | sort -u | comm -23 - "$dir/settings" >"$dir/page"
both 'options of claimd'

# The defaults, but of those that depend on who asks.
env -i HOME=/ "$bin/claimd" --print-config | sed -n '/^# default$/{n;/^socket = /d;/^store = /d;p;}' >"$dir/defaults"
[ -s "$dir/defaults" ] || { failed=$((failed + 1)); echo 'FAILED: no defaults'; }
while IFS=' =' read -r name value; do
	said=$(awk -v name="$name" '/^\.(It Cm|S[hs]) / { on = $3 == name } on' "$conf" | sed -n '/The default is/,$p' | sed -n 's/^\.[LC][im] \([^ ]*\).*/\1/p' | head -n 1)
	if [ "$said" = "$value" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAILED: the default of $name is $value, the manual says \"$said\""
	fi
done <"$dir/defaults"

# The environment of the command that is run.
"$bin/claim" --version | grep -q '^claim [0-9]' && passed=$((passed + 1)) || failed=$((failed + 1))
for name in CLAIM_KEY CLAIM_FENCE CLAIM_TOKEN CLAIM_OWNER CLAIM_ATTEMPT CLAIM_WAS CLAIM_LEASE_MS CLAIMD_SOCKET IDEMPOTENCY_KEY CLAIMD_DISABLED; do
	if grep -q "^\.It Ev $name" "$page"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAILED: $name is not in the manual"
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
