#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Hours of mixed traffic on four virtual hosts, with harm drawn from a seed; ./quickstart soak.

soak.py --build FOLDER --lab NAME [--hours H | --minutes M | --seconds S] [--seed N]

gamma-soak servers and clients exchange messages over raw sockets, between processes of one host,
and through gammad; an MPI job runs in a loop. All contents are compared. Meanwhile frames are lost,
processes and gammad are killed and started again, cables are pulled, and switch ports get a smaller
MTU. What is never killed must not grow. A line a minute; status 0 only if all was clean."""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
LAB = os.path.join(HERE, "..", "..", "lab", "lab")
HOSTS = 4
MTU = 9000
SMALL_MTU = 1500
PEER_TIMEOUT = 10  # s: of gamma-soak; the harm below ends sooner
LOST_BY_KILL = 3 * PEER_TIMEOUT + 30  # s: until when a killed peer may be reported
EVENT_EVERY = 6    # s, on average
RENEW = 20         # s: clients that may be killed take a new endpoint as often
JUDGED = 300       # s behind the warm-up: shorter, memory is not judged
GROWTH = 0.01      # of the memory that the warm-up left
FAULTS_MAX = 20    # then there is nothing more to learn
MPI_LIMIT = 240    # s: a job of seconds that takes as long stands still

# Servers: way, host, port, whether it is killed now and then. Clients: way, host, server's index.
SERVERS = (("raw", 1, 7000, False), ("raw", 2, 7001, True), ("raw", 3, 7002, False),
           ("raw", 4, 7003, True), ("gammad", 4, 7004, False), ("gammad", 1, 7005, True))
CLIENTS = (("raw", 2, 0, False), ("raw", 3, 1, True), ("raw", 3, 2, False), ("raw", 4, 3, True),
           ("gammad", 1, 4, False), ("gammad", 3, 5, True), ("raw", 4, 0, True),
           ("gammad", 2, 4, True))


def node(host):
    return f"node{host:02d}"


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Watched:
    """Memory (KiB) and descriptors of a process that nobody kills: in the warm-up, and behind."""

    def __init__(self, name, pid):
        self.name, self.pid = name, pid
        self.warm = [0, 0]
        self.most = [0, 0]
        self.least_fds = None

    def sample(self, warming):
        try:
            with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
                memory = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
            fds = len(os.listdir(f"/proc/{self.pid}/fd"))
        except (OSError, StopIteration):
            return
        into = self.warm if warming else self.most
        into[0], into[1] = max(into[0], memory), max(into[1], fds)
        if not warming:
            self.least_fds = min(fds, self.least_fds or fds)

    def growth(self):
        return self.most[0] / self.warm[0] - 1 if self.warm[0] and self.most[0] else 0.0

    def leaks_descriptors(self):
        return self.least_fds is not None and self.least_fds > self.warm[1]


# pylint: disable=consider-using-with # what is opened here stays open beyond the call
class Program:
    """One gamma-soak, started again when it was killed."""

    def __init__(self, soak, name, way, host, mortal, arguments):
        self.soak, self.name, self.way, self.host = soak, name, way, host
        self.mortal, self.arguments = mortal, arguments
        self.path = os.path.join(soak.work, name + ".out")
        self.total = [0, 0, 0]   # of processes that have ended
        self.present = [0, 0, 0] # of this one
        self.killed_at = -1e9
        self.pid = self.process = self.output = None
        self.rest = ""
        self.start()

    def start(self):
        self.total = [a + b for a, b in zip(self.total, self.present)]
        self.present = [0, 0, 0]
        right = ["--raw"] if self.way == "raw" else []
        with open(self.path, "w", encoding="utf-8") as output:
            self.process = subprocess.Popen(
                self.soak.lab("run", *right, "labuser", node(self.host), self.soak.program,
                              *self.arguments),
                stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env=self.soak.environment, start_new_session=True)
        self.pid = self.process.pid # lab run becomes the program
        if self.output:
            self.output.close()
        self.output = open(self.path, encoding="utf-8", errors="replace")
        self.rest = ""

    def kill(self):
        self.killed_at = time.monotonic()
        self.process.kill()
        self.process.wait()

    def new_lines(self):
        *lines, self.rest = (self.rest + self.output.read()).split("\n")
        return lines

    def read(self):
        for line in self.new_lines():
            words = line.split()
            if words[:1] == ["total"] and len(words) == 4:
                self.present = [int(word) for word in words[1:]]
            elif words[:1] == ["lost"]:
                self.soak.peer_lost(self, int(words[1]), " ".join(words[2:]))
            elif words not in ([], ["ready"], ["end"]):
                self.soak.note(f"{self.name}: {line}")

    def counts(self):
        return [a + b for a, b in zip(self.total, self.present)]


class Mpi:
    """The job that runs again and again, its output of the last run."""

    def __init__(self, soak, program):
        self.soak, self.program = soak, program
        self.path = os.path.join(soak.work, "mpi.out")
        self.runs = self.excused = 0
        self.process = None
        self.begun = 0.0

    def start(self):
        self.begun = time.monotonic()
        with open(self.path, "w", encoding="utf-8") as output:
            self.process = subprocess.Popen(
                self.soak.lab("mpirun", "-np", str(HOSTS), "--mca", "btl", "gamma,self",
                              self.program),
                stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env=self.soak.environment, start_new_session=True)

    def ended_well(self, status):
        with open(self.path, encoding="utf-8", errors="replace") as output:
            text = output.read()
        if status == 0 and text.count("all arrived") == HOSTS:
            return True
        # A job that begins while a cable is out, or without gammad, cannot open its endpoints.
        if self.soak.refused >= self.begun - 1 and "The BTL gamma is not used" in text:
            self.excused += 1
            return True
        self.soak.fault(f"MPI job {self.runs} ended with status {status}: {text[:1500]}")
        return False

    def look(self):
        status = self.process.poll()
        if status is None and time.monotonic() < self.begun + MPI_LIMIT:
            return
        if status is None:
            self.soak.fault(f"MPI job {self.runs} has not ended in {MPI_LIMIT} s")
            self.end()
        else:
            self.runs += self.ended_well(status)
        self.start()

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


# pylint: disable=too-many-instance-attributes,too-many-public-methods # one state, many harms
class Soak:
    """A lab, what runs in it, and what became of it."""

    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.state = f"/run/gamma-lab/{options.lab}"
        self.work = os.path.join(options.build, "soak." + options.lab)
        self.program = os.path.join(self.state, "shared", "gamma-soak")
        self.stats = os.path.join(self.state, "shared", "stats")
        # A host whose cable is out must not fall back to the network that manages the lab.
        self.environment = dict(os.environ, FI_GAMMA_PEER_TIMEOUT=str(PEER_TIMEOUT),
                                FI_GAMMA_IFACE="gam0",
                                FI_GAMMA_STATS=self.stats, GAMMA_BUILD=options.build)
        self.servers, self.clients, self.watched, self.faults = [], [], [], []
        self.mpi = None
        self.recent = []         # the latest events
        self.ending = False      # from here on peers go
        self.expected = self.unexpected = self.events = 0
        self.undo = []           # (when, what ends a harm)
        self.refused = -1e9      # when a host could last not open endpoints
        self.again = self.malformed = 0
        self.stats_read = 0
        self.begun = time.monotonic()

    def lab(self, *arguments):
        return [LAB, "-n", self.options.lab, *arguments]

    def run_lab(self, *arguments):
        done = subprocess.run(self.lab(*arguments), stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False,
                              env=self.environment)
        if done.returncode:
            self.fault(f"lab {' '.join(arguments)}: {done.stdout.strip()}")

    def note(self, text):
        print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)

    def fault(self, text):
        self.faults.append(text.split("\n", maxsplit=1)[0])
        self.note(f"FAULT: {text}\n    events before: {', '.join(self.recent) or 'none'}")

    # ---- begin and end ----

    def up(self):
        os.makedirs(self.work, exist_ok=True)
        self.run_lab("up", str(HOSTS), "--mtu", str(MTU), "--gammad")
        if self.faults:
            return False
        shutil.copy(os.path.join(self.options.build, "fabtests/functional/gamma-soak"),
                    self.program)
        os.chmod(self.program, 0o755)
        with open(self.stats, "w", encoding="ascii"):
            os.chmod(self.stats, 0o666)
        return True

    def start_all(self):
        seed = str(self.options.seed)
        for i, (way, host, port, mortal) in enumerate(SERVERS):
            self.servers.append(Program(self, f"server{i}", way, host, mortal,
                                        ["serve", str(port), seed]))
        for i, (way, host, index, mortal) in enumerate(CLIENTS):
            server = SERVERS[index]
            renew = [str(RENEW)] if mortal else []
            self.clients.append(Program(self, f"client{i}", way, host, mortal,
                                        ["drive", node(server[1]), str(server[2]), str(i), seed,
                                         *renew]))
        for program in self.servers + self.clients:
            if not program.mortal:
                self.watched.append(Watched(program.name, program.pid))
        self.watched.append(Watched("gammad of node01", self.gammad_pid(1)))
        self.start_mpi()

    def start_mpi(self):
        mpicc = shutil.which("mpicc")
        program = os.path.join(self.state, "shared", "mpi_job")
        component = os.path.join(self.options.build, ".libs/mca_btl_gamma.so")
        if not mpicc or not os.path.exists(component):
            self.note("no MPI job: mpicc or the component for Open MPI is missing")
            return
        subprocess.run([mpicc, "-O1", "-o", program, os.path.join(HERE, "mpi_job.c")], check=True)
        os.chmod(program, 0o755)
        self.mpi = Mpi(self, program)
        self.mpi.start()

    def end_all(self):
        self.ending = True
        for _, end in self.undo:
            end()
        if self.mpi:
            self.mpi.end()
        for programs in (self.clients, self.servers):
            for program in programs:
                program.process.terminate()
            for program in programs:
                self.end_program(program)
        self.read_stats()

    def end_program(self, program):
        try:
            status = program.process.wait(60)
        except subprocess.TimeoutExpired:
            self.fault(f"{program.name} does not end")
            program.process.kill()
            status = program.process.wait()
        program.read()
        if status:
            self.fault(f"{program.name} ended with status {status}")
        program.output.close()

    def down(self):
        """Also in the midst of it: what runs in the lab ends with it."""
        if self.mpi:
            self.mpi.end()
        subprocess.run(self.lab("down"), stdout=subprocess.DEVNULL, check=False)
        for program in self.servers + self.clients:
            program.process.wait()
            program.output.close()
        shutil.rmtree(self.work, ignore_errors=True)

    # ---- what is reported ----

    def was_killed(self, programs):
        return any(time.monotonic() - p.killed_at < LOST_BY_KILL for p in programs)

    def peer_lost(self, program, slot, why):
        """A client may lose a server that was killed, a server a client."""
        if program in self.clients:
            others = [self.servers[CLIENTS[self.clients.index(program)][2]]]
        else:
            mine = self.servers.index(program)
            others = [client for i, client in enumerate(self.clients)
                      if CLIENTS[i][2] == mine and slot in (i, 64)]
        if self.ending:
            return
        if self.was_killed(others):
            self.expected += 1
            return
        self.unexpected += 1
        self.note(f"{program.name} has lost slot {slot} unexpectedly: {why}; events before: "
                  f"{', '.join(self.recent) or 'none'}")

    def read_stats(self):
        """Of the endpoints that have closed."""
        with open(self.stats, encoding="utf-8") as stats:
            stats.seek(self.stats_read)
            for line in iter(stats.readline, ""):
                if not line.endswith("\n"):
                    break
                self.stats_read += len(line.encode())
                counted = json.loads(line)
                self.again += counted["retransmissions"]
                self.malformed += counted["malformed"] + counted["corrupt"]

    def totals(self):
        counts = [program.counts() for program in self.servers + self.clients]
        return [sum(column) for column in zip(*counts)]

    def line(self):
        self.read_stats()
        messages, verified, bad = self.totals()
        most = max(self.watched, key=Watched.growth)
        fds = max(watched.most[1] or watched.warm[1] for watched in self.watched)
        self.note(
            f"{int(time.monotonic() - self.begun) // 60} min: {messages} messages, "
            f"{verified} bytes verified, {bad} bad, {self.again} sent again, peers lost "
            f"{self.expected} as expected {self.unexpected} unexpectedly, memory "
            f"{100 * most.growth():+.2f} % ({most.name}), {fds} descriptors at most, "
            f"{self.events} events, {self.mpi.runs if self.mpi else 0} MPI jobs")

    def verdict(self, lasted, warm_up):
        _, _, bad = self.totals()
        if bad:
            self.faults.append(f"{bad} messages are damaged")
        if self.malformed:
            self.faults.append(f"{self.malformed} frames are malformed")
        if self.unexpected:
            self.faults.append(f"{self.unexpected} peers were lost that nobody had killed")
        if lasted - warm_up >= JUDGED:
            self.faults += [f"memory of {w.name} has grown from {w.warm[0]} to {w.most[0]} KiB"
                            for w in self.watched if w.growth() > GROWTH]
            self.faults += [f"descriptors of {w.name} have grown from {w.warm[1]} to "
                            f"{w.least_fds} and more" for w in self.watched
                            if w.leaks_descriptors()]
        self.faults += [f"{p.name} has verified nothing" for p in self.servers + self.clients
                        if not p.counts()[0]]
        if self.mpi and not self.mpi.runs:
            self.faults.append("no MPI job has ended well")
        for watched in self.watched:
            print(f"{watched.name}: {watched.warm[0]} KiB and {watched.warm[1]} descriptors after "
                  f"the warm-up, at most {watched.most[0]} and {watched.most[1]} later")
        for fault in self.faults:
            print("NOT OK: " + fault)
        print(f"verdict: {'not clean' if self.faults else 'clean'} after {int(lasted)} s, seed "
              f"{self.options.seed}")
        return not self.faults

    # ---- harm ----

    def event(self, text):
        self.events += 1
        self.recent = self.recent[-3:] + [f"{time.strftime('%H:%M:%S')} {text}"]

    def until(self, seconds, end):
        self.undo.append((time.monotonic() + seconds, end))

    def lose(self):
        host = node(self.random.randint(1, HOSTS))
        share = self.random.choice(("0.1", "1", "5"))
        burst = self.random.choice((["--burst", "20"], []))
        self.event(f"{share} % lost at {host}")
        self.run_lab("impair", host, "--loss", share, *burst)
        self.until(self.random.uniform(2, 10), lambda: self.run_lab("impair", host, "off"))

    def pull(self):
        host = node(self.random.randint(1, HOSTS))
        self.event(f"cable of {host} pulled")
        self.run_lab("cable", host, "pull")
        self.refused = time.monotonic() + 3 # it is plugged in before
        self.until(self.random.uniform(0.2, 2), lambda: self.plug(host))

    def plug(self, host):
        self.run_lab("cable", host, "plug")
        self.refused = time.monotonic()

    def set_mtu(self, host, mtu):
        subprocess.run(["ip", "-n", f"gl-{self.options.lab}-sw", "link", "set", "dev", f"d{host}",
                        "mtu", str(mtu)], check=True)

    def dip(self):
        host = self.random.randint(1, HOSTS)
        self.event(f"MTU {SMALL_MTU} at {node(host)}")
        self.set_mtu(host, SMALL_MTU)
        self.until(self.random.uniform(1, 5), lambda: self.set_mtu(host, MTU))

    def kill_one(self, programs):
        program = self.random.choice([program for program in programs if program.mortal])
        self.event(f"{program.name} killed")
        program.read()
        program.kill()
        program.read()
        program.start()

    def gammad_pid(self, host):
        with open(f"{self.state}/gammad/{node(host)}.pid", encoding="ascii") as file:
            return int(file.read())

    def restart_gammad(self):
        """Not that of node01, whose memory is watched."""
        host = self.random.randint(2, HOSTS)
        pid = self.gammad_pid(host)
        self.event(f"gammad of {node(host)} restarted")
        os.kill(pid, self.random.choice((signal.SIGKILL, signal.SIGTERM)))
        while is_running(pid):
            time.sleep(0.02)
        self.run_lab("exec", node(host), LAB, "-n", self.options.lab, "__gammad_host", str(host))
        self.refused = time.monotonic()

    def harm(self):
        self.random.choice((self.lose, self.pull, self.dip, self.restart_gammad,
                            lambda: self.kill_one(self.clients),
                            lambda: self.kill_one(self.servers)))()

    def end_harm(self):
        due = [entry for entry in self.undo if entry[0] <= time.monotonic()]
        self.undo = [entry for entry in self.undo if entry not in due]
        for _, end in due:
            end()

    # ---- the time in between ----

    def look(self):
        for program in self.servers + self.clients:
            program.read()
            status = program.process.poll()
            if status is None:
                continue
            # While gammad is away, or the server is not there yet, nothing can be opened.
            if not program.mortal or status != 3:
                self.fault(f"{program.name} ended with status {status}")
            program.start()
        if self.mpi:
            self.mpi.look()

    def run(self, lasts):
        warm_up = min(max(lasts / 10, 60), 600)
        next_line = time.monotonic() + 60
        next_harm = time.monotonic() + 5
        self.begun = time.monotonic()
        while time.monotonic() < self.begun + lasts and len(self.faults) < FAULTS_MAX:
            time.sleep(0.25)
            self.look()
            self.end_harm()
            for watched in self.watched:
                watched.sample(time.monotonic() < self.begun + warm_up)
            if time.monotonic() > next_harm:
                next_harm = time.monotonic() + self.random.uniform(0, 2 * EVENT_EVERY)
                self.harm()
            if time.monotonic() > next_line:
                next_line += 60
                self.line()
        return warm_up


def duration_of(text):
    """A time for argparse, in any unit."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value <= 3600000:
        raise argparse.ArgumentTypeError(f"'{text}' is no time above 0")
    return value


def parse_arguments():
    parser = argparse.ArgumentParser(prog="soak", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--lab", required=True)
    duration = parser.add_mutually_exclusive_group()
    duration.add_argument("--hours", type=duration_of, metavar="H")
    duration.add_argument("--minutes", type=duration_of, metavar="M")
    duration.add_argument("--seconds", type=duration_of, metavar="S")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--check", action="store_true", help="only whether this can be understood")
    options = parser.parse_args()
    options.build = os.path.realpath(options.build)
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 32)
    options.lasts = ((options.hours or 0) * 3600 + (options.minutes or 0) * 60 +
                     (options.seconds or 0)) or 600
    return options


def stop(*_):
    raise KeyboardInterrupt


def main():
    options = parse_arguments()
    if options.check:
        return 0
    signal.signal(signal.SIGTERM, stop)
    os.nice(5)
    soak = Soak(options)
    soak.note(f"seed {options.seed}, {options.lasts:.0f} s")
    try:
        if not soak.up():
            return 1
        soak.start_all()
        warm_up = soak.run(options.lasts)
        soak.end_all()
        soak.line()
        return 0 if soak.verdict(time.monotonic() - soak.begun, warm_up) else 1
    except KeyboardInterrupt:
        print("soak: interrupted", file=sys.stderr)
        return 130
    finally:
        soak.down()


sys.exit(main())
