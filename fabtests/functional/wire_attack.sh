# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# A third host on the wire against an exchange of two, for test_wire_attack.sh and
# test_wire_attack_udp.sh, which source it after lib.sh. The frames are drawn from a seed
# (GAMMA_ATTACK_SEED).
need_tool python3
soak=$abs_top_builddir/fabtests/functional/gamma-soak
[ -x "$soak" ] || bail "$soak is not built"
seed=${GAMMA_ATTACK_SEED:-$RANDOM}
echo "seed $seed"
# Each attack by one kind of frames takes so long; with all of them, three times that.
seconds=1
[ "${GAMMA_TEST_LONG:-0}" = 0 ] || seconds=32
victims=() # options of wire_attack.py: whom it attacks, and how
server_name=node01

attack_lab_up() {
	lab_up 3
	gamma_env+=(FI_GAMMA_PEER_TIMEOUT=60)
	# A hub: node03 sees all frames, and a forged source moves no address to another port.
	ip -n "gl-$lab_name-sw" link set dev data type bridge ageing_time 0
}

# What the client has verified so far.
verified() {
	awk '/^total/ { count = $2 } END { print count + 0 }' "$work/client.out"
}

has_verified() {
	[ "$(verified)" -gt "$1" ]
}

start_exchange() {
	start server node01 900 "$soak" serve 7000 "$seed"
	wait_for_line server '^ready' 10 || bail "the server does not start"
	start client node02 900 "$soak" drive "$server_name" 7000 0 "$seed"
	until_true 20 has_verified 20 || bail "the client does not start"
}

end_exchange() {
	stop client
	stop server
}

# attack WAY SECONDS [OPTION...]
attack() {
	local way=$1 lasts=$2
	shift 2
	on node03 python3 -B "$top_srcdir/fabtests/functional/wire_attack.py" "$way" --nic gam0 \
		"${victims[@]}" --seconds "$lasts" --seed "$seed" "$@" \
		>"$work/attack.out" 2>&1
}

# survives TEXT WAY SECONDS [OPTION...]: the exchange goes on in and behind the attack, as if there
# was none.
survives() {
	local text=$1 before
	shift
	before=$(verified)
	attack "$@" || not_ok "$text: attacker" "$work/attack.out"
	until_true 20 has_verified "$before" || not_ok "$text: nothing arrives any more"
	before=$(($(verified) + 20))
	if ! until_true 20 has_verified "$before"; then
		not_ok "$text: stands still behind it" "$work/client.out" "$work/server.out"
	elif grep -Eq '^(lost|bad)' "$work/client.out" "$work/server.out"; then
		grep -hE '^(lost|bad)' "$work/client.out" "$work/server.out" >"$work/lost.out"
		not_ok "$text: the exchange was ended or damaged" "$work/lost.out"
	else
		ok "$text: $(tail -n 1 "$work/attack.out")"
		return
	fi
	end_exchange
	start_exchange
}
