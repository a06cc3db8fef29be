# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154
#
# A storm of requests and replies by active ports between four hosts. Sourced by test_ports_storm.sh
# and test_ports_user.sh after lib.sh.
hosts=(node01 node02 node03 node04)
run_storm=("$abs_top_builddir/fabtests/functional/gamma-port-storm")
stats=$work/stats # which the processes may write
names=$work/names # a folder that they make files in
[ -x "${run_storm[0]}" ] || bail "${run_storm[0]} is not built (make check builds it)"

# How often $1, or 30 times as often with GAMMA_TEST_LONG=1.
requests() {
	echo $(($1 * (${GAMMA_TEST_LONG:-0} != 0 ? 30 : 1)))
}

# rages TEXT REQUESTS: so many from each host to each other one.
rages() {
	local i status=0
	rm -rf "$stats" "$names"
	mkdir -m 777 "$names"
	for i in 0 1 2 3; do
		start "storm$i" "${hosts[i]}" $((90 + $2 / 500)) "${run_storm[@]}" "$names" "$i" 4 "$2"
	done
	for i in 0 1 2 3; do wait_end "storm$i" || status=1; done
	for i in 0 1 2 3; do
		grep -q "$((3 * $2)) served, $((3 * $2)) answered" "$work/storm$i.out" || status=1
	done
	if [ "$status" -eq 0 ]; then
		ok "$1"
	else
		not_ok "$1"
		for i in 0 1 2 3; do tail -n 3 "$work/storm$i.out"; done
	fi
	[ "$stats" = "$work/stats" ] || cp "$stats" "$work/stats"
	counted "$1: each once" "length == 4 and all(.ports_in == 3 * (2 * $2 + 1) and .malformed == 0)"
}
