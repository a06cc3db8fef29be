#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Measures gamma beside the raw baseline and its peers, between virtual hosts, in one run:
`./quickstart bench`, or as root `python3 fabtests/benchmarks/bench --build BUILD`."""

import argparse
import os
import re
import signal
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True  # the tree stays as it is
# pylint: disable=wrong-import-position
import goals
import machine
import parts_apps
import parts_coll
import parts_gammad
import parts_libfabric
import parts_mpi
import parts_ports
import parts_rails
import parts_shaped
import parts_udp
import plots
import report
import results_page
from cluster import Failure
from context import TREE, Context
from interleave import Interleaver
from progress import Progress
from results import Results

# Each with its time, s, of a whole run and of a quick one.
PARTS = {
    "latency": (parts_libfabric.latency, 120, 30),
    "stream": (parts_libfabric.stream, 120, 30),
    "rate": (parts_libfabric.rate, 60, 14),
    "mpi": (parts_mpi.mpi, 120, 30),
    "node": (lambda ctx: parts_libfabric.node(ctx) + parts_mpi.mpi_node(ctx), 60, 15),
    "shaped": (parts_shaped.shaped, 120, 20),
    "overlap": (parts_mpi.overlap, 80, 24),
    "cost": (parts_libfabric.cost, 60, 20),
    "figures": (parts_mpi.figures, 30, 10),
    "gammad": (parts_gammad.gammad, 60, 15),
    "udp": (parts_udp.udp, 180, 60),
    "ports": (parts_ports.ports, 120, 30),
    "coll": (parts_coll.coll, 300, 90),
    "rails": (parts_rails.rails, 120, 40),
}
# CP2K and OpenFOAM are needed: only if they are named.
PARTS_NAMED = {name: (function, 60, 0) for name, function in parts_apps.PARTS.items()}
PROBE = Path("fabtests", "benchmarks", "gamma-probe")
ROUNDS, QUICK_ROUNDS, APPLICATION_ROUNDS, SMOKE_ROUNDS = 9, 3, 3, 1
QUICK_SCALE, SMOKE_SCALE = 0.5, 0.02
CHOICE_S = 40  # the machine's speed is watched for so long
WAIT_FACTOR = 1  # times its usual time that a part may wait for that speed


def release():
    """The version of this tree, as configure has it."""
    return re.search(r"^AC_INIT\(\[gamma\], \[([^]]*)", (TREE / "configure.ac").read_text("utf-8"),
                     flags=re.M).group(1)


def arguments():
    parser = argparse.ArgumentParser(
        prog="bench", description=__doc__,
        epilog="parts: " + " ".join(PARTS) + "; all of these if none is named. Applications, "
               "if named: " + " ".join(PARTS_NAMED))
    parser.add_argument("--version", action="version", version="bench (gamma) " + release())
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--build", type=Path, default=TREE / "build", metavar="FOLDER")
    parser.add_argument("--quick", action="store_true",
                        help="a third of the time, some fifteen minutes: fewer rounds and cases")
    parser.add_argument("--report", action="store_true",
                        help="also write doc/results.md and its plots")
    parser.add_argument("--from", dest="saved", type=Path, metavar="FILE",
                        help="measure nothing: the figures of an earlier run, from its JSON")
    parser.add_argument("--smoke", action="store_true",
                        help="one short round of a case of each kind: does everything work? "
                             "The figures mean nothing")
    parser.add_argument("--switch", action="store_true",
                        help="through the virtual switch instead of back to back")
    parser.add_argument("--json", type=Path, metavar="FILE",
                        help="where the JSON goes (default: report.json in the output folder)")
    parser.add_argument("--output", type=Path, metavar="FOLDER",
                        help="where the report and the plots go (default: the build's folder "
                             "bench)")
    parser.add_argument("--check", action="store_true",
                        help="only check the command line")
    chosen = parser.parse_args()
    for part in chosen.parts:
        if part not in PARTS | PARTS_NAMED:
            parser.error(f"there is no part {part}; {parser.epilog}")
    if chosen.json and not os.access(chosen.json.resolve().parent, os.W_OK):
        parser.error(f"--json {chosen.json}: no folder to write it into")
    if chosen.json and chosen.json.is_dir():
        parser.error(f"--json {chosen.json}: a folder; name a file")
    if chosen.saved and not os.access(chosen.saved, os.R_OK):
        parser.error(f"--from {chosen.saved}: no such file, or not readable")
    if chosen.check:
        parser.exit()
    chosen.build = chosen.build.resolve()
    if not (chosen.build / PROBE).exists():
        parser.error(f"no programs in {chosen.build}: build there, or name the folder (--build)")
    chosen.parts = chosen.parts or list(PARTS)
    chosen.output = chosen.output or chosen.build / "bench"
    return chosen


def command_text(chosen):
    """As the user has typed it, without the paths."""
    words = ["./quickstart", "bench"]
    words += [f"--{name}" for name in ("quick", "report", "smoke", "switch")
              if getattr(chosen, name)]
    if chosen.parts != list(PARTS):
        words += chosen.parts
    return " ".join(words)


def rounds_of(part, chosen):
    if chosen.smoke:
        return SMOKE_ROUNDS
    if part in PARTS_NAMED:
        return APPLICATION_ROUNDS
    return QUICK_ROUNDS if chosen.quick else ROUNDS


def measure_parts(ctx, interleaver, chosen):
    for part in chosen.parts:
        function, whole, quick = (PARTS | PARTS_NAMED)[part]
        try:
            cases = function(ctx)
        except Failure as failure:
            interleaver.results.fail(part, "all", str(failure))
            continue
        interleaver.run_part(part, cases, rounds_of(part, chosen),
                             quick if chosen.quick else whole)
        ctx.end_kept()


def measure(chosen):
    """The results of a run."""
    begin = time.monotonic()
    scale = SMOKE_SCALE if chosen.smoke else QUICK_SCALE if chosen.quick else 1
    probe = machine.Probe(chosen.build / PROBE)
    ctx = Context(chosen.build, f"bench{os.getpid()}", probe, scale=scale, quick=chosen.quick,
                  brief=chosen.smoke, switch=chosen.switch)
    results = Results()
    results.about = {"command": command_text(chosen), "parts": chosen.parts,
                     "date": time.strftime("%Y-%m-%d %H:%M"), "scale": scale,
                     "machine": machine.describe()}
    progress = Progress()
    wait_factor = 0 if chosen.smoke else WAIT_FACTOR
    try:
        if wait_factor:
            progress.show("looking for the machine's usual speed")
            probe.choose(CHOICE_S)
        measure_parts(ctx, Interleaver(results, probe, progress.show,
                                       lambda: machine.Others(ctx.kept_used), wait_factor), chosen)
    finally:
        progress.end()
        ctx.end()
    results.about["seconds"] = round(time.monotonic() - begin)
    return results


def load(chosen):
    try:
        results = Results.load(chosen.saved)
        chosen.parts = results.about["parts"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"bench: {chosen.saved}: no report of a run in JSON ({error!r})")
    return results


def shown_path(path):
    """From the user's folder; a tree with a blank in its path has been mounted elsewhere."""
    shown = os.environ.get("QUICKSTART_SHOWN_ROOT")
    if shown and path.is_relative_to(TREE):
        path = Path(shown, path.relative_to(TREE))
    return os.path.relpath(path)


def write_all(results, goal_values, chosen):
    """The files; the words that name them."""
    chosen.output.mkdir(parents=True, exist_ok=True)
    text = chosen.output / "report.txt"
    text.write_text("\n".join(report.full(results, goal_values)) + "\n", encoding="utf-8")
    json_file = chosen.json or chosen.output / "report.json"
    if chosen.saved is None:
        results.save(json_file, [goal.entry() for goal in goal_values])
    drawn = [] if chosen.smoke else plots.draw_all(results, chosen.output)
    if chosen.report:
        results_page.write(results, goal_values, TREE / "doc")
    names = [shown_path(text),
             json_file.name if json_file.parent == chosen.output else str(json_file)]
    names += [f"{name}.svg" for name, _ in drawn]
    return ", ".join(names) + ("; doc/results.md, doc/plots" if chosen.report else "")


def interrupted(number, _frame):
    sys.exit(128 + number)


def main():
    chosen = arguments()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, interrupted)
    if chosen.saved:
        results = load(chosen)
    elif os.geteuid() != 0:
        sys.exit("bench: not root: it makes network namespaces")
    elif len(os.sched_getaffinity(0)) < 2:
        sys.exit("bench: two processors are needed, one for each side of a measurement")
    else:
        results = measure(chosen)
    goal_values = goals.all_goals(results, chosen.parts)
    named = write_all(results, goal_values, chosen)
    print("\n".join(report.screen(results, goal_values)))
    print(f"everything: {named}")
    if plots.pyplot is None:
        print("no plots: matplotlib is missing (Debian: python3-matplotlib)")
    return 0 if results.rows else 1


if __name__ == "__main__":
    sys.exit(main())
