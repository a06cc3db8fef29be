# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The comparison that most readers want: gamma beside TCP with the kernel's offloads, as users run
it, beside TCP without them, and beside the raw baseline. Read by the reports and the plots."""

from dataclasses import dataclass

from goals import HALF, MESSAGES, MIB, STREAM
from parts_libfabric import BASELINE_BYTES, ON

LEVEL = 1.1  # a ratio up to this, either way, counts as level


@dataclass
class Headline:
    """Medians; None: not measured, or there is none."""
    text: str
    more_is_better: bool
    gamma: float
    tcp: float        # offloads on
    tcp_off: float
    raw: float

    def advantage(self, other):
        """How many times better gamma is than that; below 1: worse. None: unknown."""
        if not self.gamma or not other:
            return None
        return self.gamma / other if self.more_is_better else other / self.gamma


def verdict(advantage):
    if advantage is None:
        return ""
    if advantage > LEVEL:
        return f"{advantage:,.3g}x better"
    if advantage < 1 / LEVEL:
        return f"{1 / advantage:,.3g}x worse"
    return "level"


def mpi_row(results, text, size, suffix="", raw=None):
    def of(case):
        return results.median("mpi", case, HALF, size)

    return Headline(text, False, of("btl gamma" + suffix), of(f"btl tcp{suffix}{ON}"),
                    of("btl tcp" + suffix), raw)


def latency_row(results, text, size, raw=None):
    def of(case):
        return results.median("latency", case, HALF, size)

    return Headline(text, False, of("gamma, tagged"), of("libfabric tcp, tagged" + ON),
                    of("libfabric tcp, tagged"), raw)


def stream_row(results, mtu):
    def of(name):
        return results.median("stream", f"{name}, MTU {mtu}", STREAM, MIB)

    return Headline(f"stream of 1 MiB, MTU {mtu:,}, MB/s", True, of("gamma"),
                    results.median("stream", f"tcp, MTU {mtu}{ON}", STREAM, MIB), of("tcp"),
                    of("raw packets"))


def rate_row(results, text, what, raw):
    def of(name):
        return results.median("rate", name, what, 8)

    return Headline(text, what == MESSAGES, of("gamma"), of("tcp" + ON), of("tcp"), raw)


def headlines(results):
    """Only those that have gamma's figure."""
    raw_us = results.median("mpi", "raw packets", HALF, BASELINE_BYTES)
    beside = "half round trip beside own stream"
    rows = [
        mpi_row(results, "MPI, 0 B, us", 0, raw=raw_us),
        mpi_row(results, "MPI, 64 KiB, MTU 1,500, us", 65536),
        mpi_row(results, "MPI, 1 MiB, MTU 1,500, us", MIB),
        mpi_row(results, "MPI, 1 MiB, MTU 9,000, us", MIB, ", MTU 9000"),
        latency_row(results, "libfabric, 8 B, us", 8,
                    results.median("latency", "raw packets", HALF, BASELINE_BYTES)),
        latency_row(results, "libfabric, 64 KiB, us", 65536),
        stream_row(results, 1500),
        stream_row(results, 9000),
        rate_row(results, "messages of 8 B, million/s", MESSAGES,
                 results.median("rate", "raw packets", MESSAGES, 8)),
        rate_row(results, "processor time, 8 B, us/message", "processor time, both sides", None),
        Headline("8 B beside bulk, 1 Gbit/s, us", False,
                 results.median("shaped", "gamma, MTU 1500, beside its own stream", beside, 8),
                 results.median("shaped", f"tcp, MTU 1500, beside its own stream{ON}", beside, 8),
                 None, None),
    ]
    return [row for row in rows if row.gamma is not None]
