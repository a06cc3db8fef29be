#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# What packagers and administrators get: archives that are the same each time, and one version
# everywhere. Needs no root. Functions are called through check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

need_tool make tar

# Not part of the make that has started this test.
in_build() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u DESTDIR \
		make -s --no-print-directory -C "$abs_top_builddir" "$@" </dev/null
}

# variable NAME: one of the makefile's; make may have more to say before.
variable() {
	in_build --eval "print-$1:;@echo '\$($1)'" "print-$1" | tail -n 1
}

release=$(variable VERSION)
gamma_setup_env

# ---- the archive ----

# archive NAME UMASK ENVIRONMENT...: what `make dist` writes, as $work/NAME.tar.gz.
archive() {
	local name=$1 mask=$2
	shift 2
	(umask "$mask" && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL "$@" \
		make -s --no-print-directory -C "$abs_top_builddir" dist </dev/null) &&
		mv "$abs_top_builddir/gamma-$release.tar.gz" "$work/$name.tar.gz"
}
check "make dist" archive first 022 -u SOURCE_DATE_EPOCH
check "make dist, with another umask" archive second 077 -u SOURCE_DATE_EPOCH
check "both archives are the same" cmp "$work/first.tar.gz" "$work/second.tar.gz"
check "make dist, of a given time" archive third 022 SOURCE_DATE_EPOCH=1000000000
times() {
	tar --utc --full-time -tvzf "$work/third.tar.gz" | awk '{ print $4 }' | sort -u
}
check "all files in it have that time" test "$(times)" = 2001-09-09

# ---- one version everywhere ----

check "NEWS has a paragraph about it" grep -q "^## $release" "$top_srcdir/NEWS.md"
if command -v fi_info >/dev/null; then
	listed=$(env "${gamma_env[@]}" fi_info -l 2>/dev/null | sed -n '/^gamma:/{n;s/^ *version: //p}')
	check "fi_info -l shows it" test "$listed" = "${release%.*}"
fi
shown_by_openmpi() {
	OMPI_MCA_mca_base_component_path=$abs_top_builddir/.libs \
		"$(variable OMPI_INFO)" --param btl gamma | grep "btl: gamma .*Component v$release"
}
if [ -e "$abs_top_builddir/.libs/mca_btl_gamma.so" ] && ! sanitized; then
	check "ompi_info shows it" shown_by_openmpi
fi

finish
