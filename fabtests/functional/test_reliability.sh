#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Peers, cables and hosts that fail in the midst of an exchange: it goes on to its end with
# nothing lost, or both sides get an error in time that names the peer and the cause; and
# what comes afterwards works. Bad networks are in test_loss.sh.
# What stands in single quotes is jq's.
# shellcheck disable=SC2016,SC2119
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"

need_tool jq

timeout_s=2 # until a peer counts as dead, where the test waits for that
prompt_s=$((timeout_s + 4))
default_env=()

use_short_timeout() {
	gamma_env+=("FI_GAMMA_PEER_TIMEOUT=$timeout_s")
}

use_long_timeout() {
	gamma_env=("${default_env[@]}")
}

lab_up 2
count_frames
default_env=("${gamma_env[@]}")

# ---- a process that does not run for a while ----

start_exchange
signal server STOP
sleep 3
signal server CONT
end_exchange "stopped for 3 s"
counted "stopped for 3 s: no frame lost, repeated or refused" 'all(.retransmissions +
	.duplicates + .ring_drops + .peer_timeouts + .resets_out == 0)'

use_short_timeout
start_exchange
signal server STOP
loses_peer client $prompt_s "stopped for longer" "nothing heard"
signal server CONT
loses_peer server $prompt_s "going on, it learns that it was declared dead" "closed"
end_lost server client
exchange "the next run works" 8

# ---- a process that is gone ----

start_exchange
signal server KILL
loses_peer client $prompt_s "killed" "nothing heard"
stop server
end_lost client
exchange "the next run works" 8

client_host=node01
start_exchange
signal server KILL
loses_peer client $prompt_s "killed, on the same host" "has ended"
stop server
end_lost client
client_host=node02

# Its port has a new owner while the frames for the old one are still under way.
use_long_timeout
lab impair node02 --delay 150ms
start_exchange GAMMA_API_OWN_PORT=9350
sleep 0.5
signal server KILL
stop server
job_pid[old]=${job_pid[client]}
unset "job_pid[client]"
mv "$work/client.out" "$work/old.out"
rm -f "$work/stats"
if pair -p 7777 60 env GAMMA_API_OWN_PORT=9350 GAMMA_API_MIB=1 "$api" 7777 exchange -- \
	env GAMMA_API_OWN_PORT=9351 GAMMA_API_MIB=1 "$api" -c "$(mgt 1)" 7777 exchange; then
	ok "restarted on the same port: $(what_was_seen stray resets_out)"
else
	not_ok "restarted on the same port" "$work/server.out" "$work/client.out"
fi
loses_peer old 4 "a peer of the former owner gets an error" "another one"
counted "late frames for the former owner are refused" 'map(.stray) | max > 0'
end_lost old
lab impair node02 off
use_long_timeout

# ---- cables and interfaces ----

start_exchange
lab cable node02 pull
sleep 1
lab cable node02 plug
end_exchange "no cable for 1 s" send_stalls

start_exchange
on node01 ip link set dev gam0 down
sleep 0.5
on node01 ip link set dev gam0 up
end_exchange "interface down for 0.5 s" send_stalls

use_short_timeout
start_exchange
lab cable node01 pull
loses_peer client $prompt_s "cable pulled for good" "nothing heard"
loses_peer server $prompt_s "and the one behind it" "nothing heard"
lab cable node01 plug
end_lost server client
exchange "with the cable back the next run works" 8
use_long_timeout

# ---- hosts that lack something ----

on node01 mount -o remount,size=4k /dev/shm
on node01 sh -c '! dd if=/dev/zero of=/dev/shm/full bs=8k count=1 2>/dev/null'
exchange "no room in /dev/shm" 16
on node01 sh -c 'rm /dev/shm/full; mount -o remount,size=50% /dev/shm'

rm -f "$work/stats"
for pair in 1 2 3 4; do
	start "server$pair" node01 60 env GAMMA_API_MIB=8 "$api" "777$pair" exchange
done
for pair in 1 2 3 4; do
	wait_for_port node01 "777$pair" 10 || bail "the server does not listen"
	start "client$pair" node02 60 env GAMMA_API_MIB=8 "$api" -c "$(mgt 1)" "777$pair" exchange
done
for pair in 1 2 3 4; do
	check "8 processes on 2 cores, pair $pair" wait_end "client$pair"
	check "8 processes on 2 cores, pair $pair, the other" wait_end "server$pair"
done
mv "$work/client4.out" "$work/client.out"
ok "8 processes on 2 cores, the last pair: $(what_was_seen ring_drops)"
lab_down

# ---- many to one, through a port that is slower than they are ----

senders=7
incast=$abs_top_builddir/fabtests/benchmarks/gamma-incast
lab_up $((senders + 1)) --rate 1gbit
rm -f "$work/stats"
start receiver node01 60 "$incast" -p gamma -d gam0 -s $senders -t 1.5
wait_for_endpoint node01 || true
for ((i = 0; i < senders; i++)); do
	role=()
	((i < senders - 1)) || role=(-l)
	start "sender$i" $((i + 2)) 60 "$incast" -p gamma -d gam0 -i $i "${role[@]}" "$(data_ip 1)"
done
for ((i = 0; i < senders; i++)); do
	if wait_end "sender$i"; then
		ok "$senders to one: sender $i"
	else
		not_ok "$senders to one: sender $i" "$work/sender$i.out"
	fi
done
if wait_end receiver; then
	ok "$senders to one: $(jq -r '"\(.verified) messages verified, \(.goodput_MBps) MB/s"' \
		"$work/receiver.out"), $(grouped "$(total retransmissions)") sent again"
else
	not_ok "$senders to one" "$work/receiver.out"
fi
counted "$senders to one: no receive ring overruns" 'all(.ring_drops + .peer_timeouts == 0)'
lab_down

finish
