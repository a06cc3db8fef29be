#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# As test_wire_attack.sh, but over UDP: datagrams from any source address and port, ICMP errors that
# quote invented datagrams; and what an ordinary user of another host can send, whose source is his
# own. Neither ends, stalls or damages an exchange of two hosts, and no answer to him is longer than
# 60 bytes. Functions are called through until_true:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=wire_attack.sh
. "$top_srcdir/fabtests/functional/wire_attack.sh"

need_tool jq setpriv ss

udp_port() { # HOST: of the one endpoint there
	lab exec "node0$1" ss -Hlun src "$(data_ip "$1")" | awk '{ sub(/.*:/, "", $4); print $4; exit }'
}

# The ports may be other ones when an exchange has been started again.
name_victims() {
	local i
	victims=(--udp "$(data_ip 3)")
	for i in 1 2; do
		victims+=(--victim "$(data_ip $i),$(data_mac $i),$(udp_port $i)")
	done
}

attack_lab_up
gamma_env+=(FI_GAMMA_LINK=udp FI_GAMMA_IFACE=gam0)
server_name=$(data_ip 1)
start_exchange
name_victims
for kind in data ack credit request reclaim probe reset bye lookup datagram icmp; do
	survives "UDP, forged off the path: $kind" forge "$seconds" --kind "$kind"
	name_victims
done
# That the attacks arrive, by what the server has counted so far.
counts() { # CONDITION
	on node01 "$abs_top_builddir/tools/gamma-stat" --json |
		jq -e "[.endpoints[] | select(.pid == $(pid_of server)) | .counters] |
			length > 0 and all($1)"
}
check "the ICMP errors have arrived" counts '.unreachable > 20'
check "as have frames of no peer" counts '.stray > 20'
survives "UDP, forged off the path: all kinds" forge $((3 * seconds))
name_victims
survives "UDP, replayed and damaged on the path" replay $((3 * seconds))
name_victims

# An ordinary user: python3 may be root's own, and the build folder is.
shared=/run/gamma-lab/$lab_name/shared
cp "$top_srcdir"/fabtests/functional/{crc32c,hostile_udp,hostile_wire,wire_attack,wire_attack_udp}.py \
	"$shared"
by_user() { # USER HOST [OPTION...]
	lab exec "$2" setpriv --reuid "$1" --regid "$1" --clear-groups --inh-caps=-all \
		/usr/bin/python3 -B "$shared/hostile_udp.py" --seconds "$seconds" --seed "$seed" \
		--victim "$(data_ip 1),$(udp_port 1)" "${@:3}"
}
if [ -x /usr/bin/python3 ]; then
	before=$(verified)
	check "a user's datagrams: few and short answers" \
		by_user daemon node03 --peer "$(data_ip 2),$(udp_port 2)"
	cat "$work/check.out"
	check "the same from the peer's own host" \
		by_user daemon node02 --peer "$(data_ip 2),$(udp_port 2)"
	check "the exchange goes on" until_true 20 has_verified $((before + 20))
	check "and nothing was lost or damaged" \
		bash -c '! grep -E "^(lost|bad)" "$@"' - "$work/client.out" "$work/server.out"
fi

name_victims
attack mutate $((3 * seconds)) || not_ok "UDP, altered on the path: attacker" "$work/attack.out"
check "UDP, altered on the path: the server runs" pid_of server
check "UDP, altered on the path: the client runs" pid_of client
end_exchange
finish
