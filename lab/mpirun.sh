# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154
#
# Open MPI in the lab: mpirun on node01 as an ordinary user. Without gammad that user may open packet
# sockets. Sourced by lab.

# Whether the installed programs and libraries are to be used, not a build's.
uses_installed() { [[ ${GAMMA_BUILD-} = installed ]]; }

# The libraries where that user can read them, wherever the build is.
lend_libraries() {
	local file build=${GAMMA_BUILD:-$tree/build}
	install -d -m 755 "$1/lib"
	! uses_installed || return 0
	for file in libgamma-fi.so mca_btl_gamma.so mca_coll_gamma.so; do
		[[ ! -e $build/.libs/$file ]] || install -m 755 "$build/.libs/$file" "$1/lib/$file"
	done
	[[ -e $1/lib/libgamma-fi.so ]] ||
		die "no libgamma-fi.so in $build/.libs: build, or set GAMMA_BUILD"
}

# The folders of components: the build's first, then Open MPI's own.
component_path() {
	local own
	own=$(ompi_info --parsable --path pkglibdir) || die "ompi_info does not run"
	echo "$1/lib:${own##*:}"
}

# The variables with which programs find the lent libraries, those for Open MPI in the second. Where they
# are installed Open MPI's own folder remains: Debian 13's mpirun gives jobs that of PMIx instead.
provider_setting() { uses_installed || echo "FI_PROVIDER_PATH=$1/lib"; }
component_setting() {
	local path
	path=$(component_path "$1")
	! uses_installed || path=${path#*:}
	echo "OMPI_MCA_mca_base_component_path=$path"
}

# All hosts with their slots, in mpirun's form.
all_hosts() {
	local i list=()
	for ((i = 1; i <= hosts; i++)); do list+=("$(host_name "$i"):$1"); done
	local IFS=,
	echo "${list[*]}"
}

# A remote shell for mpirun: a program without arguments, so the socket is written into it.
write_agent() {
	install -m 755 "$here/launcher.py" "$1/launcher.py"
	printf '#!/bin/sh\nexec python3 %q ask %q "$@"\n' "$1/launcher.py" "$1/socket" >"$1/agent"
	chmod 755 "$1/agent"
}

# Sets launcher to the process, and returns when it listens.
start_launcher() {
	local ready
	coproc LAUNCHER { exec python3 "$1/launcher.py" serve "$1/socket" "$2" \
		"$here/lab" -n "$name" run "${right[@]}"; }
	launcher=$LAUNCHER_PID
	read -r ready <&"${LAUNCHER[0]}" || die "the launcher did not start"
	[[ $ready = ready ]]
}

end_mpirun() {
	local status=$?
	trap - EXIT
	[[ -z $launcher ]] || kill "$launcher" 2>/dev/null || true
	rm -rf "$1"
	exit "$status"
}

# Defaults for hosts that share a few processors and have two networks each.
lab_settings() {
	mapfile -t settings < <(provider_setting "$1" && component_setting "$1")
	settings+=(
		PMIX_MCA_mca_base_component_show_load_errors=none # Open MPI 5's PMIx looks there too
		OMPI_MCA_mpi_yield_when_idle=1
		OMPI_MCA_hwloc_base_binding_policy=none
		OMPI_MCA_oob_tcp_if_include=mgt0
		"OMPI_MCA_btl_tcp_if_include=$(nic_names | paste -sd ,)"
		"OMPI_MCA_plm_rsh_agent=$1/agent"
		"PRTE_MCA_plm_ssh_agent=$1/agent" # the same for Open MPI 5
		PRTE_MCA_prte_if_include=mgt0
		PMIX_MCA_ptl_tcp_if_include=mgt0
	)
}

# Whether the user names the hosts.
names_hosts() {
	local word
	for word in "$@"; do
		[[ $word != @(-H|-host|--host|-hostfile|--hostfile|-machinefile|--machinefile) ]] || return 0
	done
	return 1
}

cmd_mpirun() {
	local folder user=$lab_user settings variable options=() right=(--raw)
	(($#)) || misuse "mpirun needs its options and a program"
	need_tools mpirun ompi_info python3
	load_lab
	[[ ! -e $state/gammad/environment ]] || right=()
	folder=$(mktemp -d "$state/shared/mpirun.XXXXXX")
	launcher=
	# shellcheck disable=SC2064 # its name as it is now
	trap "end_mpirun ${folder@Q}" EXIT
	chmod 755 "$folder"
	lend_libraries "$folder"
	write_agent "$folder"
	lab_settings "$folder"
	start_launcher "$folder" "$user"
	for variable in "${settings[@]}"; do options+=(-x "${variable%%=*}"); done
	names_hosts "$@" || options+=(--host "$(all_hosts 8)" --map-by node)
	"$here/lab" -n "$name" run "${right[@]}" "$user" 1 env "${settings[@]}" mpirun "${options[@]}" "$@"
}
