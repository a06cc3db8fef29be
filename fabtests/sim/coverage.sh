#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Which lines of the protocol's code do the unit tests and the simulator run? Compiles all of it
# with gcov's counters, runs the tests on a wire in memory, the scenarios and some seeds, and lists
# each file's share and the lines that did not run. Fails if less than 95 % of common/flow is covered.
# A long test (GAMMA_TEST_LONG=1). Functions are called through in_parallel:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR/../functional source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source-path=SCRIPTDIR source=build.sh
. "$top_srcdir/fabtests/sim/build.sh"

need_long
read -ra sim_cc <<<"$(makefile_value CC)"
[[ $("${sim_cc[@]}" --version) == *"Free Software Foundation"* ]] || skip "gcov needs gcc"
need_tool gcov

least=95 # percent of common/flow
seeds=150 # one process each: they are ended in a way that keeps the counters
reported='^common/(flow|message|engine)/'
unreported='common/engine/(endpoint|budget).c' # sockets and clocks: tested in network namespaces

# Tests on a wire in memory, and those of message/ and engine/ without one.
unit_tests() {
	sed -n 's|^fabtests_unit_\(test_.*\)_LDADD = [$](pair_libs)|\1|p' \
		"$top_srcdir/fabtests/Makefile.include"
	printf '%s\n' test_iov test_rest test_row test_transfers
}

objects_of() { # PATTERN
	grep -E "$1" "$work/sources" | sed "s|^|$work/cov/|; s|\.c$|.o|"
}

link_unit() { # TEST
	local objects wraps
	mapfile -t objects < <(objects_of "^common/|^fabtests/unit/(pair|pair_remote|$1)\.c$")
	mapfile -t wraps < <(grep -o '__wrap_[a-z]*' "$top_srcdir/fabtests/unit/$1.c" | sort -u |
		sed 's|__wrap_|-Wl,--wrap=|')
	"${sim_cc[@]}" --coverage "${wraps[@]}" -o "$work/$1" "${objects[@]}" "${sim_libs[@]}" -lcmocka
}

run() { # COMMAND: one line of stdin
	local line log=$work/log.$BASHPID
	read -ra line <<<"$1"
	if ! "${line[@]}" >"$log" 2>&1; then
		echo "failed: $1"
		tail -n 5 "$log"
		return 1
	fi
	rm "$log"
}

runs() {
	unit_tests | sed "s|^|$work/|"
	"$work/gamma-sim" --list | sed "s|^\([^ ]*\).*|$work/gamma-sim --scenario \1|"
	seq "$seeds" | sed "s|^|$work/gamma-sim --seed |"
}

# The counted lines of one source, as gcov writes them: COUNT:LINE:TEXT.
counted() { # SOURCE
	(cd "$work" && gcov -t -o "$work/cov/${1%.c}.o" "$top_srcdir/$1" 2>/dev/null) |
		awk -v source="$1" '$1 == "-:" && /:Source:/ { inside = index($0, source) }
			inside' | grep -vE '^ +-:' || true
}

# SOURCE LINES MISSING for each source; the lines themselves go to $work/missing.
count_all() {
	local file
	while read -r file; do
		counted "$file" >"$work/counted"
		grep -E '^ *(#####|=====):' "$work/counted" >"$work/none" || true
		sed -E "s|^ *[#=]+: *([0-9]+):|    $file:\1:|" "$work/none" >>"$work/missing"
		echo "$file $(wc -l <"$work/counted") $(wc -l <"$work/none")"
	done
}

report() {
	grep -E "$reported" "$work/sources" | grep -vxE "$unreported" | count_all >"$work/shares"
	cat "$work/missing"
	awk 'function row(name, lines, none) {
			printf "%-34s %4d of %4d lines, %5.1f %%\n", name, lines - none, lines,
				100 - 100 * none / lines
		}
		{
			row($1, $2, $3)
			folder = $1
			sub("/[^/]*$", "", folder)
			lines[folder] += $2
			none[folder] += $3
		}
		END {
			for (folder in lines)
				row(folder, lines[folder], none[folder])
		}' "$work/shares"
}

sources_in common fabtests/sim fabtests/unit >"$work/all"
{
	grep -E '^(common|fabtests/sim)/' "$work/all"
	printf 'fabtests/unit/%s.c\n' pair pair_remote
	unit_tests | sed 's|.*|fabtests/unit/&.c|'
} >"$work/sources"
: >"$work/missing"
in_parallel compile_into "$work/cov" "-O0 -g --coverage -I$top_srcdir/fabtests/unit" \
	<"$work/sources" || bail "the sources do not compile"
mapfile -t objects < <(objects_of '^(common|fabtests/sim)/')
sim_link "$work/gamma-sim" --coverage "${objects[@]}"
in_parallel link_unit < <(unit_tests)
if in_parallel run < <(runs); then
	ok "the tests pass"
else
	not_ok "some test failed"
fi
report | tee "$work/report"
share=$(awk '$1 == "common/flow" { print $6 }' "$work/report")
if awk "BEGIN { exit !(${share:-0} >= $least) }"; then
	ok "$share % of common/flow is covered, $least % are demanded"
else
	not_ok "only ${share:-0} % of common/flow is covered, $least % are demanded: test the lines above"
fi
finish
