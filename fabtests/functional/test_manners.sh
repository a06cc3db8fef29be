#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# What every tool does alike: --help, --version, wrong options in one line and status 2, a manual page
# with examples and exit status, bash completion, misspelt variables, no colours but on terminals.
# Walks over all programs that the makefile installs, and those of the tree: a new one without any of
# this fails here. Needs no root. Started by `make check`; by hand abs_top_builddir names the build
# folder, if it is not the current one. Functions are called through expect and check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

# What the makefile installs.
# shellcheck disable=SC2016 # for make to expand
mapfile -t lists < <(printf '%b' 'include Makefile\nprint-lists:\n' '\t@echo $(VERSION)\n' \
	'\t@echo $(bin_PROGRAMS) $(sbin_PROGRAMS) $(bin_SCRIPTS) $(sbin_SCRIPTS)\n' \
	'\t@echo $(dist_man_MANS) $(man_MANS)\n' '\t@echo $(completed) $(dist_completion_DATA)\n' |
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s --no-print-directory -C "$abs_top_builddir" -f - print-lists)
release=${lists[0]}
read -ra installed <<<"${lists[1]}"
read -ra pages <<<"${lists[2]}"
read -ra completed <<<"${lists[3]}"
of_tree=(lab/lab lab/vm lab/debian-root lab/packages quickstart)
completion=$top_srcdir/contrib/completion/gammaping

# runs STATUS COMMAND...: it ends so; what it writes is in out and err.
runs() {
	local expected=$1 status=0
	shift
	timeout -k 2 20 "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	[ "$status" -eq "$expected" ] || not_ok "$* (exit $status, wanted $expected)" "$work/out" "$work/err"
	[ "$status" -eq "$expected" ]
}

expect() { # TEXT COMMAND...: as check, and shows what the program has written
	local text=$1
	shift
	if "$@" >/dev/null 2>&1; then ok "$text"; else not_ok "$text" "$work/out" "$work/err"; fi
}

# ---- all ----

# The usage on standard output, and nothing else.
is_usage() { [ ! -s "$work/err" ] && grep -Eqi "^ *usage: .*$1" "$work/out" && ! grep -q '^.\{100\}' "$work/out"; }
is_version() { [ ! -s "$work/err" ] && [ "$(cat "$work/out")" = "$1 (gamma) $release" ]; }
# One line on standard error alone, which says where to look.
is_misuse() { [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q "^$1: .*--help" "$work/err"; }

answers() { # NAME PROGRAM
	if runs 0 "$2" --help; then expect "$1 --help" is_usage "$1"; fi
	if runs 0 "$2" --version; then expect "$1 --version" is_version "$1"; fi
	if runs 2 "$2" --no-such-option; then expect "$1 --no-such-option" is_misuse "$1"; fi
}

for program in "${installed[@]}"; do answers "$(basename "$program")" "$abs_top_builddir/$program"; done
for program in "${of_tree[@]}"; do answers "$(basename "$program")" "$top_srcdir/$program"; done
check "programs are installed" [ "${#installed[@]}" -ge 4 ]

# ---- manual pages ----

# Options as NAME's usage has them, and as its page has them; those that all have stand aside.
in_usage() {
	"$1" --help | grep -oE '(^|[[ ,])--?[a-zA-Z0-9][a-z-]*' | tr -d '[ ,' | grep -Ev '^(-h|--help|--version)$' | sort -u
}
in_page() {
	grep '^\.It Fl ' "$1" | grep -oE 'Fl [^ ,]+' | sed 's/Fl /-/' |
		grep -Ev '^(-h|--help|--version)$' | sort -u
}

documented() { # NAME PROGRAM
	local page section
	page=$(printf '%s\n' "${pages[@]}" | grep -E "^man/$1\.[18]$") || page=''
	if [ -z "$page" ]; then
		not_ok "$1 has a manual page among dist_man_MANS"
		return
	fi
	page=$top_srcdir/$page
	for section in NAME SYNOPSIS DESCRIPTION "EXIT STATUS" EXAMPLES "SEE ALSO"; do
		check "$1: the page has $section" grep -qx "\.Sh $section" "$page"
	done
	sed -n '/^\.Sh EXIT STATUS/,/^\.El/p' "$page" >"$work/status"
	for section in 0 2; do check "$1: the page explains status $section" grep -qx "\.It $section" "$work/status"; done
	check "$1: and no status but 0, 1, 2" [ "$(grep -c '^\.It [^012]' "$work/status")" -eq 0 ]
	in_usage "$2" >"$work/out"
	in_page "$page" >"$work/err"
	expect "$1: usage and page have the same options" cmp "$work/out" "$work/err"
}
for program in "${installed[@]}"; do documented "$(basename "$program")" "$abs_top_builddir/$program"; done

# ---- bash completion ----

# completes NAME BEFORE WORD: what bash offers for WORD behind BEFORE.
completes() {
	bash -c '. "$0" && COMP_WORDS=("$1" "$2" "$3") COMP_CWORD=2 && _gamma "$1" && echo " ${COMPREPLY[*]} "' \
		"$completion" "$@"
}

offers_options() { # NAME PROGRAM: every option of the usage is offered, and nothing else
	completes "$1" '' - | tr ' ' '\n' | grep -Ev '^(-h|--help|--version|)$' | sort -u >"$work/out"
	in_usage "$2" >"$work/err"
	expect "$1: bash completes its options" cmp "$work/out" "$work/err"
	check "$1: completion is loaded for it" grep -Eq "^complete -F _gamma .*\b$1\b" "$completion"
	check "$1: and installed" grep -Eqx "(contrib/completion/)?$1" <(printf '%s\n' "${completed[@]}")
}
for program in "${installed[@]}"; do offers_options "$(basename "$program")" "$abs_top_builddir/$program"; done
if [ -x "$abs_top_builddir/gammad/gammactl" ]; then
	commands=$("$abs_top_builddir/gammad/gammactl" --help | sed -n 's/.*\[-s SOCKET\] \([a-z]*\) .*/\1/p' | sort | xargs)
	check "commands of gammactl: $commands" \
		[ "$(completes gammactl '' '' | xargs -n 1 | sort | xargs)" = "$commands" ]
	check "users for gammactl" grep -q ' root ' <(completes gammactl allow roo)
fi
check "interfaces" grep -q ' lo ' <(completes gammaping -I l)
echo 'node17 02:00:00:00:00:17' >"$work/gamma.conf"
check "hosts of gamma.conf" grep -q ' node17 ' <(FI_GAMMA_CONF=$work/gamma.conf completes gammaping '' no)

# ---- called from elsewhere ----

# quickstart finds its files through a symbolic link, and in a folder with a blank: there it mounts
# the tree at a plain path, which needs root.
ln -s "$(realpath "$top_srcdir")/quickstart" "$work/a link"
if runs 0 "$work/a link" --version; then expect "quickstart, through a link" is_version quickstart; fi
mkdir -p "$work/a tree/lab"
cp -r "$top_srcdir/quickstart" "$top_srcdir/quickstart.d" "$top_srcdir/configure.ac" "$work/a tree"
cp "$top_srcdir/lab/version.sh" "$work/a tree/lab"
if [ "$(id -u)" -ne 0 ]; then
	runs 1 "$work/a tree/quickstart" --version || true
	expect "quickstart, in a folder with a blank, asks for root" grep -q 'use sudo' "$work/err"
elif unshare --mount true 2>/dev/null; then
	if runs 0 "$work/a tree/quickstart" --version; then
		expect "quickstart, in a folder with a blank" is_version quickstart
	fi
fi

# ---- variables ----

# A tool whose page names the provider's variables points at one that is misspelt, but not instead of
# --help.
is_hint() { [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q 'is it FI_GAMMA_RING_SIZE?' "$work/err"; }
for program in "${installed[@]}"; do
	name=$(basename "$program")
	grep -qs '^\.Ev FI_GAMMA_' "$top_srcdir/man/$name".[18] || continue
	if runs 2 env FI_GAMMA_RINGSIZE=1 "$abs_top_builddir/$program" x; then
		expect "$name: FI_GAMMA_RINGSIZE" is_hint
	fi
	if runs 0 env FI_GAMMA_RINGSIZE=1 "$abs_top_builddir/$program" --help; then
		expect "$name: --help comes first" is_usage "$name"
	fi
done

# ---- exit status ----

# 1: the tool has done its work, and found what is wrong; 2: it could not. One line says why.
ends() { # STATUS PROGRAM ARGUMENT...
	local text
	text="exit status $1: $(basename "$2") ${*:3}"
	if runs "$@"; then
		expect "$text" [ "$(cat "$work/out" "$work/err" | wc -l)" -eq "$([ "$1" = 0 ] && echo 0 || echo 1)" ]
	fi
}
ends 2 "$abs_top_builddir/tools/gamma-flows" "$work/no-such-file"
ends 2 "$abs_top_builddir/tools/gamma-flows" "$work"
ends 2 "$abs_top_builddir/tools/gamma-discover" --iface nosuch0
ends 2 "$abs_top_builddir/tools/gamma-discover" --merge "$work/no-such-file"
ends 2 "$abs_top_builddir/tools/gammaping" -I nosuch0 node02
if [ -x "$abs_top_builddir/gammad/gammad" ]; then
	echo 'nic eth1 slots 8' >"$work/good.conf"
	echo 'nic eth1 slots many' >"$work/wrong.conf"
	ends 0 "$abs_top_builddir/gammad/gammad" -t -c "$work/good.conf"
	ends 1 "$abs_top_builddir/gammad/gammad" -t -c "$work/wrong.conf"
	ends 2 "$abs_top_builddir/gammad/gammad" -t -c "$work/no-such-file"
	ends 2 "$abs_top_builddir/gammad/gammad" -c "$work/wrong.conf"
	ends 2 "$abs_top_builddir/gammad/gammad" -c "$work/no-such-file"
	ends 2 "$abs_top_builddir/gammad/gammactl" -s "$work/no-such-file" status
	ends 2 "$abs_top_builddir/gammad/gammactl" -s "$work/good.conf" status
fi

# ---- wrong options ----

# wrong PATTERN PROGRAM ARGUMENT...: one line that matches.
wrong() {
	local pattern=$1
	shift
	if runs 2 "$@"; then expect "$(basename "$1") ${*:2}" grep -Eqx -- "$pattern" "$work/err"; fi
}
tools=$abs_top_builddir/tools
wrong 'gamma-discover: --chek is no option \(is it --check\?\); .*' "$tools/gamma-discover" --chek
wrong 'gamma-discover: --wait needs a value; .*' "$tools/gamma-discover" --wait
wrong 'gamma-discover: --json takes no value; .*' "$tools/gamma-discover" --json=5
wrong 'gammaping: -c needs a value; .*' "$tools/gammaping" -c
wrong 'gammaping: -Z is no option; .*' "$tools/gammaping" --udp -Zq node02
wrong 'gamma-stat: -x is no option; .*' "$tools/gamma-stat" -x

# ---- colours ----

# What is written on a terminal; without one nobody writes an escape sequence.
on_terminal() { # COMMAND...
	python3 -B -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) != 0)' "$@" </dev/null
}
without() { ! "$@"; }
has_colours() { grep -q $'\e\\[[0-9;]*m' "$work/out"; }
# A quickstart that fails at once, with a message in red.
fails_at_once() { on_terminal env TERM=xterm "$@" "$top_srcdir/quickstart" fuzz x >"$work/out" 2>&1; }
if [ -x "$(type -P python3)" ]; then
	fails_at_once || true
	check "quickstart has colours on a terminal" has_colours
	fails_at_once NO_COLOR=1 || true
	check "but not with NO_COLOR" without has_colours
	"$top_srcdir/quickstart" fuzz x >"$work/out" 2>&1 || true
	check "nor without a terminal" without has_colours
fi
# No other program has colours: a new one needs a check like these.
coloured() { grep -lE '\\(e|033|x1b)\[[0-9;]*m' "$top_srcdir"/{tools,gammad,common/*}/*.c "$top_srcdir"/lab/*; }
check "the other tools have none" without coloured

# ---- progress ----

# A gammad that does not answer: a person who waits for it gets a message.
if [ -x "$abs_top_builddir/gammad/gammactl" ] && [ -x "$(type -P python3)" ]; then
	python3 -B - "$work/socket" <<-'PYTHON' &
		import socket, sys, time
		listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		listener.bind(sys.argv[1])
		listener.listen(8)
		time.sleep(30)
	PYTHON
	silent=$!
	until [ -S "$work/socket" ]; do sleep 0.05; done
	timeout 1.7 "$abs_top_builddir/gammad/gammactl" -s "$work/socket" status >"$work/quiet" 2>&1 &
	on_terminal timeout 1.7 "$abs_top_builddir/gammad/gammactl" -s "$work/socket" status >"$work/out" 2>&1 || true
	wait $! || true
	check "gammactl says on a terminal that it waits" grep -q 'waiting for gammad' "$work/out"
	check "and nowhere else" [ ! -s "$work/quiet" ]
	kill "$silent"
fi

finish
