#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Runs every named scenario of the simulator: what the protocol promises, in virtual time. With
# GAMMA_SCENARIOS only those named there.
set -euo pipefail

sim=${abs_top_builddir:-.}/fabtests/sim/gamma-sim
failed=0
for name in ${GAMMA_SCENARIOS:-$("$sim" --list | cut -d' ' -f1)}; do
	"$sim" --scenario "$name" || failed=1
done
exit "$failed"
