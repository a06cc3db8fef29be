# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
#
# What the tests of endpoints with two NICs share, gam0 and gam1 of a lab: what each of them has
# carried, and faults in turn. Sourced after lib.sh.
# Variables of lib.sh, and one for the scripts that source this:
# shellcheck disable=SC2154,SC2034

# ---- what the NICs carried ----

# carried NIC: frames that both hosts have sent by it.
carried() {
	local host sum=0
	for host in 1 2; do
		sum=$((sum + $(ip -n "gl-$lab_name-n0$host" -s -j link show dev "$1" |
			jq '.[0].stats64.tx.packets')))
	done
	echo "$sum"
}

remember() { before=("$(carried gam0)" "$(carried gam1)"); }

# shared TEXT [LEAST]: since `remember` each NIC carried so many frames.
shared() {
	local now0 now1 least=${2:-100}
	now0=$(($(carried gam0) - before[0])) now1=$(($(carried gam1) - before[1]))
	if ((now0 >= least && now1 >= least)); then
		ok "$1: both NICs carried frames"
	else
		not_ok "$1: gam0 carried $now0 frames, gam1 $now1"
	fi
}

more_than() { (($(carried "$1") > $2)); }

# works_again NIC TEXT: frames pass by it, more than its probes are.
works_again() {
	check "$2" until_true 5 more_than "$1" $(($(carried "$1") + 500))
}

nothing_refused='all(.ring_drops + .malformed + .peer_timeouts + .resets_out == 0)'

other_than() { [ "$1" = gam1 ] && echo gam0 || echo gam1; }

# ---- faults in turn ----

# pull_in_turn: each NIC's cable during an exchange, which the other NIC goes on with.
pull_in_turn() {
	local nic other
	for nic in gam1 gam0; do
		other=$(other_than $nic)
		lab cable "node01.$nic" pull
		works_again "$other" "$nic pulled: $other goes on"
		lab cable "node01.$nic" plug
		works_again "$nic" "$nic plugged: it carries frames again"
	done
}

# disturb BREAK MEND: the NICs in turn, until `calm_down`.
disturb() {
	: >"$work/disturbing"
	(
		while [ -e "$work/disturbing" ]; do
			for nic in gam0 gam1; do
				$1 $nic
				sleep 0.2
				$2 $nic
				sleep 0.2
			done
		done
	) &
	disturber=$!
}

calm_down() {
	rm -f "$work/disturbing"
	wait "$disturber"
}
