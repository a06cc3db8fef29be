# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2034,SC2164
#
# The demonstration and the measurements. Sourced by quickstart.

# ---- demo ----

demo_lab='' # prefix of the names of the demonstration's virtual clusters

# Shows what the demonstration has finished, and the name of its present step.
follow_demo() {
	local lines line
	mapfile -t lines < <(step_log | grep -a '^demo: ')
	for line in "${lines[@]:shown}"; do
		shown=$((shown + 1))
		line=${line#demo: }
		case $line in
		now\ *) step_name=${line#now } ;;
		done\ *) say "${green}ok${plain}     ${line#done }" ;;
		note\ *) say "       ${line#note }" ;;
		esac
	done
}

# Removes the virtual clusters of an interrupted demonstration.
demo_down() {
	local lab
	for lab in /run/gamma-lab/"$demo_lab"-*; do
		[ ! -d "$lab" ] || "$root/lab/lab" -n "$(basename "$lab")" down
	done
}

demo_table() {
	local line
	echo
	while IFS= read -r line; do
		case $line in
		' '*) line=$bold$line$plain ;;
		Faster:*) line=$green$line$plain ;;
		Slower:*) line=$red$line$plain ;;
		esac
		printf '%s\n' "$line"
	done <"$build/demo.txt"
}

# Where only the tests have been built, their build serves: it differs in the treatment of warnings.
build_for_demo() {
	prepare
	if [ -e "$build/Makefile" ] || needs_configure "$build/werror" --enable-werror; then
		command_build quiet
	else
		build=$build/werror
		step "build" make -C "$build" -j"$jobs"
	fi
}

command_demo() {
	local status=0
	need_root demo
	build_for_demo
	rm -f "$build"/demo.*
	demo_lab=demo$$
	shown=0
	step_name="the demonstration"
	run_step follow_demo show_cause "$(debian_python)" -B \
		"$root/fabtests/benchmarks/bench/demo.py" --build "$build" --labs "$demo_lab" \
		--table "$build/demo.txt" || status=$?
	demo_lab=''
	[ ! -e "$build/demo.txt" ] || demo_table
	[ "$status" -eq 0 ] || exit "$status"
	say "${dim}The demonstration took $((SECONDS - begun)) s.${plain}"
}

# ---- bench ----

# Only Debian's own Python finds Debian's matplotlib.
debian_python() {
	if [ -x /usr/bin/python3 ]; then echo /usr/bin/python3; else echo python3; fi
}

bench() {
	"$(debian_python)" -B "$root/fabtests/benchmarks/bench" "$@"
}

# Checks the arguments before packages are installed and anything is built.
check_bench() {
	case " $* " in
	*' --help '* | *' -h '*)
		bench --help
		exit
		;;
	esac
	! type -P python3 >/dev/null || bench --check "$@" || exit
}

command_bench() {
	case " $* " in *' cp2k'* | *' openfoam'*) bench_packages+=("${application_packages[@]}") ;; esac
	need_root bench
	command_build quiet "${bench_packages[@]}"
	step "build the simulator" make -C "$build" -j"$jobs" fabtests/sim/gamma-sim
	cd "$called_from"
	bench --build "$build" "$@" 9>&- # the lock stays with this process
}
