#!/bin/sh
# layers_test.sh - shows that layers.sh and sizes.sh can fail: each fault is planted in a copy of the tree and must be found.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0
failed=0

# finds SCRIPT FILE LINE: with LINE at the end of FILE, SCRIPT must exit 1 and name FILE.
finds()
{
	rm -rf "$tmp/tree"
	mkdir -p "$tmp/tree"
	(cd "$here/.." && cp -R proto server client tests contrib "$tmp/tree")
	[ -f "$tmp/tree/$2" ] || { echo "layers_test: no $2 to plant in"; failed=$((failed + 1)); return; }
	printf '%b\n' "$3" >>"$tmp/tree/$2"
	if "$here/$1" "$tmp/tree" >"$tmp/out" 2>&1 || ! grep -q ": $2" "$tmp/out"; then
		echo "layers_test: $1 did not find this in $2: $3"
		failed=$((failed + 1))
	else
		passed=$((passed + 1))
	fi
}

# The text of a function of so many lines.
long_function()
{
	printf 'static void planted(void)\\n{\\n'
	yes '\t;' | head -n $(($1 - 3)) | sed 's/$/\\n/' | tr -d '\n'
	printf '}'
}

for script in layers.sh sizes.sh; do
	"$here/$script" >"$tmp/out" || { cat "$tmp/out"; echo "layers_test: $script fails on the tree itself"; failed=$((failed + 1)); }
done
finds layers.sh proto/text.h '#include "../server/op.h"'
finds layers.sh proto/parse.c '#include <sqlite3.h>'
finds layers.sh client/sync.c '#include "../server/record.h"'
finds layers.sh client/claim.h '#include <uv.h>'
finds layers.sh server/dispatch.c '#include "../client/claim.h"'
finds layers.sh server/engine.c '#include <uv.h>'
finds layers.sh server/bonds.c '#include "conn.h"'
finds layers.sh server/engine.h '#include "stores/store.h"' # brings uv.h along: found through another header
finds layers.sh server/record.c '#include "op.h"'
finds layers.sh server/record.h '#include <sqlite3.h>'
finds layers.sh server/stores/memory.c '#include "../conn.h"'
finds layers.sh server/stores/store.c '#include "../engine.h"'
finds layers.sh server/server.c '#include <sqlite3.h>'
finds layers.sh server/conn.h 'struct planted { struct nowhere inside; };'
finds sizes.sh server/record.c "$(long_function 101)"
finds sizes.sh server/record.c "$(yes '/* */' | head -n 800 | tr '\n' '@' | sed 's/@/\\n/g')"
echo "layers_test: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
