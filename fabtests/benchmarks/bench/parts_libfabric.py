# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What is measured of libfabric's providers, and of the bare packet socket under gamma. Each
function makes the cases of one part."""

import re
import shutil

from cluster import Failure, json_lines
from turns import Case, Value, woven

MOVES = re.compile("send|recv|read|write")  # names of such calls
XDP = {"FI_GAMMA_LINK": "xdp"}
FLOOR_BYTES = 48  # of a raw frame after the Ethernet header: as gamma's with 8 bytes


def peers(ctx):
    return ("tcp",) if ctx.brief else ("tcp", "tcp;ofi_rxm", "udp;ofi_rxd")


def latency(ctx):
    lab = ctx.pair()
    bulk = [8, 1024, 65536, 1 << 20]
    cases = [
        Case("raw packets", lambda: ctx.raw_latency(lab, [FLOOR_BYTES, 1500])),
        Case("gamma, tagged", lambda: ctx.latency_values(lab, "gamma", bulk)),
        Case("gamma, datagrams",
             lambda: ctx.latency_values(lab, "gamma", [8, 1024], mode="datagram")),
    ]
    remote = (("write", [8, 65536]), ("read", [8, 65536]), ("fetch", [8]))
    if ctx.brief:
        remote = remote[2:]
    else:
        cases += [
            Case("gamma, untagged",
                 lambda: ctx.latency_values(lab, "gamma", [8], mode="untagged")),
            Case("gamma, tagged, AF_XDP",
                 lambda: ctx.latency_values(lab, "gamma", [8], extra=XDP)),
        ]
    for mode, sizes in remote:
        cases.append(Case(f"gamma, {mode}", lambda mode=mode, sizes=sizes: ctx.latency_values(
            lab, "gamma", sizes, mode=mode, what="until complete")))
    for name in peers(ctx):
        count = 4000 if name == "udp;ofi_rxd" else 10000
        sizes = bulk[:3] if name == "udp;ofi_rxd" else bulk
        cases.append(Case(f"libfabric {name}, tagged",
                          lambda name=name, sizes=sizes, count=count: ctx.latency_values(
                              lab, name, sizes, count=count)))
    often = [Case("raw packets", lambda: ctx.raw_latency(lab, [FLOOR_BYTES])),
             Case("gamma, tagged", lambda: ctx.latency_values(lab, "gamma", [8]))]
    return cases if ctx.brief else woven(often, cases, 3)


def stream_turns(ctx, mtu):
    """What goals compare. A virtual machine's speed changes by a fifth within tenths of a second:
    so each is measured for a tenth of one, in turns, by processes that are kept for all turns and
    stopped meanwhile, in a lab of their own."""
    lab = ctx.pair(mtu, purpose="turns")
    megabytes = {1500: 60, 9000: 200}[mtu]
    cases = [Case(f"raw packets, MTU {mtu}", lambda: ctx.raw_stream_turn(lab, megabytes))]
    return cases + [Case(f"{name}, MTU {mtu}", lambda name=name: ctx.stream_turn(lab, name, 0.1))
                    for name in ("gamma", "tcp")]


def stream(ctx):
    mtus = (1500,) if ctx.brief else (1500, 9000)
    often = [case for mtu in mtus for case in stream_turns(ctx, mtu)]
    if ctx.brief:
        return often
    cases = [Case(f"tcp;ofi_rxm, MTU {mtu}",
                  lambda mtu=mtu: ctx.stream_values(ctx.pair(mtu), "tcp;ofi_rxm")) for mtu in mtus]
    if ctx.quick:
        return woven(often, cases, 8)
    lab, large = ctx.pair(), ctx.pair(65535)
    cases.append(Case("raw packets, MTU 65535", lambda: ctx.raw_stream(large, 3000)))
    cases += [Case(f"{name}, MTU 65535", lambda name=name: ctx.stream_values(large, name))
              for name in ("gamma", *peers(ctx)[:2])]
    cases.append(Case("gamma, AF_XDP, MTU 1500", lambda: ctx.stream_values(
        lab, "gamma", extra=XDP)))
    cases.append(Case("udp;ofi_rxd, MTU 1500",
                      lambda: ctx.stream_values(lab, "udp;ofi_rxd", seconds=0.3)))
    cases.append(Case("gamma, 64 KiB, MTU 1500",
                      lambda: ctx.stream_values(lab, "gamma", size=65536)))
    return woven(often, cases, 12)


def rate(ctx):
    lab = ctx.pair()

    def messages(provider, targets, *options):
        row = ctx.stream(lab, provider, ["-S", 8, "-w", 64, "-t", ctx.seconds(0.4), *options],
                         targets=targets)
        return [
            Value("messages", "million/s", row["per_s"] / 1e6, 8),
            Value("sender's processor time", "us a message",
                  row["sender"]["user_us"] + row["sender"]["system_us"], 8),
        ]

    cases = []
    for name in ("gamma", *peers(ctx)):
        if name == "tcp;ofi_rxm" and ctx.quick:
            continue
        if not ctx.brief:
            cases.append(Case(f"{name}, 1 peer", lambda name=name: messages(name, 1)))
        cases.append(Case(f"{name}, 1 peer, answered",
                          lambda name=name: messages(name, 1, "-r", 1)))
        if name != "udp;ofi_rxd" and (name == "gamma" or not ctx.brief):
            cases.append(Case(f"{name}, 4 peers", lambda name=name: messages(name, 4)))
    if not ctx.brief:
        cases.append(Case("gamma, 1 peer, answered, FI_MORE",
                          lambda: messages("gamma", 1, "-r", 1, "-m")))
    return cases


NODE_SIZES = [8, 64, 1024, 4096, 16384, 65536, 1 << 20]


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
    """System calls of one side of a ping-pong of 8 bytes, by strace: all, and those among them that
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
    """The difference of two runs is what the messages took, without what begins and ends. Of who
    polls only the calls that moved something are counted: how often it looks in vain is chance."""
    if not shutil.which("strace"):
        raise Failure("strace is not installed")
    counts = (ctx.count(1000), ctx.count(2000))
    values = []
    for side in ("client",) if ctx.brief else ("client", "server"):
        for state, options, index in (("polling", [], 1), ("asleep", ["-z"], 0))[ctx.brief:]:
            few, many = (strace_calls(ctx, lab, provider, side, options, count)[index]
                         for count in counts)
            what = "calls that send or receive" if index else "system calls"
            values.append(Value(f"{what}, {side}, {state}", "a round trip",
                                (many - few) / (counts[1] - counts[0]), 8))
    return values


def memory_values(ctx, lab, provider, targets=64):
    """What the sender has more after one message to each of many peers than to one."""
    extra = {"FI_GAMMA_RING_SIZE": "64K"} if provider == "gamma" else {}
    options = ["-S", 8, "-w", 1]
    few, many = (ctx.stream(lab, provider, [*options, "-n", n], targets=n, extra=extra)
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
    names = ("gamma",) if ctx.brief else ("gamma", "tcp")
    for name in names if ctx.quick else (*names, "tcp;ofi_rxm"):
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
