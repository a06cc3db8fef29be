# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2015
#
# gammad in the lab: this build's, on every host, so that ordinary users' programs need no
# capability. Sourced by lab.

gammad_slots=72	  # endpoints of a NIC
all_slots=1152	  # of all hosts together: each is an interface of this one kernel
gammad_ready_s=60 # for gammad to answer

# Sets gammad_folder: the build's folder with gammad and gammactl, or that of the installed gammad.
find_gammad() {
	if uses_installed; then
		gammad_folder=$(dirname "$(type -P gammad)") || die "gammad is not installed"
		return
	fi
	for gammad_folder in "${GAMMA_BUILD:+$GAMMA_BUILD/gammad}" "$tree/build/gammad"; do
		[[ ! -x $gammad_folder/gammad ]] || return 0
	done
	die "gammad is not found: build with 'configure --enable-gammad', and name the build" \
		"folder in GAMMA_BUILD"
}

# Fewer on each of more than 16 hosts.
slots_of_host() {
	local slots=$((all_slots / hosts))
	echo $((slots < gammad_slots ? slots : gammad_slots))
}

gammad_pid_file() { echo "$state/gammad/$(host_name "$1").pid"; }

gammad_answers() {
	[[ -d /proc/$1 ]] || return 2
	PATH=$gammad_folder:$PATH gammactl status >/dev/null 2>&1 || return 1
}

# Inside the namespaces of host $1. /etc and /run are its own.
cmd_gammad_host() {
	local end log status=1
	load_lab
	end=$((SECONDS + gammad_ready_s + hosts))
	find_gammad
	log=$state/gammad/$(host_name "$1").log
	[[ -e /etc/gammad.conf ]] || nic_names | sed "s/.*/nic & slots $(slots_of_host)/" >/etc/gammad.conf
	setsid "$gammad_folder/gammad" </dev/null >>"$log" 2>&1 9>&- &
	echo $! >"$(gammad_pid_file "$1")"
	while ((status == 1 && SECONDS < end)); do
		status=0
		gammad_answers $! || status=$?
		((status == 0)) || sleep 0.05
	done
	((status == 0)) || die "gammad does not start on $(host_name "$1"): $(tail -n 1 "$log")"
}

# Ordinary users' programs find this build's provider, wherever it is; an installed one they find anyway.
write_gammad_environment() {
	lend_libraries "$state/shared/gammad"
	provider_setting "$state/shared/gammad" >"$state/gammad/environment"
}

# All hosts in parallel: most of the time they wait for the kernel.
start_gammad() {
	local i started=() failed=0
	find_gammad
	mkdir -p "$state/gammad"
	for ((i = 1; i <= hosts; i++)); do
		(become "$i" "$here/lab" -n "$name" __gammad_host "$i" </dev/null) &
		started+=($!)
	done
	for i in "${started[@]}"; do wait "$i" || failed=1; done
	((failed == 0)) && write_gammad_environment && return
	stop_gammad
	return 1
}

# A zombie, which may linger, has left its control group.
has_ended() { [[ ! -e /proc/$1/stat || $(cat "/proc/$1/stat" 2>/dev/null) = *") Z "* ]]; }

stop_gammad_host() {
	local pid try
	pid=$(cat "$(gammad_pid_file "$1")" 2>/dev/null) || return 0
	rm -f "$(gammad_pid_file "$1")"
	[[ $(cat "/proc/$pid/comm" 2>/dev/null) != gammad ]] || kill "$pid" 2>/dev/null || :
	for ((try = 0; try < 500; try++)); do
		[[ $(cat "/proc/$pid/comm" 2>/dev/null) = gammad ]] && ! has_ended "$pid" || break
		sleep 0.02
	done
	(become "$1" "$gammad_folder/gammad" -r </dev/null >>"$state/gammad/$(host_name "$1").log" 2>&1) ||
		die "gammad has left something on $(host_name "$1"): see $state/gammad"
}

stop_gammad() {
	local i
	rm -f "$state/gammad/environment"
	for ((i = 1; i <= hosts; i++)); do stop_gammad_host "$i"; done
}

# The control groups that any gammad has made: they are the machine's, not a host's.
gammad_groups() {
	local file pid
	for file in "$state"/node*/pid; do
		pid=$(cat "$file" 2>/dev/null) || continue
		nsenter --target "$pid" --mount readlink /run/gammad/cgroup 2>/dev/null || :
	done
}

# Processes leave theirs a moment after they have left their namespaces.
remove_groups() {
	local group try
	for group in "$@"; do
		for ((try = 0; try < 50; try++)); do
			[[ -d $group ]] && ! rmdir "$group" 2>/dev/null || break
			sleep 0.02
		done
	done
}

cmd_gammad() {
	[[ $# = 1 && $1 = @(start|stop) ]] || misuse "gammad needs 'start' or 'stop'"
	load_lab
	if [[ $1 = stop && ! -e $state/gammad/environment ]]; then
		say "gammad is not running in lab $name"
	elif [[ $1 = stop ]]; then
		find_gammad
		stop_gammad
		say "gammad is stopped; logs: $state/gammad"
	elif [[ -e $state/gammad/environment ]]; then
		die "gammad is running in lab $name"
	else
		umask 022
		start_gammad
		say "gammad runs on $hosts hosts: lab -n $name run $lab_user node01 fi_info -p gamma"
	fi
}
