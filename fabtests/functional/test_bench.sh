#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# `quickstart bench`: its parts start and end, all of them with GAMMA_TEST_LONG=1, with plausible
# figures; its reports are written. The figures themselves are not tested: other programs run on the
# machine too.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

need_tool jq python3 strace
[ "${GAMMA_TEST_LAB:-1}" = 1 ] || skip "the lab's tests are switched off (GAMMA_TEST_LAB)"
[ "$(id -u)" -eq 0 ] || skip "needs root: it makes network namespaces"
[ "$(nproc)" -ge 2 ] || skip "needs two processors, one for each side of a measurement"
gamma_setup_env
! sanitized || skip "sanitizers are not measured"
python=/usr/bin/python3 # Debian's own has Debian's matplotlib
[ -x "$python" ] || python=python3
bench=("$python" -B "$top_srcdir/fabtests/benchmarks/bench" --build "$abs_top_builddir")
bench+=(--output "$work/bench")

long=${GAMMA_TEST_LONG:-0}
parts=(latency stream rate cost udp ports rails)
[ "$long" -eq 0 ] || parts+=(node shaped)
if [ -e "$abs_top_builddir/.libs/mca_btl_gamma.so" ]; then
	parts+=(mpi)
	[ "$long" -eq 0 ] || parts+=(overlap)
fi
[[ ! -e $abs_top_builddir/fabtests/benchmarks/gamma-pmix || $long -eq 0 ]] || parts+=(figures)
[ ! -e "$abs_top_builddir/gammad/gammad" ] || parts+=(gammad)
[[ ! -e $abs_top_builddir/.libs/mca_coll_gamma.so || ! -e $abs_top_builddir/gammad/gammad ]] ||
	parts+=(coll)
! command -v icoFoam >/dev/null || parts+=(openfoam)
check_fails "an unknown part" "there is no part nonsense" "${bench[@]}" nonsense
check_fails "a report of a run that is not there" "no such file" "${bench[@]}" --from "$work/none"
echo '{"rows": 1}' >"$work/broken"
check_fails "a report that is no JSON of a run" "no report of a run" "${bench[@]}" \
	--from "$work/broken"
check "the parts" timeout $((60 + 2 * stall_s)) "${bench[@]}" --smoke --json "$work/result" \
	"${parts[@]}"

holds() { # TEXT CONDITION
	check "$1" jq -e "$2" "$work/result"
}

for part in "${parts[@]}"; do
	holds "$part has figures" "[.rows[] | select(.part == \"$part\")] | length > 0"
done
# Few sizes need not have a half-power point among them, on a busy machine the longest may take no
# longer than the shortest, a single process may call nothing of MPI, and active ports copy nothing.
cannot_be='.rows[] | select(.part | IN("cost", "overlap", "openfoam") | not) |
	select((.what | IN("half-power point", "asymptotic bandwidth", "bytes copied on arrival",
		"frames sent again") | not) or .median != 0) |
	select(.median <= 0 or .median >= 1e9)'
jq -c "$cannot_be" "$work/result" >"$work/cannot_be.out"
if [ ! -s "$work/cannot_be.out" ]; then
	ok "all of them can be"
else
	not_ok "all of them can be" "$work/cannot_be.out"
fi
holds "everything was measured" '.failures == []'
holds "the goals are there" '.goals | length > 10 and all(.state)'
holds "TCP runs without the kernel's offloads, too" \
	'[.rows[] | select(.case | endswith("offloads off"))] | length > 2'
check "the report has every row" test \
	"$(grep -cE ' [0-9]+/[0-9]+\*?$' "$work/bench/report.txt")" = \
	"$(jq '.rows | length' "$work/result")"

# The same figures once more, from the file: no measurement, the same screen in few lines.
check "from the file" "${bench[@]}" --from "$work/result"
"${bench[@]}" --from "$work/result" >"$work/screen"
check "goals and their number are on one screen" grep -E '^goals: [0-9]+ of [0-9]+ reached' \
	"$work/screen"
check "the screen is short" test "$(wc -l <"$work/screen")" -le 30
finish
