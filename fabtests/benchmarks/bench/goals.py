# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The goals: ratios of medians of one run, and whether they were reached. Read by the report."""

import operator

import parts_apps
import parts_mpi
from dataclasses import dataclass

MIB = 1 << 20
HALF, STREAM, MESSAGES = "half round trip", "one-way stream", "messages"
# One frame on a wire of 1 Gbit/s, us: what stands in front of a small message.
FRAME_US = {1500: 1514 * 8 / 1000, 9000: 9014 * 8 / 1000}


@dataclass
class Goal:
    text: str
    relation: str  # ">=", "<=", "<", or "" where a figure is only reported
    wanted: float
    value: float   # None: not measured

    @property
    def state(self):
        if self.value is None:
            return "not measured"
        if not self.relation:
            return "reported"
        compare = {">=": operator.ge, "<=": operator.le, "<": operator.lt}[self.relation]
        return "reached" if compare(self.value, self.wanted) else "missed"


class Goals:
    def __init__(self, turns):
        self.turns = turns
        self.list = []

    def get(self, part, case, what, size=0):
        return self.turns.median(part, case, what, size)

    def best(self, part, cases, what, size, choose=min):
        values = [self.get(part, case, what, size) for case in cases]
        values = [value for value in values if value is not None]
        return choose(values) if values else None

    def ratio(self, text, relation, wanted, above, below):
        value = above / below if above is not None and below else None
        self.list.append(Goal(text, relation, wanted, value))

    def value(self, text, relation, wanted, value):
        self.list.append(Goal(text, relation, wanted, value))


def latency(goals):
    def of(case, size):
        return goals.get("latency", case, HALF, size)

    tcp = goals.best("latency", ["libfabric tcp, tagged", "libfabric tcp;ofi_rxm, tagged"], HALF, 8)
    rxd = "libfabric udp;ofi_rxd, tagged"
    goals.ratio("gamma RDM tagged, 8 bytes / raw floor", "<=", 1.25, of("gamma, tagged", 8),
                of("raw packets", 48))
    goals.ratio("libfabric tcp (the faster of two) / gamma, 8 bytes", ">=", 3.5, tcp,
                of("gamma, tagged", 8))
    goals.ratio("ofi_rxd / gamma, 8 bytes", ">=", 7, of(rxd, 8), of("gamma, tagged", 8))
    goals.ratio("ofi_rxd / gamma, 64 KiB", ">=", 20, of(rxd, 65536), of("gamma, tagged", 65536))


def mpi(goals):
    def of(case, size):
        return goals.get("mpi", case, HALF, size)

    goals.ratio("MPI, 0 bytes: btl gamma / raw floor", "<=", 1.7, of("btl gamma", 0),
                of("raw packets", 48))
    goals.ratio("MPI, 0 bytes: btl tcp / btl gamma", ">=", 2.2, of("btl tcp", 0),
                of("btl gamma", 0))
    goals.ratio("MPI, 1 MiB bandwidth: btl gamma / btl tcp, MTU 1500", "", 0, of("btl tcp", MIB),
                of("btl gamma", MIB))
    goals.ratio("MPI, 1 MiB bandwidth: btl gamma / btl tcp, MTU 9000", "", 0,
                of("btl tcp, MTU 9000", MIB), of("btl gamma, MTU 9000", MIB))


def stream(goals):
    for mtu in (1500, 9000):
        gamma = goals.get("stream", f"gamma, MTU {mtu}", STREAM, MIB)
        raw = goals.get("stream", f"raw packets, MTU {mtu}", STREAM, MIB)
        tcp = goals.best("stream", [f"tcp, MTU {mtu}", f"tcp;ofi_rxm, MTU {mtu}"], STREAM, MIB, max)
        goals.ratio(f"stream, 1 MiB, MTU {mtu}: gamma / raw floor", ">=", 0.95, gamma, raw)
        goals.ratio(f"stream, 1 MiB, MTU {mtu}: gamma / libfabric tcp", ">=", 1.0, gamma, tcp)


def rate(goals):
    for kind in ("", ", answered"):
        def of(name, kind=kind):
            return goals.get("rate", f"{name}, 1 peer{kind}", MESSAGES, 8)

        tcp = goals.best("rate", [f"tcp, 1 peer{kind}", f"tcp;ofi_rxm, 1 peer{kind}"], MESSAGES, 8,
                         max)
        each = ", each window answered" if kind else ""
        goals.value(f"messages of 8 bytes, window 64{each}, million/s", ">=", 5, of("gamma"))
        goals.ratio(f"the same, gamma / libfabric tcp{each}", ">=", 2, of("gamma"), tcp)
        goals.ratio(f"the same, gamma / ofi_rxd{each}", ">=", 10, of("gamma"), of("udp;ofi_rxd"))


def node(goals):
    goals.ratio("one host, MPI 0 bytes: gamma,self / vader", "<=", 2,
                goals.get("node", "MPI, gamma,self, one host", HALF),
                goals.get("node", "MPI, vader, one host", HALF))
    sizes = sorted({row.size for row in goals.turns.rows.values()
                    if row.part == "node" and row.case == "shm, one host"})
    for size in sizes or [8]:
        goals.ratio(f"one host, {size} bytes: gamma / libfabric shm", "<", 1,
                    goals.get("node", "gamma, one host", HALF, size),
                    goals.get("node", "shm, one host", HALF, size))


def shaped(goals):
    for mtu, wanted in ((1500, 0.97), (9000, 0.99)):
        goals.ratio(f"1 Gbit/s, MTU {mtu}: user bytes / raw payload", ">=", wanted,
                    goals.get("shaped", f"gamma, MTU {mtu}", STREAM, MIB),
                    goals.get("shaped", f"raw packets, MTU {mtu}", STREAM, MIB))
        busy = goals.get("shaped", f"gamma, MTU {mtu}, beside its own stream",
                         "half round trip beside own stream", 8)
        idle = goals.get("shaped", f"gamma, MTU {mtu}, idle", HALF, 8)
        # Only the way there meets the stream, and what is told is half of both ways.
        waits = 2 * (busy - idle) / FRAME_US[mtu] if None not in (busy, idle) else None
        goals.value(f"1 Gbit/s, MTU {mtu}: a small message beside its sender's stream waits, "
                    "full frames", "<=", 3, waits)


def overlap(goals):
    for apart, how in ((parts_mpi.APART, "one processor left"), ("", "none left")):
        for mtu in (1500, 9000):
            for ranks in (2, 3, 4):
                case = f"{parts_mpi.THREAD}{apart}, MTU {mtu}, {ranks} ranks"
                goals.value(f"communication hidden by a progress thread, 1 MiB, MTU {mtu}, {ranks} "
                            f"ranks, {how}", ">=", 0.9,
                            goals.get("overlap", case, "share hidden", MIB))


def gammad(goals):
    def ratio(text, relation, wanted, what, size, above, below="gammad's socket"):
        goals.ratio(text, relation, wanted, goals.get("gammad", above, what, size),
                    goals.get("gammad", below, what, size))

    for size in (8, 1024):
        ratio(f"half round trip, {size} bytes: by gammad / by an own socket", "<=", 1.3, HALF, size,
              "gammad's socket", "an own socket")
    for size in (8, MIB):
        ratio(f"one-way stream, {size} bytes: by gammad / by an own socket", ">=", 0.8, STREAM,
              size, "gammad's socket", "an own socket")
    for crowd in ("idle", "lightly used"):
        ratio(f"half round trip, 8 bytes: beside 63 {crowd} endpoints / alone", "<=", 1.05, HALF, 8,
              f"gammad's socket, 63 others {crowd}")


def application(goals, part):
    """By each number of processes and each state of the wire. Amdahl's share says more of processes
    that have a processor each; above 1, more processes take longer. Without the beginning and the
    end of MPI, too: they take a few tenths of a second, however long a program runs."""

    def times(name, lossy, less=None):
        found = {}
        for n in parts_apps.RANKS:
            case = parts_apps.case_name(name, lossy, n)
            wall = goals.get(part, case, parts_apps.WALL)
            if wall is not None:
                found[n] = wall - (goals.get(part, case, less) if less else 0)
        return found

    for lossy in (False, True):
        state = f"{part}, {parts_apps.LOSS} % loss" if lossy else part
        for name in parts_apps.TRANSPORTS:
            for most in parts_apps.RANKS[1:]:
                goals.value(f"{state}, {name}: Amdahl's serial share, 1 to {most} processes", "", 0,
                            parts_apps.amdahl(times(name, lossy), most))
        for n in parts_apps.RANKS[1:]:
            text = f"{state}, {n} processes: wall time over gamma / over tcp"
            goals.ratio(text, "<=", 1.0, times("gamma", lossy).get(n), times("tcp", lossy).get(n))
            goals.ratio(f"{text}, between beginning and end", "", 0,
                        times("gamma", lossy, parts_apps.ENDS).get(n),
                        times("tcp", lossy, parts_apps.ENDS).get(n))


def all_goals(turns, parts):
    goals = Goals(turns)
    for part, function in (("latency", latency), ("mpi", mpi), ("stream", stream), ("rate", rate),
                           ("node", node), ("shaped", shaped), ("overlap", overlap),
                           ("gammad", gammad)):
        if part in parts:
            function(goals)
    for part in parts_apps.PARTS:
        if part in parts:
            application(goals, part)
    return goals.list
