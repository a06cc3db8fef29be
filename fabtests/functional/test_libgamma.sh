#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The library of the original's calls: a program that uses all of them, started alone on two hosts
# and by mpirun; two jobs at once; a node that dies; calls without a job.
# Functions are called through check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=mpi.sh
. "$top_srcdir/fabtests/functional/mpi.sh"

program=$abs_top_builddir/fabtests/functional/gamma-libgamma
[ -x "$program" ] || bail "$program is not built: make builds it"

example=$abs_top_builddir/examples/libgamma_pi
[ -x "$example" ] || bail "$example is not built: make builds it"

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

# start_node JOB NUMBER ARGUMENT...: on its host; the job's ports begin at PORT.
start_node() {
	local job=$1 number=$2
	shift 2
	start "$job$number" "node0$((number + 1))" 60 env "LIBGAMMA_NODES=$three" \
		"LIBGAMMA_NODE=$number" "LIBGAMMA_PORT=$port" FI_GAMMA_PEER_TIMEOUT=2 \
		LIBGAMMA_KEEPALIVE=1 "$program" "$@"
}

# Two jobs of one user on the same hosts: neither hears the other's broadcasts.
side_by_side() {
	local node status=0
	for node in 0 1 2; do
		port=7400
		start_node a "$node" side a
		port=7500
		start_node b "$node" side b
	done
	for node in 0 1 2; do
		wait_end "a$node" || status=1
		wait_end "b$node" || status=1
	done
	cat "$work"/[ab][012].out
	nodes=6
	[ "$status" = 0 ] && all_well "$work"/[ab][012].out
}

# Node 1 kills itself while the others wait, and send nothing. They name it and its host.
crash() {
	local node status=0
	port=7400
	for node in 0 1 2; do
		start_node c "$node" crash
	done
	wait_end c1 || true
	wait_end c0 || status=1
	wait_end c2 || status=1
	grep -v "a call before" "$work"/c[02].out
	nodes=2
	[ "$status" = 0 ] && all_well "$work"/c[02].out &&
		[ "$(grep -c 'libgamma: node 1 (node02) has failed: ' "$work"/c[02].out |
			grep -c ':1$')" = 2 ]
}

# The example, on three hosts.
pi() {
	local node status=0
	for node in 0 1 2; do
		start "p$node" "node0$((node + 1))" 60 env "LIBGAMMA_NODES=$three" \
			"LIBGAMMA_NODE=$node" "$example"
	done
	for node in 0 1 2; do
		wait_end "p$node" || status=1
	done
	cat "$work"/p[012].out
	[ "$status" = 0 ] && [ "$(cat "$work"/p[012].out | grep -c 'of 3: pi is 3.141593')" = 3 ]
}

outside() {
	"$program" outside 2>"$work/outside.out" || return 1
	cat "$work/outside.out"
	[ "$(grep -cx 'libgamma: a call before gamma_init, or after gamma_exit' "$work/outside.out")" = 16 ]
}

bad_port() {
	LIBGAMMA_NODES=node01 LIBGAMMA_NODE=0 LIBGAMMA_PORT=65534 "$program"
}

by_mpirun() { # NAME PROCESSES
	nodes=$2
	if mpi_run 100 node01,node02 "$2" "$program" && all_well "$work/mpi.out"; then
		ok "$1"
	else
		not_ok "$1" "$work/mpi.out"
	fi
}

check "calls without a job are refused" outside
check_fails "a port that is too high" 'LIBGAMMA_PORT is 65534' bad_port
check_fails "a port that is no number" "LIBGAMMA_PORT is 74o0: the job's ports" \
	env LIBGAMMA_NODES=node01 LIBGAMMA_NODE=0 LIBGAMMA_PORT=74o0 "$program"
for number in x 65536 -1 ''; do
	check_fails "a node '$number'" "LIBGAMMA_NODE is $number, but LIBGAMMA_NODES names 1" \
		env LIBGAMMA_NODES=node01 "LIBGAMMA_NODE=$number" "$program"
done
lab_up 3
check_fails "a time that is no number" 'LIBGAMMA_KEEPALIVE is 1m: must be a number of seconds' \
	on node01 env LIBGAMMA_NODES=node01 LIBGAMMA_NODE=0 LIBGAMMA_KEEPALIVE=1m "$program"
three=node01,node02,node03
check "the example" pi
check "two jobs side by side" side_by_side
check "a node that dies is named" crash
check "and nothing needs to be reset" crash
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
