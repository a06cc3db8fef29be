# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Measurements taken in turns: every case of a part once a round, in changing order, each between
two probes of the machine. Owns the samples; parts fill them, goals and reports read them."""

import statistics
import time
from dataclasses import dataclass, field
from typing import Callable

from cluster import Failure
from machine import OTHERS_SHARE, Others

TRIES = 2  # failures of a case until it is left out


@dataclass
class Value:
    """What a case measured once."""
    what: str    # such as "half round trip"
    unit: str
    number: float
    size: int = 0  # bytes of a message; 0 is a size too


@dataclass
class Case:
    """Something to be measured: returns its values, or raises Failure."""
    name: str
    run: Callable


def woven(often, others, times):
    """The order of a round that measures the first cases so many times, with the others spread
    between: for what is compared most closely, since a machine's speed changes by more than they
    differ."""
    size = -(-len(others) // times) or 1
    return [case for i in range(times) for case in (*often, *others[i * size:(i + 1) * size])]


@dataclass
class Sample:
    number: float
    before: int   # probes
    after: int
    others: float # share of a processor that other programs took


@dataclass
class Row:
    part: str
    case: str
    what: str
    size: int
    unit: str
    samples: list = field(default_factory=list)


class Turns:
    def __init__(self, probe, say, kept):
        self.probe, self.say = probe, say
        self.kept_used = kept # s that processes of ours have used which go on running
        self.rows = {}      # (part, case, what, size) -> Row
        self.failures = {}  # (part, case) -> texts
        self.probes = {}    # part -> its first probe, and the one after its last

    def add(self, part, case, values, *state):
        for value in values:
            key = (part, case, value.what, value.size)
            row = self.rows.setdefault(key, Row(*key, value.unit))
            row.samples.append(Sample(value.number, *state))

    def fail(self, part, case, text):
        self.failures.setdefault((part, case), []).append(text)

    def run_part(self, part, cases, rounds, budget_s):
        """As many rounds as the time allows; the second one may take half as much more."""
        begin = time.monotonic()
        done, first = 0, len(self.probe.seen)
        while done < rounds and cases:
            spent = time.monotonic() - begin
            if done and spent + spent / done > budget_s * (1.5 if done == 1 else 1):
                break
            cases = self.round(part, cases if done % 2 == 0 else cases[::-1])
            cases = cases if done % 2 == 0 else cases[::-1]
            done += 1
            self.probes[part] = (first, len(self.probe.seen))
            self.say(f"{part}: round {done} of {rounds} at most, "
                     f"{time.monotonic() - begin:.0f} s")
        return done

    def round(self, part, cases):
        """The cases that are worth another round."""
        before = self.probe.take()
        for case in cases:
            if self.given_up(part, case):
                continue
            others = Others(self.kept_used)
            try:
                values = list(case.run())
            except Failure as failure:
                self.fail(part, case.name, str(failure))
                values = None
            share = others.share()
            after = self.probe.take()
            if values is not None:
                self.add(part, case.name, values, before, after, share)
            before = after
        return [case for case in cases if not self.given_up(part, case)]

    def given_up(self, part, case):
        return len(self.failures.get((part, case.name), [])) >= TRIES

    def counts(self, sample, usual):
        """Whether the machine was in this mode, and ours."""
        return (self.probe.fits(sample.before, usual) and self.probe.fits(sample.after, usual) and
                sample.others <= OTHERS_SHARE)

    def usual(self, part):
        """The mode that the machine was in for most of the part: ratios are of one part."""
        return self.probe.usual(*self.probes[part])

    def kept(self, row):
        """What the samples that count measured; all of them, and False, if none counts."""
        usual = self.usual(row.part)
        kept = [s.number for s in row.samples if self.counts(s, usual)]
        return (kept, True) if kept else ([s.number for s in row.samples], False)

    def median(self, part, case, what, size=0):
        """None if it was not measured."""
        row = self.rows.get((part, case, what, size))
        return statistics.median(self.kept(row)[0]) if row else None
