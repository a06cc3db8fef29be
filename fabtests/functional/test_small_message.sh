#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# What a small message costs: one frame, one copy in user space on each side, one system call to
# send and none to receive, by the counters and by strace; and how many instructions sending and
# receiving take, by callgrind. Nothing here is timed.
# What stands in single quotes is jq's.
# shellcheck disable=SC2016
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

# Instructions of one message of 8 bytes, about a twentieth above what they were measured to be with
# gcc 12 at -O2 and link-time optimisation (1,805, 1,256, in a burst of 64: 554 and 696; less at
# -O3, the default), without it about a tenth above: fi_tsend and fi_cq_read of its completion;
# fi_cq_read, which finds the frame, and fi_trecv of the next. After it has left, a send processes
# the deferred acknowledgement of the frame that it answers: some 400 instructions. Raise them for
# a reason only, lower them when they have become less.
send_budget=1820 receive_budget=1350 row_send_budget=570 row_receive_budget=740
# The same within a host (608 and 1,379, at -O3 564 and 1,255, with a call of epoll in each of the
# first 4,096 polls).
shm_send_budget=640 shm_receive_budget=1450
if ! grep -q '^GAMMA_LTO_CFLAGS = .*-flto' "$abs_top_builddir/Makefile"; then
	send_budget=2000 receive_budget=1780 row_send_budget=660 row_receive_budget=930
	shm_send_budget=670 shm_receive_budget=1530
fi

latency=$abs_top_builddir/fabtests/benchmarks/gamma-latency
instructions=$abs_top_builddir/fabtests/functional/gamma-instructions
need_tool jq
[ -x "$latency" ] || bail "$latency is not built"
[ -x "$instructions" ] || bail "$instructions is not built (make check builds it)"
lab_up 2 --b2b
plain_env=("${gamma_env[@]}")

# ---- counters ----

# ping_pong COUNT [COMMAND...]: 8 bytes to and fro, the client by COMMAND.
ping_pong() {
	rm -f "$work/stats"
	pair -l ready 30 "$latency" -p gamma -d gam0 -s -- \
		"${@:2}" "$latency" -p gamma -d gam0 -S 8 -n "$1" -w 100 "$(data_ip 1)"
}

count_frames
few=2000 many=6000 more=4000
if ping_pong $few && mv "$work/stats" "$work/few" && ping_pong $many; then
	ok "8 bytes to and fro, $few and $many times"
else
	not_ok "8 bytes to and fro" "$work/server.out" "$work/client.out"
	finish
fi
mv "$work/stats" "$work/many"
# What one endpoint counted more in the longer run, of both runs' endpoints the ones of one host.
jq -cs --slurpfile few "$work/few" 'map(. as $m | ($few[] | select(.endpoint[:17] == $m.endpoint[:17]))
	as $f | $m | with_entries(select(.value | type == "number") | .value -= $f[.key]))[]' \
	"$work/many" >"$work/stats"
cost() { # TEXT CONDITION
	counted "$1" "length == 2 and ($2)" --argjson more $more
}
cost "a message is a frame" 'all(.data_frames_out == $more and .data_frames_in == $more)'
cost "one copy on the way out, one on the way in" \
	'all(.bytes_copied_out == 8 * $more and .bytes_copied_in == 8 * $more)'
cost "one to send, for each frame" 'all(.send_calls <= .frames_out + 10)'
# A process that loses its processor for more than 500 us acknowledges on its own, or on request.
cost "hardly a frame beside the messages" 'all(.frames_out - $more < $more / 10)'

# Every 1,024th empty poll checks the shm socket, which is a call too: here each message is
# there when it is looked for, on the client's side, but for those that begin.
rm -f "$work/stats"
mkfifo "$work/pipe"
if pair -l ready 30 "$instructions" "$work/pipe" -- \
	"$instructions" "$work/pipe" 400 "$(data_ip 1)"; then
	counted "no system call to receive" 'map(select(.endpoint | startswith($mac)))[0] |
		.messages_in > 400 and .receive_calls < 100' --arg mac "$(data_mac 2)"
else
	not_ok "400 messages that are there when they are looked for" "$work/server.out" "$work/client.out"
fi

# ---- the kernel's view ----

# calls FILE NAMES: how many of these strace saw.
calls() { # FILE NAMES
	awk -v names="^($2)\$" '$NF ~ names { sum += $1 } END { print sum + 0 }' "$1"
}

if command -v strace >/dev/null && ! sanitized &&
	ping_pong $few strace -f -qq -c -U calls,name -o "$work/trace" -e trace=network; then
	sent=$(calls "$work/trace" 'send|sendto|sendmsg|sendmmsg')
	frames=$(jq -s 'map(select(.endpoint | startswith("'"$(data_mac 2)"'"))) | .[0].frames_out' \
		"$work/stats")
	check "strace saw $sent calls to send for $frames frames" \
		test "$sent" -ge $few -a "$sent" -le $((frames + 20))
	# None for a message; but while nothing comes, the sockets beside the ring are looked at now and
	# then, and under strace, or on a busy machine, more often.
	received=$(calls "$work/trace" 'recv|recvfrom|recvmsg|recvmmsg')
	check "and $received to receive" test "$received" -lt $((few / 10))
fi

# ---- instructions ----

gamma_env=("${plain_env[@]}")
counting=1
! sanitized || counting=0
if [ "$counting" -eq 0 ] || ! command -v valgrind callgrind_annotate >/dev/null; then
	echo "instructions are not counted: sanitizers, or no valgrind"
	finish
fi
messages=200
gamma_env+=(FI_PROVIDER=gamma)
count_instructions() {
	pair -l ready 60 "$instructions" "$work/pipe" -- valgrind -q --tool=callgrind \
		--collect-atstart=no --toggle-collect=measured_send --toggle-collect=measured_receive \
		--toggle-collect=measured_row_send --toggle-collect=measured_row_receive \
		--callgrind-out-file="$work/callgrind" \
		"$instructions" "$work/pipe" $messages "$(data_ip 1)" &&
		callgrind_annotate --threshold=100 --inclusive=yes "$work/callgrind" >"$work/annotated" 2>/dev/null
}

taken_by() { # FUNCTION
	awk -v name=":$1" -v messages=$messages 'index($0, name) { gsub(",", "", $1)
		print int($1 / messages); exit }' "$work/annotated"
}

within() { # TEXT COUNT BUDGET
	check "$1 takes $2 instructions, at most $3" test "$2" -gt 100 -a "$2" -le "$3"
}

# least WHOM SEND-BUDGET RECEIVE-BUDGET: a process that loses its processor for long acknowledges in
# frames of their own, and answers probes: the least of some runs counts.
least() {
	local least_sending=1000000 least_receiving=1000000 sending receiving
	for _ in 1 2 3; do
		if ! count_instructions; then
			not_ok "$messages messages under callgrind" "$work/server.out" "$work/client.out"
			finish
		fi
		sending=$(taken_by measured_send) receiving=$(taken_by measured_receive)
		echo "$sending instructions to send, $receiving to receive"
		((sending >= least_sending)) || least_sending=$sending
		((receiving >= least_receiving)) || least_receiving=$receiving
		((least_sending > $2 || least_receiving > $3)) || break
	done
	within "sending to $1" "$least_sending" "$2"
	within "receiving from $1" "$least_receiving" "$3"
}

least "another host" $send_budget $receive_budget
within "sending in a row" $(($(taken_by measured_row_send) / 64)) $row_send_budget
within "receiving in a row" $(($(taken_by measured_row_receive) / 64)) $row_receive_budget
client_host=node01
least "an shm peer" $shm_send_budget $shm_receive_budget
finish
