# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""At 1 Gbit/s, as GAMMA's hardware was: how much of the wire is reached, alone and beside TCP, and
what a small message waits beside a stream of its own sender."""

import sys
import time

from cluster import Failure
from context import TREE
from turns import Case, Value

RATE = "1gbit"
# Frames of a raw stream under way: less than the 512 KiB that the switch's port holds.
WINDOWS = {1500: 128, 9000: 32}


def asleep(ctx, lab, what):
    """With pauses, or two processes of one processor would take turns of milliseconds. The mean
    too, since they are in each other's way now and then only."""
    row = ctx.latency(lab, "gamma", [8], count=400, options=["-z"], pause=1000)[0]
    return [Value(what, "us", row["median_us"], 8),
            Value(what + ", mean", "us", row["mean_us"], 8)]


def beside_tcp(ctx, lab):
    """gamma's latency and stream while TCP has a stream of its own on the same way. All sleep while
    they wait: there may be fewer processors than processes."""
    program = [sys.executable, TREE / "fabtests" / "benchmarks" / "bench" / "background.py", "7500"]
    with lab.running(lab.words(1, program)) as receiver, \
            lab.running(lab.words(2, [*program, lab.address(1)])) as sender:
        time.sleep(0.5)  # it is to have filled the queue
        values = asleep(ctx, lab, "half round trip, asleep, beside TCP")
        values += ctx.stream_values(lab, "gamma", seconds=1, what="one-way stream beside TCP")
        if sender.poll() is not None or receiver.poll() is not None:
            raise Failure("TCP's stream was over too early")
    return values


def beside_bulk(ctx, lab, provider):
    row = ctx.stream(lab, provider, ["-S", 1 << 20, "-t", ctx.seconds(1), "-l"])
    return [Value("half round trip beside own stream", "us", row["small"]["median_us"], 8)]


def shaped(ctx):
    cases = []
    for mtu in (1500,) if ctx.brief else tuple(WINDOWS):
        lab = ctx.lab(mtu=mtu, rate=RATE)
        cases.append(Case(f"raw packets, MTU {mtu}", lambda lab=lab: ctx.raw_stream(
            lab, 100, window=WINDOWS[lab.mtu])))
        for name in () if ctx.brief else ("gamma",) if ctx.quick else ("gamma", "tcp"):
            cases += [
                Case(f"{name}, MTU {mtu}", lambda lab=lab, name=name: ctx.stream_values(
                    lab, name, seconds=1)),
                Case(f"{name}, MTU {mtu}, idle", lambda lab=lab, name=name: ctx.latency_values(
                    lab, name, [8], count=2000)),
                Case(f"{name}, MTU {mtu}, beside its own stream", lambda lab=lab, name=name:
                     beside_bulk(ctx, lab, name)),
            ]
        if not ctx.brief:
            cases.append(Case(f"gamma, MTU {mtu}, asleep", lambda lab=lab: asleep(
                ctx, lab, "half round trip, asleep")))
        cases.append(Case(f"gamma, MTU {mtu}, beside TCP", lambda lab=lab: beside_tcp(ctx, lab)))
    return cases
