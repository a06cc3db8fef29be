#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Endpoints with two NICs, by raw frames alone: both carry frames, contents stay right, and what runs goes on while cables
# are pulled and interfaces disappear. Hosts with other numbers of NICs or other MTUs take part, and
# lists of NICs that cannot work are refused. Text in single quotes is jq's; functions are
# called through check. With GAMMA_TEST_LONG more of each, MPI, and delays.
# shellcheck disable=SC2016,SC2119,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"
# shellcheck source=mpi.sh
. "$top_srcdir/fabtests/functional/mpi.sh"
# shellcheck source=rails.sh
. "$top_srcdir/fabtests/functional/rails.sh"

need_tool fi_pingpong fi_info jq
long=${GAMMA_TEST_LONG:-0}

lab_up 2 --nics 2
count_frames
latency=$abs_top_builddir/fabtests/benchmarks/gamma-latency
gamma_env+=("FI_GAMMA_IFACE=gam0,gam1" "FI_GAMMA_LINK=packet")

# ---- two NICs that work ----

remember
both "ping-pong, all sizes" 20 fi_pingpong -p gamma -e rdm -c -S all -I 3
shared "ping-pong"
counted_clean "ping-pong"
counted "ping-pong: the second NIC was proven" 'all(.rails_proven == 1 and .rails_doubted == 0)'
both "datagrams" 20 fi_pingpong -p gamma -c -S 1000 -I 20
remember
exchange "an exchange" $((long ? 256 : 16))
shared "an exchange" 1000
counted_clean "an exchange"
# Long operations on remote memory, 4 MB each.
for mode in write read; do
	remember
	if pair -l ready 60 "$latency" -p gamma -m $mode -s -P 4711 -- \
		"$latency" -p gamma -m $mode -P 4711 -S 4000000 -n 8 -w 1 node01; then
		ok "a long $mode"
	else
		not_ok "a long $mode" "$work/server.out" "$work/client.out"
	fi
	shared "a long $mode" 1000
done
tests=(sizes order both_directions many_outstanding rma_sizes rma_order rma_both_ways atomic_adders)
((long)) || tests=(rma_both_ways atomic_adders)
run "two NICs" "${tests[@]}"
client_host=node01
both "on one host" 20 fi_pingpong -p gamma -e rdm -c -S all -I 3
client_host=node02

# ---- cables and interfaces ----

start_exchange
pull_in_turn
if ((long)); then
	lab cable node01.gam0 pull
	lab cable node02.gam1 pull
	sleep 0.5
	lab cable node01.gam0 plug
	lab cable node02.gam1 plug
	works_again gam0 "both pulled and plugged: gam0 carries frames"
	works_again gam1 "both pulled and plugged: gam1 carries frames"
	for nic in gam1 gam0; do
		other=$(other_than $nic)
		on node02 ip link set dev $nic down
		works_again "$other" "$nic down: $other goes on"
		on node02 ip link set dev $nic up
		works_again $nic "$nic up: it carries frames again"
	done
fi
tool=$abs_top_builddir/tools/gamma-stat
stat_shows() { on node01 "$tool" --json --interval 0.2 | jq -e 'any(.endpoints[].rails;
	map(.nic) == ["gam0", "gam1"] and .[1].frames_out > 0 and all(.doubted > 0))'; }
stat_line() { on node01 "$tool" --count 2 --interval 0.2 |
	grep -E '^  gam1 +[0-9.]+ Mb/s out, resent [0-9]+, ceased [1-9]'; }
stat_metrics() { on node01 "$tool" --prometheus |
	grep -E '^gamma_rail_frames_out_total\{.*,rail="gam1"\} [1-9]'; }
check "gamma-stat shows each NIC in JSON" until_true 5 stat_shows
check "in a line" stat_line
check "and for Prometheus" stat_metrics
end_exchange "pulled in turn" send_stalls
counted "pulled in turn: NICs were doubted and proven again" \
	'(map(.rails_doubted) | add) >= 2 and (map(.rails_proven) | add) >= 4'
counted "pulled in turn: no connection was lost" "$nothing_refused"

start_exchange
lab nic node01.gam1 remove
works_again gam0 "gam1 removed: gam0 goes on"
lab nic node01.gam1 restore
end_exchange "an interface that disappears" send_stalls
counted "an interface that disappears: no connection was lost" "$nothing_refused"
exchange "the next run has both NICs" 8
counted "the next run has both NICs: proven" 'all(.rails_proven >= 1)'

lab cable node01.gam1 pull
start_exchange
works_again gam0 "opened while gam1 has no cable: gam0 carries frames"
lab cable node01.gam1 plug
works_again gam1 "plugged: it carries frames"
end_exchange "opened without one cable" send_stalls
counted "opened without one cable: no connection was lost" "$nothing_refused"

cut_off() { lab cable "node01.$1" pull; }
connect() { lab cable "node01.$1" plug; }
# A switch that loses all: the NICs keep their carrier, so that endpoints open meanwhile.
go_dark() { lab impair "node01.$1" --loss 100; }
light_up() { lab impair "node01.$1" off; }

disturb go_dark light_up
for ((round = 0; round < (long ? 10 : 1); round++)); do
	run "one switch or the other loses all" rma_both_ways rma_many atomic_adders
done
calm_down
# Programs open endpoints meanwhile, for which the first NIC needs its cable.
pull_or_darken() { if [ "$1" = gam1 ]; then cut_off gam1; else go_dark gam0; fi; }
mend() { if [ "$1" = gam1 ]; then connect gam1; else light_up gam0; fi; }
if ((long)); then
	disturb pull_or_darken mend
	for ((round = 0; round < 10; round++)); do
		run "a cable is pulled, or a switch loses all" rma_sizes rma_order rma_both_ways rma_many \
			atomic_adders
	done
	calm_down
fi

# ---- MPI ----

remove_nic() { lab nic "node01.$1" remove; }
restore_nic() { lab nic "node01.$1" restore; }

have_endpoints() { wait_for_endpoint node01 && wait_for_endpoint node02; }

# mpi_job OUTPUT [BREAK MEND]: one line for each test that passed. With faults it lasts for several.
mpi_job() {
	local status=0 round parts=()
	for ((round = 0; round < ($# == 1 ? 1 : 6); round++)); do
		parts+=(messages collective)
	done
	mpi_way=(--mca btl gamma)
	mpi_start 120 node01,node02 2 python3 "$conformance" "${parts[@]}"
	have_endpoints || status=1
	[ $# = 1 ] || disturb "$2" "$3"
	wait_end mpi || status=1
	[ $# = 1 ] || calm_down
	grep '^ok' "$work/mpi.out" | sort -u >"$work/$1" || cat "$work/mpi.out"
	return "$status"
}

# Long messages of MPI: each NIC carries at least a third of their bytes.
mpi_divides() {
	mpi_way=(--mca btl gamma)
	mpi_bulk 60 8 4 || return 1
	jq -c '[.bytes_out, .rails[1].bytes_out]' "$work/stats"
	jq -es 'map(select(.bytes_out > 30000000) | .rails[1].bytes_out / .bytes_out) |
		length == 1 and all(. > 0.33 and . < 0.67)' "$work/stats"
}

component=$abs_top_builddir/.libs/mca_btl_gamma.so
if ((!long)); then
	:
elif [ -e "$component" ] && ! sanitized && mpi_use openmpi4; then
	mpi_find_component
	remember
	check "MPI" mpi_job calm
	shared "MPI"
	check "MPI: each NIC carries its part of long messages" mpi_divides
	check "MPI while cables are pulled" mpi_job disturbed cut_off connect
	counted "MPI while cables are pulled: NICs were doubted" 'any(.rails_doubted > 0)'
	check "MPI has output" test -s "$work/calm"
	check "MPI's output is unchanged" cmp "$work/calm" "$work/disturbed"
	check "MPI while NICs are removed and return" mpi_job reloaded remove_nic restore_nic
	counted "MPI while NICs are removed and return: NICs were used again" \
		'any(.rails_doubted > 0 and .rails_proven > 1)'
	check "MPI's output is unchanged then, too" cmp "$work/calm" "$work/reloaded"
else
	echo "Open MPI is left out: ${mpi_missing:-the component for Open MPI is not built}"
fi
if ((!long)); then
	:
elif mpi_use mpich; then
	mpi_env+=(MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=gamma)
	remember
	mpi_conforms "two NICs" node01,node02 2 messages collective onesided
	shared "MPICH"
else
	echo "MPICH is left out: $mpi_missing"
fi

# ---- hosts that differ ----

remember
rm -f "$work/stats"
if pair -p 7777 60 env FI_GAMMA_IFACE=gam0 GAMMA_API_MIB=8 "$api" 7777 exchange -- \
	env GAMMA_API_MIB=8 "$api" -c "$(mgt 1)" 7777 exchange; then
	ok "one NIC and two: $(what_was_seen)"
else
	not_ok "one NIC and two" "$work/server.out" "$work/client.out"
fi
counted_clean "one NIC and two"
check "one NIC and two: only gam0 carried frames" test "$(($(carried gam1) - before[1]))" -lt 100
lab_down

lab_up 2 --nics 2 --mtu 9000 --mtu gam1=1500
remember
exchange "one NIC without jumbo frames" 16
shared "one NIC without jumbo frames" 500
counted_clean "one NIC without jumbo frames"
if ((long)); then
	ip -n "gl-$lab_name-sw" link set dev d2 mtu 1500
	exchange "and a switch without them" 16
	counted "and a switch without them: no data was lost in them" 'all(.retransmissions == 0)'
	ip -n "gl-$lab_name-sw" link set dev d2 mtu 9000

	# Round trips that differ ten times and more are no reason to send anything twice.
	lab impair node02.gam1 --delay 1ms
	remember
	exchange "one NIC has 1 ms more of delay" 16
	counted "one NIC has 1 ms more of delay: nothing is sent twice" \
		'all(.retransmissions + .spurious + .duplicates == 0)'
	lab impair node02.gam1 off
fi

# ---- lists that cannot work ----

# One line for the user, with cause and cure.
refused() { # LIST PATTERN
	local said
	said=$(on node01 env FI_GAMMA_IFACE="$1" fi_info -p gamma 2>&1 | grep -v '^fi_getinfo: -61' || true)
	echo "$said"
	[[ $(wc -l <<<"$said") = 1 && $said =~ ^gamma:\ FI_GAMMA_IFACE=$1:\ .*$2 ]]
}
check "refused: a NIC that does not exist" refused gam0,gam7 'no interface gam7; ip link lists them'
check "refused: the same NIC twice" refused gam0,gam0 'gam0 is named twice: name each NIC once'
check "refused: a name is missing" refused gam0, 'a name is missing'
on node01 ip link set dev gam1 address "$(data_mac 1)"
check "refused: two NICs with one address" refused gam0,gam1 \
	'gam0 and gam1 have the same address.*name one of them'
lab_down

finish
