# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Collective operations of Open MPI on eight hosts: by coll/gamma, and by Open MPI's own algorithms
over btl gamma and over btl tcp. From the root's begin to the last process's end. What coll/gamma is
compared with over btl gamma is measured in the same job, call by call: two jobs of the same command
line may differ by a factor of four, as eight processes share the processors."""

from cluster import Failure
from context import TREE
from interleave import woven
from results import Case, Value

SOURCE = TREE / "fabtests" / "benchmarks" / "mpi_coll.c"
HOSTS, RATE = 8, "200mbit"
MIB, GATHERED = 1 << 20, 65536
GAMMA, TCP = "coll gamma", "tuned over btl tcp"
BEST, LOSSY = "tuned, algorithm", "coll gamma, 1 % loss"
JOINED, ALONE = "8 B messages, a group joined", "8 B messages, no group"
UNSHAPED = ", unshaped"
BESIDE = ", tuned beside it"  # on a copy of the communicator
RATIO = ", tuned / coll gamma" # of the two medians of a job
SEND = "send" # one stream, in the job that broadcasts
ALGORITHMS = range(1, 10)  # of MPI_Bcast, in tuned
TRIED = 40  # calls after which coll gamma has chosen between itself and tuned (coll_gamma_trial)
WORDS = {
    GAMMA: "--mca pml ob1 --mca btl gamma",
    TCP: "--mca pml ob1 --mca btl tcp,self",
}
WITHOUT = "--mca pml ob1 --mca btl gamma --mca coll ^gamma"
TESTS = {"bcast": (8, GATHERED, MIB), "barrier": (0,), "allreduce": (8,), "reduce": (8,),
         "allgather": (8, GATHERED), "gather": (8,)}
BRIEF = {"bcast": (8, GATHERED), "barrier": (0,)}


def collect(ctx, lab, words, tests, rounds, *, ranks=HOSTS, compared=False):
    """Values of mpi_coll: TESTS by name, with their sizes. compared: with the component before coll
    gamma in the same job."""
    program = lab.compile_mpi(SOURCE)
    named = [f"{name}:{size}" for name, sizes in tests.items() for size in sizes]
    # All hosts of a lab have one clock.
    options = ["-c", "-n", max(3, ctx.count(rounds))]
    options += ["-w", TRIED] if words == WORDS[GAMMA] and not ctx.brief else []
    options += ["-b", "gamma"] if compared else []
    out = lab.mpirun([*words.split(), program, *options, *named], ranks=ranks)
    lines = [line.split() for line in out.splitlines() if line.split(" ")[0] in tests]
    if len(lines) != len(named):
        raise Failure(f"{len(lines)} of {len(named)} operations were measured")
    return [value for line in lines for value in values_of(line)]


def values_of(line):
    """Of a line of mpi_coll: a median, and another one if there was a comparison."""
    name, size, median, _, *other = line
    values = [Value(name, "us", float(median), int(size))]
    if other:
        values += [Value(name + BESIDE, "us", float(other[0]), int(size)),
                   Value(name + RATIO, "", float(other[0]) / float(median), int(size))]
    return values


def dynamic(algorithm):
    return (f"{WITHOUT} --mca coll_tuned_use_dynamic_rules 1 "
            f"--mca coll_tuned_bcast_algorithm {algorithm}")


def lossy(ctx, lab):
    with lab.impaired(3, "--loss", "1", "--seed", "7"):
        return collect(ctx, lab, WORDS[GAMMA], {"bcast": (MIB,)}, 15)


def messages(ctx, name):
    """Of two processes, which have formed a group, at one of the barriers before, or not."""
    words = f"{WORDS[GAMMA]} --mca coll_gamma_min_hosts {2 if name == JOINED else 3}"
    words += " --mca mpi_yield_when_idle 0"
    tests = {"barrier": (0,), "pingpong": (8,)}
    return collect(ctx, ctx.pair(), words, tests, 60, ranks=2)


def coll(ctx):
    shaped = ctx.lab(HOSTS, rate=RATE, uplink=True, gammad=True)
    if ctx.brief:
        return [Case(GAMMA, lambda: collect(ctx, shaped, WORDS[GAMMA], BRIEF, 10, compared=True))]
    unshaped = ctx.lab(HOSTS, gammad=True)
    often = [Case(GAMMA + suffix, lambda lab=lab, tests=tests: collect(
        ctx, lab, WORDS[GAMMA], tests, 30, compared=True))
             for suffix, lab, tests in (("", shaped, {**TESTS, SEND: (MIB,)}),
                                        (UNSHAPED, unshaped, TESTS))]
    often += [Case(name, lambda name=name: messages(ctx, name)) for name in (JOINED, ALONE)]
    cases = [
        Case(LOSSY, lambda: lossy(ctx, shaped)),
        Case(TCP, lambda: collect(ctx, shaped, WORDS[TCP], TESTS, 20)),
    ]
    if not ctx.quick:
        cases += [Case(f"{BEST} {n}", lambda n=n: collect(
            ctx, shaped, dynamic(n), {"bcast": (MIB,)}, 5)) for n in ALGORITHMS]
    return woven(often, cases, 1)
