#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Open MPI's component for collective operations, coll/gamma: contents of all six, on whole and part
# communicators, from several threads, with a progress thread, under loss; that it is chosen with
# btl/gamma and by no other job; that it compares itself with the component before it, and all
# processes decide alike; that processes without it keep the others from waiting; and a member that is
# killed.
# Functions are called through check:
# shellcheck disable=SC2016,SC2317,SC2054
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=mpi.sh
. "$top_srcdir/fabtests/functional/mpi.sh"

need_tool jq python3
mpi_need_component
coll_component=${component/btl/coll}
collectives=$top_srcdir/fabtests/functional/mpi_collectives.py

# Everything that gamma can carry, not only what it is faster with.
all_sizes=(--mca coll_gamma_short_hosts 1 --mca coll_gamma_allreduce_max 1000000000 --mca coll_gamma_reduce_max 1000000000
	--mca coll_gamma_allgather_max 1000000000 --mca coll_gamma_gather_max 1000000000
	--mca coll_gamma_bcast_max 1000000000 --mca coll_gamma_barrier 1
	--mca coll_gamma_bcast_min 0 --mca coll_gamma_allgather_min 0 --mca coll_gamma_gather_min 0)
everything=("${all_sizes[@]}" --mca coll_gamma_trial 0)
verbose=(--mca coll_base_verbose 10)
four=node01,node02,node03,node04

lists_parameters() {
	local parameter
	env -u FI_PROVIDER_PATH "${mpi_env[@]}" "$ompi_info" --param coll gamma --level 9 \
		>"$work/params.out" || return 1
	for parameter in priority join_after min_hosts short_hosts trial barrier bcast_min bcast_max allreduce_max \
		reduce_max allgather_min allgather_max gather_min gather_max; do
		grep -q "\"coll_gamma_$parameter\"" "$work/params.out" || {
			echo "no coll_gamma_$parameter"
			return 1
		}
	done
}

exports_one_symbol() {
	[ "$(nm -D --defined-only "$coll_component" | awk '{ print $3 }')" = mca_coll_gamma_component ]
}

# How many processes said so about MPI_COMM_WORLD; WORD: joined, or left to other components.
world_is() { # WORD
	grep -c "coll_gamma: communicator MPI_COMM_WORLD of .*: $1" "$work/mpi.out" || true
}

# conforms HOSTS RANKS TEST...: contents; and all processes have joined.
conforms() {
	mpi_output 120 "$1" "$2" python3 "$collectives" "${@:3}" || return 1
	[ "$(world_is joined)" = "$2" ]
}

# left_alone HOSTS RANKS: not joined, and all works.
left_alone() {
	mpi_output 60 "$1" "$2" python3 "$collectives" broadcast barrier || return 1
	[ "$(world_is joined)" = 0 ]
}

not_seen() { # by a job that did not ask
	mpi_way=("${verbose[@]}" --mca btl tcp,self)
	left_alone "$four" 4 && ! grep -q 'coll_gamma:' "$work/mpi.out"
}

excluded() {
	mpi_way=("${verbose[@]}" --mca btl gamma --mca coll ^gamma)
	left_alone "$four" 4 && ! grep -q 'coll_gamma:' "$work/mpi.out"
}

# Without being named among the BTLs.
by_priority() {
	mpi_way=("${verbose[@]}" --mca btl_gamma_default 1 --mca coll_gamma_priority 41)
	conforms "$four" 4 broadcast
}

# differs NAME VALUE: on node02 alone; the processes must not wait for each other.
differs() {
	cat >"$work/differs.sh" <<-'SH'
		[ "$(uname -n)" != node02 ] || export "$1=$2"
		shift 2
		exec "$@"
	SH
	mpi_way=("${verbose[@]}" --mca btl gamma)
	mpi_output 60 "$four" 4 sh "$work/differs.sh" "$@" python3 "$collectives" broadcast barrier
}

# Different limits are no obstacle: the smallest holds.
limits_differ() {
	differs OMPI_MCA_coll_gamma_bcast_max 3000 && [ "$(world_is joined)" = 4 ]
}

without_it_on_one() {
	differs OMPI_MCA_coll ^gamma && [ "$(world_is joined)" = 0 ]
}

joins_later_on_one() {
	differs OMPI_MCA_coll_gamma_join_after 9 && [ "$(world_is joined)" = 0 ]
}

# Few calls do not form a group.
few_calls() {
	cat >"$work/few.py" <<-'PYTHON'
		from mpi4py import MPI
		for turn in range(3):
		    MPI.COMM_WORLD.Bcast(bytearray(100))
	PYTHON
	mpi_way=("${verbose[@]}" --mca btl gamma)
	mpi_output 60 "$four" 4 python3 "$work/few.py" && ! grep -q 'coll_gamma: communicator' "$work/mpi.out"
}

# Its progress thread still polls when the groups are closed.
with_thread() {
	mpi_way=("${verbose[@]}" --mca btl gamma --mca btl_gamma_progress_thread 1)
	conforms "$four" 4 broadcast barrier && ! grep 'has left the group' "$work/mpi.out"
}

under_loss() {
	lab impair node02 --loss 1 --seed 7 && lab impair node03 --loss 1 --seed 8 || return 1
	mpi_way=("${verbose[@]}" --mca btl gamma "${everything[@]}")
	conforms "$four" 4 broadcast gather in_place beside_messages communicators
	lab impair node02 off && lab impair node03 off
}

# The root sends the frames of a long broadcast once, for any number of members; the others send none.
broadcasts_leave_once() {
	cat >"$work/once.py" <<-'PYTHON'
		from mpi4py import MPI
		world = MPI.COMM_WORLD
		for turn in range(4):
		    world.Barrier()
		for turn in range(10):
		    data = bytearray([turn] * (1 << 20) if world.rank == 0 else 1 << 20)
		    world.Bcast(data)
		    assert data == bytes([turn] * (1 << 20)), turn
		    world.Barrier()
	PYTHON
	mpi_way=(--mca btl gamma --mca coll_gamma_trial 0)
	mpi_output 60 "$four" 4 python3 "$work/once.py" || return 1
	jq -c '[.multicast_out, .multicast_in, .multicast_asks, .multicast_again]' "$work/stats"
	jq -es 'map(.multicast_out) | sort | .[0:3] == [0, 0, 0] and
		.[3] >= 10 * 1048576 / 1460 and .[3] <= 10 * (1048576 / 1400)' "$work/stats"
}

# Each operation of each size is decided once, at the same call and alike on all processes, on a part
# communicator too, and whatever root a call has. Contents are right before and after.
compares() {
	cat >"$work/compare.py" <<-'PYTHON'
		import array
		from mpi4py import MPI
		world = MPI.COMM_WORLD
		part = world.Split(world.rank == 0, world.rank)
		part.Set_name("part")
		for turn in range(60):
		    for comm in (world, part):
		        root = turn % comm.size
		        for size in (8, 70000):
		            data = bytearray([turn] * size if comm.rank == root else size)
		            comm.Bcast(data, root)
		            assert data == bytes([turn] * size), (turn, size)
		        all = bytearray(100 * comm.size)
		        comm.Gather(bytes([comm.rank] * 100), all if comm.rank == root else None, root)
		        assert comm.rank != root or all[::100] == bytes(range(comm.size)), turn
		        total = array.array("q", [0])
		        comm.Allreduce(array.array("q", [turn]), total)
		        assert total[0] == turn * comm.size
		        comm.Barrier()
		part.Free()
	PYTHON
	mpi_way=("${verbose[@]}" --mca btl gamma "${all_sizes[@]}" --mca coll_gamma_trial 12)
	mpi_output 100 "$four" 4 python3 "$work/compare.py" || return 1
	grep -o 'coll_gamma: communicator .* is kept .*' "$work/mpi.out" | sort | uniq -c >"$work/decided"
	cat "$work/decided"
	# Broadcasts of two sizes, gather, allreduce and barrier; by four processes and by three.
	awk '$1 != ($0 ~ / of 4: / ? 4 : 3) { bad = 1 } END { exit bad || NR != 10 }' "$work/decided"
}

# Processes that were spawned, merged with their parents to one communicator.
spawned() {
	cat >"$work/spawn.py" <<-'PYTHON'
		import sys
		from mpi4py import MPI
		parent = MPI.Comm.Get_parent()
		child = parent != MPI.COMM_NULL
		inter = parent if child else MPI.COMM_WORLD.Spawn(sys.executable, [__file__], 3)
		both = inter.Merge(child)
		for turn in range(8):
		    data = bytearray([turn] * 5000 if both.rank == turn % both.size else 5000)
		    both.Bcast(data, turn % both.size)
		    assert data == bytes([turn] * 5000), turn
		    both.Barrier()
		both.Free()
		inter.Disconnect()
	PYTHON
	mpi_way=("${verbose[@]}" --mca btl gamma)
	mpi_output 60 "$four" 3 python3 "$work/spawn.py" &&
		[ "$(grep -c 'coll_gamma: communicator .* of 6: joined' "$work/mpi.out")" = 6 ]
}

# One is killed in the midst of it: the others may not wait for ever.
killed_in() { # CALL, in Python
	cat >"$work/kill.py" <<-'PYTHON'
		import os, signal, sys
		from mpi4py import MPI
		world, data, one = MPI.COMM_WORLD, bytearray(300000), bytearray(8)
		many = bytearray(8 * world.size)
		for turn in range(6):
		    world.Barrier()
		if world.rank == 2:
		    os.kill(os.getpid(), signal.SIGKILL)
		while True:
		    exec(sys.argv[1])
	PYTHON
	mpi_way=(--mca btl gamma "${everything[@]}" --mca btl_gamma_peer_timeout 2)
	mpi_output 60 "$four" 4 python3 "$work/kill.py" "$1"
}

# ---- from Open MPI 5 on ----

# The others get an error, agree on it, and go on without the dead one.
shrinks() {
	cat >"$work/shrink.py" <<-'PYTHON'
		import os, signal
		from mpi4py import MPI
		world = MPI.COMM_WORLD
		world.Set_errhandler(MPI.ERRORS_RETURN)
		for turn in range(6):
		    world.Barrier()
		if world.rank == 2:
		    os.kill(os.getpid(), signal.SIGKILL)
		try:
		    while True:
		        world.Barrier()
		except MPI.Exception as error:
		    assert error.Get_error_class() in (MPI.ERR_PROC_FAILED, MPI.ERR_REVOKED), error
		world.Revoke()
		rest = world.Shrink()
		for turn in range(8):
		    data = bytearray([turn] * 5000 if rest.rank == 1 else 5000)
		    rest.Bcast(data, 1)
		    assert data == bytes([turn] * 5000), turn
		print("went on with", rest.size, flush=True)
		os._exit(0)
	PYTHON
	mpi_way=(--with-ft ulfm --mca btl gamma --mca btl_gamma_peer_timeout 2)
	mpi_output 90 "$four" 4 python3 "$work/shrink.py" || true
	[ "$(grep -c 'went on with 3' "$work/mpi.out")" = 3 ]
}

mpi_component_lab 4

check "ompi_info lists the parameters" lists_parameters
check "the component exports one symbol" exports_one_symbol
check "a job over tcp does not see it" not_seen
check "excluded by coll" excluded
count_frames
mpi_way=("${verbose[@]}" --mca btl gamma)
check "chosen with btl gamma" conforms "$four" 4 broadcast gather barrier reduce
check "1 MiB leaves the root once" broadcasts_leave_once
check "few calls do not form a group" few_calls
check "the faster component is kept, on all processes alike" compares
check "two hosts are too few" left_alone node01,node02 4
mpi_way=("${verbose[@]}" --mca btl gamma "${everything[@]}")
check "everything, one process a host" conforms "$four" 4
check "everything, three processes a host" conforms node01,node02,node03 9 broadcast gather \
	in_place scattered communicators
check "other components beside it: gamma,self,vader,tcp" eval '
	mpi_way=("${verbose[@]}" --mca btl gamma,self,vader,tcp "${everything[@]}")
	conforms node01,node02,node03 6 broadcast gather reduce_others'
check "by its own priority" by_priority
check "limits that differ" limits_differ
check "one process without it: no process waits" without_it_on_one
check "one process would join later: no process waits" joins_later_on_one
check "spawned processes" spawned
check "with a progress thread" with_thread
check "1 % loss" under_loss
counted "frames were lost and sent again" 'any(.retransmissions > 0)'
calls=('world.Barrier()' 'world.Bcast(data)')
[ "${GAMMA_TEST_LONG:-0}" = 0 ] || calls+=('world.Allgather(one, many)')
for call in "${calls[@]}"; do
	check_fails "a killed rank ends $call" 'signal 9' killed_in "$call"
done
if ! "$ompi_info" --version | grep -q 'Open MPI v4'; then
	check "under ULFM the others shrink and go on" shrinks
fi

finish
