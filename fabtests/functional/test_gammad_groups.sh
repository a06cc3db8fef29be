#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# gammad: a user who is in as many multicast groups as gammad.conf allows costs another user's
# multicast nothing: no socket of the former sees the latter's frames. Each user has an interface
# for groups, made with the first membership and removed some time after the last one.
# What stands in single quotes is the inner shell's; functions are called through check.
# shellcheck disable=SC2016,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=gammad.sh
. "$top_srcdir/fabtests/functional/gammad.sh"

need_tool python3 setpriv nsenter
gammad_lab_up
cp "$top_srcdir/fabtests/functional/group_crowd.py" "$shared/lib"
crowd=$shared/lib/group_crowd.py
labuser=$(id -u labuser)
daemon=$(id -u daemon)
frames=200

begin() { # ROLE WORD...: on host 1, until `done_with ROLE`
	rm -f "$crowd.$1.done"
	start "$1" node01 60 python3 "$crowd" "$@"
}

done_with() { # ROLE
	touch "$crowd.$1.done"
	wait_end "$1" || not_ok "$1" "$work/$1.out"
}

inside_gammad() {
	on node01 nsenter --net=/run/gammad/net "$@"
}

interfaces() { # USER-ID: those that the user has for groups
	inside_gammad ip -o link | sed -n "s/^[0-9]*: \\(u$1\\.[0-9]*\\)@.*/\\1/p"
}

number_of() { # INTERFACE
	inside_gammad ip -o link show dev "$1" | cut -d: -f1
}

sockets_at() { # INTERFACE: packet sockets there, which are the filters that a frame passes
	inside_gammad awk -v at="$(number_of "$1")" '$5 == at' /proc/net/packet | wc -l
}

status_has() { # PATTERN: of gam0's line; NIC state MTU slots endpoints memberships users KiB
	on node01 "$gammactl" status | grep -Eq "^gam0 +up +1500 +8 +$1"
}

gets_interface() { # USER-ID: with a membership
	on node01 python3 "$crowd" sender "$1" "$nic1" 1 >/dev/null && [ -n "$(interfaces "$1")" ]
}

# ---- takes longer ----

joins_and_leaves() {
	before=$(number_of "$his")
	check "joining and leaving 50 times" on node01 python3 "$crowd" churn "$daemon" "$nic1" 50
	check "makes no interface each time" [ "$(number_of "$his")" = "$before" ]
}

# Its name is taken, so that the user's sockets are on the NIC's interface.
has_no_interface() {
	bin=$(id -u bin)
	inside_gammad ip link add "v$bin.0" type veth peer name taken
	begin member "$bin" "$nic1"
	check "its name is taken: the user joins nevertheless" wait_for_line member "^member 0$" 10
	check "which the log says" wait_for_line gammad1 "user $bin has no interface.*/run/gammad/net" 5
	check "no half of an interface stays" [ -z "$(interfaces "$bin")" ]
	check "frames from this host" on node01 python3 "$crowd" sender "$bin" "$nic1" "$frames"
	check "and from the other" on node02 python3 "$crowd" sender "$bin" "$nic2" "$frames"
	done_with member
	check "they arrive" grep -qx "arrived $((2 * frames))" "$work/member.out"
	inside_gammad ip link del "v$bin.0"
	check "as soon as it can, the user gets one" until_true 10 gets_interface "$bin"
}

interfaces_go() {
	check "the interfaces go when they are not needed any more" until_true 30 status_has "0 +0 +0 +0$"
	check "none is left" [ -z "$(interfaces "$daemon")$(interfaces "$labuser")" ]
}

conf 1 'nic gam0 slots 8'
conf 2 'nic gam0 slots 8'
start_gammad 1
start_gammad 2

# ---- the attack ----

begin crowd "$daemon" "$nic1"
check "a user joins as many groups as allowed" wait_for_line crowd "^joined 64$" 20
begin member "$labuser" "$nic1"
check "another one joins one" wait_for_line member "^member 0$" 10
his=$(interfaces "$daemon")
other=$(interfaces "$labuser")
check "each has one interface" [ "$(wc -w <<<"$his $other")" -eq 2 ]
check "the status says so" status_has "6 +65 +2 +[0-9]+$"
check "one filter sees the latter's frames" [ "$(sockets_at "$other")" -eq 1 ]
check "and 64 see the former's" [ "$(sockets_at "$his")" -eq 64 ]
check "none is on the interface that they share" [ "$(sockets_at "g$(on node01 cat /sys/class/net/gam0/ifindex)")" -eq 0 ]

start tap node01 60 nsenter --net=/run/gammad/net python3 "$crowd" tap "$his" "$other"
wait_for_line tap taps 10 || not_ok "taps" "$work/tap.out"
for host in 1 2; do
	check "frames from host $host" on "node0$host" \
		python3 "$crowd" sender "$labuser" "$(data_mac $host)" "$frames"
done
done_with tap
check "no copy of a frame reaches the former's interface" grep -qx "u$daemon 0" "$work/tap.out"
check "one copy of each reaches the latter's" grep -qx "u$labuser $((2 * frames))" "$work/tap.out"

# ---- a restart, and the end ----

signal gammad1 KILL
wait_end gammad1 || true
inside_gammad ip link add u4711.3 type veth peer name v4711.3
start_gammad 1
check "a start removes what no user needs any more" [ -z "$(interfaces 4711)" ]
check "after a restart both have theirs" [ "$(interfaces "$daemon") $(interfaces "$labuser")" = "$his $other" ]
check "frames after it" on node02 python3 "$crowd" sender "$labuser" "$nic2" "$frames"
done_with member
check "all have arrived" grep -qx "arrived $((3 * frames))" "$work/member.out"
done_with crowd
check "no socket stays" until_true 10 status_has "0 +0 +[0-9] +0$"

if [ "${GAMMA_TEST_LONG:-0}" != 0 ]; then
	joins_and_leaves
	has_no_interface
	interfaces_go
fi
signal gammad1 KILL
wait_end gammad1 || true
check "gammad -r removes all" on node01 "$gammad" -r
check "namespace, too" on node01 test ! -e /run/gammad
finish
