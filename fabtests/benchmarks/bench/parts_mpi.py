# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Measurements of MPI programs over Open MPI's transports; and of libfabric's providers by the
definitions of GAMMA's own benchmarks, started by mpirun as well."""

from cluster import Failure, json_lines
from context import TREE
from interleave import woven
from parts_libfabric import BASELINE_BYTES, OFF
from results import Case, Value

SOURCES = TREE / "fabtests" / "benchmarks"
# All keep to the data network.
TRANSPORTS = {
    "btl gamma": "--mca pml ob1 --mca btl gamma",
    "btl gamma, raw alone": "--mca pml ob1 --mca btl gamma -x FI_GAMMA_LINK=packet",
    "btl gamma over UDP": "--mca pml ob1 --mca btl gamma -x FI_GAMMA_LINK=udp",
    "mtl ofi, gamma": "--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include gamma",
    "btl tcp": "--mca pml ob1 --mca btl tcp,self",
    "mtl ofi, tcp": "--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include tcp "
                    "-x FI_TCP_IFACE=gam0",
    "pml ucx, tcp": "--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any "
                    "-x UCX_TLS=tcp,self -x UCX_NET_DEVICES=gam0",
}
ONE_HOST = {
    "gamma,self": "--mca pml ob1 --mca btl gamma,self",
    "vader": "--mca pml ob1 --mca btl vader,self",
}
MIB = 1 << 20
SIZES = [0, 8, 64, 1024, 4096, 16384, 65536, 262144, MIB]
MAIN_SIZES = [0, 16384, 65536, MIB]
# With as many processes as processors none needs to yield.
EAGER = ["--mca", "mpi_yield_when_idle", "0"]


def ping_pong(lab, transport, sizes, hosts=None, command=()):
    program = lab.compile_mpi(SOURCES / "mpi_pingpong.c")
    out = lab.mpirun([*EAGER, *transport.split(), *command, program, *sizes], hosts=hosts)
    pairs = [line.split() for line in out.splitlines() if line[:1].isdigit()]
    if len(pairs) != len(sizes):
        raise Failure(f"{len(pairs)} of {len(sizes)} sizes were measured")
    return [Value("half round trip", "us", float(us), int(size)) for size, us in pairs]


def mpi(ctx):
    lab = ctx.pair()
    raw = Case("raw packets", lambda: ctx.raw_latency(lab, [BASELINE_BYTES]))

    def case(name, sizes=None, mtu=1500, offloads=True):
        where = ctx.pair(mtu, offloads=offloads)
        text = name + (f", MTU {mtu}" if mtu != 1500 else "") + ("" if offloads else OFF)
        return Case(text, lambda: ping_pong(where, TRANSPORTS[name],
                                            sizes or (MAIN_SIZES if ctx.quick else SIZES)))

    if ctx.brief:
        return [raw, case("btl gamma"), case("btl tcp")]
    cases = [case("btl gamma"), case("btl tcp"), case("btl tcp", offloads=False),
             case("btl gamma, raw alone"), case("mtl ofi, gamma")]
    for name, offloads in (("btl gamma", True), ("btl tcp", True), ("btl tcp", False),
                           ("btl gamma, raw alone", True)):
        cases.append(case(name, [0, MIB], 9000, offloads))
    if not ctx.quick:
        cases += [case("mtl ofi, tcp"), case("pml ucx, tcp")]
    often = [raw, case("btl gamma", [0]), case("btl tcp", [0])]
    return woven(often, cases, 2)


def mpi_node(ctx):
    """Two ranks of one host, each on a processor of its own."""
    lab = ctx.pair()
    cpus = " ".join(str(cpu) for cpu in ctx.probe.cpus)
    pin = ["bash", "-c", f'set -- {cpus} "$@"; cpu=("$1" "$2"); shift 2; '
           'exec taskset -c "${cpu[OMPI_COMM_WORLD_LOCAL_RANK]}" "$@"', "pin"]
    if ctx.brief:
        return []
    often, cases = ([Case(f"MPI, {name}, one host", lambda text=text, sizes=sizes: ping_pong(
        lab, text, sizes, hosts="node01:2", command=pin)) for name, text in ONE_HOST.items()]
        for sizes in ([0], [65536] if ctx.quick else SIZES[1:]))
    return woven(often, cases, 2)


# ---- overlap ----

THREAD, OWN_CORE = "btl gamma, progress thread", ", a processor left"
OVERLAP = {
    THREAD: "--mca pml ob1 --mca btl gamma --mca btl_gamma_progress_thread 1",
    "btl gamma": "--mca pml ob1 --mca btl gamma",
    "btl tcp": "--mca pml ob1 --mca btl tcp,self",
    "btl tcp, progress thread": "--mca pml ob1 --mca btl tcp,self --mca btl_tcp_progress_thread 1",
}
OVERLAP_RANKS = (2, 4)


def overlap_values(ctx, lab, transport, ranks, own_core):
    program = lab.compile_mpi(SOURCES / "mpi_overlap.c")
    rounds = 3 if ctx.brief else 7 if ctx.quick else 25
    own, other = ctx.probe.cpus[0], ctx.probe.cpus[-1]
    command = ["taskset", "-c", f"{own},{other}", program, "-c", own] if own_core else [program]
    # Every other host has the other processor, which its frames arrive at.
    hosts = ",".join(f"node{2 * i:02}:1" for i in range(1, ranks + 1)) if own_core else None
    out = lab.mpirun([*transport.split(), *command, rounds, MIB], ranks=ranks, hosts=hosts)
    lines = [line.split() for line in out.splitlines() if line[:1].isdigit()]
    if len(lines) != 1:
        raise Failure("mpi_overlap printed no figures")
    return [Value("overlap", "share of communication", float(lines[0][-1]), MIB)]


def overlap(ctx):
    """How much of the communication of 1 MiB a computation overlaps. By frames of two lengths; by
    ranks that compute on all processors, and by ranks that leave one to the frames and to the
    transport's threads: their processor time slows the computation down."""
    cases = []
    for mtu in (1500,) if ctx.brief else (1500, 9000):
        lab = ctx.lab(8, rate="1gbit", mtu=mtu)
        for ranks in OVERLAP_RANKS[:1 if ctx.brief else None]:
            cases += [Case(f"{THREAD}{how}, MTU {mtu}, {ranks} ranks",
                           lambda ranks=ranks, lab=lab, how=how: overlap_values(
                               ctx, lab, OVERLAP[THREAD], ranks, bool(how)))
                      for how in ("", OWN_CORE)]
    if not ctx.quick:
        lab = ctx.lab(8, rate="1gbit", mtu=1500)
        cases += [Case(f"{name}, MTU 1500, 2 ranks", lambda text=text: overlap_values(
            ctx, lab, text, 2, False)) for name, text in OVERLAP.items() if name != THREAD]
    return cases


# ---- GAMMA's definitions ----

def pmix_values(ctx, lab, provider):
    program = lab.lend(ctx.program("gamma-pmix"))
    largest, count = (4096, 20) if ctx.brief else (MIB, ctx.count(1000))
    out = lab.mpirun(["-x", "FI_TCP_IFACE=gam0", program, "-p", provider, "-j", "-S", largest,
                      "-n", count])
    row = json_lines(out)[0]
    return [
        Value("latency", "us", row["latency_us"]),
        Value("asymptotic bandwidth", "MB/s", row["asymptotic_MBps"]),
        Value("half-power point", "bytes", row["half_power_bytes"]),
        Value("transmission throughput", "MB/s", row["transmission_MBps"]),
    ]


def figures(ctx):
    lab = ctx.pair()
    names = ("gamma",) if ctx.brief else ("gamma", "tcp")
    return [Case(name, lambda name=name: pmix_values(ctx, lab, name)) for name in names]
