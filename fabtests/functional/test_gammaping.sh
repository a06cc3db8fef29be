#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# gammaping in a virtual cluster: each step of the path works, and is named when it is broken.
# Started by `make check`; by hand abs_top_builddir names the build folder, if it is not the
# current one. Functions are called through check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

tool=$abs_top_builddir/tools/gammaping
[ -x "$tool" ] || bail "tools/gammaping is not built under $abs_top_builddir"
need_tool setpriv

# pings TEXT STATUS PATTERN ARGUMENT...: gammaping on node01 ends with that status and writes
# a line that matches.
pings() {
	local text=$1 expected=$2 pattern=$3 status=0
	shift 3
	on node01 timeout -k 2 20 "$tool" "$@" >"$work/ping.out" 2>&1 </dev/null || status=$?
	if [ "$status" -eq "$expected" ] && grep -Eq -- "$pattern" "$work/ping.out"; then
		ok "$text"
	else
		not_ok "$text (exit $status, wanted $expected and $pattern)" "$work/ping.out"
	fi
}

# listen NAME HOST [COMMAND...] [PORT]: until it owns its port.
listen() {
	local name=$1
	start "$name" "$2" 120 "${@:3}"
	wait_for_line "$name" '^listening on' 5 || not_ok "$name listens" "$work/$name.out"
}

lab_up 2 --mtu 9000
node01=$(data_mac 1)
node02=$(data_mac 2)

# ---- wrong usage, and a host that is not set up ----

pings "no host is wrong usage" 2 '^gammaping: a host is missing; gammaping --help shows the usage'
pings "a bad number is refused" 2 'gammaping: -c many: must be a number' -c many "$node02"
pings "an unknown name is refused" 2 '^name +failed +node .nobody.' nobody
pings "an interface twice is refused" 2 '^gammaping: gam0 is named twice' -I gam0,gam0 "$node02"
pings "a comma without a name is refused" 2 '^gammaping: a name is missing beside a comma' -I gam0, "$node02"
pings "an unknown interface is refused" 2 '^nic +failed +.*no interface gam7' -I gam7 "$node02"
without_privilege() {
	local status=0 said
	said=$(on node01 env FI_GAMMA_LINK=packet setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$tool" "$node02" 2>&1) || status=$?
	echo "$said"
	[[ $status = 2 && $said == gammaping:*CAP_NET_RAW*setcap* && $said != *$'\n'* ]]
}
check "without privilege: one line with cause and cure" without_privilege

# ---- nobody answers ----

pings "an Ethernet without an answer" 1 '^lookup +failed +nothing answers: .* 0x88B5' \
	-t 0.3 "$node02"
pings "it may be another release" 1 'gamma of one release' -t 0.3 "$node02"
pings "this host without a program" 1 '^lookup +failed +no gamma program of this host' "$node01"

# ---- a host answers ----

listen server node02 "$tool" -l 7001
pings "a MAC address" 0 '^5 sent, 5 answered, 0 % lost' "$node02"
pings "its port" 0 '^lookup +ok +port 7001, epoch [0-9a-f]{8}, MTU 9000' "$node02" 7001
pings "a name of gamma.conf" 0 '^name +ok +node02 is .* \(/etc/gamma.conf line' -c 1 node02
pings "an IPv4 address" 0 '^name +ok +.*found by ARP' -c 1 "$(data_ip 2)"
pings "jumbo frames pass" 0 '^mtu +ok +frames of 9000 bytes pass' -c 1 "$node02"
pings "large questions" 0 '^2 sent, 2 answered' -i 0 -c 2 -s 8968 "$node02"
pings "questions larger than a frame are refused" 2 'carry at most 8968 bytes' -s 8969 "$node02"
pings "a port that nobody has" 1 '^lookup +failed +.* nobody there has port 7002' \
	-t 0.3 "$node02" 7002
check "which ports have owners" grep -q 'port 7001 of user 0' "$work/ping.out"
pings "quiet: the summary only" 0 '^3 sent' -q -c 3 -i 0.01 "$node02"
check "quiet: one line" [ "$(wc -l <"$work/ping.out")" -eq 1 ]

# ---- another user ----

listen other node02 setpriv --reuid 65534 --regid 65534 --clear-groups \
	--inh-caps +net_raw --ambient-caps +net_raw "$tool" -l 7003
pings "a port of another user" 1 '^lookup +failed +port 7003 belongs to user 65534' "$node02" 7003
pings "of several endpoints the own one" 0 '^lookup +ok +port 7001, .*; 2 endpoints' "$node02"
stop other

# ---- the same host ----

listen samenode node01 "$tool" -l 7004
pings "the same host" 0 '^5 sent, 5 answered' "$node01"
pings "a port of the same host" 0 '^lookup +ok +port 7004, .*\(this one\)' node01 7004
pings "a port that nobody on the host has" 1 'nobody there has port 7005' node01 7005
stop samenode

# ---- a network that is not as it should be ----

lab impair node02 --loss 10 >/dev/null
pings "loss is counted" 1 '^40 sent, [0-9]+ answered, [1-9][0-9.]* % lost' \
	-q -c 40 -i 0 -t 0.5 "$node02"
lab impair node02 off >/dev/null
ip -n "gl-$lab_name-sw" link set dev d2 mtu 1500
pings "a switch without jumbo frames" 1 \
	'^mtu +failed +frames of 9000 bytes do not pass, those of 1500 do' "$node02"
check "small frames are answered all the same" grep -q '^5 sent, 5 answered' "$work/ping.out"
ip -n "gl-$lab_name-sw" link set dev d2 mtu 9000
lab cable node01 pull >/dev/null
pings "no carrier" 2 '^nic +failed +gam0 has no carrier' -I gam0 "$node02"
lab cable node01 plug >/dev/null

# ---- its end ----

listen last node02 "$tool" -l
stop server
check "the listener says what it answered" grep -Eq '^[0-9]+ questions answered' "$work/server.out"
stop last

finish
