#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# gamma-discover --merge on results that are made up here: of clusters in which one host, one switch
# port, one link between switches or one setting is wrong, as srun and pdsh bring them, damaged, and of
# 64 hosts. Needs no root. Functions are called through check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

tool=$abs_top_builddir/tools/gamma-discover
[ -x "$tool" ] || bail "tools/gamma-discover is not built under $abs_top_builddir"
need_tool jq python3

# The results of COUNT hosts, each measuring all others; what a rule of the arguments changes:
# loss=A:B:N, slow=A:B (a link), trip=A:B, full=A:B, mtu=A:N, release=A:X, silent=A, missing=A, name=A:X;
# B *: all.
cat >"$work/results.py" <<'PYTHON'
import sys

count, rules = int(sys.argv[1]), [rule.replace("=", ":").split(":") for rule in sys.argv[2:]]


def mac(host):
    return f"02:47:41:4d:00:{host:02x}"


def rule(kind, *ends):
    """The last word of the rule for one host, or for a pair in either direction."""
    for words in rules:
        if words[0] != kind:
            continue
        if len(ends) == 1 and words[1] == str(ends[0]):
            return words[-1]
        if len(ends) == 2:
            for one, other in (ends, ends[::-1]):
                if words[1] == str(one) and words[2] in ("*", str(other)):
                    return words[-1]
    return None


def describe(source, host):
    silent = rule("silent", host)
    lost = int(rule("loss", source, host) or 0)
    small = 5000.0 if rule("trip", source, host) else 40.0 + host % 3
    large = small + (700.0 if rule("slow", source, host) else 20.0)
    fails = rule("full", source, host)
    measured = source != host and not silent
    name = rule("name", host) or f"node{host:02}"
    return (f'{{"host": "{name}", "mac": "{mac(host)}", "from": "{mac(source)}", "nic": "eth1", '
            f'"speed_mbit": 10000, "mtu": {0 if silent else rule("mtu", host) or 9000}, '
            f'"release": "{"?" if silent else rule("release", host) or "0.2.0"}", '
            f'"wire": "{"?" if silent else 1}", "self": {str(source == host).lower()}, '
            f'"gammad": {"false" if silent else "true"}, "slots": 64, "endpoints": 0, '
            f'"round_trip_us": {small}, "full_frame": 9000, "full_frame_passes": '
            f'{"null" if not measured else "false" if fails else "true"}, '
            f'"small": {{"sent": {500 if measured else 0}, "lost": {lost}, '
            f'"median_us": {small}, "quick_us": {small if measured else 0}}}, '
            f'"large": {{"sent": {100 if measured and not fails else 0}, "lost": 0, '
            f'"median_us": {large}, "quick_us": {large if measured and not fails else 0}}}, '
            '"findings": []}')


for source in range(1, count + 1):
    if rule("silent", source) or rule("missing", source):
        continue
    lines = [describe(source, host) for host in range(1, count + 1)]
    print("[" + ",\n ".join(lines) + "]")
PYTHON
results() { python3 "$work/results.py" "$@"; }

# finds TEXT PATTERN COUNT [ARGUMENT...]: of the results so made; one finding, which matches.
finds() {
	local text=$1 pattern=$2 status=0
	shift 2
	results "$@" >"$work/results"
	"$tool" --merge "$work/results" >"$work/found" 2>&1 || status=$?
	sed '1,/^$/d' "$work/found" >"$work/findings"
	if [ "$status" -eq 1 ] && [ "$(wc -l <"$work/findings")" -eq 1 ] &&
		grep -Eq -- "$pattern" "$work/findings"; then
		ok "$text"
	else
		not_ok "$text (exit $status, wanted 1 and one finding, $pattern)" "$work/found"
	fi
}

clean() { results 4 >"$work/results" && "$tool" --merge "$work/results" | tee "$work/found" && grep -qx 'nothing is wrong' "$work/found"; }
check "a cluster without a fault" clean
check "each host has a line" [ "$(grep -c '^node0[1-4] ' "$work/found")" -eq 4 ]

finds "a host that loses frames" '^node03 .*: 1.0 % of the frames on 6 of its 6 paths are lost: its NIC' \
	4 'loss=3:*:6'
finds "a slower port" '^node02 .*: full frames take up to 700.0 us longer .* on 6 of its 6 paths' \
	4 'slow=2:*:1'
finds "a slow host" '^node04 .*: a round trip takes up to 5000.0 us on 6 of its 6' 4 'trip=4:*:1'
finds "a port without jumbo frames" '^node01 .*: full frames do not pass on 6 of its 6' 4 'full=1:*:1'
finds "another MTU" '^node02 .*: MTU 1500, most others 9000' 4 'mtu=2:1500'
finds "another release" '^node02 .*: release 0.1.0, most others 0.2.0' 4 'release=2:0.1.0'
finds "a host that is silent" '^node03 .*: answers nobody' 4 'silent=3:1'
finds "a host that did not measure" '^node03 .*: has measured nothing' 4 'missing=3:1'
two_paths() {
	results 6 'loss=2:5:9' >"$work/results"
	! "$tool" --merge "$work/results" >"$work/found" &&
		grep -q '^node02 .*on the path to node05 1.5 % .*: a link between switches' "$work/found" &&
		grep -q '^node05 .*on the path to node02 1.5 %' "$work/found" &&
		[ "$(sed '1,/^$/d' "$work/found" | wc -l)" -eq 2 ]
}
check "a link between switches, in both directions" two_paths
slow_paths() { # RULE PATTERN: a finding at either end
	results 6 "$1=2:5:1" >"$work/results"
	! "$tool" --merge "$work/results" >"$work/found" && [ "$(grep -Ec "$2" "$work/found")" -eq 2 ] &&
		[ "$(sed '1,/^$/d' "$work/found" | wc -l)" -eq 2 ]
}
check "a slower link between switches" slow_paths slow \
	'^node0[25] .*on the path to node0[25] full frames take 700.0 us longer than small ones, elsewhere 20.0 us'
check "a detour between switches" slow_paths trip \
	'^node0[25] .*on the path to node0[25] a round trip takes 5000.0 us, elsewhere 4[01].0 us'
two_directions() { # are too few to be compared
	results 2 | sed '2s/"quick_us": [0-9.]*/"quick_us": 9000/g' >"$work/results"
	"$tool" --merge "$work/results" >"$work/found" && grep -q ' 9000.0 ' "$work/found" &&
		grep -qx 'nothing is wrong' "$work/found"
}
check "one path in two directions is not compared" two_directions
one_name() {
	results 4 'name=2:node01' >"$work/results"
	! "$tool" --merge "$work/results" >"$work/found" &&
		[ "$(grep -c 'has this name, too' "$work/found")" -eq 2 ]
}
check "two hosts of one name" one_name

# ---- as they come ----

prefixed() { # PREFIX: in front of each line; the lines of all hosts mixed
	results 4 'loss=3:*:6' | sed "s/^/$1/" | shuf --random-source="$work/results.py" >"$work/mixed"
	! "$tool" --merge - <"$work/mixed" >"$work/found" && grep -q '^node03 .*are lost' "$work/found"
}
check "of pdsh, from standard input" prefixed 'node07: '
check "of srun -l" prefixed '12: '
several() {
	results 4 'missing=1:1' >"$work/one" && results 4 'missing=2:1' 'missing=3:1' 'missing=4:1' >"$work/two"
	"$tool" --merge "$work/one" "$work/two" >"$work/found" && grep -qx 'nothing is wrong' "$work/found"
}
check "of several files" several
check_fails "a folder for a file" "^gamma-discover: --merge $work: Is a directory" "$tool" --merge "$work"
damaged() {
	results 4 | sed '3s/"from"/"form"/; 5s/"mac": "02/"mac": "0x/; 7s/}.*//' >"$work/results"
	printf 'noise\n{"host": \n\0\377\n' >>"$work/results"
	"$tool" --merge "$work/results" >"$work/found" 2>&1
	grep -q '^gamma-discover: [34] lines damaged' "$work/found"
}
check "damaged lines are left out" damaged
random() { # any bytes, and lines with parts exchanged
	python3 - "$work" <<-'PYTHON'
		import random, subprocess, sys
		draw = random.Random(1)
		work = sys.argv[1]
		lines = open(work + "/results", "rb").read().split(b"\n")
		with open(work + "/random", "wb") as out:
		    for _ in range(5000):
		        line = bytearray(draw.choice(lines))
		        for _ in range(draw.randint(0, 6)):
		            if line:
		                at = draw.randrange(len(line))
		                line[at:at + draw.randint(0, 30)] = draw.randbytes(draw.randint(0, 9))
		        out.write(line + b"\n")
	PYTHON
	local status=0
	"$tool" --merge "$work/random" >"$work/found" 2>&1 || status=$?
	[ "$status" -le 1 ]
}
check "5,000 lines with random faults" random
json() { results 4 'loss=3:*:6' >"$work/results"; "$tool" --merge --json "$work/results" >"$work/found" || true; jq -e "$1" "$work/found"; }
check "JSON" json 'length == 4 and (map(select(.findings != [])) | length == 1 and .[0].host == "node03")'
finds "64 hosts, and one port at 1 %" '^node40 .*: 1.0 % of the frames on 126 of its 126 paths' 64 'loss=40:*:6'
check_fails "no results" 'no results: give it what' "$tool" --merge /dev/null
check_fails "no file" '^gamma-discover: --merge /none: No such file' "$tool" --merge /none
check_fails "no name" '^gamma-discover: --merge needs files' "$tool" --merge
finish
