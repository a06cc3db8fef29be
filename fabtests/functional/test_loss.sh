#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Bad networks: what is lost, doubled, late, out of order or damaged on the way is repaired or
# dropped, and frames that the path does not carry are not sent again and again. Peers and hosts
# that fail are in test_reliability.sh.
# What stands in single quotes is jq's.
# shellcheck disable=SC2016,SC2119
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"

need_tool fi_pingpong jq

pingpong=(fi_pingpong -p gamma -e rdm)

lab_up 2
count_frames

# ---- frames that are lost ----

mib=64
[ "${GAMMA_TEST_LONG:-0}" = 0 ] || mib=512
for percent in 1 5 10; do
	lab impair node02 --loss "$percent"
	exchange "$percent % lost" "$mib"
	counted "$percent % lost: sent again" 'map(.retransmissions) | add > 0'
done

for burst in "5 --burst 20" "10 --burst 200"; do
	# shellcheck disable=SC2086 # several words
	lab impair node02 --loss $burst
	exchange "${burst/--burst/% lost in runs of}" 32
done

lab impair node02 --loss 30
run "30 % lost" calls sizes order both_directions close_outstanding

# ---- doubled, late, out of order ----

lab impair node02 --dup 10
exchange "10 % doubled" 32 duplicates
counted "doubled ones are noticed" 'map(.duplicates) | add > 0'
counted "and nothing is sent again for them" 'all(.retransmissions == 0)'

lab impair node02 --delay 2ms --jitter 1ms
exchange "2 ms late, give or take 1 ms" 16
lab impair node02 --delay 2ms --jitter 1ms --reorder 10
exchange "10 % out of order, by 2 ms" 16 out_of_order
counted "seen out of order" 'map(.out_of_order) | add > 0'

lab impair node02 --delay 100us --buffer 32
exchange "a switch that holds 32 frames" 16

# ---- damaged ----

lab impair node02 --corrupt 5 --corrupt-in header
exchange "5 % damaged in the header" 32 malformed
counted "damaged frames are dropped" 'map(.malformed) | add > 0'
counted "and then sent again" 'map(.retransmissions) | add > 0'

gamma_env+=(FI_GAMMA_PAYLOAD_CRC=1)
lab impair node02 --corrupt 5 --corrupt-in payload
exchange "5 % damaged in the payload" 32 corrupt
counted "damaged payloads are dropped" 'map(.corrupt) | add > 0'
counted "and then sent again" 'map(.retransmissions) | add > 0'
lab impair node02 --corrupt 5
exchange "5 % damaged anywhere" 32 corrupt malformed

lab impair node02 off
exchange "all is well again" 64
both "so say others" 20 "${pingpong[@]}" -c -S all -I 4
counted_clean "all is well again"
lab_down

# ---- a switch that does not carry large frames ----

lab_up 2 --mtu 9000
ip -n "gl-$lab_name-sw" link set dev d2 mtu 1500
gamma_env+=(FI_LOG_LEVEL=warn)
vanish="frames of 9000 bytes do not reach $(data_mac 1)"
start_exchange
check "jumbo frames vanish in the switch: said" wait_for_line client "$vanish" 10
end_exchange "jumbo frames vanish in the switch"
check "jumbo frames vanish in the switch: said once" \
	test "$(grep -c "$vanish" "$work/client.out")" = 1
counted "jumbo frames vanish in the switch: no data was lost in them" 'all(.retransmissions == 0)'
ip -n "gl-$lab_name-sw" link set dev d2 mtu 9000

start_exchange
ip -n "gl-$lab_name-sw" link set dev d2 mtu 1500
no_more="$vanish.* any more"
check "jumbo frames begin to vanish: said" wait_for_line client "$no_more" 10
sleep 0.3
end_exchange "jumbo frames begin to vanish"
check "jumbo frames begin to vanish: said once" test "$(grep -c "$no_more" "$work/client.out")" = 1
counted "jumbo frames begin to vanish: sent again as small ones" 'map(.retransmissions) | add > 0'
ip -n "gl-$lab_name-sw" link set dev d2 mtu 9000

start_exchange
on node01 ip link set dev gam0 mtu 1500
sleep 1
end_exchange "the own MTU becomes smaller" send_stalls
on node01 ip link set dev gam0 mtu 9000
lab_down

finish
