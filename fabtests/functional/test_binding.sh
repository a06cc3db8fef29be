#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The thread of automatic progress runs near its NIC: on a machine of two NUMA nodes, described to
# hwloc by a file, with the NIC at the second one. It keeps to the process's affinity mask.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"
# shellcheck source=topology.sh
. "$top_srcdir/fabtests/functional/topology.sh"

[ "$(nproc --all)" -ge 2 ] || skip "needs two processors"

lab_up 2
topology - gam0 >"$work/topology.xml"
gamma_env+=("HWLOC_XMLFILE=$work/topology.xml" HWLOC_THISSYSTEM=1)

# bound TEXT MAY SHOULD: a program that may use processors MAY; its thread runs on SHOULD.
bound() {
	local command=(taskset -c "$2" env GAMMA_API_CPUS="$3" "$api")
	if pair -p 7777 60 "${command[@]}" 7777 auto_bound -- \
		"${command[@]}" -c "$(mgt 1)" 7777 auto_bound; then
		ok "$1"
	else
		not_ok "$1" "$work/server.out" "$work/client.out"
	fi
}

grep -q libhwloc.so "${gamma_env[0]#*=}/libgamma-fi.so" || skip "built without hwloc"
bound "near its NIC" 0,1 1
bound "where the process may run, if that is not near" 0 0
finish
