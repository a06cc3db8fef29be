# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Collective operations of Open MPI on eight hosts: by coll/gamma, and by Open MPI's own algorithms
over btl gamma and over btl tcp. From the root's begin to the last process's end."""

from cluster import Failure
from context import TREE
from interleave import woven
from results import Case, Value

SOURCE = TREE / "fabtests" / "benchmarks" / "mpi_coll.c"
HOSTS, RATE = 8, "200mbit"
MIB, GATHERED = 1 << 20, 65536
GAMMA, TUNED, TCP = "coll gamma", "tuned over btl gamma", "tuned over btl tcp"
BEST, SEND, LOSSY = "tuned, algorithm", "one stream", "coll gamma, 1 % loss"
JOINED, ALONE = "8 B messages, a group joined", "8 B messages, no group"
UNSHAPED = ", unshaped"
ALGORITHMS = range(1, 10)  # of MPI_Bcast, in tuned
TRIED = 40  # calls after which coll gamma has chosen between itself and tuned (coll_gamma_trial)
WORDS = {
    GAMMA: "--mca pml ob1 --mca btl gamma",
    TUNED: "--mca pml ob1 --mca btl gamma --mca coll ^gamma",
    TCP: "--mca pml ob1 --mca btl tcp,self",
}
TESTS = {"bcast": (8, GATHERED, MIB), "barrier": (0,), "allreduce": (8,), "reduce": (8,),
         "allgather": (8, GATHERED), "gather": (8,)}
BRIEF = {"bcast": (8, GATHERED), "barrier": (0,)}


def collect(ctx, lab, words, tests, rounds, ranks=HOSTS):
    """Values of mpi_coll: TESTS by name, with their sizes."""
    program = lab.compile_mpi(SOURCE)
    named = [f"{name}:{size}" for name, sizes in tests.items() for size in sizes]
    # All hosts of a lab have one clock.
    tried = ["-w", TRIED] if words == WORDS[GAMMA] and not ctx.brief else []
    out = lab.mpirun([*words.split(), program, "-c", "-n", max(3, ctx.count(rounds)), *tried,
                      *named], ranks=ranks)
    lines = [line.split() for line in out.splitlines() if line.split(" ")[0] in tests]
    if len(lines) != len(named):
        raise Failure(f"{len(lines)} of {len(named)} operations were measured")
    return [Value(name, "us", float(median), int(size)) for name, size, median, _ in lines]


def dynamic(algorithm):
    return (f"{WORDS[TUNED]} --mca coll_tuned_use_dynamic_rules 1 "
            f"--mca coll_tuned_bcast_algorithm {algorithm}")


def lossy(ctx, lab):
    with lab.impaired(3, "--loss", "1", "--seed", "7"):
        return collect(ctx, lab, WORDS[GAMMA], {"bcast": (MIB,)}, 15)


def messages(ctx, name):
    """Of two processes, which form a group or not."""
    words = f"{WORDS[GAMMA]} --mca coll_gamma_min_hosts {2 if name == JOINED else 3}"
    words += " --mca mpi_yield_when_idle 0"
    return collect(ctx, ctx.pair(), words, {"pingpong": (8,)}, 60, ranks=2)


def coll(ctx):
    shaped = ctx.lab(HOSTS, rate=RATE, uplink=True, gammad=True)
    if ctx.brief:
        return [Case(name, lambda name=name: collect(ctx, shaped, WORDS[name], BRIEF, 10))
                for name in (GAMMA, TUNED)]
    unshaped = ctx.lab(HOSTS, gammad=True)
    often = [Case(name + suffix, lambda name=name, lab=lab: collect(
        ctx, lab, WORDS[name], TESTS, 20))
             for suffix, lab in (("", shaped), (UNSHAPED, unshaped)) for name in (GAMMA, TUNED)]
    often += [Case(name, lambda name=name: messages(ctx, name)) for name in (JOINED, ALONE)]
    cases = [
        Case(SEND, lambda: collect(ctx, shaped, WORDS[GAMMA], {"send": (MIB,)}, 15)),
        Case(LOSSY, lambda: lossy(ctx, shaped)),
        Case(TCP, lambda: collect(ctx, shaped, WORDS[TCP], TESTS, 20)),
    ]
    if not ctx.quick:
        cases += [Case(f"{BEST} {n}", lambda n=n: collect(
            ctx, shaped, dynamic(n), {"bcast": (MIB,)}, 5)) for n in ALGORITHMS]
    return woven(often, cases, 1)
