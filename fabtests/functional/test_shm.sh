#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Processes of one host: how many system calls and copies their messages take, and that they
# get there all the same where memory may not be shared, or not be read by others.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2119
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"

need_tool jq pgrep unshare prlimit
latency=$abs_top_builddir/fabtests/benchmarks/gamma-latency
[ -x "$latency" ] || bail "$latency is not built"
lab_up 2
client_host=node01
count_frames
plain_env=("${gamma_env[@]}")

# ping_pong SIZE ROUNDS [COMMAND...]: between two cores, the client by COMMAND. The program divides
# the number of its round trips by the pages of a message. mode: of gamma-latency, if not tagged.
ping_pong() {
	local size=$1 rounds=$(($2 * (1 + $1 / 4096)))
	shift 2
	rm -f "$work/stats"
	start server node01 60 taskset -c 0 "$latency" -p gamma -s -d gam0 -m "${mode:-tagged}"
	wait_for_endpoint node01 || true
	start client node01 60 taskset -c 1 "$@" "$latency" -p gamma -d gam0 -m "${mode:-tagged}" \
		-S "$size" -n "$rounds" node01
	if wait_end client && wait_end server; then
		ok "$size bytes back and forth: $(awk 'END { print $2 }' "$work/client.out") us"
	else
		stop server
		not_ok "$size bytes back and forth" "$work/server.out" "$work/client.out"
	fi
}

ping_pong 8 20000
counted "20,000 times 8 bytes: no system call to send but the first few, and wake-ups" \
	'all(.send_calls - .shm_wakes < 20 and .shm_wakes < 200 and .shm_records_out > 20000)'
counted "hardly a frame, a copy on each side" 'all(.frames_out < 100 and
	.bytes_copied_in < 9 * .messages_in + 10000 and .bytes_copied_out < 9 * .messages_out + 10000)'
counted "nothing sent twice, nothing asked" 'all(.retransmissions + .probes_out + .malformed == 0)'
ping_pong 8192 20000
counted "20,000 times 8,192 bytes: copied or read, whatever is faster here, and hardly in frames" \
	'all(.cma_bytes + .bytes_copied_in >= 20000 * 8192 and .cma_failures == 0 and
		.cma_bytes + .bytes_copied_in < 20000 * 8192 * 1.1 and .frames_out < 100)'
counted "each tried now and then" 'all(.bytes_copied_in >= 10 * 8192)'
ping_pong 100000 2000
counted "2,000 times 100,000 bytes: copied or read, each byte once" \
	'all(.cma_bytes + .bytes_copied_in >= 2000 * 100000 and .cma_failures == 0 and
		.cma_bytes + .bytes_copied_in < 2000 * 100000 * 1.15)'
counted "hardly a frame, but an announcement and an answer for each, no system call to send" \
	'all(.frames_out < 100 and .shm_records_out >= 4000 and .send_calls - .shm_wakes < 20)'
# A copy is tried after 1, 3, 7 ... 1,023 messages; a busy machine ends some of them early.
counted "each tried now and then, or more" 'all(.bytes_copied_out > 5 * 65536)'
# The reader waits 1.2 us for a chunk: where a copy of one takes longer, as on distant processors, the
# kernel reads many of those tried, and nearly all under the thread sanitizer.
[[ ${gamma_env[*]} == *TSAN_OPTIONS* ]] ||
	counted "and chunks taken as they came" '(map(.chunks_in) | add) > 20 and all(.chunks_in > 0)'

mode="write" ping_pong 100000 2000
counted "2,000 writes of 100,000 bytes: in frames, none refused, none sent twice" \
	'(map(.remote_out) | add) >= 2000 and (map(.bytes_copied_in) | add) >= 2000 * 100000 and
		all(.cma_bytes + .remote_refused + .malformed + .retransmissions == 0)'

gamma_env=("${plain_env[@]}" FI_GAMMA_SHM_SIZE=0)
run "without shared memory" sizes order both_directions unexpected levels
counted "without shared memory: none used" 'all(.shm_frames_out + .shm_records_out + .cma_bytes == 0)'
gamma_env=("${plain_env[@]}")

# The client is set to use none, the server is not.
ping_pong 8 1000 env FI_GAMMA_SHM_SIZE=0
ping_pong 100000 100 env FI_GAMMA_SHM_SIZE=0
counted "a peer that refuses shared memory: sockets" \
	'map(.shm_refused) == [0, 1] or map(.shm_refused) == [1, 0]'
# Output to a file is limited as well.
ping_pong 8 1000 prlimit --fsize=32768
counted "a peer without memory to share: sockets one way, shared memory the other" \
	'(map(.shm_refused) | add) == 1 and (map(.shm_records_out) | min) == 0 and
		(map(.shm_records_out) | max) > 1000 and all(.retransmissions == 0)'

# As in a container: to the client the server has no number, the other way round it has.
ping_pong 100000 500 unshare --pid --fork
counted "a peer whose memory cannot be read sends all of it" \
	'(map(.cma_bytes) | min) == 0 and
		all(.cma_bytes + .bytes_copied_in >= 500 * 100000 and .shm_frames_out > 500 and
			.retransmissions == 0)'

start_exchange
kill -KILL "$(pid_of server)"
loses_peer client 1 "a killed shm peer" "has ended"
stop server
end_lost client
check "of killed processes nothing is left" \
	bash -c "! '$lab_tool' -n '$lab_name' exec node01 ls -A /dev/shm | grep -q ."
finish
