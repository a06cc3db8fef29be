#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# What an MPI program gets: a ping-pong between two hosts of a virtual cluster, over Open MPI's
# transports in turns: the component gamma, its own tcp, libfabric's gamma and tcp through mtl/ofi,
# and UCX over tcp. Prints the medians for each size. Run as root:
#
#	fabtests/benchmarks/mpi.sh [-b BUILD] [-r ROUNDS] [-m MTU] [-w]
#
# -w: through the switch instead of back to back. A transport that this Open MPI lacks is left out.
set -euo pipefail

usage() {
	sed -n '4,10s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

top=$(cd "$(dirname "$0")/../.." && pwd)
build=$top/build rounds=7 mtu=1500 wiring=--b2b
while getopts b:r:m:w option; do
	case $option in
	b) build=$(cd "$OPTARG" && pwd) ;;
	r) rounds=$OPTARG ;;
	m) mtu=$OPTARG ;;
	w) wiring= ;;
	*) usage ;;
	esac
done

# Open MPI's arguments for each; all keep to the data network.
transports=("btl gamma" "mtl gamma" "btl tcp" "mtl tcp" "pml ucx")
declare -A arguments=(
	["btl gamma"]="--mca pml ob1 --mca btl gamma"
	["mtl gamma"]="--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include gamma"
	["btl tcp"]="--mca pml ob1 --mca btl tcp,self"
	["mtl tcp"]="--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include tcp -x FI_TCP_IFACE=gam0"
	["pml ucx"]="--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any
		-x UCX_TLS=tcp,self -x UCX_NET_DEVICES=gam0"
)

name=mpi$$
results=$(mktemp)
end() {
	"$top/lab/lab" -n $name down >/dev/null 2>&1 || true
	rm -f "$results" "$results.out"
}
trap end EXIT
export GAMMA_BUILD=$build
# shellcheck disable=SC2086 # one word or none
"$top/lab/lab" -n $name up 2 --mtu "$mtu" $wiring >/dev/null
program=/run/gamma-lab/$name/shared/mpi_pingpong
mpicc -O2 -o "$program" "$top/fabtests/benchmarks/mpi_pingpong.c"
chmod 755 "$program"

# once TRANSPORT: notes what each size took. One process a host, so nobody needs to yield.
once() {
	# shellcheck disable=SC2086 # words
	timeout 120 "$top/lab/lab" -n $name mpirun -np 2 --mca mpi_yield_when_idle 0 \
		${arguments[$1]} "$program" >"$results.out" 2>&1 &&
		sed -n "s/^\([0-9]\+ [0-9.]\+\)$/$1 \1/p" "$results.out" >>"$results"
}

used=()
for ((round = 0; round < rounds; round++)); do
	for transport in "${transports[@]}"; do
		if once "$transport"; then
			[[ $round -gt 0 ]] || used+=("$transport")
		else
			echo "$transport: left out: $(grep -m 1 '[^- ]' "$results.out" || echo 'no end in 120 s')" >&2
			[[ $transport != "btl gamma" ]] || exit 1
		fi
	done
	transports=("${used[@]}")
done

python3 - "$results" <<'END'
import statistics
import sys

times = {}
for line in open(sys.argv[1]):
    layer, below, size, us = line.split()
    times.setdefault(int(size), {}).setdefault(f"{layer} {below}", []).append(float(us))


def table(title, cell):
    names = list(next(iter(times.values())))
    print(f"{title:>10}" + "".join(f"{name:>20}" for name in names))
    for size, columns in times.items():
        print(f"{size:10}" + "".join(f"{cell(size, columns[name]):>20}" for name in names))


table("bytes: us", lambda size, t: f"{statistics.median(t):.2f} ({min(t):.2f})")
table("MB/s", lambda size, t: f"{size / statistics.median(t):.1f}")
base = {size: statistics.median(columns["btl gamma"]) for size, columns in times.items()}
table("x gamma", lambda size, t: f"{statistics.median(t) / base[size]:.2f}")
print("One way, medians of the rounds; in parentheses the least.")
END
