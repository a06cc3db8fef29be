# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2034
#
# Debian packages: those that a command needs, and gamma's own. Sourced by quickstart.

# ---- the packages that each command needs ----

# The build and the demonstration; each other command needs one of the lists below as well.
packages=(
	gcc libc6-dev linux-libc-dev make autoconf automake libtool pkg-config # the build
	libfabric-dev libmnl-dev libhwloc-dev		# the provider
	libfabric-bin					# fi_info, fi_pingpong
	clang libbpf-dev				# gammad's and the lab's BPF programs
	iproute2 ethtool nftables procps util-linux passwd libcap2-bin python3 # the lab
	openmpi-bin libopenmpi-dev			# Open MPI and the component for it; others are wheels
)
test_packages=(
	libcmocka-dev					# unit tests
	tcpdump tshark valgrind strace patch jq python3-pip ca-certificates
	munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins # Slurm in the lab
	libpmix-dev					# the benchmark gamma-pmix; Slurm loads it too
)
bench_packages=(python3-matplotlib strace libpmix-dev ucx-utils)
application_packages=(cp2k cp2k-data openfoam) # only for those parts of bench
lint_packages=(clang-format clang-tidy shellcheck pylint libcmocka-dev)
fuzz_packages=(libclang-rt-dev libcmocka-dev)
debian_packages=(debootstrap tar util-linux)
vm_packages=(qemu-system-x86 debootstrap e2fsprogs util-linux)
arm64_packages=(gcc-aarch64-linux-gnu qemu-user-static mmdebstrap)
arm64_libraries=(libc6-dev linux-libc-dev libfabric-dev libmnl-dev libhwloc-dev libcmocka-dev libgcc-s1)

# ---- installation ----

missing_packages() {
	local package
	for package in "$@"; do
		dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null |
			grep -qx installed || echo "$package"
	done
}

apt() {
	DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 \
		-o DPkg::Lock::Timeout=120 -o Acquire::Retries=2 "$@"
}

# The package lists may be fresh enough although a mirror is down: only the install must succeed.
# Slurm's daemons run in the lab only, so policy-rc.d forbids Debian to start services.
apt_install() {
	local policy=/usr/sbin/policy-rc.d
	apt update || echo "cannot refresh the package lists; continuing with the present ones"
	if [ ! -e $policy ]; then
		trap 'rm -f /usr/sbin/policy-rc.d' EXIT
		printf '#!/bin/sh\nexit 101\n' >$policy
		chmod 755 $policy
	fi
	apt install --no-install-recommends "$@"
}

# ensure_packages PACKAGE...
ensure_packages() {
	local missing
	command -v dpkg-query >/dev/null || fail "this is not a Debian system: install by hand: $*"
	mapfile -t missing < <(missing_packages "$@")
	[ "${#missing[@]}" -gt 0 ] || return 0
	[ "$(id -u)" -eq 0 ] || fail "not root: apt-get install ${missing[*]} first, or use sudo"
	step "install ${#missing[@]} Debian packages" apt_install "${missing[@]}"
}

# ---- gamma's own packages ----

make_archive() { # FOLDER
	rm -f "$1"/gamma-*.tar.gz
	make -s -C "$1" dist
}

# Shows each check as it ends; lab/packages writes the same lines as lab/vm.
test_packages() { # NAME COMMAND FOLDER
	local status=0 before=$failed
	step_name=$1
	shown=0
	results=()
	run_step follow_vm explain_vm "$root/lab/packages" "$2" "$3" || status=$?
	if [ "$status" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((before + 1))
	fi
}

# One folder for each Debian release; it stays, and a second run takes a third of the time.
package_for() { # RELEASE BUILD
	local folder=$build/packages/debian$1 archives
	mkdir -p "$folder"
	part "two Debian $1: one for the build, one for the tests" "$root/lab/packages" make "$1" "$folder" || return 0
	archives=("$2"/gamma-*.tar.gz)
	part "packages for Debian $1" "$root/lab/packages" build "$folder" "${archives[0]}" || return 0
	part "lintian (Debian $1)" "$root/lab/packages" lint "$folder" && passed=$((passed + 1))
	part "rpmbuild (Debian $1)" "$root/lab/packages" rpm "$folder" "${archives[0]}" &&
		passed=$((passed + 1))
	test_packages "packages on Debian $1" test "$folder"
	test_packages "first ten minutes on Debian $1" start "$folder"
	say "       packages: $folder/lent/new"
}

command_package() { # RELEASE...
	local release
	need_root package
	command_build quiet "${debian_packages[@]}"
	step "release archive" make_archive "$build"
	for release in "$@"; do
		package_for "$release" "$build"
	done
	test_end
}
