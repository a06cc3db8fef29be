# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154
#
# Two subnets: hosts with an odd number are on the first, the others on the second, each with a
# bridge of its own, and a router between them that is a network namespace. Sourced by lab.

router_ns() { printf 'gl-%s-rt' "$name"; }

# The second byte of the addresses of NIC $2 of host $1: 78 (79 in the second subnet), then 81 and on.
data_net() {
	if [[ $2 != 0 ]]; then
		echo $((80 + $2))
	elif [[ $subnets = 2 ]]; then
		echo $((79 - $1 % 2))
	else
		echo 78
	fi
}

data_address() { echo "10.$(data_net "$1" "$2").0.$1"; }

data_address6() { echo "fd00:$(data_net "$1" "$2")::$1"; }

# The bridge that the cable of host $1's NIC $2 ends in.
data_bridge() {
	if [[ $2 != 0 && $one_switch = 0 ]]; then
		echo "data-gam$2"
	elif [[ $subnets = 2 && $(($1 % 2)) = 0 ]]; then
		echo data2
	else
		echo data
	fi
}

# The host's way to the other subnet.
data_route() {
	[[ $subnets = 2 ]] || return 0
	local net
	net=$(data_net "$1" 0)
	echo "route add 10.$((157 - net)).0.0/24 via 10.$net.0.254"
	[[ $ipv6 = 0 ]] || echo "route add fd00:$((157 - net))::/64 via fd00:$net::fe dev gam0"
}

# The second bridge and the router's two cables: commands in the switch's namespace.
router_commands() {
	echo "link add name data2 type bridge stp_state 0 forward_delay 0 mcast_snooping 0"
	echo "link set dev data2 mtu $mtu up"
	echo "link add name r1 mtu $mtu type veth peer name net1 mtu $mtu netns $(router_ns)"
	echo "link add name r2 mtu $mtu type veth peer name net2 mtu $mtu netns $(router_ns)"
	echo "link set dev r1 master data up"
	echo "link set dev r2 master data2 up"
}

# Runs in the router's namespace, through "lab __router".
cmd_router_up() {
	load_lab
	ipv6_off
	ipv6_on net1 net2
	ip -batch - <<-END
	link set dev lo up
	address add 10.78.0.254/24 dev net1
	address add 10.79.0.254/24 dev net2
	$([[ $ipv6 = 0 ]] || printf 'address add fd00:%s::fe/64 dev net%s nodad\n' 78 1 79 2)
	link set dev net1 up
	link set dev net2 up
	END
	data_offloads net1 net2
	echo 1 >/proc/sys/net/ipv4/ip_forward
	[[ $ipv6 = 0 ]] || echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
	echo 0 >/proc/sys/net/ipv4/conf/all/send_redirects
}

# What the router says itself, its ICMP errors, goes by a rule of its own.
set_router_icmp() {
	local rule="pref 10 iif lo blackhole"
	# shellcheck disable=SC2086
	ip -n "$(router_ns)" rule del $rule 2>/dev/null || :
	# shellcheck disable=SC2086
	[[ $1 = on ]] || ip -n "$(router_ns)" rule add $rule
}

# Marks what exceeds a rate, as a router with a virtual queue does: packets that may be marked (ECN),
# both ways together.
set_router_marks() {
	ip netns exec "$(router_ns)" nft -f - <<-END
	add table inet marks
	delete table inet marks
	add table inet marks
	add chain inet marks forward { type filter hook forward priority 0; }
	add chain inet marks beyond
	add rule inet marks forward ip ecn ect0 goto beyond
	add rule inet marks forward ip6 ecn ect0 goto beyond
	add rule inet marks beyond limit rate $1 mbytes/second burst 64 kbytes accept
	add rule inet marks beyond ip ecn set ce
	add rule inet marks beyond ip6 ecn set ce
	END
}

cmd_router() {
	load_lab
	[[ $subnets = 2 ]] || misuse "router: lab $name has one subnet ('up N --subnets 2' makes two)"
	(($#)) || misuse "router needs --mtu, --icmp or --marks"
	while (($#)); do
		case "$1 ${2-}" in
		"--icmp on" | "--icmp off") set_router_icmp "$2" ;;
		"--marks off") ip netns exec "$(router_ns)" nft delete table inet marks ;;
		"--marks "*)
			[[ $2 =~ ^[1-9][0-9]{0,4}$ ]] || misuse "router: '$2' is no number of MB/s, nor off"
			set_router_marks "$2"
			;;
		"--mtu "*)
			{ [[ $2 =~ ^[1-9][0-9]{2,4}$ ]] && (($2 <= mtu)); } ||
				misuse "router: MTU '$2' is not from 100 to $mtu"
			ip -n "$(router_ns)" link set dev net2 mtu "$2"
			;;
		*) misuse "router: unknown option '$1 ${2-}'" ;;
		esac
		shift 2
	done
}
