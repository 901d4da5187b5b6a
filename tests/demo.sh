#!/bin/sh
# demo.sh - runs the example of contrib/examples/orders with the programs of this build folder, and its recorded
# deliveries against the script that made them. Called by `make check`.
set -eu
example=$(cd "${srcdir:-.}/contrib/examples/orders" && pwd)
command -v jq >/dev/null || { echo 'demo: jq is not there'; exit 77; }
made=$(jq -n -c -f "$example/make-deliveries.jq" | cksum)
recorded=$(cksum <"$example/deliveries.jsonl")
[ "$made" = "$recorded" ] || { echo 'demo: make-deliveries.jq does not make deliveries.jsonl'; exit 1; }
CLAIM=$PWD/claim CLAIMD=$PWD/claimd exec "$example/demo.sh"
