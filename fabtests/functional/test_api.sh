#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Every call of the libfabric interface (gamma-api), between two hosts at two frame sizes and
# between two processes of one host.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"

need_tool jq
# These take their time, or leave frames on their way to an endpoint that has closed.
restless=(reopen port peer_closed peer_closed_event peer_closed_directed close_outstanding
	shared_close shared_directed_peer_closed
	rma_peer_closed rma_region_closed_last)
mapfile -t steady < <(without "${restless[@]}")

lab_up 2
count_frames
run "frames of 1,500 bytes" "${steady[@]}"
counted_clean "frames of 1,500 bytes"
run "endpoints that come and go" "${restless[@]}"
client_host=node01 run "one host" "${steady[@]}" "${restless[@]:1}"
lab_down

lab_up 2 --mtu 9000
run "frames of 9,000 bytes" sizes frame_boundary 64_mib iovecs order both_directions datagrams \
	unexpected truncation peek levels multi multi_unexpected multi_datagrams shared \
	atomic_types atomic_calls atomic_lengths atomic_adders scalable multicast \
	rma_sizes rma_order rma_both_ways rma_fence rma_region_closed
counted_clean "frames of 9,000 bytes"

gamma_env+=(FI_GAMMA_UNEXPECTED_SIZE=65536)
count_frames
run "64 KiB for unexpected messages" behind_unexpected unexpected never_received truncation peek \
	multi_unexpected shared
counted "64 KiB for unexpected messages: more waits at the sender" 'map(.demoted) | add > 0'
counted_clean "64 KiB for unexpected messages"
lab_down

finish
