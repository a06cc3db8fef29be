#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# As test_loss.sh and test_reliability.sh, what applies over UDP: datagrams that are lost, doubled,
# late, out of order or damaged; a cable that is pulled; a process that is stopped; a path that
# carries less than the NICs. With GAMMA_TEST_LONG=1 more of each.
# What stands in single quotes is jq's.
# shellcheck disable=SC2016,SC2119
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"

need_tool jq
mib=16
[ "${GAMMA_TEST_LONG:-0}" = 0 ] || mib=512

impair() { # OPTION...: of lab impair, for IPv4
	lab impair node02 "$@" --ethertype 0x0800
}

lab_up 2
gamma_env+=(FI_GAMMA_LINK=udp FI_GAMMA_IFACE=gam0)
count_frames
for percent in 1 5 10; do
	impair --loss "$percent"
	exchange "$percent % lost" $mib
	counted "$percent % lost: sent again" 'map(.retransmissions) | add > 0'
done
impair --loss 5 --burst 20
exchange "5 % lost in runs of 20" $mib
impair --loss 30
run "30 % lost" calls sizes order both_directions close_outstanding
impair --dup 10
exchange "10 % doubled" $mib duplicates
counted "doubled ones are noticed" 'map(.duplicates) | add > 0'
counted "and nothing is sent again for them" 'all(.retransmissions == 0)'
impair --delay 2ms --jitter 1ms --reorder 10
exchange "10 % out of order, by 2 ms" 8 out_of_order
counted "seen out of order" 'map(.out_of_order) | add > 0'

# The kernel drops datagrams whose UDP checksum is wrong.
impair --corrupt 5
exchange "5 % damaged" $mib
counted "they are sent again" 'map(.retransmissions) | add > 0'
lab impair node02 off
exchange "all is well again" $mib
counted_clean "all is well again"

start_exchange
lab cable node02 pull
sleep 1
lab cable node02 plug
end_exchange "no cable for 1 s" send_stalls
exchange "with the cable back the next run works" 8

start_exchange
signal server STOP
sleep 1
signal server CONT
end_exchange "a process that is stopped for 1 s"

ip -n "gl-$lab_name-sw" link set dev d2 mtu 1400
exchange "a path of 1,400 bytes" 8
counted "a path of 1,400 bytes: it is found" 'map(.mtu_probes_out) | add > 0'
ip -n "gl-$lab_name-sw" link set dev d2 mtu 1500
finish
