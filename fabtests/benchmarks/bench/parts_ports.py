# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Active ports beside tagged messages, posted receives, and another library's active messages; and
Open MPI with and without them."""

import json
import shutil

from cluster import Failure, json_lines
from interleave import woven
from parts_libfabric import BASELINE_BYTES
from parts_mpi import TRANSPORTS, ping_pong
from results import Case, Value

TAGGED, PORTS = "gamma, tagged", "gamma, ports"
SET = "gamma, tagged, a port set"
HANDLED, RECEIVED = "messages handled", "messages received"
UCX = "UCX active messages over tcp"
RATE_SIZE, COUNTED = 1024, 10000
COPIED = "bytes copied on arrival"
MPI_CASES = ((1500, (0, 1024)), (9000, (4096,)))


def mpi_name(with_ports, mtu):
    return f"MPI, {'with' if with_ports else 'without'} ports, MTU {mtu}"


def ports_line(ctx, lab, mode, size, count, extra=None):
    server, client = ctx.sides(lab, "gamma-ports", "gamma", [],
                               ["-m", mode, "-S", size, "-n", count], extra=extra)
    return json_lines(lab.pair(server, client))[0]


def rate_values(ctx, lab, mode):
    row = ports_line(ctx, lab, mode, RATE_SIZE, ctx.count(60000))
    return [Value("messages", "million/s", row["per_s"] / 1e6, RATE_SIZE)]


def copied_values(ctx, lab):
    """Of the endpoint that took them, which took nothing else but the greeting."""
    report = ctx.build / f"{ctx.prefix}.ports"
    try:
        ports_line(ctx, lab, "handled", RATE_SIZE, COUNTED, {"FI_GAMMA_STATS": str(report)})
        row = max((json.loads(line) for line in report.read_text("utf-8").splitlines()),
                  key=lambda line: line["ports_in"])
    finally:
        report.unlink(missing_ok=True)
    return [Value(COPIED, "bytes", row["bytes_copied_in"], RATE_SIZE),
            Value("handled where they arrived", "messages", row["ports_in_place"], RATE_SIZE)]


def ucx_values(ctx, lab):
    """The median, as ours."""
    if not shutil.which("ucx_perftest"):
        raise Failure("ucx_perftest is not installed (Debian: ucx-utils)")
    extra = {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "gam0", "UCX_WARN_UNUSED_ENV_VARS": "n"}
    command = ["stdbuf", "-oL", "ucx_perftest", "-t", "ucp_am_lat", "-s", 8,
               "-n", ctx.count(10000), "-w", ctx.count(1000)]
    out = lab.pair(lab.words(1, command, extra),
                   lab.words(2, [*command, "-f", "-v", lab.address(1)], extra), ready="Waiting")
    lines = [line.split(",") for line in out.splitlines() if line[:1].isdigit()]
    if not lines:
        raise Failure("ucx_perftest printed no figures")
    return [Value("half round trip", "us", float(lines[-1][1]), 8)]


def mpi_case(ctx, with_ports, mtu, sizes):
    words = f"{TRANSPORTS['btl gamma']} --mca btl_gamma_ports {int(with_ports)}"
    return Case(mpi_name(with_ports, mtu), lambda: ping_pong(ctx.pair(mtu), words, sizes))


def ports(ctx):
    lab = ctx.pair()

    def latency():
        row = ports_line(ctx, lab, "latency", 8, ctx.count(20000))
        return [Value("half round trip", "us", row["median_us"], 8)]

    def tagged(name, *options):
        return Case(name, lambda: ctx.latency_values(lab, "gamma", [8], options=list(options)))

    often = [
        Case("raw packets", lambda: ctx.raw_latency(lab, [BASELINE_BYTES])),
        tagged(TAGGED), Case(PORTS, latency), tagged(SET, "-H"),
        Case(HANDLED, lambda: rate_values(ctx, lab, "handled")),
        Case(RECEIVED, lambda: rate_values(ctx, lab, "received")),
    ]
    cases = [Case("in place", lambda: copied_values(ctx, lab))]
    if not ctx.brief:
        cases.append(Case(UCX, lambda: ucx_values(ctx, lab)))
        cases += [mpi_case(ctx, with_ports, mtu, sizes) for mtu, sizes in MPI_CASES
                  for with_ports in (True, False)]
    return woven(often, cases, 2)
