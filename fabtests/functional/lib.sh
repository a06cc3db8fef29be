# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
#
# What the functional tests share: a virtual cluster of their own, servers and clients with
# time limits, counted checks, and a clean end. Sourced by fabtests/functional/*.sh, which
# `make check` starts with top_srcdir and abs_top_builddir in the environment.
#
#	. "${top_srcdir:-.}/fabtests/functional/lib.sh"
#	lab_up 2 --mtu 9000			# skips (77) where no cluster can be made
#	check "provider listed" on node01 fi_info -p gamma
#	if pair -p 47592 20 fi_pingpong -p gamma -- fi_pingpong -p gamma "$(mgt 1)"; then
#		ok "ping-pong"
#	else
#		not_ok "ping-pong" "$work/server.out" "$work/client.out"
#	fi
#	finish
#
# Exit status of a test: 0 all checks passed, 1 one failed, 77 skipped.
set -euo pipefail

: "${top_srcdir:=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}"
top_srcdir=$(cd "$top_srcdir" && pwd)
: "${abs_top_builddir:=$PWD}"

# pyenv's python3 is a script that looks for the true one at each start, for a tenth of a second.
if [ "$(head -c 2 "$(type -P python3 || echo /dev/null)" | tr -d '\0')" = '#!' ]; then
	PATH=$(dirname "$(python3 -c 'import sys; print(sys.executable)')"):$PATH
fi

lab_tool=$top_srcdir/lab/lab
export GAMMA_BUILD=$abs_top_builddir # where lab/lab finds its programs
lab_name=
work=
passed=0
failures=() # texts of the failed checks
declare -A job_pid=()

# ---- result ----

ok() {
	passed=$((passed + 1))
	echo "ok: $1"
}

# not_ok TEXT [FILE...]: counts a failure and shows the end of each file.
not_ok() {
	failures+=("$1")
	echo "NOT OK: $1"
	local file
	for file in "${@:2}"; do
		[ -s "$file" ] || continue
		echo "    ---- end of $(basename "$file")"
		tail -n 20 "$file" | sed 's/^/    /'
	done
}

# check TEXT COMMAND...: passes if the command does.
check() {
	local text=$1
	shift
	if "$@" >"$work/check.out" 2>&1; then
		ok "$text"
	else
		not_ok "$text (exit $?: $*)" "$work/check.out"
	fi
}

# check_fails TEXT PATTERN COMMAND...: passes if the command fails and says PATTERN.
check_fails() {
	local text=$1 pattern=$2
	shift 2
	if "$@" >"$work/check.out" 2>&1; then
		not_ok "$text (succeeded: $*)" "$work/check.out"
	elif grep -Eq -- "$pattern" "$work/check.out"; then
		ok "$text"
	else
		not_ok "$text (no line matches $pattern)" "$work/check.out"
	fi
}

# Repeats the names of the failed checks: of a long log only the end is shown.
finish() {
	local text
	for text in "${failures[@]}"; do echo "FAILED: $text"; done
	echo "$passed passed, ${#failures[@]} failed"
	[ ${#failures[@]} -eq 0 ] && [ "$passed" -gt 0 ]
	exit
}

skip() {
	echo "SKIP: $1"
	exit 77
}

# Ends the test at once: nothing that follows would make sense.
bail() {
	echo "FAILED: $1"
	exit 1
}

# The tests that take minutes run only when asked for.
need_long() {
	[ "${GAMMA_TEST_LONG:-0}" = 1 ] || skip "takes minutes: ./quickstart test --all runs it (GAMMA_TEST_LONG=1)"
}

need_tool() {
	local tool
	for tool in "$@"; do
		command -v "$tool" >/dev/null || skip "$tool is not installed"
	done
}

# ---- begin and end ----

cleanup() {
	local status=$? name
	trap - EXIT
	set +e
	for name in "${!job_pid[@]}"; do
		stop "$name"
	done
	[ -z "$lab_name" ] || "$lab_tool" -n "$lab_name" down >/dev/null 2>&1
	[ -z "$work" ] || rm -rf "$work"
	exit "$status"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# In the build folder, which every host of the lab sees (their /tmp is their own).
work=$(mktemp -d "$abs_top_builddir/test.XXXXXX")

# ---- the provider under test ----

# Filled once: environment in which a program finds the provider of this build.
gamma_env=()

gamma_setup_env() {
	local dir found=
	for dir in "$abs_top_builddir/prov/gamma/.libs" "$abs_top_builddir/.libs"; do
		if [ -e "$dir/libgamma-fi.so" ]; then
			found=$dir
			break
		fi
	done
	[ -n "$found" ] || bail "libgamma-fi.so is not built under $abs_top_builddir"
	gamma_env=("FI_PROVIDER_PATH=$found")
	# A library built with the address sanitizer needs its runtime loaded first.
	if grep -q __asan_init "$found/libgamma-fi.so"; then
		gamma_env+=("LD_PRELOAD=$(${CC:-gcc} -print-file-name=libasan.so)"
			"ASAN_OPTIONS=detect_leaks=0")
	elif grep -q __tsan_init "$found/libgamma-fi.so"; then
		# A race ends the process: a test fails. Handlers of signals that call exit, as
		# libraries install them, are tested on purpose.
		local options=halt_on_error=1:die_after_fork=0:report_signal_unsafe=0
		options+=:suppressions=$top_srcdir/fabtests/functional/tsan.supp
		gamma_env+=("LD_PRELOAD=$(${CC:-gcc} -print-file-name=libtsan.so)"
			"TSAN_OPTIONS=$options")
	fi
}

# Whether gamma is built with a sanitizer; after gamma_setup_env.
sanitized() {
	[[ ${gamma_env[*]} == *SAN_OPTIONS* ]]
}

# ---- the virtual cluster ----

# lab_up HOSTS [OPTION...]: options of lab/lab up. Tests start thousands of libfabric's programs.
lab_up() {
	[ "${GAMMA_TEST_LAB:-1}" = 1 ] || skip "the lab's tests are switched off (GAMMA_TEST_LAB)"
	[ "$(id -u)" -eq 0 ] || skip "needs root: it makes network namespaces"
	unshare --mount --net --uts --ipc true 2>/dev/null ||
		skip "this kernel or container allows no namespaces"
	[ -n "${gamma_env[*]}" ] || gamma_setup_env
	lab_name=t$$
	"$lab_tool" -n "$lab_name" up --quick-start "$@" >"$work/lab.out" 2>&1 || {
		cat "$work/lab.out"
		bail "lab up $*"
	}
}

# Another cluster in the same test: the present one goes first.
lab_down() {
	"$lab_tool" -n "$lab_name" down >"$work/lab.out" 2>&1 || not_ok "lab down" "$work/lab.out"
	lab_name=
}

lab() {
	"$lab_tool" -n "$lab_name" "$@"
}

# on HOST COMMAND...: runs as root there, pinned to the host's core.
on() {
	local host=$1
	shift
	lab exec "$host" env "${gamma_env[@]}" "$@"
}

# Addresses of host number $1: management IPv4, data IPv4, data IPv6 (lab_up --ipv6), data MAC.
mgt() { echo "10.77.0.$1"; }
data_ip() { echo "10.78.0.$1"; }
data_ip6() { echo "fd00:78::$1"; }
data_mac() { printf '02:47:41:4d:00:%02x\n' "$1"; }

# ---- servers and clients ----

# Opening or closing a packet socket waits for the kernel (an RCU grace period): some 20 ms, but on
# a busy machine up to three quarters of the kernel's stall time-out, most of a minute
# (doc/experiments.md). Limits allow for two of these.
stall_s=100

# start NAME HOST SECONDS COMMAND...: in the background, ended after SECONDS and the above at the
# latest; output in $work/NAME.out. Its own process group, so that stop ends all of it.
start() {
	local name=$1 host=$2 seconds=$3
	shift 3
	# Emptied here already: what a job of that name wrote before is not this one's.
	: >"$work/$name.out"
	setsid "$lab_tool" -n "$lab_name" exec "$host" env "${gamma_env[@]}" \
		timeout --foreground -k 2 $((seconds + stall_s)) "$@" >"$work/$name.out" 2>&1 </dev/null &
	job_pid[$name]=$!
}

# wait_end NAME: the job's exit status (124: its time was over).
wait_end() {
	local status=0
	wait "${job_pid[$1]}" || status=$?
	unset "job_pid[$1]"
	return "$status"
}

stop() {
	local pid=${job_pid[$1]:-}
	[ -n "$pid" ] || return 0
	kill -TERM -- "-$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
	unset "job_pid[$1]"
}

# signal NAME SIGNAL: to all of the job's processes.
signal() {
	kill -"$2" -- "-${job_pid[$1]}"
}

# pid_of NAME: the program that the job runs, which is the child of its timeout.
pid_of() {
	pgrep -P "${job_pid[$1]}"
}

# until_true SECONDS COMMAND...: tries every 50 ms, for SECONDS and the above.
until_true() {
	local end=$((SECONDS + $1 + stall_s))
	shift
	until "$@"; do
		[ "$SECONDS" -le "$end" ] || return 1
		sleep 0.05
	done
}

# wait_for_line NAME PATTERN SECONDS: until the job has written a line that matches.
wait_for_line() {
	until_true "$3" grep -Eqs -- "$2" "$work/$1.out"
}

port_listens() {
	lab exec "$1" ss -Hltn "sport = :$2" 2>/dev/null | grep -q .
}

# wait_for_port HOST PORT SECONDS: until something there listens on the TCP port.
wait_for_port() {
	until_true "$3" port_listens "$1" "$2"
}

# wait_for_endpoint HOST: until a program there has one.
wait_for_endpoint() {
	until_true 5 lab exec "$1" grep -q '@gamma/' /proc/net/unix
}

client_host=node02 # node01: both programs of a pair on one host

# pair [-p TCP-PORT | -l PATTERN] SECONDS SERVER... -- CLIENT...
# The server on node01, and once it listens (or has written a line) the client on $client_host.
# True if both end well in time; output in $work/server.out and $work/client.out.
pair() {
	local port='' line='' seconds status=0 server=()
	case $1 in
	-p)
		port=$2
		shift 2
		;;
	-l)
		line=$2
		shift 2
		;;
	esac
	seconds=$1
	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	: >"$work/client.out"
	start server node01 "$seconds" "${server[@]}"
	if [ -n "$port" ] && ! wait_for_port node01 "$port" 5; then
		echo "the server does not listen on TCP port $port" >"$work/client.out"
		status=1
	elif [ -n "$line" ] && ! wait_for_line server "$line" 5; then
		echo "the server did not write $line" >"$work/client.out"
		status=1
	else
		start client "$client_host" "$seconds" "$@"
		wait_end client || status=$?
	fi
	# A failed client leaves a server that would wait for its time limit.
	if [ "$status" -ne 0 ]; then
		stop server
		return 1
	fi
	wait_end server
}

# both NAME SECONDS COMMAND...: as a check, COMMAND as the server and, with node01's management
# address behind it, as the client; it exchanges addresses as fi_pingpong does. The counters of
# the endpoints are then those of this run.
both() {
	local name=$1 seconds=$2
	shift 2
	rm -f "$work/stats"
	if pair -p 47592 "$seconds" "$@" -- "$@" "$(mgt 1)"; then
		ok "$name"
	else
		not_ok "$name" "$work/server.out" "$work/client.out"
	fi
}

# ---- what the endpoints counted ----

# Counters that stay 0 on a network that loses nothing.
trouble='.retransmissions + .duplicates + .ring_drops + .malformed + .stray + .resets_out +
	.peer_timeouts'

# From here on they write their counters when they close (FI_GAMMA_STATS).
count_frames() {
	gamma_env+=("FI_GAMMA_STATS=$work/stats")
}

# counted NAME CONDITION [JQ-OPTION...]: CONDITION, in jq's language, on the array of what each
# endpoint of the last run counted, such as 'all(.retransmissions == 0)'. Where it does not hold,
# those with trouble come last: of many endpoints people are shown the end.
counted() {
	local name=$1 condition=$2
	shift 2
	if jq -es "$@" "length > 0 and ($condition)" "$work/stats" >"$work/check.out" 2>&1; then
		ok "$name"
		return
	fi
	jq -cs "sort_by($trouble)[] | with_entries(select(.value != 0))" "$work/stats" \
		>>"$work/check.out" 2>&1 || true
	not_ok "$name ($condition)" "$work/check.out"
}

# On a network that loses nothing nothing is sent twice, refused or unknown.
counted_clean() {
	counted "$1: no frame lost, repeated or refused" "all($trouble == 0)"
}

# ---- libraries of other versions ----

# ensure_wheel NAME VERSION: prints the folder of the unpacked Python wheel, fetched on the
# first call; returns 77 where it cannot be had. Use it as
#	dir=$(ensure_wheel mpich 5.0.2) || skip "mpich 5.0.2 cannot be fetched"
ensure_wheel() {
	local root=${GAMMA_WHEELS:-$abs_top_builddir/wheels} dir
	dir=$root/$1-$2
	if [ ! -e "$dir/.complete" ]; then
		mkdir -p "$dir"
		python3 -m pip download --quiet --no-deps --only-binary=:all: \
			--disable-pip-version-check --timeout 20 --retries 1 \
			--dest "$dir" "$1==$2" >&2 </dev/null || return 77
		python3 - "$dir" <<-'PYTHON' >&2 || return 77
			import glob, sys, zipfile
			for wheel in glob.glob(sys.argv[1] + "/*.whl"):
			    zipfile.ZipFile(wheel).extractall(sys.argv[1])
		PYTHON
		rm -f "$dir"/*.whl
		: >"$dir/.complete"
	fi
	echo "$dir"
}
