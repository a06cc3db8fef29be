#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Memory stays as it is over a million messages, across hosts and on one, and (in the long run) over
# a thousand endpoints that come and go; processes that are killed leave nothing behind.
# Most functions are called through check and until_true.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2317
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"

need_tool jq pgrep

# flat TEXT SECONDS TEST: that test's memory did not grow on either side.
flat() {
	local text=$1 side
	if pair -p 7777 "$2" "$api" 7777 "$3" -- "$api" -c "$(mgt 1)" 7777 "$3"; then
		for side in server client; do
			ok "$text, $side: $(sed -n 's/^memory after //p' "$work/$side.out")"
		done
	else
		not_ok "$text" "$work/server.out" "$work/client.out"
	fi
}

no_process() { # PROCESS-GROUPS
	! pgrep -g "$1" -f "^$api " >/dev/null
}

# Where processes leave files. A clone below /tmp is there from the start.
list_files() { # HOST
	lab exec "$1" ls -A /dev/shm /tmp
}

# No socket of gamma, packet sockets included, and no new file, of any process of the host.
no_trace() { # HOST
	! lab exec "$1" grep -q '@gamma/' /proc/net/unix &&
		[ "$(lab exec "$1" cat /proc/net/packet | wc -l)" -eq 1 ] &&
		diff "$work/$1.files" <(list_files "$1")
}

killed() { # TEXT
	local groups
	# shellcheck disable=SC2119 # it takes no argument of this one
	start_exchange
	groups=${job_pid[server]},${job_pid[client]}
	signal server KILL
	signal client KILL
	stop server
	stop client
	check "$1: no process is left" until_true 5 no_process "$groups"
	check "$1: nothing else on node01" until_true 5 no_trace node01
	check "$1: nothing else on node02" until_true 5 no_trace node02
}

lab_up 2
for host in node01 node02; do
	list_files "$host" >"$work/$host.files"
done
# The address sanitizer keeps what has been freed, for a while.
keep_none=quarantine_size_mb=0:thread_local_quarantine_size_kb=0
gamma_env=("${gamma_env[@]/#ASAN_OPTIONS=/ASAN_OPTIONS=$keep_none:}")
flat "across hosts" 120 million
client_host=node01 flat "on one host" 120 million
killed "killed while they exchange messages"
client_host=node01 killed "killed on one host"
if [ "${GAMMA_TEST_LONG:-0}" = 1 ]; then
	flat "across hosts" 400 cycles
	client_host=node01 flat "on one host" 400 cycles
fi
check "after all of it" no_trace node01
finish
