#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The dissector in tshark: captures of the simulator, the same with 2,000 damaged frames (10,000 with
# GAMMA_TEST_LONG=1), and, as root, one of a virtual cluster. What it finds is compared with what the
# frames say. Started by `make check`; by hand abs_top_builddir names the build folder, if it is not
# the current one.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

need_tool tshark editcap python3
simulator=$abs_top_builddir/fabtests/sim/gamma-sim
[ -x "$simulator" ] || bail "$simulator is not built"
# No settings of a user change the result.
export HOME=$work XDG_CONFIG_HOME=$work
mkdir -p "$work/plugins"

dissect() { # CAPTURE OPTION...
	timeout -k 2 200 tshark -n -X "lua_script:$top_srcdir/contrib/wireshark/gamma.lua" -r "$@" \
		2>"$work/tshark.err"
}

# simulate NAME OPTION...
simulate() {
	timeout -k 2 100 "$simulator" "${@:2}" --pcap "$work/$1.pcap" >"$work/sim.out" ||
		not_ok "simulator ${*:2}" "$work/sim.out"
}

# says TEXT CAPTURE PATTERN [OPTION...]: a line of the dissection matches.
says() {
	dissect "$work/$2.pcap" "${@:4}" >"$work/said" || not_ok "$1: tshark" "$work/tshark.err"
	if grep -Eq -- "$3" "$work/said"; then ok "$1"; else not_ok "$1 (no line matches $3)" "$work/said"; fi
}

# count CAPTURE FILTER: frames that pass.
count() {
	dissect "$work/$1.pcap" -Y "$2" | wc -l
}

# counts TEXT CAPTURE FILTER FILTER: the same number of frames, not 0.
counts() {
	local left right
	left=$(count "$2" "$3") right=$(count "$2" "$4")
	if [ "$left" -eq "$right" ] && [ "$left" -gt 0 ]; then
		ok "$1 ($left)"
	else
		not_ok "$1: $left frames are $3, $right are $4" "$work/tshark.err"
	fi
}

# ---- the simulator's captures ----

simulate one-loss --scenario one-loss
simulate remote --scenario remote-loss
for seed in 5 11 15 101; do simulate seed$seed --seed $seed; done

says "kinds, numbers, acknowledgement" remote '> 9001 DATA [A-Z]+ Number=[0-9]+ .*Ack=[0-9]+ Limit=[0-9]+'
counts "one frame was lost, and one is a retransmission" one-loss \
	'gamma.expert.retransmission' 'gamma.kind == 1 && gamma.flags.again == 1'
says "retransmission" one-loss 'retransmission of number 57, [0-9.]+ us after the last' -Y gamma.expert.retransmission
says "missing frames" one-loss '1 frames are missing from number 57 on' -Y gamma.expert.missing
for seed in 5 15; do # no other host sends forged frames in these
	counts "seed $seed: retransmissions are the frames with AGAIN" seed$seed \
		'gamma.expert.retransmission' 'gamma.kind == 1 && gamma.flags.again == 1'
	counts "seed $seed: all frames are whole" seed$seed gamma 'gamma.checksum.status == "good"'
	if [ "$(count seed$seed 'gamma.expert.malformed || gamma.expert.overrun || gamma.expert.window')" -eq 0 ]; then
		ok "seed $seed: no rule is broken"
	else
		not_ok "seed $seed: no rule is broken"
	fi
done
says "a message of several frames" seed5 'Reassembled message: [0-9a-f]+.* \([0-9]+ frames\)' -V
check "its length" grep -q 'Message length: [1-9]' "$work/said"
check "credit" grep -q 'Credit left (frames): [0-9]' "$work/said"
check "time to acknowledge" grep -q 'Time to acknowledge (s): [0-9]' "$work/said"
says "a probe and its answer" seed5 'ACK PROBED' -Y gamma.analysis.answer_time
says "remote memory" remote 'RMA.length: [0-9]+' -V -c 3000 -Y 'gamma.rma || gamma.item'
check "items of a batch" grep -q 'Item of a batch: [A-Z]*, [0-9]* bytes' "$work/said"
says "messages to active ports" seed15 'Active port: [0-2]$' -V -Y 'gamma.active_port.head && gamma.op == 4'
check "the head that an announcement has" grep -q '^ *Head: [0-9a-f]' "$work/said"
says "credit stalls" remote 'the last frame that the credit allows' -Y gamma.expert.stall -c 3000
editcap "$work/one-loss.pcap" "$work/gap.pcap" 40-44 2>"$work/tshark.err" || cat "$work/tshark.err"
says "frames that were not captured" gap '[0-9] frames from number [0-9]+ on were not captured' \
	-Y gamma.expert.gap
says "round trips over time" one-loss '^\| 0.000.* 0.000[0-9]+ ' -q -z \
	'io,stat,0.001,AVG(gamma.analysis.rtt)gamma.analysis.rtt'

# ---- over UDP: each datagram is a frame or a train ----

in_udp() { # NAME SEED|- CAPTURE...
	python3 -B "$top_srcdir/fabtests/functional/udp_pcap.py" "$2" "$work/$1.pcap" "${@:3}"
}
in_udp udp-loss - "$work/one-loss.pcap"
says "over UDP the heuristic finds the frames" udp-loss '0\.0\.0\.1 +GAMMA .*DATA BULK Number=[0-9]+ .*\(the last of [2-8] frames\)'
counts "over UDP one frame was lost, and one is a retransmission" udp-loss \
	'gamma.expert.retransmission' 'gamma.kind == 1 && gamma.flags.again == 1'
counts "over UDP all frames are whole" udp-loss udp 'gamma.checksum.status == "good"'
check "and none is bad" [ "$(count udp-loss 'gamma.checksum.status == "bad" || gamma.expert.malformed')" -eq 0 ]
says "as Decode as has it" udp-loss 'GAMMA .*DATA' -d udp.port==9001,gamma_udp
in_udp udp-damaged 1 "$work/one-loss.pcap" "$work/seed101.pcap"
dissect "$work/udp-damaged.pcap" -V -2 -d udp.port==9001,gamma_udp >"$work/said" || not_ok "damaged datagrams: tshark" "$work/tshark.err"
if grep -q GAMMA "$work/said" && ! grep -q 'Lua' "$work/said" "$work/tshark.err"; then
	ok "damaged datagrams, no error of the dissector"
else
	grep -h -m 5 Lua "$work/said" "$work/tshark.err" >"$work/errors" || true
	not_ok "damaged datagrams" "$work/errors"
fi

# ---- damaged frames ----

damaged=2000
[ "${GAMMA_TEST_LONG:-0}" = 0 ] || damaged=10000
python3 -B "$top_srcdir/fabtests/functional/mutate_pcap.py" 1 $damaged "$work/damaged.pcap" \
	"$work"/{one-loss,remote,seed5,seed11,seed15,seed101}.pcap
dissect "$work/damaged.pcap" -V -2 >"$work/said" || not_ok "damaged frames: tshark" "$work/tshark.err"
if grep -q "Frame $damaged" "$work/said" && ! grep -q 'Lua' "$work/said" "$work/tshark.err"; then
	ok "$damaged damaged frames, no error of the dissector"
else
	grep -h -m 5 Lua "$work/said" "$work/tshark.err" >"$work/errors" || true
	not_ok "$damaged damaged frames" "$work/errors"
fi
check "some are malformed" grep -q 'header length and extensions contradict' "$work/said"
check "some have a wrong checksum" grep -q 'wrong checksum of the header' "$work/said"

# ---- a virtual cluster ----

if [ "${GAMMA_TEST_LAB:-1}" != 1 ] || [ "$(id -u)" -ne 0 ]; then
	echo "the virtual cluster is left out"
	finish
fi
lab_up 2 --mtu 9000
lab capture node01 "$work/lab.pcap" --seconds 100 2>"$work/capture" &
capture=$!
until_true 5 grep -q 'listening on' "$work/capture" || cat "$work/capture"
if pair -p 47592 30 fi_pingpong -p gamma -e rdm -I 50 -S 40000 -- \
	fi_pingpong -p gamma -e rdm -I 50 -S 40000 "$(mgt 1)"; then
	ok "a ping-pong of 40,000 bytes"
else
	not_ok "a ping-pong of 40,000 bytes" "$work/server.out" "$work/client.out"
fi
if [ -x "$abs_top_builddir/gammad/gammad" ] && lab gammad start >"$work/gammad.out"; then
	on node01 "$abs_top_builddir/tools/gamma-discover" --wait 0.2 >"$work/found" || true
	discovered=yes
fi
kill "$capture" 2>/dev/null || true
wait "$capture" || true
counts "the cluster's frames are whole" lab gamma 'gamma.checksum.status == "good"'
says "its messages are reassembled" lab 'Message length: 40000' -V -Y gamma.message.total
says "an MTU probe" lab 'asks whether frames of 9000 bytes pass' -Y gamma.expert.probe
counts "its endpoints close" lab 'gamma.kind == 8' 'gamma.expert.bye && gamma.stream'
if [ -n "${discovered:-}" ]; then
	says "hosts that answer" lab '^ +Name: node02$' -V -Y 'gamma.host.mtu == 9000'
fi
finish
