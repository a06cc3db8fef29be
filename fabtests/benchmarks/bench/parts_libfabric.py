# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Measurements of libfabric's providers, and of the raw baseline: a bare packet socket under gamma.
Each function makes the cases of one part."""

import re
import shutil

from cluster import Failure, json_lines
from interleave import woven
from results import Case, Value

MIB = 1 << 20
MOVES = re.compile("send|recv|read|write")  # names of such calls
XDP = {"FI_GAMMA_LINK": "xdp"}
HEADER_BYTES = 40                # gamma's, of a short message; a raw frame has as many more
BASELINE_BYTES = 8 + HEADER_BYTES  # of a raw frame after the Ethernet header, beside 8 bytes
OFF = ", offloads off"           # ends a case's name: without the kernel's TSO, GSO and GRO
RAW_ALONE = "gamma, raw alone"
LATENCY_SIZES = (8, 64, 256, 1024, 4096, 16384, 65536, 262144, MIB)
STREAM_SIZES = (8, 64, 512, 4096, 16384, 65536, 262144)
RAW_SIZES = (48, 104, 296, 1064, 1500)
MTUS = (1500, 9000)


def latency(ctx):
    lab, without = ctx.pair(), ctx.pair(offloads=False)
    all_sizes = (8, 65536) if ctx.brief else LATENCY_SIZES

    def values(name, lab=lab, sizes=all_sizes, **how):
        return Case(name, lambda: ctx.latency_values(lab, sizes=sizes, **how))

    cases = [
        Case("raw packets", lambda: ctx.raw_latency(lab, RAW_SIZES)),
        values("gamma, tagged", provider="gamma"),
        values("libfabric tcp, tagged", provider="tcp", count=10000),
        values("libfabric tcp, tagged" + OFF, without, provider="tcp", count=10000),
        values("libfabric udp;ofi_rxd, tagged", sizes=[8, 65536], provider="udp;ofi_rxd",
               count=4000),
    ]
    if ctx.brief:
        return cases + [values("gamma, fetch", sizes=[8], provider="gamma", mode="fetch",
                               what="until complete")]
    cases += [
        values("libfabric tcp;ofi_rxm, tagged", sizes=[8, 65536], provider="tcp;ofi_rxm",
               count=10000),
        values("gamma, datagrams", sizes=[8, 1024], provider="gamma", mode="datagram"),
    ]
    for mode, some in (("write", [8, 65536]), ("read", [8, 65536]), ("fetch", [8])):
        cases.append(values(f"gamma, {mode}", sizes=some, provider="gamma", mode=mode,
                            what="until complete"))
    jumbo = ctx.pair(9000)
    for name, where, provider, sizes in (
            (f"{RAW_ALONE}, tagged", lab, RAW_ALONE, [65536, MIB]),
            ("gamma, tagged, MTU 9000", jumbo, "gamma", [65536, MIB]),
            ("libfabric tcp, tagged, MTU 9000", jumbo, "tcp", [65536, MIB])):
        cases.append(values(name, where, sizes, provider=provider))
    if not ctx.quick:
        cases += [values("gamma, untagged", sizes=[8], provider="gamma", mode="untagged"),
                  values("gamma, tagged, AF_XDP", sizes=[8], provider="gamma", extra=XDP)]
    often = [Case("raw packets", lambda: ctx.raw_latency(lab, [BASELINE_BYTES])),
             values("gamma, tagged", sizes=[8], provider="gamma")]
    return woven(often, cases, 3)


def stream_kept(ctx, mtu):
    """The streams that goals compare. A virtual machine's speed changes by a fifth within tenths of
    a second: so each is measured for a tenth of one, interleaved, by pairs that are kept, in labs
    of their own: two of gamma would share a port."""
    lab, alone = ctx.pair(mtu, purpose="kept"), ctx.pair(mtu, purpose="kept, raw alone")
    without = ctx.pair(mtu, purpose="kept", offloads=False)
    megabytes = {1500: 60, 9000: 200}[mtu]
    return [
        Case(f"raw packets, MTU {mtu}", lambda: ctx.raw_stream_kept(lab, megabytes)),
        Case(f"gamma, MTU {mtu}", lambda: ctx.stream_kept(lab, "gamma", 0.1)),
        Case(f"{RAW_ALONE}, MTU {mtu}", lambda: ctx.stream_kept(alone, RAW_ALONE, 0.1)),
        Case(f"tcp, MTU {mtu}", lambda: ctx.stream_kept(lab, "tcp", 0.1)),
        Case(f"tcp, MTU {mtu}{OFF}", lambda: ctx.stream_kept(without, "tcp", 0.1)),
    ]


def stream(ctx):
    often = [case for mtu in MTUS[:1 if ctx.brief else 2] for case in stream_kept(ctx, mtu)]
    if ctx.brief:
        return often
    lab, without = ctx.pair(), ctx.pair(offloads=False)
    cases = [Case("raw packets, by size", lambda: ctx.raw_streams(lab, RAW_SIZES, 100000))]
    for name, where, provider in (("gamma", lab, "gamma"), ("tcp", lab, "tcp"),
                                  ("tcp" + OFF, without, "tcp")):
        cases.append(Case(f"{name}, by size", lambda where=where, provider=provider:
                          ctx.stream_values(where, provider, STREAM_SIZES, seconds=0.2,
                                            window=64)))
    if not ctx.quick:
        large = ctx.pair(65535)
        cases += [Case(f"{name}, MTU 65535", lambda name=name: ctx.stream_values(large, name))
                  for name in ("gamma", "tcp")]
        cases.append(Case("gamma, AF_XDP, MTU 1500", lambda: ctx.stream_values(
            lab, "gamma", extra=XDP)))
    return woven(often, cases, 3 if ctx.quick else 6)


def rate(ctx):
    lab, without = ctx.pair(), ctx.pair(offloads=False)

    def messages(where, provider, *options):
        row = ctx.streams(where, provider, ["-S", 8, "-w", 64, "-t", ctx.seconds(0.4),
                                            *options])[0]
        return [
            Value("messages", "million/s", row["per_s"] / 1e6, 8),
            Value("processor time, both sides", "us a message", sum(
                row[side][kind] for side in ("sender", "receiver")
                for kind in ("user_us", "system_us")), 8),
        ]

    def raw_frames():
        megabytes = ctx.raw_streams(lab, [BASELINE_BYTES], 200000)[0]
        return [Value("messages", "million/s", megabytes.number / BASELINE_BYTES, 8)]

    cases = [Case("raw packets", raw_frames)]
    for name, where, provider in (("gamma", lab, "gamma"), ("tcp", lab, "tcp"),
                                  ("tcp" + OFF, without, "tcp"),
                                  ("udp;ofi_rxd", lab, "udp;ofi_rxd")):
        if not ctx.brief:
            cases.append(Case(name, lambda where=where, provider=provider: messages(
                where, provider)))
        cases.append(Case(f"{name}, answered", lambda where=where, provider=provider: messages(
            where, provider, "-r", 1)))
    return cases


NODE_SIZES = (8, 64, 1024, 4096, 16384, 65536, MIB)


def node(ctx):
    """Two processes of one host, each on a processor of its own."""
    lab = ctx.pair()
    return [Case(f"{name}, one host", lambda name=name: ctx.latency_values(
        lab, name, NODE_SIZES, same_host=True)) for name in ("gamma", "shm")]


# ---- what messages cost ----

def used_values(row):
    return [
        Value("processor time, both sides", "us a message",
              (row["user_us"] + row["system_us"] + row["server_user_us"] +
               row["server_system_us"]) / 2, row["size"]),
        Value("half round trip, asleep", "us", row["median_us"], row["size"]),
    ]


def strace_calls(ctx, lab, provider, traced, options, count):
    """System calls of one side of a ping-pong of 8 bytes, counted by strace: all, and those that
    sent or received something."""
    server, client = ctx.sides(lab, "gamma-latency", provider, options,
                               [*options, "-j", "-S", 8, "-n", count, "-w", 10])
    report = ctx.build / f"{ctx.prefix}.strace"
    words = client if traced == "client" else server
    place = words.index("env")
    words[place:place] = ["strace", "-f", "-qq", "-c", "-U", "calls,errors,name", "-o", str(report)]
    lab.pair(server, client)
    every = moved = 0
    for calls, failed, name in re.findall(r"^ *(\d+) +(\d*) +(\w+)$", report.read_text(), re.M):
        if name != "total":
            every += int(calls)
            moved += (int(calls) - int(failed or 0)) * bool(MOVES.search(name))
    report.unlink()
    return every, moved


def calls_values(ctx, lab, provider):
    """The difference of two runs is what the messages took, without start and end. Of a side that
    polls, only the calls that moved something are counted: the number of empty polls is chance."""
    if not shutil.which("strace"):
        raise Failure("strace is not installed")
    counts = (ctx.count(500), ctx.count(1000))
    values = []
    for side in ("client",) if ctx.quick else ("client", "server"):
        for state, options, index in (("polling", [], 1), ("asleep", ["-z"], 0))[ctx.quick:]:
            few, many = (strace_calls(ctx, lab, provider, side, options, count)[index]
                         for count in counts)
            what = "calls that send or receive" if index else "system calls"
            values.append(Value(f"{what}, {side}, {state}", "a round trip",
                                (many - few) / (counts[1] - counts[0]), 8))
    return values


def memory_values(ctx, lab, provider, targets=16):
    """The sender's growth by one message to each of many peers, beside that by one to one peer."""
    extra = {"FI_GAMMA_RING_SIZE": "64K"} if provider == "gamma" else {}
    options = ["-S", 8, "-w", 1]
    few, many = (ctx.streams(lab, provider, [*options, "-n", n], targets=n, extra=extra)[0]
                 for n in (1, targets))
    grown = [row["sender"]["memory"] - row["sender"]["memory_before"] for row in (few, many)]
    return [Value("sender's memory", "bytes a peer", (grown[1] - grown[0]) / (targets - 1), 8)]


def startup_values(ctx, lab, provider):
    where = ["-d", "gam0"] if provider == "gamma" else ["-a", lab.address(1)]
    row = json_lines(lab.output(1, [ctx.program("gamma-startup"), "-p", provider, *where,
                                    "-n", 1000]))[0]
    return [
        Value("opening", "ms", row["open_ms"]),
        Value("1,000 addresses", "ms", row["insert_ms"]),
        Value("closing", "ms", row["close_ms"]),
        Value("memory", "bytes an address", row["bytes_an_address"]),
    ]


def cost(ctx):
    lab = ctx.pair()
    cases = []
    for name in ("gamma",) if ctx.brief else ("gamma", "tcp"):
        cases += [
            Case(f"{name}, calls", lambda name=name: calls_values(ctx, lab, name)),
            Case(f"{name}, start-up", lambda name=name: startup_values(ctx, lab, name)),
        ]
        if not ctx.brief:
            cases += [
                Case(f"{name}, asleep", lambda name=name: used_values(
                    ctx.latency(lab, name, [8], count=5000, options=["-z"])[0])),
                Case(f"{name}, memory", lambda name=name: memory_values(ctx, lab, name)),
            ]
    return cases
