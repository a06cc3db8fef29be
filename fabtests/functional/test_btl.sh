#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Open MPI's component: mpirun --mca btl gamma, alone and with others beside it, across hosts and on
# one, under loss, and with a rank that is killed; that nobody is moved who did not ask; and what
# configure and the component say where they cannot work. Functions are called through check:
# shellcheck disable=SC2016,SC2317,SC2054
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=mpi.sh
. "$top_srcdir/fabtests/functional/mpi.sh"

need_tool jq python3
component=$abs_top_builddir/.libs/mca_btl_gamma.so
[ -e "$component" ] || skip "the component for Open MPI is not built"
# The component was built for one Open MPI, and is run with that.
ompi_info=$(sed -n 's/^OMPI_INFO = //p' "$abs_top_builddir/Makefile")
mpicc=$(sed -n 's/^MPICC = //p' "$abs_top_builddir/Makefile")
gamma_setup_env
case ${gamma_env[*]} in
*SAN_OPTIONS*) skip "Open MPI's own code does not run under the sanitizers" ;;
esac
# The parameters that people look for, and that no provider is needed for that.
lists_parameters() {
	local parameter
	env -u FI_PROVIDER_PATH "${mpi_env[@]}" "$ompi_info" --param btl gamma --level 9 \
		>"$work/params.out" || return 1
	for parameter in if_include if_exclude eager_limit max_send_size peer_timeout \
		async_progress default; do
		grep -q "\"btl_gamma_$parameter\"" "$work/params.out" || {
			echo "no btl_gamma_$parameter"
			return 1
		}
	done
}

exports_one_symbol() {
	[ "$(nm -D --defined-only "$component" | awk '{ print $3 }')" = mca_btl_gamma_component ]
}

# run BTLS HOSTS RANKS TEST...: as the conformance program names them.
run() {
	mpi_way=(--mca btl "$1")
	mpi_run 60 "$2" "$3" python3 "$conformance" "${@:4}"
}

# Loaded and not named, it must not even open an endpoint.
unasked() {
	mpi_way=(--mca btl_base_verbose 100)
	mpi_run 60 node01,node02 2 python3 "$conformance" messages_sizes || return 1
	grep -q 'component gamma' "$work/mpi.out" && [ ! -e "$work/stats" ]
}

# The administrator's line.
by_default() {
	mpi_way=(--mca btl_gamma_default 1)
	mpi_run 60 node01,node02 2 python3 "$conformance" messages_sizes &&
		[ "$(wc -l <"$work/stats")" -eq 2 ]
}

# On a host vader (sm since Open MPI 5) is the better one, between hosts gamma is better than tcp.
shares_with_others() {
	mpi_way=(--mca btl gamma,self,vader,tcp --mca btl_base_verbose 5)
	mpi_run 60 node01,node02 4 python3 "$conformance" messages_sizes || return 1
	grep -Eo 'Using [a-z]+ btl for send to .* on node .*' "$work/mpi.out" | sort | uniq -c
	! grep -q 'Using tcp btl' "$work/mpi.out" && grep -Eq 'Using (vader|sm) btl' "$work/mpi.out" &&
		grep -q 'Using gamma btl' "$work/mpi.out"
}

# told ARGUMENT...: mpi_run, with what it said as output.
told() {
	local status=0
	mpi_run "$@" || status=$?
	cat "$work/mpi.out"
	return "$status"
}

no_such_nic() {
	mpi_way=(--mca btl gamma --mca btl_gamma_if_include "eth77,10.99.0.0/16")
	told 30 node01,node02 2 python3 "$conformance" messages_sizes
}

no_provider() {
	local path=${gamma_env[0]} status=0
	gamma_env[0]=FI_PROVIDER_PATH=/nonexistent
	mpi_way=(--mca btl gamma)
	told 30 node01,node02 2 python3 "$conformance" messages_sizes || status=$?
	gamma_env[0]=$path
	return "$status"
}

# By name, by address, and by network.
chosen_nic() {
	local nic
	for nic in gam0 02:47:41:4d:00:01,02:47:41:4d:00:02 10.78.0.0/24; do
		mpi_way=(--mca btl gamma --mca btl_gamma_if_include "$nic")
		mpi_run 30 node01,node02 2 python3 "$conformance" messages_sizes || return 1
		[ "$(jq -r .nic "$work/stats" | sort -u)" = gam0 ] || return 1
	done
}

under_loss() {
	lab impair node02 --loss 1 --seed 7 &&
		run gamma node01,node02 2 messages_sizes messages_modes collective &&
		lab impair node02 off
}

# The others may not wait for ever for a process that is no more.
killed() {
	cat >"$work/kill.py" <<-'PYTHON'
		import os, signal
		from mpi4py import MPI
		world = MPI.COMM_WORLD
		world.Barrier()
		if world.rank == 1:
		    os.kill(os.getpid(), signal.SIGKILL)
		world.Recv(bytearray(8), 1)
	PYTHON
	mpi_way=(--mca btl gamma)
	told 60 node01,node02 3 python3 "$work/kill.py"
}

# Both NICs carry their part, of what is long.
two_nics() {
	mpi_way=(--mca btl gamma --mca btl_gamma_if_include gam0,mgt0)
	mpi_run 60 node01,node02 2 python3 "$conformance" messages onesided_lock || return 1
	[ "$(jq -r 'select(.messages_out > 10) | .nic' "$work/stats" | sort | uniq -c | tr -s ' ')" = \
		" 2 gam0"$'\n'" 2 mgt0" ]
}

# node02's data cable is pulled while node01 only waits; the management network stays.
cut_off() {
	local status=0
	cat >"$work/wait.py" <<-'PYTHON'
		from mpi4py import MPI
		world = MPI.COMM_WORLD
		world.Sendrecv(bytearray(8), 1 - world.rank, 0, bytearray(8), 1 - world.rank)
		print("waiting", flush=True)
		world.Recv(bytearray(8), 1 - world.rank)
	PYTHON
	mpi_way=(--mca btl gamma --mca btl_gamma_keepalive 1 --mca btl_gamma_peer_timeout 2)
	mpi_start 60 node01,node02 2 python3 "$work/wait.py"
	wait_for_line mpi waiting 30 && lab cable node02 pull
	wait_end mpi || status=$?
	lab cable node02 plug
	cat "$work/mpi.out"
	[ "$status" -ne 124 ] || return 0
	return "$status"
}

# Spawned processes end after they have disconnected: who is asked whether it lives may be gone.
ended_by_itself() {
	cat >"$work/spawn.py" <<-'PYTHON'
		import sys, time
		from mpi4py import MPI
		if len(sys.argv) > 1:
		    MPI.Comm.Get_parent().Disconnect()
		else:
		    world = MPI.COMM_WORLD
		    world.Spawn(sys.executable, [__file__, "child"], 2).Disconnect()
		    end = time.monotonic() + 8
		    while time.monotonic() < end:
		        world.Iprobe()
		    world.Barrier()
	PYTHON
	mpi_way=(--mca btl gamma --mca btl_gamma_keepalive 1 --mca btl_gamma_peer_timeout 2)
	told 60 node01,node02 2 python3 "$work/spawn.py"
}

# Nobody but root may open packet sockets: the lab gives labuser the capability for it.
ordinary_user() {
	lab mpirun -np 2 --mca btl gamma sh -c 'echo "$(uname -n) $(id -un)"' | sort >"$work/who" &&
		[ "$(tr '\n' ' ' <"$work/who")" = "node01 labuser node02 labuser " ] || return 1
	"$mpicc" -o "$shared/mpi_pingpong" "$top_srcdir/fabtests/benchmarks/mpi_pingpong.c" &&
		chmod 755 "$shared/mpi_pingpong" &&
		lab mpirun -np 2 --mca btl gamma "$shared/mpi_pingpong"
}

lab_up 2
shared=/run/gamma-lab/$lab_name/shared
mpi_use openmpi4 || skip "$mpi_missing"
mpi_env+=("OMPI_MCA_mca_base_component_path=$(dirname "$component"):$(
	"$ompi_info" --parsable --path pkglibdir | sed 's/.*pkglibdir://')")

check "ompi_info lists the parameters" lists_parameters
check "the component exports one symbol" exports_one_symbol
count_frames
mpi_way=(--mca btl gamma)
mpi_conforms "gamma alone, across" node01,node02 2 messages collective threads
mpi_conforms "gamma alone, on one host" node01 2 messages
# Not onesided_dynamic: Open MPI 4.1 takes one lock twice in a window's attached memory.
for hosts in node01,node02 node01; do
	mpi_conforms "remote memory, on $hosts" $hosts 2 \
		onesided_{fence,start_post,lock,accumulate,types} \
		onesided_{fetch,compare,get_accumulate,requests}
done
mpi_conforms "gamma alone, two on each of two hosts" node01,node02 4 messages collective
mpi_way=(--mca btl gamma,self)
mpi_conforms "gamma,self" node01,node02 2 messages_sizes messages_self
check "gamma,self,vader,tcp: vader on a host, gamma between hosts" shares_with_others
check "gamma,self,vader" run gamma,self,vader node01,node02 4 messages collective
check "loaded and not named: not used" unasked
check "made the default: used without being named" by_default
check "NICs chosen by name, address and network" chosen_nic
check_fails "no such NIC: the cause and the NICs there are" 'The provider has: gam0' no_such_nic
check_fails "no provider: the cause" 'finds no usable NIC' no_provider
check "1 % loss" under_loss
counted "frames were lost and sent again" 'any(.retransmissions > 0)'
check "an ordinary user" ordinary_user
check "two NICs share the work" two_nics
check "processes that have disconnected may end" ended_by_itself
check_fails "a dead host ends the job, though everybody only waits" \
	'rank [01] on node0[12] cannot be reached through gam0' cut_off
check_fails "a killed rank ends the job" 'signal 9' killed

finish
