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
lab_up 2 --ipv6

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
stats "its line" "^root +[0-9]+ gamma-latency +4711 +gam0 +raw +[0-9]+ +0 " --interval 0.1
wrong "two forms" "exclude each other" --json --peer
start client node02 300 "$latency" -p gamma -d gam0 -S 8 -n 100000000 -w 100 "$(data_ip 1)"
moves() { on node01 "$tool" --json --interval 0.3 | jq -e "$mine | .[0].messages_out_per_s > 100"; }
check "messages per second" until_true 20 moves
holds "counters, and the peer" \
	"$mine | .[0].counters | .messages_in > 100 and .frames_in > 100 and .age_ms >= 0"
holds "round trips: percentiles of what was measured" \
	"$mine | .[0].round_trip_us | .p50 > 0 and .p50 <= .p90 and .p90 <= .p99"
holds "the peer: its path, frames and round trip" "$mine | .[0].peer_list | length == 1 and
	(.[0] | .via == \"raw\" and .frames_in > 100 and .mtu == 1500 and .rtt_us >= .rtt_min_us and
	.address == \"$(data_mac 2)\")"
stats "a line for the peer" "gamma-latency +[0-9]+ $(data_mac 2) +[0-9]+ raw +[0-9]" --peer --interval 0.1
# The text that Prometheus reads: every line is a comment or one sample.
prometheus() {
	on node01 "$tool" --prometheus >"$work/metrics"
	grep -Eq '^gamma_messages_in_total\{.*job_id="4711".*\} [1-9]' "$work/metrics" || return
	grep -Eq '^gamma_round_trip_seconds\{.*quantile="0.99"\} 0.0' "$work/metrics" || return
	! grep -Evx '# (HELP|TYPE) gamma_[a-z0-9_]+ .*|gamma_[a-z0-9_]+\{([a-z_]+="[^"]*",?)+\} [0-9.]+' \
		"$work/metrics"
}
check "the text for Prometheus" prometheus
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

# ---- a job's end ----

count_frames
both "a job" 60 fi_pingpong -p gamma -e rdm -I 100 -S 64
stats "its sum, in one line" '^gamma: 2 endpoints, 2[0-9][0-9] messages out, 2[0-9][0-9] in, .* 0 frames resent' \
	--sum "$work/stats"
check "one line" [ "$(wc -l <"$work/stat")" -eq 1 ]
echo '{"endpoint":"cut short","messages_out":7' >>"$work/stats"
stats "a damaged line is not counted" '^gamma: 2 endpoints, .*; 1 lines damaged' --sum "$work/stats"
# The file is a user's: root's epilog must not fill its memory with a line of any length.
truncate -s 100G "$work/stats"
stats "nor is a file without end, which takes no memory" \
	'^gamma: 2 endpoints, .*; 2 lines damaged .*; only the first 64 MiB were read' \
	--sum "$work/stats"
wrong "a folder" "^gamma-stat: --sum /: Is a directory" --sum /
wrong "half a report" "^gamma-stat: --count 1.5: must be a whole number" --count 1.5
wrong "no file" "^gamma-stat: --sum /none: No such file" --sum /none

# ---- over UDP ----

# over LINK ADDRESS WHAT: an endpoint and a peer that exchange messages, until both are stopped.
over() {
	gamma_env+=("FI_GAMMA_LINK=$1")
	start server node01 300 env SLURM_JOB_ID=4711 "$latency" -p gamma -d "gam0-$1" -s
	wait_for_line server ready 20 || not_ok "the server starts" "$work/server.out"
	start client node02 300 "$latency" -p gamma -d "gam0-$1" -S 8 -n 100000000 -w 100 "$2"
	check "$3" until_true 20 moves
}
over udp "$(data_ip 1)" "messages over UDP"
holds "the path is UDP, and peers have IP addresses" "$mine | .[0] | .via == \"udp\" and
	.address == \"$(data_ip 1)\" and .peer_list[0].address == \"$(data_ip 2)\""
stop client
stop server
over udp6 "$(data_ip6 1)" "messages over IPv6"
holds "own and peers' addresses over IPv6" "$mine | .[0] | .via == \"udp\" and
	.address == \"$(data_ip6 1)\" and (.mac | startswith(\"06:\")) and
	.peer_list[0].address == \"$(data_ip6 2)\""
stats "a line for the peer over IPv6" "gamma-latency +[0-9]+ $(data_ip6 2) +[0-9]+ udp +[0-9]" \
	--peer --interval 0.1
stop client
stop server

# ---- gammad's own state, for Prometheus ----

if ! [ -x "$abs_top_builddir/gammad/gammad" ]; then
	echo "gammad is not built: its metrics are left out"
	finish
fi
# Python, since curl may be missing.
ask='import socket, sys
name = sys.argv[1]
if name.startswith("/"):
    reader = socket.socket(socket.AF_UNIX)
    reader.connect(name)
else:
    reader = socket.create_connection(("127.0.0.1", int(name)))
reader.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
while part := reader.recv(65536):
    print(part.decode(), end="")'
metrics_of() { # HOST AT
	on "$1" python3 -c "$ask" "$2"
}
on node01 sh -c 'printf "nic gam0 slots 8\nmetrics 9475\n" >/etc/gammad.conf'
on node02 sh -c 'printf "nic gam0 slots 8\nmetrics socket\n" >/etc/gammad.conf'
check "gammad starts" lab gammad start
for at in "node01 9475" "node02 /run/gammad/metrics"; do
	# shellcheck disable=SC2086 # two words
	metrics_of $at >"$work/metrics" 2>&1 || true
	check "its state at $at" grep -qx 'gammad_nic_slots{nic="gam0"} 8' "$work/metrics"
	check "the NIC is up" grep -qx 'gammad_nic_up{nic="gam0"} 1' "$work/metrics"
done
may_all() { [ "$(on node02 stat -c %a /run/gammad/metrics)" = 666 ]; }
check "any user may read it" may_all
no_metrics() { ! on node02 ss -Hltn | grep -q 9475; }
check "no port where none was asked for" no_metrics
finish
