# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Interleaved measurements: every case of a part once a round, in alternating order, each between
two probes of the machine. Fills the results; called by the main program and the demonstration."""

import time

from cluster import Failure
from machine import OTHERS_SHARE
from results import KEPT_MIN

TRIES = 2  # failures of a case until it is left out
SLOW_FACTOR = 2  # times its usual time that a part may take for enough rounds
REPETITIONS = 3  # of a sample that the machine's speed has spoilt


def woven(often, others, times):
    """The order of a round that measures the first cases so many times, with the others spread
    between. For what is compared most closely: a machine's speed changes by more than they
    differ."""
    size = -(-len(others) // times) or 1
    return [case for i in range(times) for case in (*often, *others[i * size:(i + 1) * size])]


class Interleaver:
    """progress: called with a line for people; others: called before a measurement, returns what
    its share() says afterwards, as machine.Others does; wait_factor: times its usual time that a
    part may wait for the wanted mode of the machine and repeat what was not measured in it."""

    def __init__(self, results, probe, progress, others, wait_factor=0):
        self.results, self.probe, self.progress = results, probe, progress
        self.others, self.wait_factor = others, wait_factor
        self.waited = self.wait_most_s = 0

    def run_part(self, part, cases, rounds, budget_s):
        """As many rounds as the time allows. Enough for a median may take twice that time: on a
        machine so busy that even this does not do, the figures mean little, and are marked."""
        begin, first = time.monotonic(), len(self.probe.seen)
        self.waited, self.wait_most_s = 0, self.wait_factor * budget_s
        for done in range(rounds):
            spent = time.monotonic() - begin - self.waited
            allowed = budget_s if done >= KEPT_MIN else SLOW_FACTOR * budget_s
            if not cases or (done and spent + spent / done > allowed):
                break
            self.progress(f"{part}: round {done + 1}, {time.monotonic() - begin:.0f} s")
            cases = self.round(part, cases if done % 2 == 0 else cases[::-1])
            cases = cases if done % 2 == 0 else cases[::-1]
        if len(self.probe.seen) > first:
            self.judge(part, first)

    def round(self, part, cases):
        """The cases that are worth another round."""
        for case in cases:
            for repetition in range(REPETITIONS):
                if self.left_out(part, case):
                    break
                before, begin = self.ready(), time.monotonic()
                fits = self.measure(part, case, before)
                if repetition:
                    self.waited += time.monotonic() - begin
                if fits or self.waited >= self.wait_most_s:
                    break
        return [case for case in cases if not self.left_out(part, case)]

    def ready(self):
        """The number of a probe: in the wanted mode, if the time for waiting allows it."""
        begin = time.monotonic()
        number = self.probe.wait(self.wait_most_s - self.waited)
        self.waited += time.monotonic() - begin
        return number

    def measure(self, part, case, before):
        """One sample; whether it was taken in the wanted mode."""
        others = self.others()
        try:
            values = list(case.run())
        except Failure as failure:
            self.results.fail(part, case.name, str(failure))
            return True
        share, after = others.share(), self.probe.take()
        self.results.add(part, case.name, values, share, (before, after))
        wanted = self.probe.wanted
        return wanted is None or all(self.probe.fits(number, wanted) for number in (before, after))

    def left_out(self, part, case):
        return len(self.results.failures.get((part, case.name), [])) >= TRIES

    def judge(self, part, first):
        """One mode counts in a part, as ratios are of one part: the wanted one if enough samples
        were taken in it, else the one that the machine was in for most of the time."""
        mode = self.probe.wanted
        if mode is None or not self.keep(part, mode):
            mode = self.probe.usual(first)
            self.keep(part, mode)
        self.results.modes[part] = self.probe.summary(mode, first)

    def keep(self, part, mode):
        """Keeps the samples of this mode; whether they are enough for most rows."""
        rows = self.results.of_part(part)
        for row in rows:
            for sample in row.samples:
                sample.kept = (all(self.probe.fits(number, mode) for number in sample.probes) and
                               sample.others <= OTHERS_SHARE)
        return 2 * sum(row.counted()[1] for row in rows) > len(rows)
