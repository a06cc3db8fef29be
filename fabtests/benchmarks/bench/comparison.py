# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""How figures of gamma and of others compare, in words. Used by the reports and the
demonstration."""

from dataclasses import dataclass

LEVEL = 1.1  # a ratio up to this, either way, counts as level


@dataclass
class Measure:
    """What is compared. The words say how gamma differs."""
    text: str
    better: str = "faster"
    worse: str = "slower"
    more_is_better: bool = False

    def advantage(self, gamma, other):
        """How many times better gamma is; below 1: worse. None: unknown."""
        if gamma is None or other is None or gamma <= 0 or other <= 0:
            return None
        return gamma / other if self.more_is_better else other / gamma

    def verdict(self, gamma, other):
        advantage = self.advantage(gamma, other)
        if advantage is None:
            return "?"
        if is_level(advantage):
            return "level"
        if advantage > 1:
            return f"{factor_text(advantage)} {self.better}"
        return f"{factor_text(1 / advantage)} {self.worse}"


def is_level(advantage):
    return 1 / LEVEL <= advantage <= LEVEL


def factor_text(factor):
    return f"{factor:.1f}x" if factor < 9.95 else f"{factor:,.0f}x"


def number_text(value):
    if value is None:
        return "-"
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"
