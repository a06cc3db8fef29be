#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The thread of automatic progress runs near its NIC: on a machine of two memory nodes, of which
# hwloc is told by a file, the NIC at the second one. And where the process may not go it stays.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"

[ "$(nproc --all)" -ge 2 ] || skip "needs two processors"

# object TYPE NUMBER CPUS NUMBER-OF-ALL [ATTRIBUTE...]: an object's opening tag.
object() {
	echo "<object type=\"$1\" os_index=\"$2\" cpuset=\"$3\" complete_cpuset=\"$3\" nodeset=\"$3\"" \
		"complete_nodeset=\"$3\" gp_index=\"$4\" ${*:5}>"
}

topology() {
	local i
	echo '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE topology SYSTEM "hwloc2.dtd">'
	echo '<topology version="2.0">'
	object Machine 0 0x3 1 'allowed_cpuset="0x3"' 'allowed_nodeset="0x3"'
	for i in 0 1; do
		object Package $i 0x$((i + 1)) 1$i
		object NUMANode $i 0x$((i + 1)) 2$i 'local_memory="1000000000"' '/'
		object PU $i 0x$((i + 1)) 3$i '/'
		[ $i -eq 0 ] || echo '<object type="OSDev" name="gam0" gp_index="40" osdev_type="2"/>'
		echo '</object>'
	done
	echo '</object></topology>'
}

lab_up 2
topology | sed 's: />:/>:' >"$work/topology.xml"
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
