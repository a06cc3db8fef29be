#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Active ports, and libgamma's programs, of an ordinary user without any capability: through gammad,
# and over UDP.
# shellcheck disable=SC2034,SC2154
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=gammad.sh
. "$top_srcdir/fabtests/functional/gammad.sh"

# shellcheck source=storm.sh
. "$top_srcdir/fabtests/functional/storm.sh"

program=$abs_top_builddir/fabtests/functional/gamma-libgamma
[ -x "$program" ] || bail "$program is not built: make builds it"
gammad_hosts=4
gammad_lab_up
conf 1 'nic gam0 slots 8'
conf 2 'nic gam0 slots 8'
start_gammad 1
start_gammad 2
install -m 755 "$abs_top_builddir/examples/port_pingpong" "$shared/lib"
install -m 755 "$abs_top_builddir/fabtests/functional/.libs/gamma-libgamma" "$shared/lib"
cp -L "$abs_top_builddir/.libs/libgamma.so.0" "$shared/lib"
chmod -R a+rX "$shared/lib"
gamma_env+=("LD_LIBRARY_PATH=$shared/lib" FI_GAMMA_LINK=packet)

nodes=node01,node02 # of libgamma's programs

# as_pair TEXT WORD SERVER... -- CLIENT...: both say WORD, and have endpoints by gammad.
as_pair() {
	local text=$1 word=$2 server client
	shift 2
	rm -f "$shared/stats"
	as labuser "${@:1:$#}"
	server=("${words[@]}")
	client=("${server[@]}")
	if [ "$word" = rounds ]; then
		client+=(node01)
		pair -l ready 30 "${server[@]}" -- "${client[@]}" || true
	else
		as labuser env "LIBGAMMA_NODES=$nodes" LIBGAMMA_NODE=0 "$@"
		server=("${words[@]}")
		as labuser env "LIBGAMMA_NODES=$nodes" LIBGAMMA_NODE=1 "$@"
		pair 60 "${server[@]}" -- "${words[@]}" || true
	fi
	cp "$shared/stats" "$work/stats" 2>/dev/null || : >"$work/stats"
	if grep -q "$word" "$work/server.out" && grep -q "$word" "$work/client.out"; then
		ok "$text"
	else
		not_ok "$text" "$work/server.out" "$work/client.out"
	fi
}

as_pair "a ping-pong of an ordinary user" rounds "$shared/lib/port_pingpong"
counted "handled where they arrived" 'length == 2 and all(.ports_in == 1000 and .ports_in_place > 0)'
as_pair "libgamma of an ordinary user" "all is well" "$shared/lib/gamma-libgamma"
counted "over Ethernet frames" 'map(select(.type == "rdm" and .ports_in > 200)) | length == 2'

# Between four hosts.
for host in 3 4; do
	conf "$host" 'nic gam0 slots 8'
	start_gammad "$host"
done
install -m 755 "${run_storm[0]}" "$shared/lib"
as labuser "$shared/lib/gamma-port-storm"
run_storm=("${words[@]}")
stats=$shared/stats names=$shared/names
rages "a storm of requests and replies of an ordinary user" "$(requests 1000)"
counted "with gammad's MAC addresses" 'all(.endpoint | startswith("02:47:41:4d:") | not)'
gamma_env+=(FI_GAMMA_LINK=udp)
rages "the same over UDP" "$(requests 1000)"
nodes=$(data_ip 1),$(data_ip 2)
as_pair "libgamma of an ordinary user over UDP" "all is well" "$shared/lib/gamma-libgamma"
counted "by the same calls" 'map(select(.type == "rdm" and .ports_in > 200)) | length == 2'
finish
