# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""gamma over UDP beside TCP, with the kernel's offloads on and off, beside plain UDP sockets, and
beside libfabric's reliable datagrams over UDP."""

import re

from cluster import Failure
from interleave import woven
from parts_libfabric import BASELINE_BYTES, MIB, MTUS, OFF, RAW_ALONE
from parts_mpi import TRANSPORTS, ping_pong
from results import Case, Value

GAMMA, DEFAULT = "gamma over UDP", "gamma"
LOST = "a lost datagram of a train"
LOST_DELAY = "delay by it, at most"
CONNECTED, UNCONNECTED = "plain UDP, connected", "plain UDP, unconnected"
RXD = "udp;ofi_rxd"
LONG = (65536, MIB)
HEADERS = 28       # bytes: IPv4 and UDP
TRAIN_SECONDS = 0.1
TRAIN_MB = 300     # some tenth of a second


def suffix(mtu, offloads):
    """Of a case's name."""
    return f", MTU {mtu}" + ("" if offloads else OFF)


def used_values(row):
    """Processor time by side, from a line of gamma-stream. A byte's is that of 1 MiB."""
    return [Value(f"processor time, {side}", "ns/byte",
                  1000 * (row[side]["user_us"] + row[side]["system_us"]) / MIB, MIB)
            for side in ("sender", "receiver")]


def stream_case(ctx, lab, provider, name):
    def run():
        row = ctx.stream_kept_row(lab, provider, TRAIN_SECONDS)
        return [Value("one-way stream", "MB/s", row["MB_per_s"], MIB), *used_values(row)]
    return Case(name, run)


def names(offloads):
    """With the offloads, raw Ethernet and UDP together, too."""
    return (GAMMA, "tcp", DEFAULT) if offloads else (GAMMA, "tcp")


def streams_at(ctx, mtu, offloads):
    """In labs of their own, by pairs that are kept, as in the part stream: two of gamma would share
    a port."""
    lab = ctx.pair(mtu, purpose="kept, UDP", offloads=offloads)
    end = suffix(mtu, offloads)
    return [
        Case("trains" + end, lambda: ctx.train_stream_kept(lab, mtu - HEADERS, TRAIN_MB)),
        *(stream_case(ctx, ctx.pair(mtu, purpose="kept") if name == DEFAULT else lab, name,
                      name + end) for name in names(offloads)),
    ]


def delays_at(ctx, mtu, offloads):
    lab = ctx.pair(mtu, offloads=offloads)
    return [Case(f"{name}, ping-pong{suffix(mtu, offloads)}", lambda name=name: ctx.latency_values(
        lab, name, LONG, count=2000)) for name in names(offloads)]


def mpi_at(ctx, mtu, offloads):
    lab = ctx.pair(mtu, offloads=offloads)
    return [Case(f"{name}{suffix(mtu, offloads)}",
                 lambda name=name: ping_pong(lab, TRANSPORTS[name], list(LONG)))
            for name in ("btl gamma over UDP", "btl tcp")]


def short_messages(ctx):
    lab = ctx.pair()
    return [
        Case(CONNECTED, lambda: ctx.udp_latency(lab, [BASELINE_BYTES])),
        Case(UNCONNECTED, lambda: ctx.udp_latency(lab, [BASELINE_BYTES], "-u")),
        *(Case(f"{name}, short", lambda name=name: ctx.latency_values(lab, name, [8]))
          for name in (GAMMA, "tcp", DEFAULT, RAW_ALONE)),
    ]


def lost_datagram(ctx):
    """In virtual time: on a real machine processes wait for processors many times as long."""
    def run():
        report = ctx.scenario("train-loss-cost")
        found = re.findall(r"(?:the first frame|one in the middle|the last of many) ([0-9.]+)",
                           report)
        if len(found) != 3:
            raise Failure(f"not understood: {report}")
        return [Value(LOST_DELAY, "round trips", max(map(float, found)), MIB)]
    return Case(LOST, run)


def udp(ctx):
    mtus = MTUS[:1] if ctx.brief else MTUS
    rows = [(mtu, True) for mtu in mtus] + ([] if ctx.brief else [(mtu, False) for mtu in mtus])
    often = short_messages(ctx)
    for mtu, offloads in rows:
        often += streams_at(ctx, mtu, offloads)
    cases = []
    for mtu, offloads in rows:
        cases += delays_at(ctx, mtu, offloads)
        if not ctx.brief:
            cases += mpi_at(ctx, mtu, offloads)
    cases.append(lost_datagram(ctx))
    if not ctx.brief:
        lab = ctx.pair()
        cases.append(Case("ofi_rxd over udp", lambda: ctx.latency_values(
            lab, RXD, [8, MIB], count=500)))
    return woven(often, cases, 2)
