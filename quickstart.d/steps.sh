# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2034,SC2164
#
# Terminal, log and steps: what the user sees of a command, and its end. Sourced by quickstart.

live=0 # 1: the terminal can rewrite a line
bold='' red='' green='' dim='' plain=''
child='' # process group of the step that runs
step_name=''
step_from=0 # size of the log in bytes when the step began

# ---- terminal and log ----

setup_terminal() {
	[ -t 1 ] || return 0
	[ "${TERM:-dumb}" != dumb ] || return 0
	live=1
	[ -z "${NO_COLOR:-}" ] || return 0 # no-color.org
	bold=$'\e[1m' red=$'\e[31m' green=$'\e[32m' dim=$'\e[2m' plain=$'\e[0m'
}

# Writes a line that the next one replaces, if the terminal can do that.
show_live() {
	[ "$live" -eq 0 ] || printf '\r\e[K%s' "$1"
}

say() {
	show_live ''
	printf '%s\n' "${1//"$root"/$shown_root}"
}

fail() {
	show_live ''
	printf '%squickstart: %s%s\n' "$red" "${1//"$root"/$shown_root}" "$plain" >&2
	exit "${fail_status:-1}"
}

# The part of the log that the present step has written.
step_log() {
	tail -c "+$((step_from + 1))" "$log"
}

# The error lines of the step's log, or else its last lines.
show_cause() {
	local found
	found=$(step_log |
		grep -aE '(^|[^a-z_])(error|Error|ERROR|fatal|FATAL|FAIL|E):? |cannot|No such|NOT OK' |
		tail -n 12) || found=''
	[ -n "$found" ] || found=$(step_log | tail -n 12)
	printf '%s\n' "$found" | cut -c 1-160 | sed 's/^/    /' >&2
}

# ---- steps ----

log_size() {
	stat -c %s "$log"
}

# In a running suite: the test that has a log but no result file yet.
running_test() {
	local newest
	[ -n "$suite" ] || return 0
	newest=$(find "$suite/fabtests" -name '*.log' -printf '%T@ %p\n' | sort -n | tail -n 1)
	newest=${newest#* }
	newest=${newest%.log}
	[ -z "$newest" ] || [ -e "$newest.trs" ] || echo ", at ${newest#"$suite/"}"
}

# Waits for the step's process, and calls FOLLOW five times a second. Without a terminal that can
# rewrite a line, writes a new line every 30 s. FOLLOW may begin a part with another step_name.
watch_child() {
	local follow=$1 marks=.oOo tick=0 start=$SECONDS name=$step_name
	while kill -0 "$child" 2>/dev/null; do
		"$follow"
		[ "$step_name" = "$name" ] || { name=$step_name start=$SECONDS; }
		tick=$((tick + 1))
		show_live "${marks:tick % 4:1} $step_name $((SECONDS - start)) s"
		if [ "$live" -eq 0 ] && [ $((tick % 150)) -eq 0 ]; then
			say "...    $step_name, $((SECONDS - start)) s so far$(running_test)"
		fi
		sleep 0.2
	done
	"$follow"
}

# step NAME COMMAND...: one line at its end; on failure also the cause and the log's path.
step() {
	step_name=$1
	shift
	run_step : show_cause "$@"
}

# run_step FOLLOW EXPLAIN COMMAND...: calls FOLLOW while the command runs, and EXPLAIN if it fails.
# The command has a process group of its own, so that an interrupt ends all of it.
run_step() {
	local follow=$1 explain=$2 start=$SECONDS status=0
	shift 2
	printf '\n==== %s: %s\n' "$step_name" "$*" >>"$log"
	step_from=$(log_size)
	set -m
	"$@" </dev/null >>"$log" 2>&1 9>&- &
	child=$!
	set +m
	watch_child "$follow"
	wait "$child" || status=$?
	child=''
	if [ "$status" -ne 0 ]; then
		say "${red}failed${plain} $step_name ($((SECONDS - start)) s)"
		"$explain"
		printf '    full log: %s\n' "${log/#"$root"/$shown_root}" >&2
		return "$status"
	fi
	say "${green}ok${plain}     $step_name ${dim}($((SECONDS - start)) s)${plain}"
}

leave() {
	local status=$?
	trap - EXIT
	set +e
	if [ -n "$child" ]; then
		kill -TERM -- "-$child" 2>/dev/null
		wait "$child" # it removes its virtual clusters first
	fi
	show_live ''
	[ -z "$demo_lab" ] || demo_down >>"$log" 2>&1
	leave_plain_path
	exit "$status"
}

begin() {
	cd "$root"
	trap leave EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	[ -w "$root" ] || fail "$root is not writable for $(id -un): run as its owner or as root"
	mkdir -p "$build"
	exec 9>"$build/.quickstart.lock"
	flock -n 9 || fail "another quickstart is running in $build: wait for it"
	: >"$log"
}

need_root() {
	[ "$(id -u)" -eq 0 ] || fail "not root: $1 makes network namespaces; use sudo"
}
