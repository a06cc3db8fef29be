# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2034
#
# Builds, each in a folder of its own. Sourced by quickstart.

# Makes configure if it is missing or outdated; the makefile handles later changes.
ensure_configure() {
	local newer
	[ ! -e "$root/config.status" ] ||
		fail "$root was configured in place: run make distclean there first"
	newer=$(find "$root" -path "$build" -prune -o \
		\( -name configure.ac -o -name Makefile.am -o -name Makefile.include \) \
		-newer "$root/configure" -print 2>/dev/null | head -n 1) || newer=''
	if [ ! -x "$root/configure" ] || [ -n "$newer" ] || [ ! -e "$root/Makefile.in" ]; then
		step "autogen" "$root/autogen.sh"
	fi
}

configure_in() {
	local dir=$1
	shift
	mkdir -p "$dir" && cd "$dir" && "$root/configure" "$@" && printf '%s\n' "$*" >.options
}

# needs_configure FOLDER [OPTION...]: true unless an up-to-date configure ran there with them.
needs_configure() {
	local dir=$1
	shift
	[ ! -e "$dir/Makefile" ] || [ "$root/configure" -nt "$dir/config.status" ] ||
		[ "$(cat "$dir/.options" 2>/dev/null)" != "$*" ]
}

# prepare [PACKAGE...]: installs what the build needs, and these packages.
prepare() {
	ensure_packages "${packages[@]}" "$@"
	ensure_configure
}

# command_build [quiet PACKAGE...]: quiet omits the last line.
command_build() {
	prepare "${@:2}"
	if needs_configure "$build"; then
		step "configure" configure_in "$build"
	fi
	step "build" make -C "$build" -j"$jobs"
	[ "${1:-}" = quiet ] || say "built: $(provider_dir "$build")/libgamma-fi.so"
}

provider_dir() {
	local dir
	for dir in "$1/prov/gamma/.libs" "$1/.libs"; do
		[ -e "$dir/libgamma-fi.so" ] || continue
		echo "$dir"
		return
	done
	fail "$1 holds no libgamma-fi.so"
}
