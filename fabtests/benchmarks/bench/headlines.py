# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The comparison that most readers want: gamma beside TCP with the kernel's offloads, as users run
it, beside TCP without them, and beside the raw baseline. Read by the reports."""

from dataclasses import dataclass

import parts_udp
from comparison import Measure
from goals import HALF, MESSAGES, MIB, STREAM
from parts_libfabric import BASELINE_BYTES, MTUS, ON


@dataclass
class Headline:
    """Medians; None: not measured, or there is none."""
    measure: Measure
    gamma: float
    tcp: float        # offloads on
    tcp_off: float
    raw: float = None
    minor: bool = False  # only for the page

    def verdict(self, other):
        return self.measure.verdict(self.gamma, other)

    def loses(self):
        """Whether TCP as users run it is better."""
        advantage = self.measure.advantage(self.gamma, self.tcp)
        return advantage is not None and "level" != self.verdict(self.tcp) and advantage < 1


def mpi_row(results, text, size, suffix="", raw=None):
    def median(case):
        return results.median("mpi", case, HALF, size)

    return Headline(Measure(text), median("btl gamma" + suffix), median(f"btl tcp{suffix}{ON}"),
                    median("btl tcp" + suffix), raw)


def latency_row(results, text, size, raw=None):
    def median(case):
        return results.median("latency", case, HALF, size)

    return Headline(Measure(text), median("gamma, tagged"), median("libfabric tcp, tagged" + ON),
                    median("libfabric tcp, tagged"), raw)


def stream_row(results, mtu):
    def median(name, suffix=""):
        return results.median("stream", f"{name}, MTU {mtu}{suffix}", STREAM, MIB)

    return Headline(Measure(f"stream of 1 MiB, MTU {mtu:,}, MB/s", more_is_better=True),
                    median("gamma"), median("tcp", ON), median("tcp"), median("raw packets"))


def udp_row(results, text, size, gamma, tcp, suffix, raw=None):
    """SUFFIX: of the cases' names, by whether the offloads are on."""
    def median(case):
        return results.median("udp", case, HALF, size)

    return Headline(Measure(text), median(gamma + suffix(True)), median(tcp + suffix(True)),
                    median(tcp + suffix(False)), raw, "1 MiB" in text)


def udp_stream_row(results, mtu):
    def median(name, offloads=True):
        return results.median("udp", name + parts_udp.suffix(mtu, offloads), STREAM, MIB)

    return Headline(Measure(f"UDP, stream of 1 MiB, MTU {mtu:,}, MB/s", more_is_better=True),
                    median(parts_udp.GAMMA), median("tcp"), median("tcp", False), median("trains"))


def udp_rows(results):
    """gamma over UDP, with the offloads that TCP has. The baseline: plain UDP sockets."""
    def suffix(offloads):
        return parts_udp.suffix(1500, offloads)

    plain = results.median("udp", parts_udp.UNCONNECTED, HALF, BASELINE_BYTES)
    yield udp_row(results, "UDP, libfabric, 8 B, us", 8, parts_udp.GAMMA, "tcp",
                  lambda on: ", short" if on else ", not measured", plain)
    for size, text in ((65536, "64 KiB"), (MIB, "1 MiB")):
        yield udp_row(results, f"UDP, libfabric, {text}, MTU 1,500, us", size,
                      f"{parts_udp.GAMMA}, ping-pong", "tcp, ping-pong", suffix)
        yield udp_row(results, f"UDP, MPI, {text}, MTU 1,500, us", size, "btl gamma over UDP",
                      "btl tcp", suffix)
    for mtu in MTUS:
        yield udp_stream_row(results, mtu)


def rate_row(results, measure, what, raw=None):
    def median(name):
        return results.median("rate", name, what, 8)

    return Headline(measure, median("gamma"), median("tcp" + ON), median("tcp"), raw)


def bulk_row(results):
    def median(case):
        return results.median("shaped", case, "half round trip beside own stream", 8)

    return Headline(Measure("8 B beside bulk, 1 Gbit/s, us"),
                    median("gamma, MTU 1500, beside its own stream"),
                    median(f"tcp, MTU 1500, beside its own stream{ON}"), None)


def headlines(results):
    """Only those that have gamma's figure."""
    rows = [
        mpi_row(results, "MPI, 0 B, us", 0,
                raw=results.median("mpi", "raw packets", HALF, BASELINE_BYTES)),
        mpi_row(results, "MPI, 64 KiB, MTU 1,500, us", 65536),
        mpi_row(results, "MPI, 1 MiB, MTU 1,500, us", MIB),
        mpi_row(results, "MPI, 1 MiB, MTU 9,000, us", MIB, ", MTU 9000"),
        latency_row(results, "libfabric, 8 B, us", 8,
                    results.median("latency", "raw packets", HALF, BASELINE_BYTES)),
        stream_row(results, 1500),
        stream_row(results, 9000),
        rate_row(results, Measure("messages of 8 B, million/s", "more", "fewer", True), MESSAGES,
                 results.median("rate", "raw packets", MESSAGES, 8)),
        rate_row(results, Measure("processor time, 8 B, us/message", "less", "more"),
                 "processor time, both sides"),
        bulk_row(results),
        *udp_rows(results),
    ]
    return [row for row in rows if row.gamma is not None]
