#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Runs many random seeds in the simulator; GAMMA_SIM_SEEDS: how many, or which
# (FIRST-LAST). A run of one seed must be repeatable to the bit.
set -euo pipefail

sim=${abs_top_builddir:-.}/fabtests/sim/gamma-sim
seeds=${GAMMA_SIM_SEEDS:-2000}
[[ $seeds == *-* ]] || seeds=1-$seeds

# The fourth and fifth once waited for seconds until lost frames counted as lost: test_loss.c has the
# causes. In the sixth an endpoint that closed took its peer's answer for the peer's end. In the
# seventh a handler answers a peer that has died, when a fetch from it has failed. In the eighth a
# rail was left after several refusals at once; in the ninth a peer that had ended the flow
# answered probes of rails, and was not believed. In the tenth flows that were idle kept what a slow
# stream could have used, in the eleventh an acknowledgement on data reported too little of what had
# arrived by several rails, and in the twelfth a peer with one rail answered the probe of a rail,
# which proved nothing. In the next two a sender without credit must be believed; in the next
# two sides waited for each other's notices of demoted messages; in the
# next a timer of loss was not moved when the round trip of a second rail became shorter; in the
# next a forged first number near the true one was never doubted; in the next a late answer to a
# probe made frames larger than the NIC took, and in the next frames that had left before there
# were rails were not counted. In the next three a rail was left since its NIC refused jumbo frames,
# an old answer made the account of credit wrong, and messages to a partial address joined others. In
# the next repetitions that had arrived counted as under way, so that others waited for a probe. In
# the next two NICs that refused large probes counted as full, and other probes waited for seconds. In
# the next two nodes need the credit that a dead one holds of both, one after the other. In the next
# two a repair was repeated at once, though all of it had been lost: the answer to a probe counted as
# an arrival, and a frame in parts as one frame. In the next one a BYE that the link had refused
# counted as a try, so that the endpoint did not wait for the answer to the last one that left; in
# the next four idle rails asked each other without end, since answers came a little late.
for seed in 1 5 11 10173310 20067094 30021284 30073288 40004521 40008190 40023730 40028884 \
	40104674 40000197 40008710 40002504 40014378 40070209 4010 86000088 \
	90000447 90002291 90008706 93019768 92044163 92177180 110093231 110164469 \
	110221823 111067985 112042117; do
	"$sim" --seed "$seed" >/dev/null
done
"$sim" --seeds "$seeds"
