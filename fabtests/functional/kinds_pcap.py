#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Writes a capture for test_dissector.sh with a frame of every kind and operation, among them those
that the simulator has no use for: questions to gammad, addresses over UDP, lists of rails, groups.

usage: kinds_pcap.py OUT.pcap"""

import ipaddress
import struct
import sys

from wire_attack import KINDS, Endpoint, build

OPS = {"data": range(1, 16), "ack": range(4), "reclaim": range(2), "probe": range(4),
       "reset": range(3), "bye": range(2), "lookup": range(7)}
GROUP_PORT = 7
HOST_LEN = 108
BATCH = 8
FOUND, HOST_ASK, HOST, HOST_VIA = 1, 4, 5, 6
ACK, MTU = 0, 8 # bits of extensions


def mac(number):
    return bytes((2, 0, 0, 0, number >> 8, number & 255))


def addresses(port):
    """An address of each version: raw, over UDP, over UDP and IPv6."""
    behind = struct.pack(">HI", port, 0x5EED)
    ipv6 = ipaddress.ip_address("fd00:78::7").packed
    return (mac(1) + behind + bytes((1, 0)) + struct.pack(">HQ", 1500, 1),
            b"\2\4\x0a\x4e\0\7" + behind + bytes((2, 0)) + struct.pack(">HQ", 1472, 1),
            ipv6[:6] + behind + bytes((3, 0)) + ipv6[6:])


def host():
    """What gammad says of its host."""
    begin = mac(3) + struct.pack(">HIB3BHHQ", 9000, 10000, 1, 0, 2, 0, 64, 1, 7)
    return begin + b"gam0".ljust(16, b"\0") + b"node03".ljust(64, b"\0")


def rails():
    entries = b"".join(mac(number) + struct.pack(">H", 9000) for number in (0x101, 0x102))
    return bytes((2, 0, 0, 0)) + entries + bytes(16)


def variants(kind, op):
    """(extensions, payload) of each frame of that operation."""
    limits = (ACK, struct.pack(">II", 0, 64))
    if kind == "lookup":
        payloads = {FOUND: addresses(9001), HOST_ASK: (bytes(HOST_LEN),), HOST: (host(),),
                    HOST_VIA: (mac(3) + bytes(HOST_LEN - 6),)}
        return [((), payload) for payload in payloads.get(op, (b"",))]
    if kind in ("probe", "ack") and op == 3:
        return [((), rails())]
    if kind == "probe":
        return [(((MTU, struct.pack(">HH", 1500, 64)),), b"")]
    if kind == "ack":
        return [((limits,), b"")]
    if kind == "data" and op == BATCH:
        return [((), struct.pack(">HBB", 7, 0, 1) + b"message")]
    return [((), b"message" if kind in ("data", "datagram") else b"")]


def frames():
    one, two = Endpoint(mac(1), 9001, 0, 0xE1), Endpoint(mac(2), 9000, 0, 0xE2)
    group = Endpoint(b"\3\0\0\0\0\7", GROUP_PORT, 0, 0)
    for kind, number in KINDS.items():
        for op in OPS.get(kind, (0,)):
            for extensions, payload in variants(kind, op):
                answers = kind == "lookup" and op in (FOUND, HOST)
                source, target = (two, one) if answers else (one, two)
                fields = {"kind": number, "op": op, "seq": 1}
                if kind == "lookup" and op == HOST_VIA: # its answer follows
                    yield build(source, target, fields, extensions, payload)
                    yield build(target, source, {**fields, "op": HOST}, (), host())
                else:
                    yield build(source, target, fields, extensions, payload)
    yield build(one, group, {"kind": KINDS["datagram"], "seq": 1}, (), b"to all")


def main():
    with open(sys.argv[1], "wb") as target:
        target.write(struct.pack("=IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65549, 1))
        for index, frame in enumerate(frames()):
            target.write(struct.pack("=IIII", 0, index * 1000, len(frame), len(frame)))
            target.write(frame)


if __name__ == "__main__":
    main()
