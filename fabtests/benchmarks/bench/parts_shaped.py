# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""At 1 Gbit/s, as GAMMA's hardware was: how much of the wire is reached, alone and beside TCP, and
what a small message waits beside a stream of its own sender."""

import time

from turns import Case, Value

RATE = "1gbit"
# Frames of a raw stream under way: less than the 512 KiB that the switch's port holds.
WINDOWS = {1500: 128, 9000: 32}


def beside_tcp(ctx, lab, seconds):
    """gamma's latency and stream while TCP has a stream of its own on the same way."""
    server, client = ctx.sides(lab, "gamma-stream", "tcp", ["-P", "7500"],
                               ["-P", "7500", "-S", 1 << 20, "-t", ctx.seconds(seconds)])
    background = lab.start(server)
    sender = lab.start(client, ready=None)
    try:
        time.sleep(ctx.seconds(0.3))
        small = ctx.latency(lab, "gamma", [8], count=200)[0]["median_us"]
        large = ctx.stream(lab, "gamma", ["-S", 1 << 20, "-t", ctx.seconds(seconds / 3)])
    finally:
        for process in (sender, background):
            process.wait()
            process.log.close()
            process.stdout.close()
    return [
        Value("half round trip beside TCP", "us", small, 8),
        Value("one-way stream beside TCP", "MB/s", large["MB_per_s"], 1 << 20),
    ]


def beside_bulk(ctx, lab, provider):
    row = ctx.stream(lab, provider, ["-S", 1 << 20, "-t", ctx.seconds(1), "-l"])
    return [Value("half round trip beside own stream", "us", row["small"]["median_us"], 8)]


def shaped(ctx):
    cases = []
    for mtu in (1500,) if ctx.brief else (1500, 9000):
        lab = ctx.lab(mtu=mtu, rate=RATE)
        cases.append(Case(f"raw packets, MTU {mtu}", lambda lab=lab: ctx.raw_stream(
            lab, 100, window=WINDOWS[lab.mtu])))
        for name in ("gamma",) if ctx.brief else ("gamma", "tcp"):
            cases += [
                Case(f"{name}, MTU {mtu}", lambda lab=lab, name=name: ctx.stream_values(
                    lab, name, seconds=1)),
                Case(f"{name}, MTU {mtu}, idle", lambda lab=lab, name=name: ctx.latency_values(
                    lab, name, [8], count=2000)),
                Case(f"{name}, MTU {mtu}, beside its own stream", lambda lab=lab, name=name:
                     beside_bulk(ctx, lab, name)),
            ]
        cases.append(Case(f"gamma, MTU {mtu}, beside TCP", lambda lab=lab:
                          beside_tcp(ctx, lab, 3)))
    return cases
