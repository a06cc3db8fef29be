#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Open MPI's component: mpirun --mca btl gamma, alone and with others beside it, across hosts and on
# one, under loss, and with a rank that is killed; that jobs which did not ask for it do not use
# it; and its messages where it cannot work. Functions are called through check:
# shellcheck disable=SC2016,SC2317,SC2054
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=mpi.sh
. "$top_srcdir/fabtests/functional/mpi.sh"
# shellcheck source=topology.sh
. "$top_srcdir/fabtests/functional/topology.sh"

need_tool jq python3
mpi_need_component

# The parameters that people look for, and that no provider is needed for that.
lists_parameters() {
	local parameter
	env -u FI_PROVIDER_PATH "${mpi_env[@]}" "$ompi_info" --param btl gamma --level 9 \
		>"$work/params.out" || return 1
	for parameter in if_include if_exclude eager_limit max_send_size ring_size \
		peer_timeout async_progress progress_thread ports default; do
		grep -q "\"btl_gamma_$parameter\"" "$work/params.out" || {
			echo "no btl_gamma_$parameter"
			return 1
		}
	done
}

# That of Open MPI, and that of coll/gamma.
exports_two_symbols() {
	[ "$(nm -D --defined-only "$component" | awk '{ print $3 }' | sort | tr '\n' ' ')" = \
		"mca_btl_gamma_collective mca_btl_gamma_component " ]
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

no_such_nic() {
	mpi_way=(--mca btl gamma --mca btl_gamma_if_include "eth77,10.99.0.0/16")
	mpi_output 30 node01,node02 2 python3 "$conformance" messages_sizes
}

both_lists() {
	mpi_way=(--mca btl gamma --mca btl_gamma_if_include gam0 --mca btl_gamma_if_exclude mgt0)
	mpi_output 30 node01,node02 2 python3 "$conformance" messages_sizes
}

# with_provider FOLDER: where the provider is looked for.
with_provider() {
	local path=${gamma_env[0]} status=0
	gamma_env[0]=FI_PROVIDER_PATH=$1
	mpi_way=(--mca btl gamma)
	mpi_output 30 node01,node02 2 python3 "$conformance" messages_sizes || status=$?
	gamma_env[0]=$path
	return "$status"
}

# Without the capability, as an ordinary user is.
no_privilege() {
	mpi_way=(--mca btl gamma -x FI_GAMMA_LINK=packet)
	mpi_output 30 node01,node02 2 setpriv --bounding-set=-net_raw --inh-caps=-net_raw \
		python3 "$conformance" messages_sizes
}

# A provider of that name that knows nothing but its own version.
write_old_provider() {
	mkdir -p "$work/old"
	cat >"$work/old.c" <<-'C'
		#include <rdma/fabric.h>
		#include <rdma/fi_errno.h>
		#include <rdma/providers/fi_prov.h>
		#include <stdlib.h>
		#include <string.h>

		#define OLD FI_VERSION(0, 1)

		static int old_getinfo(uint32_t version, const char *node, const char *service,
				       uint64_t flags, const struct fi_info *hints, struct fi_info **info)
		{
			(void) version, (void) node, (void) service, (void) flags;
			/* not for those that would put reliable messages on top */
			if (hints && hints->ep_attr && hints->ep_attr->type != FI_EP_RDM)
				return -FI_ENODATA;
			*info = fi_allocinfo();
			if (!*info)
				return -FI_ENOMEM;
			(*info)->fabric_attr->name = strdup("gamma");
			(*info)->fabric_attr->prov_version = OLD;
			(*info)->domain_attr->name = strdup("gam0");
			return 0;
		}

		static int old_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
		{
			(void) attr, (void) fabric, (void) context;
			return -FI_ENOSYS;
		}

		static void old_cleanup(void)
		{
		}

		static struct fi_provider old = {
			.name = "gamma",
			.version = OLD,
			.fi_version = FI_VERSION(1, 17),
			.getinfo = old_getinfo,
			.fabric = old_fabric,
			.cleanup = old_cleanup,
		};

		FI_EXT_INI
		{
			old.fi_version = fi_version();
			return &old;
		}
	C
	"${CC:-gcc}" -shared -fPIC -o "$work/old/libgamma-fi.so" "$work/old.c" -lfabric
}

# set_mtu BYTES: of node02's NIC.
set_mtu() {
	lab exec node02 ip link set gam0 mtu "$1"
}

# unfit PARAMETER VALUE: one that gamma cannot work with
unfit() {
	mpi_way=(--mca btl gamma --mca "btl_gamma_$1" "$2")
	mpi_output 30 node01,node02 2 python3 "$conformance" messages_sizes
}

# Of many ranks, and peers, one of each host says it once.
other_limit() {
	cat >"$work/limit.sh" <<-'SH'
		[ "$(uname -n)" = node01 ] || export OMPI_MCA_btl_gamma_max_send_size=200000
		exec "$@"
	SH
	mpi_way=(--mca btl gamma,self,vader,tcp)
	mpi_output 60 node01,node02 4 sh "$work/limit.sh" python3 "$conformance" messages_sizes &&
		[ "$(grep -c 'messages have at most' "$work/mpi.out")" -eq 2 ]
}

# Active ports on node01 alone: their messages go to posted buffers, both ways.
other_ports() {
	cat >"$work/ports.sh" <<-'SH'
		[ "$(uname -n)" = node01 ] || export OMPI_MCA_btl_gamma_ports=0
		exec "$@"
	SH
	mpi_way=(--mca btl gamma)
	mpi_run 60 node01,node02 2 sh "$work/ports.sh" python3 "$conformance" messages_sizes
}

# Larger on one side, then too small for what the other one sends unasked.
other_mtu() {
	local mtu status=0
	mpi_way=(--mca btl gamma)
	for mtu in 4000 1000; do
		set_mtu "$mtu"
		mpi_output 30 node01,node02 2 python3 "$conformance" messages_sizes || status=1
		grep -q "gam0 has an MTU of 1500 bytes here, and gam0 has $mtu bytes on node02" \
			"$work/mpi.out" || status=1
	done
	set_mtu 1500
	return "$status"
}

# By name, by address, and by network.
chosen_nic() {
	local nic node
	for node in 1 2; do
		lab exec "node0$node" sh -c "echo 0 >/proc/sys/net/ipv6/conf/gam0/disable_ipv6 &&
			ip address add fd00:78::$node/64 dev gam0 nodad"
	done
	for nic in gam0 02:47:41:4d:00:01,02:47:41:4d:00:02 10.78.0.0/24 fd00:1::/64,fd00:78::/64; do
		mpi_way=(--mca btl gamma --mca btl_gamma_if_include "$nic")
		mpi_run 30 node01,node02 2 python3 "$conformance" messages_sizes || return 1
		[ "$(jq -r .nic "$work/stats" | sort -u)" = gam0 ] || return 1
	done
	mpi_way=(--mca btl gamma --mca btl_gamma_if_exclude 10.78.0.0/24)
	mpi_run 30 node01,node02 2 python3 "$conformance" messages_sizes &&
		[ "$(jq -r .nic "$work/stats" | sort -u)" = mgt0 ]
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
	mpi_output 60 node01,node02 3 python3 "$work/kill.py"
}

# One endpoint with both NICs; which carry their part, of what is long.
one_endpoint() {
	mpi_way=(--mca btl gamma --mca btl_gamma_if_include "${1:-gam0,mgt0}" "${@:2}")
	mpi_run 60 node01,node02 2 python3 "$conformance" messages onesided_lock || return 1
	jq -c '[.nic, .rails[].frames_out]' "$work/stats"
	jq -es 'length == 2 and all(.nic == "gam0" and
		(.rails | map(select(.frames_out > 100).nic[:4]) | unique == ["gam0", "mgt0"]))' \
		"$work/stats"
}

# The cable of one of them is pulled and plugged again while messages go to and fro.
one_nic_fails() {
	local status=0
	cat >"$work/on.py" <<-'PYTHON'
		import os, sys
		from mpi4py import MPI
		world, over = MPI.COMM_WORLD, sys.argv[1]
		sent, got = bytearray(300000), bytearray(300000)
		turn, left = 0, 100
		while left:
		    sent[:] = bytes([turn % 251]) * len(sent)
		    world.Sendrecv(sent, 1 - world.rank, 0, got, 1 - world.rank)
		    assert got == sent
		    left -= world.bcast(os.path.exists(over))
		    turn += 1
		    if turn == 100 and world.rank == 0:
		        print("begun", flush=True)
		print("all arrived", flush=True)
	PYTHON
	mpi_way=(--mca btl gamma --mca btl_gamma_if_include gam0,mgt0)
	mpi_start 60 node01,node02 2 python3 "$work/on.py" "$shared/over"
	wait_for_line mpi begun 30 && lab cable node02 pull && sleep 1
	lab cable node02 plug
	: >"$shared/over"
	wait_end mpi || status=$?
	cat "$work/mpi.out"
	[ "$status" = 0 ] && [ "$(grep -c "all arrived" "$work/mpi.out")" = 2 ]
}

# The first NIC of one host is the second one of the other.
other_order() {
	mpi_way=(--mca btl gamma)
	mpi_output 30 node01,node02 2 sh -c \
		'list=gam0,mgt0; [ "$OMPI_COMM_WORLD_RANK" = 0 ] || list=mgt0,gam0
		OMPI_MCA_btl_gamma_if_include=$list exec "$@"' sh python3 "$conformance" messages_sizes
}

# Of two NICs with one address each has an endpoint of its own; said once.
not_together() {
	local status=0
	lab exec node01 ip link add twin0 address 02:47:41:4d:00:01 type veth peer name twin1
	lab exec node01 ip link set twin0 up && lab exec node01 ip link set twin1 up
	mpi_way=(--mca btl gamma --mca btl_gamma_if_include gam0,twin0)
	mpi_output 30 node01 2 python3 "$conformance" messages_sizes || status=1
	lab exec node01 ip link delete twin0
	cat "$work/mpi.out"
	[ "$(grep -c 'gamma: domain gam0,twin0: gam0 and twin0 have the same address' \
		"$work/mpi.out")" -ge 1 ] &&
		[ "$(grep -c 'NICs gam0,twin0 cannot be used by one endpoint' "$work/mpi.out")" = 1 ] &&
		return "$status"
}

# An endpoint for each NIC.
two_nics() {
	mpi_way=(--mca btl gamma --mca btl_gamma_if_include gam0,mgt0 --mca btl_gamma_one_endpoint 0)
	mpi_run 60 node01,node02 2 python3 "$conformance" messages onesided_lock || return 1
	[ "$(jq -r 'select(.messages_out > 10) | .nic' "$work/stats" | sort | uniq -c | tr -s ' ')" = \
		" 2 gam0"$'\n'" 2 mgt0" ]
}

# Long messages are divided in proportion to the bandwidths, one to three here.
by_bandwidth() {
	mpi_way=(--mca btl gamma --mca btl_gamma_if_include gam0,mgt0 --mca btl_gamma_one_endpoint 0
		--mca btl_gamma_bandwidth_gam0 1000 --mca btl_gamma_bandwidth_mgt0 3000)
	mpi_bulk 60 4 16 || return 1
	jq -c '[.nic, .bytes_out]' "$work/stats"
	jq -es '(map(select(.nic == "mgt0").bytes_out) | max) / (map(select(.nic == "gam0").bytes_out) | max)
		| . > 2.9 and . < 3.1' "$work/stats"
}

# 64 KiB of data leave at once, headers or not: the receiver is not asked, so it sends next to
# nothing.
at_once() {
	cat >"$work/many.py" <<-'PYTHON'
		from mpi4py import MPI
		world = MPI.COMM_WORLD
		for turn in range(30):
		    if world.rank == 0:
		        world.Send(bytearray(65536), 1)
		    else:
		        world.Recv(bytearray(65536), 0)
	PYTHON
	mpi_way=(--mca btl gamma)
	mpi_output 60 node01,node02 2 python3 "$work/many.py" || return 1
	jq -c '.messages_out' "$work/stats"
	jq -es 'map(.messages_out) | max < 60 and min < 30' "$work/stats"
}

# A long message arrives at a process that does not call MPI: not before the sender is through
# does it go on. Without the thread nobody would answer the sender.
beside_a_computation() {
	cat >"$work/beside.py" <<-'PYTHON'
		import os, sys
		from mpi4py import MPI
		world, through = MPI.COMM_WORLD, sys.argv[1]
		data = bytearray(b"%c" % (world.rank + 1)) * (1 << 20)
		world.Barrier()
		if world.rank == 0:
		    world.Send(data, 1)
		    open(through, "x").close()
		else:
		    request = world.Irecv(data, 0)
		    while not os.path.exists(through):
		        pass
		    request.Wait()
		    assert data == b"\1" * (1 << 20)
	PYTHON
	mpi_way=(--mca btl gamma --mca btl_gamma_progress_thread 1)
	mpi_output 60 node01,node02 2 python3 "$work/beside.py" "$shared/through"
}

# nearest_is NIC: of a machine where each host's processor is beside that one, and the other NIC
# beside another processor. Short messages go by it alone.
nearest_is() {
	local host cpu beside
	mpi_way=(--mca btl gamma --mca btl_gamma_if_include gam0,mgt0 --mca btl_gamma_one_endpoint 0
		-x HWLOC_XMLFILE=/etc/topology.xml -x HWLOC_THISSYSTEM=1)
	for host in node01 node02; do
		cpu=$(lab exec "$host" sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
		beside=(gam0 mgt0)
		[ "${beside[cpu]}" = "$1" ] || beside=(mgt0 gam0)
		topology "${beside[@]}" | lab exec "$host" tee /etc/topology.xml >/dev/null || return 1
	done
	mpi_output 60 node01,node02 2 python3 "$conformance" messages_wildcards || return 1
	jq -c '[.nic, .messages_out]' "$work/stats"
	jq -es --arg near "$1" 'all(.nic == $near or .messages_out == 0) and
		any(.nic == $near and .messages_out > 10)' "$work/stats"
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

# Spawned processes end after they have disconnected: a keepalive may find a peer gone.
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
	mpi_output 60 node01,node02 2 python3 "$work/spawn.py"
}

# ---- from Open MPI 5 on ----

# A host that only gamma cannot reach: the program gets an error, and goes on.
reported_as_failed() {
	cat >"$work/failed.py" <<-'PYTHON'
		import os
		from mpi4py import MPI
		world, peer = MPI.COMM_WORLD, 1 - MPI.COMM_WORLD.rank
		world.Sendrecv(bytearray(8), peer, 0, bytearray(8), peer)
		print("waiting", flush=True)
		for call in (world.Recv, world.Send):
		    try:
		        call(bytearray(8), peer)
		    except MPI.Exception as error:
		        if error.Get_error_class() == MPI.ERR_PROC_FAILED:
		            print(call.__name__, "reports a failed process", flush=True)
		os._exit(0)
	PYTHON
	mpi_way=(--with-ft ulfm --mca btl gamma --mca btl_gamma_keepalive 1
		--mca btl_gamma_peer_timeout 2)
	mpi_start 60 node01,node02 2 python3 "$work/failed.py"
	wait_for_line mpi waiting 30 && lab cable node02 pull
	wait_end mpi || true
	lab cable node02 plug
	cat "$work/mpi.out"
	[ "$(grep -c 'reports a failed process' "$work/mpi.out")" -eq 4 ]
}

# Sends to a host that gamma cannot reach: each request ends with the cause. The first one leaves as a
# copy, and is complete before; while it is under way, others are not copied.
sends_reported_as_failed() {
	cat >"$work/failed_sends.py" <<-'PYTHON'
		import os, sys, time
		from mpi4py import MPI
		world, peer = MPI.COMM_WORLD, 1 - MPI.COMM_WORLD.rank
		world.Set_errhandler(MPI.ERRORS_RETURN)
		world.Sendrecv(bytearray(8), peer, 0, bytearray(8), peer)
		print("waiting", flush=True)
		while not os.path.exists(sys.argv[1]):
		    time.sleep(0.05)
		first = world.Isend(bytearray(60000), peer)
		for size in (60000, 1000000):
		    try:
		        world.Isend(bytearray(size), peer).Wait()
		    except MPI.Exception as error:
		        failed = error.Get_error_class() == MPI.ERR_PROC_FAILED
		        print(size, "a failed process" if failed else error, flush=True)
		os._exit(0)
	PYTHON
	mpi_way=(--with-ft ulfm --mca btl gamma --mca btl_gamma_keepalive 0
		--mca btl_gamma_peer_timeout 2)
	mpi_start 60 node01,node02 2 python3 "$work/failed_sends.py" "$shared/pulled"
	wait_for_line mpi waiting 30 && lab cable node02 pull && touch "$shared/pulled"
	wait_end mpi || true
	lab cable node02 plug
	cat "$work/mpi.out"
	[ "$(grep -Ec '^[0-9]+ a failed process' "$work/mpi.out")" -eq 4 ]
}

# Sessions alone, without MPI_Init: with the last one all ends, and the next one begins anew.
begins_anew() {
	cat >"$work/anew.py" <<-'PYTHON'
		import mpi4py
		mpi4py.rc.initialize = False
		from mpi4py import MPI
		for turn in range(3):
		    session = MPI.Session.Init()
		    group = session.Create_group("mpi://WORLD")
		    comm = MPI.Intracomm.Create_from_group(group, "turn %d" % turn)
		    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
		    for size in (8, 300000):
		        into = bytearray(size)
		        comm.Sendrecv(bytes([turn * 8 + comm.rank]) * size, right, 1, into, left, 1)
		        assert into == bytes([turn * 8 + left]) * size
		    comm.Free()
		    group.Free()
		    session.Finalize()
	PYTHON
	mpi_way=(--mca btl gamma)
	mpi_run 60 "$1" 2 python3 "$work/anew.py" && jq -es 'length == 6' "$work/stats"
}

# Nobody but root may open packet sockets: the lab gives labuser the capability for it. The program
# is all that says something.
ordinary_user() {
	lab mpirun -np 2 --mca btl gamma sh -c 'echo "$(uname -n) $(id -un)"' | sort >"$work/who" &&
		[ "$(tr '\n' ' ' <"$work/who")" = "node01 labuser node02 labuser " ] || return 1
	"$mpicc" -o "$shared/mpi_pingpong" "$top_srcdir/fabtests/benchmarks/mpi_pingpong.c" &&
		chmod 755 "$shared/mpi_pingpong" &&
		lab mpirun -np 2 --mca btl gamma "$shared/mpi_pingpong" 16384 1048576 2>"$work/said" || return 1
	cat "$work/said"
	[ ! -s "$work/said" ]
}

# MPI_T: rank 0 has sent what rank 1 has received.
shows_variables() {
	"$mpicc" -o "$shared/mpi_pvar" "$top_srcdir/fabtests/functional/mpi_pvar.c" &&
		chmod 755 "$shared/mpi_pvar" &&
		lab mpirun -np 2 --mca btl gamma "$shared/mpi_pvar" >"$work/said" 2>&1
	cat "$work/said"
	grep -Eqx 'rank 0: [5-9][0-9] variables, 1[0-9][0-9] messages out, [0-9] in' "$work/said" &&
		grep -Eqx 'rank 1: [5-9][0-9] variables, [0-9] messages out, 1[0-9][0-9] in' "$work/said"
}

mpi_component_lab 2

check "ompi_info lists the parameters" lists_parameters
check "the component exports two symbols" exports_two_symbols
check "MPI_T shows the counters" shows_variables
count_frames
mpi_way=(--mca btl gamma)
mpi_conforms "gamma alone, across" node01,node02 2 messages collective threads
counted "messages are handled where they arrived" 'all(.ports_in_place > 100)'
mpi_conforms "gamma alone, on one host" node01 2 messages
counted "also on one host" 'all(.ports_in_place > 100)'
mpi_way=(--mca btl gamma --mca btl_gamma_ports 0)
mpi_conforms "without active ports, across" node01,node02 2 messages collective threads
counted "no active port was used" 'all(.ports_in == 0)'
mpi_conforms "without active ports, on one host" node01 2 messages
check "active ports on one host alone" other_ports
counted "then no process uses them" 'all(.ports_in == 0)'
mpi_way=(--mca btl gamma)
# Not onesided_dynamic: Open MPI 4.1 takes one lock twice in a window's attached memory.
for hosts in node01,node02 node01; do
	mpi_conforms "remote memory, on $hosts" $hosts 2 \
		onesided_{fence,start_post,lock,accumulate,types,unsigned} \
		onesided_{fetch,compare,get_accumulate,requests}
done
mpi_way=(--mca btl gamma,self)
mpi_conforms "gamma,self" node01,node02 2 messages_sizes messages_self
check "gamma,self,vader,tcp: vader on a host, gamma between hosts" shares_with_others
kept=("${gamma_env[@]}")
gamma_env+=(FI_GAMMA_LINK=udp)
mpi_way=(--mca btl gamma --mca btl_gamma_if_include gam0)
mpi_conforms "over UDP" node01,node02 2 messages collective onesided_lock threads
gamma_env=("${kept[@]}")
check "loaded and not named: not used" unasked
check "made the default: used without being named" by_default
check "NICs chosen by name, address and network" chosen_nic
check_fails "no such NIC: the cause and the NICs there are" 'The provider has: gam0' no_such_nic
check_fails "NICs both included and excluded: not used" 'if_include is "gam0", and' both_lists
check_fails "no provider: the cause" 'finds no usable NIC' with_provider /nonexistent
check_fails "no privilege: the cause" 'no CAP_NET_RAW, so no raw Ethernet, and no gammad at' \
	no_privilege
write_old_provider
check_fails "a provider that is too old: which, and which is needed" \
	'provider gamma is version 0\.1 here; this component needs 0\.2' with_provider "$work/old"
check_fails "receive buffers that there is no memory for: the cause" \
	'receive buffers of 1000000000000000 bytes cannot be had' \
	unfit receive_buffer_size 1000000000000000
check_fails "messages that no buffer could hold: the cause" 'or btl_gamma_eager_limit, is 1844' \
	unfit max_send_size 18446744073709551615
check_fails "a ring that is too small: the parameter" 'btl_gamma_ring_size is 4096' \
	unfit ring_size 4096
check_fails "a timeout of more than a day: the parameter" 'btl_gamma_peer_timeout is 86401' \
	unfit peer_timeout 86401
check_fails "no messages: the parameter" 'btl_gamma_flags is without send' unfit flags put
check_fails "no network: the parameter" 'btl_gamma_if_exclude has "10.77.0.0/33", which is no' \
	unfit if_exclude mgt0,10.77.0.0/33
check_fails "no network of IPv6: the parameter" 'btl_gamma_if_include has "fd00::/129", which is no' \
	unfit if_include fd00::/129
check "different limits: said once, and others are used" other_limit
check "NICs of different MTU: works, and says so" other_mtu
check "1 % loss" under_loss
counted "frames were lost and sent again" 'any(.retransmissions > 0)'
check "an ordinary user" ordinary_user
check "two NICs in one endpoint" one_endpoint
check "two NICs in one endpoint, named by network" one_endpoint 10.78.0.0/24,10.77.0.0/24
gamma_env+=(FI_GAMMA_LINK=raw+udp)
check "two NICs in one endpoint, raw Ethernet and UDP" one_endpoint
gamma_env=("${kept[@]}")
check "one of two NICs fails, the job goes on" one_nic_fails
check_fails "NICs in another order: the cause" \
	'an endpoint uses gam0,mgt0 on this host, and mgt0,gam0 on node02' other_order
check "two NICs that one endpoint cannot use" not_together
check "two NICs share the work" two_nics
if grep -q libhwloc.so "$component" && taskset -cp $$ | grep -Eq ': 0(,1|-)'; then
	check "gam0 first, where it is nearer" nearest_is gam0
	check "mgt0 first, where it is nearer" nearest_is mgt0
fi
check "64 KiB leave at once" at_once
check "NICs share long messages by their bandwidths" by_bandwidth
check "a long message arrives while its receiver computes" beside_a_computation
mpi_way=(--mca btl gamma --mca btl_gamma_progress_thread 1)
mpi_conforms "with a progress thread" node01,node02 2 messages collective threads onesided_lock
check_fails "a dead host ends the job, though everybody only waits" \
	'rank [01] on node0[12] cannot be reached through gam0 .there gam0, 02:47:41:4d:00:0[12]\).*asked for 2 s' cut_off
check_fails "a killed rank ends the job" 'signal 9' killed
if "$ompi_info" --version | grep -q 'Open MPI v4'; then
	# Open MPI 5's mpirun dies of it at times, over tcp too.
	check "processes that have disconnected may end" ended_by_itself
else
	mpi_way=(--mca btl gamma)
	mpi_conforms "sessions" node01,node02 2 sessions
	for hosts in node01,node02 node01; do
		check "a session after the last one has ended, on $hosts" begins_anew $hosts
	done
	check "under ULFM a dead host is reported to the program" reported_as_failed
	check "under ULFM what was sent to it says so, too" sends_reported_as_failed
fi

finish
