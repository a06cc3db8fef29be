#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# UDP of ordinary users' programs where something is in the way: a busy port, a firewall, network
# address translation. Each is one line with cause and cure. Other tests have the rest: test_udp.sh
# links that differ, test_udp_ipv6.sh addresses that are missing or removed, unit/test_udp.c small
# receive buffers and refused segmentation. Functions are called through check:
# shellcheck disable=SC2016,SC2119,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source-path=SCRIPTDIR source=udp.sh
. "$top_srcdir/fabtests/functional/udp.sh"
need_tool nft
latency=$abs_top_builddir/fabtests/benchmarks/gamma-latency
[ -x "$latency" ] || bail "$latency is not built (make check builds it)"

# filter HOST RULES: of nft, until the next call; without rules none.
filter() {
	lab exec "$1" nft -f - <<-END
		add table ip faults
		delete table ip faults
		$2
	END
}

# An ordinary user's program; the program's own folder may not be readable to it.
run() { # HOST OPTION...
	on "$1" "${user[@]}" timeout 20 "$shared/gamma-latency" -p gamma -n 10 "${@:2}"
}

serve() { # PORT [OPTION...]
	start server node01 60 "${user[@]}" "$shared/gamma-latency" -p gamma -s -P "$@"
	until_true 10 lab exec node01 grep -q ":$(printf %04X "$1") " /proc/net/udp ||
		not_ok "the server's endpoint" "$work/server.out"
}

own_line() { # NAME: exactly one line of the provider
	[ "$(grep -c '^gamma: ' "$work/$1.out")" = 1 ]
}

lab_up 2 --offloads
own_env=("${gamma_env[@]}")
share_provider
install -m 755 "$latency" "$shared/gamma-latency"
gamma_env+=(FI_GAMMA_LINK=udp FI_GAMMA_PEER_TIMEOUT=1)

# Of another program, which has it on this address, or on all.
for address in 10.78.0.1 0.0.0.0; do
	start squat node01 60 python3 -c "import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('$address', 7301))
print('bound', flush=True)
time.sleep(60)"
	check "a program has port 7301 of $address" wait_for_line squat bound 10
	check_fails "the port is busy" "gam0: port 7301 is in use by another process: choose another" \
		run node01 -s -P 7301
	stop squat
done

serve 7302
filter node01 'table ip faults { chain in { type filter hook input priority 0; meta l4proto udp drop; }; }'
start client node02 20 "${user[@]}" "$shared/gamma-latency" -p gamma -P 7302 -n 10 10.78.0.1
check "a firewall drops UDP: the client says so" wait_for_line client \
	'nothing heard of it for .* a firewall that drops UDP' 15
check "in one line" own_line client
stop client
filter node01 ''
stop server

# Its datagrams have another source than their frames say.
lab exec node02 ip address add 10.78.0.77/32 dev gam0
filter node02 'table ip faults { chain out { type nat hook postrouting priority 100;
	ip daddr 10.78.0.1 udp dport 7303 snat to 10.78.0.77; }; }'
serve 7303
start client node02 20 "${user[@]}" "$shared/gamma-latency" -p gamma -P 7303 -n 10 10.78.0.1
check "network address translation: the other side says so" wait_for_line server \
	'came from 10.78.0.77 .* \(NAT\) between hosts is not supported' 10
check "in one line" own_line server
stop client
stop server
filter node02 ''
serve 7304 -n 10
check "without any of these it works" run node02 -P 7304 10.78.0.1
stop server
finish
