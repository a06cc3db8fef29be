# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The comparison that most readers want: gamma beside TCP, both as users run them, with the
kernel's offloads; and beside gamma's links alone, the raw baseline, and TCP without offloads. Read
by the reports."""

from dataclasses import dataclass

import parts_udp
from comparison import Measure
from goals import HALF, MESSAGES, MIB, STREAM
from parts_libfabric import BASELINE_BYTES, OFF, RAW_ALONE


@dataclass
class Headline:
    """Medians; None: not measured, or there is none. gamma: as by default, raw frames for short
    messages and UDP for long ones."""
    measure: Measure
    gamma: float
    tcp: float
    tcp_off: float           # without offloads
    raw_alone: float = None  # gamma by raw frames alone
    udp_alone: float = None  # gamma over UDP
    baseline: float = None   # bare packet sockets
    minor: bool = False      # only for the page

    def verdict(self):
        return self.measure.verdict(self.gamma, self.tcp)

    def loses(self):
        advantage = self.measure.advantage(self.gamma, self.tcp)
        return advantage is not None and "level" != self.verdict() and advantage < 1


def mpi_row(results, text, size, mtu=1500, baseline=None):
    end = f", MTU {mtu}" if mtu != 1500 else ""

    def median(case):
        return results.median("mpi", case + end, HALF, size)

    return Headline(Measure(text), median("btl gamma"), median("btl tcp"),
                    results.median("mpi", f"btl tcp{end}{OFF}", HALF, size),
                    median("btl gamma, raw alone"),
                    results.median("udp", "btl gamma over UDP" + parts_udp.suffix(mtu, True), HALF,
                                   size), baseline)


def latency_row(results, text, size, udp_alone, baseline=None):
    """udp_alone: the case of that name in the part udp."""
    def median(case):
        return results.median("latency", case, HALF, size)

    return Headline(Measure(text), median("gamma, tagged"), median("libfabric tcp, tagged"),
                    median("libfabric tcp, tagged" + OFF), median(f"{RAW_ALONE}, tagged"),
                    results.median("udp", f"{parts_udp.GAMMA}, {udp_alone}", HALF, size), baseline,
                    size >= 65536)


def stream_row(results, mtu):
    def median(name, end=""):
        return results.median("stream", f"{name}, MTU {mtu}{end}", STREAM, MIB)

    return Headline(Measure(f"stream of 1 MiB, MTU {mtu:,}, MB/s", more_is_better=True),
                    median("gamma"), median("tcp"), median("tcp", OFF), median(RAW_ALONE),
                    results.median("udp", parts_udp.GAMMA + parts_udp.suffix(mtu, True), STREAM,
                                   MIB), median("raw packets"))


def rate_row(results, measure, what, baseline=None):
    def median(name):
        return results.median("rate", name, what, 8)

    return Headline(measure, median("gamma"), median("tcp"), median("tcp" + OFF),
                    baseline=baseline)


def bulk_row(results):
    def median(name):
        return results.median("shaped", f"{name}, MTU 1500, beside its own stream",
                              "half round trip beside own stream", 8)

    return Headline(Measure("8 B beside bulk, 1 Gbit/s, us"), median("gamma"), median("tcp"), None)


def headlines(results):
    """Only those that have gamma's figure."""
    ping_pong = "ping-pong" + parts_udp.suffix(1500, True)
    rows = [
        mpi_row(results, "MPI, 0 B, us", 0,
                baseline=results.median("mpi", "raw packets", HALF, BASELINE_BYTES)),
        mpi_row(results, "MPI, 16 KiB, MTU 1,500, us", 16384),
        mpi_row(results, "MPI, 64 KiB, MTU 1,500, us", 65536),
        mpi_row(results, "MPI, 1 MiB, MTU 1,500, us", MIB),
        mpi_row(results, "MPI, 1 MiB, MTU 9,000, us", MIB, 9000),
        latency_row(results, "libfabric, 8 B, us", 8, "short",
                    results.median("latency", "raw packets", HALF, BASELINE_BYTES)),
        latency_row(results, "libfabric, 64 KiB, MTU 1,500, us", 65536, ping_pong),
        latency_row(results, "libfabric, 1 MiB, MTU 1,500, us", MIB, ping_pong),
        stream_row(results, 1500),
        stream_row(results, 9000),
        rate_row(results, Measure("messages of 8 B, million/s", "more", "fewer", True), MESSAGES,
                 results.median("rate", "raw packets", MESSAGES, 8)),
        rate_row(results, Measure("processor time, 8 B, us/message", "less", "more"),
                 "processor time, both sides"),
        bulk_row(results),
    ]
    return [row for row in rows if row.gamma is not None]
