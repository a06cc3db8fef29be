#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Open MPI's component over more hosts and for longer than test_btl.sh: hundreds of jobs one after
# the other and what they leave behind, eight hosts, more ranks than cores, ranks that compute,
# spawned processes, loss, and what is said of hosts that do not fit together. Functions are
# called through check:
# shellcheck disable=SC2016,SC2317,SC2054,SC2154
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=mpi.sh
. "$top_srcdir/fabtests/functional/mpi.sh"

need_long
need_tool jq python3
mpi_need_component

jobs=200

# Each rank to the next one, short and long, and a sum over all.
write_ring() {
	cat >"$work/ring.c" <<-'C'
		#include <mpi.h>
		#include <stdio.h>
		#include <string.h>

		enum { LONG = 100000 };
		static char out[LONG], in[LONG];

		int main(int argc, char **argv)
		{
			int rank, ranks, size, one = 1, all = 0, wrong = 0;

			MPI_Init(&argc, &argv);
			MPI_Comm_rank(MPI_COMM_WORLD, &rank);
			MPI_Comm_size(MPI_COMM_WORLD, &ranks);
			memset(out, rank + 1, sizeof(out));
			for (size = 8; size <= LONG; size *= 5) {
				const int left = (rank + ranks - 1) % ranks;

				MPI_Sendrecv(out, size, MPI_BYTE, (rank + 1) % ranks, 0, in, size, MPI_BYTE,
					     left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
				wrong += in[0] != left + 1 || in[size - 1] != left + 1;
			}
			MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
			wrong += all != ranks;
			if (wrong)
				printf("rank %d: %d wrong\n", rank, wrong);
			MPI_Finalize();
			return wrong != 0;
		}
	C
	"$mpicc" -O2 -o "$shared/ring" "$work/ring.c" && chmod 755 "$shared/ring"
}

# What the hosts have that a job may leave: processes of labuser, files, sockets, shared memory.
belongings() {
	local i
	for ((i = 1; i <= $1; i++)); do
		echo "== node0$i"
		lab exec "$i" sh -c 'for p in /proc/[0-9]*; do
			[ "$(readlink $p/ns/net)" = "$(readlink /proc/self/ns/net)" ] &&
				[ "$(stat -c %U $p)" = labuser ] && tr "\0" " " <$p/cmdline && echo
			done
			find /tmp /dev/shm /var/tmp -mindepth 1 -user labuser | sort
			grep -c . /proc/net/packet; grep "@gamma/" /proc/net/unix; ipcs -m | grep labuser; true'
	done
	ls "$shared"
}

# One after the other as an ordinary user, and all that those that fail say. Of Open MPI 4.1's
# mpirun it is known that it may lose a race with its own child, and says so.
many_jobs() {
	local i failed=0
	for ((i = 1; i <= jobs; i++)); do
		if timeout $((60 + stall_s)) "$lab_tool" -n "$lab_name" mpirun -np 4 --map-by node \
			--mca btl gamma "$shared/ring" >"$work/job.out" 2>&1 &&
			! grep -v 'Warning: setpgid' "$work/job.out"; then
			continue
		fi
		failed=$((failed + 1))
		echo "job $i:"
		cat "$work/job.out"
	done
	echo "$failed of $jobs jobs failed"
	[ "$failed" -eq 0 ]
}

same_belongings() {
	belongings 4 >"$work/after"
	diff "$work/before" "$work/after"
}

# The ranks of a host share one core: nothing may count as lost.
oversubscribed() {
	mpi_way=(--mca btl gamma)
	mpi_run 240 node01,node02 8 python3 "$conformance" messages collective
}

# Rank 0 sends for as long as the others compute, and does not call MPI: short messages and long
# ones.
computing() {
	cat >"$work/compute.py" <<-'PYTHON'
		import time
		from mpi4py import MPI
		world = MPI.COMM_WORLD
		for turn in range(4):
		    if world.rank == 0:
		        requests = [world.Isend(bytearray(size), peer, 0) for size in (8, 9000, 60000, 2000000)
		                    for peer in range(1, world.size) for _ in range(10)]
		        MPI.Request.Waitall(requests)
		    else:
		        end = time.monotonic() + 0.5
		        while time.monotonic() < end:
		            pass
		        for size in (8, 9000, 60000, 2000000):
		            for _ in range(10):
		                world.Recv(bytearray(size), 0)
	PYTHON
	mpi_way=(--mca btl gamma)
	mpi_run 120 node01,node02 3 python3 "$work/compute.py"
}

# stopped_at STAGE: of a long message's way, where one of the two ranks stops for ever.
stopped_at() {
	cat >"$work/stopped.py" <<-'PYTHON'
		import os, signal, sys, time
		from mpi4py import MPI
		world, stage = MPI.COMM_WORLD, sys.argv[1]
		data = bytearray(64 << 20)

		def test_for(seconds, request):
		    end = time.monotonic() + seconds
		    while time.monotonic() < end:
		        request.Test()

		def stop():
		    os.kill(os.getpid(), signal.SIGSTOP)

		world.Sendrecv(bytearray(8), 1 - world.rank, 0, bytearray(8), 1 - world.rank)
		if world.rank == 0:
		    request = world.Isend(data, 1)
		    if stage == "agreed":
		        time.sleep(1)
		    if stage == "sending":
		        test_for(0.02, request)
		        stop()
		    if stage == "asking":
		        stop()
		else:
		    if stage == "asked":
		        stop()
		    if stage == "asking":
		        time.sleep(0.5)
		    request = world.Irecv(data, 0)
		    if stage == "agreed":
		        test_for(0.5, request)
		        stop()
		    if stage == "receiving":
		        test_for(0.02, request)
		        stop()
		request.Wait()
	PYTHON
	mpi_way=(--mca btl gamma --mca btl_gamma_keepalive 1 --mca btl_gamma_peer_timeout 2)
	mpi_output 60 node01,node02 2 python3 "$work/stopped.py" "$1"
}

# NICs on different networks: the message names the unreachable peer and the NIC.
wrong_nic() {
	cat >"$work/other" <<-'SH'
		#!/bin/sh
		[ "$(uname -n)" = node01 ] && nic=gam0 || nic=mgt0
		OMPI_MCA_btl_gamma_if_include=$nic exec "$@"
	SH
	chmod +x "$work/other"
	mpi_way=(--mca btl gamma --mca btl_gamma_peer_timeout 2)
	mpi_output 60 node01,node02 2 "$work/other" python3 "$conformance" messages_sizes
}

other_limit() {
	cat >"$work/other" <<-'SH'
		#!/bin/sh
		[ "$(uname -n)" = node01 ] && export OMPI_MCA_btl_gamma_max_send_size=200000
		exec "$@"
	SH
	chmod +x "$work/other"
	mpi_way=(--mca btl gamma)
	mpi_output 60 node01,node02 2 "$work/other" python3 "$conformance" messages_sizes
}

under_loss() {
	lab impair node02 --loss 1 --seed 7
	mpi_way=(--mca btl gamma)
	mpi_run 240 node01,node02 2 python3 "$conformance" messages collective threads \
		onesided_{fence,start_post,lock,accumulate,fetch,compare,requests} spawn_two || return 1
	lab impair node02 off
}

mpi_component_lab 2
count_frames
mpi_way=(--mca btl gamma)
mpi_conforms "two on each of two hosts" node01,node02 4 messages collective
mpi_conforms "spawned processes" node01,node02 2 spawn
check "eight ranks on two cores" oversubscribed
counted "eight ranks on two cores: nothing was sent twice" 'all(.retransmissions == 0)'
check "ranks that compute" computing
counted "ranks that compute: nothing was sent twice" 'all(.retransmissions == 0)'
check "1 % loss" under_loss
counted "1 % loss: frames were sent again" 'any(.retransmissions > 0)'
for stage in asking asked agreed sending receiving; do
	check_fails "a rank stops, $stage: the other one is not kept waiting" \
		'rank [01] on node0[12] cannot be reached through gam0' stopped_at $stage
done
check_fails "NICs on different networks: who cannot be reached" \
	'cannot be reached through gam0 .there mgt0, .*: Connection timed out' wrong_nic
check_fails "different limits: which" 'at most 131072 bytes on this host, and 200000 on|at most 200000 bytes' \
	other_limit
mpi_way=(--mca btl gamma,self,vader)
check "gamma,self,vader" mpi_run 120 node01,node02 4 python3 "$conformance" messages collective
lab_down

mpi_component_lab 4
write_ring || bail "ring.c does not compile"
lab mpirun -np 4 --map-by node --mca btl gamma "$shared/ring" || true
belongings 4 >"$work/before"
check "$jobs jobs on four hosts" many_jobs
check "they leave nothing behind" same_belongings
mpi_way=(--mca btl gamma)
mpi_conforms "four hosts" node01,node02,node03,node04 4 messages collective threads
lab_down

mpi_component_lab 8
mpi_way=(--mca btl gamma)
hosts=$(printf ',node0%d' {1..8})
mpi_conforms "eight hosts" "${hosts#,}" 8 messages collective onesided_{fence,lock,fetch}

finish
