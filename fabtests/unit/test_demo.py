#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The demonstration's measurement of lost frames, whose number is chance: it goes on until enough
were lost, and not for ever. Started by `make check`, or by hand from anywhere."""

import os
import sys
from contextlib import redirect_stdout
from io import StringIO

sys.dont_write_bytecode = True  # the tree stays as it is
# pylint: disable=wrong-import-position
from tree import TOP, check, end

sys.path.insert(0, os.path.join(TOP, "fabtests", "benchmarks", "bench"))
import demo
from cluster import Failure
from machine import Probe


class Lossy(demo.Demo):
    """Loses as many frames in each try as it was made with, then none."""

    def __init__(self, *lost):
        super().__init__(None, None)
        self.lost, self.tries = list(lost), 0

    def lossy_round_trips(self, provider):
        self.tries += 1
        lost = self.lost.pop(0) if self.lost else 0
        return 10.0 * lost, lost


def line_of(table, row):
    return next((line for line in table if line.startswith(demo.ROWS[row].text)), "")


def check_table():
    """Each row compares gamma as by default; what was not measured has a dash."""
    shown = demo.Demo(None, None)
    shown.samples = {("64k", "gamma"): [20.0], ("64k", "udp"): [90.0], ("64k", "tcp"): [30.0],
                     ("rate", "gamma"): [5.0], ("rate", "udp"): [4.0], ("rate", "tcp"): [0.5],
                     ("1m", "gamma"): [300.0], ("1m", "tcp"): [100.0]}
    table = list(shown.table())
    check("the default is compared", line_of(table, "64k").endswith("1.5x faster"),
          line_of(table, "64k"))
    check("where more is better, too", line_of(table, "rate").endswith("10x more"),
          line_of(table, "rate"))
    check("a link that was not measured", line_of(table, "1m").endswith("3.0x slower"),
          line_of(table, "1m"))
    check("nothing that was measured", line_of(table, "loss").endswith("?"),
          line_of(table, "loss"))
    check("the conclusion", "Slower: 1 MiB at MTU 1,500." in "\n".join(table))


class Speeds:
    """A probe of a machine whose speeds are given, one for each time."""
    usual, fits = Probe.usual, Probe.fits

    def __init__(self, *bounces):
        self.left, self.seen = list(bounces), []

    def take(self):
        self.seen.append((self.left.pop(0) if self.left else 40, 600))
        return len(self.seen) - 1


def measured(speeds):
    """The demonstration after one step: a provider's figure is the speed before it."""
    shown = demo.Demo(None, speeds)
    with redirect_stdout(StringIO()):
        shown.measure("a step", lambda provider: {"1m": speeds.seen[-1][0]})
    return shown


def check_speeds():
    shown = measured(Speeds())
    check("a steady machine: three rounds", len(shown.samples["1m", "tcp"]) == demo.ROUNDS)
    shown = measured(Speeds(40, 40, 41, 240, 250, 240))
    check("figures of another speed do not count", all(
        set(figures) <= {40, 41} and len(figures) >= demo.ROUNDS
        for figures in shown.samples.values()), str(shown.samples))
    check("and are made again", len(shown.probe.seen) > 1 + 3 * demo.ROUNDS)
    check("the table does not speak of it", not shown.unsteady)
    shown = measured(Speeds(*(40, 240) * 20))
    check("a machine that is never steady: all rounds count",
          len(shown.samples["1m", "gamma"]) == demo.ROUNDS_MAX)
    check("the table says so", any("several speeds: 1 MiB at MTU 1,500." in line
                                   for line in shown.table()))


def main():
    once = Lossy(demo.LOSSES_MIN)
    check("one try that lost enough", once.lost_frame("gamma") == {"loss": 10.0} and
          once.tries == 1)
    unlucky = Lossy(0, 1, 0, demo.LOSSES_MIN)
    check("tries that lost too few are repeated, and count",
          unlucky.lost_frame("gamma") == {"loss": 10.0} and unlucky.tries == 4)
    never = Lossy()
    try:
        never.lost_frame("gamma")
        check("no loss at all is a failure", False)
    except Failure as failure:
        check("no loss at all is a failure", "0 frames" in str(failure), str(failure))
    check("its tries are bounded", never.tries == demo.LOSSY_TRIES, str(never.tries))
    check_table()
    check_speeds()
    return end()


if __name__ == "__main__":
    sys.exit(main())
