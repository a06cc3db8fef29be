#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# A thousand peers, all at once, talk to one endpoint, and none costs it more memory than the manual
# says. All rings are small: what overruns that of the one is repaired. Opening and closing as many
# sockets takes the kernel a minute.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"

need_long
[ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -gt 2000000 ] ||
	skip "needs 2 GB of memory for the peers' rings"
[ "$(ulimit -Hn)" -ge 5000 ] || skip "needs 5,000 open files (ulimit -n)"
ulimit -n "$(ulimit -Hn)"

lab_up 2
gamma_env+=(FI_GAMMA_RING_SIZE=65536)
if pair -p 7777 240 "$api" 7777 many_peers -- "$api" -c "$(mgt 1)" 7777 many_peers; then
	ok "1,000 peers: $(grep -m 1 'a peer' "$work/server.out")"
else
	not_ok "1,000 peers" "$work/server.out" "$work/client.out"
fi
finish
