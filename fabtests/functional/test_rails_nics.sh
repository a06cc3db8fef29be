#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# NICs that come and go while endpoints use two of them: a driver that is loaded anew, so that the
# interface has another index, `ip link set down` and up, another MAC address, another MTU. Programs
# go on by the other NIC, with their contents right, and use the one that is back. With
# GAMMA_TEST_LONG for each NIC of each host, many times, and during RMA, atomic operations and MPI.
# What stands in single quotes is jq's; functions are called through check.
# shellcheck disable=SC2016,SC2119,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"
# shellcheck source=rails.sh
. "$top_srcdir/fabtests/functional/rails.sh"

need_tool jq
long=${GAMMA_TEST_LONG:-0}

index_of() { on "$1" cat "/sys/class/net/$2/ifindex"; }

# reload HOST NIC: as a driver that is loaded anew; the other NIC goes on meanwhile.
reload() {
	local host=$1 nic=$2 index
	index=$(index_of "$host" "$nic")
	lab nic "$host.$nic" remove
	works_again "$(other_than "$nic")" "$host.$nic removed: $(other_than "$nic") goes on"
	lab nic "$host.$nic" restore
	check "$host.$nic is back with another index" test "$(index_of "$host" "$nic")" != "$index"
	works_again "$nic" "$host.$nic is back: it carries frames again"
}

down_and_up() { # HOST NIC
	on "$1" ip link set dev "$2" down
	works_again "$(other_than "$2")" "$1.$2 down: $(other_than "$2") goes on"
	on "$1" ip link set dev "$2" up
	works_again "$2" "$1.$2 up: it carries frames again"
}

# Frames to the address that peers know do not arrive until the NIC has it again.
another_mac() { # HOST NIC
	local mac
	mac=$(on "$1" cat "/sys/class/net/$2/address")
	on "$1" ip link set dev "$2" address 02:47:41:4d:77:77
	works_again "$(other_than "$2")" "$1.$2 has another MAC: $(other_than "$2") goes on"
	on "$1" ip link set dev "$2" address "$mac"
	works_again "$2" "$1.$2 has its MAC again: it carries frames"
}

another_mtu() { # HOST NIC
	on "$1" ip link set dev "$2" mtu 1400
	works_again "$2" "$1.$2 has a smaller MTU: it carries frames"
	on "$1" ip link set dev "$2" mtu 1500
	works_again "$(other_than "$2")" "and so does $(other_than "$2")"
}

# Below 576 bytes the NIC is not used. Frames that its peers send meanwhile do not arrive.
too_small_mtu() { # HOST NIC
	on "$1" ip link set dev "$2" mtu 500
	works_again "$(other_than "$2")" "$1.$2 has too small an MTU: $(other_than "$2") goes on"
	on "$1" ip link set dev "$2" mtu 1500
	works_again "$2" "$1.$2 has its MTU again: it carries frames"
}

lab_up 2 --nics 2
count_frames
gamma_env+=("FI_GAMMA_IFACE=gam0,gam1")

# ---- gammaping ----

ping_tool=$abs_top_builddir/tools/gammaping
pings() { # STATUS PATTERN [OPTION...] PEER: from node01
	local status=0
	on node01 "$ping_tool" -c 1 "${@:3}" 7001 >"$work/ping.out" 2>&1 || status=$?
	cat "$work/ping.out"
	[ "$status" = "$1" ] && grep -Eq -- "$2" "$work/ping.out"
}
listen() { # [OPTION...]
	start listener node02 120 "$ping_tool" -l "$@" 7001
	wait_for_line listener '^listening on' 5
}

check "gammaping listens on two NICs" listen
check "it shows each NIC" \
	pings 0 '^rail +ok +2: gam1 reaches 02:47:41:4d:01:02, frames of 1500 bytes' node02
check "and the first one" grep -Eq '^rail +ok +1: gam0 reaches 02:47:41:4d:00:02' "$work/ping.out"
check "with one NIC it names the other of the peer" \
	pings 0 '^rail +ok +2: 02:47:41:4d:01:02 there; no NIC .* -I gam0,NIC' -I gam0 node02
lab impair node02.gam1 --loss 100
check "a NIC that does not reach its peer" \
	pings 1 '^rail +failed +2: gam1 does not reach 02:47:41:4d:01:02' node02
lab impair node02.gam1 off
stop listener
if ((long)); then
	check "gammaping listens on one NIC" listen -I gam0
	check "then the second one is not used" \
		pings 0 '^rail +ok +the endpoint there has 1 NIC, so gam1 is not used' node02
	stop listener
	check "gammaping listens on two NICs over UDP" listen -u
	check "it shows each NIC over UDP" \
		pings 0 "^rail +ok +2: gam1 reaches 10[.]" -u "$(data_ip 2)"
	stop listener
fi

# ---- one after the other ----

start_exchange
reload node01 gam1
reload node02 gam0
down_and_up node01 gam0
another_mac node02 gam1
too_small_mtu node02 gam1
if ((long)); then
	for host in node01 node02; do
		for nic in gam0 gam1; do
			reload $host $nic
			down_and_up $host $nic
			another_mac $host $nic
			another_mtu $host $nic
		done
	done
fi
end_exchange "NICs that come and go" send_stalls
counted "NICs were doubted and proven again" \
	'(map(.rails_doubted) | add) >= 4 and (map(.rails_proven) | add) >= 5'
counted "no connection was lost" "$nothing_refused"

# ---- at random ----

begin_fault() { # KIND HOST NIC
	case $1 in
	cable) lab cable "$2.$3" pull ;;
	down) on "$2" ip link set dev "$3" down ;;
	loss) lab impair "$2.$3" --loss 100 ;;
	driver) lab nic "$2.$3" remove ;;
	mtu) on "$2" ip link set dev "$3" mtu 1300 ;;
	both) lab cable "$2.gam0" pull && lab cable "$2.gam1" pull ;;
	esac
}

end_fault() { # KIND HOST NIC
	case $1 in
	cable) lab cable "$2.$3" plug ;;
	down) on "$2" ip link set dev "$3" up ;;
	loss) lab impair "$2.$3" off ;;
	driver) lab nic "$2.$3" restore ;;
	mtu) on "$2" ip link set dev "$3" mtu 1500 ;;
	both) lab cable "$2.gam0" plug && lab cable "$2.gam1" plug ;;
	esac
}

# faults COUNT: of either NIC of either host, or of both NICs at once, each mended before the next.
faults() {
	local i kinds=(cable down loss driver mtu both) what
	for ((i = 0; i < $1; i++)); do
		what=("${kinds[RANDOM % 6]}" "node0$((1 + RANDOM % 2))" "gam$((RANDOM % 2))")
		begin_fault "${what[@]}" && sleep "0.$((RANDOM % 4))$((RANDOM % 10))" &&
			end_fault "${what[@]}" || return 1
		sleep "0.0$((RANDOM % 10))"
	done
}

if ((long)); then
	RANDOM=${GAMMA_TEST_SEED:-27}
	start_exchange
	check "faults at random, an exchange" faults 100
	works_again gam0 "then gam0 carries frames"
	works_again gam1 "and gam1"
	end_exchange "faults at random" send_stalls
	counted "faults at random: no connection was lost" "$nothing_refused"
fi

finish
