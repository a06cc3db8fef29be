#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# What packagers and administrators get: archives that are the same each time, folders that suit the
# prefix, and one version everywhere. Needs no root. Functions are called through check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

need_tool make pkg-config tar

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

# Hosts without clang build gammad from the archive, with the BPF programs that it brings.
programs=gamma-$release/gammad/bpf/gammad.bpf.o
check "it has gammad's BPF programs" tar -C "$work" -xzf "$work/first.tar.gz" "$programs"
names_this_machine() {
	grep -aqF -e "$top_srcdir" -e "$abs_top_builddir" "$work/$programs"
}
check "they name no folder of this machine" eval '! names_this_machine'

# ---- Debian's packages ----

# What `make install` writes, in the folders of Debian's packages.
image=$work/image
debian_image() {
	local from to
	in_build install DESTDIR="$work/installed" || return
	while read -r from to; do
		from=$work/installed$from to=$image/$to
		[ -d "$from" ] || continue
		mkdir -p "$to" && cp -a "$from/." "$to" && rm -rf "$from" || return
	done <<-END
		$(variable providerdir) usr/lib/multiarch/libfabric
		$(variable openmpicomponentdir) usr/lib/multiarch/openmpi/lib/openmpi3
		$(variable pkgconfigdir) usr/lib/multiarch/pkgconfig
		$(variable systemdsystemunitdir) $UNITDIR
		$(variable sysctldir) usr/lib/sysctl.d
		$(variable tmpfilesdir) usr/lib/tmpfiles.d
		$(variable libdir) usr/lib/multiarch
		$(variable prefix) usr
	END
	mkdir -p "$image/etc" && : >"$image/etc/gammad.conf" # debian/rules makes it
}

# in_lists: prints the files of the image that the lists of debian/ name; "no PATTERN" where one names none.
in_lists() {
	local pattern files
	sed "s|\${env:UNITDIR}|$UNITDIR|" "$top_srcdir"/debian/{*.install,not-installed} |
		while read -r pattern _; do
			mapfile -t files < <(compgen -G "$image/$pattern")
			if [ "${#files[@]}" -gt 0 ]; then
				find "${files[@]}" ! -type d
			else
				echo "no $pattern"
			fi
		done | sort
}

every_file_is_listed() {
	diff <(find "$image" ! -type d | sort) <(in_lists | grep -v '^no ')
}

each_pattern_names_a_file() {
	! in_lists | grep '^no '
}
UNITDIR=usr/lib/systemd/system
check "make install" debian_image
module_file_is_whole() { # sed has put a value in each place
	! grep -n '@\|[$][(]' "$image/usr/share/gamma/modulefile" &&
		grep -qx "setenv FI_PROVIDER_PATH \"$(variable providerdir)\"" "$image/usr/share/gamma/modulefile"
}
check "the module file names the provider's folder" module_file_is_whole
links_hold() { # those of the installed documents
	local file link missing=0
	for file in "$image"/usr/share/doc/gamma/*.md; do
		while read -r link; do
			[ -e "${file%/*}/$link" ] && continue
			echo "${file##*/}: $link"
			missing=1
		done < <(grep -o '](\([^)#]*\)' "$file" | cut -c3- | grep -v '^http')
	done
	[ "$missing" -eq 0 ]
}
check "the installed documents link each other" links_hold
check "debian/*.install name each file once" every_file_is_listed
if [ -e "$abs_top_builddir/.libs/mca_btl_gamma.so" ] && [ -x "$abs_top_builddir/gammad/gammad" ]; then
	check "and no other" each_pattern_names_a_file
fi

# ---- folders outside of --prefix ----

# configure_with OPTION...: in a folder of its own, where /usr cannot be written to.
configure_with() {
	local command=("$top_srcdir/configure" -q --cache-file="$work/config.cache" "$@")
	rm -rf "$work/configure" && mkdir "$work/configure" && cd "$work/configure" || return
	if [ "$(id -u)" -eq 0 ]; then
		# shellcheck disable=SC2016 # for the inner shell
		command=(unshare --mount sh -ec 'mount --bind /usr /usr
			mount -o remount,bind,ro /usr
			exec "$@"' sh "${command[@]}")
	fi
	"${command[@]}" </dev/null >"$work/configure.out" 2>&1
}

# goes_to VARIABLE FOLDER: of that configured build.
goes_to() {
	[ "$(abs_top_builddir=$work/configure variable "$1")" = "$2" ] && return
	cat "$work/configure.out"
	return 1
}

system_folder=$(pkg-config --variable=libdir libfabric)/libfabric
prefix=$work/prefix
if [ "$(id -u)" -eq 0 ] && ! unshare --mount true 2>/dev/null; then
	echo "not checked: --prefix alone, as root without mount namespaces"
elif [[ $system_folder != /usr/* ]]; then
	echo "not checked: --prefix alone, as libfabric is not in /usr"
else
	check "configure --prefix=FOLDER alone" configure_with --prefix="$prefix" --disable-gammad
	check "the provider stays below it" goes_to providerdir "$prefix/lib/libfabric"
	check "configure says what to pass" \
		grep -q "pass --with-providerdir=$system_folder and run make install as root" "$work/configure.out"
	check "configure says where programs find it" \
		grep -qx ".*export FI_PROVIDER_PATH=$prefix/lib/libfabric" "$work/configure.out"
	check "a folder that was given is kept" configure_with --prefix="$prefix" --without-openmpi \
		--disable-gammad --with-providerdir="$system_folder"
	check "and is the provider's" goes_to providerdir "$system_folder"
	check "a prefix that is not writable either" configure_with --prefix=/usr/none \
		--without-openmpi --disable-gammad
	check "keeps libfabric's folder, for root" goes_to providerdir "$system_folder"
fi

# ---- one version everywhere ----

check "Debian's changelog is about it" grep -q "^gamma ($release-" "$top_srcdir/debian/changelog"
check "the spec for rpmbuild, too" grep -qx "Version: *$release" "$top_srcdir/contrib/rpm/gamma.spec"
check "Spack's recipe, too" grep -q "version(\"$release\")" "$top_srcdir/contrib/spack/package.py"
check "EasyBuild's recipe, too" test -e "$top_srcdir/contrib/easybuild/gamma-$release-"*.eb
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
