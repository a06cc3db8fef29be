#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# gamma-discover in a virtual cluster of four hosts: finds them, writes gamma.conf, and names the
# host that loses frames, is slow, set up differently, misnamed or silent. Started by `make check`;
# by hand abs_top_builddir names the build folder, if it is not the current one.
# Functions are called through check; what stands in single quotes is jq's:
# shellcheck disable=SC2016,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

tool=$abs_top_builddir/tools/gamma-discover
need_tool jq
[ -x "$tool" ] || bail "tools/gamma-discover is not built under $abs_top_builddir"
[ -x "$abs_top_builddir/gammad/gammad" ] || skip "gammad is not built: it needs clang and libbpf"

# discovers TEXT STATUS PATTERN ARGUMENT...: on node01; ends so and writes a line that matches.
discovers() {
	local text=$1 expected=$2 pattern=$3 status=0
	shift 3
	on node01 timeout -k 2 120 "$tool" "$@" >"$work/found" 2>&1 </dev/null || status=$?
	if [ "$status" -eq "$expected" ] && grep -Eq -- "$pattern" "$work/found"; then
		ok "$text"
	else
		not_ok "$text (exit $status, wanted $expected and $pattern)" "$work/found"
	fi
}

# Of --check alone what it finds; other findings may be those of a busy machine.
finds() { # TEXT PATTERN ARGUMENT...
	discovers "$1" 1 "$2" --check --own-paths --wait 0.3 "${@:3}"
}

lab_up 4 --mtu 9000
node03=$(data_mac 3)

# ---- wrong usage, and nobody answers ----

discovers "a word too many" 2 "^gamma-discover: 'more' is one word too many" more
discovers "a bad number" 2 '^gamma-discover: --wait x: must be a number of seconds' --wait x
discovers "an unknown interface" 2 '^gamma-discover: this host has no interface gam7' --iface gam7
none() { on node01 unshare --net "$tool"; }
check_fails "a host without a NIC" '^gamma-discover: .*no usable|^gamma-discover: ' none
discovers "nobody has gammad" 0 '^node01 .*this host' --wait 0.1
finds "the hosts of gamma.conf do not answer" '^node03 .*does not answer'
check "this host has no gammad" grep -q '^node01 .*: no gammad' "$work/found"

# ---- all answer ----

on node01 sh -c 'cp /etc/gamma.conf /etc/gamma.lab; rm /etc/gamma.conf'
lab gammad start >/dev/null || { not_ok "gammad starts" && finish; }
discovers "all hosts are found without a file" 0 \
	"^node03 +$node03 gam0 +10 Gbit/s +9000 [0-9.]+ +1 +0/72 9000 pass +[0-9.]+$"
check "four hosts" [ "$(grep -c '^node0[1-4] ' "$work/found")" -eq 4 ]
closed() { # its output: what it prints must not go into a socket
	local status=0
	on node01 sh -c "exec '$tool' --wait 0.2 <&- >&-" 2>"$work/found" || status=$?
	[ "$status" -eq 2 ] && grep -Eqx 'gamma-discover: the output is incomplete(: Bad file descriptor)?' "$work/found"
}
check "a closed standard output" closed
discovers "JSON" 0 '"host": "node02"' --json
check "it is JSON" jq -e 'length == 4 and all(.full_frame_passes or .self) and
	all(.release | test("^[0-9.]+$"))' "$work/found"

# ---- gamma.conf ----

discovers "gamma.conf is written" 0 '^\+node02 +02:47:41:4d:00:02$' --write --wait 0.3
discovers "twice is the same" 0 '/etc/gamma.conf is up to date' --write --wait 0.3
on node01 sh -c 'echo "node09 02:47:41:4d:00:99" >>/etc/gamma.conf; echo "# mine" >>/etc/gamma.conf'
discovers "a file is not replaced without --yes" 1 '^-# mine$' --write --wait 0.3
check "it was not" on node01 grep -q '^# mine' /etc/gamma.conf
discovers "it is with --yes" 0 '/etc/gamma.conf is written' --write --yes --wait 0.3
check "a host that does not answer stays" on node01 grep -q '^node09 .*:99$' /etc/gamma.conf
on node01 sh -c 'mkdir -p /tmp/shared && mv /etc/gamma.conf /tmp/shared/ && chmod 640 /tmp/shared/gamma.conf &&
	echo "# mine" >>/tmp/shared/gamma.conf && ln -s /tmp/shared/gamma.conf /tmp/linked.conf'
discovers "a symbolic link stays" 0 '/tmp/linked.conf is written' --conf /tmp/linked.conf --write --yes --wait 0.3
check "the file behind it is replaced, with its mode" on node01 sh -c '[ -L /tmp/linked.conf ] &&
	! grep -q mine /tmp/shared/gamma.conf && [ "$(stat -c %a /tmp/shared/gamma.conf)" = 640 ]'
on node01 sh -c 'mv /tmp/shared/gamma.conf /etc/ && chmod 644 /etc/gamma.conf'
discovers "--yes without --write" 2 '^gamma-discover: --yes answers the question that --write asks' --yes
discovers "another file" 0 '/tmp/new.conf is written' --conf /tmp/new.conf --write --wait 0.3
check "the provider reads it" on node01 env FI_GAMMA_CONF=/tmp/new.conf fi_info -p gamma
finds "the silent host is named" '^node09 .*does not answer'
on node01 sh -c 'sed -i "/node09/d; s/node03 .*/node03 02:47:41:4d:00:77/" /etc/gamma.conf'
finds "a wrong MAC in gamma.conf" "^node03 \($node03\): /etc/gamma.conf has 02:47:41:4d:00:77 for it"
discovers "which --write corrects" 0 "^\+node03 +$node03" --write --yes --wait 0.3

# ---- ordinary users ----

as_user() { lab run labuser node02 timeout -k 2 120 "$tool" "$@"; }
copy_conf() { on node01 cat /etc/gamma.conf | on node02 tee /etc/gamma.conf; }
check "the file for all" copy_conf
check "an ordinary user asks through gammad" as_user
as_user --json >"$work/found" 2>&1 || true
check "and sees the others" jq -e '[.[] | select(.gammad and .full_frame_passes)] | length == 3' \
	"$work/found"

# ---- what is wrong is named ----

lab impair node03 --loss 8
finds "loss" '^node03 .*% of the frames are lost'
check "of that host alone" [ "$(grep -c 'frames are lost' "$work/found")" -eq 1 ]
lab impair node03 off
lab impair node03 --loss 1
finds "a switch port at 1 % loss" '^node03 .*% of the frames are lost'

# All hosts measure all others, and their results make one table.
measure_all() {
	local host pids=()
	: >"$work/results"
	for host in node01 node02 node03 node04; do
		on "$host" timeout -k 2 120 "$tool" --check --own-paths --json --wait 0.3 2>&1 </dev/null |
			sed "s/^/$host: /" >"$work/result.$host" &
		pids+=($!)
	done
	wait "${pids[@]}" || true
	cat "$work"/result.* | on node01 "$tool" --merge - >"$work/found" || return 0
}
for host in node02 node03 node04; do on node01 cat /etc/gamma.conf | on "$host" tee /etc/gamma.conf >"$work/conf"; done
# On a loaded machine a host that gets no processor loses frames of its own.
for _ in 1 2 3; do
	measure_all
	[ "$(grep -c 'are lost' "$work/found")" -ne 1 ] || break
done
check "the results of all hosts name the port" grep -Eq \
	'^node03 .*% of the frames on [0-9]+ of its [0-9]+ paths are lost' "$work/found"
check "and no other" [ "$(grep -c 'are lost' "$work/found")" -eq 1 ]
lab impair node03 off
lab impair node04 --delay 3ms
finds "a slow path" '^node04 .*a round trip takes [0-9.]+ us, elsewhere'
lab impair node04 off
on node04 tc qdisc add dev gam0 root tbf rate 100mbit burst 10k limit 524288
finds "a port of 100 Mbit/s" '^node04 .*full frames take [0-9.]+ us longer than small ones, elsewhere'
on node04 tc qdisc del dev gam0 root
on node04 tc qdisc add dev gam0 root tbf rate 20mbit burst 20k limit 524288
finds "a slow link" '^node04 .*full frames take [0-9.]+ us longer than small ones, elsewhere'
on node04 tc qdisc del dev gam0 root
on node02 ip link set gam0 mtu 1500
finds "another MTU" '^node02 .*: MTU 1500, most others 9000'
on node02 ip link set gam0 mtu 9000
on node03 hostname node02
finds "two hosts of one name" "^node02 .*: $node03 has this name, too"
discovers "which are not written" 1 'are both called node02: correct a hostname' --write --yes
on node03 hostname node03
lab impair node01 --loss 8
finds "loss at this host" '^node01 .*frames to 3 of 3 hosts are lost: this host'
lab impair node01 off
# ---- between two other hosts ----

# The switch lets no frame pass between these two ports.
isolate() { nsenter --net="/run/netns/gl-$lab_name-sw" sh -c \
	"bridge link set dev d3 isolated $1 && bridge link set dev d4 isolated $1"; }
check "ports 3 and 4 are kept apart" isolate on
discovers "a path between two others" 1 \
	'^node0[34] .*on the path to node0[34] 100.0 % of the frames are lost' --check --wait 0.3
check "by way of their gammad" grep -q \
	'^paths measured: 3 from this host, 6 between the others, by way of their gammad$' "$work/found"
check "which no host is blamed for" [ "$(grep -Ec "its NIC|this host's NIC" "$work/found")" -eq 0 ]
check "the switch is mended" isolate off
discovers "where to check is said with --check alone" 2 \
	'^gamma-discover: --own-paths says which paths --check measures: add --check' --own-paths

other() { on node01 env FI_GAMMA_ETHERTYPE=0x88b6 "$tool" --wait 0.2; }
check "with another EtherType no host answers" other
other >"$work/found"
check "but this host" [ "$(grep -c '^node' "$work/found")" -eq 1 ]
finish
