#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# gamma-discover --check from one of 64 hosts: all paths are measured, and the switch port that loses
# 1 % of the frames is named. Takes minutes. Started by `make check` with GAMMA_TEST_LONG=1; by hand
# abs_top_builddir names the build folder, if it is not the current one.
# What stands in single quotes is jq's:
# shellcheck disable=SC2016
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

need_long
need_tool jq
tool=$abs_top_builddir/tools/gamma-discover
[ -x "$tool" ] || bail "tools/gamma-discover is not built under $abs_top_builddir"
[ -x "$abs_top_builddir/gammad/gammad" ] || skip "gammad is not built: it needs clang and libbpf"
hosts=${GAMMA_TEST_HOSTS:-64}

# checks FILE OPTION...: on node01; what it finds is in FILE, how long it took in $took.
checks() {
	local file=$1 begun=$SECONDS
	shift
	on node01 timeout -k 2 1800 "$tool" --check "$@" >"$file" 2>"$work/err" </dev/null || true
	took=$((SECONDS - begun))
	[ ! -s "$work/err" ] || cat "$work/err"
}

lab_up "$hosts" --mtu 9000
lab gammad start >/dev/null || { not_ok "gammad starts" && finish; }
lab impair node17 --loss 1
checks "$work/found" --json
check "all hosts are found" jq -e --argjson hosts "$hosts" 'length == $hosts' "$work/found"
jq -r '.[] | .host as $host | .findings[] | "\($host): \(.)"' "$work/found" | tee "$work/findings"
check "the port is named" grep -Eq '^node17: .*are lost' "$work/findings"
check "and no other for loss" [ "$(grep -c 'its NIC, cable or switch port' "$work/findings")" -eq 1 ]
lab impair node17 off
checks "$work/table"
paths=$((hosts - 1))
check "all paths are measured, in $took s" grep -q \
	"^paths measured: $paths from this host, $((paths * (paths - 1))) between the others" "$work/table"
finish
