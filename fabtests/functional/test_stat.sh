#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# gamma-stat in a virtual cluster: it shows the endpoints of a host with their counters, to root all
# of them, to users their own, and nothing of those that have ended. Started by `make check`; by hand
# abs_top_builddir names the build folder, if it is not the current one.
# Functions are called through check; what stands in single quotes is jq's:
# shellcheck disable=SC2016,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

tool=$abs_top_builddir/tools/gamma-stat
latency=$abs_top_builddir/fabtests/benchmarks/gamma-latency
need_tool jq setpriv
[ -x "$tool" ] || bail "tools/gamma-stat is not built under $abs_top_builddir"
lab_up 2

# stat TEXT PATTERN ARGUMENT...: on node01; a line matches.
stats() {
	local text=$1 pattern=$2 status=0
	shift 2
	on node01 timeout -k 2 60 "$tool" "$@" >"$work/stat" 2>&1 </dev/null || status=$?
	if [ "$status" -eq 0 ] && grep -Eq -- "$pattern" "$work/stat"; then
		ok "$text"
	else
		not_ok "$text (exit $status, wanted $pattern)" "$work/stat"
	fi
}

# holds TEXT CONDITION: of its report in JSON.
holds() {
	on node01 timeout -k 2 60 "$tool" --json --interval 0.2 >"$work/stat" || true
	if jq -e "$2" "$work/stat" >/dev/null; then ok "$1"; else not_ok "$1" "$work/stat"; fi
}

wrong() { # TEXT PATTERN ARGUMENT...
	check_fails "$1" "$2" "$tool" "${@:3}"
}
wrong "a bad interval" "^gamma-stat: --interval 0: must be a number from 0.1" --interval 0
wrong "a word too many" "^gamma-stat: 'more' is one word too many" more

# Endpoints of this test's programs alone: /proc shows those of the whole machine.
mine='[.endpoints[] | select(.job == "4711" and .nic == "gam0")]'

start server node01 300 env SLURM_JOB_ID=4711 "$latency" -p gamma -d gam0 -s
wait_for_line server ready 20 || not_ok "the server starts" "$work/server.out"
holds "an endpoint without traffic" "$mine | length == 1 and .[0].messages_out_per_s == 0"
stats "its line" "^root +[0-9]+ gamma-latency +4711 +gam0 +[0-9]+ +0 " --interval 0.1
start client node02 300 "$latency" -p gamma -d gam0 -S 8 -n 100000000 -w 100 "$(data_ip 1)"
moves() { on node01 "$tool" --json --interval 0.3 | jq -e "$mine | .[0].messages_out_per_s > 100"; }
check "messages per second" until_true 20 moves
holds "counters, and the peer" \
	"$mine | .[0].counters | .messages_in > 100 and .frames_in > 100 and .age_ms >= 0"
stats "two reports" '^USER ' --count 2 --interval 0.1
check "both" [ "$(grep -c '^USER ' "$work/stat")" -eq 2 ]

# Of other users nothing is shown.
as_user() {
	on node01 setpriv --reuid 65534 --regid 65534 --clear-groups "$tool" --json --interval 0.1 |
		jq -e "$mine | length == 0"
}
check "another user does not see it" as_user
cannot_open() {
	! on node01 setpriv --reuid 65534 --regid 65534 --clear-groups ls "/proc/$(pid_of server)/fd"
}
check "the page cannot be opened by others" cannot_open

# A stopped process shows its last counters; a killed one is gone.
signal server STOP
holds "a stopped process" "$mine | length == 1 and .[0].messages_out_per_s == 0"
signal server CONT
signal server KILL
stop client
wait_end server || true
holds "nothing is left of one that was killed" "$mine | length == 0"
finish
