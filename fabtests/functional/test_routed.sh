#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# UDP through a router: two subnets, a path that carries less than the NICs do, one that shrinks
# under a stream, with the router's ICMP errors and without, and a long path with loss.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

need_tool fi_pingpong jq

pingpong() { # NAME SECONDS OPTION...
	local name=$1 seconds=$2
	shift 2
	both "$name" "$seconds" fi_pingpong -p gamma -e rdm "$@"
}

lab_up 2 --subnets 2 --offloads
gamma_env+=(FI_GAMMA_LINK=udp FI_GAMMA_IFACE=gam0 "FI_GAMMA_STATS=$work/stats")

pingpong "two subnets, all sizes" 30 -c -S all -I 5
counted_clean "two subnets, all sizes"
pingpong "two subnets, long messages" 30 -S 1048576 -I 20
counted "trains" 'all(.send_calls < .frames_out / 3)'

for icmp in on off; do
	lab router --mtu 1300 --icmp $icmp
	pingpong "the router's MTU is smaller, ICMP $icmp" 30 -c -S 100000 -I 10
	lab router --mtu 1500
	# It shrinks while the messages go to and fro.
	start server node01 60 fi_pingpong -p gamma -e rdm -c -S 100000 -I 600
	wait_for_port node01 47592 5 || not_ok "the server listens" "$work/server.out"
	start client node02 60 fi_pingpong -p gamma -e rdm -c -S 100000 -I 600 "$(mgt 1)"
	sleep 0.4
	lab router --mtu 1100
	if wait_end client && wait_end server; then
		ok "the router's MTU shrinks under a stream, ICMP $icmp"
	else
		not_ok "the router's MTU shrinks under a stream, ICMP $icmp" \
			"$work/server.out" "$work/client.out"
	fi
	lab router --mtu 1500 --icmp on
done

# The program that delays frames passes them on as they are, so with the offloads off.
lab_down
lab_up 2 --subnets 2
lab impair node02 --delay 10ms --loss 1 --ethertype 0x0800
pingpong "20 ms and 1 % loss" 60 -c -S 100000 -I 10
counted "what is lost is sent again" 'any(.retransmissions > 0)'
counted "and the sender's window shrinks" 'any(.window_reductions > 0)'
lab impair node02 off
finish
