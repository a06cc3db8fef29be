# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
#
# Compiles the simulator or a file of it, with the caller's flags, outside the build: for
# test_bugs.sh, which changes the sources, and for coverage.sh. Sourced by both, after lib.sh,
# which sets the folders:
# shellcheck disable=SC2154

# The value of the makefile's variable NAME.
makefile_value() {
	sed -n "s/^$1 = *//p" "$abs_top_builddir/Makefile" | head -n 1
}

read -ra sim_cc <<<"${CC:-$(makefile_value CC)}"
read -ra sim_cppflags <<<"-D_GNU_SOURCE $(makefile_value LIBMNL_CFLAGS) $(makefile_value XDP_CPPFLAGS)"
sim_cppflags+=("-DPACKAGE_NAME=\"$(makefile_value PACKAGE_NAME)\""
	"-DPACKAGE_VERSION=\"$(makefile_value PACKAGE_VERSION)\"")
read -ra sim_libs <<<"$(makefile_value LIBMNL_LIBS) -lpthread"
sim_jobs=$(nproc)

# sim_compile SOURCE OBJECT FLAG...
sim_compile() {
	local source=$1 object=$2
	shift 2
	mkdir -p "$(dirname "$object")"
	"${sim_cc[@]}" -std=gnu11 "${sim_cppflags[@]}" "$@" -I"$top_srcdir/common" -c \
		-o "$object" "$source"
}

# Calls COMMAND for each line of stdin, with the line as its last argument; as many at a time as
# there are cores. Fails if one fails.
in_parallel() {
	local line running=0 status=0
	while read -r line; do
		if [ "$running" -ge "$sim_jobs" ]; then
			wait -n || status=1
			running=$((running - 1))
		fi
		"$@" "$line" </dev/null &
		running=$((running + 1))
	done
	while [ "$running" -gt 0 ]; do
		wait -n || status=1
		running=$((running - 1))
	done
	return "$status"
}

# The sources of the folders, relative to the top, one a line.
sources_in() {
	(cd "$top_srcdir" && find "$@" -name '*.c' | sort)
}

compile_into() { # FOLDER FLAGS SOURCE
	local flags
	read -ra flags <<<"$2"
	sim_compile "$top_srcdir/$3" "$1/${3%.c}.o" "${flags[@]}"
}

# sim_link PROGRAM FLAGS OBJECT...
sim_link() {
	local program=$1 flags
	read -ra flags <<<"$2"
	shift 2
	"${sim_cc[@]}" "${flags[@]}" -o "$program" "$@" \
		-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free "${sim_libs[@]}"
}
