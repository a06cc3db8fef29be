#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Messages there and back with libfabric's own fi_pingpong: datagrams and reliable messages of
# all sizes, across hosts and on one host, at three frame sizes. On a network that loses nothing
# no frame is sent twice, and a small message costs one frame and one system call.
# What stands in single quotes is jq's.
# shellcheck disable=SC2016
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

need_tool fi_pingpong jq

pingpong() { # NAME [OPTION...]
	local name=$1
	shift
	both "$name" 20 fi_pingpong -p gamma "$@"
	counted_clean "$name"
}

# A message of 64 bytes each way is a frame each way, or an inline message to an shm peer; then
# there are a few of 4 bytes with which the programs begin and end.
small_messages() {
	local rounds=1000
	pingpong "$1, $rounds rounds of 64 bytes" -e rdm -S 64 -I $rounds
	counted "one frame a message" 'all(.data_frames_out + .shm_records_out == .messages_out and
		.messages_out <= $rounds + 4)' --argjson rounds $rounds
	# A side that loses its processor is probed: that is the machine's doing.
	counted "few other frames" 'all(.frames_out - .probes_out - .probes_in <= $rounds + 12 and
		.probes_out <= $rounds / 10)' --argjson rounds $rounds
	counted "one system call a frame at most" 'all(.send_calls <= .frames_out)'
}

# 1 MiB goes in frames of the full size, many of them in one call; but the first message may go in
# frames of 1,500 bytes, until a probe has shown that larger ones pass.
big_messages() {
	local mtu=$1 rounds=20
	pingpong "$mtu, $rounds rounds of 1 MiB" -e rdm -S 1048576 -I $rounds
	counted "full frames" 'all(.data_frames_out <=
		$rounds * ((1048576 / ($mtu - 40) | ceil) + 3) + 750)' \
		--argjson mtu "$mtu" --argjson rounds $rounds
	counted "few other frames" 'all(.frames_out <= 1.1 * .data_frames_out + 100)'
	counted "no copy by the sender" 'all(.bytes_copied_out < 1000)'
	[ "$mtu" -gt 9000 ] ||
		counted "many frames in a call" 'all(.send_calls < .frames_out / 4)'
}

for mtu in 1500 9000 65535; do
	lab_up 2 --mtu $mtu
	[ $mtu != 1500 ] || count_frames
	pingpong "$mtu, reliable, all sizes" -e rdm -c -S all -I 5
	pingpong "$mtu, reliable, tagged" -e rdm -m tagged -c -S 1000
	pingpong "$mtu, datagrams, all sizes" -c -S all -I 100
	big_messages $mtu
	if [ $mtu = 1500 ]; then
		small_messages "across"
		client_host=node01
		pingpong "one host, reliable, all sizes" -e rdm -c -S all -I 5
		pingpong "one host, datagrams, all sizes" -c -S all
		small_messages "one host"
		client_host=node02
	fi
	lab_down
done

# The NICs are set to 1,500 bytes and a port of the switch passes less: the size is found on the way,
# and the programs go on.
lab_up 2
for port in d1 d2; do
	ip netns exec "gl-$lab_name-sw" ip link set "$port" mtu 1400
done
both "a path of 1,400 bytes" 60 fi_pingpong -p gamma -e rdm -c -S all -I 5
counted "sizes are probed" 'map(.mtu_probes_out) | add > 0'
lab_down

finish
