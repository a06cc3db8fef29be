#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# gammaping over UDP, IPv4 and IPv6, by an ordinary user without gammad, between two subnets: each
# step of the path works, and what a host or router reports by ICMP is named when it does not.
# Functions are called through check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

tool=$abs_top_builddir/tools/gammaping
[ -x "$tool" ] || bail "tools/gammaping is not built under $abs_top_builddir"
need_tool nft setpriv
lab_up 2 --subnets 2 --ipv6
own=$(lab exec node01 ip -4 -o address show dev gam0 | awk '{ sub("/.*", "", $4); print $4 }')
peer=$(lab exec node02 ip -4 -o address show dev gam0 | awk '{ sub("/.*", "", $4); print $4 }')
own6=fd00:78::1 peer6=fd00:79::2

user=(setpriv --reuid daemon --regid daemon --clear-groups --inh-caps=-all --ambient-caps=-all)

# pings TEXT STATUS PATTERN ARGUMENT...: on node01; it ends so and writes a line that matches.
pings() {
	local text=$1 expected=$2 pattern=$3 status=0
	shift 3
	on node01 "${user[@]}" timeout -k 2 60 "$tool" -t 0.3 -I gam0 "$@" >"$work/ping.out" 2>&1 \
		</dev/null || status=$?
	if [ "$status" -eq "$expected" ] && grep -Eq -- "$pattern" "$work/ping.out"; then
		ok "$text"
	else
		not_ok "$text (exit $status, wanted $expected and $pattern)" "$work/ping.out"
	fi
}

says() { check "$1" grep -Eq -- "$2" "$work/ping.out"; }

# ---- nobody listens ----

pings "nobody has the port: ICMP says so" 1 \
	"^lookup +failed +UDP reaches $peer, but nobody there has port 47593" --udp "$peer"
pings "an address without a host" 1 '^lookup +failed +nothing answers' --udp "${peer%.*}.99"
says "the router says that it is unreachable" '\.254 reports: the host is unreachable.*ICMP type 3'
pings "an address without a route" 2 '^name +failed +.*' --udp 192.0.2.1

# ---- a host listens ----

start server node02 300 "${user[@]}" "$tool" -l -u -I gam0
wait_for_line server "^listening on gam0 $peer port 47593" 5 || not_ok "it listens" "$work/server.out"
pings "it answers" 0 '^5 sent, 5 answered, 0 % lost' --udp "$peer"
says "the NIC" "^nic +ok +gam0 $own, MTU 1500, .* over UDP"
says "the port" '^lookup +ok +port 47593, epoch [0-9a-f]{8}, MTU 1500'
says "full packets pass" '^mtu +ok +packets of 1500 bytes pass'
pings "UDP where nothing else is allowed" 0 'no CAP_NET_RAW and no gammad: over UDP' "$peer"
pings "a port that nobody has" 1 'nobody there has port 47594' -u "$peer" 47594
pings "large questions" 0 '^2 sent, 2 answered' -u -c 2 -s 1440 "$peer"
pings "larger than a packet" 2 'carry at most 1440 bytes' -u -s 1441 "$peer"
gamma_env+=(FI_GAMMA_LINK=packet)
pings "unless the user wants packets alone" 2 'no CAP_NET_RAW, so no raw Ethernet' "$peer"
gamma_env=("${gamma_env[@]/FI_GAMMA_LINK=packet/FI_GAMMA_LINK=udp}")
pings "or UDP" 0 '^5 sent, 5 answered' -i 0 "$peer"
pings "this host" 1 "^name +ok +.*this host, no wire between" -u "$own"

# ---- a path that carries less ----

lab router --mtu 1300
pings "a router with a smaller MTU" 1 \
	'^mtu +failed +packets of 1500 bytes do not pass, those of 1300 do' -u "$peer"
says "which reports it" '254 reports: the datagram is larger than the .*ICMP type 3 code 4'
says "short ones are answered all the same" '^5 sent, 5 answered'
lab router --icmp off
pings "the same in silence" 1 \
	'^mtu +failed +packets of 1500 bytes do not pass, those of 1300 do' -u "$peer"
says "which is named" 'no router reports it: ICMP is filtered'
lab router --mtu 1500 --icmp on

# ---- firewalls ----

# firewall HOST HOOK VERDICT
firewall() {
	lab exec "$1" nft -f - <<-END
		table inet walk {
			chain walk { type filter hook $2 priority 0; udp dport 47593 $3; }
		}
	END
}
firewall node02 input "reject with icmp type admin-prohibited"
pings "a firewall that says so" 1 '^lookup +failed +nothing answers at UDP port 47593' -u "$peer"
says "it is named" "$peer reports: a firewall forbids it.*ICMP type 3 code 13"
lab exec node02 nft delete table inet walk
firewall node02 input drop
pings "a firewall in silence" 1 'a firewall or security group drops UDP in silence' -u "$peer"
lab exec node02 nft delete table inet walk
firewall node01 output drop
pings "a firewall of this host" 1 'could not be sent: Operation not permitted' -u "$peer"
says "and where to look" 'a firewall of this host forbids it: nft list ruleset'
lab exec node01 nft delete table inet walk
stop server
check "the listener says what it answered" grep -Eq '^[0-9]+ questions answered' "$work/server.out"

# ---- IPv6 ----

pings "IPv6: nobody has the port" 1 "nobody there has port 47593: .*gammaping -l -6" -u "$peer6"
start server node02 300 "${user[@]}" "$tool" -l -6 -I gam0
wait_for_line server "^listening on gam0 $peer6 port 47593" 5 ||
	not_ok "IPv6: it listens" "$work/server.out"
pings "an IPv6 address decides for IPv6" 0 '^5 sent, 5 answered, 0 % lost' -u -i 0 "$peer6"
says "IPv6: the NIC" "^nic +ok +gam0 $own6, MTU 1500, .* over UDP"
says "IPv6: the name" "^name +ok +$peer6 is an address"
says "IPv6: the port" '^lookup +ok +port 47593, epoch [0-9a-f]{8}$'
says "IPv6: full packets pass" '^mtu +ok +packets of 1500 bytes pass'
pings "an IPv4 address, with -6" 2 '^name +failed +.*IPv4 address, and gam0 is used with IPv6' \
	-6 "$peer"
pings "a name of IPv6 addresses alone" 0 "^name +ok +node02-6 is $peer6" -u -i 0 node02-6
pings "IPv6: large questions" 0 '^1 sent, 1 answered' -6 -c 1 -s 1420 "$peer6"
pings "IPv6: larger than a packet" 2 'carry at most 1420 bytes' -6 -s 1421 "$peer6"
gamma_env=("${gamma_env[@]/FI_GAMMA_LINK=udp/FI_GAMMA_LINK=udp6}")
pings "FI_GAMMA_LINK=udp6" 0 '^5 sent, 5 answered' -i 0 "$peer6"
pings "IPv6: no route" 2 '^name +failed +2001:db8::1 ' 2001:db8::1
pings "IPv6: link-local without an interface" 2 'is link-local: write the interface' fe80::1
lab router --mtu 1300
pings "IPv6: a router with a smaller MTU" 1 \
	'^mtu +failed +packets of 1500 bytes do not pass, those of 1300 do' "$peer6"
says "IPv6: which reports it" 'fe reports: the datagram is larger than the .*ICMPv6 type 2 code 0'
lab router --mtu 1500
firewall node02 input "reject with icmpv6 type admin-prohibited"
pings "IPv6: a firewall that says so" 1 '^lookup +failed +nothing answers at UDP port 47593' "$peer6"
says "IPv6: it is named" "$peer6 reports: a firewall forbids it.*ICMPv6 type 1 code 1"
lab exec node02 nft delete table inet walk
stop server
finish
