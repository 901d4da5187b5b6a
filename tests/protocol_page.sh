#!/bin/sh
# protocol_page.sh - the manual page that is made from PROTOCOL.txt: mandoc finds nothing, and nothing of the text is lost.
set -eu
srcdir=${srcdir:-.}
command -v mandoc >/dev/null || { echo "protocol_page: mandoc is not installed"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

awk -f "$srcdir/man/protocol.awk" "$srcdir/proto/PROTOCOL.txt" >"$tmp/claim-protocol.7"
mandoc -Tlint -Wwarning "$tmp/claim-protocol.7"

# Word for word, without the line breaks and the heads; numbers of a list may be set otherwise.
words()
{
	tr -s '[:space:]' '\n' | grep -Ev '^(=+|[0-9]+\.)$' | grep .
}
sed 1d "$srcdir/proto/PROTOCOL.txt" | words >"$tmp/text"
mandoc -Tascii -Owidth=1000 "$tmp/claim-protocol.7" | sed 's/.\x08//g' |
	sed -e '1,/^DESCRIPTION/d' -e '/^SEE ALSO/,$d' | words >"$tmp/page"
diff "$tmp/text" "$tmp/page"
