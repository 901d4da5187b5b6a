#!/bin/bash
# library.sh - libclaim as it is installed: found by pkg-config, linked shared and static, from C and C++, its examples run, and its
# symbols, its header and its manual agree.
# shellcheck disable=SC2317 # functions that until_ok calls
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
source=$(cd "${srcdir:-.}" && pwd)
prefix=$dir/prefix
# What make has told those that it runs is not for this one. Only the library is built, shared and static.
unset MAKEFLAGS MFLAGS MAKELEVEL
mkdir "$dir/build"
if [ -e "$source/config.status" ]; then # built in its own folder, from which no other build can be made
	cp -R "$source" "$dir/source" && make -s -C "$dir/source" distclean >/dev/null 2>&1
	source=$dir/source
fi
if ! (cd "$dir/build" && "$source/configure" --quiet --enable-static --without-check --prefix="$prefix" --libdir="$prefix/lib" &&
	make -s -j2 install-libLTLIBRARIES install-includeHEADERS install-nodist_pkgconfigDATA install-man3 install-man-links) >"$dir/install.log" 2>&1; then
	cat "$dir/install.log"
	echo 'FAILED make install'
	exit 1
fi
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
cd "$dir" || exit 1

# build NAME COMPILER...: compiles and links; what it says is an error.
build()
{
	what=$1
	shift
	out=$("$@" 2>&1)
	same "$what builds without a word" "0:" "$?:$out"
}

# shellcheck disable=SC2046 # words
{
	build 'the blocking example' cc -Wall -Wextra -Werror "$source/contrib/examples/blocking/once.c" $(pkg-config --cflags --libs claim) -o once
	build 'it, static' cc -static "$source/contrib/examples/blocking/once.c" $(pkg-config --static --cflags --libs claim) -o once-static
	build 'the loop example' cc -Wall -Wextra -Werror "$source/contrib/examples/uvloop/loop.c" $(pkg-config --cflags --libs claim libuv) -o loop
	cat >plain.cc <<'END'
#include <claim.h>
int main()
{
	claim_options options = CLAIM_OPTIONS_INIT;
	claim_once_options once = CLAIM_ONCE_INIT;
	claim_conn *conn;
	(void)options;
	return claim_open(&conn, nullptr, nullptr, 1000) == CLAIM_OK ? (claim_close(conn), once.ran) : 1;
}
END
	build 'a C++ program' c++ -Wall -Wextra -Wpedantic -Werror plain.cc $(pkg-config --cflags --libs claim) -o plain
	echo '#include <claim.h>' >alone.c
	for std in c99 c11 c17; do
		build "the header in $std" cc -std=$std -Wall -Wextra -Wpedantic -Werror -fsyntax-only $(pkg-config --cflags claim) alone.c
	done
}
./plain
same 'the C++ program runs' 0 $?
case $(ldd ./once) in *libclaim.so.0*) shared=yes ;; *) shared=no ;; esac
same 'the shared library is used' yes $shared
same 'the static one needs nothing' 'not a dynamic executable' "$(ldd ./once-static 2>&1 | tr -d '\t')"

# The examples, on a daemon.
"$bin/claimd" --store memory: >"$dir/claimd.log" 2>&1 &
daemon=$!
until_ok 'the daemon starts' "$claim" ping
same 'each order is placed once' 'placed A1
placed A2
known  A1' "$(printf 'A1\nA2\nA1\n' | ./once)"
same 'also by another process, linked static' 'known  A2
placed A3' "$(printf 'A2\nA3\n' | ./once-static)"
same 'many at once in a loop' 'B1 done
B1 was done before
B2 done' "$(./loop B1 B2 B1 | sort)"
holds_key()
{
	[ "$("$claim" --json status "$1" | jq -r .state)" = claimed ]
}

# long KEY: a job that would take too long.
long()
{
	WORK_MS=60000 ./loop "$1" >long 2>&1 &
	job=$!
	pids="$pids $job"
	until_ok "$1 is worked on" holds_key "$1"
}
long C1
"$claim" resolve C1 --as free --force >/dev/null
ends 'a job that loses its claim is stopped' 1 "$job"
same 'and that is said' 'C1 lost' "$(cat long)"
long C2
{ kill -KILL "$daemon" && wait "$daemon"; } 2>/dev/null
"$bin/claimd" --store memory: >>"$dir/claimd.log" 2>&1 &
daemon=$!
until_ok 'another daemon starts' "$claim" ping
ends 'one whose daemon forgot it as well' 1 "$job"
same 'and that is said, too' 'C2 lost' "$(cat long)"
long C3
{ kill -KILL "$daemon" && wait "$daemon"; } 2>/dev/null
daemon=
ends 'one that cannot be renewed' 1 "$job"
same 'and that as well' 'C3 lost' "$(cat long)"
same 'without a daemon nothing is placed' '' "$(printf 'A4\n' | ./once 2>"$dir/err")"
holds 'and that is said' "$(cat "$dir/err")" '*again  A4*'
./loop B3 >/dev/null 2>&1
same 'nor in the loop' 1 $?

# What is exported, declared and described.
nm -D --defined-only "$prefix/lib/libclaim.so" | sed 's/^[^ ]* //; /^A LIBCLAIM_0$/d; s/^T //; s/@@LIBCLAIM_0$//' | sort >exported
sed -n 's/^	\(claim_[a-z_]*\);$/\1/p' "$source/client/claim.map" | sort >mapped
cc -E -P "$source/client/claim.h" | tr -d '\n' | tr ';' '\n' | grep 'visibility' | sed -n 's/.*\b\(claim_[a-z_]*\)(.*/\1/p' | sort -u >declared
sed -n 's/^\.Fn \(claim_[a-z_]*\).*/\1/p; s/.*[ *]\(claim_[a-z_]*\)(.*/\1/p' "$source/man/libclaim.3" | sort -u >described
[ -s exported ]
same 'something is exported' 0 $?
same 'exported is what the map says' '' "$(diff exported mapped)"
same 'declared is what is exported' '' "$(diff exported declared)"
same 'described is what is declared' '' "$(diff declared described)"
# man finds the page by the name of each call.
same 'each has a page' '' "$(while read -r name; do cmp "$prefix/share/man/man3/$name.3" "$source/man/libclaim.3" 2>&1; done <mapped)"
# The constants, and the fields that a caller sets.
{
	cc -E -P "$source/client/claim.h" | tr -d '\n' | grep -o 'enum [a-z_]* {[^}]*}' | grep -o 'CLAIM_[A-Z_]*'
	sed -n '/^struct claim_[a-z_]*options {/,/^}/p' "$source/client/claim.h" | sed 's|/\*.*||' | grep -o '[a-z_]*)(\|[a-z_]*;' | tr -d ');('
} | sort -u >named
[ "$(grep -c . named)" -gt 40 ]
same 'constants and fields are found' 0 $?
while read -r name; do
	grep -q "\b$name\b" "$source/man/libclaim.3" || echo "$name"
done <named >missing
same 'each is described' '' "$(cat missing)"
finish
