# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What all parts need: the programs of the build, the labs, how long to measure; and the command
lines of the programs in fabtests/benchmarks. Made and ended by the main program or the
demonstration."""

import subprocess
from pathlib import Path

from cluster import Failure, Lab, json_lines
from results import Value

TREE = Path(__file__).resolve().parents[3]
# libfabric's providers by the name that the tables use.
PROVIDERS = {
    "gamma": "gamma",
    "gamma, raw alone": "gamma",
    "gamma over UDP": "gamma",
    "gamma, two NICs": "gamma",
    "gamma, a bond": "gamma",
    "tcp": "tcp",
    "tcp;ofi_rxm": "tcp;ofi_rxm",
    "udp;ofi_rxd": "udp;ofi_rxd",
    "shm": "shm",
}
# gamma's domain by that name, and the environment that chooses its link.
DOMAINS = {"gamma": "gam0", "gamma, raw alone": "gam0", "gamma over UDP": "gam0-udp",
           "gamma, two NICs": "gam0,gam1", "gamma, a bond": "bond0"}
LINKS = {"gamma, raw alone": {"FI_GAMMA_LINK": "packet"},
         "gamma over UDP": {"FI_GAMMA_LINK": "udp"},
         "gamma, two NICs": {"FI_GAMMA_IFACE": "gam0,gam1"}}
KEPT_S = 3600 # longer than anything is kept
STREAM_WINDOW = 16 << 20 # bytes under way in gamma-stream, with messages of 1 MiB


class Labs:
    """The labs of a run, and the pairs of programs that are kept in them. switch: never back to
    back; quick_start: programs start sooner than on real hosts."""

    def __init__(self, build, prefix, switch, quick_start=False):
        self.build, self.prefix, self.switch = Path(build), prefix, switch
        self.quick_start = quick_start
        self.labs = {}
        self.kept = {}  # command lines -> the pair that they have started

    def lab(self, hosts=2, purpose="", **options):
        """The one with these options for this purpose, made when it is first wanted."""
        key = (hosts, purpose, *sorted(options.items()))
        if key not in self.labs:
            self.labs[key] = Lab(TREE / "lab" / "lab", f"{self.prefix}-{len(self.labs)}",
                                 self.build, hosts, quick_start=self.quick_start,
                                 **options)
        return self.labs[key]

    def pair(self, mtu=1500, purpose="", offloads=True):
        """Two hosts, back to back unless the user wants the switch between them; with the kernel's
        offloads, as by default."""
        return self.lab(mtu=mtu, b2b=not self.switch, purpose=purpose, offloads=offloads)

    def ask_kept(self, lab, server, client, ready="ready"):
        """One measurement by the pair of these command lines, started when first wanted."""
        key = (*server, *client)
        if key not in self.kept:
            self.kept[key] = lab.keep(server, client, ready)
        try:
            return self.kept[key].ask()
        except Failure:
            self.kept.pop(key).end()
            raise

    def kept_used(self):
        """Processor time of the pairs that are kept, s."""
        return sum(pair.used() for pair in self.kept.values())

    def end_kept(self):
        for pair in self.kept.values():
            pair.end()
        self.kept.clear()

    def end(self):
        self.end_kept()
        for process in [lab.begin_down() for lab in self.labs.values()]:
            process.wait()
        self.labs.clear()


class Context(Labs):
    """scale: factor on the time and the number of messages of each measurement; quick: fewer cases;
    brief: one case of each kind."""

    def __init__(self, build, prefix, probe, *, scale=1, quick=False, brief=False, switch=False):
        super().__init__(build, prefix, switch, quick_start=brief)
        self.scale, self.probe = scale, probe
        self.quick, self.brief = quick or brief, brief
        self.programs = self.build / "fabtests" / "benchmarks"

    def count(self, number):
        return max(10, int(number * self.scale))

    def seconds(self, number):
        return max(0.02, number * self.scale)

    def program(self, name):
        path = self.programs / name
        if not path.exists():
            raise Failure(f"{name} is not built")
        return path

    def scenario(self, name):
        """What a scenario of the simulator reports of itself, in virtual time."""
        simulator = self.programs.parent / "sim" / "gamma-sim"
        if not simulator.exists():
            raise Failure(f"{simulator} is not built")
        done = subprocess.run([simulator, "--scenario", name], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise Failure(done.stdout + done.stderr)
        return done.stdout

    # ---- gamma-rawpacket ----

    def raw(self, lab, *options):
        program = self.program("gamma-rawpacket")
        server = lab.words(1, [program, "-i", "gam0", "-s"])
        client = lab.words(2, [program, "-i", "gam0", "-d", lab.mac(1), "-j", *options])
        return json_lines(lab.pair(server, client, ready=None))

    def raw_latency(self, lab, sizes):
        rows = self.raw(lab, "-S", ",".join(map(str, sizes)), "-n", self.count(20000),
                        "-w", self.count(2000))
        return [Value("half round trip", "us", row["median_us"], row["size"]) for row in rows]

    def raw_stream(self, lab, megabytes, window=None):
        """One-way, lossless, full frames, gathered from and copied to 1 MiB."""
        frames = max(200, int(megabytes * 1e6 * self.scale / lab.mtu))
        options = ["-m", "stream", "-S", lab.mtu, "-n", frames, "-w", frames // 10, "-M", 1 << 20]
        options += ["-W", window] if window else []
        rate = self.raw(lab, *options)[0]["MB_per_s"]
        return [Value("one-way stream", "MB/s", rate, 1 << 20)]

    def raw_streams(self, lab, sizes, count):
        """One-way, of frames of each size."""
        frames = self.count(count)
        rows = self.raw(lab, "-m", "stream", "-S", ",".join(map(str, sizes)), "-n", frames, "-w",
                        frames // 10, "-M", 1 << 20)
        return [Value("one-way stream", "MB/s", row["MB_per_s"], row["size"]) for row in rows]

    def raw_stream_kept(self, lab, megabytes):
        """As `raw_stream`, by a pair that is kept. It warms up with as many bytes as
        gamma-stream."""
        frames = max(200, int(megabytes * 1e6 * self.scale / lab.mtu))
        program = self.program("gamma-rawpacket")
        server = lab.words(1, [program, "-i", "gam0", "-s", "-t", KEPT_S])
        client = lab.words(2, [program, "-i", "gam0", "-d", lab.mac(1), "-j", "-k", "-m", "stream",
                               "-S", lab.mtu, "-n", frames, "-w", STREAM_WINDOW // lab.mtu,
                               "-M", 1 << 20])
        rate = self.ask_kept(lab, server, client, ready=None)["MB_per_s"]
        return [Value("one-way stream", "MB/s", rate, 1 << 20)]

    # ---- gamma-rawudp ----

    def udp_latency(self, lab, sizes, *options):
        """Of plain UDP sockets, by bytes of a datagram; OPTIONS of both sides."""
        program = self.program("gamma-rawudp")
        rows = json_lines(lab.pair(lab.words(1, [program, "-s", *options]), lab.words(2, [
            program, *options, "-j", "-S", ",".join(map(str, sizes)), "-n", self.count(20000), "-w",
            self.count(2000), lab.address(1)]), ready=None))
        return [Value("half round trip", "us", row["median_us"], row["size"]) for row in rows]

    def train_stream_kept(self, lab, size, megabytes):
        """One-way, in trains of datagrams of that size, by a pair that is kept."""
        count = max(200, int(megabytes * 1e6 * self.scale / size))
        program = self.program("gamma-rawudp")
        server = lab.words(1, [program, "-s", "-t", KEPT_S])
        client = lab.words(2, [program, "-j", "-k", "-m", "stream", "-S", size, "-n", count, "-w",
                               STREAM_WINDOW // size, "-M", 1 << 20, lab.address(1)])
        rate = self.ask_kept(lab, server, client, ready=None)["MB_per_s"]
        return [Value("one-way stream", "MB/s", rate, 1 << 20)]

    # ---- programs over libfabric ----

    def sides(self, lab, name, provider, server, client, same_host=False, extra=None):
        """A server and its client on two hosts, or on one with a processor each."""
        named = ["-p", PROVIDERS[provider]]
        theirs = ["-d", DOMAINS[provider]] if provider in DOMAINS else []
        own = theirs or ["-a", lab.address(1)]
        extra = {**LINKS.get(provider, {}), **(extra or {})}
        program = self.program(name)
        cpus = self.probe.cpus if same_host else (None, None)
        return (lab.words(1, [program, *named, *own, "-s", *server], extra, cpu=cpus[0]),
                lab.words(1 if same_host else 2,
                          [program, *named, *theirs, *client, lab.address(1)], extra,
                          cpu=cpus[-1]))

    def latency(self, lab, provider, sizes, mode="tagged", count=20000, pause=0, **how):
        """gamma-latency's lines, one for each size; PAUSE, us, after each round trip."""
        common = ["-m", mode, *how.pop("options", [])]
        server, client = self.sides(lab, "gamma-latency", provider, common,
                                    [*common, "-j", "-S", ",".join(map(str, sizes)), "-n",
                                     self.count(count), "-w", self.count(count // 10), "-i", pause],
                                    **how)
        return json_lines(lab.pair(server, client))

    def latency_values(self, *arguments, what="half round trip", **how):
        return [Value(what, "us", row["median_us"], row["size"])
                for row in self.latency(*arguments, **how)]

    def streams(self, lab, provider, options, targets=1, **how):
        """gamma-stream's lines, one for each size."""
        ends = ["-e", targets]
        server, client = self.sides(lab, "gamma-stream", provider, ends, [*ends, *options], **how)
        return json_lines(lab.pair(server, client))

    def stream_values(self, lab, provider, sizes=(1 << 20,), seconds=0.4, window=16,
                      what="one-way stream", **how):
        rows = self.streams(lab, provider, ["-S", ",".join(map(str, sizes)), "-w", window, "-t",
                                            self.seconds(seconds)], **how)
        return [Value(what, "MB/s", row["MB_per_s"], row["size"]) for row in rows]

    def stream_kept_row(self, lab, provider, seconds):
        """gamma-stream's line, by a pair that is kept."""
        ends = ["-e", 1]
        server, client = self.sides(lab, "gamma-stream", provider, ends,
                                    [*ends, "-k", "-S", 1 << 20, "-t", self.seconds(seconds)])
        return self.ask_kept(lab, server, client)

    def stream_kept(self, lab, provider, seconds):
        """As `stream_values`, by a pair that is kept."""
        row = self.stream_kept_row(lab, provider, seconds)
        return [Value("one-way stream", "MB/s", row["MB_per_s"], 1 << 20)]
