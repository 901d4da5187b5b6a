#!/bin/bash
# deb.sh - the Debian package: built from the tarball that a person would get, looked at by lintian, then installed, used, upgraded, removed and
# purged on a small Debian of its own, under that one's own systemd and its own users. `./dev deb` calls it; it has to be root.
#
#   tests/deb.sh BUILD     BUILD is a folder in which the tree was configured
#
# The small Debian is a folder, and its processes have their own namespaces; nothing of it is left. Its packages come from where this
# machine's come from.
# shellcheck disable=SC2016,SC2317 # what the small Debian's shells expand; functions that until_ok calls
build=$(cd "$1" && pwd) || exit 64
BIN=$build
export BIN
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
root=$dir/root
[ "$(id -u)" -eq 0 ] || { echo 'deb: this must be done by root'; exit 1; }

end_debian()
{
	[ -z "${manager:-}" ] || kill -KILL "$manager" 2>/dev/null
	wait 2>/dev/null
	[ -z "${cgroup:-}" ] || until_ok 'its cgroups go' remove_cgroups
	lib_end
}
trap end_debian EXIT

remove_cgroups()
{
	find "$cgroup" -depth -type d -exec rmdir {} +
}

# must NAME COMMAND...: without this there is nothing to be tested further.
must()
{
	local what=$1
	shift
	"$@" >"$dir/log" 2>&1 && return
	tail -n 40 "$dir/log"
	failed=$((failed + 1))
	echo "FAILED $what"
	finish
}

# ---- making it ----

build_package()
{
	make -s -C "$build" dist-xz || return 1
	mkdir "$dir/deb" && cd "$dir/deb" && tar -xf "$build"/claimd-*.tar.xz && cd claimd-* || return 1
	[ "$(dpkg-parsechangelog -l contrib/debian/changelog -S Version)" = "${PWD##*/claimd-}" ] || {
		echo 'the version in contrib/debian/changelog is another one'
		return 1
	}
	cp -r contrib/debian debian
	DEB_BUILD_OPTIONS=parallel=$(nproc) dpkg-buildpackage -us -uc -b
}

# The same Debian as this one, from where this one comes from.
make_debian()
{
	local uri codename
	read -r uri codename < <(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' | head -n 1)
	[ -n "$codename" ] || { echo 'apt knows no archive: apt-get update'; return 1; }
	debootstrap --variant=minbase "$codename" "$root" "$uri" || return 1
	# How its archive is reached.
	cp -r /etc/apt/apt.conf.d "$root/etc/apt/"
	cp /etc/resolv.conf /etc/hosts "$root/etc/"
}

debian_made()
{
	wait "$debian" || { cat "$dir/debian.log"; return 1; }
}

in_root()
{
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"
}

install_package()
{
	cp "$dir"/deb/*.deb "$root/opt/"
	in_root apt-get update -qq && in_root sh -c 'apt-get install -y -qq --no-install-recommends /opt/claimd_*.deb /opt/libclaim*.deb'
}

# ---- starting it ----

# Sets manager, a process of ours, and init, its systemd, which has its own view of processes, files, network and cgroups, and no
# way to the settings of the kernel.
boot()
{
	local cgroups
	cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$cgroups" ] || { echo 'deb: there is no cgroup2 here, which systemd needs'; return 1; }
	cgroup=$cgroups/claimd-deb.$$
	mkdir "$cgroup" || return 1
	ln -s /dev/null "$root/etc/systemd/system/getty.target"
	sh -c 'echo $$ >"$1/cgroup.procs" && exec unshare --mount --pid --fork --kill-child --cgroup --uts --ipc --net sh -euc "$2" sh "$3"' \
		sh "$cgroup" '
		mount --bind "$1" "$1"
		mount -t proc proc "$1/proc"
		mount --bind "$1/proc/sys" "$1/proc/sys"
		mount -o remount,bind,ro "$1/proc/sys"
		mount -t sysfs -o ro sys "$1/sys"
		mount -t cgroup2 none "$1/sys/fs/cgroup"
		mount -t tmpfs -o mode=755 run "$1/run"
		exec env -i container=chroot PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$1" /lib/systemd/systemd --show-status=no' \
		"$root" >"$dir/boot.log" 2>&1 &
	manager=$!
	until_ok 'its systemd is a process' find_init || return 1
	until_ok 'it has started' within systemctl is-active multi-user.target
	active claimd.socket claimd.service || { within systemctl status claimd.socket claimd.service; return 1; }
}

# The child of ours that became systemd.
find_init()
{
	init=$(cat "/proc/$manager/task/$manager/children")
	init=${init% }
	[ "$(cat "/proc/$init/comm")" = systemd ]
}

# Runs something inside, as root.
within()
{
	nsenter -t "$init" -m -p -C -u -i -n -r -w env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
}

# as USER COMMAND...: inside, as one of its users.
as()
{
	local user=$1
	shift
	within setpriv --reuid="$user" --regid="$user" --init-groups "$@"
}

main_pid()
{
	within systemctl show -P MainPID claimd.service
}

active()
{
	[ "$(within systemctl is-active "$@" | sort -u)" = active ]
}

restarts()
{
	within systemctl show -P NRestarts claimd.service
}

restarted_since()
{
	[ "$(restarts)" -gt "$1" ] && active claimd.service
}

# drop_in TEXT: what `systemctl edit claimd` would write; without a text, it is taken back.
drop_in()
{
	rm -rf "$root/etc/systemd/system/claimd.service.d"
	[ $# -eq 0 ] || { mkdir "$root/etc/systemd/system/claimd.service.d" && printf '%s\n' "$1" >"$root/etc/systemd/system/claimd.service.d/override.conf"; }
	within systemctl daemon-reload
}

# settings LINE...: those of the package and these.
settings()
{
	cp "$dir"/deb/claimd-*/contrib/systemd/claimd.conf "$root/etc/claimd.conf"
	printf '%s\n' 'drain_timeout = 1s' "$@" >>"$root/etc/claimd.conf" # its clients here can wait
	within systemctl restart claimd 2>/dev/null # one that cannot start is what is looked for, once
}

# ---- what holds ----

as_its_user()
{
	same 'both are enabled' 'enabled enabled' "$(within systemctl is-enabled claimd.socket claimd.service | xargs)"
	same 'it runs as its user' claimd "$(within stat -c %U "/proc/$(main_pid)")"
	same 'the socket is for its group' 'claimd:claimd 660' "$(within stat -c '%U:%G %a' /run/claimd/claimd.sock)"
	same 'the store is its own' 'claimd:claimd 700' "$(within stat -c '%U:%G %a' /var/lib/claimd)"
	same 'and each file in it' 600 "$(within find /var/lib/claimd -type f -printf '%m\n' | sort -u)"
	exits 'the journal has it' 0 within journalctl -u claimd.service -o json
	holds 'with its level' "$(grep '"MESSAGE":"[^"]*ready claimd answers' "$dir/out")" '*"PRIORITY":"6"*'
}

who_may()
{
	exits 'a user of the group claims' 0 as app claim run --save-output first -- echo ran
	same 'it ran' ran "$(cat "$dir/out")"
	exits 'once' 0 as app claim run --save-output first -- echo 'ran twice'
	same 'and has the same answer' ran "$(cat "$dir/out")"
	exits 'another user is kept out' 69 as stranger claim run second -- echo ran
	holds 'and told why' "$(cat "$dir/err")" '*ermission*'
	exits 'a client does not read the store' 2 as app ls /var/lib/claimd
	exits 'a client is no operator' 78 as app claim forget first
	exits 'root is' 0 within claim status first
	settings 'operator_uid = app'
	until_ok 'it knows its clients by their users' as app claim sweep
	exits 'and who is no operator any more' 78 within claim sweep
	settings
}

# Nobody is refused while it is not there, and nothing is lost.
restarts_are_not_seen()
{
	local before
	before=$(restarts)
	within sh -c 'kill -KILL "$1"' sh "$(main_pid)"
	exits 'asked while it is dead' 0 as app claim run --duplicate-exit 7 after-kill -- true
	exits 'what was done stays done' 7 as app claim run --duplicate-exit 7 first -- true
	until_ok 'it was started again' restarted_since "$before"
	as app sh -c 'n=0; until [ -e /opt/stop ]; do claim run "loop:$n" -- true || echo "refused: $?"; n=$((n + 1)); done; echo "$n"' >"$dir/loop" 2>"$dir/err" &
	local loop=$!
	exits 'a restart' 0 within systemctl restart claimd
	exits 'and another' 0 within systemctl restart claimd
	touch "$root/opt/stop"
	wait "$loop"
	holds 'nobody was refused' "$(cat "$dir/loop")" '[1-9]*'
	same 'nobody at all' 1 "$(wc -l <"$dir/loop")"
}

watched()
{
	local before
	drop_in '[Service]
WatchdogSec=2s'
	within systemctl restart claimd
	before=$(restarts)
	within sh -c 'kill -STOP "$1"' sh "$(main_pid)"
	until_ok 'one that hangs is ended and started again' restarted_since "$before"
	drop_in
}

# What the unit tells to write for a port, and that there is none without it.
network()
{
	settings 'admin = 127.0.0.1:9464'
	until_ok 'without a network it says so' said 'start_failed.*admin'
	drop_in "$(sed -n '/^#     \[Service\]/,/^[^#]/s/^#     //p' "$root/lib/systemd/system/claimd.service")"
	within systemctl restart claimd
	until_ok 'with it the port answers' nsenter -t "$init" -n curl -sf --max-time 10 http://127.0.0.1:9464/readyz
	drop_in
	settings
}

said()
{
	within journalctl -u claimd.service | grep -q "$1"
}

upgraded()
{
	local socket
	socket=$(within stat -c %i /run/claimd/claimd.sock)
	exits 'an upgrade' 0 within sh -c 'dpkg -i /opt/claimd_*.deb'
	same 'the socket stayed open' "$socket" "$(within stat -c %i /run/claimd/claimd.sock)"
	active claimd.socket claimd.service
	same 'socket and service are active' 0 $?
}

removed()
{
	exits 'remove' 0 within apt-get remove -y -qq claimd
	exits 'nothing runs' 1 within sh -c 'grep -lx claimd /proc/[0-9]*/comm'
	same 'no socket' no "$([ -e "$root/run/claimd/claimd.sock" ] && echo yes || echo no)"
	same 'the settings stay' yes "$([ -e "$root/etc/claimd.conf" ] && echo yes || echo no)"
	exits 'purge' 0 within apt-get purge -y -qq claimd
	holds 'it says what it leaves' "$(cat "$dir/out" "$dir/err")" '*is still in /var/lib/claimd*'
	same 'the settings are gone' no "$([ -e "$root/etc/claimd.conf" ] && echo yes || echo no)"
	same 'nothing else is left' "$root/var/lib/claimd" "$(find "$root" -xdev -path "$root/opt" -prune -o -path "$root/proc" -prune -o \
		-name '*claimd*' -not -path '*/libclaim*' -not -path "$root/var/lib/claimd/*" -print)"
	exits 'installed again' 0 within sh -c 'dpkg -i /opt/claimd_*.deb'
	exits 'what was done stays done' 7 within claim run --duplicate-exit 7 first -- true
}

(make_debian) >"$dir/debian.log" 2>&1 & # it waits for others, mostly
debian=$!
must 'the package is built' build_package
must 'lintian is content' lintian --allow-root --fail-on error,warning \
	--suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$dir"/deb/*.changes # whoever publishes it has an address
must 'a small Debian' debian_made
must 'it is installed' install_package
must 'users' in_root sh -c 'useradd -G claimd app && useradd stranger'
must 'it starts' boot
as_its_user
who_may
restarts_are_not_seen
watched
network
upgraded
removed
[ "$failed" -eq 0 ] || tail -n 40 "$dir/boot.log"
finish
