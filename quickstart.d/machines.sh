# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2034
#
# Tests on other machines: another Debian, ARM64, virtual machines. Sourced by quickstart.

# ---- another Debian, in a folder ----

# debian_tree FOLDER: copies this tree there. The build folder there stays; everything else is replaced.
debian_tree() {
	mkdir -p "$1/gamma" &&
		find "$1/gamma" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} + &&
		tar -C "$root" --exclude=./build --exclude=./.git -c . | tar -C "$1/gamma" -x
}

# The other Debian has its own compiler, libfabric, Open MPI and build. Its quickstart runs the tests;
# its output and its counts become ours.
test_debian() {
	local folder=$build/debian$1 status=0 counts
	part "Debian $1 in a folder" "$root/lab/debian-root" make "$1" "$folder" || return 0
	part "the tree in Debian $1" debian_tree "$folder" || return 0
	show_live ''
	"$root/lab/debian-root" run "$folder" /gamma/quickstart test </dev/null 2>&1 9>&- |
		tee "$build/debian.out" || status=$?
	counts=$(tail -n 1 "$build/debian.out")
	if [[ $counts =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
		passed=$((passed + BASH_REMATCH[1]))
		failed=$((failed + BASH_REMATCH[2]))
		skipped=$((skipped + BASH_REMATCH[3]))
	else
		failed=$((failed + 1))
	fi
	[ "$status" -eq 0 ] || say "its logs: $folder/gamma/build"
}

command_test_debian() {
	need_root "test --debian"
	ensure_packages "${debian_packages[@]}"
	test_debian "$1"
	test_end
}

# ---- virtual machines ----

vm_tests=(fabtests/functional/vm_service.sh)

vm_lines() {
	step_log | grep -aE '^(ok: |NOT OK: |SKIP: |==== fab|kernel |forged |    )'
}

# Shows each check as it ends, and all output of a failed one.
follow_vm() {
	local lines line colour
	mapfile -t lines < <(vm_lines)
	for line in "${lines[@]:shown}"; do
		shown=$((shown + 1))
		case $line in
		ok:*) colour=$green ;;
		NOT* | SKIP*) colour=$red ;;
		*) colour=$dim ;;
		esac
		say "       $colour$line$plain"
	done
}

# follow_vm has shown the failed checks. Without any check the machines did not start.
explain_vm() {
	[ "$shown" -gt 0 ] || show_cause
}

# Two machines at once, without KVM: a boot takes half a minute, the whole some minutes.
test_vm() {
	local status=0 before=$failed
	if [ "$(uname -m)" != x86_64 ]; then
		say "no virtual machines: they run on x86_64 only"
		return
	fi
	part "a disk with Debian, its kernel and gamma" \
		"$root/lab/vm" make "$build/vm" "$build/werror" || return 0
	step_name="tests in two virtual machines"
	shown=0
	results=()
	run_step follow_vm explain_vm "$root/lab/vm" run "$build/vm" "${vm_tests[@]}" || status=$?
	mapfile -t results < <(step_log | grep -aE '^(PASS|FAIL): fabtests/')
	count_results
	[ "$status" -eq 0 ] || [ "$failed" -gt "$before" ] || failed=$((failed + 1))
	[ "$status" -eq 0 ] || say "their consoles: $build/vm/node0*.console"
}

command_test_vm() {
	need_root "test --vm"
	prepare "${test_packages[@]}" "${vm_packages[@]}"
	if build_part "" "$build/werror" --enable-werror; then
		test_vm
	fi
	test_end
}

# ---- ARM64, in an emulator ----

# Unpacks the libraries and headers of an ARM64 Debian into a folder; no program of it runs.
arm64_root() {
	local sysroot=$build/arm64-root include
	[ ! -e "$sysroot/.complete" ] || return 0
	rm -rf "$sysroot"
	include=$(IFS=,; echo "${arm64_libraries[*]}")
	mmdebstrap --quiet --variant=extract --architectures=arm64 --include="$include" \
		"$(. /etc/os-release && echo "$VERSION_CODENAME")" "$sysroot" &&
		touch "$sysroot/.complete"
}

configure_arm64() {
	local sysroot=$build/arm64-root lib=usr/lib/aarch64-linux-gnu
	PKG_CONFIG_LIBDIR=$sysroot/$lib/pkgconfig:$sysroot/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$sysroot \
		configure_in "$build/arm64" --host=aarch64-linux-gnu --enable-werror --disable-lab \
		--disable-gammad --without-openmpi CC="aarch64-linux-gnu-gcc --sysroot=$sysroot"
}

# Runs the compiled tests as a user without privilege. qemu-user supports neither packet sockets nor
# process_vm_readv: tests of packet sockets skip, and test_cma is excluded.
test_arm64() {
	local programs emulator
	emulator="setpriv --reuid=65534 --regid=65534 --clear-groups timeout 300 qemu-aarch64-static"
	emulator+=" -L $build/arm64-root"
	part "an ARM64 Debian's libraries" arm64_root || return 0
	if [ ! -e "$build/arm64/Makefile" ] || [ "$root/configure" -nt "$build/arm64/config.status" ]; then
		part "configure (ARM64)" configure_arm64 || return 0
	fi
	part "build (ARM64)" make -C "$build/arm64" -j"$jobs" || return 0
	part "build tests (ARM64)" make -C "$build/arm64" -j"$jobs" check TESTS= || return 0
	programs=$(test_programs "$build/arm64" | tr ' ' '\n' | grep -v /test_cma$ | tr '\n' ' ')
	run_suite " (ARM64)" "$build/arm64" TESTS="$programs" LOG_COMPILER="$emulator" || true
	if part "200 seeds of the simulator (ARM64)" qemu-aarch64-static -L "$build/arm64-root" \
		"$build/arm64/fabtests/sim/gamma-sim" --seeds 1-200; then
		passed=$((passed + 1))
	fi
}

command_test_arm64() {
	need_root "test --arm64"
	prepare "${test_packages[@]}" "${arm64_packages[@]}"
	test_arm64
	test_end
}
