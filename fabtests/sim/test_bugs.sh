#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Checks the checks: each patch in bugs/ plants a bug in the protocol's code, such as a developer
# might make, and the simulator must find it within the seeds that `make check` runs. The sources
# themselves stay as they are: the patch is applied to a copy of one file, which is compiled and
# linked with the build's objects in place of the true one.
# By hand: abs_top_builddir=BUILD fabtests/sim/test_bugs.sh [NAME...]
#
# A patch's first line describes the bug; a line "seeds FIRST-LAST" names other seeds to search, and
# "scenario NAME" the scenario that must fail in their place.
# Functions are called through in_parallel:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR/../functional source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source-path=SCRIPTDIR source=build.sh
. "$top_srcdir/fabtests/sim/build.sh"

patches=$top_srcdir/fabtests/sim/bugs
need_tool patch
[[ $(makefile_value GAMMA_CFLAGS) != *-fsanitize* ]] ||
	skip "the simulator's own checks are to find them, not the sanitizers"
true_sim=$abs_top_builddir/fabtests/sim/gamma-sim

# The outcome of a bug: "found", or what went wrong and its cure.
outcome() { # NAME WORD TEXT
	printf '%s\t%s\n' "$2" "$3" >"$work/$1/outcome"
}

# The changed program of a bug, in its folder.
plant() { # NAME
	local name=$1 dir=$work/$1 file
	mapfile -t files < <(sed -n 's|^+++ b/||p' "$patches/$name.patch")
	file=${files[0]:-}
	if [ "${#files[@]}" -ne 1 ] || [ ! -e "$top_srcdir/$file" ]; then
		outcome "$name" broken "the patch must change one file of the tree: make it anew"
		return 1
	fi
	mkdir -p "$(dirname "$dir/$file")"
	cat "$top_srcdir/$file" >"$dir/$file"
	if ! patch -s -p1 -d "$dir" <"$patches/$name.patch" >"$dir/log" 2>&1; then
		outcome "$name" broken "the patch does not apply to $file any more: make it anew"
		return 1
	fi
	mapfile -t objects < <(printf '%s\n' "$abs_top_builddir"/fabtests/sim/*.o |
		grep -vxF "$abs_top_builddir/${file%.c}.o")
	# Of the library the linker takes what is still missing: not the file that has been changed.
	if ! sim_compile "$dir/$file" "$dir/changed.o" -O1 >"$dir/log" 2>&1 ||
		! sim_link "$dir/gamma-sim" "-fno-lto $(makefile_value GAMMA_LDFLAGS)" "$dir/changed.o" \
			"${objects[@]}" "$abs_top_builddir/.libs/libgamma-common.a" >>"$dir/log" 2>&1; then
		outcome "$name" broken "it does not compile: $(grep -m 1 error "$dir/log")"
		return 1
	fi
}

# A scenario says what it has found.
try_scenario() { # NAME SCENARIO
	local dir=$work/$1 said
	"$dir/gamma-sim" --scenario "$2" >"$dir/out" 2>&1 || true
	said=$(sed -n 's/^scenario [^:]*: FAILED: //p' "$dir/out")
	if [ -z "$said" ]; then
		outcome "$1" missed "not found by scenario $2: give it a check that sees it"
	elif ! "$true_sim" --scenario "$2" >"$dir/out" 2>&1; then
		outcome "$1" broken "scenario $2 fails without it too: mend that first"
	else
		outcome "$1" found "scenario $2: $said"
	fi
}

# A crash or a hang does not count as found by a check. And without the bug that seed must pass.
hunt() { # NAME
	local dir=$work/$1 scenario seeds seed said start=$EPOCHREALTIME
	seeds=$(sed -n 's/^seeds //p' "$patches/$1.patch")
	: "${seeds:=1-2000}" # as `make check` runs them
	mkdir -p "$dir"
	plant "$1" || return 0
	scenario=$(sed -n 's/^scenario //p' "$patches/$1.patch")
	if [ -n "$scenario" ]; then
		try_scenario "$1" "$scenario"
		rm -f "$dir/gamma-sim"
		return
	fi
	"$dir/gamma-sim" --seeds "$seeds" --jobs 1 >"$dir/out" 2>/dev/null || true
	start=$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $start }")
	seed=$(sed -n 's/^FAIL  *seed \([0-9]*\),.*/\1/p' "$dir/out")
	said=$(sed -n 's/^FAIL  *seed [0-9]*, //p' "$dir/out")
	if [ -z "$seed" ]; then
		outcome "$1" missed "not found in seeds $seeds: give the simulator a check or a draw for it"
	elif [[ $said == 'the process ended'* ]]; then
		outcome "$1" missed "seed $seed, $said: give the simulator a check that sees it before"
	elif ! "$true_sim" --seeds "$seed-$seed" --jobs 1 >"$dir/out" 2>/dev/null; then
		outcome "$1" broken "seed $seed fails without it too: mend that first"
	else
		outcome "$1" found "seed $seed, $start s: $said"
	fi
	rm -f "$dir/gamma-sim"
}

report() { # NAME
	local word text
	IFS=$'\t' read -r word text <"$work/$1/outcome"
	if [ "$word" = found ]; then
		ok "$1, $text"
	else
		not_ok "$1 $text"
	fi
}

if [ "$#" -gt 0 ]; then
	names=("$@")
else
	names=("$patches"/*.patch)
	names=("${names[@]##*/}")
	names=("${names[@]%.patch}")
fi
# By hand the sources may be newer than the build.
env -u MAKEFLAGS -u MAKELEVEL make -s -C "$abs_top_builddir" fabtests/sim/gamma-sim >"$work/make.out" 2>&1 || {
	cat "$work/make.out"
	bail "the simulator does not compile"
}
in_parallel hunt < <(printf '%s\n' "${names[@]}") || true
for name in "${names[@]}"; do
	report "$name"
done
finish
