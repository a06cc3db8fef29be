#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# One of four processes is killed in each collective operation of coll/gamma. mpirun leaves the others
# alone: they have to notice it, name it, and end the job, in bounded time.
# Functions are called through check:
# shellcheck disable=SC2317,SC2054,SC2154
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=mpi.sh
. "$top_srcdir/fabtests/functional/mpi.sh"

need_long
need_tool python3
mpi_need_component

limit_s=60
write_program() {
	cat >"$work/kill.py" <<-'PYTHON'
		"""kill.py RANK CALL: RANK is killed while all repeat CALL."""
		import os, signal, sys, threading
		from mpi4py import MPI
		world, long = MPI.COMM_WORLD, bytearray(300000)
		one, sum, all = bytearray(8), bytearray(8), bytearray(8 * world.size)
		for turn in range(6):
		    world.Barrier()
		if world.rank == int(sys.argv[1]):
		    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
		call = compile(sys.argv[2], "call", "exec")
		while True:
		    exec(call)
	PYTHON
}

# killed RANK CALL: mpirun, which recovers, counts that as no failure, but it has to end.
killed() {
	local status=0
	mpi_run "$limit_s" node01,node02,node03,node04 4 python3 "$work/kill.py" "$@" || status=$?
	grep -v 'mca: base' "$work/mpi.out"
	[ "$(grep -c 'MPI_COMM_WORLD of 4: joined' "$work/mpi.out")" -eq 4 ] || return 1
	[ "$status" -ne 124 ] &&
		grep "gamma: rank $1 on node0$(($1 + 1)) cannot be reached" "$work/mpi.out"
}

mpi_component_lab 4
mpi_way=(--enable-recovery --mca btl gamma --mca btl_gamma_peer_timeout 2 --mca coll_base_verbose 10
	--mca coll_gamma_trial 0 --mca coll_gamma_short_hosts 1 --mca coll_gamma_bcast_min 1
	--mca coll_gamma_allgather_min 1)
write_program
for call in 'world.Barrier()' 'world.Bcast(one)' 'world.Bcast(long)' \
	'world.Allreduce([one, MPI.INT64_T], [sum, MPI.INT64_T])' \
	'world.Reduce([one, MPI.INT64_T], [sum, MPI.INT64_T])' 'world.Allgather(one, all)' \
	'world.Gather(one, all)'; do
	check "rank 2 killed in $call" killed 2 "$call"
done
check "the root killed in a broadcast" killed 0 'world.Bcast(long)'
finish
