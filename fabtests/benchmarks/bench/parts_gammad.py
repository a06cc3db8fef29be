# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The cost of gammad's sockets for ordinary users, beside sockets that root opens; and the cost of
many endpoints on one host for each other."""

from cluster import Failure, end_process, json_lines
from parts_libfabric import RAW_ALONE
from results import Case, Value

USER = "labuser"
CROWD = 63        # endpoints on each host, beside the measured pair
INTERVAL_MS = 10  # between two of their messages, all together
SIZES = [8, 1024]
STREAMS = [8, 1 << 20]


class AsUser:
    """The programs as an ordinary user, in a lab where gammad runs; by raw frames alone, which is
    what gammad opens."""

    def __init__(self, ctx, lab):
        self.ctx, self.lab = ctx, lab
        self.extra = {"FI_PROVIDER_PATH": lab.shared / "gammad" / "lib",
                      "FI_GAMMA_LINK": "packet"}

    def words(self, host, program, options):
        program = self.lab.lend(self.ctx.program(program))
        return self.lab.words(host, [program, "-p", "gamma", "-d", "gam0", *options], self.extra,
                              user=USER)

    def rows(self, program, server, client):
        return json_lines(self.lab.pair(self.words(1, program, ["-s", *server]),
                                        self.words(2, program, [*client, self.lab.address(1)])))

    def latency(self):
        rows = self.rows("gamma-latency", [],
                         ["-j", "-S", ",".join(map(str, SIZES)), "-n", self.ctx.count(20000), "-w",
                          self.ctx.count(2000)])
        return [Value("half round trip", "us", row["median_us"], row["size"]) for row in rows]

    def streams(self):
        rows = self.rows("gamma-stream", [], ["-S", ",".join(map(str, STREAMS)), "-t",
                                              self.ctx.seconds(0.4)])
        return [Value("one-way stream", "MB/s", row["MB_per_s"], row["size"]) for row in rows]

    def latency_in_crowd(self, interval_ms):
        crowd = []
        try:
            crowd.append(self.lab.start(self.words(1, "gamma-crowd", ["-s", "-e", CROWD])))
            crowd.append(self.lab.start(self.words(2, "gamma-crowd", [
                "-e", CROWD, "-i", interval_ms, self.lab.address(1)])))
            return self.latency()
        finally:
            for process in crowd:
                end_process(process)
                process.log.close()


def gammad(ctx):
    if not (ctx.build / "gammad" / "gammad").exists():
        raise Failure("gammad is not built")
    lab = ctx.pair()
    user = AsUser(ctx, ctx.lab(mtu=1500, b2b=not ctx.switch, gammad=True))

    if ctx.brief:
        return [Case("gammad's socket", user.latency)]
    cases = [
        Case("an own socket", lambda: [*ctx.latency_values(lab, RAW_ALONE, SIZES),
                                       *ctx.stream_values(lab, RAW_ALONE, STREAMS)]),
        Case("gammad's socket", lambda: [*user.latency(), *user.streams()]),
    ]
    for name, interval_ms in (("idle", 0), ("lightly used", INTERVAL_MS)):
        cases.append(Case(f"gammad's socket, {CROWD} others {name}",
                          lambda ms=interval_ms: user.latency_in_crowd(ms)))
    return cases
