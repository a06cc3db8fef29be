#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Every call of the libfabric interface (gamma-api) on a bad network: frames are lost, doubled,
# late and out of order, and no program notices.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"

need_tool jq
# Datagrams may be lost; opening and closing is the same here. On such a network the provider often
# allocates memory, and glibc's fork in a handler waits for ever where that interrupted malloc.
mapfile -t reliable < <(without datagrams multi_datagrams shared_datagrams multicast \
	multicast_default multicast_leave ports_datagrams reopen fork_in_handler)

lab_up 2
count_frames
gamma_env+=(GAMMA_API_BAD_NETWORK=1)
lab impair node02 --loss 2 --dup 1
mapfile -t sampled < <(sample 1 "${reliable[@]}")
run "2 % lost" 64_mib "${sampled[@]}"
counted "2 % lost: repaired" 'map(.retransmissions) | add > 100'
lab impair node02 --delay 200us --jitter 100us --reorder 5
mapfile -t sampled < <(sample 0 "${reliable[@]}")
run "late and out of order" "${sampled[@]}"
lab_down

finish
