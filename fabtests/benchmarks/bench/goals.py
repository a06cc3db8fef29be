# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The goals: ratios of medians of one run, and whether they were reached. Read by the reports."""

import operator
from dataclasses import dataclass

import parts_apps
import parts_coll
import parts_mpi
import parts_ports
import parts_rails
import parts_udp
from comparison import number_text
from parts_libfabric import BASELINE_BYTES, MTUS, NODE_SIZES, RAW_ALONE

MIB = 1 << 20
HALF, STREAM, MESSAGES = "half round trip", "one-way stream", "messages"
# One frame on a wire of 1 Gbit/s, us: a small message waits behind it.
FRAME_US = {1500: 1514 * 8 / 1000, 9000: 9014 * 8 / 1000}
REACHED, MISSED, REPORTED, NOT_MEASURED = "reached", "missed", "reported", "not measured"


@dataclass
class Goal:
    """One value of a goal; goals with the same title differ in their variant only."""
    title: str
    variant: str   # such as "MTU 1500"; may be empty
    relation: str  # ">=", "<=", "<", or "" where a figure is only reported
    wanted: float
    value: float   # None: not measured

    @property
    def state(self):
        if self.value is None:
            return NOT_MEASURED
        if not self.relation:
            return REPORTED
        compare = {">=": operator.ge, "<=": operator.le, "<": operator.lt}[self.relation]
        return REACHED if compare(self.value, self.wanted) else MISSED

    @property
    def limit(self):
        return f"{self.relation} {self.wanted:g}" if self.relation else ""

    def value_text(self, with_limit):
        text = f"{self.variant}: " if self.variant else ""
        text += "not measured" if self.value is None else number_text(self.value)
        return f"{text} ({self.limit})" if with_limit else text

    def entry(self):
        """For JSON."""
        return {"title": self.title, "variant": self.variant, "relation": self.relation,
                "wanted": self.wanted, "value": self.value, "state": self.state}


class Goals:
    """The goals, judged by the results; goals whose cases were not measured are left out."""

    def __init__(self, results):
        self.results = results
        self.list = []

    def get(self, part, case, what, size=0):
        return self.results.median(part, case, what, size)

    def best(self, part, cases, what, size, choose=min):
        values = [self.get(part, case, what, size) for case in cases]
        values = [value for value in values if value is not None]
        return choose(values) if values else None

    def ratio(self, title, relation, wanted, above, below, variant=""):
        value = above / below if above is not None and below else None
        self.value(title, relation, wanted, value, variant)

    def value(self, title, relation, wanted, value, variant=""):
        self.list.append(Goal(title, variant, relation, wanted, value))


def size_text(size):
    for unit, bytes_ in (("MiB", MIB), ("KiB", 1024)):
        if size >= bytes_ and size % bytes_ == 0:
            return f"{size // bytes_} {unit}"
    return f"{size} B"


def latency(goals):
    def of(case, size):
        return goals.get("latency", case, HALF, size)

    tcp = goals.best("latency", ["libfabric tcp, tagged", "libfabric tcp;ofi_rxm, tagged"], HALF, 8)
    rxd = "libfabric udp;ofi_rxd, tagged"
    goals.ratio("latency, 8 B: gamma / raw baseline", "<=", 1.25, of("gamma, tagged", 8),
                of("raw packets", BASELINE_BYTES))
    goals.ratio("latency, 8 B: libfabric tcp / gamma", ">=", 3.5, tcp, of("gamma, tagged", 8))
    for size, wanted in ((8, 7), (65536, 20)):
        goals.ratio("latency: ofi_rxd / gamma", ">=", wanted, of(rxd, size),
                    of("gamma, tagged", size), size_text(size))


def mpi(goals):
    def of(case, size=0):
        return goals.get("mpi", case, HALF, size)

    goals.ratio("MPI, 0 B: btl gamma / raw baseline", "<=", 1.7, of("btl gamma"),
                of("raw packets", BASELINE_BYTES))
    goals.ratio("MPI, 0 B: btl tcp / btl gamma", ">=", 2.2, of("btl tcp"), of("btl gamma"))
    for mtu, suffix in ((1500, ""), (9000, ", MTU 9000")):
        goals.ratio("MPI, 1 MiB: btl gamma's bandwidth / btl tcp's", "", 0,
                    of("btl tcp" + suffix, MIB), of("btl gamma" + suffix, MIB), f"MTU {mtu}")


def stream(goals):
    for mtu in MTUS:
        gamma, alone, raw, tcp = (goals.get("stream", f"{name}, MTU {mtu}", STREAM, MIB)
                                  for name in ("gamma", RAW_ALONE, "raw packets", "tcp"))
        goals.ratio("stream, 1 MiB: gamma by raw frames alone / raw baseline", ">=", 0.95, alone,
                    raw, f"MTU {mtu}")
        goals.ratio("stream, 1 MiB: gamma / libfabric tcp", ">=", 1.0, gamma, tcp, f"MTU {mtu}")


def rate(goals):
    for suffix, variant in (("", "one way"), (", answered", "answered")):
        def of(name, suffix=suffix):
            return goals.get("rate", name + suffix, MESSAGES, 8)

        goals.value("messages of 8 B, million/s", ">=", 5, of("gamma"), variant)
        goals.ratio("messages of 8 B: gamma / libfabric tcp", ">=", 2, of("gamma"), of("tcp"),
                    variant)
        goals.ratio("messages of 8 B: gamma / ofi_rxd", ">=", 10, of("gamma"), of("udp;ofi_rxd"),
                    variant)


def node(goals):
    goals.ratio("one host, MPI, 0 B: gamma,self / vader", "<=", 2,
                goals.get("node", "MPI, gamma,self, one host", HALF),
                goals.get("node", "MPI, vader, one host", HALF))
    for size in NODE_SIZES:
        goals.ratio("one host: gamma / libfabric shm", "<", 1,
                    goals.get("node", "gamma, one host", HALF, size),
                    goals.get("node", "shm, one host", HALF, size), size_text(size))


def shaped(goals):
    for mtu, wanted in ((1500, 0.97), (9000, 0.99)):
        goals.ratio("1 Gbit/s: user bytes / raw payload", ">=", wanted,
                    goals.get("shaped", f"gamma, MTU {mtu}", STREAM, MIB),
                    goals.get("shaped", f"raw packets, MTU {mtu}", STREAM, MIB), f"MTU {mtu}")
    for mtu in MTUS:
        busy = goals.get("shaped", f"gamma, MTU {mtu}, beside its own stream",
                         "half round trip beside own stream", 8)
        idle = goals.get("shaped", f"gamma, MTU {mtu}, idle", HALF, 8)
        # Only the way there meets the stream, and both figures are half of both ways.
        waits = 2 * (busy - idle) / FRAME_US[mtu] if None not in (busy, idle) else None
        goals.value("1 Gbit/s: 8 B beside bulk wait for, full frames", "<=", 3, waits, f"MTU {mtu}")


def overlap(goals):
    for suffix, how in ((parts_mpi.OWN_CORE, "a processor left"), ("", "no processor left")):
        for mtu in MTUS:
            for ranks in parts_mpi.OVERLAP_RANKS:
                case = f"{parts_mpi.THREAD}{suffix}, MTU {mtu}, {ranks} ranks"
                goals.value(f"overlap, 1 MiB, {how}", ">=", 0.9,
                            goals.get("overlap", case, "overlap", MIB), f"MTU {mtu}, {ranks} ranks")


def gammad(goals):
    def ratio(title, relation, wanted, what, size, above, below="gammad's socket", variant=""):
        goals.ratio(title, relation, wanted, goals.get("gammad", above, what, size),
                    goals.get("gammad", below, what, size), variant)

    for size in (8, 1024):
        ratio("latency: gammad's socket / an own socket", "<=", 1.3, HALF, size,
              "gammad's socket", "an own socket", size_text(size))
    for size in (8, MIB):
        ratio("stream: gammad's socket / an own socket", ">=", 0.8, STREAM, size,
              "gammad's socket", "an own socket", size_text(size))
    for crowd in ("idle", "lightly used"):
        ratio("latency, 8 B: beside 63 other endpoints / alone", "<=", 1.05, HALF, 8,
              f"gammad's socket, 63 others {crowd}", variant=crowd)


def udp_columns():
    """The cases' suffix and what the reports call it."""
    for offloads in (True, False):
        for mtu in MTUS:
            yield (parts_udp.suffix(mtu, offloads),
                   f"MTU {mtu}{'' if offloads else ', offloads off'}", offloads)


def udp_streams(goals):
    def of(name, suffix, what=STREAM):
        return goals.get("udp", name + suffix, what, MIB)

    for suffix, variant, on in udp_columns():
        gamma, tcp, trains = (of(name, suffix) for name in (parts_udp.GAMMA, "tcp", "trains"))
        limit = (">=", 1.5) if suffix == parts_udp.suffix(1500, True) else ("", 0)
        goals.ratio("UDP: stream of 1 MiB, gamma / libfabric tcp", *limit, gamma, tcp, variant)
        goals.ratio("UDP: stream of 1 MiB, gamma / train baseline", ">=" if on else "", 0.85, gamma,
                    trains, variant)
        if on:
            goals.ratio("raw and UDP: stream of 1 MiB, both / UDP alone", ">=", 0.95,
                        of(parts_udp.DEFAULT, suffix), gamma, variant)
        for side in ("sender", "receiver"):
            what = f"processor time, {side}"
            goals.ratio("UDP: processor time a byte, gamma / tcp", "<=" if on else "", 1.0,
                        of(parts_udp.GAMMA, suffix, what), of("tcp", suffix, what),
                        f"{side}, {variant}")


def udp(goals):
    def of(name, size, suffix=""):
        return goals.get("udp", name + suffix, HALF, size)

    udp_streams(goals)
    for suffix, variant, on in udp_columns():
        relation = ">=" if on else ""
        for size, wanted in ((65536, 1.3), (MIB, 1.5)):
            goals.ratio("UDP: libfabric tcp / gamma", relation, wanted,
                        of("tcp, ping-pong", size, suffix),
                        of(f"{parts_udp.GAMMA}, ping-pong", size, suffix),
                        f"{size_text(size)}, {variant}")
            if on:
                goals.ratio("raw and UDP: time of UDP alone / of both", ">=", 0.95,
                            of(f"{parts_udp.GAMMA}, ping-pong", size, suffix),
                            of(f"{parts_udp.DEFAULT}, ping-pong", size, suffix),
                            f"{size_text(size)}, {variant}")
        goals.ratio("UDP: MPI, 1 MiB, btl gamma's bandwidth / btl tcp's", relation, 1.3,
                    of("btl tcp", MIB, suffix), of("btl gamma over UDP", MIB, suffix), variant)
    short = of(f"{parts_udp.GAMMA}, short", 8)
    # An endpoint has one socket for all peers, so its socket is not connected.
    for sockets in (parts_udp.UNCONNECTED, parts_udp.CONNECTED):
        goals.ratio("UDP: 8 B, gamma / plain UDP sockets", "<=", 1.3, short,
                    of(sockets, BASELINE_BYTES), sockets.rpartition(", ")[2])
    goals.ratio("UDP: libfabric tcp / gamma", ">=", 1.8, of("tcp, short", 8), short, "8 B")
    goals.ratio("raw and UDP: 8 B, both / raw alone", "<=", 1.03,
                of(f"{parts_udp.DEFAULT}, short", 8), of(f"{RAW_ALONE}, short", 8))
    goals.value("UDP: round trips by which a lost datagram of 1 MiB delays it", "<=", 3,
                goals.get("udp", parts_udp.LOST, parts_udp.LOST_DELAY, MIB), "virtual time")
    for size, wanted, gamma in ((8, 1.3, short), (MIB, 5, of(
            f"{parts_udp.GAMMA}, ping-pong", MIB, parts_udp.suffix(1500, True)))):
        goals.ratio("UDP: ofi_rxd / gamma", ">=", wanted, of("ofi_rxd over udp", size), gamma,
                    size_text(size))


def rails(goals):
    def of(case, what=STREAM, size=MIB):
        return goals.get("rails", case, what, size)

    one, two = of("one NIC of 1 Gbit/s"), of("one NIC of 2 Gbit/s")
    goals.ratio("rails: stream of 1 MiB, 2 x 1 Gbit/s / 1 x 1 Gbit/s", ">=", 1.9,
                of("two NICs of 1 Gbit/s"), one)
    goals.ratio("rails: stream of 1 MiB, 1 + 2 Gbit/s / sum", ">=", 0.9,
                of("NICs of 1 and 2 Gbit/s"), one + two if one and two else None)
    goals.ratio("rails: 8 B, two NICs / one", "<=", 1.02, of("two NICs, 8 B", HALF, 8),
                of("one NIC, 8 B", HALF, 8))
    goals.value("rails: round trips that differ tenfold, frames sent again", "<=", 0,
                of("round trips that differ tenfold", parts_rails.SENT_AGAIN, 0))
    pulled, bond = (of(case, parts_rails.SILENCE, parts_rails.PIECE)
                    for case in ("a cable pulled", "a cable pulled, bond"))
    goals.value("rails: a cable pulled in a stream, silence, ms", "<=", 10, pulled)
    goals.value("rails: the NIC is used again, s", "<=", 1,
                of("a cable pulled", parts_rails.BACK, 0))
    goals.ratio("rails: silence of a bond (active-backup, miimon 100) / gamma", ">=", 5, bond,
                pulled)


def ports(goals):
    def of(case, what=HALF, size=8):
        return goals.get("ports", case, what, size)

    port = of(parts_ports.PORTS)
    goals.ratio("active ports, 8 B: ports / tagged messages", "<=", 1.0, port,
                of(parts_ports.TAGGED))
    goals.ratio("active ports, 8 B: ports / raw baseline", "<=", 1.25, port,
                of("raw packets", size=BASELINE_BYTES))
    goals.ratio("active ports, 8 B: UCX active messages over tcp / ports", ">=", 4,
                of(parts_ports.UCX), port)
    goals.ratio("active ports, messages of 1 KiB: handled / received", ">=", 1.1,
                of(parts_ports.HANDLED, MESSAGES, parts_ports.RATE_SIZE),
                of(parts_ports.RECEIVED, MESSAGES, parts_ports.RATE_SIZE))
    for mtu, size, wanted in ((1500, 0, 1.0), (1500, 1024, 0.97), (9000, 4096, 0.95)):
        goals.ratio("active ports: MPI with / without", "<=", wanted,
                    *(of(parts_ports.mpi_name(with_ports, mtu), size=size)
                      for with_ports in (True, False)), f"{size_text(size)}, MTU {mtu}")
    goals.value(f"active ports, bytes copied by {parts_ports.COUNTED:,} messages in place", "<=",
                0, of("in place", parts_ports.COPIED, parts_ports.RATE_SIZE))
    goals.ratio("active ports, tagged, 8 B: with a port set / without", "<=", 1.02,
                of(parts_ports.SET), of(parts_ports.TAGGED))


def coll_unshaped(goals):
    for name, sizes in parts_coll.TESTS.items():
        for size in sizes:
            goals.value("collectives, unshaped: tuned / coll gamma", ">=",
                        1.2 if (name, size) == ("bcast", MIB) else 0.95,
                        goals.get("coll", parts_coll.GAMMA + parts_coll.UNSHAPED,
                                  name + parts_coll.RATIO, size),
                        f"{name}, {size_text(size)}" if size else name)


def coll(goals):
    def of(case, name, size):
        return goals.get("coll", case, name, size)

    def beside(name, size):
        return of(parts_coll.GAMMA, name + parts_coll.RATIO, size)

    gamma = of(parts_coll.GAMMA, "bcast", MIB)
    best = goals.best("coll", [f"{parts_coll.BEST} {n}" for n in parts_coll.ALGORITHMS], "bcast",
                      MIB)
    goals.value("broadcast, 1 MiB: tuned / coll gamma", ">=", 4, beside("bcast", MIB))
    goals.ratio("broadcast, 1 MiB: best of tuned's algorithms / coll gamma", ">=", 1.0, best, gamma)
    goals.ratio("broadcast, 1 MiB: coll gamma / one stream", "<=", 1.15, gamma,
                of(parts_coll.GAMMA, parts_coll.SEND, MIB))
    goals.ratio("broadcast, 1 MiB: 1 % loss at one port / lossless", "<=", 1.3,
                of(parts_coll.LOSSY, "bcast", MIB), gamma)
    for name, size, wanted, over_tcp in (("bcast", 8, 1.5, 3), ("barrier", 0, 1.3, 3),
                                         ("allreduce", 8, 1.2, None)):
        own = of(parts_coll.GAMMA, name, size)
        text = f"{name}, {size_text(size)}" if size else name
        goals.value("collectives: tuned / coll gamma", ">=", wanted, beside(name, size), text)
        goals.ratio("collectives: btl tcp / coll gamma", ">=" if over_tcp else "", over_tcp or 0,
                    of(parts_coll.TCP, name, size), own, text)
    goals.value("allgather, 64 KiB each: tuned / coll gamma", ">=", 1.0,
                beside("allgather", parts_coll.GATHERED))
    coll_unshaped(goals)
    goals.ratio("8 B messages: with a group joined / without", "<=", 1.03,
                of(parts_coll.JOINED, "pingpong", 8), of(parts_coll.ALONE, "pingpong", 8))


def application_times(goals, part, name, lossy, less=None):
    """{processes: s}; LESS: a row whose time is taken off."""
    found = {}
    for n in parts_apps.RANKS:
        case = parts_apps.case_name(name, lossy, n)
        wall = goals.get(part, case, parts_apps.WALL)
        if wall is not None:
            found[n] = wall - (goals.get(part, case, less) if less else 0)
    return found


def application(goals, part):
    """By each number of processes and each state of the wire. Amdahl's share says more of processes
    that have a processor each; above 1, more processes take longer. Without the start and the end
    of MPI, too: they take a few tenths of a second, however long a program runs."""
    for lossy in (False, True):
        state = f"{part}, {parts_apps.LOSS} % loss" if lossy else part
        for name in parts_apps.TRANSPORTS:
            for most in parts_apps.RANKS[1:]:
                goals.value(f"{state}, {name}: Amdahl's serial share", "", 0, parts_apps.amdahl(
                    application_times(goals, part, name, lossy), most), f"1 to {most} processes")
        for less, text in ((None, "wall time, gamma / tcp"),
                           (parts_apps.ENDS, "wall time without start and end, gamma / tcp")):
            for n in parts_apps.RANKS[1:]:
                gamma, tcp = (application_times(goals, part, name, lossy, less).get(n)
                              for name in ("gamma", "tcp"))
                goals.ratio(f"{state}: {text}", "" if less else "<=", 0 if less else 1.0, gamma,
                            tcp, f"{n} processes")


def all_goals(results, parts):
    goals = Goals(results)
    for part, function in (("latency", latency), ("mpi", mpi), ("stream", stream), ("rate", rate),
                           ("node", node), ("shaped", shaped), ("overlap", overlap),
                           ("gammad", gammad), ("udp", udp), ("ports", ports),
                           ("coll", coll), ("rails", rails)):
        if part in parts:
            function(goals)
    for part in parts_apps.PARTS:
        if part in parts:
            application(goals, part)
    return goals.list


def by_title(goals):
    """Goals of one title together: title, limit, values. Where the limits differ, they are beside
    the values."""
    groups = {}
    for goal in goals:
        groups.setdefault(goal.title, []).append(goal)
    for title, group in groups.items():
        limits = {goal.limit for goal in group}
        values = "; ".join(goal.value_text(len(limits) > 1) for goal in group)
        yield title, limits.pop() if len(limits) == 1 else "", values
