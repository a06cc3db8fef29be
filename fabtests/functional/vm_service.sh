#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# gammad as a service, on two machines with a kernel and a systemd of their own (lab/vm starts it in
# the first): its sandbox, its journal, what it does when it is reloaded, restarted, killed under a
# running job of an ordinary user; and a hostile user, seen from the other machine.
# Functions are called through check; lab_tool is lib.sh's.
# shellcheck disable=SC2317,SC2034
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=hostile.sh
. "$top_srcdir/fabtests/functional/hostile.sh"
grep -q gamma.script= /proc/cmdline || skip "this is no machine of lab/vm's"
lab_tool=$top_srcdir/lab/vm-inside
lab_name=vm

hostile=$abs_top_builddir/fabtests/functional/gamma-hostile
nic1=$(data_mac 1)
nic2=$(data_mac 2)
uid=$(id -u labuser)
home=$(getent passwd labuser | cut -d: -f6)
user=(env -C / HOME="$home" setpriv --reuid "$uid" --regid "$uid" --clear-groups --inh-caps=-all)

on_both() {
	on node01 "$@" && on node02 "$@"
}

journal() { # of node01's gammad; OPTION...
	journalctl -q -o cat _SYSTEMD_UNIT=gammad.service "$@"
}

has() { # PATTERN COMMAND...
	"${@:2}" 2>&1 | grep -E -- "$1"
}

has_not() {
	! has "$@"
}

main_pid() {
	systemctl show -P MainPID gammad
}

active() {
	[ "$(systemctl is-active gammad)" = active ]
}

listed() { # PATTERN
	gammactl list 2>/dev/null | grep -E -- "$1"
}

no_endpoint() {
	! listed '^gam0'
}

echo "kernel $(uname -r), systemd $(systemctl --version | sed -n '1s/systemd \([^ ]*\).*/\1/p')," \
	"security modules $(cat /sys/kernel/security/lsm)"

# ---- the service ----

install_service() { # as README.md says
	echo 'nic gam0 slots 12' >/etc/gammad.conf
	systemctl daemon-reload && systemctl -q enable --now gammad
}

check "systemctl enable --now gammad, on node01" on node01 bash -euc "$(declare -f install_service); install_service"
check "and on node02" on node02 bash -euc "$(declare -f install_service); install_service"
active || { journalctl -u gammad -u gammad-setup && finish; }
check "the journal says that it is ready" has 'ready at /run/gammad/socket' journal -p info..info
check "and has no warning" has_not . journal -p warning
weak=()
if grep -qw bpf /sys/kernel/security/lsm; then
	check "sockets are kept by a security module" has 'a BPF security module keeps' journal
	check "no filter is at the NIC's exit" has_not . tc filter show dev gam0 egress
else
	weak=(weak)
	check "without a security module it says so" has 'by 32-bit system calls' journal
	check "a filter is at the NIC's exit" has guard tc filter show dev gam0 egress
fi

# ---- its sandbox ----

inside() { # COMMAND...: with gammad's own view of the files
	nsenter -t "$(main_pid)" -m -- "$@"
}

status_of() {
	grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp):' "/proc/$(main_pid)/status" | tr -d '\t\n'
}

check "CAP_BPF, CAP_NET_ADMIN, CAP_NET_RAW alone, system calls filtered" [ "$(status_of)" = \
	CapPrm:0000008000003000CapEff:0000008000003000CapBnd:0000008000003000NoNewPrivs:1Seccomp:2 ]
check_fails "it cannot write what is not its own" "Read-only file system" inside touch /etc/gammad
check_fails "nor to control groups" "Read-only file system" inside mkdir /sys/fs/cgroup/gammad
check_fails "sees no home folders" "Permission denied|No such file" inside \
	setpriv --bounding-set=-all --inh-caps=-all ls /home/labuser
check_fails "and no disk" "No such file" inside ls /dev/vda
check "systemd-analyze security: below 3" systemd-analyze security --threshold=30 gammad
tail -n 1 "$work/check.out"

# ---- ordinary users ----

user_pair() { # NAME ARGUMENT...: of fi_pingpong
	local name=$1 words=("${user[@]}" env FI_GAMMA_STATS=/tmp/stats fi_pingpong -p gamma "${@:2}")
	on_both rm -f /tmp/stats
	if pair -p 47592 60 "${words[@]}" -- "${words[@]}" "$(mgt 1)"; then
		ok "$name"
	else
		not_ok "$name" "$work/server.out" "$work/client.out"
	fi
	get_stats
}

get_stats() {
	for host in node01 node02; do on "$host" cat /tmp/stats; done >"$work/stats" 2>&1 || true
}

mpi() {
	"${user[@]}" mpirun -np 4 --host node01:2,node02:2 --mca btl gamma,self \
		--mca btl_tcp_if_include mgt0 --mca oob_tcp_if_include mgt0 --mca mpi_yield_when_idle 1 \
		"$abs_top_builddir/mpi_job"
}

check "users have no capability" has 'CapEff:.0000000000000000' "${user[@]}" cat /proc/self/status
user_pair "fi_pingpong -e rdm, all sizes, contents checked" -e rdm -c -S all -I 3
counted_clean "it"
user_pair "fi_pingpong, datagrams" -c -S 1000 -I 50
check "mpirun --mca btl gamma,self, 4 processes" mpi
[ "$(grep -c "user $uid: all arrived" "$work/check.out")" -eq 4 ] || not_ok "all arrive" "$work/check.out"

# ---- under a running job ----

# As many round trips as take some 45 s: all that follows is to happen meanwhile, whatever the
# machine's mood was.
user_pair "a ping-pong for its time" -e rdm -S 1024 -I 1000
us=$(awk '$1 == "1k" { print $7 }' "$work/client.out")
trips=$(awk -v us="${us:-1000}" 'BEGIN { n = int(45e6 / (2 * us)); print (n > 30000 ? n : 30000) }')
echo "1,024 bytes take $us us one way: the job makes $trips round trips"

begin_job() { # ROUND-TRIPS
	local words=("${user[@]}" env FI_GAMMA_STATS=/tmp/stats FI_LOG_LEVEL=warn
		fi_pingpong -p gamma -e rdm -S 1024 -I "$1")
	on_both rm -f /tmp/stats
	start server node01 300 "${words[@]}"
	wait_for_port node01 47592 10 || not_ok "the server listens" "$work/server.out"
	start client node02 300 "${words[@]}" "$(mgt 1)"
	until_true 10 listed "^gam0.* $uid " >/dev/null || not_ok "its endpoint" "$work/server.out"
}

goes_on() { # TEXT: gammad knows the endpoint as the one that it was
	check "$1" active
	check "... it knows the endpoint" [ "$(listed '^gam0')" = "$endpoint" ]
	check "... and the job runs on" signal client 0
}

restarts() {
	[ "$(systemctl show -P NRestarts gammad)" = 1 ] && active && gammactl status >"$work/status" 2>&1
}

begin_job "$trips"
endpoint=$(listed '^gam0')
check "systemctl reload" systemctl reload gammad
check "... says so" until_true 5 has 'gammad.conf was read again' journal
goes_on "... and is there"
check "systemctl restart" systemctl restart gammad
goes_on "... and is there"
check "SIGKILL" kill -KILL "$(main_pid)"
check "... systemd starts it again" until_true 10 restarts
goes_on "... and it is there"
group=/sys/fs/cgroup$(systemctl show -P ControlGroup gammad)
check "systemctl stop" systemctl stop gammad
check "... its control group goes" [ ! -e "$group" ]
check_fails "... users get an error that says so" "is gammad running" "${user[@]}" gammactl status
check "... the job runs on" signal client 0
check "systemctl start" systemctl start gammad
goes_on "... and it is there"
if wait_end client && wait_end server; then
	ok "the job ends well"
else
	not_ok "the job ends well" "$work/server.out" "$work/client.out"
fi
get_stats
counted_clean "all the while"
check "... its slot is free" until_true 10 no_endpoint

begin_job 10000000
check "gammactl revoke" gammactl revoke "$uid"
check "... its process gets the reason" wait_for_line server "gammad has revoked this endpoint" 20
check "... and its peer" wait_for_line client "owns its port any more" 20
stop server
stop client
until_true 10 no_endpoint || not_ok "the slot is free"
check "gammactl allow" gammactl allow "$uid"
check "no warning yet" has_not . journal -p warning

# ---- a hostile user ----

start witness node02 600 tcpdump -i gam0 -U -B 65536 -w /tmp/wire.pcap
wait_for_line witness "listening on" 20 || not_ok "a witness on node02" "$work/witness.out"

attack() { # NAME [COMMAND...]
	local name=$1
	shift
	if "${user[@]}" "$@" "$hostile" attack "$nic1" "$nic2" "$uid" "${weak[@]}" \
		>"$work/attack-$name.out" 2>&1; then
		ok "hostile, $name: $(grep -c '^ok' "$work/attack-$name.out") attempts fail"
	else
		not_ok "hostile, $name" "$work/attack-$name.out"
	fi
	[ -n "${weak[*]}" ] || check "... by 32-bit calls too" \
		grep -qx "ok: 32-bit system calls" "$work/attack-$name.out"
}

attack "as a user"
attack "as root of a user namespace" unshare -Ur

start reader node01 100 "${user[@]}" "$hostile" read "$nic1"
reader_gets_its_own

hold_by "${user[@]}" "$hostile" hold "$nic1" "$nic2"
gammactl revoke "$uid"
systemctl stop gammad
let_go
check "without gammad and its control group, sockets stay frozen" grep -qx "ok: frozen" "$work/hold.out"
systemctl start gammad
gammactl allow "$uid"

on node02 pkill tcpdump || true
wait_end witness || true
on node02 cat /tmp/wire.pcap >"$work/wire.pcap"
python3 "$top_srcdir/fabtests/functional/hostile_wire.py" "$work/wire.pcap" "$work"/attack-*.out \
	"$work/hold.out" >"$work/wire.out"
check "no forged frame has come to node02" grep -q "^forged 0 " "$work/wire.out"
check "honest ones have" grep -Eq "honest [1-9][0-9]+" "$work/wire.out"
cat "$work/wire.out" <(tail -n 1 "$work/witness.out")
check "no warning to the end" has_not . journal -p warning

# ---- and taken away ----

check "systemctl disable --now" systemctl -q disable --now gammad
check "gammad -r" gammad -r
check "nothing is left" [ ! -e /run/gammad ]
check "nor filters" has_not . tc filter show dev gam0 egress

# ---- a NIC with a real driver: XDP ----

begin_xdp() {
	local words=(env FI_GAMMA_LINK=xdp FI_LOG_LEVEL=warn FI_GAMMA_STATS=/tmp/stats fi_pingpong
		-p gamma -e rdm "$@")
	on_both rm -f /tmp/stats
	start server node01 200 "${words[@]}"
	wait_for_port node01 47592 10 || not_ok "the server listens" "$work/server.out"
	start client node02 200 "${words[@]}" "$(mgt 1)"
}

begin_xdp -c -S all -I 3
check "XDP, by the NIC's driver" until_true 10 has ' xdp ' ip link show gam0
if wait_end client && wait_end server; then
	ok "fi_pingpong with FI_GAMMA_LINK=xdp, as root"
else
	not_ok "fi_pingpong with FI_GAMMA_LINK=xdp, as root" "$work/server.out" "$work/client.out"
fi
get_stats
counted_clean "it"
check "ssh passes by it" on node02 true
check "no program is left at the NIC" has_not xdp ip link show gam0
finish
