#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# `make install` puts the provider where libfabric finds it, and `make uninstall` takes it away.
# The one binary loads under libfabric 1.17 and under the 2.5 of a Python wheel of MPICH, and
# these understand each other. Functions are called through check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

need_tool fi_info fi_pingpong make nm pkg-config
query=$abs_top_builddir/fabtests/functional/query
[ -x "$query" ] || bail "fabtests/functional/query is not built: make check builds it"

# Not part of the make that has started this test.
in_build() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u DESTDIR \
		make -s --no-print-directory -C "$abs_top_builddir" "$@" </dev/null
}

# folder VARIABLE: one of the makefile's, such as sbindir; make may have more to say before.
folder() {
	in_build --eval "print-$1:;@echo '\$($1)'" "print-$1" | tail -n 1
}

# ---- installation ----

configure_without_folder() {
	mkdir -p "$work/configure" && cd "$work/configure" &&
		"$top_srcdir/configure" -q --without-openmpi --without-providerdir </dev/null
}
check_fails "configure: a provider folder that is none" \
	"configure: error: --with-providerdir takes an absolute folder, not no" configure_without_folder

root=$work/root
provider_folder=$(folder providerdir)
system_folder=$(pkg-config --variable=libdir libfabric)/libfabric

check "make install" in_build install "DESTDIR=$root"
check "the provider is in its folder" test -x "$root$provider_folder/libgamma-fi.so"
check "gammaping is where users look" test -x "$root$(folder bindir)/gammaping"
if [ -x "$abs_top_builddir/gammad/gammad" ]; then
	check "gammactl is where users look" test -x "$root$(folder bindir)/gammactl"
	check "gammad is for administrators" test -x "$root$(folder sbindir)/gammad"
	check "its unit lets it lie below /home" \
		grep -qx ProtectHome=read-only "$abs_top_builddir/gammad/gammad.service"
fi
check "no file of libtool's" test -z "$(find "$root" -name '*.la')"
check "the manual page of the provider" test -s "$root$(folder mandir)/man7/fi_gamma.7"
check "the manual page of gammaping" test -s "$root$(folder mandir)/man8/gammaping.8"
for document in README.md NEWS.md LICENSE LICENSE.BSD-2-Clause LICENSE.GPL-2.0-only \
	examples/gammad.conf; do
	check "$document" test -s "$root$(folder docdir)/$document"
done
# package OPTION: of gamma.pc, as it lies there.
package() {
	PKG_CONFIG_PATH=$root$(folder libdir)/pkgconfig pkg-config "$1" gamma
}
check "pkg-config knows the version" test "$(package --modversion)" = "$(folder VERSION)"
check "pkg-config knows the folder of the provider" \
	test "$(package --variable=providerdir)" = "$provider_folder"
if "$abs_top_builddir/config.status" --config | grep -q -- --with-providerdir; then
	echo "not checked: the default of --with-providerdir, as it was given to configure"
else
	check "by default that is libfabric's" test "$provider_folder" = "$system_folder"
fi

exported() {
	nm -D --defined-only "$root$provider_folder/libgamma-fi.so" | sed 's/.* //; s/@.*//'
}
# The address sanitizer exports markers of its own.
check "fi_prov_ini is all that it exports" \
	test "$(exported | grep -Ev '^(__asan|__odr_asan|__ubsan|__lsan)')" = fi_prov_ini

# ---- libfabric of this system ----

gamma_setup_env
gamma_env[0]=FI_PROVIDER_PATH=$root$provider_folder
# Skipping the rest must not hide what failed.
[ ${#failures[@]} -eq 0 ] || finish
lab_up 2

# lists LIBRARY-FOLDER VERSION: RDM and DGRAM of gamma by a libfabric of that version.
lists() {
	on node01 env "LD_LIBRARY_PATH=$1" "$query" -p gamma -d gam0 >"$work/out"
	cat "$work/out"
	[[ $(head -n 1 "$work/out") == "libfabric $2" ]] && grep -qx 'gamma RDM gam0' "$work/out" &&
		grep -qx 'gamma DGRAM gam0' "$work/out"
}

system_version=$(pkg-config --modversion libfabric | cut -d. -f1,2)
check "loads by FI_PROVIDER_PATH, libfabric $system_version" lists "" "$system_version"
check "loads in fi_info" on node01 fi_info -p gamma

# The system's library folder with the installed provider in it, as this one process sees it.
installed_on_top() {
	local libraries
	libraries=$(dirname "$system_folder")
	# shellcheck disable=SC2016 # for the inner shell
	lab exec node01 unshare --mount env -u FI_PROVIDER_PATH "${gamma_env[@]:1}" sh -ec '
		mount -t overlay -o "lowerdir=$1:$2" overlay "$2" || exit 77
		shift 2
		exec "$@"' sh "$root$libraries" "$libraries" "$@"
}
if [ "$provider_folder" != "$system_folder" ]; then
	echo "not checked: loading without FI_PROVIDER_PATH, as $provider_folder is not libfabric's"
elif ! installed_on_top true 2>/dev/null; then
	echo "not checked: loading without FI_PROVIDER_PATH, as overlayfs cannot be used"
else
	check "loads from libfabric's own folder" installed_on_top "$query" -p gamma -d gam0
	check_fails "which is what makes it load" "^libfabric " \
		lab exec node01 env FI_PROVIDER_PATH=/none "$query" -p gamma
fi

# ---- another libfabric ----

# pingpong TEXT SERVER'S-LIBRARIES CLIENT'S-LIBRARIES [OPTION...]
pingpong() {
	local text=$1 on_server=$2 on_client=$3
	shift 3
	if pair -p 47592 15 \
		env "LD_LIBRARY_PATH=$on_server" fi_pingpong -p gamma -d gam0 -c -I 20 "$@" -- \
		env "LD_LIBRARY_PATH=$on_client" fi_pingpong -p gamma -d gam0 -c -I 20 "$@" "$(mgt 1)"; then
		ok "fi_pingpong: $text"
	else
		not_ok "fi_pingpong: $text" "$work/server.out" "$work/client.out"
	fi
}

test_wheel() {
	local new
	new=$(dirname "$(find "$1" -name libfabric.so.1)")
	check "the same binary loads, libfabric 2.5" lists "$new" 2.5
	check "asked as of version 2.5" \
		on node01 env "LD_LIBRARY_PATH=$new" "$query" -p gamma -V 2.5 -c msg -c tagged -t rdm
	check "it moves no process there either" not_moved "$new"
	check "libfabric.conf names gamma to a query that does not" named_by_file "$new" gamma
	check_fails "and not if it names another" "^no gamma" named_by_file "$new" tcp
	check "loads in fi_info, libfabric 2.5" on node01 env "LD_LIBRARY_PATH=$new" fi_info -p gamma
	pingpong "2.5 and 2.5" "$new" "$new" -e rdm
	pingpong "2.5 and $system_version" "$new" "" -e rdm
	pingpong "$system_version and 2.5" "" "$new" -e rdm
	pingpong "tagged, 2.5 and $system_version" "$new" "" -e rdm -m tagged
	pingpong "datagrams, 2.5 and $system_version" "$new" ""
}

# named_by_file LIBRARY-FOLDER PROVIDER: with FI_PROVIDER in the file that this libfabric reads, which
# its build has fixed; only that one process sees it.
named_by_file() {
	local file
	file=$(grep -aoE -m 1 '/opt/[a-z/]*/libfabric\.conf' "$1/libfabric.so.1")
	# shellcheck disable=SC2016 # for the inner shell
	lab exec node01 unshare --mount env "${gamma_env[@]}" "LD_LIBRARY_PATH=$1" sh -ec '
		mount -t tmpfs none /opt
		mkdir -p "${1%/*}"
		echo "FI_PROVIDER=$2" >"$1"
		shift 2
		exec "$@"' sh "$file" "$2" "$query" -c msg -c tagged -t rdm >"$work/out" || return
	grep '^gamma ' "$work/out" || {
		echo "no gamma"
		return 1
	}
}

not_moved() {
	on node01 env "LD_LIBRARY_PATH=$1" "$query" -c msg -c tagged -t rdm >"$work/out" &&
		grep -q RDM "$work/out" && ! grep -q gamma "$work/out"
}

pingpong "$system_version and $system_version" "" "" -e rdm
if wheel=$(ensure_wheel mpich 5.0.2 2>/dev/null); then
	test_wheel "$wheel"
else
	echo "not checked: libfabric 2.5, as the Python wheel mpich 5.0.2 cannot be fetched"
fi

# ---- the end of an installation ----

check "make uninstall" in_build uninstall "DESTDIR=$root"
check "it leaves no file" test -z "$(find "$root" ! -type d)"

finish
