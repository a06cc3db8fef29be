#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# UDP over IPv6: messages of all sizes, in trains, under loss, on one host, through a router; a peer
# whose process is killed; an address that goes and comes back; hosts with IPv6 alone, and with
# link-local addresses alone; names and addresses of both versions; jobs that mix them. Functions are
# called through check:
# shellcheck disable=SC2016,SC2119,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source-path=SCRIPTDIR source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"
# shellcheck source-path=SCRIPTDIR source=udp.sh
. "$top_srcdir/fabtests/functional/udp.sh"

query=$abs_top_builddir/fabtests/functional/query
ping=$abs_top_builddir/tools/gammaping

# leads_to TEXT DOMAIN HEX ARGUMENT...: query is answered first with that domain and a destination
# that begins with those digits.
leads_to() {
	local text=$1 domain=$2 hex=$3 found='' dest=''
	shift 3
	on node01 "$query" -p gamma -t rdm -a "$@" >"$work/out" 2>&1 </dev/null || :
	read -r _ _ found _ dest < <(grep '^gamma' "$work/out") || :
	if [[ $found = "$domain" && $dest = "$hex"* ]]; then ok "$text"; else not_ok "$text" "$work/out"; fi
}

refused() { # TEXT PATTERN ARGUMENT...
	local text=$1 pattern=$2
	shift 2
	check_fails "$text" "$pattern" on node01 "$query" -p gamma -t rdm "$@"
}

# ---- both versions ----

for mtu in 1500 9000; do
	lab_up 2 --mtu $mtu --offloads --ipv6
	[ -n "${own_env[*]}" ] || own_env=("${gamma_env[@]}")
	share_provider
	check "$mtu: IPv4 is preferred" [ "$(domains)" = gam0-udp ]
	gamma_env+=(FI_GAMMA_LINK=udp6)
	check "$mtu: udp6 asks for IPv6" [ "$(domains)" = gam0-udp6 ]
	pingpong "$mtu, reliable, all sizes" -e rdm -c -S all -I 5
	counted_clean "$mtu, reliable, all sizes"
	pingpong "$mtu, datagrams" -c -S 1000 -I 100
	pingpong "$mtu, long messages" -e rdm -S 1048576 -I 20
	counted_clean "$mtu, long messages"
	counted "$mtu, trains" 'all(.send_calls < .frames_out / 3)'
	[ $mtu = 9000 ] || lab_down
done
client_host=node01
pingpong "one host" -e rdm -c -S all -I 5
counted_clean "one host"
counted "one host: shared memory" 'any(.tx_shm_inline > 0)'
client_host=node02

lab impair node02 --loss 1 --ethertype 0x86DD
pingpong "1 % of the datagrams lost" -e rdm -c -S 100000 -I 50
counted "they are sent again" 'any(.retransmissions > 0)'
lab impair node02 off

# ---- names and addresses ----

six=fd0000780000 # the first six bytes; the others stand in place of MTU and host
gamma_env+=(FI_GAMMA_LINK=udp)
leads_to "a name of an IPv6 address alone" gam0-udp6 $six -n node02-6 -P 7001
leads_to "an IPv6 address" gam0-udp6 $six -n "$(data_ip6 2)" -P 7001
leads_to "an IPv4 address" gam0-udp 02040a4e0002 -n "$(data_ip 2)" -P 7001
leads_to "an address as text" gam0-udp6 $six -n "fi_addr_gamma://[$(data_ip6 2)]:7001/0000beef"
leads_to "the own IPv6 address as source" gam0-udp6 "" -s -n "$(data_ip6 1)" -P 7001
leads_to "a domain over IPv6" gam0-udp6 $six -d gam0-udp6 -n node02-6 -P 7001
refused "a domain over IPv4, a node with IPv6" "FI_GAMMA_LINK=udp6 on all hosts" -d gam0-udp \
	-n node02-6 -P 7001
refused "link-local without an interface" "is link-local: write the interface" -n fe80::1 -P 7001
refused "an IPv6 group as a host" "is not the address of one host" -n ff02::1 -P 7001
refused "no route" "is not on an Ethernet" -n 2001:db8::1 -P 7001
gamma_env+=(FI_GAMMA_LINK=udp6)
refused "IPv6 asked for, a node with IPv4" "is an IPv4 address, and gam0 is used with IPv6" \
	-n "$(data_ip 2)" -P 7001

# ---- ends, and mixtures ----

gamma_env+=("FI_GAMMA_STATS=$work/stats")
start_exchange
signal server KILL
check "killed: its peer gets an error" wait_for_line client '^lost: .* has closed its endpoint' 10
stop server
end_lost client
counted "by ICMP" 'any(.unreachable > 0) and all(.peer_timeouts == 0)'
exchange "the next run works" 8

# The address of one host goes, and comes back: one line, and nothing is lost.
away() { # TEXT ADDRESS/PREFIX
	start_exchange
	lab exec node02 ip address del "$2" dev gam0
	check "$1: one line says so" wait_for_line client "${2%/*} was removed from this host" 15
	lab exec node02 ip address add "$2" dev gam0 nodad
	check "$1: once" [ "$(grep -c 'was removed from this host' "$work/client.out")" = 1 ]
	end_exchange "$1, and back"
}
away "an IPv6 address goes" "$(data_ip6 2)/64"
gamma_env+=(FI_GAMMA_LINK=udp)
away "an IPv4 address goes" "$(data_ip 2)/24"
gamma_env+=(FI_GAMMA_LINK=udp6)

gamma_env+=(FI_GAMMA_LINK=udp)
start server node01 30 fi_pingpong -p gamma -e rdm
wait_for_port node01 47592 5 || not_ok "the server listens" "$work/server.out"
gamma_env+=(FI_GAMMA_LINK=udp6)
check_fails "different versions: an error that says so" "UDP over IPv4, and this .* over IPv6: set the same" \
	on node02 timeout 20 fi_pingpong -p gamma -e rdm "$(mgt 1)"
stop server

# ---- hosts with IPv6 alone ----

gamma_env+=(FI_GAMMA_LINK=any "FI_GAMMA_STATS=$shared/stats")
for host in node01 node02; do lab exec $host ip -4 address flush dev gam0; done
check "without IPv4 the domains are over IPv6" [ "$(domains)" = gam0-udp6 ]
pingpong "hosts with IPv6 alone" -e rdm -c -S all -I 2
counted_clean "hosts with IPv6 alone"
for host in node01 node02; do lab exec $host ip -6 address flush dev gam0 scope global; done
pingpong "link-local addresses alone" -e rdm -c -S all -I 2
counted_clean "link-local addresses alone"
local6=$(lab exec node01 ip -6 -o address show dev gam0 | awk '{ sub("/.*", "", $4); print $4 }')
start server node01 30 "${user[@]}" "$ping" -l
wait_for_line server "^listening on gam0 $local6%gam0 port 47593" 5 ||
	not_ok "gammaping listens there" "$work/server.out"
check "gammaping between link-local addresses" \
	on node02 "${user[@]}" timeout -k 2 20 "$ping" -i 0 "$local6%gam0"
stop server
for host in node01 node02; do lab exec $host ip -6 address flush dev gam0; done
check_fails "no address at all" "gam0 has no IP address, which UDP needs" \
	on node01 "${user[@]}" fi_info -p gamma
lab_down

# ---- through a router ----

lab_up 2 --offloads --ipv6 --subnets 2
share_provider
gamma_env+=(FI_GAMMA_LINK=udp6)
pingpong "through a router" -e rdm -c -S all -I 2
lab router --mtu 1400
pingpong "that carries less than the NICs" -e rdm -c -S 1000000 -I 5
counted "frames arrive whole" 'all(.malformed == 0)'
finish
