#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Slurm's jobs over gamma, in a virtual cluster with Debian's Slurm and gammad: srun, sbatch and
# salloc as an ordinary user without any capability; two users at once; and that a job leaves
# nothing on any host however it ends: by itself, by scancel, by a killed process or a dead host;
# with GAMMA_TEST_LONG=1 by its time limit, a pulled cable too, and all by each way of starting a job.
# Functions are called through check:
# shellcheck disable=SC2016,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

need_tool jq munged slurmctld slurmd srun
[ -x "$abs_top_builddir/gammad/gammad" ] || skip "gammad is not built: it needs clang and libbpf"
[ -e "$abs_top_builddir/.libs/mca_btl_gamma.so" ] ||
	skip "the component for Open MPI is not built"
mpicc=$(sed -n 's/^MPICC = //p' "$abs_top_builddir/Makefile")
gamma_setup_env
! sanitized || skip "Open MPI's own code does not run under the sanitizers"

hosts=2
long=${GAMMA_TEST_LONG:-0}
beside=t$$-beside # a second lab
trap 'status=$?; set +e; "$lab_tool" -n "$beside" down >/dev/null; (exit $status); cleanup' EXIT

# as_user COMMAND...: on node01, with gamma chosen.
as_user() {
	OMPI_MCA_btl=gamma FI_GAMMA_STATS=$shared/stats lab run labuser 1 "$@" </dev/null
}

as_other() {
	OMPI_MCA_btl=gamma FI_GAMMA_STATS=$shared/stats-other lab run labuser2 1 "$@" </dev/null
}

gammactl() { # HOST COMMAND
	lab exec "$1" "$abs_top_builddir/gammad/gammactl" "$2"
}

step=(srun -N2 -n4 --ntasks-per-node=2 --mpi=pmix)

# ---- what a job may leave ----

# What the processes in host $1 keep: themselves, but for Slurm's daemons and the one that holds the
# host, and the provider's shared memory.
kept_by_processes() {
	local entry process
	for entry in /proc/[0-9]*/ns/net; do
		[ "$entry" -ef "/run/netns/gl-$lab_name-n0$1" ] || continue
		process=${entry%/ns/net}
		case $(cat "$process/comm" 2>/dev/null) in
		munged | slurmctld | slurmscriptd | slurmd | sleep | '') ;;
		*) echo "process ${process#/proc/}: $(tr '\0' ' ' 2>/dev/null <"$process/cmdline")" ;;
		esac
		find "$process/fd" -lname '/memfd:gamma*' -printf '%p: %l\n' 2>/dev/null || true
	done
}

# What is left in host $1: processes, shared memory, endpoints of gammad's, packet sockets but for
# its two (by which it hears and answers questions), the provider's Unix sockets.
left_on() {
	kept_by_processes "$1"
	gammactl "$1" list | grep '^gam0'
	lab exec "$1" sh -c 'ls -A /dev/shm; tail -n +4 /proc/net/packet; grep @gamma /proc/net/unix'
}

nothing_is_left() {
	local i
	: >"$work/left"
	[ ! -e "/run/gamma-lab/$lab_name/slurm/environment" ] ||
		as_user squeue -h >"$work/left" || return 1
	for ((i = 1; i <= hosts; i++)); do left_on "$i" >>"$work/left" || true; done
	! grep -q . "$work/left"
}

leaves_nothing() {
	until_true "$stall_s" nothing_is_left && ok "$1: nothing is left on any host" && return
	not_ok "$1: something is left" "$work/left"
}

# ---- jobs that end by themselves ----

# all_arrived FILE [USER]: all four have exchanged messages, two on each host, as the user.
all_arrived() {
	local user
	cat "$1"
	user=$(id -u "${2:-labuser}")
	[ "$(sed -n "s/^rank [0-3] of 4 on \(node0[12]\), user $user: all arrived/\1/p" "$1" |
		sort | tr '\n' ' ')" = "node01 node01 node02 node02 " ]
}

# job_runs NAME COMMAND...: the command runs mpi_job, and its output shows it.
job_runs() {
	local name=$1
	shift
	rm -f "$shared/stats" "$shared/job.out"
	if "$@" >"$work/job.out" 2>&1 && all_arrived "$work/job.out" >/dev/null; then
		ok "$name"
	else
		not_ok "$name" "$work/job.out"
	fi
	cp "$shared/stats" "$work/stats" || : >"$work/stats"
	counted "$name: by gamma" 'map(select(.messages_out > 0)) | length == 4 and
		all(.retransmissions + .peer_timeouts + .malformed == 0)'
	leaves_nothing "$name"
}

# has_state STATE JOB
has_state() { as_user scontrol show job "$2" | grep -q "JobState=$1 "; }

batch() {
	local id
	printf '#!/bin/sh\n%s\n' "$*" >"$shared/batch.sh"
	id=$(as_user sbatch --parsable -N2 -n4 --ntasks-per-node=2 -o "$shared/job.out" \
		"$shared/batch.sh") &&
		until_true "$stall_s" has_state COMPLETED "$id" || return 1
	cat "$shared/job.out"
}

# ---- jobs that are ended ----

# waiting_job COMMAND...: starts it in the background as the user, and returns when all its
# processes only wait.
waiting_job() {
	: >"$work/job.out"
	as_user "$@" "$job" wait >"$work/job.out" 2>&1 &
	waiter=$!
	until_true 60 all_arrived "$work/job.out" >/dev/null
}

# However the job ended, the command that started it ends; and with success only if it
# was asked to end: PRRTE's mpirun calls that a success.
job_ends() {
	local status=0
	until_true "$stall_s" eval '! kill -0 $waiter 2>/dev/null' || return 1
	wait "$waiter" || status=$?
	cat "$work/job.out"
	echo "its end: $status"
	[ "$status" -ne 0 ] || [ "${1:-}" = cancel ]
}

# ended_by NAME HOW COMMAND...: HOW ends the job that COMMAND begins.
ended_by() {
	local name=$1 how=$2
	shift 2
	if waiting_job "$@" && $how && job_ends "$how" >"$work/end.out"; then
		ok "$name"
	else
		not_ok "$name" "$work/job.out" "$work/end.out"
	fi
}

cancel() { as_user scancel --user=labuser; }

# The newest process of the job on node02.
kill_one() { kill -9 "$(pgrep -n -u labuser -f "$job wait" --ns "$(lab_pid 2)" --nslist net)"; }
lab_pid() { cat "/run/gamma-lab/$lab_name/node0$1/pid"; }
pull() { lab cable node02 pull; }

# What is left of a host that fails: all of Slurm's and the job's processes are gone at once.
kill_host() {
	# shellcheck disable=SC2046
	kill -9 $(pgrep --ns "$(lab_pid 2)" --nslist net 'slurmd|slurmstepd|mpi_job')
}

# Only now Slurm knows that nothing runs there any more.
host_returns() {
	lab exec 2 slurmd -N node02
	until_true 60 eval '[ "$(as_user sinfo -h -o "%T %D")" = "idle 2" ]'
}

# Minutes are what Slurm counts in.
time_is_over() { until_true 180 grep -q 'DUE TO TIME LIMIT' "$work/job.out"; }

# ---- the provider alone ----

# bare COMMAND...: it starts the benchmark, which finds its peers through PMIx and measures all. On a
# busy machine a message of 0 bytes may take longer than any other: bandwidths may have any value.
bare() {
	rm -f "$shared/stats"
	as_user "$@" "$shared/gamma-pmix" --json --count 20 --largest 65536 >"$work/bare.out" &&
		cp "$shared/stats" "$work/stats" && cat "$work/bare.out" &&
		jq -es 'length == 1 and all(.ranks == [0, 1] and (.hosts | sort) == ["node01", "node02"]
			and ([.asymptotic_MBps, .transmission_MBps] | all(type == "number"))
			and (.sizes | length == 18 and all(.delay_us > 0)))' "$work/bare.out"
}

# libgamma COMMAND...: it starts the program of the original's calls on both hosts.
libgamma() {
	rm -f "$shared/stats"
	as_user env "LD_LIBRARY_PATH=$shared" "$@" "$shared/gamma-libgamma" >"$work/libgamma.out" 2>&1 &&
		cp "$shared/stats" "$work/stats"
	cat "$work/libgamma.out"
	[ "$(grep -c 'all is well' "$work/libgamma.out")" -eq 4 ]
}

# A rank with neither gammad nor a capability reports it, and ends the job.
without_gammad() {
	FI_GAMMA_LINK=packet FI_GAMMA_BROKER=/nonexistent as_user srun -N2 -n2 --mpi=pmix "$shared/gamma-pmix"
}

# ---- users ----

no_capability() {
	[ "$(as_user srun -N2 -n2 grep -E 'Cap(Eff|Prm|Amb)' /proc/self/status | tr -d '[:space:]')" = \
		"$(printf 'Cap%s:0000000000000000' Prm Eff Amb Prm Eff Amb)" ]
}

# One user's job only waits; another's runs to its end on the same hosts.
beside_each_other() {
	waiting_job "${step[@]}" && as_other "${step[@]}" "$job" >"$work/other.out" 2>&1 &&
		all_arrived "$work/other.out" labuser2 && kill -0 "$waiter"
}

# Of that job's processes, by number and by port, the other user gets nothing.
kept_apart() {
	local process port status=0
	process=$(pgrep -n -u labuser -f "$job wait" --ns "$(lab_pid 2)" --nslist net)
	port=$(gammactl 2 list | awk -v uid="$(id -u labuser)" '/^gam0/ && $4 == uid { print $3; exit }')
	! as_other srun -w node02 -n1 kill -0 "$process" &&
		! as_other srun -w node02 -n1 ls "/proc/$process/fd" || return 1
	FI_LOG_LEVEL=warn as_other srun -w node01 -n1 "$shared/gamma-latency" -p gamma -P "$port" \
		-n 1 -w 1 node02 >"$work/apart.out" 2>&1 &
	until_true 10 grep -q "port $port .* belongs to another user" "$work/apart.out" || status=1
	as_other scancel --user=labuser2
	wait $! || true
	cat "$work/apart.out"
	return "$status"
}

first_ends() { cancel && job_ends cancel; }

# A process that gets away from its job keeps its endpoint.
gets_away() {
	mkfifo "$shared/commands" && chmod 666 "$shared/commands" && exec 7<>"$shared/commands" || return 1
	as_user srun -w node01 -n1 setsid -f sh -c "exec '$shared/gamma-hostile' hold \
		$(data_mac 1) $(data_mac 2) <'$shared/commands' >'$shared/away.out' 2>&1" &&
		until_true 10 grep -qx held "$shared/away.out" && until_true 30 ended_but 1
}

ended_but() { [ "$(as_user squeue -h | wc -l)" -eq "$1" ]; }
revoked() { gammactl 1 list | grep -q 'revoked$'; }
not_revoked() { ! revoked; }
comes_back() { echo >&7 && until_true 10 grep -qx sent "$shared/away.out" && exec 7>&-; }

# ---- Slurm itself ----

# A PATH without munged.
names_what_is_missing() {
	mkdir "$work/sbin"
	cp -s /usr/sbin/* "$work/sbin/"
	rm "$work/sbin/munged"
	PATH=$work/sbin:/usr/bin lab slurm start
}

starts_beside() {
	local status=0
	"$lab_tool" -n "$beside" up 1 && "$lab_tool" -n "$beside" slurm start &&
		[ "$("$lab_tool" -n "$beside" run labuser 1 srun -n1 sh -c \
			'. /etc/slurm/slurm.conf 2>/dev/null; echo "$ClusterName"')" = "$beside" ] || status=1
	"$lab_tool" -n "$beside" down && return "$status"
}

# Daemons and jobs alike.
stops() {
	waiting_job "${step[@]}" && lab slurm stop && job_ends &&
		! pgrep --ns "$(lab_pid 1)" --nslist net 'munged|slurm'
}

lab_up "$hosts" --gammad
shared=/run/gamma-lab/$lab_name/shared
job=$shared/mpi_job
"$mpicc" -O1 -o "$job" "$top_srcdir/fabtests/functional/mpi_job.c" ||
	bail "mpi_job does not compile"
chmod 755 "$job"
cd "$top_srcdir" || exit

check_fails "a missing package is named" 'apt-get install munge$' names_what_is_missing
check "Slurm starts" lab slurm start
check "jobs have no capability" no_capability
job_runs "srun" as_user "${step[@]}" "$job"
job_runs "sbatch with srun" batch srun --mpi=pmix "$job"
[ "$long" -eq 0 ] || job_runs "sbatch with mpirun" batch mpirun "$job"
job_runs "salloc with mpirun" as_user salloc -N2 -n4 --ntasks-per-node=2 mpirun "$job"

# The task prolog names the file of the counters, and each node's epilog writes a line of them.
without_stats() {
	OMPI_MCA_btl=gamma lab run labuser 1 "${step[@]}" "$job" </dev/null
}
has_job_line() {
	lab exec "$1" grep -Eq '^job [0-9]+ of user [0-9]+: gamma: 2 endpoints, [1-9][0-9]* messages out' \
		/run/lab/jobs.log
}
check "a job whose counters were not asked for" without_stats
check "at its end the epilog writes a line" until_true 30 has_job_line node01
check "on each node" until_true 30 has_job_line node02
check "users write to a file system of its own, not to /run" lab exec node01 sh -c \
	'findmnt -n -o SIZE /run/gamma-jobs | grep -qx " *64M" && [ "$(findmnt -n /run/gamma-jobs | wc -l)" -eq 1 ]'

if [ -x "$abs_top_builddir/fabtests/benchmarks/gamma-pmix" ]; then
	install -m 755 "$abs_top_builddir/fabtests/benchmarks/gamma-pmix" "$shared"
	check "srun gamma-pmix" bare srun -N2 -n2 --mpi=pmix
	counted "srun gamma-pmix: by gamma" 'length == 2 and all(.messages_out > 18 * 20)'
	[ "$long" -eq 0 ] || check "mpirun gamma-pmix" bare salloc -N2 -n2 --ntasks-per-node=1 mpirun
	install -m 755 "$abs_top_builddir/fabtests/functional/.libs/gamma-libgamma" "$shared"
	cp -L "$abs_top_builddir/.libs/libgamma.so.0" "$shared"
	check "srun a program of libgamma" libgamma "${step[@]}"
	counted "srun a program of libgamma: by its ports" \
		'map(select(.type == "rdm")) | length == 4 and all(.ports_in > 100)'
	[ "$long" -eq 0 ] || check "mpirun a program of libgamma" libgamma salloc -N2 -n4 --ntasks-per-node=2 mpirun
	check_fails "gamma-pmix without gammad" 'no CAP_NET_RAW' without_gammad
	leaves_nothing "gamma-pmix"
fi

job_runs "srun, not by gammad but with the capability" as_user "${step[@]}" /run/lab/raw "$job"
install -m 755 "$abs_top_builddir"/fabtests/{benchmarks/gamma-latency,functional/gamma-hostile} "$shared"
rm -f "$shared/stats-other"
check "jobs of two users at once" beside_each_other
check "who see nothing of each other" kept_apart
check "a process gets away from its job" gets_away
check "while another job of its user runs, it keeps its endpoint" not_revoked
check "the first user's job ends" first_ends
check "with the user's last job the epilog revokes what is left" until_true 30 revoked
check "the process ends" comes_back
cp "$shared/stats-other" "$work/stats"
counted "the other user's job is undisturbed" 'length == 4 and
	all(.retransmissions + .peer_timeouts + .malformed == 0)'
leaves_nothing "two users at once"

ended_by "scancel of srun" cancel "${step[@]}"
leaves_nothing "scancel of srun"
ended_by "a killed process" kill_one "${step[@]}"
leaves_nothing "a killed process"
if [ "$long" -eq 1 ]; then
	ended_by "scancel of salloc" cancel salloc -N2 -n4 --ntasks-per-node=2 mpirun
	leaves_nothing "scancel of salloc"
	ended_by "the time limit" time_is_over "${step[@]}" --time=1
	leaves_nothing "the time limit"
fi
# From here on a dead peer is noticed in seconds, not minutes.
export OMPI_MCA_btl_gamma_keepalive=1 OMPI_MCA_btl_gamma_peer_timeout=5
if [ "$long" -eq 1 ]; then
	ended_by "a pulled cable" pull "${step[@]}"
	lab cable node02 plug
	leaves_nothing "a pulled cable"
fi
ended_by "a host that fails" kill_host "${step[@]}"
unset OMPI_MCA_btl_gamma_keepalive OMPI_MCA_btl_gamma_peer_timeout
check "it comes back" host_returns
leaves_nothing "a host that fails"
job_runs "after all that" as_user "${step[@]}" "$job"
check "a second Slurm beside this one" starts_beside
check "Slurm stops, and its jobs" stops
leaves_nothing "Slurm's end"

finish
