#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Bad networks and dead peers: what is lost is repaired, what is damaged is dropped, a peer that
# is gone is reported by name and in time, and none of it outlasts its cause.
# What stands in single quotes is jq's.
# shellcheck disable=SC2016
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"

need_tool fi_pingpong jq

pingpong=(fi_pingpong -p gamma -e rdm)
timeout_s=2 # until a peer counts as dead

# Two programs that exchange messages until they lose each other; both are at it on return.
start_endless() {
	start server node01 30 "$api" 7777 peer_lost
	wait_for_port node01 7777 5 || bail "the server does not listen"
	start client node02 30 "$api" -c "$(mgt 1)" 7777 peer_lost
	wait_for_line client ready 5 || bail "the two do not find each other"
	sleep 0.3
}

# The job ends well, that is by an error that names the peer, within so many seconds.
# shellcheck disable=SC2317 # called through check
notices_within() { # NAME SECONDS
	local begin=$SECONDS
	wait_end "$1" && [ $((SECONDS - begin)) -le "$2" ]
}

lab_up 2
count_frames

# ---- frames that do not arrive as they were sent ----

lab impair node02 --loss 5 --dup 2
run "5 % lost, 2 % doubled" sizes 64_mib order unexpected both_directions
counted "lost frames are sent again" 'map(.retransmissions) | add > 0'
counted "doubled ones are noticed" 'map(.duplicates) | add > 0'

lab impair node02 --loss 30
run "30 % lost" calls sizes order both_directions close_outstanding

# The header has a checksum. The contents have none of their own, so these are not looked at.
lab impair node02 --corrupt 20
run "20 % damaged" cq_data_bits
counted "damaged frames are dropped" 'map(.malformed) | add > 0'
counted "and then sent again" 'map(.retransmissions) | add > 0'

lab impair node02 --delay 2ms --jitter 1ms --reorder 10
both "late and out of order" 20 "${pingpong[@]}" -c -S all -I 2
counted "seen out of order" 'map(.out_of_order) | add > 0'

lab impair node02 off
both "all is well again" 20 "${pingpong[@]}" -c -S all -I 4
counted_clean "all is well again"

# ---- a cable that is pulled for a while ----

start server node01 30 "${pingpong[@]}" -c -S 65536 -I 4000
wait_for_port node01 47592 5 || bail "the server does not listen"
start client node02 30 "${pingpong[@]}" -c -S 65536 -I 4000 "$(mgt 1)"
sleep 0.5
lab cable node02 pull
sleep 1
check "no cable: it waits" kill -0 "${job_pid[client]}"
lab cable node02 plug
check "cable back: it goes on to its end" wait_end client
check "so does its peer" wait_end server

# ---- peers that are gone ----

gamma_env+=("FI_GAMMA_PEER_TIMEOUT=$timeout_s" FI_LOG_LEVEL=warn)

start_endless
kill -KILL -- "-${job_pid[server]}"
check "a killed peer is noticed and named" notices_within client $((timeout_s + 4))
stop server
begin=$SECONDS
both "the next run works" 10 "${pingpong[@]}" -S 64 -I 10
check "at once" test $((SECONDS - begin)) -le 1

# On the very ports that were in use when both were killed.
for round in 1 2; do
	start server node01 10 "$api" 7777 port
	wait_for_port node01 7777 5 || bail "the server does not listen"
	start client node02 10 "$api" -c "$(mgt 1)" 7777 port
	sleep 0.$((2 + round))
	kill -KILL -- "-${job_pid[server]}" "-${job_pid[client]}"
	stop server
	stop client
	check "the same ports again, round $round" pair -p 7777 10 "$api" 7777 port -- \
		"$api" -c "$(mgt 1)" 7777 port
done

start_endless
lab cable node01 pull
check "a cable pulled for good is noticed" notices_within client $((timeout_s + 4))
check "and by the other one too" notices_within server $((timeout_s + 4))
lab cable node01 plug
both "with the cable back the next run works" 10 "${pingpong[@]}" -S 64 -I 10
lab_down

# ---- a switch that does not carry large frames ----

lab_up 2 --mtu 9000
ip -n "gl-$lab_name-sw" link set dev d2 mtu 1500
both "jumbo frames vanish in the switch" 20 "${pingpong[@]}" -c -S all -I 2
check "that is said once" test \
	"$(grep -c "frames of 9000 bytes do not reach $(data_mac 1)" "$work/client.out")" = 1

ip -n "gl-$lab_name-sw" link set dev d2 mtu 9000
start server node01 20 "${pingpong[@]}" -c -S 65536 -I 3000
wait_for_port node01 47592 5 || bail "the server does not listen"
start client node02 20 "${pingpong[@]}" -c -S 65536 -I 3000 "$(mgt 1)"
sleep 0.4
ip -n "gl-$lab_name-sw" link set dev d2 mtu 1500
check "jumbo frames begin to vanish" wait_end client
check "for the other one too" wait_end server
lab_down

finish
