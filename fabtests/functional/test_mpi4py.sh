#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# mpi4py's own test suite over gamma, on MPICH across two hosts: some 2,000 tests of all that
# MPI offers. Tests that fail over every provider are the library's faults, and left out.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=mpi.sh
. "$top_srcdir/fabtests/functional/mpi.sh"

need_long
need_tool jq python3

# The wheel has no Fortran, and MPICH 5.0.2 gives the edges of a graph in another order at times: where
# that fails on one rank alone, the ranks are in different tests from there on, and wait for each other.
library_faults=(-x '*testGetFortranInfo' -x '*testDistgraphcomm')

# The tests are in the source archive only: prints their folder.
ensure_tests() {
	local root=${GAMMA_WHEELS:-$abs_top_builddir/wheels}
	local dir=$root/mpi4py-$mpi4py_version-source
	if [ ! -e "$dir/.complete" ]; then
		mkdir -p "$dir"
		python3 -m pip download --quiet --no-deps --no-binary=mpi4py \
			--disable-pip-version-check --timeout 20 --retries 1 \
			--dest "$dir" "mpi4py==$mpi4py_version" >&2 </dev/null || return 77
		tar -C "$dir" --strip-components=1 -xf "$dir/mpi4py-$mpi4py_version.tar.gz" || return 77
		: >"$dir/.complete"
	fi
	echo "$dir/test"
}

failed_tests() {
	grep -aoE '^(ERROR|FAIL): .*' "$work/mpi.out" | sort -u
}

# Every rank reports how many it ran.
all_ran() {
	[ "$(grep -acE '^Ran [0-9]{4} tests' "$work/mpi.out")" -eq "$1" ]
}

run_suite() {
	local text="mpi4py's tests, $1 ranks"
	mpi_run 900 node01,node02 "$1" python3 "$tests/main.py" -q "${library_faults[@]}" || true
	if all_ran "$1" && ! failed_tests >"$work/mpi.failed"; then
		ok "$text, $(grep -aoEm 1 '^Ran [0-9]+' "$work/mpi.out")"
	else
		not_ok "$text" "$work/mpi.failed" "$work/mpi.out"
	fi
	counted "$text: by gamma" "length >= $1 and
		all(.retransmissions + .peer_timeouts + .malformed == 0)"
}

gamma_setup_env
lab_up 2
count_frames
mpi_use mpich || skip "$mpi_missing"
tests=$(ensure_tests 2>"$work/wheel.out") ||
	skip "the source of mpi4py $mpi4py_version cannot be fetched"
# Files that all ranks open.
mpi_env+=(MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=gamma "TMPDIR=$work")
run_suite 2
run_suite 4

finish
