#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Slurm's jobs over gamma's UDP link, as an ordinary user without any capability, and without gammad:
# srun, sbatch and mpirun on two hosts, and a job whose process is killed. Functions are called through
# check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

need_tool jq munged slurmctld slurmd srun
[ -e "$abs_top_builddir/.libs/mca_btl_gamma.so" ] ||
	skip "the component for Open MPI is not built"
mpicc=$(sed -n 's/^MPICC = //p' "$abs_top_builddir/Makefile")
gamma_setup_env
! sanitized || skip "Open MPI's own code does not run under the sanitizers"
lab_up 2 --offloads
shared=/run/gamma-lab/$lab_name/shared
job=$shared/mpi_job
"$mpicc" -O1 -o "$job" "$top_srcdir/fabtests/functional/mpi_job.c" ||
	bail "mpi_job does not compile"
chmod 755 "$job"
step=(srun -N2 -n4 --ntasks-per-node=2 --mpi=pmix)

as_user() { # COMMAND...: on node01, with gamma chosen
	OMPI_MCA_btl=gamma FI_GAMMA_STATS=$shared/stats lab run labuser 1 "$@" </dev/null
}

all_arrived() { # FILE: all four have exchanged messages, two on each host
	[ "$(sed -n "s/^rank [0-3] of 4 on \(node0[12]\), user $(id -u labuser): all arrived/\1/p" "$1" |
		sort | tr '\n' ' ')" = "node01 node01 node02 node02 " ]
}

job_runs() { # NAME COMMAND...
	rm -f "$shared/stats"
	if as_user "${@:2}" >"$work/job.out" 2>&1 && all_arrived "$work/job.out"; then
		ok "$1"
	else
		not_ok "$1" "$work/job.out"
	fi
	cp "$shared/stats" "$work/stats" || : >"$work/stats"
	counted "$1: by gamma" 'map(select(.messages_out > 0)) | length == 4 and
		all(.retransmissions + .peer_timeouts + .malformed == 0)'
}

no_rights() {
	[ "$(as_user srun -N2 -n2 grep -E 'Cap(Eff|Prm|Amb)' /proc/self/status | tr -d '[:space:]')" = \
		"$(printf 'Cap%s:0000000000000000' Prm Eff Amb Prm Eff Amb)" ]
}
no_gammad() { ! lab exec 1 test -e /run/gammad && ! lab exec 2 test -e /run/gammad; }
over_udp() {
	as_user srun -N2 -n2 fi_info -p gamma >"$work/domains.out" || return 1
	[ "$(awk '$1 == "domain:" { print $2 }' "$work/domains.out" | sort -u | grep -c udp)" -gt 0 ] &&
		! awk '$1 == "domain:" { print $2 }' "$work/domains.out" | grep -v udp
}

lab_pid() { cat "/run/gamma-lab/$lab_name/node0$1/pid"; }
killed_rank_ends_the_job() {
	local waiter status=0
	as_user "${step[@]}" "$job" wait >"$work/job.out" 2>&1 &
	waiter=$!
	until_true 60 all_arrived "$work/job.out" || return 1
	kill -9 "$(pgrep -n -u labuser -f "$job wait" --ns "$(lab_pid 2)" --nslist net)"
	wait "$waiter" || status=$?
	[ "$status" -ne 0 ]
}

check "Slurm starts" lab slurm start
check "jobs have no capability" no_rights
check "no host has gammad" no_gammad
check "what they are offered is over UDP" over_udp
job_runs "srun" "${step[@]}" "$job"
job_runs "salloc with mpirun" salloc -N2 -n4 --ntasks-per-node=2 mpirun "$job"
check "a killed process ends its job" killed_rank_ends_the_job
job_runs "after that" "${step[@]}" "$job"
check "Slurm stops" lab slurm stop
finish
