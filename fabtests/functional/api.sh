# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154
#
# Runs the tests of gamma-api between two processes and counts each one's result. Sourced by
# test_api.sh and test_api_impaired.sh after lib.sh.
api=$abs_top_builddir/fabtests/functional/gamma-api
[ -x "$api" ] || bail "$api is not built (make check builds it)"
mapfile -t all < <("$api" -l)

# The tests of a list that are not among the names behind it.
without() { # NAME...
	local test
	for test in "${all[@]}"; do
		[[ " $* " == *" $test "* ]] || echo "$test"
	done
}

# Takes the tests that went well off the list $tests, up to the first that did not.
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

# A failed test ends both programs: the others are run by new ones.
run() { # SCENARIO TEST...
	local scenario=$1 tests=("${@:2}")
	rm -f "$work/stats"
	while [ ${#tests[@]} -gt 0 ]; do
		pair -p 7777 60 "$api" 7777 "${tests[@]}" -- \
			"$api" -c "$(mgt 1)" 7777 "${tests[@]}" || true
		take_results "$scenario"
	done
}
