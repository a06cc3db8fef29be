#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Four receivers on one host share the budget of their NIC, survive the kill of any of them, and
# leave nothing behind. Most functions are called through check and until_true.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2317
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"

need_tool python3 pgrep
first_port=7910
receivers=(1 2 3 4)

# The group's sockets on node01: those that listen (flags 00010000), and those not accepted yet.
group() {
	lab exec node01 cat /proc/net/unix | grep '@gamma/.*/share/' || true
}

# Neither a name nor a file.
nothing_left() {
	[ -z "$(group)" ] && [ -z "$(lab exec node01 ls -A /dev/shm)" ]
}

leads_one() {
	[ "$(group | grep -c " 00010000 ")" -eq 1 ]
}

# The pids that have lately written to the page that process $1 maps.
active() {
	python3 - "$1" <<-'PYTHON'
		import glob, os, struct, sys, time
		for fd in glob.glob(f"/proc/{sys.argv[1]}/fd/*"):
		    if "/memfd:gamma-nic-" in os.readlink(fd):
		        page = open(fd, "rb").read()
		now = time.monotonic_ns()
		pids = {pid for _, stamp, _, pid, _ in struct.iter_unpack("<QQIIQ", page[32:])
		        if abs(now - stamp) < 1e9}
		print(*sorted(pids))
	PYTHON
}

# All of the receivers named see all of them, and nobody else.
see_each_other() { # NUMBER...
	local number wanted
	wanted=$(for number in "$@"; do pid_of "server$number"; done | sort -n | xargs)
	for number in "$@"; do
		[ "$(active "$(pid_of "server$number")")" = "$wanted" ] || return 1
	done
}

# Ping-pong until the test kills it. Ten programs poll: what looks at them goes first.
start_pair() { # NUMBER
	local port=$((first_port + $1))
	start "server$1" node01 60 nice -n 10 "$api" $port exchange
	wait_for_port node01 $port 5 || bail "server $1 does not listen"
	start "client$1" node02 60 nice -n 10 "$api" -c "$(mgt 1)" $port exchange
	wait_for_line "server$1" "^ready" 5 || bail "server $1 has no peer"
}

lab_up 2
for number in "${receivers[@]}"; do
	start_pair "$number"
done
check "one of four leads" leads_one
check "four receivers see each other" until_true 5 see_each_other "${receivers[@]}"

kill -KILL "$(pid_of server1)"
check "another leads when the leader has been killed" until_true 5 leads_one
check "the others still see each other" until_true 5 see_each_other 2 3 4

start_pair 5
check "so does a newcomer" until_true 5 see_each_other 2 3 4 5

for number in 2 3 4 5; do
	kill -KILL "$(pid_of "server$number")"
done
check "nothing is left" until_true 5 nothing_left
finish
