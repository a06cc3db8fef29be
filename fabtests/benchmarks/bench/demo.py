#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The demonstration: gamma beside TCP between virtual hosts, both as by default, as an ordinary
user; and gamma over UDP alone, as where there is no gammad. One table at the end. Called by
`./quickstart demo`, as root.

On standard output, for the caller to show: "demo: now TEXT" when a step begins, "demo: done TEXT"
when it is done, "demo: note TEXT". The table goes to a file."""

import argparse
import os
import re
import signal
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True  # the tree stays as it is
# pylint: disable=wrong-import-position
from cluster import Failure, json_lines
from comparison import Measure, is_level, number_text
from context import TREE, Context
from machine import OTHERS_SHARE, Others, Probe
from parts_gammad import USER

ROUNDS = 3                  # of figures that count
ROUNDS_MAX = 7              # in all, where the machine's speed changes meanwhile
MORE_S = 20                 # of a step, after which no round is added
MIB = 1 << 20
LINKS = ("gamma", "udp")  # as by default, through gammad where possible; and UDP alone
PROVIDERS = (*LINKS, "tcp")
LOSS = "1"                  # percent
LOSSY_ROUND_TRIPS = 300     # of one try
LOSSES_MIN = 3              # frames that a figure needs
LOSSY_TRIES = 20            # until as many were lost; each loses some 3
ETHERTYPES = {"gamma": "0x88b5", "udp": "0x0800", "tcp": "0x0800"}
BTLS = {"gamma": ("gamma",), "udp": ("gamma", "-x", "FI_GAMMA_LINK=udp"), "tcp": ("tcp,self",)}
DOMAINS = {"gamma": "gam0", "udp": "gam0-udp"}
PINGPONG_PORT = 47592       # fi_pingpong's own
CHECKED = 1000              # messages whose contents are checked


@dataclass
class Row(Measure):
    """A line of the table."""
    unit: str = "us"  # behind the figures
    short: str = ""   # in the last lines


ROWS = {
    "latency": Row("MPI latency", short="MPI latency"),
    "1k": Row("1 KiB by MPI", short="1 KiB"),
    "16k": Row("16 KiB by MPI", short="16 KiB"),
    "64k": Row("64 KiB by MPI", short="64 KiB"),
    "1m": Row("1 MiB by MPI, MTU 1,500", short="1 MiB at MTU 1,500"),
    "1m jumbo": Row("1 MiB by MPI, MTU 9,000", short="1 MiB at MTU 9,000"),
    "rate": Row("short messages per second", "more", "fewer", True, "M/s", "short messages"),
    "cpu": Row("processor time per short message", "less", "more", short="processor time"),
    "bulk": Row("short message beside bulk, 1 Gbit/s", short="short messages beside bulk"),
    "loss": Row("delay by one lost frame", "less", "more", short="recovery of lost frames"),
}


def say(kind, text):
    print(f"demo: {kind} {text}", flush=True)


class Step:
    """Announces a step, and its end with the time it took."""

    def __init__(self, text):
        self.text, self.begin = text, time.monotonic()

    def __enter__(self):
        say("now", self.text)
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            say("done", f"{self.text} ({time.monotonic() - self.begin:.0f} s)")


class Demo:
    """Owns the labs by its context, and the samples: {(row, provider): numbers}."""

    def __init__(self, ctx, probe):
        self.ctx, self.probe, self.samples, self.failures = ctx, probe, {}, []
        self.unsteady = []  # the rows whose figures are of several speeds of the machine
        self.user = USER  # None: all runs as root
        self.labs = {}
        self.others = 0   # share of one processor that other programs took meanwhile

    # ---- labs and programs ----

    def set_up(self):
        for name, options in (("plain", {}), ("jumbo", {"mtu": 9000}), ("slow", {"rate": "1gbit"})):
            self.labs[name] = self.lab(options)

    def lab(self, options):
        """With gammad where the kernel lets it hand out endpoints, else without."""
        if self.user:
            try:
                return self.ctx.lab(gammad=True, **options)
            except Failure as failure:
                self.user = None
                say("note", f"no gammad ({failure}): going on with more rights than an ordinary "
                            "user has")
        return self.ctx.lab(**options)

    def words(self, lab, host, *command, provider="gamma"):
        """As the user. Programs of the build are lent, so that users may run them."""
        extra = {"FI_GAMMA_LINK": "udp"} if provider == "udp" else {}
        if not self.user:
            return lab.words(host, command, extra)
        extra["FI_PROVIDER_PATH"] = lab.shared / "gammad" / "lib"
        return lab.words(host, command, extra, user=self.user)

    def rows_of(self, lab, program, provider, server, client):
        """The lines of JSON of a benchmark program."""
        program = lab.lend(self.ctx.program(program))
        own = ["-d", DOMAINS[provider]] if provider in LINKS else []
        named = [program, "-p", "gamma" if provider in LINKS else provider]
        return json_lines(lab.pair(
            self.words(lab, 1, *named, *(own or ["-a", lab.address(1)]), "-s", *server,
                       provider=provider),
            self.words(lab, 2, *named, *own, *client, lab.address(1), provider=provider)))

    def introduce(self):
        """Who runs it, and that libfabric finds the provider."""
        status = self.labs["plain"].output(1, ["cat", "/proc/self/status"], user=self.user)
        capabilities = re.search(r"^CapEff:\s*(\w+)", status, re.M)[1]
        found = self.labs["plain"].complete(self.words(self.labs["plain"], 1, "fi_info", "-p",
                                                       "gamma"))
        domain = re.search(r"domain: (\S+)", found)
        say("note", f"all that follows runs as {self.user or 'root'}, capabilities {capabilities}; "
                    f"fi_info finds provider gamma on {domain[1] if domain else 'no NIC'}")

    # ---- what is measured ----

    def check_contents(self):
        """fi_pingpong, which has no sign of being ready but its socket."""
        lab = self.labs["plain"]
        command = ["fi_pingpong", "-p", "gamma", "-e", "rdm", "-c", "-S", 1024, "-I", CHECKED]
        with lab.running(self.words(lab, 1, *command), ready=None) as server:
            for _ in range(100):
                if lab.output(1, ["ss", "-Hltn", f"sport = :{PINGPONG_PORT}"]).strip():
                    break
                time.sleep(0.05)
            lab.complete(self.words(lab, 2, *command, "10.77.0.1"))
            server.wait(10)

    def mpi(self, lab_name, names, sizes):
        lab = self.labs[lab_name]
        program = lab.compile_mpi(TREE / "fabtests" / "benchmarks" / "mpi_pingpong.c")

        def once(provider):
            out = lab.mpirun(["--mca", "mpi_yield_when_idle", "0", "--mca", "btl",
                              *BTLS[provider], program, *sizes])
            found = [float(line.split()[1]) for line in out.splitlines() if line[:1].isdigit()]
            if len(found) != len(sizes):
                raise Failure("mpi_pingpong printed no figures")
            return dict(zip(names, found))
        return once

    def libfabric(self, lab_name, names, sizes):
        """The same without Open MPI."""
        def once(provider):
            rows = self.rows_of(self.labs[lab_name], "gamma-latency", provider, [], [
                "-j", "-n", 5000, "-w", 500, "-S", ",".join(map(str, sizes))])
            return {name: row["median_us"] for name, row in zip(names, rows)}
        return once

    def short_messages(self, provider):
        row = self.rows_of(self.labs["plain"], "gamma-stream", provider, [],
                           ["-S", 8, "-w", 64, "-t", 0.4])[0]
        return {"rate": row["per_s"] / 1e6,
                "cpu": sum(row[side][kind] for side in ("sender", "receiver")
                           for kind in ("user_us", "system_us"))}

    def beside_bulk(self, provider):
        row = self.rows_of(self.labs["slow"], "gamma-stream", provider, [],
                           ["-S", MIB, "-t", 0.7, "-l"])[0]
        if "small" not in row:
            raise Failure("no small message came back in time")
        return {"bulk": row["small"]["median_us"]}

    def lossy_round_trips(self, provider):
        """What the losses added to all round trips, us, and the number of lost frames."""
        lab = self.labs["plain"]
        with lab.impaired(2, "--loss", LOSS, "--ethertype", ETHERTYPES[provider]):
            row = self.rows_of(lab, "gamma-latency", provider, [], [
                "-j", "-S", 8, "-n", LOSSY_ROUND_TRIPS, "-w", 1])[0]
            shown = lab.complete([lab.tool, "-n", lab.name, "impair", "node02", "show"])
        return (2 * (row["mean_us"] - row["median_us"]) * LOSSY_ROUND_TRIPS,
                sum(map(int, re.findall(r"lost (\d+)", shown))))

    def lost_frame(self, provider):
        """The delay by a lost frame. Chance decides how many are lost: it tries until some are."""
        added_us = lost = 0
        for _ in range(LOSSY_TRIES):
            more_us, more = self.lossy_round_trips(provider)
            added_us, lost = added_us + more_us, lost + more
            if lost >= LOSSES_MIN:
                return {"loss": added_us / lost}
        raise Failure(f"{lost} frames were lost in {LOSSY_TRIES} tries")

    def measure(self, text, once):
        """Interleaved: all in each round, in the opposite order of the round before. The speed of
        a virtual machine changes within seconds, for all providers alike. So each measurement is
        between two probes, and rounds are added until there are enough figures of one speed."""
        first, taken = len(self.probe.seen), {provider: [] for provider in PROVIDERS}
        with Step(text) as step:
            before = self.probe.take()
            for number in range(ROUNDS_MAX):
                if number >= ROUNDS and time.monotonic() > step.begin + MORE_S:
                    break
                for provider in PROVIDERS[::-1 if number % 2 else 1]:
                    try:
                        values = once(provider)
                    except Failure as failure:
                        self.failures.append(f"{text}, {provider}: {failure}")
                        return
                    after = self.probe.take()
                    taken[provider].append((values, (before, after)))
                    before = after
                steady = self.steady(taken, first)
                if min(map(len, steady.values())) >= ROUNDS:
                    break
                steady = None
        if not steady:
            self.unsteady.extend(ROWS[name].short for name in values)
        for provider, kept in (steady or taken).items():
            for values, _ in kept:
                for name, value in values.items():
                    self.samples.setdefault((name, provider), []).append(value)

    def steady(self, taken, first):
        """Those at the speed that most probes from the first on have seen."""
        usual = self.probe.usual(first)
        return {provider: [sample for sample in samples
                           if all(self.probe.fits(number, usual) for number in sample[1])]
                for provider, samples in taken.items()}

    def run(self):
        others = Others(lambda: 0)
        self.run_steps()
        self.others = others.share()

    def run_steps(self):
        with Step("virtual hosts with gammad: two each at MTU 1,500, MTU 9,000 and 1 Gbit/s"):
            self.set_up()
        self.introduce()
        with Step(f"{CHECKED:,} messages of 1 KiB there and back, contents checked"):
            self.check_contents()
        transport, how = self.mpi, "MPI, by btl gamma, the same over UDP alone, and btl tcp"
        if not (self.ctx.build / ".libs" / "mca_btl_gamma.so").exists():
            transport, how = self.libfabric, "libfabric's gamma and tcp (no Open MPI here)"
            for row in ROWS.values():
                row.text = row.text.replace("MPI latency", "latency").replace(" by MPI", "")
                row.short = row.short.replace("MPI ", "")
        self.measure(f"{how}: 0 B to 1 MiB",
                     transport("plain", ("latency", "1k", "16k", "64k", "1m"),
                               (0, 1024, 16384, 65536, MIB)))
        self.measure("the same at MTU 9,000: 1 MiB", transport("jumbo", ("1m jumbo",), (MIB,)))
        self.measure("short messages: how many, and their processor time", self.short_messages)
        self.measure("a short message beside a bulk stream, at 1 Gbit/s", self.beside_bulk)
        self.measure(f"short messages while {LOSS} % of the frames are lost", self.lost_frame)

    # ---- the table ----

    def median(self, name, provider):
        numbers = self.samples.get((name, provider))
        return statistics.median(numbers) if numbers else None

    def table(self):
        yield f"{'':36} {'gamma':>11} {'UDP alone':>11} {'tcp':>11}   gamma is"
        for name, row in ROWS.items():
            cells = ["-" if value is None else f"{number_text(value)} {row.unit}"
                     for value in (self.median(name, provider) for provider in PROVIDERS)]
            verdict = row.verdict(self.median(name, "gamma"), self.median(name, "tcp"))
            yield f"{row.text:36} " + " ".join(f"{cell:>11}" for cell in cells) + f"   {verdict}"
        yield "One way; medians of three or more interleaved rounds; the kernel's offloads on."
        if self.unsteady:
            rows = "all" if len(self.unsteady) == len(ROWS) else ", ".join(self.unsteady)
            yield f"The machine's speed changed too often. Figures of several speeds: {rows}."
        if self.others > OTHERS_SHARE:
            yield (f"Disturbed: other programs took {self.others:.0%} of a processor meanwhile; "
                   "latencies suffer most.")
        yield from (f"not measured: {text}" for text in self.failures)
        yield ""
        yield self.conclusion()
        yield "Next: doc/install.md, for machines of your own; ./quickstart bench, for all figures."

    def conclusion(self):
        kinds = {"Faster": [], "Level": [], "Slower": []}
        for name, row in ROWS.items():
            advantage = row.advantage(self.median(name, "gamma"), self.median(name, "tcp"))
            if advantage is not None:
                kind = "Level" if is_level(advantage) else "Faster" if advantage > 1 else "Slower"
                kinds[kind].append(row.short)
        return "\n".join(f"{kind + ':':8}{', '.join(texts)}." for kind, texts in kinds.items()
                         if texts)


def interrupted(number, _frame):
    sys.exit(128 + number)


def main():
    parser = argparse.ArgumentParser(prog="demo", description="see quickstart")
    parser.add_argument("--build", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--labs", required=True, metavar="NAME", help="what the labs' names begin "
                        "with")
    parser.add_argument("--table", type=Path, required=True, metavar="FILE")
    chosen = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, interrupted)
    if os.geteuid() != 0:
        sys.exit("demo: not root: it makes network namespaces")
    probe = Probe(chosen.build.resolve() / "fabtests" / "benchmarks" / "gamma-probe")
    ctx = Context(chosen.build.resolve(), chosen.labs, probe)
    demo = Demo(ctx, probe)
    try:
        demo.run()
    except Failure as failure:
        sys.exit(f"demo: error: {failure}")
    finally:
        say("now", "all measured, virtual hosts taken down")
        ctx.end()
    chosen.table.write_text("\n".join(demo.table()) + "\n", encoding="utf-8")
    return 1 if demo.failures else 0


if __name__ == "__main__":
    sys.exit(main())
