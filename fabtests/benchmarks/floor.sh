#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# How close gamma stays to the floor: half round trips of a raw packet ring, of gamma and of
# libfabric's tcp between two hosts of a virtual cluster, interleaved, and the ratios of the
# medians. Run as root:
#
#	fabtests/benchmarks/floor.sh [-b BUILD] [-s BYTES] [-r ROUNDS] [-n ROUND_TRIPS] [-m MTU] [-w]
#
# -w: through the switch instead of back to back.
set -euo pipefail

usage() {
	sed -n '4,11s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

top=$(cd "$(dirname "$0")/../.." && pwd)
build=$top/build size=64 rounds=7 trips=30000 mtu=1500 wiring=--b2b
while getopts b:s:r:n:m:w option; do
	case $option in
	b) build=$(cd "$OPTARG" && pwd) ;;
	s) size=$OPTARG ;;
	r) rounds=$OPTARG ;;
	n) trips=$OPTARG ;;
	m) mtu=$OPTARG ;;
	w) wiring= ;;
	*) usage ;;
	esac
done

programs=$build/fabtests/benchmarks
name=floor$$
results=$(mktemp)
end() {
	"$top/lab/lab" -n $name down >/dev/null 2>&1 || true
	rm -f "$results"
}
trap end EXIT
export FI_PROVIDER_PATH=$build/.libs
# shellcheck disable=SC2086 # one word or none
"$top/lab/lab" -n $name up 2 --mtu "$mtu" $wiring >/dev/null

on() {
	local host=$1
	shift
	"$top/lab/lab" -n $name exec "$host" timeout 60 "$@"
}

# pair LABEL SERVER... -- CLIENT...: notes the client's median.
pair() {
	local label=$1 server=() pid
	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	on 1 "${server[@]}" >/dev/null 2>&1 &
	pid=$!
	sleep 0.3
	on 2 "$@" | awk -v label="$label" '/^ /{print label, $2}' >>"$results"
	wait $pid
}

raw_size=$((size < mtu ? size : mtu))
for _ in $(seq "$rounds"); do
	pair raw "$programs/gamma-rawpacket" -i gam0 -s -- \
		"$programs/gamma-rawpacket" -i gam0 -d 02:47:41:4d:00:01 -S $raw_size -n "$trips"
	pair gamma "$programs/gamma-latency" -p gamma -d gam0 -s -- \
		"$programs/gamma-latency" -p gamma -d gam0 -S "$size" -n "$trips" 10.78.0.1
	pair tcp "$programs/gamma-latency" -p 'tcp;ofi_rxm' -a 10.78.0.1 -s -- \
		"$programs/gamma-latency" -p 'tcp;ofi_rxm' -S "$size" -n $((trips / 3)) 10.78.0.1
done

python3 - "$size" "$raw_size" "$results" <<'END'
import statistics
import sys

size, raw_size, path = sys.argv[1:]
times = {}
for line in open(path):
    label, median = line.split()
    times.setdefault(label, []).append(float(median))
for label, bytes_ in (("raw", raw_size), ("gamma", size), ("tcp", size)):
    t = times[label]
    print(f"{label:6} {bytes_:>8} bytes  {statistics.median(t):8.2f} us  ({min(t):.2f} to {max(t):.2f}, {len(t)} rounds)")
median = {label: statistics.median(t) for label, t in times.items()}
print(f"gamma / raw {median['gamma'] / median['raw']:.2f}   tcp / gamma {median['tcp'] / median['gamma']:.2f}")
END
