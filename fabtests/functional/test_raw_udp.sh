#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Endpoints that use one NIC by raw frames and over UDP: long messages travel over UDP, short ones do
# not; without UDP, because of a firewall or of the peer, everything is raw; what cannot work is
# refused. Text in single quotes is jq's; functions are called through check.
# shellcheck disable=SC2016,SC2119,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"

need_tool fi_pingpong fi_info jq setpriv

long=${GAMMA_TEST_LONG:-0}
lab_up 2
count_frames
gamma_env+=("FI_GAMMA_IFACE=gam0" "FI_GAMMA_LINK=raw+udp")

quiet='all(.retransmissions + .rails_doubted + .malformed + .resets_out + .ring_drops == 0)'

# ---- both ways ----

both "ping-pong, all sizes" 20 fi_pingpong -p gamma -e rdm -c -S all -I 3
counted "ping-pong: nothing is lost or refused" "$quiet"
counted "ping-pong: UDP was proven, and took long messages" \
	'all(.rails_proven == 1 and .rails[1].nic == "gam0-udp" and .rails[1].frames_out > 1000)'
both "ping-pong of short messages" 20 fi_pingpong -p gamma -e rdm -c -S 64 -I 2000
counted "short messages: UDP carried probes and answers alone" 'all(.rails[1].frames_out <= .probes_out + .probes_in + .acks_out and
	.rails[0].frames_out >= .messages_out)'
both "datagrams" 20 fi_pingpong -p gamma -c -S 1000 -I 20
exchange "an exchange" $((long ? 256 : 16))
counted_clean "an exchange"
tests=(rma_both_ways)
((long)) && tests=(sizes order both_directions many_outstanding rma_sizes rma_order rma_both_ways atomic_adders)
run "raw and UDP" "${tests[@]}"

# ---- without UDP ----

# firewall on|off: IP packets between the two get lost, as each host has a wrong MAC address for the other.
firewall() {
	local host
	for host in 1 2; do
		if [ "$1" = on ]; then
			on "node0$host" ip neighbour replace "10.78.0.$((3 - host))" dev gam0 \
				lladdr 02:00:00:00:00:99 nud permanent
		else
			on "node0$host" ip neighbour del "10.78.0.$((3 - host))" dev gam0
		fi
	done
}

firewall on
both "ping-pong behind a firewall" 20 fi_pingpong -p gamma -e rdm -c -S all -I 3
counted "behind a firewall: UDP was not used" \
	'all(.rails_proven + .rails_doubted + .peer_timeouts + .retransmissions == 0)'
firewall off
start_exchange
firewall on
sleep 0.5
firewall off
end_exchange "a firewall that comes and goes"
counted "a firewall that comes and goes: no connection was lost" \
	'all(.malformed + .peer_timeouts + .resets_out == 0)'

# ---- peers without UDP ----

mixed() { # SERVER'S LINK
	pair -p 47592 20 env "FI_GAMMA_LINK=$1" fi_pingpong -p gamma -e rdm -c -S all -I 3 -- \
		fi_pingpong -p gamma -e rdm -c -S all -I 3 "$(mgt 1)"
}
check "a peer that has raw frames alone" mixed packet

# ---- where both can ----

gamma_env+=("FI_GAMMA_LINK=any")
both "any: ping-pong of short messages" 20 fi_pingpong -p gamma -e rdm -c -S 64 -I 500
counted "any: short messages need no UDP" 'all(has("rails") | not)'
both "any: ping-pong, all sizes" 20 fi_pingpong -p gamma -e rdm -c -S all -I 3
counted "any: nothing is lost or refused" "$quiet"
counted "any: UDP was proven, and took long messages" \
	'all(.rails_proven == 1 and .rails[1].nic == "gam0-udp" and .rails[1].frames_out > 1000)'
check "any: a peer that insists on both" mixed raw+udp
check "any: a peer that has raw frames alone" mixed packet
counted "any: that peer knows of no UDP" 'any(has("rails") | not)'
firewall on
both "any behind a firewall" 20 fi_pingpong -p gamma -e rdm -c -S all -I 3
counted "any behind a firewall: UDP was not used" \
	'all(.rails_proven + .rails_doubted + .peer_timeouts + .retransmissions == 0)'
firewall off
says_nothing() { ! grep -h UDP "$work"/{client,server}.out; }
check "any: no line about the firewall" says_nothing

gamma_env[-1]="FI_GAMMA_LINK=auto"
no_xdp=(setpriv --bounding-set "-bpf,-net_admin,-sys_admin")
both "auto, AF_XDP not permitted: ping-pong, all sizes" 20 \
	"${no_xdp[@]}" fi_pingpong -p gamma -e rdm -c -S all -I 3
counted "auto, AF_XDP not permitted: UDP took long messages" \
	'all(.rails_proven == 1 and .rails[1].frames_out > 1000)'
gamma_env[-1]="FI_GAMMA_LINK=any"

# Datagrams to the endpoint's port, of a program that no peer has named: garbage, and a header as a
# peer's frames have.
strange_datagrams() {
	local port
	port=$(on node01 ss -uHln src 10.78.0.1 | awk '{ sub(/.*:/, "", $4); print $4; exit }')
	[ -n "$port" ] && on node02 python3 -c "
import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(200):
    s.sendto(os.urandom(64), ('10.78.0.1', $port))
    s.sendto(($port).to_bytes(2, 'big') + s.getsockname()[1].to_bytes(2, 'big') + bytes(60), ('10.78.0.1', $port))"
}
start_exchange
check "the endpoint has a UDP port" strange_datagrams
end_exchange "any: an exchange beside datagrams of others"
counted "any: these are dropped" \
	'(map(.stray) | max) >= 200 and all(.malformed + .peer_timeouts + .resets_out == 0)'
unset "gamma_env[-1]"

# ---- the NIC's MTU becomes too small ----

# All frames of the receiver are short, and still leave. Neither side waits for its timeout, a minute.
stream=$abs_top_builddir/fabtests/benchmarks/gamma-stream
ends_by_mtu() { # LINK HOST: the stream's receiver is node01
	local settings=("FI_GAMMA_LINK=$1" FI_GAMMA_PEER_TIMEOUT=60) status=0 own=server other=client
	[ "$2" = node01 ] || { own=client && other=server; }
	start server node01 60 env "${settings[@]}" "$stream" -p gamma -s -P 4711
	wait_for_line server '^ready' 5 || status=1
	start client node02 60 env "${settings[@]}" "$stream" -p gamma -P 4711 -S 1048576 -t 50 node01
	until_true 5 more_frames || status=1
	on "$2" ip link set dev gam0 mtu 500
	wait_for_line "$own" "the MTU of this host's NIC was lowered below 576 bytes: raise it" 10 || status=1
	wait_for_line "$other" "the MTU of its host's NIC was lowered below 576 bytes: raise it" 10 || status=1
	stop client
	stop server
	on "$2" ip link set dev gam0 mtu 1500
	cat "$work/client.out" "$work/server.out"
	return "$status"
}
frames_of_client() { on node02 cat /sys/class/net/gam0/statistics/tx_packets; }
more_frames() { (($(frames_of_client) > frames + 3000)); }
for link in any packet; do
	for host in node01 node02; do
		frames=$(frames_of_client)
		check "$link: $host's MTU becomes too small" ends_by_mtu $link $host
	done
done

# ---- refused ----

domain() { on node01 env "$@" fi_info -p gamma | awk '$1 == "domain:" { print $2 }' | sort -u; }
check "the domain's name" test "$(domain)" = gam0+udp
check "of two NICs" grep -Fx gam0,mgt0+udp <(domain FI_GAMMA_IFACE=gam0,mgt0)
on node01 ip link add gam1 type veth peer name end1
on node01 ip link set dev end1 up
on node01 ip address add 10.79.0.1/24 dev gam1
on node01 ip link set dev gam1 up
check_fails "three NICs are refused" "raw Ethernet and UDP together take at most 2 NICs: name fewer" \
	on node01 env FI_GAMMA_IFACE=gam0,mgt0,gam1 fi_info -p gamma
on node01 ip address flush dev gam0
check_fails "a NIC without IPv4 address is refused" "gam0 has no IPv4 address: give it one" \
	on node01 fi_info -p gamma
gamma_env+=("FI_GAMMA_LINK=any")
both "any: NICs, one of which has no IPv4 address" 20 fi_pingpong -p gamma -e rdm -c -S all -I 3
counted "any: none is missed" 'all(.rails_proven + .rails_doubted == 0)'
finish
