#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Many senders to one receiver through a switch port of 1 Gbit/s with a shallow queue, and beside
# the bulk one more host with small messages there and back: gamma and libfabric's tcp, interleaved, then
# their ratios. Run as root:
#
#	fabtests/benchmarks/incast.sh [-b BUILD] [-n SENDERS] [-r ROUNDS] [-t SECONDS] [-S BYTES]
#				      [-q QUEUE-BYTES] [-g]
#
# SENDERS: with the one of small messages. BYTES: of a bulk message. -q: of the port's queue.
# -g: gamma alone.
set -euo pipefail

usage() {
	sed -n '4,12s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

top=$(cd "$(dirname "$0")/../.." && pwd)
build=$top/build senders=15 rounds=3 seconds=4 size=262144 queue='' providers=(gamma 'tcp;ofi_rxm')
while getopts b:n:r:t:S:q:g option; do
	case $option in
	b) build=$(cd "$OPTARG" && pwd) ;;
	n) senders=$OPTARG ;;
	r) rounds=$OPTARG ;;
	t) seconds=$OPTARG ;;
	S) size=$OPTARG ;;
	q) queue=$OPTARG ;;
	g) providers=(gamma) ;;
	*) usage ;;
	esac
done

program=$build/fabtests/benchmarks/gamma-incast
name=incast$$
work=$(mktemp -d "$build/incast.XXXXXX") # not in /tmp, of which each host has its own
end() {
	"$top/lab/lab" -n $name down >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap end EXIT
export FI_PROVIDER_PATH=$build/.libs FI_GAMMA_STATS=$work/stats
"$top/lab/lab" -n $name up $((senders + 1)) --rate 1gbit >/dev/null
if [ -n "$queue" ]; then
	tc -n "gl-$name-sw" qdisc replace dev d1 root tbf rate 1gbit burst 32768 limit "$queue"
fi

on() {
	local host=$1
	shift
	"$top/lab/lab" -n $name exec "$host" timeout $((seconds + 40)) "$program" "$@"
}

# Frames that the port to the receiver has dropped since the lab is up.
port_drops() {
	tc -n "gl-$name-sw" -s qdisc show dev d1 | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p' | head -n 1
}

# round PROVIDER: all hosts at once; the receiver's and the small messages' line, then the counters.
round() {
	local provider=$1 job jobs=() domain=(-d gam0) own=() drops i role
	[ "$provider" = gamma ] || domain=() own=(-a 10.78.0.1)
	rm -f "$work/stats"
	drops=$(port_drops)
	on 1 -p "$provider" "${domain[@]}" "${own[@]}" -S "$size" -s "$senders" -t "$seconds" \
		>"$work/1.out" &
	jobs+=($!)
	sleep 0.5
	for ((i = 2; i <= senders + 1; i++)); do
		role=()
		((i <= senders)) || role=(-l)
		on $i -p "$provider" "${domain[@]}" -S "$size" -i $((i - 2)) "${role[@]}" 10.78.0.1 \
			>"$work/$i.out" &
		jobs+=($!)
	done
	for job in "${jobs[@]}"; do
		wait "$job"
	done
	cat "$work"/*.out
	echo "{\"provider\":\"$provider\",\"port_drops\":$(($(port_drops) - drops))}"
	[ ! -e "$work/stats" ] || cat "$work/stats"
}

: >"$work/results"
for ((i = 0; i < rounds; i++)); do
	for provider in "${providers[@]}"; do
		round "$provider" >>"$work/results"
	done
done

python3 - "$work/results" <<'END_OF_PYTHON'
import json
import statistics
import sys

# MB/s of payload: 1,500 bytes less gamma's header; the shaper counts Ethernet's too.
WIRE = 125.0 * 1460 / 1514

measured, counters = {}, {}
for line in open(sys.argv[1]):
    row = json.loads(line)
    if "endpoint" in row:
        for name in ("data_frames_out", "retransmissions", "ring_drops", "probes_out", "requests_out",
                     "reclaims_out", "credit_stalls", "duplicates"):
            counters[name] = counters.get(name, 0) + row[name]
        continue
    for name, value in row.items():
        if name != "provider":
            measured.setdefault(row["provider"], {}).setdefault(name, []).append(value)

median = {p: {n: statistics.median(v) for n, v in m.items()} for p, m in measured.items()}
print(f"{'':12} {'MB/s':>8} {'of wire':>8} {'Jain':>7} {'least':>6} {'most':>6} {'p50 us':>8} {'p99 us':>8}"
      f" {'max us':>8} {'drops':>7}")
for provider, m in median.items():
    print(f"{provider:12} {m['goodput_MBps']:8.1f} {m['goodput_MBps'] / WIRE:8.3f} {m['jain']:7.4f}"
          f" {m['least_of_mean']:6.2f} {m['most_of_mean']:6.2f} {m['median_us']:8.0f} {m['p99_us']:8.0f}"
          f" {m['max_us']:8.0f} {m['port_drops']:7.0f}")
if len(median) == 2:
    gamma, tcp = median.values()
    print(f"gamma / tcp: goodput {gamma['goodput_MBps'] / tcp['goodput_MBps']:.2f},"
          f" p50 {gamma['median_us'] / tcp['median_us']:.2f}, p99 {gamma['p99_us'] / tcp['p99_us']:.2f}")
print("gamma, all rounds and hosts: " + ", ".join(f"{n} {v:,}" for n, v in counters.items()))
END_OF_PYTHON
