#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Every call of the libfabric interface (gamma-api) over UDP, between two hosts with the kernel's
# offloads and between two processes of one host, over IPv4 and over IPv6: each call in one of these
# ways, and in all of them with GAMMA_TEST_LONG=1.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"

need_tool jq setpriv
# As in test_api.sh.
restless=(reopen port peer_closed peer_closed_event peer_closed_directed close_outstanding
	shared_close shared_directed_peer_closed
	rma_peer_closed rma_region_closed_last)
mapfile -t steady < <(without "${restless[@]}")

lab_up 2 --offloads --ipv6
gamma_env+=(FI_GAMMA_LINK=udp FI_GAMMA_IFACE=gam0)
count_frames
mapfile -t sampled < <(sample 0 "${steady[@]}")
run "UDP" "${sampled[@]}"
counted_clean "UDP"
run "UDP, endpoints that come and go" "${restless[@]}"
mapfile -t sampled < <(sample 1 "${steady[@]}" "${restless[@]:1}")
client_host=node01 run "UDP, one host" "${sampled[@]}"
gamma_env+=(FI_GAMMA_LINK=udp6)
mapfile -t sampled < <(sample 2 "${steady[@]}")
run "UDP over IPv6" "${sampled[@]}"
# Its address is longer than the one that is kept of it.
run "UDP over IPv6, an unknown peer" source_error
counted_clean "UDP over IPv6"
mapfile -t sampled < <(sample 0 "${restless[@]}")
run "UDP over IPv6, endpoints that come and go" "${sampled[@]}"

# What asks for several ports at once, and groups, as a user who has neither capability nor gammad.
shared=/run/gamma-lab/$lab_name/shared
mkdir "$shared/lib"
for entry in "${gamma_env[@]}"; do
	[[ $entry != FI_PROVIDER_PATH=* ]] || cp -L "${entry#*=}/libgamma-fi.so" "$shared/lib"
done
cp "$api" "$shared/lib"
chmod -R a+rX "$shared/lib"
api=$shared/lib/gamma-api
gamma_env+=("FI_PROVIDER_PATH=$shared/lib" FI_GAMMA_LINK=any FI_GAMMA_STATS=)
wrap=(setpriv --reuid daemon --regid daemon --clear-groups --inh-caps=-all "${wrap[@]}")
run "UDP, an ordinary user" scalable shared multicast multicast_leave
finish
