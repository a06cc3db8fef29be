# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Virtual clusters of the benchmarks, and programs run in them: a server and its client with time
limits, pairs that are kept for several measurements, Open MPI jobs. Owns the labs it made and the
processes it started. Used by the parts and the demonstration."""

import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from machine import process_used

# Opening and closing packet sockets waits for the kernel, on a busy machine most of a minute.
TIMEOUT_S = 150
LEAVE_S = 10 # until a pair that was kept has ended
OFFLOADS = ("tcp-segmentation-offload", "generic-segmentation-offload",
            "generic-receive-offload", "tx-checksumming")


class Failure(Exception):
    """One measurement could not be made; the text says why."""


def last_words(text):
    """The last line of a program's output that is not empty."""
    lines = [line.strip() for line in text.splitlines() if line.strip("- \n")]
    return lines[-1][:160] if lines else "no output"


def end_process(process):
    """Ends it with its group, which is its own."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(5)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


class Lab:
    """One virtual cluster. Hosts are numbered from 1."""

    def __init__(self, tool, name, build, hosts, *, mtu=1500, b2b=False, rate=None,
                 offloads=True, gammad=False, uplink=False, nics=1, one_switch=False,
                 quick_start=False):
        self.tool, self.name, self.build = str(tool), name, build
        self.hosts, self.mtu, self.offloads = hosts, mtu, offloads
        self.shared = Path("/run/gamma-lab", name, "shared")
        self.environment = dict(os.environ, GAMMA_BUILD=str(build),
                                FI_PROVIDER_PATH=str(build / ".libs"))
        options = [str(hosts), "--mtu", str(mtu)]
        options += ["--b2b"] if b2b else []
        for value in [rate] if isinstance(rate, str) else rate or ():
            options += ["--rate", value]
        options += ["--nics", str(nics)] if nics > 1 else []
        options += ["--one-switch"] if one_switch else []
        options += ["--uplink"] if uplink else []
        options += ["--offloads"] if offloads else []
        options += ["--quick-start"] if quick_start else []
        options += ["--gammad"] if gammad else []
        try:
            self.bring_up(options)
        except BaseException: # an interrupt too must leave nothing behind
            self.begin_down().wait()
            raise

    def bring_up(self, options):
        done = subprocess.run([self.tool, "-n", self.name, "up", *options], env=self.environment,
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failure("no virtual cluster: " + last_words(done.stderr + done.stdout))
        self.check_offloads()

    def begin_down(self):
        """The process that takes it down, for the caller to wait for."""
        return subprocess.Popen([self.tool, "-n", self.name, "down"], env=self.environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def check_offloads(self):
        """With them on TCP sends packets of 64 KiB over any MTU: it must be known which it is."""
        wanted = "on" if self.offloads else "off"
        for host in range(1, self.hosts + 1):
            for line in self.output(host, ["ethtool", "-k", "gam0"]).splitlines():
                name, _, value = line.strip().partition(": ")
                if name in OFFLOADS and not value.startswith(wanted):
                    raise Failure(f"{name} of gam0 on host {host} is not {wanted}")

    def words(self, host, command, extra=None, user=None, cpu=None):
        """The command line that runs COMMAND on the host, which has one processor unless CPU."""
        words = ["env", *(f"{name}={value}" for name, value in (extra or {}).items()), *command]
        words = ["taskset", "-c", str(cpu), *words] if cpu is not None else words
        where = ["run", user, str(host)] if user else ["exec", str(host)]
        return [self.tool, "-n", self.name, *where, *(str(word) for word in words)]

    def output(self, host, command, **how):
        return self.complete(self.words(host, command, **how))

    def complete(self, words, limit_s=TIMEOUT_S):
        """Runs it to its end; what it printed."""
        # pylint: disable-next=consider-using-with # end_process needs it in any case
        process = subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        try:
            out, err = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise Failure(f"no end in {limit_s} s") from None
        finally:
            end_process(process)
        if process.returncode:
            raise Failure(last_words(out + err) + f" (exit status {process.returncode})")
        return out

    def start(self, words, ready="ready", stdin=subprocess.DEVNULL):
        """In the background; returns when it has written a line that begins with READY."""
        # pylint: disable=consider-using-with # both outlive this function
        log = tempfile.TemporaryFile("w+", encoding="utf-8")
        process = subprocess.Popen(words, env=self.environment, stdin=stdin,
                                   stdout=subprocess.PIPE, stderr=log, text=True,
                                   start_new_session=True)
        process.log = log
        if ready:
            try:
                self.line_of(process, ready)
            except Failure as failure:
                end_process(process)
                raise Failure(f"server: {failure}") from None
        return process

    def line_of(self, process, begin):
        """The next line it writes that begins so."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            left = deadline - time.monotonic()
            line = ""
            if left > 0 and select.select([process.stdout], [], [], left)[0]:
                line = process.stdout.readline()
            if line.startswith(begin):
                return line
            if not line:
                raise Failure(self.words_of(process))

    @staticmethod
    def words_of(process):
        process.log.seek(0)
        return last_words(process.log.read())

    @contextmanager
    def running(self, words, ready="ready"):
        """As `start`, for as long as the block lasts."""
        process = self.start(words, ready)
        try:
            yield process
        finally:
            end_process(process)
            process.log.close()
            process.stdout.close()

    def pair(self, server, client, ready="ready"):
        """A server's and a client's command line, as `words` makes them: the client's output."""
        with self.running(server, ready) as process:
            try:
                out = self.complete(client)
                process.wait(TIMEOUT_S)
                return out
            except Failure as failure:
                if process.poll():
                    raise Failure(f"{failure}; server: {self.words_of(process)}") from None
                raise
            except subprocess.TimeoutExpired:
                raise Failure("the server does not end") from None

    def lend(self, program):
        """A copy where ordinary users and all hosts can run it."""
        copy = self.shared / Path(program).name
        if not copy.exists():
            shutil.copy(program, copy)
            copy.chmod(0o755)
        return copy

    def compile_mpi(self, source):
        """An MPI program, in the shared folder."""
        program = self.shared / Path(source).stem
        if not program.exists():
            compiler = shutil.which("mpicc.openmpi") or shutil.which("mpicc")
            if not compiler:
                raise Failure("no mpicc: libopenmpi-dev is missing")
            self.complete([compiler, "-O2", "-o", program, source])
            program.chmod(0o755)
        return program

    def mpirun(self, arguments, ranks=2, hosts=None):
        """Open MPI's, one rank a host unless HOSTS says otherwise; its output."""
        hosts = hosts or ",".join(f"node{i:02}:1" for i in range(1, ranks + 1))
        return self.complete([self.tool, "-n", self.name, "mpirun", "-np", str(ranks), "--host",
                              hosts, *(str(word) for word in arguments)])

    @contextmanager
    def impaired(self, host, *options, nic="gam0"):
        """What `lab impair` does to the NIC's port, for as long as the block lasts."""
        words = [self.tool, "-n", self.name, "impair", f"node{host:02}.{nic}"]
        self.complete([*words, *options])
        try:
            yield
        finally:
            self.complete([*words, "off"])

    def keep(self, server, client, ready="ready"):
        """As `pair`, for a client that measures for each line that it reads."""
        pair = KeptPair(self, self.start(server, ready))
        pair.begin(client)
        return pair

    def mac(self, host):
        return f"02:47:41:4d:00:{host:02x}"

    def address(self, host):
        return f"10.78.0.{host}"


class KeptPair:
    """A server and its client, which measures again whenever it is asked. Both are stopped in
    between: they poll, and would take the processors from other measurements."""

    def __init__(self, lab, server):
        self.lab, self.processes = lab, [server]

    def begin(self, words):
        self.processes.append(self.lab.start(words, ready=None, stdin=subprocess.PIPE))

    def signal(self, number):
        for process in self.processes:
            os.killpg(process.pid, number)

    def ask(self):
        """Measures once more: a line of JSON."""
        client = self.processes[-1]
        try:
            self.signal(signal.SIGCONT)
            client.stdin.write("\n")
            client.stdin.flush()
            line = json.loads(self.lab.line_of(client, "{"))
            self.signal(signal.SIGSTOP)
        except OSError:
            raise Failure(self.lab.words_of(client)) from None
        return line

    def used(self):
        """Processor time of both, s."""
        return sum(process_used(process.pid) for process in self.processes)

    def end(self):
        """The client at the end of its input, then the server."""
        try:
            self.signal(signal.SIGCONT)
            self.processes[-1].stdin.close()
            for process in self.processes[::-1]:
                process.wait(LEAVE_S)
        except (OSError, subprocess.TimeoutExpired):
            pass
        for process in self.processes:
            end_process(process)
            process.log.close()
            process.stdout.close()


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]
