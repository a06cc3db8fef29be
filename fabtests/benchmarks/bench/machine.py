# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The machine's speed: a virtual machine is faster or slower from second to second. A probe, a
fixed piece of work, precedes and follows each measurement. A run looks for a mode to measure in and
waits for it, for some time, before each measurement. And how much processor time other programs
took meanwhile."""

import json
import os
import platform
import subprocess
import time

# A probe is of the same mode if it took this much more or less. Core-to-core latency is 30 to 60 ns
# between close processors, with no effect on other figures, and 200 to 270 ns between distant
# ones, which slows all down.
BOUNCE_FACTOR = 2
WORK_FACTOR = 1.25
# The mode to measure in is the fastest that at least this share of the first probes saw.
WANTED_SHARE = 0.15
# Of one processor: what other programs may take during a measurement.
OTHERS_SHARE = 0.25


class Probe:
    """Runs gamma-probe and remembers its figures."""

    def __init__(self, program):
        self.program = str(program)
        self.cpus = sorted(os.sched_getaffinity(0))[:2]
        self.seen = []  # of all probes: bounce in ns, work in us
        self.wanted = None  # the probe whose mode is the one to measure in

    def take(self):
        """The number of the probe just made. One processor alone is not probed."""
        if self.cpus[0] == self.cpus[-1]:
            self.seen.append((0, 0))
            return len(self.seen) - 1
        out = subprocess.run([self.program, str(self.cpus[0]), str(self.cpus[-1])],
                             capture_output=True, text=True, check=True).stdout
        found = json.loads(out)
        self.seen.append((found["bounce_ns"], found["work_us"]))
        return len(self.seen) - 1

    def choose(self, seconds, pause=0.1):
        """Probes for so long and takes the fastest mode that is no exception as the wanted one."""
        first, end = len(self.seen), time.monotonic() + seconds
        while len(self.seen) == first or time.monotonic() < end:
            self.take()
            time.sleep(pause)
        seen = self.seen[first:]
        often = [probe for probe in seen
                 if sum(alike(probe, other) for other in seen) >= WANTED_SHARE * len(seen)]
        fastest = min(often or seen)
        self.wanted = most_alike([probe for probe in seen if alike(probe, fastest)])

    def wait(self, seconds, pause=0.1):
        """The number of a probe in the wanted mode, or of the last one made after so long."""
        end = time.monotonic() + seconds
        while True:
            number = self.take()
            if self.wanted is None or self.fits(number, self.wanted) or time.monotonic() >= end:
                return number
            time.sleep(pause)

    def usual(self, begin=0):
        """Of the probes from this number on, the one that most others resemble."""
        return most_alike(self.seen[begin:])

    def fits(self, number, usual):
        return alike(self.seen[number], usual)

    def summary(self, mode, begin=0):
        """What the probes from the first one on saw of this mode."""
        seen = self.seen[begin:]
        return {
            "probes": len(seen),
            "of_the_mode": sum(alike(probe, mode) for probe in seen),
            "bounce_ns": mode[0],
            "work_us": mode[1],
            "bounce_ns_range": [min(p[0] for p in seen), max(p[0] for p in seen)],
        }


class Others:
    """Processor time of programs that are not ours, from now on. KEPT returns what processes of
    ours that go on running have used."""

    def __init__(self, kept):
        self.kept = kept
        self.begin, self.all, self.own = time.monotonic(), all_used(), own_used() + kept()

    def share(self):
        """Of one processor."""
        used = all_used() - self.all - (own_used() + self.kept() - self.own)
        return used / max(time.monotonic() - self.begin, 0.001)


def all_used():
    """Of all processors, s: in programs and in the kernel for them."""
    with open("/proc/stat", encoding="utf-8") as file:
        user, nice, system = (int(word) for word in file.readline().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def own_used():
    """Of this process and of those it has waited for, s."""
    return sum(os.times()[:4])


def process_used(pid):
    """Of a running process, s."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        user, system = (int(word) for word in file.read().rpartition(")")[2].split()[11:13])
    return (user + system) / os.sysconf("SC_CLK_TCK")


def most_alike(probes):
    return max(probes, key=lambda probe: sum(alike(probe, other) for other in probes))


def alike(one, other):
    return (max(one[0], other[0]) <= BOUNCE_FACTOR * min(one[0], other[0]) and
            max(one[1], other[1]) <= WORK_FACTOR * min(one[1], other[1]))


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def describe():
    return {
        "processor": processor(),
        "processors": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "load": os.getloadavg()[0],
    }
