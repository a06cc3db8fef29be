# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What the tests of gammad do with the hostile client; sourced after lib.sh, which it uses. $hostile
# is the program.
# shellcheck shell=bash disable=SC2154

# A reader has been started as the job `reader`: it gets what is for it, and nothing else.
reader_gets_its_own() {
	local mac port user
	wait_for_line reader '^[0-9a-f:]+ [0-9]+ [0-9]+$' 10 ||
		not_ok "hostile reader" "$work/reader.out"
	read -r mac port user <"$work/reader.out"
	check "secrets are sent" on node02 "$hostile" send gam0 "$mac" "$port" "$user"
	wait_end reader || true
	check "hostile: no foreign frame read, his own is" grep -qx "0 secrets read" "$work/reader.out"
	check "hostile: the socket stays bound" grep -qx "0 times bound again" "$work/reader.out"
}

# COMMAND starts a client that has an endpoint until let_go; it writes to hold.out.
hold_by() { # COMMAND...
	[ -p "$work/commands" ] || mkfifo "$work/commands"
	rm -f "$work/hold.out" # the one before has written "held", too
	"$@" <"$work/commands" >"$work/hold.out" 2>&1 &
	holder=$!
	exec 7>"$work/commands"
	until_true 10 grep -qx held "$work/hold.out" || not_ok "hostile holder" "$work/hold.out"
}

let_go() {
	(trap '' PIPE && echo >&7) 2>/dev/null || true # one that has ended fails below
	exec 7>&-
	wait "$holder" || not_ok "hostile holder" "$work/hold.out"
}
