#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Measures gamma against the physical floor and its peers, between virtual hosts, in one run:
`./quickstart bench`, or as root `python3 fabtests/benchmarks/bench --build BUILD`."""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True  # the tree stays as it is
# pylint: disable=wrong-import-position
import goals
import machine
import parts_apps
import parts_gammad
import parts_libfabric
import parts_mpi
import parts_shaped
import plots
import report
from cluster import Failure
from context import TREE, Context
from turns import Turns

# Each with its time, s, of a whole run and of a quick one; 0: one round.
PARTS = {
    "latency": (parts_libfabric.latency, 120, 16),
    "stream": (parts_libfabric.stream, 120, 16),
    "rate": (parts_libfabric.rate, 80, 14),
    "mpi": (parts_mpi.mpi, 120, 20),
    "node": (lambda ctx: parts_libfabric.node(ctx) + parts_mpi.mpi_node(ctx), 60, 10),
    "shaped": (parts_shaped.shaped, 120, 16),
    "overlap": (parts_mpi.overlap, 110, 12),
    "cost": (parts_libfabric.cost, 60, 0),
    "figures": (parts_mpi.figures, 40, 8),
    "gammad": (parts_gammad.gammad, 60, 10),
}
# What needs CP2K and OpenFOAM: only if it is named.
PARTS_NAMED = {name: (function, 60, 0) for name, function in parts_apps.PARTS.items()}
PROBE = Path("fabtests", "benchmarks", "gamma-probe")
ROUNDS, QUICK_ROUNDS = 9, 3
QUICK_SCALE, SMOKE_SCALE = 0.5, 0.02


def arguments():
    parser = argparse.ArgumentParser(
        prog="bench", description=__doc__,
        epilog="parts: " + " ".join(PARTS) + "; all of these if none is named. Applications, "
               "if named: " + " ".join(PARTS_NAMED))
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--build", type=Path, default=TREE / "build", metavar="FOLDER")
    parser.add_argument("--quick", action="store_true",
                        help="about three minutes instead of fifteen: fewer rounds and sizes")
    parser.add_argument("--smoke", action="store_true",
                        help="one short round of a case of each kind: does everything work? "
                             "Figures mean nothing")
    parser.add_argument("--switch", action="store_true",
                        help="through the virtual switch instead of back to back")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--plots", type=Path, metavar="FOLDER",
                        help="where plots go (default: the build's folder bench)")
    parser.add_argument("--check", action="store_true",
                        help="only look whether the command line is right")
    chosen = parser.parse_args()
    for part in chosen.parts:
        if part not in PARTS | PARTS_NAMED:
            parser.error(f"there is no part {part}; {parser.epilog}")
    if chosen.json and not os.access(chosen.json.resolve().parent, os.W_OK):
        parser.error(f"--json {chosen.json}: no folder to write it into")
    if chosen.check:
        parser.exit()
    chosen.build = chosen.build.resolve()
    if not (chosen.build / PROBE).exists():
        parser.error(f"no programs in {chosen.build}: build there, or name the folder (--build)")
    chosen.parts = chosen.parts or list(PARTS)
    return chosen


def say(text):
    print(text, flush=True)


def show(text):
    """Progress, for whoever watches."""
    print(text, file=sys.stderr, flush=True)


def measure(ctx, turns, chosen):
    for part in chosen.parts:
        function, whole, quick = (PARTS | PARTS_NAMED)[part]
        rounds, budget = (QUICK_ROUNDS, quick) if chosen.quick else (ROUNDS, whole)
        try:
            cases = function(ctx)
        except Failure as failure:
            turns.fail(part, "all", str(failure))
            continue
        turns.run_part(part, cases, rounds if budget and not chosen.smoke else 1, budget)
        ctx.end_kept()


def tell(turns, chosen, about):
    reached = goals.all_goals(turns, chosen.parts)
    report.tables(turns, say)
    report.goal_table(reached, say)
    report.failures(turns, say)
    report.mode(turns, say)
    if chosen.json:
        report.write_json(chosen.json, turns, reached, about)
    if not chosen.smoke:
        plots.draw_all(turns, chosen.plots or chosen.build / "bench", say)


def interrupted(number, _frame):
    sys.exit(128 + number)


def main():
    chosen = arguments()
    begin = time.monotonic()
    if os.geteuid() != 0:
        sys.exit("bench: not root: it makes network namespaces")
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, interrupted)
    scale = SMOKE_SCALE if chosen.smoke else QUICK_SCALE if chosen.quick else 1
    probe = machine.Probe(chosen.build / PROBE)
    ctx = Context(chosen.build, f"bench{os.getpid()}", probe, scale=scale, quick=chosen.quick,
                  brief=chosen.smoke, switch=chosen.switch)
    turns = Turns(probe, show, ctx.kept_used)
    about = {"parts": chosen.parts, "date": time.strftime("%Y-%m-%d %H:%M:%S"), "scale": scale,
             "machine": machine.describe()}
    try:
        measure(ctx, turns, chosen)
    finally:
        ctx.end()
    about["seconds"] = round(time.monotonic() - begin)
    tell(turns, chosen, about)
    say(f"\n{about['machine']['processor']}, {about['machine']['processors']} processors, Linux "
        f"{about['machine']['kernel']}; load {about['machine']['load']:.2f} at the beginning; "
        f"took {about['seconds']} s")
    return 0 if turns.rows else 1


if __name__ == "__main__":
    sys.exit(main())
