#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The demonstration's measurement of lost frames, whose number is chance: it goes on until enough
were lost, and not for ever. Started by `make check`, or by hand from anywhere."""

import os
import sys

sys.dont_write_bytecode = True  # the tree stays as it is
# pylint: disable=wrong-import-position
from tree import TOP, check, end

sys.path.insert(0, os.path.join(TOP, "fabtests", "benchmarks", "bench"))
import demo
from cluster import Failure


class Lossy(demo.Demo):
    """Loses as many frames in each try as it was made with, then none."""

    def __init__(self, *lost):
        super().__init__(None)
        self.lost, self.tries = list(lost), 0

    def lossy_round_trips(self, provider):
        self.tries += 1
        lost = self.lost.pop(0) if self.lost else 0
        return 10.0 * lost, lost


def line_of(table, row):
    return next((line for line in table if line.startswith(demo.ROWS[row].text)), "")


def check_table():
    """Each row compares gamma as by default; what was not measured has a dash."""
    shown = demo.Demo(None)
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
    return end()


if __name__ == "__main__":
    sys.exit(main())
