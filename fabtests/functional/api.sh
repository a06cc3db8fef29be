# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154
#
# Runs the tests of gamma-api between two processes and counts each one's result. Sourced by
# test_api.sh and test_api_impaired.sh after lib.sh.
api=$abs_top_builddir/fabtests/functional/gamma-api
[ -x "$api" ] || bail "$api is not built (make check builds it)"
# What ends an exchange, and where its programs write their counters: other users' programs do not
# see that folder.
enough=$work/enough
stats=$work/stats
read -ra wrap <<<"${GAMMA_TEST_WRAP:-}"
slow=$((${#wrap[@]} > 0 ? 10 : 1))
mapfile -t all < <("$api" -l)
# The thread sanitizer knows no threads in a forked child, and no order in memory that is looked at
# until something has come.
! grep -q __tsan_init "$api" ||
	mapfile -t all < <("$api" -l | grep -vx 'exit\|auto_moves\|auto_polled\|rma_target_idle')

# Prints the tests of a list that are not among the names that follow it.
without() { # NAME...
	local test
	for test in "${all[@]}"; do
		[[ " $* " == *" $test "* ]] || echo "$test"
	done
}

# Every third of the tests named, from FIRST (0 to 2) on; all of them with GAMMA_TEST_LONG=1. For a
# network or a link on which the same code runs as on one that all tests have seen.
sample() { # FIRST NAME...
	local tests=("${@:2}") step=3 i=$1
	[ "${GAMMA_TEST_LONG:-0}" = 0 ] || step=1 i=0
	for (( ; i < ${#tests[@]}; i += step)); do
		echo "${tests[i]}"
	done
}

# Removes the tests that passed from the list $tests, up to the first that failed.
take_results() { # SCENARIO
	local test
	while [ ${#tests[@]} -gt 0 ]; do
		test=${tests[0]}
		tests=("${tests[@]:1}")
		if grep -q "^ok $test " "$work/server.out" && grep -q "^ok $test " "$work/client.out"; then
			ok "$1: $test"
		else
			not_ok "$1: $test" "$work/server.out" "$work/client.out"
			return
		fi
	done
}

# All of its tests passed, but it failed at exit: a leak, for example.
ended_badly() { # SCENARIO
	[ ${#tests[@]} -gt 0 ] || [ ${#failures[@]} -gt "$failed_before" ] ||
		not_ok "$1: the programs' end" "$work/server.out" "$work/client.out"
}

# A failed test ends both programs: new ones run the others. A list may take a second for
# each test, and a minute for one that hangs.
run() { # SCENARIO TEST...
	local scenario=$1 tests=("${@:2}") failed_before=${#failures[@]}
	rm -f "$work/stats"
	while [ ${#tests[@]} -gt 0 ]; do
		# GAMMA_TEST_WRAP: a command in front of the program, such as valgrind.
		if pair -p 7777 $(((60 + ${#tests[@]}) * slow)) "${wrap[@]}" "$api" 7777 "${tests[@]}" -- \
			"${wrap[@]}" "$api" -c "$(mgt 1)" 7777 "${tests[@]}"; then
			take_results "$scenario"
		else
			take_results "$scenario"
			ended_badly "$scenario"
		fi
	done
}

# ---- exchanges: both ways at once, all sizes, contents checked ----

# grouped NUMBER: 12345 as 12,345.
grouped() {
	sed ':more; s/\B[0-9]\{3\}\>/,&/; t more' <<<"$1"
}

# total COUNTER: that of all endpoints of the last run together.
total() {
	jq -s --arg counter "$1" 'map(.[$counter] // 0) | add // 0' "$work/stats" 2>/dev/null || echo 0
}

# Reports what the client verified and the time it took, and further COUNTERs that are not 0.
what_was_seen() { # COUNTER...
	local counter
	sed -n 's/^verified \(.*\)/\1/p' "$work/client.out" | head -n 1 | tr -d '\n'
	printf ' each way verified, %s sent again, %s probes' "$(grouped "$(total retransmissions)")" \
		"$(grouped "$(total probes_out)")"
	for counter; do
		[ "$(total "$counter")" -eq 0 ] ||
			printf ', %s %s' "$(grouped "$(total "$counter")")" "${counter//_/ }"
	done
}

# exchange TEXT MIB [COUNTER...]: so many MiB from each side; a check that reports what was seen.
exchange() {
	local text=$1 mib=$2
	shift 2
	rm -f "$work/stats" "$enough"
	if pair -p 7777 60 env GAMMA_API_MIB="$mib" "$api" 7777 exchange -- \
		env GAMMA_API_MIB="$mib" "$api" -c "$(mgt 1)" 7777 exchange; then
		ok "$text: $(what_was_seen "$@")"
	else
		not_ok "$text" "$work/server.out" "$work/client.out"
	fi
}

# start_exchange [VARIABLE=VALUE...]: one that lasts until `enough`; both are at it on return.
start_exchange() {
	local name
	rm -f "$work/stats" "$enough"
	start server node01 60 "${wrap[@]}" env "$@" GAMMA_API_ENOUGH="$enough" "$api" 7777 exchange
	wait_for_port node01 7777 10 || bail "the server does not listen"
	start client "$client_host" 60 "${wrap[@]}" env "$@" GAMMA_API_ENOUGH="$enough" \
		"$api" -c "$(mgt 1)" 7777 exchange
	for name in client server; do
		wait_for_line $name ready 10 || bail "the two do not find each other"
	done
	sleep 0.3
}

# end_exchange TEXT [COUNTER...]: it goes on to its end, everything verified.
end_exchange() {
	local text=$1 status=0
	shift
	touch "$enough"
	wait_end client || status=1
	wait_end server || status=1
	[ "$stats" = "$work/stats" ] || cp "$stats" "$work/stats"
	if [ "$status" -eq 0 ] && grep -q '^verified' "$work/client.out" &&
		grep -q '^verified' "$work/server.out"; then
		ok "$text: $(what_was_seen "$@")"
	else
		not_ok "$text" "$work/server.out" "$work/client.out"
	fi
}

# loses_peer NAME SECONDS TEXT [PATTERN]: the job reports within SECONDS that it has lost
# its peer, by name, and with a cause that fits PATTERN. It stays until end_lost.
loses_peer() {
	local name=$1 seconds=$2 text=$3 pattern=${4:-.} begin said
	begin=$(date +%s%N)
	if wait_for_line "$name" '^lost: ' "$seconds" &&
		said=$(grep -m 1 "^lost: .*peer 02:47:41:4d:00:0.*$pattern" "$work/$name.out"); then
		ok "$text, after $((($(date +%s%N) - begin) / 1000000)) ms: ${said#lost: }"
	else
		not_ok "$text" "$work/$name.out"
	fi
}

end_lost() { # NAME...
	local name
	touch "$enough"
	for name; do
		wait_end "$name" || not_ok "the $name's end" "$work/$name.out"
	done
}
