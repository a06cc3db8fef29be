#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The library of the original's calls: a program that uses all of them, started alone on two hosts
# and by mpirun.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=mpi.sh
. "$top_srcdir/fabtests/functional/mpi.sh"

program=$abs_top_builddir/fabtests/functional/gamma-libgamma
[ -x "$program" ] || bail "$program is not built: make builds it"

all_well() { # FILE...
	[ "$(cat "$@" | grep -c 'all is well')" -eq "$nodes" ]
}

alone() { # NAME
	nodes=2
	if pair 60 env LIBGAMMA_NODES=node01,node02 LIBGAMMA_NODE=0 "$program" -- \
		env LIBGAMMA_NODES=node01,node02 LIBGAMMA_NODE=1 "$program" &&
		all_well "$work/server.out" "$work/client.out"; then
		ok "$1"
	else
		not_ok "$1" "$work/server.out" "$work/client.out"
	fi
}

by_mpirun() { # NAME PROCESSES
	nodes=$2
	if mpi_run 100 node01,node02 "$2" "$program" && all_well "$work/mpi.out"; then
		ok "$1"
	else
		not_ok "$1" "$work/mpi.out"
	fi
}

lab_up 2
alone "two hosts, started alone"
lab impair node02 --loss 1
alone "with 1 % loss"
lab impair node02 --loss 0
if grep -q '^PMIX_LIBS = .' "$abs_top_builddir/Makefile" && mpi_use openmpi4; then
	by_mpirun "four processes, by mpirun" 4
else
	echo "not checked: mpirun, ${mpi_missing:-as PMIx is not there}"
fi
lab_down

finish
