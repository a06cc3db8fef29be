#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# gamma in libfabric's and Open MPI's own source trees: contrib/in-tree/lay-out, then their own
# configure and make, in copies. LIBFABRIC_TREE and OPENMPI_TREE name the trees; what is not named is
# not tested. Fetches nothing. As root it also runs what was built, on two hosts of the lab.
# Functions are called through check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=mpi.sh
. "$top_srcdir/fabtests/functional/mpi.sh"

[ -n "${LIBFABRIC_TREE-}${OPENMPI_TREE-}" ] ||
	skip "no tree is named: LIBFABRIC_TREE (git clone https://github.com/ofiwg/libfabric), OPENMPI_TREE (apt-get source openmpi)"
need_tool autoreconf libtoolize make python3
lay_out=$top_srcdir/contrib/in-tree/lay-out
jobs=$(nproc)

# in_folder FOLDER COMMAND...
in_folder() {
	(cd "$1" && shift && "$@" </dev/null)
}

# Without a lab what was built is not run.
lab_is_possible() {
	[ "${GAMMA_TEST_LAB:-1}" = 1 ] && [ "$(id -u)" -eq 0 ] &&
		unshare --mount --net --uts --ipc true 2>/dev/null
}

check_fails "another folder is refused" "no source tree of libfabric" "$lay_out" libfabric "$work"

# ---- libfabric ----

# Of its other providers only what fi_info needs.
other_providers() {
	local name
	for name in verbs efa usnic psm2 psm3 opx cxi ucx lpp sockets rxd mrail sm2 lnx perf trace profile \
		monitor hook_debug hook_hmem dmabuf_peer_mem; do
		echo "--disable-$name"
	done
}

# lists_gamma BUILD: that build's fi_info, and what the provider says of itself.
lists_gamma() {
	env "${fi_path[@]}" "$1/util/fi_info" -l | grep -x 'gamma:'
}

# runs BUILD NAME: by its own programs and library.
runs() {
	gamma_env=("${fi_path[@]}" "LD_LIBRARY_PATH=$1/src/.libs")
	lab_up 2
	both "$2: fi_pingpong, reliable" 60 "$1/util/.libs/fi_pingpong" -p gamma -e rdm -c -S all -I 5
	both "$2: fi_pingpong, datagrams" 60 "$1/util/.libs/fi_pingpong" -p gamma -c -S all -I 5
	lab_down
}

no_warnings() {
	! grep 'gamma.*warning:' "$work/make.out"
}

# libfabric_with VALUE: of --enable-gamma.
libfabric_with() {
	local build=$work/libfabric-$1
	local options
	mapfile -t options < <(other_providers)
	mkdir "$build"
	fi_path=(FI_PROVIDER_PATH="$build/.libs")
	check "libfabric: configure --enable-gamma=$1" \
		in_folder "$build" "$work/libfabric/configure" "--enable-gamma=$1" "${options[@]}"
	check "libfabric: make, gamma=$1" libfabric_make "$build"
	check "libfabric: no warning about gamma, gamma=$1" no_warnings
	check "libfabric: fi_info lists it, gamma=$1" lists_gamma "$build"
	! lab_is_possible || runs "$build" "libfabric, gamma=$1"
}

libfabric_make() {
	make -C "$1" -j"$jobs" >"$work/make.out" 2>&1 && return
	tail -n 20 "$work/make.out"
	return 1
}

if [ -n "${LIBFABRIC_TREE-}" ]; then
	cp -a "$LIBFABRIC_TREE" "$work/libfabric"
	check "libfabric: laid out" "$lay_out" libfabric "$work/libfabric"
	cp -a "$work/libfabric" "$work/once"
	check "libfabric: twice" "$lay_out" libfabric "$work/libfabric"
	check "libfabric: is the same" diff -r "$work/once" "$work/libfabric"
	rm -rf "$work/once"
	check "libfabric: autogen" in_folder "$work/libfabric" ./autogen.sh
	libfabric_with dl
	libfabric_with yes
fi

# ---- Open MPI ----

# All of it: the second component is linked with the last library that is made.
openmpi_make() {
	make -C "$1" -j"$jobs" install >"$work/make.out" 2>&1 && return
	tail -n 20 "$work/make.out"
	return 1
}

# lists_component FRAMEWORK: of the installed one, as its own tool shows it.
lists_component() {
	"$work/installed/bin/ompi_info" | grep "MCA $1: gamma "
}

# The two are separate libraries: one finds the other by this name. btl gamma is one of its own, or a
# part of Open MPI's.
has_door() {
	find "$work/installed/lib" \( -name 'mca_btl_gamma.so' -o -name 'libopen-pal.so' \) -exec nm -D {} + |
		grep ' [DR] mca_btl_gamma_collective$'
}

# A job on two hosts, by the installed Open MPI and the provider of this project's own build.
mpi_in_tree() {
	local installed=$work/installed
	"$installed/bin/mpicc" -O2 -o "$work/mpi_job" "$top_srcdir/fabtests/functional/mpi_job.c" || return
	mpi_stack=openmpi
	mpi_env=("LD_LIBRARY_PATH=$installed/lib")
	mpi_launch=("$installed/bin/mpirun" --prefix "$installed" --mca plm_rsh_agent "$(mpi_agent)"
		--mca oob_tcp_if_include mgt0)
	mpi_openmpi
	mpi_way=(--mca btl "gamma,self")
	mpi_output 180 node01,node02 "$1" "$work/mpi_job"
}

if [ -n "${OPENMPI_TREE-}" ]; then
	cp -a "$OPENMPI_TREE" "$work/openmpi"
	check "Open MPI: laid out" "$lay_out" openmpi "$work/openmpi"
	cp -a "$work/openmpi" "$work/once"
	check "Open MPI: twice" "$lay_out" openmpi "$work/openmpi"
	check "Open MPI: is the same" diff -r "$work/once" "$work/openmpi"
	rm -rf "$work/once"
	check "Open MPI: autogen" in_folder "$work/openmpi" ./autogen.pl --force
	mkdir "$work/build"
	# Its own PMIx, where the tree has one: that of the distribution may be too old for it.
	own=()
	[ ! -d "$work/openmpi/3rd-party/openpmix" ] || own=(--with-pmix=internal --with-prrte=internal)
	check "Open MPI: configure" in_folder "$work/build" ../openmpi/configure \
		--prefix="$work/installed" --disable-mpi-fortran --disable-oshmem --with-ofi \
		--with-verbs=no --without-ucx --disable-man-pages --disable-io-romio "${own[@]}"
	for component in opal/mca/btl/gamma ompi/mca/coll/gamma; do
		check "Open MPI: it will build $component" grep -q "$component" "$work/build/config.status"
	done
	check "Open MPI: make, with the components" openmpi_make "$work/build"
	check "Open MPI: no warning about gamma" no_warnings
	check "Open MPI: ompi_info lists btl gamma" lists_component btl
	check "Open MPI: ompi_info lists coll gamma" lists_component coll
	check "Open MPI: coll gamma finds btl gamma" has_door
	if lab_is_possible; then
		gamma_env=()
		lab_up 2
		check "Open MPI: a job of 2 processes" mpi_in_tree 2
		check "Open MPI: a job of 4 processes" mpi_in_tree 4
	fi
fi

finish
