#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Active ports between four hosts: requests and replies from all to all at once, also with loss, over
# UDP, and between four processes of one host; and the example's broadcast. With GAMMA_TEST_LONG=1
# many more.
# What stands in single quotes is jq's.
# shellcheck disable=SC2016,SC2034,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=storm.sh
. "$top_srcdir/fabtests/functional/storm.sh"

need_tool jq
broadcast=$abs_top_builddir/examples/port_broadcast
[ -x "$broadcast" ] || bail "examples/port_broadcast is not built: make builds it"

spreads() {
	local host status=0
	for host in node02 node03 node04; do start "$host" "$host" 30 "$broadcast"; done
	for host in node02 node03 node04; do wait_for_line "$host" ready 10 || status=1; done
	on node01 "$broadcast" say "good news" || status=1
	for host in node02 node03 node04; do
		wait_end "$host" || status=1
		grep -qx "heard good news" "$work/$host.out" || status=1
	done
	return "$status"
}

# losing ETHERTYPE...: of frames of that type, 1 % at two of the hosts
losing() {
	lab impair node02 --loss 1 --ethertype "$1"
	lab impair node03 --loss 1 --ethertype "$1"
}

lab_up 4 --ipv6
check "a broadcast in one frame" spreads
count_frames
rages "a storm of requests and replies" "$(requests 2000)"
losing 0x88b5
rages "with 1 % loss at two of the hosts" "$(requests 1000)"
counted "frames were lost and sent again" 'any(.retransmissions > 0)'
gamma_env+=(FI_GAMMA_LINK=udp)
losing 0x0800
rages "over UDP, with 1 % loss at two of the hosts" "$(requests 500)"
counted "over UDP: frames were lost and sent again" 'any(.retransmissions > 0)'
lab impair node02 off
lab impair node03 off
rages "over UDP" "$(requests 1000)"
gamma_env[-1]=FI_GAMMA_LINK=udp6
rages "over UDP and IPv6" "$(requests 1000)"
unset 'gamma_env[-1]'
hosts=(node01 node01 node01 node01)
rages "four processes of one host" "$(requests 500)"
finish
