#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Active ports between four hosts: requests and replies from all to all at once, also with loss; and
# the example's broadcast.
# What stands in single quotes is jq's.
# shellcheck disable=SC2016,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

need_tool jq
storm=$abs_top_builddir/fabtests/functional/gamma-port-storm
broadcast=$abs_top_builddir/examples/port_broadcast
[ -x "$storm" ] || bail "$storm is not built (make check builds it)"
[ -x "$broadcast" ] || bail "examples/port_broadcast is not built: make builds it"
hosts=(node01 node02 node03 node04)

# rages TEXT REQUESTS: so many from each host to each other one.
rages() {
	local host status=0
	rm -f "$work/stats" "$work/go"
	for host in "${hosts[@]}"; do
		start "$host" "$host" 90 "$storm" "$work/go" "$2" "${hosts[@]}"
	done
	for host in "${hosts[@]}"; do wait_for_line "$host" ready 10 || status=1; done
	touch "$work/go"
	for host in "${hosts[@]}"; do wait_end "$host" || status=1; done
	for host in "${hosts[@]}"; do
		grep -q "$((3 * $2)) served, $((3 * $2)) answered" "$work/$host.out" || status=1
	done
	if [ "$status" -eq 0 ]; then
		ok "$1"
	else
		not_ok "$1"
		for host in "${hosts[@]}"; do tail -n 3 "$work/$host.out"; done
	fi
	counted "$1: each once" "length == 4 and all(.ports_in == 3 * (2 * $2 + 1) and .malformed == 0)"
}

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

lab_up 4
check "a broadcast in one frame" spreads
count_frames
rages "a storm of requests and replies" 2000
lab impair node02 --loss 1
lab impair node03 --loss 1
rages "with 1 % loss at two of the hosts" 1000
counted "frames were lost and sent again" 'any(.retransmissions > 0)'
finish
