#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Debian's packages where nothing but a minimal Debian is installed (lab/packages starts it there):
# what an administrator does with them, from the first installation to the purge, and what users run
# between. Functions are called through check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
[ -d /lent/new ] || skip "this is no folder of lab/packages"
export GAMMA_BUILD=installed # for lab/lab
gamma_env=(LC_ALL=C)

names=(libfabric-gamma openmpi-gamma gamma-tools gammad libgamma0 libgamma-dev)

install_packages() {
	apt-get -q -y -o Dpkg::Use-Pty=0 --no-install-recommends install "$@"
}

# files FOLDER: the packages in it.
files() {
	printf "$1/%s_*.deb\n" "${names[@]}"
}

# What has gamma's name, of all that packages may leave.
traces() {
	find / -xdev \( -path /lent -o -path /var/cache/apt \) -prune -o -iname '*gamma*' -print
	grep -i gamma /etc/passwd /etc/group || true
}

no_traces() {
	local found
	found=$(traces)
	echo "$found"
	[ -z "$found" ]
}

# ---- installed ----

apt-get -q update >/dev/null 2>&1 || echo "not refreshed: the package lists"
check "a minimal Debian has no trace of gamma" no_traces
# shellcheck disable=SC2046 # patterns for the shell
check "the packages install, with what they depend on" install_packages $(files /lent/old)
check "what users and the lab need besides" install_packages libfabric-bin openmpi-bin iproute2 \
	ethtool nftables procps util-linux passwd libcap2-bin python3 jq
check "Slurm" install_packages munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins \
	libpmix-dev # its plugin looks for libpmix.so
check "libfabric lists the provider" eval "fi_info -l | grep -qx gamma:"
check "Open MPI lists the component" eval "ompi_info | grep 'MCA btl: gamma '"
check "pkg-config's file names the folder of the provider" eval \
	"grep -qx \"providerdir=\$(dirname \"\$(dpkg -L libfabric-gamma | grep libgamma-fi.so)\")\" \
		\"\$(dpkg -L libgamma-dev | grep /gamma.pc)\""
for program in gammaping gamma-discover gamma-stat gamma-flows gammactl gammad; do
	check "$program --version" "$program" --version
done

# ---- the service ----

unit=$(dpkg -L gammad | grep '/gammad\.service$')
condition() {
	local command
	command=$(sed -n 's/^ExecCondition=//p' "$unit")
	[ -n "$command" ] && sh -c "$command"
}
check "the service starts at boot" test -L /etc/systemd/system/multi-user.target.wants/gammad.service
check "but not before a NIC is named" eval '! condition'
check_fails "which is what the configuration lacks" "no NIC is named" gammad -t
echo 'nic eth1 slots 64' >>/etc/gammad.conf
check "with a NIC it starts" condition
check "and the configuration is right" gammad -t

# ---- used ----

lab_up 2
# What hosts have of their own hides nothing that was installed.
lab gammad start >"$work/gammad.out" 2>&1 || bail "gammad does not start: $(cat "$work/gammad.out")"

# user_job NAME HOST COMMAND...: in the background, by an ordinary user.
user_job() {
	: >"$work/$1.out"
	setsid "$lab_tool" -n "$lab_name" run labuser "$2" "${@:3}" >"$work/$1.out" 2>&1 </dev/null &
	job_pid[$1]=$!
}

user_pingpong() { # OPTION...
	user_job server node01 timeout 120 fi_pingpong -p gamma -e rdm "$@"
	wait_for_port node01 47592 20 || return
	user_job client node02 timeout 120 fi_pingpong -p gamma -e rdm "$@" "$(mgt 1)"
}

pingpong_ends() {
	user_pingpong -c -S all -I 3 && wait_end client && wait_end server && cat "$work/client.out"
}
check "fi_pingpong, by an ordinary user" pingpong_ends
check "gamma-discover --write finds the hosts" on node01 gamma-discover --write --yes --wait 1
check "and writes them down" on node01 grep -q '^node02 ' /etc/gamma.conf
check_lists() { # as a busy machine may differ in speed, the table is what counts
	on node01 gamma-discover --check --wait 1 | tee "$work/table"
	grep -q '^node02 ' "$work/table"
}
check "gamma-discover --check shows both" check_lists
check "mpirun, on two hosts" lab mpirun -np 2 --mca btl gamma,self /lent/mpi_job
check "mpirun, on one host" lab mpirun -np 2 --host node01:2 --mca btl gamma,self /lent/mpi_job
check "gammaping, to the other host" on node01 gammaping -c 3 node02

slurm_starts() {
	lab slurm start && return
	tail -n 5 "/run/gamma-lab/$lab_name"/slurm/{*.log,*/log,*/*.log}
	return 1
}
check "Slurm runs, with gammad's prolog and epilog" slurm_starts
srun_job() { # by another user: the epilog revokes the endpoints that a job's user has
	OMPI_MCA_btl=gamma,self lab run labuser2 1 timeout 120 srun -N2 -n2 --mpi=pmix /lent/mpi_job </dev/null
}
check "srun" srun_job
lab slurm stop >"$work/slurm.out" 2>&1 || not_ok "Slurm stops" "$work/slurm.out"

# ---- upgraded ----

# messages HOST: what its endpoints have sent until now.
messages() {
	on "$1" gamma-stat --json --count 1 --interval 0.2 |
		jq '[.endpoints[].counters.messages_out] | add // 0'
}

more_messages() { # THAN
	[ "$(messages node01)" -gt "$1" ]
}

messages_flow() {
	local before
	before=$(messages node01) && until_true 20 more_messages "$before"
}

# As the service manager does it after an upgrade.
restart_gammad() {
	local pid
	pid=$(cat "/run/gamma-lab/$lab_name/gammad/$1.pid")
	kill "$pid" && tail --pid "$pid" -f /dev/null &&
		lab exec "$1" "$lab_tool" -n "$lab_name" __gammad_host "${1#node0}"
}

upgrade() {
	# shellcheck disable=SC2046 # patterns for the shell
	install_packages $(files /lent/new) &&
		restart_gammad node01 && restart_gammad node02
}

is_upgraded() {
	! dpkg-query -W -f '${Version}\n' "${names[@]}" | grep '~earlier$'
}

user_pingpong -S 64 -I 1000000000
check "a job runs" messages_flow
check "an upgrade at that time" upgrade
check "all packages are upgraded" is_upgraded
check "and the job goes on" messages_flow
stop client
stop server
check "the configuration is kept" grep -qx 'nic eth1 slots 64' /etc/gammad.conf
check "new programs run" pingpong_ends
lab_down

# ---- removed ----

check "traces would be found" eval '! no_traces'
check "a removal" apt-get -q -y -o Dpkg::Use-Pty=0 remove "${names[@]}"
check "keeps the configuration" test -e /etc/gammad.conf
check "a purge" dpkg --purge "${names[@]}"
check "leaves no trace" no_traces

finish
