#!/bin/sh
# Makes configure from configure.ac. Needs autoconf, automake and libtool.
set -eu
cd "$(dirname "$0")"
mkdir -p build-aux
exec autoreconf --install --warnings=all "$@"
