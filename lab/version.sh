# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
#
# What scripts of the tree answer to --version. Sourced by lab, vm, debian-root and quickstart.

# print_version NAME TREE: as gamma_about_answer does it, from TREE/configure.ac.
print_version() {
	sed -n "s/^AC_INIT(\[gamma\], \[\([^]]*\)\].*/$1 (gamma) \1/p" "$2/configure.ac"
}
