#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The bench's rounds on a machine whose speed changes: samples of another speed are made again, for
some time, and do not count. Started by `make check`, or by hand from anywhere."""

import os
import sys

sys.dont_write_bytecode = True  # the tree stays as it is
# pylint: disable=wrong-import-position
from tree import TOP, check, end

sys.path.insert(0, os.path.join(TOP, "fabtests", "benchmarks", "bench"))
from cluster import Failure
from interleave import REPETITIONS, TRIES, Interleaver
from machine import Probe
from results import Case, Results, Value

NEAR, FAR = 40, 240  # core-to-core latency, ns
ROUNDS = 3


class Speeds(Probe):
    """A probe of a machine whose speeds are given, one for each time, then the last for ever."""

    def __init__(self, wanted, *bounces):
        super().__init__("none")
        self.left = list(bounces)
        self.wanted = wanted and (wanted, 600)

    def take(self):
        self.seen.append((self.left.pop(0) if len(self.left) > 1 else self.left[0], 600))
        return len(self.seen) - 1


class Again(Speeds):
    """A probe whose speeds come again and again, however many there is time for."""

    def take(self):
        self.left.append(self.left[0])
        return super().take()


class Others:
    """Other programs that take the given shares of a processor, one for each time, then none."""

    def __init__(self, *shares):
        self.left = list(shares)

    def __call__(self):
        return self

    def share(self):
        return self.left.pop(0) if self.left else 0


class NoTime(Speeds):
    """A probe for which nobody waits."""

    def wait(self, seconds, pause=0):
        return self.take()


def measured(speeds, wait_factor=1000, run=None, others=Others()):
    """The results of one part with one case, whose figure is the speed before it."""
    results = Results()
    run = run or (lambda: [Value("time", "us", speeds.seen[-1][0])])
    interleaver = Interleaver(results, speeds, lambda line: None, others, wait_factor)
    interleaver.run_part("part", [Case("case", run)], ROUNDS, 10)
    return results


def row_of(results):
    return results.rows["part", "case", "time", 0]


def check_choice():
    for name, wanted, bounces in (
            ("the faster of two usual speeds is wanted", (NEAR, 41), (FAR, NEAR, 41, FAR)),
            ("a speed that is rare is not", (FAR,), (10,) + 11 * (FAR,))):
        speeds = Again(None, *bounces)
        speeds.choose(0.2, pause=0)
        check(name, speeds.wanted[0] in wanted, str(speeds.wanted))


def check_waiting():
    speeds = Speeds(NEAR, FAR, FAR, NEAR)
    row = row_of(measured(speeds))
    check("waits for the wanted speed", row.counted() == ([NEAR] * ROUNDS, True), str(row))
    speeds = NoTime(NEAR, NEAR, FAR, FAR, NEAR)
    row = row_of(measured(speeds))
    check("a sample that ended at another speed is made again", len(row.samples) == ROUNDS + 2,
          str(row))
    check("and does not count", row.counted() == ([NEAR] * ROUNDS, True), str(row))
    row = row_of(measured(NoTime(NEAR, FAR)))
    check("not for ever", len(row.samples) == ROUNDS * REPETITIONS, str(row))
    check("a part at one other speed counts", row.counted()[1], str(row))
    row = row_of(measured(NoTime(NEAR, FAR), wait_factor=0))
    check("without time for waiting each sample is made once", len(row.samples) == ROUNDS, str(row))


def check_others():
    row = row_of(measured(Speeds(NEAR, NEAR), others=Others(0.1, 0.5)))
    check("a sample that other programs disturbed does not count",
          [sample.kept for sample in row.samples] == [True, False, True], str(row))


def check_failures():
    tries = []

    def fail():
        tries.append(1)
        raise Failure("nothing answers")
    results = measured(Speeds(NEAR, NEAR), run=fail)
    check("a case that fails is left out", len(tries) == TRIES and not results.rows)
    check("and says why", results.failures["part", "case"] == ["nothing answers"] * TRIES)


def main():
    check_choice()
    check_waiting()
    check_others()
    check_failures()
    return end()


if __name__ == "__main__":
    sys.exit(main())
