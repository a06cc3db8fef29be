#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Messages to active ports: the example's ping-pong, whose handlers check order and content and
# reply to a peer that is not in the address vector. Across hosts, on one host, with loss, over UDP.
# What stands in single quotes is jq's.
# shellcheck disable=SC2016
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"

need_tool jq
program=$abs_top_builddir/examples/port_pingpong
[ -x "$program" ] || bail "examples/port_pingpong is not built: make builds it"

pingpong() { # NAME [ADDRESS]: node01's, if its name does not lead to its NIC
	rm -f "$work/stats"
	if pair -l ready 30 "$program" -- "$program" "${2:-node01}" &&
		grep -qx '1000 rounds' "$work/server.out" &&
		grep -qx '1000 rounds' "$work/client.out"; then
		ok "$1"
	else
		not_ok "$1" "$work/server.out" "$work/client.out"
	fi
	counted "$1: a message a round each way" 'all(.messages_out == 1000 and .ports_in == 1000)'
}

lab_up 2 --ipv6
if pair -l ready 30 "$abs_top_builddir/examples/port_work" -- \
	"$abs_top_builddir/examples/port_work" node01 &&
	grep -qx '1000 items, sum 333833500' "$work/server.out" &&
	grep -q '^1000 items' "$work/client.out"; then
	ok "a work queue"
else
	not_ok "a work queue" "$work/server.out" "$work/client.out"
fi
count_frames
pingpong "across"
counted "across: nothing lost, repeated or refused" \
	'all(.retransmissions + .duplicates + .ring_drops + .malformed == 0)'
counted "across: handled where they arrived" \
	'all(.ports_in_place > 0 and
	.bytes_copied_in == 4 * (.ports_in - .ports_in_place))'
client_host=node01
pingpong "one host"
counted "one host: handled where they arrived" \
	'all(.ports_in_place > 0 and
	.bytes_copied_in == 4 * (.ports_in - .ports_in_place))'
run "one host" ports_long ports_reply
client_host=node02
lab impair node02 --loss 1
pingpong "with 1 % loss"
run "with 1 % loss" ports ports_set_late ports_reply ports_long ports_threads ports_keep_and_wait \
	ports_delivered ports_matched ports_fence
lab impair node02 --loss 1 --ethertype 0x0800
gamma_env+=(FI_GAMMA_LINK=udp)
run "over UDP, with 1 % loss" ports ports_set_late ports_long ports_threads ports_keep_and_wait
counted "over UDP: frames were lost and sent again" 'any(.retransmissions > 0)'
pingpong "over UDP, with 1 % loss" "$(data_ip 1)"
lab impair node02 off
gamma_env[-1]=FI_GAMMA_LINK=udp6
pingpong "over UDP and IPv6" "$(data_ip6 1)"
unset 'gamma_env[-1]'
run "handlers that fork, exec and exit" ports_fork ports_exit
run "a handler that does not return for 6 s" ports_stuck
check "it is reported, once" test "$(cat "$work/server.out" "$work/client.out" |
	grep -c 'active port 5 has not returned for 5 s')" -eq 1
lab_down

finish
