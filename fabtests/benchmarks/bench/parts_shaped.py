# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""At 1 Gbit/s, as GAMMA's hardware was: how much of the wire is reached, alone and beside TCP, and
how long a small message waits beside a bulk stream of its own sender."""

import sys
import time

from cluster import Failure
from context import TREE
from results import Case, Value

RATE = "1gbit"
# Frames of a raw stream in flight: less than the 512 KiB that the switch's port holds.
WINDOWS = {1500: 128, 9000: 32}


def asleep(ctx, lab, what):
    """With pauses, or two processes of one processor would alternate by milliseconds. The mean
    too, since they disturb each other only now and then."""
    row = ctx.latency(lab, "gamma", [8], count=400, options=["-z"], pause=1000)[0]
    return [Value(what, "us", row["median_us"], 8),
            Value(what + ", mean", "us", row["mean_us"], 8)]


def beside_tcp(ctx, lab):
    """gamma's latency and stream while TCP has a stream of its own on the same way. All sleep while
    they wait: there may be fewer processors than processes."""
    program = [sys.executable, TREE / "fabtests" / "benchmarks" / "bench" / "background.py", "7500"]
    with lab.running(lab.words(1, program)) as receiver, \
            lab.running(lab.words(2, [*program, lab.address(1)])) as sender:
        time.sleep(0.5)  # until it has filled the queue
        values = asleep(ctx, lab, "half round trip, asleep, beside TCP")
        values += ctx.stream_values(lab, "gamma", seconds=1, what="one-way stream beside TCP")
        if sender.poll() is not None or receiver.poll() is not None:
            raise Failure("TCP's stream ended too early")
    return values


def beside_bulk(ctx, lab, provider):
    row = ctx.streams(lab, provider, ["-S", 1 << 20, "-t", ctx.seconds(1), "-l"])[0]
    if "small" not in row:
        raise Failure("no small message came back in time")
    return [Value("half round trip beside own stream", "us", row["small"]["median_us"], 8)]


def shaped_at(ctx, mtu):
    lab = ctx.lab(mtu=mtu, rate=RATE)
    cases = [Case(f"raw packets, MTU {mtu}", lambda: ctx.raw_stream(
        lab, 100, window=WINDOWS[mtu]))]
    if not ctx.brief:
        cases += [
            Case(f"gamma, MTU {mtu}", lambda: ctx.stream_values(lab, "gamma", seconds=1)),
            Case(f"gamma, MTU {mtu}, idle", lambda: ctx.latency_values(
                lab, "gamma", [8], count=2000)),
            Case(f"tcp, MTU {mtu}, beside its own stream", lambda: beside_bulk(
                ctx, lab, "tcp")),
        ]
    cases.append(Case(f"gamma, MTU {mtu}, beside its own stream", lambda: beside_bulk(
        ctx, lab, "gamma")))
    if ctx.brief or not ctx.quick:
        cases.append(Case(f"gamma, MTU {mtu}, beside TCP", lambda: beside_tcp(ctx, lab)))
    if not ctx.quick:
        cases += [
            Case(f"tcp, MTU {mtu}", lambda: ctx.stream_values(lab, "tcp", seconds=1)),
            Case(f"gamma, MTU {mtu}, asleep", lambda: asleep(
                ctx, lab, "half round trip, asleep")),
        ]
    return cases


def shaped(ctx):
    return [case for mtu in tuple(WINDOWS)[:1 if ctx.brief else 2] for case in shaped_at(ctx, mtu)]
