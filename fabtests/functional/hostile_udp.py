#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What an ordinary user of a host can do to an endpoint over UDP, whose port is known: datagrams of
any bytes, from the own address and port, in the name of the endpoint's peer or in the own.

hostile_udp.py --victim ADDRESS,PORT --peer ADDRESS,PORT [--seconds S] [--seed N]

Exit status 1: an answer is longer than 60 bytes, or there are more answers than questions."""
import argparse
import random
import select
import socket
import sys
import time

from wire_attack import EXTENSIONS, KINDS, OPS, Endpoint, build
from wire_attack_udp import pseudo_mac

RATE = 2000      # datagrams a second
ANSWER_MAX = 60  # bytes


def endpoint(text, epoch):
    address, port = text.split(",")
    return Endpoint(pseudo_mac(address), int(port), 0, epoch)


def invent(draw, source, victim):
    """A frame of any kind, mostly right."""
    kind = draw.choice(list(KINDS.values()))
    fields = {"kind": kind, "op": draw.choice(OPS.get(kind, (0,))), "seq": draw.getrandbits(32),
              "tenant": draw.choice((0, 1, 1000, draw.getrandbits(32))),
              "dst_epoch": draw.choice((0, draw.getrandbits(32)))}
    bits = draw.sample(range(len(EXTENSIONS)), draw.randrange(3))
    extensions = [(bit, draw.randbytes(sum(EXTENSIONS[bit]))) for bit in bits]
    return build(source, victim, fields, extensions, draw.randbytes(draw.randrange(300)))


def question(draw, mine, peer, victim):
    """As a datagram: without the Ethernet header and what pads a short frame."""
    if not draw.randrange(8):
        return draw.randbytes(draw.randrange(1400))
    frame = invent(draw, draw.choice((mine, peer)), victim)
    return frame[14:14 + frame[24] + int.from_bytes(frame[28:30], "big")]


def attack(options):
    draw = random.Random(options.seed)
    victim, peer = endpoint(options.victim, 0), endpoint(options.peer, draw.getrandbits(32))
    wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    target = options.victim.split(",")[0], victim.port
    wire.connect(target)
    own, port = wire.getsockname()
    mine = Endpoint(pseudo_mac(own), port, 0, draw.getrandbits(32))
    sent = answered = longest = 0
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        wire.send(question(draw, mine, peer, victim))
        sent += 1
        while select.select([wire], [], [], 1 / RATE)[0]:
            longest = max(longest, len(wire.recv(65535)))
            answered += 1
    print(f"{sent} datagrams sent, {answered} answers of at most {longest} bytes")
    return longest <= ANSWER_MAX and answered <= sent


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--victim", required=True)
    parser.add_argument("--peer", required=True)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1)
    sys.exit(not attack(parser.parse_args()))


if __name__ == "__main__":
    main()
