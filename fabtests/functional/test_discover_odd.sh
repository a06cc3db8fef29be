#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# gamma-discover where hosts differ: one without gammad, with another EtherType, another release or
# another version of the protocol; with two NICs, and with none. Started by `make check`; by hand
# abs_top_builddir names the build folder, if it is not the current one.
# What stands in single quotes is jq's:
# shellcheck disable=SC2016,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

tool=$abs_top_builddir/tools/gamma-discover
gammad=$abs_top_builddir/gammad/gammad
need_tool jq python3
[ -x "$tool" ] || bail "tools/gamma-discover is not built under $abs_top_builddir"
[ -x "$gammad" ] || skip "gammad is not built: it needs clang and libbpf"

# serve HOST LINE...: gammad there, with these lines in gammad.conf.
serve() {
	local host=$1
	printf '%s\n' "${@:2}" | on "$host" tee /etc/gammad.conf >"$work/conf"
	start "gammad.$host" "$host" 60 "$gammad"
	wait_for_line "gammad.$host" 'ready at' 20 || not_ok "gammad starts on $host" "$work/gammad.$host.out"
}

odd() { # HOST RELEASE NAME [VERSION]
	start "odd.$1" "$1" 60 python3 -B "$top_srcdir/fabtests/functional/odd_host.py" gam0 "${@:2}"
	wait_for_line "odd.$1" '^ready' 20 || not_ok "an odd host $1" "$work/odd.$1.out"
}

says() { # TEXT PATTERN: of what was found
	if grep -Eq -- "$2" "$work/found"; then ok "$1"; else not_ok "$1 ($2)" "$work/found"; fi
}

lab_up 5 --nics 2
serve node01 'nic gam0 slots 2' 'nic gam1 slots 2'
serve node02 'nic gam0 slots 2' 'ethertype 0x88b6'
start listener node03 60 "$abs_top_builddir/tools/gammaping" -l
odd node04 0.1.0 node04
odd node05 0.2.0 node05 2
wait_for_line listener '^listening' 20 || not_ok "an endpoint on node03" "$work/listener.out"

status=0
on node01 timeout -k 2 60 "$tool" --check --own-paths --wait 0.3 >"$work/found" 2>&1 </dev/null || status=$?
check "something is wrong" [ "$status" -eq 1 ]
says "another EtherType" '^node02 .*does not answer: it is down, has no gammad or another EtherType'
says "no gammad, but an endpoint" '^node03 .*: no gammad: programs of ordinary users use UDP there'
says "another release" '^node04 .*: release 0.1.0, most others [0-9.]+$'
says "another version of the protocol" '^node05 .*: another version of the protocol: install the same release'
check "node01 is not blamed" [ "$(grep -c '^node01 .*: ' "$work/found")" -eq 0 ]
check "nor is it for the network" [ "$(grep -Ec 'lost|slower' "$work/found")" -eq 0 ]

other() { on node01 env FI_GAMMA_ETHERTYPE=0x88b6 "$tool" --json --wait 0.2; }
other >"$work/found" || true
check "with its EtherType that host answers" jq -e 'any(.host == "node02" and .gammad)' "$work/found"

# ---- UDP ----

# Hosts without gammad are reached over UDP by users without rights: no frame of theirs is raw.
status=0
lab run labuser node03 timeout -k 2 20 "$tool" >"$work/found" 2>&1 </dev/null || status=$?
check "without rights and without gammad it does not begin" [ "$status" -eq 2 ]
says "and says why" '^gamma-discover: no CAP_NET_RAW, so no raw Ethernet, and no gammad at '
check "in one line" [ "$(wc -l <"$work/found")" -eq 1 ]
on node01 env FI_GAMMA_LINK=udp6 "$tool" --wait 0.1 >"$work/found" 2>&1 || true
says "over UDP there is nothing to find" '^gamma-discover: FI_GAMMA_LINK=udp6: .*gammaping -6 HOST$'

# ---- two NICs, and none ----

on_nic() { on node03 "$tool" --iface "$1" --json --wait 0.2 >"$work/found"; }
both_nics() {
	on_nic gam0 && jq -e 'any(.host == "node01" and .nic == "gam0")' "$work/found" &&
		on_nic gam1 && jq -e 'any(.host == "node01" and .nic == "gam1")' "$work/found" &&
		jq -e 'all(.host != "node04")' "$work/found"
}
check "each of two NICs is asked on, and answered from" both_nics
status=0
on node01 unshare --net "$tool" >"$work/found" 2>&1 </dev/null || status=$?
check "without a NIC it does not begin" [ "$status" -eq 2 ]
says "and says so in one line" '^gamma-discover: .*(NIC|interface)'
check "in no more" [ "$(wc -l <"$work/found")" -eq 1 ]

finish
