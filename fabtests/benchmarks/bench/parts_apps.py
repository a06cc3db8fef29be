# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Applications, the same case over gamma and over tcp: how long they take, and how much of it
inside MPI. Quiet and with frames lost at one host's port, by 1, 2 and 4 processes. The results must
be the same, whatever carries the messages."""

import re
import shutil
import statistics

import app_inputs
from cluster import Failure, json_lines
from context import TREE
from results import Case, Value

LOSS = "0.1"  # percent of the frames to and from node02
# The EtherType of what is to be lost.
TRANSPORTS = {
    "gamma": ("--mca pml ob1 --mca btl gamma,self", "0x88b5"),
    "tcp": ("--mca pml ob1 --mca btl tcp,self", "0x0800"),
}
LINKS = {"": None, "-1gbit": "1gbit"}
RANKS = (1, 2, 4)
WALL, ENDS = "wall time", "of it beginning and ending"


class Application:
    """A program and its case. prepare fills a folder with the input of RANKS processes; words is
    the command line; outcome finds the results in the output."""

    name = program = package = lab = None
    environment = {}

    def check(self):
        if not shutil.which(self.program):
            raise Failure(f"{self.program} is not installed (Debian: {self.package})")


class Cp2k(Application):
    """Molecular dynamics of water."""

    name, program, package = "cp2k", "cp2k.psmp", "cp2k"
    environment = {"OMP_NUM_THREADS": "1", "CP2K_DATA_DIR": "/usr/share/cp2k"}

    def prepare(self, folder, _ranks, brief):
        cells, steps = ((1, 1, 2), 1) if brief else ((2, 4, 4), 4)
        (folder / "water.inp").write_text(app_inputs.water(cells, steps), encoding="ascii")

    def words(self, _ranks):
        return [self.program, "water.inp"]

    def outcome(self, printed):
        return re.findall(r"ENERGY\| Total.*?(-?\d+\.\d{8})\d*\s*$", printed, flags=re.M)


class OpenFoam(Application):
    """icoFoam's lid-driven cavity."""

    name, program, package = "openfoam", "icoFoam", "openfoam"
    environment = {"WM_PROJECT_DIR": "/usr/share/openfoam", "FOAM_SIGFPE": "false"}

    def prepare(self, folder, ranks, brief):
        cells, steps = (20, 2) if brief else (128, 60)
        app_inputs.cavity(folder, cells, steps, ranks)
        self.tool(folder, "blockMesh")
        if ranks > 1:
            self.tool(folder, "decomposePar")

    def tool(self, folder, name):
        self.lab.complete(["env", *(f"{key}={value}" for key, value in self.environment.items()),
                           name, "-case", folder])

    def words(self, ranks):
        return [self.program] + (["-parallel"] if ranks > 1 else [])

    def outcome(self, printed):
        """Of the last step: how good the solutions are."""
        return re.findall(r"Final residual = ([\d.e+-]+)", printed)[-3:]


class Runner:
    """Runs of an application in a lab. Owns its folders there, and its first results."""

    def __init__(self, application, lab, brief):
        self.application, self.lab, self.brief = application, lab, brief
        application.lab = lab
        self.folders, self.outcomes = {}, {}
        self.clock = lab.shared / "mpi_time.so"
        self.times = lab.shared / "times"
        source = TREE / "fabtests" / "benchmarks" / "mpi_time.c"
        lab.complete(["cc", "-O2", "-shared", "-fPIC", "-o", self.clock, source, "-ldl"])

    def folder(self, ranks):
        if ranks not in self.folders:
            folder = self.lab.shared / f"{self.application.name}.{ranks}"
            folder.mkdir()
            self.application.prepare(folder, ranks, self.brief)
            # An ordinary user runs it.
            self.lab.complete(["chmod", "-R", "a+rwX", folder])
            self.folders[ranks] = folder
        return self.folders[ranks]

    def compare(self, ranks, printed):
        """Sums of another number of processes end in other digits; of the same, in the same."""
        outcome = self.application.outcome(printed)
        if not outcome or outcome != self.outcomes.setdefault(ranks, outcome):
            raise Failure(f"computed {outcome}, and before {self.outcomes.get(ranks)}")

    def job(self, transport, ranks):
        self.times.unlink(missing_ok=True)
        given = {**self.application.environment, "LD_PRELOAD": self.clock,
                 "MPI_TIME_FILE": self.times}
        words = [word for name, value in given.items() for word in ("-x", f"{name}={value}")]
        self.compare(ranks, self.lab.mpirun(
            [*transport.split(), "-wdir", self.folder(ranks), *words,
             *self.application.words(ranks)], ranks=ranks))
        rows = json_lines(self.times.read_text(encoding="ascii"))
        if len(rows) != ranks:
            raise Failure(f"{len(rows)} of {ranks} processes reported their times")
        return rows

    def values(self, transport, ranks):
        """The slowest process's time, and means of all."""
        rows = self.job(transport, ranks)
        wall = max(row["wall_s"] for row in rows)
        used = statistics.fmean(row["cpu_s"] for row in rows)
        inside = statistics.fmean(row["mpi_s"] for row in rows)
        return [
            Value(WALL, "s", wall),
            Value("processor time of a process", "s", used),
            Value("wall - processor time", "s", wall - used),
            Value("wall / processor time", "", wall / used),
            Value("inside MPI", "s", inside),
            Value(ENDS, "s", statistics.fmean(r["ends_s"] for r in rows)),
            Value("calls of MPI by a process", "", statistics.fmean(r["calls"] for r in rows)),
        ]

    def under_loss(self, name, ranks):
        transport, ethertype = TRANSPORTS[name]
        with self.lab.impaired(2, "--loss", LOSS, "--ethertype", ethertype):
            return self.values(transport, ranks)


def case_name(transport, lossy, ranks):
    """One process sends no frames."""
    if ranks == 1:
        return "one process"
    return f"{transport}, {ranks} processes" + (f", {LOSS} % loss" if lossy else "")


def cases_of(ctx, application, rate):
    application.check()
    ranks = (1, 2) if ctx.quick else RANKS
    lab = ctx.lab(ranks[-1], rate=rate) if rate else ctx.lab(ranks[-1])
    runner = Runner(application, lab, ctx.brief)
    # One process sends nothing.
    cases = [Case(case_name("tcp", False, 1), lambda: runner.values(TRANSPORTS["tcp"][0], 1))]
    for n in ranks[1:]:
        for name, (transport, _) in TRANSPORTS.items():
            cases += [
                Case(case_name(name, False, n),
                     lambda transport=transport, n=n: runner.values(transport, n)),
                Case(case_name(name, True, n),
                     lambda name=name, n=n: runner.under_loss(name, n)),
            ]
    return cases


# Each application by a wire as fast as it goes, and by one of 1 Gbit/s.
PARTS = {application.name + suffix: lambda ctx, application=application, rate=rate: cases_of(
    ctx, application(), rate)
    for application in (Cp2k, OpenFoam) for suffix, rate in LINKS.items()}


def amdahl(times, most):
    """The share of a program that cannot be divided, of {processes: s} up to so many processes:
    least squares of T = serial + divided / processes. None: too few are known."""
    times = {n: time for n, time in times.items() if n <= most}
    if most not in times or len(times) < 2:
        return None
    x = [1 / n for n in times]
    mean_x, mean_t = statistics.fmean(x), statistics.fmean(times.values())
    slope = (sum((a - mean_x) * (t - mean_t) for a, t in zip(x, times.values())) /
             sum((a - mean_x) ** 2 for a in x))
    serial = mean_t - slope * mean_x
    return serial / (serial + slope)
