#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Random calls of the libfabric interface (gamma-random) on three endpoints of one process, two on
# one host and one on another, compared with a model. A seed that fails is printed: run it alone
# with --seed. GAMMA_TEST_SEEDS: how many.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

random=$abs_top_builddir/fabtests/functional/gamma-random
[ -x "$random" ] || bail "$random is not built (make check builds it)"
seeds=${GAMMA_TEST_SEEDS:-200}

# random_calls TEXT [VARIABLE=VALUE...]
random_calls() {
	local text=$1
	shift
	# Closing waits for peers, which this one thread does not move meanwhile.
	if timeout $((60 + seeds)) env "${gamma_env[@]}" FI_GAMMA_LINGER=10 "$@" "$random" \
		--seed 1 --count "$seeds" "/run/netns/gl-$lab_name-n01" \
		"/run/netns/gl-$lab_name-n02" >"$work/random.out" 2>&1; then
		ok "$text: $(sed -n 's/^ok: //p' "$work/random.out")"
	else
		not_ok "$text" "$work/random.out"
	fi
}

lab_up 2
random_calls "raw Ethernet and shared memory"
random_calls "frames between processes of a host" FI_GAMMA_SHM_SIZE=0
random_calls "UDP" FI_GAMMA_LINK=udp
lab impair node02 --loss 2 --dup 1
random_calls "2 % of the frames lost"
lab_down

finish
