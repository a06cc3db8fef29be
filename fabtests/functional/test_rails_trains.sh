#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Endpoints with two NICs as by default: long messages travel over UDP in trains, by both NICs, and
# short ones in raw frames. Cables are pulled, UDP gets lost on one NIC or both, and peers take part
# that have one NIC, raw frames alone, or no IPv4 address. Text in single quotes is jq's; functions
# are called through check.
# shellcheck disable=SC2016,SC2119,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"
# shellcheck source=rails.sh
. "$top_srcdir/fabtests/functional/rails.sh"

need_tool fi_pingpong fi_info jq
long=${GAMMA_TEST_LONG:-0}

lab_up 2 --nics 2
count_frames
gamma_env+=("FI_GAMMA_IFACE=gam0,gam1")
mib=$((long ? 256 : 16))

# ---- both NICs, both ways ----

remember
both "ping-pong, all sizes" 20 fi_pingpong -p gamma -e rdm -c -S all -I 3
counted_clean "ping-pong"
counted "ping-pong: each NIC was proven, and UDP on it" \
	'all(.rails_proven == 3 and .rails_doubted == 0 and
		(.rails | map(.nic)) == ["gam0", "gam1", "gam0-udp", "gam1-udp"])'
both "ping-pong of short messages" 20 fi_pingpong -p gamma -e rdm -c -S 64 -I 2000
# And what answers them, or lists the NICs. How many there are depends on how long it took.
counted "short messages: UDP carried probes alone" \
	'all((.rails[2:] | map(.frames_out) | add) <= .probes_out + .probes_in + 10)'
exchange "an exchange" $mib
shared "an exchange" 1000
counted_clean "an exchange"
counted "an exchange: UDP took long messages, on both NICs" \
	'all(.rails[2].frames_out > 1000 and .rails[3].frames_out > 1000)'
both "datagrams" 20 fi_pingpong -p gamma -c -S 1000 -I 20
tests=(rma_both_ways atomic_adders)
((long)) && tests=(sizes order both_directions many_outstanding rma_sizes rma_order rma_both_ways atomic_adders)
run "two NICs" "${tests[@]}"

# ---- cables ----

start_exchange
pull_in_turn
end_exchange "pulled in turn" send_stalls
counted "pulled in turn: rails were doubted and proven again" \
	'(map(.rails_doubted) | add) >= 4 and (map(.rails_proven) | add) >= 8'
counted "pulled in turn: no connection was lost" "$nothing_refused"

# A switch that lets nothing pass: the NICs keep their carrier.
port() { ip -n "gl-$lab_name-sw" link set dev d1n1 "$@"; }
bridge=$(ip -n "gl-$lab_name-sw" -j link show dev d1n1 | jq -r '.[0].master')
start_exchange
port nomaster
works_again gam0 "gam1's switch fails: gam0 goes on"
port master "$bridge"
works_again gam1 "it works again: gam1 carries frames"
end_exchange "a switch that fails" send_stalls
counted "a switch that fails: raw frames and UDP left that NIC" \
	'any(.rails[1].doubted > 0 and .rails[3].doubted > 0)'
counted "a switch that fails: no connection was lost" "$nothing_refused"

# ---- UDP is lost ----

# firewall on|off NIC...: IP packets by these get lost, as each host has a wrong MAC address for the
# other.
firewall() {
	local what=$1 nic host ip
	shift
	for nic in "$@"; do
		for host in 1 2; do
			ip=10.$([ "$nic" = gam0 ] && echo 78 || echo 81).0.$((3 - host))
			if [ "$what" = on ]; then
				on "node0$host" ip neighbour replace "$ip" dev "$nic" \
					lladdr 02:00:00:00:00:99 nud permanent
			else
				on "node0$host" ip neighbour del "$ip" dev "$nic"
			fi
		done
	done
}

# ARP asks once a second: what it asked while the cable was out it asks again only then.
for host in node01 node02; do
	on $host ip neighbour flush dev gam0
	on $host ip neighbour flush dev gam1
done
firewall on gam1
exchange "UDP gets lost on gam1" $mib
counted "UDP gets lost on gam1: nothing else does" "$nothing_refused"
counted "UDP gets lost on gam1: raw frames go there" \
	'all(.rails_proven == 2 and .rails[1].frames_out > 500 and .rails[2].frames_out > 500)'
firewall on gam0
exchange "UDP gets lost on both" $mib
counted "UDP gets lost on both: raw frames take both" \
	'all(.rails_proven == 1 and .rails[0].frames_out > 500 and .rails[1].frames_out > 500)'
firewall off gam0 gam1
start_exchange
firewall on gam0 gam1
sleep 0.5
firewall off gam0 gam1
end_exchange "a firewall that comes and goes"
counted "a firewall that comes and goes: no connection was lost" "$nothing_refused"

# ---- peers that differ ----

mixed() { # SERVER'S SETTING
	rm -f "$work/stats"
	pair -p 7777 60 env "$1" GAMMA_API_MIB=8 "$api" 7777 exchange -- \
		env GAMMA_API_MIB=8 "$api" -c "$(mgt 1)" 7777 exchange
}
check "a peer with one NIC" mixed FI_GAMMA_IFACE=gam0
counted "a peer with one NIC: UDP takes long messages there" \
	'all(.rails_proven == 1 and (.rails | map(select(.nic == "gam0-udp"))[0].frames_out) > 500)'
check "a peer with raw frames alone" mixed FI_GAMMA_LINK=packet
counted "a peer with raw frames alone: they take both NICs" \
	'all(.rails_proven == 1 and .rails[0].frames_out > 500 and .rails[1].frames_out > 500)'
on node01 ip address flush dev gam1
exchange "a NIC without IPv4 address" 8
counted "a NIC without IPv4 address: raw frames take both" \
	'all(.rails_proven == 1 and .rails[0].frames_out > 500 and .rails[1].frames_out > 500)'
lab_down

finish
