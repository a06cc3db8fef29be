#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Endpoints with two NICs that are no packet sockets of root's: of an ordinary user through gammad,
# and over UDP, of root and of a user whom no gammad serves. Contents are right, both NICs carry
# frames, and a pulled cable is survived; what cannot work is refused with one line. What stands in
# single quotes is jq's; functions are called through check.
# shellcheck disable=SC2016,SC2119,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"
# shellcheck source=hostile.sh
. "$top_srcdir/fabtests/functional/hostile.sh"
# shellcheck source=gammad.sh
. "$top_srcdir/fabtests/functional/gammad.sh"
# shellcheck source=rails.sh
. "$top_srcdir/fabtests/functional/rails.sh"

need_tool fi_pingpong fi_info jq setpriv
long=${GAMMA_TEST_LONG:-0}

# pulled TEXT NIC: an exchange in which its cable is pulled, and with GAMMA_TEST_LONG the other one.
pulled() {
	local nic nics=("$2")
	((!long)) || nics+=("$(other_than "$2")")
	remember
	: >"$stats"
	start_exchange
	for nic in "${nics[@]}"; do
		lab cable "node01.$nic" pull
		works_again "$(other_than "$nic")" "$1: $nic pulled, $(other_than "$nic") goes on"
		lab cable "node01.$nic" plug
		works_again "$nic" "$1: $nic plugged, it carries frames again"
	done
	end_exchange "$1: pulled in turn"
	shared "$1"
	counted "$1: no connection was lost" 'all(.peer_timeouts + .resets_out + .malformed == 0)'
}

# One line for the user, with cause and cure.
refused() { # PATTERN COMMAND...
	local said
	said=$("${@:2}" 2>&1 | grep -v '^fi_getinfo: -61\|^fi_endpoint' || true)
	echo "$said"
	[[ $(wc -l <<<"$said") = 1 && $said =~ ^gamma:\ .*$1 ]]
}

gammad_lab_up --nics 2 --ipv6
gamma_env+=("FI_GAMMA_IFACE=gam0,gam1")
install -m 666 /dev/null "$shared/stats"
cp "$api" "$shared/lib"
api=$shared/lib/gamma-api
enough=$shared/enough
stats=$shared/stats

# ---- over UDP ----

as daemon
wrap=("${words[@]}")
pulled "UDP, a user without gammad" gam1
wrap=()
if ((long)); then
	gamma_env+=(FI_GAMMA_LINK=udp)
	pulled "UDP, root" gam1
	start_exchange
	lab nic node01.gam1 remove
	works_again gam0 "UDP: gam1 removed, gam0 goes on"
	lab nic node01.gam1 restore
	works_again gam1 "UDP: gam1 is back, it carries frames again"
	end_exchange "UDP: an interface that disappears"
	unset "gamma_env[-1]"
fi

check "two NICs over IPv6 are refused" refused 'several NICs of an endpoint need IPv4' \
	on node01 env FI_GAMMA_LINK=udp6 fi_info -p gamma
on node01 ip address flush dev gam1
check "a NIC without an address is refused" refused 'gam1 .*address' \
	on node01 env FI_GAMMA_LINK=udp fi_info -p gamma

# ---- through gammad ----

conf 1 'nic gam0 slots 4'
conf 2 'nic gam0 slots 4' 'nic gam1 slots 4'
start_gammad 1
start_gammad 2
check "a NIC that gammad does not serve is refused" refused 'gam1 is not served by gammad: add it' \
	user_on labuser node01 fi_info -p gamma
stop gammad1
conf 1 'nic gam0 slots 4' 'nic gam1 slots 4'
start_gammad 1
as labuser
wrap=("${words[@]}")
pulled "a user of gammad" gam0
wrap=()
if ((long)); then
	as labuser
	wrap=("${words[@]}")
	start_exchange
	lab nic node01.gam1 remove
	works_again gam0 "a user of gammad: gam1 removed, gam0 goes on"
	end_exchange "a user of gammad: an interface that disappears"
	wrap=()
fi


# ---- one NIC, with UDP beside it ----

# The ring is one for which the buffer suffices that Debian allows.
gamma_env+=(FI_GAMMA_IFACE=gam0 FI_GAMMA_LINK=any FI_GAMMA_RING_SIZE=131072)
user_pair "a user of gammad, one NIC" fi_pingpong -p gamma -e rdm -c -S all -I 3
cp "$shared/stats" "$work/stats"
counted "a user of gammad: long messages went over UDP" \
	'all(.rails_proven == 1 and .rails[1].nic == "gam0-udp" and .rails[1].frames_out > 1000)'
finish
