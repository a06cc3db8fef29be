#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# What a user may call a host and an interface: every kind of name leads to the NIC, and what
# fi_info shows of a NIC is what the system shows. Which NIC is the default.
# Functions are called through check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

need_tool fi_info
query=$abs_top_builddir/fabtests/functional/query
[ -x "$query" ] || bail "fabtests/functional/query is not built: make check builds it"

no_data=61 # FI_ENODATA

# address_is MAC PORT HEX: whether an address, 24 bytes as hexadecimal digits (MAC, port, ...),
# begins with them; PORT may be "any".
address_is() {
	local mac=${1//:/} port=$2 hex=$3
	[ "${hex:0:12}" = "$mac" ] || return 1
	[ "$port" = any ] || [ "${hex:12:4}" = "$(printf %04x "$port")" ]
}

# names TEXT NIC MAC PORT ARGUMENT...: query, as a destination or (-s) as a source, is answered
# first with that interface and an address of that MAC and port.
names() {
	local text=$1 nic=$2 mac=$3 port=$4 provider type domain source dest
	shift 4
	if on node01 "$query" -p gamma -t rdm -a "$@" >"$work/out" 2>&1 </dev/null; then
		read -r provider type domain source dest < <(grep '^gamma' "$work/out")
		[[ " $* " != *" -s "* ]] || dest=$source
		if [ "$provider $type $domain" = "gamma RDM $nic" ] &&
			address_is "$mac" "$port" "$dest"; then
			ok "$text"
			return
		fi
	fi
	not_ok "$text (wanted $nic, $mac, port $port)" "$work/out"
}

# unknown TEXT PATTERN ARGUMENT...: -FI_ENODATA, and one line with the reason.
unknown() {
	local text=$1 pattern=$2 status=0
	shift 2
	on node01 "$query" -p gamma "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	if [ "$status" -eq "$no_data" ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
		grep -Eq -- "^gamma: .*$pattern" "$work/err"; then
		ok "$text"
	else
		not_ok "$text (exit $status)" "$work/out" "$work/err"
	fi
}

lab_up 2 --mtu 9000
mac1=$(data_mac 1)
mac2=$(data_mac 2)
mgt_mac() { lab exec "$1" cat /sys/class/net/mgt0/address; }
mgt1=$(mgt_mac node01)
mgt2=$(mgt_mac node02)

# ---- destinations ----

names "an IPv4 address, by ARP" gam0 "$mac2" 7001 -n "$(data_ip 2)" -P 7001
names "an IPv4 address of the other network" mgt0 "$mgt2" 7001 -n "$(mgt 2)" -P 7001
names "the own IPv4 address" gam0 "$mac1" 7001 -n "$(data_ip 1)" -P 7001
names "a number, and nothing else" gam0 "$mac2" 7001 -N -n "$(data_ip 2)" -P 7001
names "a MAC, and no name" gam0 "$mac2" 7001 -N -n "$mac2" -P 7001
names "an address as text" gam0 "$mac2" 7001 -N -n "fi_addr_gamma://$mac2:7001/0000beef"
names "the own one" gam0 "$mac1" 7001 -n "fi_addr_gamma://$mac1:7001"
names "the other NIC's" mgt0 "$mgt1" 7001 -s -n "fi_addr_gamma://$mgt1:7001"
unknown "text with a port besides" "without a service" -n "fi_addr_gamma://$mac2:7001" -P 7001
unknown "a name where a number is to be" FI_NUMERICHOST -N -n node02 -P 7001
names "a name of gamma.conf" gam0 "$mac2" 7001 -n node02 -P 7001
names "in capitals" gam0 "$mac2" 7001 -n NODE02 -P 7001
names "with its domain" gam0 "$mac2" 7001 -n node02.cluster.example -P 7001
names "the own name" gam0 "$mac1" 7001 -n node01 -P 7001
names "a name of /etc/hosts only" gam0 "$mac2" 7001 -n node02-d -P 7001
names "a MAC address" gam0 "$mac2" 7001 -n "$mac2" -P 7001
names "a MAC address that nobody has" gam0 02:47:41:4d:00:63 7001 -n 02:47:41:4d:00:63 -P 7001
names "this host, by its loopback address" gam0 "$mac1" 7001 -n 127.0.0.1 -P 7001
names "no port" gam0 "$mac2" 0 -n node02
names "the highest port" gam0 "$mac2" 65535 -n node02 -P 65535

# ---- sources ----

names "the source by IPv4 address" gam0 "$mac1" 7001 -s -n "$(data_ip 1)" -P 7001
names "the source by the other IPv4 address" mgt0 "$mgt1" 7001 -s -n "$(mgt 1)" -P 7001
names "the source by name" gam0 "$mac1" 7001 -s -n node01 -P 7001
names "the source by MAC address" gam0 "$mac1" 7001 -s -n "$mac1" -P 7001
names "the source by interface" mgt0 "$mgt1" 7001 -s -n mgt0 -P 7001
names "the source's port alone" gam0 "$mac1" 7001 -s -P 7001
names "no source at all" gam0 "$mac1" any -s
check "fi_info takes nodes and ports" on node01 fi_info -p gamma -n node02 -P 7001
check "fi_info takes a source" on node01 fi_info -p gamma -s "$(data_ip 1)" -P 7001

# ---- what cannot be resolved ----

unknown "a node that nobody knows" "node 'nobody' is no MAC, interface, host of" -n nobody -P 7001
unknown "an IPv4 address that does not answer" "10.78.0.99 does not answer to ARP" -n 10.78.0.99
unknown "an IPv4 address without a route" "8.8.8.8 is not on an Ethernet" -n 8.8.8.8
on node01 ip route add 198.51.100.0/24 via "$(data_ip 2)"
unknown "an IPv4 address behind a router" \
	"198.51.100.7 is behind a router.*do not cross: set FI_GAMMA_LINK=udp" -n 198.51.100.7
unknown "a source that is another host's" "source .* is not an address of" -s -n "$(data_ip 2)"
unknown "a source of another's MAC" "no interface of this host has MAC" -s -n "$mac2"
unknown "a multicast MAC" "multicast or zero MAC" -n 01:00:5e:00:00:01
unknown "the loopback interface" "lo is the loopback" -s -n lo
unknown "a port that is a word" "service 'http' is no port" -n node02 -P http
unknown "a port too high" "service '65536' is no port" -n node02 -P 65536
unknown "port 0" "service '0' is no port" -n node02 -P 0
unknown "a port without a node" "a destination needs a node" -P 7001
unknown "a domain that does not exist" "domain gam7: .*no such interface" -d gam7
unknown "a source on another interface" "no one interface has" -d mgt0 -s -n gam0
fi_info_refuses() {
	[[ $(on node01 fi_info -p gamma -n nobody 2>&1 | tail -n 1) == "fi_getinfo: -$no_data"* ]]
}
check "fi_info: an unknown node" fi_info_refuses

# ---- what fi_info shows of an interface ----

on node01 fi_info -p gamma -t FI_EP_RDM -d gam0 -v >"$work/out" 2>&1 || true
speed=$(lab exec node01 cat /sys/class/net/gam0/speed)
shows() {
	check "fi_info -v shows the $1" grep -Eq "^ +$2\$" "$work/out"
}
shows "domain" "name: gam0"
shows "MAC address" "address: $mac1"
shows "MTU" "mtu: 9000"
shows "speed in bits per second" "speed: ${speed}000000"
shows "link's state" "state: FI_LINK_UP"
shows "network" "network_type: Ethernet"
shows "driver" "driver: veth"
on node01 fi_info -p gamma -t FI_EP_DGRAM -d gam0 -v >"$work/out" 2>&1 || true
largest=$(sed -n 's/^ *max_msg_size: //p' "$work/out")
check "a datagram fills a frame" test "$largest" -gt 8900 -a "$largest" -lt 9000

# ---- the default interface ----

default_is() {
	local text=$1 nic=$2 first
	shift 2
	first=$(on node01 env "$@" "$query" -p gamma -t rdm | sed -n 's/^gamma RDM //p' | head -n 1)
	if [ "$first" = "$nic" ]; then
		ok "$text"
	else
		not_ok "$text (it is $first, not $nic)"
	fi
}
order() {
	on node01 "$query" -p gamma -t rdm | sed -n 's/^gamma RDM //p' | tr '\n' ' '
}
: >"$work/none.conf"
printf 'node01 %s\nnode02 %s\n' "$mgt1" "$mgt2" >"$work/mgt.conf"
default_is "the interface that gamma.conf lists" gam0 "FI_GAMMA_IFACE="
check "the others follow" test "$(order)" = "gam0 mgt0 "
default_is "gamma.conf decides, whatever the MTU" mgt0 "FI_GAMMA_CONF=$work/mgt.conf"
default_is "FI_GAMMA_IFACE decides against gamma.conf" mgt0 FI_GAMMA_IFACE=mgt0
default_is "without gamma.conf the larger MTU" gam0 "FI_GAMMA_CONF=$work/none.conf"
lab exec node01 ip link set gam0 mtu 1400
default_is "without gamma.conf the larger MTU, now of mgt0" mgt0 "FI_GAMMA_CONF=$work/none.conf"
default_is "gamma.conf's interface with a small MTU" gam0 "FI_GAMMA_IFACE="
lab exec node01 ip link set gam0 mtu 1500
default_is "of equals the first by name" gam0 "FI_GAMMA_CONF=$work/none.conf"
lab cable node01 pull >/dev/null
default_is "not one without carrier" mgt0 "FI_GAMMA_IFACE="
lab cable node01 plug >/dev/null

finish
