# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154
#
# Slurm in the lab: the distribution's munged and slurmd on every host, its slurmctld on node01.
# Settings, key, state and logs are in the lab's folder, pid files and sockets in each host's own
# /run. Sourced by lab.

slurm_slots=8	# of each host, as for mpirun: processes share its processor
slurm_ready_s=60 # for all hosts to report to slurmctld
slurm_programs='munged|slurmd|slurmctld|slurmstepd|srun|salloc|sbatch'

# The missing programs' Debian packages.
missing_slurm() {
	local item
	for item in munge:munged slurmctld:slurmctld slurmd:slurmd slurm-client:srun; do
		type -P "${item#*:}" >/dev/null || echo "${item%:*}"
	done
	compgen -G "/usr/lib*/*/slurm*/mpi_pmix.so" >/dev/null || echo slurm-wlm-basic-plugins
	# The plugin loads it by the name without a number.
	compgen -G "/usr/lib*/*/libpmix.so" >/dev/null || echo libpmix-dev
}

need_slurm() {
	local missing
	mapfile -t missing < <(missing_slurm)
	((${#missing[@]} == 0)) || die "Slurm is not complete: apt-get install ${missing[*]}"
}

# Slurm follows a step by its process tree (linuxproc), so that no control group is left. With direct
# connections between its servers Slurm 22.05's PMIx sometimes fails at four hosts and more; with a
# ring for fences that carry data and a tree for others, 4 of 100 jobs crash in MPI_Init under 24.11.
write_slurm_conf() {
	cat >"$1/slurm.conf" <<-CONF
		ClusterName=$name
		SlurmctldHost=node01
		SlurmUser=slurm
		AuthType=auth/munge
		StateSaveLocation=$1/slurmctld
		SlurmdSpoolDir=$1/%n/spool
		SlurmctldPidFile=/run/lab/slurmctld/pid
		SlurmdPidFile=/run/lab/slurmd.pid
		SlurmctldLogFile=$1/slurmctld/log
		SlurmdLogFile=$1/%n/slurmd.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		SwitchType=switch/none
		MpiDefault=pmix
		JobAcctGatherType=jobacct_gather/none
		AccountingStorageType=accounting_storage/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core
		SlurmdParameters=config_overrides
		ReturnToService=2
		MessageTimeout=30
		SlurmctldTimeout=30
		SlurmdTimeout=30
		KillWait=5
		SchedulerParameters=sched_min_interval=10000,batch_sched_delay=0
		NodeName=node[01-$(printf %02d "$hosts")] CPUs=$slurm_slots RealMemory=1 State=UNKNOWN
		PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP
	CONF
	[[ ! -e $state/gammad/environment ]] || printf '%s\n' Epilog=/run/lab/epilog Prolog=/run/lab/prolog PrologFlags=Alloc TaskProlog=/run/lab/task-prolog >>"$1/slurm.conf"
	printf '%s\n' PMIxDirectConn=false PMIxCollFence=tree >"$1/mpi.conf"
	echo CgroupAutomount=no >"$1/cgroup.conf"
}

# The environment of an ordinary user's programs while Slurm is there: this build's libraries.
write_slurm_environment() {
	local settings
	lend_libraries "$state/shared/slurm"
	if type -P ompi_info >/dev/null; then
		lab_settings "$state/shared/slurm"
	else
		mapfile -t settings < <(provider_setting "$state/shared/slurm")
	fi
	printf '%s\n' "${settings[@]}" | grep -Ev '^(PRTE|PMIX)_|_plm_rsh_agent=' >"$1/environment"
}

make_slurm_state() {
	local folder=$1 i
	rm -rf "$folder"
	mkdir "$folder"
	install -d -o slurm -m 755 "$folder/slurmctld"
	for ((i = 1; i <= hosts; i++)); do
		mkdir -p "$folder/$(host_name "$i")/spool"
		install -d -o munge -m 700 "$folder/$(host_name "$i")/munge"
	done
	head -c 128 /dev/urandom >"$folder/key"
	chown munge: "$folder/key"
	chmod 400 "$folder/key"
	write_slurm_conf "$folder"
	write_slurm_environment "$folder"
}

start_munged() {
	install -d -o munge -m 755 /run/munge
	setpriv --reuid munge --regid munge --init-groups munged --key-file="$state/slurm/key" \
		--log-file="$1/munge/log" --seed-file="$1/munge/seed" --pid-file=/run/munge/munged.pid
}

# The folder of the scripts for Slurm, in a package or below a prefix.
installed_examples() {
	local share file
	share=$(dirname "$gammad_folder")/share/doc
	for file in "$share"/gamma{d,}/examples/slurm-epilog; do
		[[ ! -x $file ]] || { dirname "$file" && return; }
	done
	return 1
}

# With gammad: the scripts that are installed as examples, with gammactl in the build folder.
write_slurm_scripts() {
	local script folder=$tree/gammad
	[[ -e $state/gammad/environment ]] || return 0
	find_gammad
	! uses_installed || folder=$(installed_examples) || die "gammad's examples are not installed"
	for script in prolog epilog task-prolog; do
		# shellcheck disable=SC2016 # for the script's shell
		printf '#!/bin/sh\nGAMMA_JOBS_LOG=/run/lab/jobs.log PATH=%q:%q:$PATH exec %q\n' \
			"$gammad_folder" "${gammad_folder%/*}/tools" \
			"$folder/slurm-$script" >"/run/lab/$script"
		chmod 755 "/run/lab/$script"
	done
}

# Inside the namespaces of host $1. /etc and /run are its own.
cmd_slurm_host() {
	local node
	load_lab
	node=$(host_name "$1")
	cd /
	start_munged "$state/slurm/$node"
	mkdir -p /etc/slurm
	cp "$state"/slurm/*.conf /etc/slurm/
	write_slurm_scripts
	if [[ $1 = 1 ]]; then
		install -d -o slurm -m 755 /run/lab/slurmctld
		slurmctld -c
	fi
	slurmd -N "$node"
}

start_slurm_hosts() {
	local i started=() failed=0
	for ((i = 1; i <= hosts; i++)); do
		(become "$i" "$here/lab" -n "$name" __slurm_host "$i" </dev/null) &
		started+=($!)
	done
	for i in "${started[@]}"; do wait "$i" || failed=1; done
	return $failed
}

# A command of Slurm's, as root on node01.
slurm_command() {
	(become 1 timeout 30 "$@" </dev/null)
}

slurm_is_ready() {
	local end=$((SECONDS + slurm_ready_s))
	until [[ $(slurm_command sinfo -h -o '%T %D' 2>/dev/null) = "idle $hosts" ]]; do
		((SECONDS < end)) || return 1
		sleep 0.1
	done
}

# The lab's processes of Slurm and of its jobs, also after they changed their names.
slurm_processes() {
	local pid
	members | while read -r pid; do
		if [[ $(cat "/proc/$pid/comm" 2>/dev/null) = @($slurm_programs) ]] ||
			grep -qsz '^SLURM_JOB_ID=' "/proc/$pid/environ"; then
			echo "$pid"
		fi
	done
}

end_slurm_processes() {
	local signal try pids
	for signal in TERM KILL; do
		for ((try = 0; try < 20; try++)); do
			mapfile -t pids < <(slurm_processes)
			((${#pids[@]})) || return 0
			((try % 10)) || kill -"$signal" "${pids[@]}" 2>/dev/null || :
			sleep 0.1
		done
	done
	die "these processes of Slurm do not end: ${pids[*]}"
}

stop_slurm() {
	# shellcheck disable=SC2034
	local pinned # set by pin_namespaces, of cluster.sh
	rm -f "$state/slurm/environment"
	pin_namespaces
	end_slurm_processes
}

# The exit trap of an unfinished start.
give_up_slurm() {
	local status=$?
	set +e
	trap - EXIT
	say "Slurm did not start; its logs are in $state/slurm" >&2
	tail -qn 3 "$state"/slurm/slurmctld/log "$state"/slurm/node*/{slurmd.log,munge/log} 2>/dev/null >&2
	stop_slurm
	exit $((status ? status : 1))
}

start_slurm() {
	need_slurm
	[[ ! -e $state/slurm/environment ]] || die "Slurm is running in lab $name"
	umask 022
	trap give_up_slurm EXIT
	make_slurm_state "$state/slurm"
	start_slurm_hosts
	slurm_is_ready
	trap - EXIT
	say "Slurm runs on $hosts hosts: lab -n $name run $lab_user node01 srun -N$hosts PROGRAM"
}

cmd_slurm() {
	[[ $# = 1 && $1 = @(start|stop) ]] || misuse "slurm needs 'start' or 'stop'"
	load_lab
	if [[ $1 = start ]]; then
		start_slurm
	elif [[ -e $state/slurm/environment ]]; then
		stop_slurm
		say "Slurm is stopped; logs: $state/slurm"
	else
		say "Slurm is not running in lab $name"
	fi
}
