# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
#
# What scripts of the tree answer to --version, and to command lines that are wrong. Sourced by lab,
# vm, debian-root, packages and quickstart.

# print_version NAME TREE: as gamma_about_answer does it, from TREE/configure.ac.
print_version() {
	sed -n "s/^AC_INIT(\[gamma\], \[\([^]]*\)\].*/$1 (gamma) \1/p" "$2/configure.ac"
}

# refuse_words NAME WORD...: one line about words that are no command, or too few or too many for one.
refuse_words() {
	local name=$1
	shift
	if [ $# -eq 0 ]; then
		printf '%s: a command is missing; %s --help shows the usage\n' "$name" "$name" >&2
	else
		printf '%s: there is no "%s"; %s --help shows the usage\n' "$name" "$*" "$name" >&2
	fi
	exit 2
}
