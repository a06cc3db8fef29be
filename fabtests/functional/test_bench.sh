#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# `quickstart bench`: every part starts and ends, with figures that can be. What they are is not
# tested: other programs run on the machine too.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

need_tool jq python3 strace
[ "${GAMMA_TEST_LAB:-1}" = 1 ] || skip "the lab's tests are switched off (GAMMA_TEST_LAB)"
[ "$(id -u)" -eq 0 ] || skip "needs root: it makes network namespaces"
gamma_setup_env
! sanitized || skip "sanitizers are not measured"
bench=(python3 -B "$top_srcdir/fabtests/benchmarks/bench" --build "$abs_top_builddir")

parts=(latency stream rate node shaped cost)
[ ! -e "$abs_top_builddir/.libs/mca_btl_gamma.so" ] || parts+=(mpi overlap)
[ ! -e "$abs_top_builddir/fabtests/benchmarks/gamma-pmix" ] || parts+=(figures)
[ ! -e "$abs_top_builddir/gammad/gammad" ] || parts+=(gammad)
! command -v icoFoam >/dev/null || parts+=(openfoam)
check_fails "a part that there is not" "there is no part nonsense" "${bench[@]}" nonsense
check "all parts" timeout $((60 + 2 * stall_s)) "${bench[@]}" --smoke --json "$work/result" "${parts[@]}"

holds() { # TEXT CONDITION
	check "$1" jq -e "$2" "$work/result"
}

for part in "${parts[@]}"; do
	holds "$part has figures" "[.rows[] | select(.part == \"$part\")] | length > 0"
done
# Differences of short runs, as gamma-pmix has its streams from, may be anything on a busy
# machine, few sizes need not have a half-power point among them, and a single process may call
# nothing of MPI.
cannot_be='.rows[] | select(.part | IN("cost", "overlap", "openfoam") | not) |
	select(.part != "figures" or .what != "one-way stream") |
	select(.what != "half-power point" or .median != 0) | select(.median <= 0 or .median >= 1e9)'
jq -c "$cannot_be" "$work/result" >"$work/cannot_be.out"
if [ ! -s "$work/cannot_be.out" ]; then
	ok "all of them can be"
else
	not_ok "all of them can be" "$work/cannot_be.out"
fi
holds "everything was measured" '.failures == []'
holds "the goals are there" '.goals | length > 10 and all(.state)'
finish
