#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Command lines that are wrong: each program says what is, in one line before all else, and ends
# with status 2. --help and --version of programs that are not installed; of the others, which all do
# alike, test_manners.sh knows. None of them gets as far as a NIC. Started by `make check`; by hand
# abs_top_builddir names the build folder, if it is not the current one.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

benchmarks=$abs_top_builddir/fabtests/benchmarks
gammad=$abs_top_builddir/gammad

# wrong PATTERN PROGRAM ARGUMENT...: status 2, and the first line matches.
wrong() {
	local pattern=$1 status=0 text
	shift
	text="$(basename "$1") ${*:2}"
	timeout -k 2 20 "$@" >"$work/out" 2>&1 </dev/null || status=$?
	if [ "$status" -eq 2 ] && head -n 1 "$work/out" | grep -Eq -- "$pattern"; then
		ok "$text"
	else
		not_ok "$text (exit $status, wanted 2 and $pattern)" "$work/out"
	fi
}

# ---- --help and --version ----

release=$(sed -n 's/^PACKAGE_VERSION = //p' "$abs_top_builddir/Makefile")

# answers NAME PROGRAM: both options, and nothing on the standard error.
answers() {
	local name=$1 status=0
	timeout -k 2 60 "$2" --help >"$work/out" 2>"$work/err" </dev/null || status=$?
	if [ "$status" -eq 0 ] && grep -Eqi "^ *usage: .*$name" "$work/out" && [ ! -s "$work/err" ]; then
		ok "$name --help"
	else
		not_ok "$name --help (exit $status)" "$work/out" "$work/err"
	fi
	status=0
	timeout -k 2 60 "$2" --version >"$work/out" 2>"$work/err" </dev/null || status=$?
	if [ "$status" -eq 0 ] && [ "$(cat "$work/out")" = "$name (gamma) $release" ] &&
		[ ! -s "$work/err" ]; then
		ok "$name --version"
	else
		not_ok "$name --version (exit $status, wanted $name (gamma) $release)" \
			"$work/out" "$work/err"
	fi
}

for program in "$abs_top_builddir"/fabtests/sim/gamma-sim "$abs_top_builddir"/lab/gamma-* \
	"$benchmarks"/gamma-*; do
	case $program in *.o) continue ;; esac
	[ ! -x "$program" ] || answers "$(basename "$program")" "$program"
done

# ---- output that is lost ----

# lost TEXT PROGRAM ARGUMENT...: the disk is full; one line, and a status that stops a script.
lost() {
	local text=$1 status=0
	shift
	timeout -k 2 60 "$@" >/dev/full 2>"$work/err" </dev/null || status=$?
	if [ "$status" -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
		grep -Eq ': the output is incomplete(: No space left on device)?$' "$work/err"; then
		ok "$text"
	else
		not_ok "$text (exit $status, wanted 2 and one line)" "$work/err"
	fi
}
for program in gammaping gamma-discover gamma-stat gamma-flows; do
	lost "$program on a full disk" "$abs_top_builddir/tools/$program" --help
done
lost "counters for Prometheus on a full disk" "$abs_top_builddir/tools/gamma-stat" --prometheus
lost "a report on a full disk" "$abs_top_builddir/tools/gamma-stat" --count 1 --interval 0.1 --json

# ---- benchmarks ----

for name in latency stream incast crowd; do
	program=$benchmarks/gamma-$name
	wrong "^gamma-$name: -p PROVIDER is missing" "$program" node02
	wrong "^gamma-$name: -x is no option" "$program" -x
	wrong "^gamma-$name: the peer's name is missing" "$program" -p gamma
	wrong "^gamma-$name: 'more' is one word too many" "$program" -p gamma node02 more
done
wrong "^gamma-latency: 'more' is one word too many" "$benchmarks/gamma-latency" -p gamma -s more
wrong "^gamma-latency: --fast is no option" "$benchmarks/gamma-latency" -p gamma --fast node02
for value in abc -1 1.5 '' 5,6 99999999999999999999; do
	wrong "^gamma-latency: -n '$value' is not a whole number from 1 to 1000000000" \
		"$benchmarks/gamma-latency" -p gamma -n "$value" node02
done
wrong "^gamma-latency: -S '-4' is not a whole number" "$benchmarks/gamma-latency" -p gamma -S 8,-4 n
wrong "^gamma-latency: -m 'fast' is no mode" "$benchmarks/gamma-latency" -p gamma -m fast node02
wrong "^gamma-latency: -n needs a value" "$benchmarks/gamma-latency" -p gamma node02 -n
wrong "^gamma-stream: -t 'nan' is not a number from 0.001 to 3600" \
	"$benchmarks/gamma-stream" -p gamma -t nan node02
wrong "^gamma-incast: -s '99' is not a whole number from 1 to 98" "$benchmarks/gamma-incast" -s 99
for option in -e -i -P; do
	wrong "^gamma-crowd: $option 'abc' is not a whole number" \
		"$benchmarks/gamma-crowd" -p gamma $option abc node02
done
wrong "^gamma-ports: -m 'fast' is no mode" "$benchmarks/gamma-ports" -p gamma -m fast node02
wrong "^gamma-ports: -S '16385' is not a whole number from 0 to 16384" \
	"$benchmarks/gamma-ports" -p gamma -S 16385 node02
wrong "^gamma-startup: 'more' is one word too many" "$benchmarks/gamma-startup" -p gamma more
wrong "^gamma-startup: -n '9x' is not a whole number" "$benchmarks/gamma-startup" -p gamma -n 9x
wrong "^gamma-probe: CPU 'a' is not a whole number" "$benchmarks/gamma-probe" a b
wrong "^gamma-probe: twice the processor 0" "$benchmarks/gamma-probe" 0 0
wrong "^gamma-crc32c: 'more' is one word too many" "$benchmarks/gamma-crc32c" more
wrong "^gamma-rawpacket: -i IFACE is missing" "$benchmarks/gamma-rawpacket"
wrong "^gamma-rawpacket: 'more' is one word too many" "$benchmarks/gamma-rawpacket" -i gam0 -s more
wrong "^gamma-rawpacket: -S '11' is not a whole number from 12 to 65535" \
	"$benchmarks/gamma-rawpacket" -i gam0 -S 64,11
wrong "^gamma-rawpacket: -d '01:00:5e:00:00:01' is a group's address" \
	"$benchmarks/gamma-rawpacket" -i gam0 -d 01:00:5e:00:00:01
wrong "^gamma-rawudp: the server's address is missing" "$benchmarks/gamma-rawudp"
wrong "^gamma-rawudp: 'host' is no IPv4 address" "$benchmarks/gamma-rawudp" host
wrong "^gamma-rawudp: -S 43 is less than the header of 44 bytes" "$benchmarks/gamma-rawudp" -S 43 \
	10.0.0.1
wrong "^gamma-rawudp: -T '65' is not a whole number from 1 to 64" "$benchmarks/gamma-rawudp" \
	-T 65 10.0.0.1
if [ -x "$benchmarks/gamma-pmix" ]; then
	wrong "^gamma-pmix: -n needs a value" "$benchmarks/gamma-pmix" --count
	wrong "^gamma-pmix: -t takes no value" "$benchmarks/gamma-pmix" --table=5
	wrong "^gamma-pmix: --colour is no option" "$benchmarks/gamma-pmix" --colour
	wrong "^gamma-pmix: --count '1x' is not a whole number" "$benchmarks/gamma-pmix" -n 1x
	wrong "^gamma-pmix: --pair '3' is no pair of ranks" "$benchmarks/gamma-pmix" --pair 3
	wrong "^gamma-pmix: --pair takes two ranks, not 3 twice" "$benchmarks/gamma-pmix" -P 3,3
	wrong "^gamma-pmix: 'more' is one word too many" "$benchmarks/gamma-pmix" more
fi
check "gamma-latency -h" "$benchmarks/gamma-latency" -h

bench=(/usr/bin/python3 -B "$top_srcdir/fabtests/benchmarks/bench")
if [ -x "${bench[0]}" ]; then
	# Its last line, which argparse puts behind how it is used.
	check_fails "bench: a folder without programs" "error: no programs in /nonexistent: build" \
		"${bench[@]}" --build /nonexistent latency
	check_fails "bench: results that could not be written are not measured" \
		"error: --json /nonexistent/file: no folder" \
		"${bench[@]}" --build "$abs_top_builddir" --json /nonexistent/file latency
	check_fails "bench: results that would go into a folder's name are not measured" \
		"error: --json /tmp: a folder" "${bench[@]}" --build "$abs_top_builddir" --json /tmp latency
	check_fails "bench: no such part" "error: there is no part nosuch" \
		"${bench[@]}" --build "$abs_top_builddir" nosuch
	for time in 0 -1 nan x; do
		check_fails "quickstart soak --hours $time" "error: argument --hours: '$time' is no time above 0" \
			"$top_srcdir/quickstart" soak "--hours=$time"
	done
	check_fails "quickstart bench: no such part, before anything is installed or built" \
		"error: there is no part nosuch" "$top_srcdir/quickstart" bench --quick nosuch
	check "quickstart bench --help" "$top_srcdir/quickstart" bench --help
fi

# ---- the simulator ----

simulator=$abs_top_builddir/fabtests/sim/gamma-sim
for arguments in "--seed abc" "--seed 0" "--seeds 5-1" "--seeds -3" "--seeds 1-2x" "--jobs 2x"; do
	# shellcheck disable=SC2086 # two words
	wrong "'${arguments#* }' is out of range, or no number" "$simulator" $arguments
done
wrong "'more' is one word too many" "$simulator" --list more

# ---- tools, lab, quickstart ----

wrong "^gammaping: a host is missing" "$abs_top_builddir/tools/gammaping"
wrong "^gammaping: more than a host and a port" "$abs_top_builddir/tools/gammaping" a 1 2
if [ -x "$gammad/gammad" ]; then
	wrong "^gammactl: a command is missing" "$gammad/gammactl"
	wrong "^gammactl: stop: no such command" "$gammad/gammactl" stop
	wrong "^gammactl: status takes no argument" "$gammad/gammactl" status 1
	wrong "^gammactl: revoke takes one user id or name" "$gammad/gammactl" revoke
	for uid in -1 no-such-user '' 4294967295; do
		wrong "^gammactl: $uid: is no user id; .id -u NAME. shows it" \
			"$gammad/gammactl" revoke "$uid"
	done
	wrong "^gammad: takes options only" "$gammad/gammad" gam0
	wrong "^gammad: -p, -r and -t exclude each other" "$gammad/gammad" -t -r
fi
if [ "$(id -u)" -eq 0 ]; then
	for arguments in "run --raw" "list node01" "up 2 --rate"; do
		# shellcheck disable=SC2086 # several words
		wrong "^lab: ${arguments%% *}" "$lab_tool" -n none $arguments
	done
	wrong "^lab: up: --rate needs a value" "$lab_tool" -n none up 2 --rate ''
fi
wrong '^quickstart: there is no "bulid"' "$top_srcdir/quickstart" bulid
wrong '^quickstart: there is no "test --debian 11"' "$top_srcdir/quickstart" test --debian 11

finish
