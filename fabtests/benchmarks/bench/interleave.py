# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Interleaved measurements: every case of a part once a round, in alternating order, each between
two probes of the machine. Fills the results; called by the main program and the demonstration."""

import time

from cluster import Failure
from machine import OTHERS_SHARE, Others
from results import KEPT_MIN

TRIES = 2  # failures of a case until it is left out
SLOW_FACTOR = 2  # times its usual time that a part may take for enough rounds


def woven(often, others, times):
    """The order of a round that measures the first cases so many times, with the others spread
    between. For what is compared most closely: a machine's speed changes by more than they
    differ."""
    size = -(-len(others) // times) or 1
    return [case for i in range(times) for case in (*often, *others[i * size:(i + 1) * size])]


class Interleaver:
    """progress: called with a line for people; kept_used: processor time, s, of processes of ours
    that go on running between two measurements."""

    def __init__(self, results, probe, progress, kept_used):
        self.results, self.probe, self.progress = results, probe, progress
        self.kept_used = kept_used

    def run_part(self, part, cases, rounds, budget_s):
        """As many rounds as the time allows. Enough for a median may take twice that time: on a
        machine so busy that even this does not do, the figures mean little, and are marked."""
        begin, first = time.monotonic(), len(self.probe.seen)
        for done in range(rounds):
            spent = time.monotonic() - begin
            allowed = budget_s if done >= KEPT_MIN else SLOW_FACTOR * budget_s
            if not cases or (done and spent + spent / done > allowed):
                break
            self.progress(f"{part}: round {done + 1}, {spent:.0f} s")
            cases = self.round(part, cases if done % 2 == 0 else cases[::-1])
            cases = cases if done % 2 == 0 else cases[::-1]
        if len(self.probe.seen) > first:
            self.judge(part, first)

    def round(self, part, cases):
        """The cases that are worth another round."""
        before = self.probe.take()
        for case in cases:
            if self.left_out(part, case):
                continue
            others = Others(self.kept_used)
            try:
                values = list(case.run())
            except Failure as failure:
                self.results.fail(part, case.name, str(failure))
                values = None
            share = others.share()
            after = self.probe.take()
            if values is not None:
                self.results.add(part, case.name, values, share, (before, after))
            before = after
        return [case for case in cases if not self.left_out(part, case)]

    def left_out(self, part, case):
        return len(self.results.failures.get((part, case.name), [])) >= TRIES

    def judge(self, part, first):
        """The mode that the machine was in for most of the part counts: ratios are of one part."""
        usual = self.probe.usual(first)
        self.results.modes[part] = self.probe.summary(first)
        for row in self.results.of_part(part):
            for sample in row.samples:
                sample.kept = (all(self.probe.fits(number, usual) for number in sample.probes) and
                               sample.others <= OTHERS_SHARE)
