# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What an MPI program gets over Open MPI's transports, and libfabric's providers by the definitions
of GAMMA's benchmarks, started by mpirun as well."""

from cluster import Failure, json_lines
from context import TREE
from parts_libfabric import FLOOR_BYTES
from turns import Case, Value, woven

SOURCES = TREE / "fabtests" / "benchmarks"
# All keep to the data network.
TRANSPORTS = {
    "btl gamma": "--mca pml ob1 --mca btl gamma",
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
SIZES = [0, 8, 64, 1024, 4096, 16384, 65536, 262144, 1 << 20]
# With as many processes as processors nobody needs to yield.
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
    sizes = [0, 65536] if ctx.quick else SIZES
    names = ("btl gamma",) if ctx.brief else TRANSPORTS
    cases = [Case("raw packets", lambda: ctx.raw_latency(lab, [FLOOR_BYTES]))]
    cases += [Case(name, lambda text=TRANSPORTS[name]: ping_pong(lab, text, sizes))
              for name in names]
    if not ctx.quick:
        jumbo = ctx.pair(9000)
        cases += [Case(f"{name}, MTU 9000", lambda name=name: ping_pong(
            jumbo, TRANSPORTS[name], [0, 1 << 20])) for name in ("btl gamma", "btl tcp")]
    if ctx.brief:
        return cases
    often = [cases[0], *(Case(name, lambda text=TRANSPORTS[name]: ping_pong(lab, text, [0]))
                         for name in ("btl gamma", "btl tcp"))]
    return woven(often, cases[1:], 2)


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

THREAD, APART = "btl gamma, progress thread", ", a processor apart"
OVERLAP = {
    "btl gamma": "--mca pml ob1 --mca btl gamma",
    THREAD: "--mca pml ob1 --mca btl gamma --mca btl_gamma_progress_thread 1",
    "mtl ofi, gamma, async progress": "--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include "
                                      "gamma --mca mtl_ofi_data_progress auto",
    "btl tcp": "--mca pml ob1 --mca btl tcp,self",
    "btl tcp, progress thread": "--mca pml ob1 --mca btl tcp,self --mca btl_tcp_progress_thread 1",
}
OVERLAP_SIZES = [2, 1024, 8192, 1 << 20]


def overlap_values(ctx, lab, transport, ranks, apart):
    program = lab.compile_mpi(SOURCES / "mpi_overlap.c")
    sizes = [1 << 20] if ctx.quick or apart else OVERLAP_SIZES
    rounds = 3 if ctx.brief else 7 if ctx.quick else 25
    own, other = ctx.probe.cpus[0], ctx.probe.cpus[-1]
    command = ["taskset", "-c", f"{own},{other}", program, "-c", own] if apart else [program]
    # Every other host has the other processor, which its frames arrive at.
    hosts = ",".join(f"node{2 * i:02}:1" for i in range(1, ranks + 1)) if apart else None
    out = lab.mpirun([*transport.split(), *command, rounds, *sizes], ranks=ranks, hosts=hosts)
    values = []
    for line in out.splitlines():
        if not line[:1].isdigit():
            continue
        size, alone, computing, meanwhile, blocking, after, hidden = (
            float(word) for word in line.split())
        size = int(size)
        values += [
            Value("communication alone", "us", alone, size),
            Value("computation alone", "us", computing, size),
            Value("blocking, then computing", "us", blocking, size),
            Value("non-blocking, then computing", "us", after, size),
            Value("computing meanwhile", "us", meanwhile, size),
            Value("share hidden", "of communication", hidden, size),
        ]
    if len(values) != 6 * len(sizes):
        raise Failure("not all sizes were measured")
    return values


def overlap(ctx):
    """By frames of two lengths; by ranks that compute on all processors, and by some that leave one
    to the frames and the transport's threads: what it costs who computes is not hidden."""
    cases = []
    for mtu in (1500,) if ctx.brief else (1500, 9000):
        lab = ctx.lab(8, rate="1gbit", mtu=mtu)
        for n in (2,) if ctx.brief else (2, 3, 4):
            for name, text in OVERLAP.items():
                thread = "," in name
                if not (name == THREAD if ctx.quick else thread or mtu == 1500):
                    continue
                cases += [Case(f"{name}{APART if apart else ''}, MTU {mtu}, {n} ranks",
                               lambda text=text, n=n, lab=lab, apart=apart: overlap_values(
                                   ctx, lab, text, n, apart))
                          for apart in ((False, True) if "gamma," in name else (False,))]
    return cases


# ---- GAMMA's definitions ----

def pmix_values(ctx, lab, provider):
    program = lab.lend(ctx.program("gamma-pmix"))
    largest, count = (4096, 20) if ctx.brief else (1 << 20, ctx.count(1000))
    out = lab.mpirun(["-x", "FI_TCP_IFACE=gam0", program, "-p", provider, "-j", "-S", largest,
                      "-n", count])
    row = json_lines(out)[0]
    values = [
        Value("latency", "us", row["latency_us"]),
        Value("asymptotic bandwidth", "MB/s", row["asymptotic_MBps"]),
        Value("half-power point", "bytes", row["half_power_bytes"]),
        Value("transmission throughput", "MB/s", row["transmission_MBps"]),
    ]
    for point in row["sizes"]:
        values.append(Value("half round trip", "us", point["delay_us"], point["bytes"]))
        values.append(Value("one-way stream", "MB/s", point["stream_MBps"], point["bytes"]))
    return values


def figures(ctx):
    lab = ctx.pair()
    names = ("gamma",) if ctx.brief else ("gamma", "tcp")
    return [Case(name, lambda name=name: pmix_values(ctx, lab, name)) for name in names]
