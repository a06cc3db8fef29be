# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What the tests of gammad share: two hosts with gammad on each, and ordinary users' programs there.
# Sourced after lib.sh, which it uses.
# What stands in single quotes is the inner shell's.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154,SC2120

gammad=$abs_top_builddir/gammad/gammad
gammactl=$abs_top_builddir/gammad/gammactl
hostile=$abs_top_builddir/fabtests/functional/gamma-hostile
latency=$abs_top_builddir/fabtests/benchmarks/gamma-latency

# Two hosts, or $gammad_hosts, and what ordinary users run there in a folder that they can read.
gammad_lab_up() { # [OPTION...]: of lab_up
	[ -x "$gammad" ] || skip "gammad is not built: it needs clang and libbpf"
	[ -x "$hostile" ] || bail "$hostile is not built (make check builds it)"
	grep -q cgroup2 /proc/mounts || skip "no control groups of version 2"
	lab_up "${gammad_hosts:-2}" "$@"
	nic1=$(data_mac 1)
	nic2=$(data_mac 2)
	shared=/run/gamma-lab/$lab_name/shared
	mkdir "$shared/lib"
	for entry in "${gamma_env[@]}"; do
		[[ $entry != FI_PROVIDER_PATH=* ]] || cp -L "${entry#*=}/libgamma-fi.so" "$shared/lib"
	done
	cp "$hostile" "$latency" "$shared/lib"
	chmod -R a+rX "$shared/lib"
	gamma_env+=("FI_PROVIDER_PATH=$shared/lib" "FI_GAMMA_STATS=$shared/stats" FI_GAMMA_PEER_TIMEOUT=60)
	hostile=$shared/lib/gamma-hostile
	latency=$shared/lib/gamma-latency
}

inside=() # a command in front of the user's, or none

as() { # USER COMMAND...: words that run it without any capability
	local user=$1
	shift
	words=(setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups
		--inh-caps=-all "${inside[@]}" "$@")
}

user_on() { # USER HOST COMMAND...
	local host=$2
	as "$1" "${@:3}"
	on "$host" "${words[@]}"
}

start_as() { # USER NAME HOST SECONDS COMMAND...
	local user=$1 name=$2 host=$3 seconds=$4
	as "$user" "${@:5}"
	start "$name" "$host" "$seconds" "${words[@]}"
}

user_pair() { # NAME PROGRAM...: as `both`, by labuser
	local name=$1
	as labuser "${@:2}"
	rm -f "$shared/stats"
	if pair -p 47592 30 "${words[@]}" -- "${words[@]}" "$(mgt 1)"; then
		ok "$name"
	else
		not_ok "$name" "$work/server.out" "$work/client.out"
	fi
	cp "$shared/stats" "$work/stats" 2>/dev/null || : >"$work/stats"
}

conf() { # HOST LINE...
	printf '%s\n' "${@:2}" >"$shared/gammad$1.conf"
}

start_gammad() { # HOST [VARIABLE=VALUE...]
	start "gammad$1" "$1" 900 env "${@:2}" "$gammad" -c "$shared/gammad$1.conf"
	wait_for_line "gammad$1" "ready at" 20 ||
		{ not_ok "gammad starts on host $1" "$work/gammad$1.out" && finish; }
}

listed() { # HOST PATTERN
	on "$1" "$gammactl" list 2>/dev/null | grep -Eq -- "$2"
}

empty() { # HOST
	! on "$1" "$gammactl" list | grep -Eq '^gam0'
}
