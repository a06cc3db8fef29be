#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# A NIC whose endpoints have its own address (`own-address` in gammad.conf), for networks that drop
# frames from other addresses: host 1 is such a one, behind a switch port that passes the NIC's
# address alone; host 2 has slots with addresses of their own. Ordinary users' programs, names,
# groups, what peers learn of a killed program, restarts of gammad; and the hostile user's attempts,
# as the wire shows them. Functions are called through check:
# shellcheck disable=SC2016,SC2119,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=hostile.sh
. "$top_srcdir/fabtests/functional/hostile.sh"
# shellcheck source=gammad.sh
. "$top_srcdir/fabtests/functional/gammad.sh"
# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"

need_tool fi_pingpong fi_info jq tcpdump python3 setpriv
gammad_lab_up
conf 1 'nic gam0 slots 8 own-adress'
check_fails "a mistake in the configuration" 'or `nic NAME slots NUMBER own-address`' \
	on node01 "$gammad" -t -c "$shared/gammad1.conf"
conf 1 'nic gam0 slots 8 own-address'
conf 2 'nic gam0 slots 8'
start_gammad 1
start_gammad 2

# Port security: what comes in by host 1's port from another address than its NIC's is dropped.
in_switch() { nsenter --net="/run/netns/gl-$lab_name-sw" "$@"; }
secure() {
	in_switch bridge link set dev d1 locked on &&
		in_switch bridge fdb replace "$nic1" dev d1 master static &&
		in_switch ip link set dev d1 type bridge_slave fdb_flush
}
secured=()
! secure 2>"$work/switch.out" || secured=(", behind port security")

user_pair "reliable, all sizes${secured[*]}" fi_pingpong -p gamma -e rdm -c -S all -I 3
counted_clean "reliable, all sizes"
counted "the server's endpoint has the NIC's address" "map(.endpoint) | any(startswith(\"$nic1\"))"
counted "the client's does not" "map(.endpoint) | any(startswith(\"02:47:41\") | not)"
user_pair "datagrams" fi_pingpong -p gamma -c -S 1000 -I 50
client_host=node01
user_pair "one host" fi_pingpong -p gamma -e rdm -c -S all -I 3
counted_clean "one host"
counted "one host: through shared memory" 'any(.shm_frames_out + .tx_shm_inline > 0)'
client_host=node02

named() { # TEXT HOST [OPTION...]: of gamma-latency
	start_as labuser server node01 60 "$latency" -p gamma "${@:3}" -s -P 4711
	until_true 10 listed node01 4711 || not_ok "$1: the server's endpoint" "$work/server.out"
	start_as labuser client "$2" 60 "$latency" -p gamma "${@:3}" -P 4711 -n 20 -w 5 node01
	if wait_end client && wait_end server; then
		ok "$1"
	else
		not_ok "$1" "$work/server.out" "$work/client.out"
		stop server
	fi
}
named "by name, across" node02
named "by name, one host" node01
named "datagrams by name" node02 -m datagram
start_as labuser client node02 60 env FI_LOG_LEVEL=warn "$latency" -p gamma -P 4712 -n 1 node01
check "a port without an owner: reported at once" wait_for_line client "no process there owns" 10
stop client

# Ports are one user's; another user's frames do not come in.
start_as daemon server node01 60 "$latency" -p gamma -s -P 4713
until_true 10 listed node01 4713 || not_ok "daemon's endpoint" "$work/server.out"
check_fails "a port that another user has is taken" "port 4713 is in use" \
	user_on labuser node01 env FI_LOG_LEVEL=warn timeout 20 "$latency" -p gamma -s -P 4713
start_as labuser client node02 60 "$latency" -p gamma -P 4713 -n 20 -w 5 node01
check "another user's endpoint: reported at once" wait_for_line client "another user" 10
stop client
stop server

cp "$api" "$shared/lib"
api=$shared/lib/gamma-api
as labuser
wrap=("${words[@]}")
several=(multicast multicast_leave scalable shared)
run "across" "${several[@]}"
client_host=node01 run "one host" "${several[@]}"
wrap=()

# ---- a hostile user ----

weak=()
! grep -q 'by 32-bit system calls' "$work/gammad1.out" || weak=(weak)
"$lab_tool" -n "$lab_name" capture 1 "$work/wire.pcap" >"$work/capture.out" 2>&1 &
capture=$!
until_true 10 grep -qs "listening on" "$work/capture.out" || not_ok "capture" "$work/capture.out"

attack() { # NAME [COMMAND...]: the latter runs it
	if user_on labuser node01 "${@:2}" "$hostile" attack "$nic1" "$nic2" "$(id -u labuser)" \
		"${weak[@]}" >"$work/attack-$1.out" 2>&1; then
		ok "hostile, $1: $(grep -c '^ok' "$work/attack-$1.out") attempts fail"
	else
		not_ok "hostile, $1" "$work/attack-$1.out"
	fi
}

attack "as a user"
if user_on labuser node01 unshare -Urn true; then
	attack "as root of a user namespace" unshare -Ur
	attack "with a network of its own" unshare -Urn
fi
kill -TERM "$capture"
wait "$capture" || true
python3 "$top_srcdir/fabtests/functional/hostile_wire.py" "$work/wire.pcap" "$work"/attack-*.out \
	>"$work/wire.out"
check "no forged frame on the wire" grep -q "^forged 0 " "$work/wire.out"
check "honest ones are" grep -Eq "honest [1-9][0-9]+" "$work/wire.out"
cat "$work/wire.out"
only_nics_address() {
	[ "$(tcpdump -Z root -r "$work/wire.pcap" -nne "ether proto 0x88b5 and ether dst $nic2" 2>/dev/null |
		awk '/ethertype/ { print $2 }' | sort -u)" = "$nic1" ]
}
check "the host's frames have the NIC's address alone" only_nics_address
start_as labuser reader node01 60 "$hostile" read "$nic1"
reader_gets_its_own

# ---- gammad ends and comes back ----

as labuser fi_pingpong -p gamma -e rdm -c -S 1024 -I 100000
rm -f "$shared/stats"
start server node01 120 "${words[@]}"
wait_for_port node01 47592 5
start client node02 120 "${words[@]}" "$(mgt 1)"
until_true 10 listed node01 "$(id -u labuser)" || not_ok "its endpoint" "$work/server.out"
signal gammad1 KILL
wait_end gammad1 || true
start_gammad 1
if wait_end client && wait_end server; then
	ok "kill -9 of gammad does not disturb a ping-pong"
else
	not_ok "kill -9 of gammad does not disturb a ping-pong" "$work/server.out" "$work/client.out"
fi
cp "$shared/stats" "$work/stats"
counted_clean "while gammad was away"
check "gone after its end" until_true 10 empty node01

ping_pong() { # begins one by labuser, the server on host 1
	as labuser env FI_LOG_LEVEL=warn fi_pingpong -p gamma -e rdm -S 1024 -I 1000000
	start server node01 120 "${words[@]}"
	wait_for_port node01 47592 5 || not_ok "the server listens" "$work/server.out"
	start client node02 120 "${words[@]}" "$(mgt 1)"
	until_true 10 listed node01 "$(id -u labuser)" || not_ok "its endpoint" "$work/server.out"
	sleep 1
}
ping_pong
signal server KILL
wait_end server || true
check "a killed peer is reported" wait_for_line client "no process there owns its port any more" 20
stop client
ping_pong
check "revoked while it runs" on node01 "$gammactl" revoke labuser
check "its process gets the reason" wait_for_line server "gammad has revoked this endpoint" 20
stop server
stop client
check "allowed again" on node01 "$gammactl" allow labuser

# Endpoints of both kinds on a NIC, after a change of the configuration.
conf 1 'nic gam0 slots 8'
as labuser fi_pingpong -p gamma -e rdm -c -S 1024 -I 100000
start first-server node01 120 "${words[@]}"
wait_for_port node01 47592 5
start first-client node02 120 "${words[@]}" "$(mgt 1)"
until_true 10 listed node01 "$nic1" || not_ok "its endpoint" "$work/first-server.out"
signal gammad1 KILL
wait_end gammad1 || true
start_gammad 1
[ -z "${secured[*]}" ] || in_switch bridge link set dev d1 locked off
named "an endpoint with its slot's address" node02
if wait_end first-client && wait_end first-server; then
	ok "beside one with the NIC's"
else
	not_ok "beside one with the NIC's" "$work/first-server.out" "$work/first-client.out"
fi
signal gammad1 TERM
wait_end gammad1 || not_ok "gammad ends" "$work/gammad1.out"
check "all is taken away without a word" on node01 sh -c 'said=$("$0" -r 2>&1) && [ -z "$said" ]' "$gammad"
nothing_left() {
	! lab exec node01 tc filter show dev gam0 egress | grep . &&
		! lab exec node01 tc filter show dev gam0 ingress | grep .
}
check "no filters are left on the NIC" nothing_left
finish
