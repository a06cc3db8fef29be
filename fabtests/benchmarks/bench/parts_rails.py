# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Endpoints with two NICs beside those with one: streams at 1 and 2 Gbit/s, short messages, round
trips that differ, and a cable that is pulled in a stream. Where the kernel has bonds, one in
active-backup mode takes the same pull."""

import json
import subprocess
import tempfile
import time

from cluster import Failure, last_words
from results import Case, Value

ONE, TWO, BOND = "gamma", "gamma, two NICs", "gamma, a bond"
STREAM, HALF = "one-way stream", "half round trip"
SENT_AGAIN, SILENCE, BACK = "frames sent again", "silence", "until the NIC is used again"
SLOWER = "500us"     # more delay one way than a round trip of the lab, ten times and more
STREAM_S = 0.6
PULLED_S = 4         # a stream in which a cable is pulled and put back
PIECE = 65536        # bytes of its messages: one leaves every 0.5 ms at 1 Gbit/s
# So many are under way. Long messages take turns, so that all of these end at about one time: with
# 16, as by default, that alone is a silence of 5 to 9 ms.
PIECES = 4
USED_FRAMES = 200    # a NIC that carries as many frames within BACK_MOST_S is used, not probed
BACK_MOST_S = 5
MIIMON_MS = 100


def two_nics(ctx, rate=None, **options):
    return ctx.lab(nics=2, rate=rate, **options)


def streams(ctx):
    equal = two_nics(ctx, "1gbit")
    cases = [("two NICs of 1 Gbit/s", equal, TWO), ("one NIC of 1 Gbit/s", equal, ONE)]
    if not ctx.brief:
        cases += [("NICs of 1 and 2 Gbit/s", two_nics(ctx, ("1gbit", "gam1=2gbit")), TWO),
                  ("one NIC of 2 Gbit/s", ctx.lab(rate="2gbit"), ONE)]
    return [Case(name, lambda lab=lab, provider=provider: ctx.stream_values(
        lab, provider, seconds=STREAM_S)) for name, lab, provider in cases]


def short_messages(ctx):
    lab = two_nics(ctx)
    return [Case(f"{name}, 8 B", lambda provider=provider: ctx.latency_values(lab, provider, [8]))
            for name, provider in (("two NICs", TWO), ("one NIC", ONE))]


def sent_again(ctx):
    """What both sides repeat in a stream whose NICs differ in delay."""
    lab = two_nics(ctx, "1gbit")
    with tempfile.NamedTemporaryFile(dir=lab.shared) as counters, \
            lab.impaired(2, "--delay", SLOWER, nic="gam1"):
        values = ctx.stream_values(lab, TWO, seconds=STREAM_S,
                                   extra={"FI_GAMMA_STATS": counters.name})
        rows = [json.loads(line) for line in counters]
    if len(rows) != 2:
        raise Failure("the endpoints did not write their counters")
    again = sum(row["retransmissions"] + row["spurious"] for row in rows)
    return [*values, Value(SENT_AGAIN, "frames", again)]


def frames_by(lab, nic):
    """That the sender's NIC has sent."""
    link = lab.complete(["ip", "-n", f"gl-{lab.name}-n02", "-s", "-j", "link", "show", "dev", nic])
    return json.loads(link)[0]["stats64"]["tx"]["packets"]


def until_used(lab, nic):
    """Seconds until the NIC carries more than probes."""
    begin, frames = time.monotonic(), frames_by(lab, nic)
    while time.monotonic() - begin < BACK_MOST_S:
        if frames_by(lab, nic) - frames > USED_FRAMES:
            return time.monotonic() - begin
    raise Failure(f"{nic} is not used again in {BACK_MOST_S} s")


def pull_in_stream(ctx, lab, provider, nic):
    """The receiver's cable, whose far end keeps its carrier: the sender has no hint. Its longest
    time between two completions, and the time until the NIC is used after the cable is back."""
    server, client = ctx.sides(lab, "gamma-stream", provider, [],
                               ["-S", PIECE, "-w", PIECES, "-t", PULLED_S, "-g"])
    with lab.running(server), lab.running(client, ready=None) as sender:
        until_used(lab, nic)
        time.sleep(0.3)
        lab.complete([lab.tool, "-n", lab.name, "cable", f"node01.{nic}", "pull"])
        time.sleep(0.5)
        lab.complete([lab.tool, "-n", lab.name, "cable", f"node01.{nic}", "plug"])
        back = until_used(lab, nic) if provider == TWO else 0
        row = json.loads(lab.line_of(sender, "{"))
    return row["longest_gap_us"] / 1000, back


def pulled(ctx):
    silence, back = pull_in_stream(ctx, two_nics(ctx, "1gbit"), TWO, "gam1")
    return [Value(SILENCE, "ms", silence, PIECE), Value(BACK, "s", back)]


def undisturbed(ctx):
    """What the machine itself keeps a stream waiting."""
    row = ctx.streams(two_nics(ctx, "1gbit"), TWO, ["-S", PIECE, "-w", PIECES, "-t", 1, "-g"])[0]
    return [Value(SILENCE, "ms", row["longest_gap_us"] / 1000, PIECE)]


def has_bonds():
    made = subprocess.run(["ip", "link", "add", "gl-bond", "type", "bond"], capture_output=True,
                          text=True, check=False)
    if made.returncode:
        return last_words(made.stderr)
    subprocess.run(["ip", "link", "del", "gl-bond"], check=False)
    return None


def make_bond(lab):
    """bond0 of gam0 and gam1 on both hosts, with gam0's address."""
    for host in (1, 2):
        namespace = f"gl-{lab.name}-n{host:02}"
        for words in (["link", "add", "bond0", "type", "bond", "mode", "active-backup", "miimon",
                       str(MIIMON_MS)],
                      *(["link", "set", "dev", nic, "down"] for nic in ("gam0", "gam1")),
                      *(["link", "set", "dev", nic, "master", "bond0"] for nic in ("gam0", "gam1")),
                      ["address", "flush", "dev", "gam0"],
                      ["address", "add", lab.address(host) + "/24", "dev", "bond0"],
                      ["link", "set", "dev", "bond0", "up"]):
            lab.complete(["ip", "-n", namespace, *words])


def pulled_bond(ctx):
    missing = has_bonds()
    if missing:
        raise Failure(f"this kernel has no bonds: {missing}")
    lab = two_nics(ctx, "1gbit", purpose="bond", one_switch=True)
    if "bond0" not in lab.complete(["ip", "-n", f"gl-{lab.name}-n02", "-br", "link"]):
        make_bond(lab)
    return [Value(SILENCE, "ms", pull_in_stream(ctx, lab, BOND, "gam0")[0], PIECE)]


def rails(ctx):
    cases = [*streams(ctx), *short_messages(ctx)]
    cases.append(Case("a cable pulled", lambda: pulled(ctx)))
    if ctx.brief:
        return cases
    cases.append(Case("round trips that differ tenfold", lambda: sent_again(ctx)))
    cases.append(Case("no cable pulled", lambda: undisturbed(ctx)))
    if not has_bonds():
        cases.append(Case("a cable pulled, bond", lambda: pulled_bond(ctx)))
    return cases
