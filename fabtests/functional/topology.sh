# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
#
# A machine described to hwloc by a file (HWLOC_XMLFILE): two NUMA nodes, with a processor and a
# NIC each. Sourced by the tests of what is done near a NIC.

# object TYPE NUMBER CPUS NUMBER-OF-ALL [ATTRIBUTE...]: an object's opening tag.
object() {
	echo "<object type=\"$1\" os_index=\"$2\" cpuset=\"$3\" complete_cpuset=\"$3\" nodeset=\"$3\"" \
		"complete_nodeset=\"$3\" gp_index=\"$4\" ${*:5}>"
}

# topology NIC NIC: beside processor 0 and beside processor 1; - for none.
topology() {
	local i
	echo '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE topology SYSTEM "hwloc2.dtd">'
	echo '<topology version="2.0">'
	object Machine 0 0x3 1 'allowed_cpuset="0x3"' 'allowed_nodeset="0x3"'
	for i in 0 1; do
		object Package $i 0x$((i + 1)) 1$i
		object NUMANode $i 0x$((i + 1)) 2$i 'local_memory="1000000000"' '/'
		object PU $i 0x$((i + 1)) 3$i '/'
		[ "$1" = - ] || echo "<object type=\"OSDev\" name=\"$1\" gp_index=\"4$i\" osdev_type=\"2\"/>"
		echo '</object>'
		shift
	done | sed 's: />:/>:'
	echo '</object></topology>'
}
