# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2015
#
# The data NICs of a host: gam0, and with "up --nics N" gam1 and on. Each has its MTU and its rate,
# a segment of its own (or one switch for all), and a folder for its impairment. Sourced by lab.

max_nics=4 # as many as a flow has rails

nic_name() { echo "gam$1"; }

nic_mac() { printf '02:47:41:4d:%02x:%02x' "$2" "$1"; }

nic_mtu() { echo "${mtus[$1]:-$mtu}"; }

nic_rate() { echo "${rates[$1]:-$rate}"; }

# What names the switch's devices of NIC $2 of host $1: d1 and m1 are host 1's cables, d1n1 that of
# its gam1.
port_name() {
	if [[ $2 = 0 ]]; then echo "$1"; else echo "$1n$2"; fi
}

# The folder with what is known of NIC $2 of host $1.
nic_state() {
	if [[ $2 = 0 ]]; then
		echo "$state/$(host_name "$1")"
	else
		echo "$state/$(host_name "$1")/$(nic_name "$2")"
	fi
}

# "node01", and "node01.gam1" for its second NIC.
nic_label() {
	if [[ $2 = 0 ]]; then host_name "$1"; else echo "$(host_name "$1").$(nic_name "$2")"; fi
}

# The names of all NICs of a host.
nic_names() {
	local i
	for ((i = 0; i < nics; i++)); do nic_name "$i"; done
}

# The switch's ports of NIC $1, one per line.
nic_ports() {
	local i
	for ((i = 1; i <= hosts; i++)); do echo "d$(port_name "$i" "$1")"; done
}

# Sets host and nic to what "node01.gam1" names, or "node01", which means its gam0.
find_nic() {
	nic=0
	if [[ $1 = *.* ]]; then
		[[ ${1#*.} =~ ^gam([0-9])$ ]] && nic=${BASH_REMATCH[1]} && ((nic < nics)) ||
			misuse "no NIC '${1#*.}' in lab $name: hosts have $(nic_names | xargs)"
	fi
	find_host "${1%%.*}"
}

# Reads "gam1=VALUE" of option $1 into the list named $2, or "VALUE" into the variable named $3.
# shellcheck disable=SC2034 # they are references
parse_nic_value() {
	local -n list=$2 single=$3
	if [[ $4 != *=* ]]; then
		single=$4
		return
	fi
	[[ ${4%%=*} =~ ^gam([0-9])$ && -n ${4#*=} ]] ||
		misuse "up: $1 '$4' is not a value or gam0= to gam$((max_nics - 1))= and a value"
	list[BASH_REMATCH[1]]=${4#*=}
}

check_nics() {
	local i
	[[ $nics =~ ^[1-9]$ ]] && ((nics <= max_nics)) ||
		misuse "up: '$nics' NICs: 1 to $max_nics"
	for i in "${!mtus[@]}" "${!rates[@]}"; do
		((i < nics)) || misuse "up: $(nic_name "$i") has a value, but --nics is $nics"
	done
	if [[ $nics = 1 ]]; then
		mtu=$(nic_mtu 0) rate=$(nic_rate 0) mtus=() rates=()
	fi
	[[ $one_switch = 0 || $nics -gt 1 ]] || misuse "up: --one-switch needs --nics"
	[[ $nics = 1 || $subnets = 1 ]] || misuse "up: --nics and --subnets exclude each other"
	[[ $one_switch = 0 || $b2b = 0 ]] || misuse "up: --one-switch and --b2b exclude each other"
	for i in "$mtu" "${mtus[@]}"; do check_mtu "$i"; done
	for i in ${rate:+"$rate"} "${rates[@]}"; do check_rate "$i"; done
}

# The bridge of all NICs that have none of their own carries what the largest of them sends.
bridge_mtu() {
	local i largest
	largest=$(nic_mtu 0)
	for ((i = 1; i < nics * one_switch; i++)); do
		(($(nic_mtu "$i") <= largest)) || largest=$(nic_mtu "$i")
	done
	echo "$largest"
}

# Whether any NIC has a rate.
is_shaped() { [[ -n $rate || ${#rates[@]} -gt 0 ]]; }

# Segments of the NICs behind the first: commands in the switch's namespace.
segment_commands() {
	local i bridge='type bridge stp_state 0 forward_delay 0 mcast_snooping 0'
	[[ $one_switch = 0 && $b2b = 0 ]] || return 0
	for ((i = 1; i < nics; i++)); do
		echo "link add name data-gam$i $bridge"
		echo "link set dev data-gam$i mtu $(nic_mtu "$i") up"
	done
}

# The cable of host $1's NIC $2 to the switch.
cable_commands() {
	local port size
	port=d$(port_name "$1" "$2") size=$(nic_mtu "$2")
	echo "link add name $port mtu $size type veth peer name $(nic_name "$2") mtu $size" \
		"address $(nic_mac "$1" "$2") netns $(host_ns "$1")"
	echo "link set dev $port master $(data_bridge "$1" "$2") up"
}

# The cables of NIC $1 of all hosts.
nic_commands() {
	local i gam size
	gam=$(nic_name "$1") size=$(nic_mtu "$1")
	if [[ $b2b = 1 ]]; then
		echo "link add name $gam mtu $size address $(nic_mac 1 "$1") netns $(host_ns 1)" \
			"type veth peer name $gam mtu $size address $(nic_mac 2 "$1") netns $(host_ns 2)"
		return
	fi
	for ((i = 1; i <= hosts; i++)); do cable_commands "$i" "$1"; done
}

# In the switch's namespace: shapers and limits of the ports of NIC $1 that follow.
set_up_ports() {
	local port k=$1
	shift
	for port in "$@"; do
		[[ -z $(nic_rate "$k") ]] || echo "qdisc add dev $port root $(shaper "$k")"
	done | tc -batch -
	if [[ $multicast != flood ]]; then
		for port in "$@"; do limit_multicast "$port" "$k"; done
	fi
	data_offloads "$@"
}

# Inside host $1: its NIC's addresses.
nic_addresses() {
	echo "address add $(data_address "$1" "$2")/24 dev $(nic_name "$2")"
	[[ $ipv6 = 0 ]] ||
		echo "address add $(data_address6 "$1" "$2")/64 dev $(nic_name "$2") nodad"
	echo "link set dev $(nic_name "$2") up"
}

# On one segment a host's NICs hear each other's ARP: each answers for its own addresses only.
separate_arp() {
	[[ $one_switch = 1 ]] || return 0
	echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
	echo 2 >/proc/sys/net/ipv4/conf/all/arp_announce
}

# Runs in the switch's namespace, through "lab __switch_port".
cmd_switch_port() {
	load_lab
	cable_commands "$1" "$2" | ip -batch -
	set_up_ports "$2" "d$(port_name "$1" "$2")"
}

has_nic() { ip -n "$(host_ns "$1")" link show dev "$(nic_name "$2")" >/dev/null 2>&1; }

# As with a driver that is unloaded and loaded again: the interface goes, and comes back with another
# index. Its impairment ends.
cmd_nic() {
	local folder present=1
	[[ $# = 2 && $2 = @(remove|restore) ]] || misuse "nic needs a host's NIC and 'remove' or 'restore'"
	load_lab
	find_nic "$1"
	[[ $b2b = 0 ]] || misuse "nic: lab $name is back to back, and a NIC goes together with its peer"
	has_nic "$host" "$nic" || present=0
	if [[ $2 = remove ]]; then
		((present)) || die "$(nic_label "$host" "$nic") is removed already"
		folder=$(nic_state "$host" "$nic")
		[[ ! -s $folder/impair ]] || { find_programs && end_impairment "$host" "$nic"; }
		ip -n "$(host_ns "$host")" link del dev "$(nic_name "$nic")"
		[[ $multicast != rate=* ]] ||
			ip -n "$(switch_ns)" link del dev "xd$(port_name "$host" "$nic")"
		return
	fi
	((!present)) || die "$(nic_label "$host" "$nic") is there"
	in_net "$(switch_ns)" "$here/lab" -n "$name" __switch_port "$host" "$nic"
	(become "$host" "$here/lab" -n "$name" __nic_host "$host" "$nic")
}
