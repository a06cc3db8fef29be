#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The dissector in tshark: captures of the simulator, the same with 2,000 damaged frames (10,000 with
# GAMMA_TEST_LONG=1), and, as root, one of a virtual cluster. What it finds is compared with what the
# frames say. Started by `make check`; by hand abs_top_builddir names the build folder, if it is not
# the current one.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

need_tool tshark editcap mergecap python3
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

# repeats TEXT PATTERN: so does a line of what was dissected last.
repeats() {
	if grep -Eq -- "$2" "$work/said"; then ok "$1"; else not_ok "$1 (no line matches $2)"; fi
}

# survey CAPTURE FILTER...: counts the frames that pass each, in one pass; tshark's start takes
# longer than most captures.
declare -A frames=()
survey() {
	local capture=$1 filter at=3
	shift
	dissect "$work/$capture.pcap" -q -z "io,stat,0$(printf ',%s' "$@")" >"$work/survey" ||
		not_ok "$capture: tshark" "$work/tshark.err"
	for filter; do
		frames[$capture $filter]=$(awk -F '|' -v at=$at '/<>/ { print $at + 0 }' "$work/survey")
		at=$((at + 2))
	done
}

# counts TEXT CAPTURE FILTER FILTER: the survey has the same number of frames of both, not 0.
counts() {
	local left=${frames[$2 $3]:-} right=${frames[$2 $4]:-}
	if [ "$left" = "$right" ] && [ "${left:-0}" -gt 0 ]; then
		ok "$1 ($left)"
	else
		not_ok "$1: $left frames are $3, $right are $4" "$work/survey"
	fi
}

# none TEXT CAPTURE FILTER: the survey has no such frame.
none() {
	check "$1" [ "${frames[$2 $3]:-none}" = 0 ]
}

resent='gamma.expert.retransmission'
again='gamma.kind == 1 && gamma.flags.again == 1'
good='gamma.checksum.status == "good"'
bad='gamma.checksum.status == "bad" || gamma.expert.malformed'
broken='gamma.expert.malformed || gamma.expert.overrun || gamma.expert.window'

# ---- the simulator's captures ----

simulate one-loss --scenario one-loss
simulate remote --scenario remote-loss
for seed in 5 11 15 73 101; do simulate seed$seed --seed $seed; done

survey one-loss "$resent" "$again"
counts "one frame was lost, and one is a retransmission" one-loss "$resent" "$again"
says "retransmission" one-loss 'retransmission of number 57, [0-9.]+ us after the last' \
	-Y 'gamma.expert.retransmission || gamma.expert.missing'
repeats "missing frames" '1 frames are missing from number 57 on'
says "kinds, numbers, acknowledgement" remote '> 9001 DATA [A-Z]+ Number=[0-9]+ .*Ack=[0-9]+ Limit=[0-9]+' \
	-P -V -c 3000 -Y 'gamma.rma || gamma.item || gamma.expert.stall'
repeats "remote memory" 'RMA.length: [0-9]+'
repeats "items of a batch" 'Item of a batch: [A-Z]*, [0-9]* bytes'
repeats "credit stalls" 'the last frame that the credit allows'
for seed in 5 15; do # no other host sends forged frames in these
	survey seed$seed "$resent" "$again" gamma "$good" "$broken"
	counts "seed $seed: retransmissions are the frames with AGAIN" seed$seed "$resent" "$again"
	counts "seed $seed: all frames are whole" seed$seed gamma "$good"
	none "seed $seed: no rule is broken" seed$seed "$broken"
done
says "a message of several frames" seed15 'Reassembled message: [0-9a-f]+.* \([0-9]+ frames\)' \
	-V -Y 'gamma.message.total || gamma.analysis.answer_time || (gamma.active_port.head && gamma.op == 4)'
repeats "its length" 'Message length: [1-9]'
repeats "credit" 'Credit left \(frames\): [0-9]'
repeats "time to acknowledge" 'Time to acknowledge \(s\): [0-9]'
repeats "a probe and its answer" 'ACK PROBED'
repeats "messages to active ports" 'Active port: [0-2]$'
repeats "the head that an announcement has" '^ *Head: [0-9a-f]'
says "marks of a router" seed73 'a router has marked DATA because of congestion' \
	-Y 'gamma.expert.marked && gamma.analysis.marks > 0'
editcap "$work/one-loss.pcap" "$work/gap.pcap" 40-44 2>"$work/tshark.err" || cat "$work/tshark.err"
says "frames that were not captured" gap '[0-9] frames from number [0-9]+ on were not captured' \
	-Y gamma.expert.gap
says "round trips over time" one-loss '^\| 0.000.* 0.000[0-9]+ ' -q -z \
	'io,stat,0.001,AVG(gamma.analysis.rtt)gamma.analysis.rtt'

# ---- over UDP, of IPv4 and IPv6: each datagram is a frame or a train ----

# in_udp NAME SEED|- CAPTURE...: a capture with the frames over both, one after the other.
in_udp() {
	local version
	for version in 4 6; do
		python3 -B "$top_srcdir/fabtests/functional/udp_pcap.py" $version "$2" \
			"$work/$1-$version.pcap" "${@:3}"
	done
	mergecap -a -w "$work/$1.pcap" "$work/$1"-[46].pcap
}
in_udp udp-loss - "$work/one-loss.pcap"
survey udp-loss {ip,ipv6}' && '{gamma,"$resent","$again","$good"} "$bad"
for version in ip ipv6; do
	counts "$version: one frame was lost, and one is a retransmission" udp-loss \
		"$version && $resent" "$version && $again"
	counts "$version: all frames are whole" udp-loss "$version && gamma" "$version && $good"
done
none "and none is bad" udp-loss "$bad"
says "the heuristic finds the frames" udp-loss \
	'0\.0\.0\.1 +GAMMA .*DATA BULK Number=[0-9]+ .*\(the last of [2-8] frames\)'
repeats "over IPv6, too" 'fd00:78::1 +GAMMA .*DATA BULK Number=[0-9]+ .*\(the last of [2-8] frames\)'
says "a conversation over IPv6 has two endpoints" udp-loss '^[0-9,]+$' -Y \
	'gamma.src == "fd00:78::1/9001/e0010000" && gamma.dst == "fd00:78::/9000/e0000000"' \
	-T fields -e gamma.stream
check "of one number" [ "$(tr ',' '\n' <"$work/said" | sort -u | wc -l)" -eq 1 ]
says "as Decode as has it" udp-loss 'GAMMA .*DATA' -d udp.port==9001,gamma_udp -c 200
editcap -r "$work/seed101.pcap" "$work/some.pcap" 1-1500 2>"$work/tshark.err" || cat "$work/tshark.err"
in_udp udp-damaged 1 "$work/one-loss.pcap" "$work/some.pcap"
dissect "$work/udp-damaged.pcap" -V -2 -d udp.port==9001,gamma_udp >"$work/said" || not_ok "damaged datagrams: tshark" "$work/tshark.err"
if grep -q GAMMA "$work/said" && ! grep -q 'Lua' "$work/said" "$work/tshark.err"; then
	ok "damaged datagrams, no error of the dissector"
else
	grep -h -m 5 Lua "$work/said" "$work/tshark.err" >"$work/errors" || true
	not_ok "damaged datagrams" "$work/errors"
fi

# ---- all kinds: each operation of LOOKUP, PROBE and ACK, addresses, groups ----

python3 -B "$top_srcdir/fabtests/functional/kinds_pcap.py" "$work/kinds.pcap"
for version in 4 6; do
	python3 -B "$top_srcdir/fabtests/functional/udp_pcap.py" $version - \
		"$work/kinds-$version.pcap" "$work/kinds.pcap"
done
mergecap -a -w "$work/all-kinds.pcap" "$work"/kinds{,-4,-6}.pcap
survey all-kinds gamma "$good" "$bad" 'gamma.checksum.status contains "group"' 'ip.dst == 239.0.0.0/8' \
	'ipv6.dst == ff00::/8 && gamma.checksum.status == "good"' 'gamma && eth.dst[0] == 03 && !udp'
none "every kind: none is bad" all-kinds "$bad"
counts "over IPv4 a group's MAC address is not in the datagram" all-kinds \
	'gamma.checksum.status contains "group"' 'ip.dst == 239.0.0.0/8'
counts "over IPv6 it is" all-kinds 'gamma && eth.dst[0] == 03 && !udp' \
	'ipv6.dst == ff00::/8 && gamma.checksum.status == "good"'
says "HOST_VIA: the host that is to be asked" all-kinds 'Host to ask: 02:00:00:00:00:03' -P -V
repeats "in the list of frames" 'LOOKUP HOST_VIA .*Via=02:00:00:00:00:03'
repeats "its answer" 'Answers the question in'
repeats "an address over UDP" 'IPv4 address: 10\.78\.0\.7'
repeats "an address over IPv6" 'IPv6 address: fd00:78::7'
repeats "the rails of an endpoint" 'MAC of a rail: 02:00:00:00:01:02'
repeats "their MTUs" 'MTU of a rail: 9000'
for kind in DATA ACK CREDIT REQUEST RECLAIM PROBE RESET BYE LOOKUP DATAGRAM; do
	repeats "over IPv6: $kind" "^GAMMA .*, $kind .*, fd00:78::[12]/"
done

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
lab_up 2 --mtu 9000 --ipv6
lab capture node01 "$work/lab.pcap" --seconds 100 2>"$work/capture" &
capture=$!
until_true 5 grep -q 'listening on' "$work/capture" || cat "$work/capture"
if pair -p 47592 30 fi_pingpong -p gamma -e rdm -I 50 -S 40000 -- \
	fi_pingpong -p gamma -e rdm -I 50 -S 40000 "$(mgt 1)"; then
	ok "a ping-pong of 40,000 bytes"
else
	not_ok "a ping-pong of 40,000 bytes" "$work/server.out" "$work/client.out"
fi
# shellcheck disable=SC2317 # called through check
udp6() { FI_GAMMA_LINK=udp6 pair -p 47592 30 "$@" -- "$@" "$(mgt 1)"; }
check "the same over IPv6" udp6 fi_pingpong -p gamma -d gam0-udp6 -e rdm -I 5 -S 40000
if [ -x "$abs_top_builddir/gammad/gammad" ] && lab gammad start >"$work/gammad.out"; then
	on node01 "$abs_top_builddir/tools/gamma-discover" --wait 0.2 >"$work/found" || true
	discovered=yes
fi
kill "$capture" 2>/dev/null || true
wait "$capture" || true
survey lab gamma "$good" 'ipv6 && gamma.src contains "fd00:78::"' "ipv6 && $good" 'gamma.kind == 8' 'gamma.expert.bye && gamma.stream'
counts "the cluster's frames are whole" lab gamma "$good"
counts "those over IPv6, too" lab 'ipv6 && gamma.src contains "fd00:78::"' "ipv6 && $good"
counts "its endpoints close" lab 'gamma.kind == 8' 'gamma.expert.bye && gamma.stream'
says "its messages are reassembled" lab 'Message length: 40000' -V -Y \
	'gamma.message.total || gamma.expert.probe || gamma.host.mtu == 9000'
repeats "an MTU probe" 'asks whether frames of 9000 bytes pass'
if [ -n "${discovered:-}" ]; then repeats "hosts that answer" '^ +Name: node02$'; fi
finish
