#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# A third host on the wire against an exchange of two with compared contents. Off the path, with what
# LOOKUP reveals, it neither ends nor stalls the exchange, whatever it invents. On the path neither
# frames that come again do, nor damaged ones. With altered frames and good checksums it may end the
# exchange, but crash no program.
# Functions are called through until_true:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=wire_attack.sh
. "$top_srcdir/fabtests/functional/wire_attack.sh"

attack_lab_up
victims=(--victim "$(data_mac 1)" --victim "$(data_mac 2)")
start_exchange
for kind in data ack credit request reclaim probe reset bye lookup datagram; do
	survives "forged off the path: $kind" forge "$seconds" --kind "$kind"
done
survives "forged off the path: all kinds" forge $((3 * seconds))
survives "replayed and damaged on the path" replay $((3 * seconds))

attack mutate $((3 * seconds)) || not_ok "altered on the path: attacker" "$work/attack.out"
check "altered on the path: the server runs" pid_of server
check "altered on the path: the client runs" pid_of client
end_exchange
finish
