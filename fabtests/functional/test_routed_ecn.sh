#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# UDP through a router that marks packets (ECN) beyond a rate: streams slow down, and nothing is lost or sent
# again; over IPv4 and over IPv6. Within one subnet no packet may be marked.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

need_tool fi_pingpong jq nft

stream() { # NAME LINK
	gamma_env=("${base_env[@]}" FI_GAMMA_LINK="$2")
	both "$1" 30 fi_pingpong -p gamma -e rdm -S 1048576 -I 6
}

lab_up 2 --subnets 2 --ipv6 --offloads
base_env=("${gamma_env[@]}" FI_GAMMA_IFACE=gam0 "FI_GAMMA_STATS=$work/stats")
stream "a router that marks nothing" udp
counted "nothing was marked" 'all(.ecn_marked == 0)'
lab router --marks 1
for link in udp udp6; do
	stream "a router that marks, $link" $link
	counted "the receiver counts marks, $link" 'any(.ecn_marked > 0)'
	counted "the sender slows down, $link" 'any(.window_reductions > 0)'
	counted "nothing is lost or sent again, $link" 'all(.retransmissions == 0 and .ring_drops == 0)'
done
lab router --marks off
finish
