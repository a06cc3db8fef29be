# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2034
#
# Test suites and their results; lint and fuzz. Sourced by quickstart.

# ---- suites and results ----

passed=0
failed=0
skipped=0
shown=0	  # number of results of the running suite already on the terminal
suite=''  # build folder of the running suite
results=() # its lines "PASS: name", ...

read_results() {
	mapfile -t results < <(step_log | grep -aE '^(PASS|FAIL|SKIP|XFAIL|XPASS|ERROR): ')
}

# explain_test NAME: the failed checks in its log, or else the end of the log.
explain_test() {
	local log=$suite/$1.log found
	found=$(awk '/^(NOT OK|FAILED):/ { bad = 1 } /^ok:|^[0-9]+ passed/ { bad = 0 } bad' "$log" |
		head -n 30 | tr -d '\0') || found=''
	[ -n "$found" ] || found=$(tail -n 15 "$log" | tr -d '\0')
	printf '%s\n' "$found" | cut -c 1-160 | sed 's/^/           /'
	say "           full log: $log"
}

# test_seconds NAME: its running time, from the times of its log; several tests run at once.
test_seconds() {
	local born=0 ended=0
	read -r born ended < <(stat -c '%W %Y' "$suite/$1.log" 2>/dev/null) || true
	[ "$born" -gt 0 ] || born=$ended
	echo $((ended - born))
}

follow_tests() {
	local line name colour why bad
	read_results
	for line in "${results[@]:shown}"; do
		shown=$((shown + 1))
		name=${line#*: }
		name=${name%% *}
		why=''
		bad=0
		case $line in
		PASS* | XFAIL*) colour=$green ;;
		SKIP*)
			colour=$dim
			why=$(grep -m 1 '^SKIP: ' "$suite/$name.log") || why=''
			;;
		*)
			colour=$red
			bad=1
			;;
		esac
		say "       $colour${line%%:*}$plain $name${why#SKIP} ${dim}($(test_seconds "$name") s)${plain}"
		[ "$bad" -eq 0 ] || explain_test "$name"
	done
}

# follow_tests has explained each failed test. Without any result the build failed.
explain_suite() {
	[ "${#results[@]}" -gt 0 ] || show_cause
}

count_results() {
	local line
	for line in "${results[@]}"; do
		case $line in
		PASS* | XFAIL*) passed=$((passed + 1)) ;;
		SKIP*) skipped=$((skipped + 1)) ;;
		*) failed=$((failed + 1)) ;;
		esac
	done
}

# run_suite NAME FOLDER [MAKE-ARGUMENT...]: runs automake's tests there, one at a time unless an
# argument is -j. True only if all pass.
run_suite() {
	local status=0 before=$failed
	step_name="tests$1"
	suite=$2
	shift 2
	shown=0
	results=()
	run_step follow_tests explain_suite make -C "$suite" check "$@" || status=$?
	count_results
	# A failure without a failed test: make failed before the tests.
	suite=''
	[ "$status" -eq 0 ] || [ "$failed" -gt "$before" ] || failed=$((failed + 1))
	return "$status"
}

# part NAME COMMAND...: a step of `test`; its failure counts as a failed test and does not end the run.
part() {
	step "$@" && return
	failed=$((failed + 1))
	return 1
}

# build_part NAME FOLDER [OPTION...]: configures if necessary, builds, and builds the test programs.
build_part() {
	local name=$1 dir=$2
	shift 2
	if needs_configure "$dir" "$@"; then
		part "configure$name" configure_in "$dir" "$@" || return 1
	fi
	part "build$name" make -C "$dir" -j"$jobs" &&
		part "build tests$name" make -C "$dir" -j"$jobs" check TESTS=
}

# tests_in [-v] FOLDER PATTERN: the tests of that build whose path matches; with -v the others.
tests_in() {
	local invert=()
	[ "$1" != -v ] || { invert=(-v) && shift; }
	# shellcheck disable=SC2016 # for make to expand
	printf 'include Makefile\nprint-tests:\n\t@echo $(TESTS)\n' |
		make -s -C "$1" -f - print-tests | tr ' ' '\n' | grep "${invert[@]}" "$2" | tr '\n' ' '
}

# cluster_tests_in FOLDER: the tests of virtual clusters: the lab's own, those that take longest, as
# at the end a processor would wait for them, and the others.
cluster_tests_in() {
	local long='/test_\(lab\|gammad\|bench\)\.sh$' all
	all=$(tests_in "$1" ^fabtests/functional/ | tr ' ' '\n')
	{ grep "$long" <<<"$all" | sort -r && grep -v "$long" <<<"$all"; } | tr '\n' ' '
}

# test_programs FOLDER: the compiled tests, without the scripts.
test_programs() {
	tests_in -v "$1" '\.\(sh\|py\)$'
}

# test_api.sh makes every call of libfabric, from several threads too.
test_threads() {
	build_part " (threads)" "$build/threads" --enable-werror --enable-sanitizers=thread || return 0
	run_suite " (threads)" "$build/threads" TESTS=fabtests/functional/test_api.sh || true
}

# Valgrind runs one thread at a time. Without fair scheduling a thread that polls would starve the
# thread it waits for.
test_valgrind() {
	local programs flags="-q --fair-sched=yes --leak-check=full --show-leak-kinds=definite"
	flags+=" --errors-for-leak-kinds=definite --error-exitcode=1"
	programs=$(test_programs "$build/werror")
	run_suite " (valgrind)" "$build/werror" TESTS="$programs" \
		LOG_COMPILER="./libtool --mode=execute valgrind" AM_LOG_FLAGS="$flags" || true
	run_suite " (valgrind, lab)" "$build/werror" TESTS=fabtests/functional/test_api.sh \
		GAMMA_TEST_WRAP="valgrind $flags --child-silent-after-fork=yes" || true
}

test_more() {
	if build_part " (sanitizers)" "$build/sanitizers" --enable-werror --enable-sanitizers; then
		run_suite " (sanitizers)" "$build/sanitizers" || true
	fi
	test_threads
	test_valgrind
	if build_part " (clang)" "$build/clang" --enable-werror CC=clang; then
		passed=$((passed + 1))
	fi
	# Without the tests in the lab, which have just run.
	if part "distcheck" env GAMMA_TEST_LAB=0 make -C "$build/werror" distcheck; then
		passed=$((passed + 1))
	fi
	test_arm64
	if [ "$(id -u)" -eq 0 ]; then
		test_vm
		if part "release archive" make_archive "$build/werror"; then
			package_for 12 "$build/werror"
			package_for 13 "$build/werror"
		fi
		test_debian 13
	fi
}

test_end() {
	[ "$failed" -eq 0 ] || say "logs: $log, $build/werror/**/*.log"
	say "tests finished in $((SECONDS - begun)) s"
	say "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}

command_test() {
	[ "$1" = some ] ||
		test_packages+=("${debian_packages[@]}" "${vm_packages[@]}" "${arm64_packages[@]}")
	prepare "${test_packages[@]}"
	[ "$(id -u)" -eq 0 ] || say "not root: tests that make network namespaces will be skipped"
	export GAMMA_WHEELS=$build/wheels
	[ "$1" = some ] || export GAMMA_TEST_LONG=1
	if build_part "" "$build/werror" --enable-werror; then
		# One more than processors: some only wait.
		run_suite " (unit, simulator)" "$build/werror" -j"$((jobs + 1))" \
			TESTS="$(tests_in -v "$build/werror" ^fabtests/functional/)" || true
		run_suite " (virtual cluster)" "$build/werror" -j"$jobs" \
			TESTS="$(cluster_tests_in "$build/werror")" || true
		[ "$1" = some ] || test_more
	fi
	test_end
}

# ---- lint, fuzz ----

command_lint() {
	local check
	ensure_packages "${lint_packages[@]}" libfabric-dev libmnl-dev libhwloc-dev libbpf-dev
	for check in format shell python analyse; do
		part "lint: $check" "$root/.ci/lint" "$check" || true
	done
	[ "$failed" -eq 0 ] || fail "there are findings: see above and $log"
}

# fuzz_target TARGET SECONDS: starts from its corpus; new inputs stay in the build folder.
fuzz_target() {
	local new=$build/fuzz/new/$1
	mkdir -p "$new"
	"$build/fuzz/fabtests/fuzz/fuzz_$1" -max_total_time="$2" -verbosity=0 -rss_limit_mb=2048 \
		-artifact_prefix="$new/" "$new" "$root/fabtests/fuzz/corpus/$1"
}
export -f fuzz_target

# run_fuzzers SECONDS TARGET...: as many at once as there are processors.
run_fuzzers() {
	local seconds=$1
	shift
	export build root
	printf '%s\n' "$@" | xargs -P "$jobs" -I TARGET bash -c "fuzz_target TARGET $seconds"
}

command_fuzz() {
	local targets
	targets=("$root"/fabtests/fuzz/corpus/*)
	prepare "${fuzz_packages[@]}"
	if needs_configure "$build/fuzz" --disable-lab; then
		step "configure (fuzz)" configure_in "$build/fuzz" --disable-lab
	fi
	step "build the fuzz targets" make -C "$build/fuzz" -j"$jobs" fuzz
	step "fuzz ${#targets[@]} targets for $1 s each" run_fuzzers "$1" "${targets[@]##*/}"
}

# ---- soak ----

soak() {
	"$(debian_python)" -B "$root/fabtests/functional/soak.py" --build "$build" --lab "soak$$" "$@"
}

# Checks the arguments before anything is built.
check_soak() {
	case " $* " in *' --help '* | *' -h '*) exec python3 -B "$root/fabtests/functional/soak.py" -h ;; esac
	! type -P python3 >/dev/null || soak --check "$@" || exit
}

command_soak() {
	need_root soak
	command_build quiet
	soak "$@" 9>&- # the lock stays with this process
}
