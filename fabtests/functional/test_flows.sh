#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# gamma-flows on captures of the simulator: its sums are those of the simulator, in pcap and, where
# editcap is there, in pcapng; files that are none are refused in one line. Started by `make check`;
# by hand abs_top_builddir names the build folder, if it is not the current one.
# Functions are called through check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

tool=$abs_top_builddir/tools/gamma-flows
simulator=$abs_top_builddir/fabtests/sim/gamma-sim
need_tool jq python3
[ -x "$tool" ] || bail "tools/gamma-flows is not built under $abs_top_builddir"
[ -x "$simulator" ] || bail "$simulator is not built"

# flows TEXT STATUS PATTERN ARGUMENT...: ends with that status and writes a line that matches.
flows() {
	local text=$1 expected=$2 pattern=$3 status=0
	shift 3
	timeout -k 2 60 "$tool" "$@" >"$work/flows.out" 2>&1 </dev/null || status=$?
	if [ "$status" -eq "$expected" ] && grep -Eq -- "$pattern" "$work/flows.out"; then
		ok "$text"
	else
		not_ok "$text (exit $status, wanted $expected and $pattern)" "$work/flows.out"
	fi
}

# What the simulator counted in its last run, and what stands in the tool's report.
simulated() { # COUNTER
	grep -Eo "\b$1 [0-9]+" "$work/sim.out" | cut -d ' ' -f 2
}
reported() { # JQ-EXPRESSION
	timeout -k 2 60 "$tool" --json "$work/run.pcap" | jq "$1"
}
same() { # TEXT NUMBER NUMBER
	if [ "$2" = "$3" ] && [ "$2" != 0 ]; then ok "$1 ($2)"; else not_ok "$1: $2 and $3"; fi
}

# ---- the simulator's captures ----

timeout -k 2 60 "$simulator" --seed 5 --pcap "$work/run.pcap" >"$work/sim.out" ||
	not_ok "the simulator" "$work/sim.out"
same "packets" "$(reported .all.packets)" "$(simulated frames_out)"
same "bytes" "$(reported .all.bytes)" "$(simulated bytes_out)"
same "retransmissions" "$(reported .all.retransmission)" "$(simulated retransmissions)"
same "frames with data" "$(reported '.all.data - .all.retransmission')" "$(simulated data_frames_out)"
for part in packets bytes data ack credit retransmission; do
	same "the rows add up: $part" "$(reported "[.rows[].$part] | add")" "$(reported ".all.$part")"
done
flows "a table" 0 '^ +all +[0-9]+ +[0-9]+ +[0-9.]+( +[0-9.]+){4}$' "$work/run.pcap"
flows "its first row" 0 '^ +0 +[1-9][0-9]* ' "$work/run.pcap"
flows "short rows" 0 '^ +0\.[0-9]*[1-9] +[1-9]' --interval 0.001 "$work/run.pcap"
flows "another EtherType" 0 '^0.0* s .*; [1-9][0-9]* packets of other protocols' \
	--ethertype 0x88b6 "$work/run.pcap"
from_pipe() {
	"$tool" "$work/run.pcap" >"$work/table" &&
		"$tool" - <"$work/run.pcap" | cmp - "$work/table" &&
		head -c 100000000 "$work/run.pcap" | "$tool" - | cmp - "$work/table"
}
check "from the standard input" from_pipe
as_pcapng() {
	editcap -F pcapng "$work/run.pcap" "$work/run.pcapng" &&
		cmp <("$tool" "$work/run.pcap") <("$tool" "$work/run.pcapng")
}
if command -v editcap >/dev/null; then check "pcapng" as_pcapng; fi
headers_only() {
	editcap -s 256 "$work/run.pcap" "$work/headers.pcap" &&
		cmp <("$tool" "$work/run.pcap") <("$tool" "$work/headers.pcap")
}
if command -v editcap >/dev/null; then check "headers without payload" headers_only; fi

# ---- over UDP ----

# Trains, too: each of their frames is a packet, with headers of its own (42 or 62 bytes for 14).
for version in 4 6; do
	python3 -B "$top_srcdir/fabtests/functional/udp_pcap.py" $version - "$work/udp.pcap" "$work/run.pcap"
	"$tool" --json "$work/udp.pcap" >"$work/udp.json"
	for part in packets data ack credit retransmission; do
		same "over IPv$version: $part" "$(jq ".all.$part" "$work/udp.json")" "$(reported ".all.$part")"
	done
	same "over IPv$version: bytes" "$(jq .all.bytes "$work/udp.json")" \
		"$(reported ".all | .bytes + .packets * $((version == 6 ? 48 : 28))")"
	check "over IPv$version: nothing is left out" \
		jq -e '.other_packets + .malformed_packets + .cut_off_packets == 0' "$work/udp.json"
done
if command -v editcap >/dev/null; then
	editcap -s 128 "$work/udp.pcap" "$work/headers.pcap"
	flows "what is cut off of trains is said" 0 '; [1-9][0-9]* more were captured in one with others' \
		"$work/headers.pcap"
fi

# ---- other files ----

head -c 100001 "$work/run.pcap" >"$work/cut.pcap"
flows "a file that ends early is counted" 1 'ends in the middle of a frame; what stands before' "$work/cut.pcap"
flows "no capture" 2 '^gamma-flows: .* is neither a pcap nor a pcapng file$' "$top_srcdir/README.md"
flows "an empty file" 2 '^gamma-flows: .* is shorter than the header of a capture$' /dev/null
flows "no such file" 2 '^gamma-flows: .*: No such file or directory$' "$work/none.pcap"
flows "a folder" 2 '^gamma-flows: .*: Is a directory$' "$work"
flows "no file named" 2 '^gamma-flows: a capture file is missing; gamma-flows --help'
flows "a bad interval" 2 '^gamma-flows: --interval 0: must be a number of seconds' --interval 0 x
flows "a bad EtherType" 2 '^gamma-flows: --ethertype 5: must be an EtherType' --ethertype 5 x
finish
