# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2034
#
# Programs of ordinary users without daemon or capability, which therefore use UDP. Sourced by
# test_udp.sh and test_udp_ipv6.sh after lib.sh.
need_tool fi_pingpong fi_info jq setpriv

share_provider() { # where ordinary users can read it
	shared=/run/gamma-lab/$lab_name/shared
	mkdir -p "$shared/lib"
	for entry in "${own_env[@]}"; do
		[[ $entry != FI_PROVIDER_PATH=* ]] || cp -L "${entry#*=}/libgamma-fi.so" "$shared/lib"
	done
	chmod -R a+rX "$shared/lib"
	install -m 666 /dev/null "$shared/stats"
	gamma_env=("${own_env[@]}" "FI_PROVIDER_PATH=$shared/lib" "FI_GAMMA_STATS=$shared/stats"
		FI_GAMMA_IFACE=gam0)
}

user=(setpriv --reuid daemon --regid daemon --clear-groups --inh-caps=-all)

pingpong() { # NAME [OPTION...]
	local name=$1
	shift
	: >"$shared/stats"
	if pair -p 47592 30 "${user[@]}" fi_pingpong -p gamma "$@" -- \
		"${user[@]}" fi_pingpong -p gamma "$@" "$(mgt 1)"; then
		ok "$name"
	else
		not_ok "$name" "$work/server.out" "$work/client.out"
	fi
	cp "$shared/stats" "$work/stats"
}

domains() {
	on node01 "${user[@]}" fi_info -p gamma | awk '$1 == "domain:" { print $2 }' | sort -u
}

own_env=()
