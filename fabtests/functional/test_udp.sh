#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# UDP: messages of all sizes between ordinary users' programs, with no daemon and no capability, in
# trains, under loss, on one host, at two frame sizes; a peer whose process is killed; what a program
# gets that names a link which it cannot have, or whose peer uses another one. Functions are called
# through check:
# shellcheck disable=SC2016,SC2119,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source-path=SCRIPTDIR source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"
# shellcheck source-path=SCRIPTDIR source=udp.sh
. "$top_srcdir/fabtests/functional/udp.sh"

for mtu in 1500 9000; do
	lab_up 2 --mtu $mtu --offloads
	[ -n "${own_env[*]}" ] || own_env=("${gamma_env[@]}")
	share_provider
	check "$mtu: without privilege and daemon the domains are over UDP" [ "$(domains)" = gam0-udp ]
	pingpong "$mtu, reliable, all sizes" -e rdm -c -S all -I 5
	counted_clean "$mtu, reliable, all sizes"
	pingpong "$mtu, reliable, tagged" -e rdm -m tagged -c -S 1000
	counted_clean "$mtu, reliable, tagged"
	pingpong "$mtu, short messages" -e rdm -S 64 -I 1000
	counted "one system call sends each" \
		'all(.send_calls <= .frames_out and .send_calls < .messages_out * 1.5)'
	counted "most by the connected socket" 'all(.connected_calls > .send_calls * 0.7)'
	counted "they take the fast path" 'all(.rx_fast > .messages_in * 0.5)'
	pingpong "$mtu, 64 KiB" -e rdm -S 65536 -I 200
	counted "no other round trip" 'all(.send_calls < .messages_out * 8)'
	pingpong "$mtu, datagrams" -c -S 1000 -I 100
	pingpong "$mtu, long messages" -e rdm -S 1048576 -I 20
	counted_clean "$mtu, long messages"
	train=$((65507 / (mtu - 28))) # frames
	counted "whole trains" "all(.send_calls * $train < .frames_out * 3)"
	counted "most frames are received together" 'all(.rx_run > .data_frames_in * 0.5)'
	counted "an acknowledgement for a train at most" "all(.acks_out * $train < .data_frames_in * 3)"
	counted "no copy by the sender" 'all(.bytes_copied_out < 1000)'
	[ $mtu = 9000 ] || lab_down
done
client_host=node01
pingpong "one host" -e rdm -c -S all -I 5
counted_clean "one host"
client_host=node02

lab impair node02 --loss 5 --ethertype 0x0800
pingpong "5 % of the datagrams lost" -e rdm -c -S 100000 -I 100
counted "they are sent again" 'any(.retransmissions > 0)'
lab impair node02 off

# The kernel of a killed process answers by ICMP, long before the peer timeout. What it answers first
# says how the peer learns it: a frame of the flow, or, when it only waits to receive, its question
# after a second of silence.
gamma_env+=(FI_GAMMA_LINK=udp "FI_GAMMA_STATS=$work/stats")
start_exchange
signal server KILL
check "killed: its peer gets an error" wait_for_line client \
	'^lost: .* (has closed its endpoint|no process there owns its port any more)' 10
stop server
end_lost client
counted "by ICMP" 'any(.unreachable > 0) and all(.peer_timeouts == 0)'
exchange "the next run works" 8

gamma_env+=(FI_GAMMA_LINK=packet)
check_fails "a packet socket alone: the cause and the cure" "no CAP_NET_RAW, .* no gammad" \
	on node01 "${user[@]}" fi_info -p gamma
gamma_env+=(FI_GAMMA_LINK=wire)
check_fails "no such link" "must be any, packet, xdp, auto, udp, udp6 or raw[+]udp" on node01 fi_info -p gamma

# One process may have packet sockets, the other may not.
gamma_env+=(FI_GAMMA_LINK=any)
start server node01 30 "${user[@]}" fi_pingpong -p gamma -e rdm
wait_for_port node01 47592 5 || not_ok "the server listens" "$work/server.out"
check_fails "different links: an error that says so" "set the same FI_GAMMA_LINK on all hosts" \
	on node02 timeout 20 fi_pingpong -p gamma -e rdm "$(mgt 1)"
stop server
finish
